"""The curves of every kind of muscle: value and slope at a normalized argument.

`m` is the MuscleTable, `c` the table of curves (`curve_lookup`), `i` a muscle. Lengths are over the optimal fiber
length or the tendon's slack length, velocities over the largest shortening speed (shortening negative), forces over
the maximum isometric force. The sources of the formulas are at `musculo.muscle.hill_curves.curves`.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import inline
from musculo.kernels.hill.curve_lookup import spline, spline_again, stepped
from musculo.kernels.hill.exponentials import exponential, logarithm, root
from musculo.kernels.hill.muscle_table import (
    DE_GROOTE_FREGLY_2016,
    MILLARD_2012,
    RIGID_TENDON,
    SCHUTTE_1993,
    THELEN_2003,
    THELEN_DEPRECATED,
)
from musculo.kernels.scalar.choices import any_of, at_most, both, either, less, opposite, where
from musculo.kernels.scalar.scalars import like

# [DeGroote2016] as in OpenSim's DeGrooteFregly2016Muscle: the sum of three bells is 1 at the optimal length.
_DGF_ACTIVE = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
_DGF_VELOCITY = (-0.3211346127989808, -8.149, -0.374, 0.8825327733249912)
_DGF_TENDON_OFFSET = 0.2

# [Thelen2003]: the shape of the tendon's toe.
_TOE_SHAPE = 3.0
_PER_TOE_HEIGHT = 1.0 / (math.exp(_TOE_SHAPE) - 1.0)

# [Schutte1993] as in OpenSim: Hill's constant, the slope factor of lengthening, the force of fast lengthening.
_SCHUTTE_HILL = 0.15
_SCHUTTE_SLOPE = 0.13 * _SCHUTTE_HILL / (_SCHUTTE_HILL + 1.0)
_SCHUTTE_ECCENTRIC = 1.4
# The default passive curve of Schutte's muscle: e^(8 (l - 1) - 4).
EXPONENTIAL_PASSIVE = -2

# Hill's equation without any pull has no slope; OpenSim takes no activation below this.
_LEAST_PULL = 1e-6

# Curves that grow as e^z are straight lines beyond this z, at some 1e17 maximum isometric forces. Nothing lives there,
# but a search may pass: a path of 0.3 m with a tendon of 0.1 mm begins at strains of 3000, and e^709 is no number.
STRAIGHT_FROM = 40.0

# OpenSim's RigidTendonMuscle caps its passive force here.
_RIGID_TENDON_PASSIVE_CAP = 10.0


@inline
def _growth(scale, z):
    """(g, dg/dz) of g = scale e^z, for z > STRAIGHT_FROM the straight line on which both go on."""
    beyond = less(STRAIGHT_FROM, z)
    slope = scale * exponential(where(beyond, STRAIGHT_FROM, z))
    return where(beyond, slope * (z - (STRAIGHT_FROM - 1.0)), slope), slope


@inline
def _bell(x, row):
    amplitude, center, spread, growth = row
    per_width = 1.0 / (spread + growth * x)
    offset = (x - center) * per_width
    value = amplitude * exponential(-0.5 * offset * offset)
    return value, -value * offset * (1.0 - growth * offset) * per_width


@inline
def _spline_above_zero(c, start, x):
    f, f1 = spline(c, start, x)
    below = less(f, 0.0)
    return where(below, 0.0, f), where(below, 0.0, f1)


@inline
def active_force_length(m, c, i, x):
    """(f, f') of the active force at the fiber length x."""
    kind = m.kind[i]
    if kind == MILLARD_2012:
        return stepped(c, m.active_curve[i], x)
    if kind in (THELEN_2003, THELEN_DEPRECATED):
        bend = (x - 1.0) * m.per_active_width[i]
        f = exponential(-(x - 1.0) * bend)
        return f, -2.0 * bend * f
    if kind == DE_GROOTE_FREGLY_2016:
        scaled = (x - 1.0) * m.per_active_width[i] + 1.0
        f0, d0 = _bell(scaled, _DGF_ACTIVE[0])
        f1, d1 = _bell(scaled, _DGF_ACTIVE[1])
        f2, d2 = _bell(scaled, _DGF_ACTIVE[2])
        return f0 + f1 + f2, (d0 + d1 + d2) * m.per_active_width[i]
    return _spline_above_zero(c, m.active_curve[i], x)


@inline
def _growing_passive(m, i, x):
    rate, scale = m.passive_rate[i], m.passive_scale[i]
    growth, slope = _growth(scale, rate * (x - 1.0))
    return growth - m.passive_offset[i] * scale, rate * slope


@inline
def passive_force_length(m, c, i, x):
    """(f, f') of the elastic passive force at the fiber length x."""
    kind = m.kind[i]
    if kind == MILLARD_2012:
        return stepped(c, m.passive_curve[i], x)
    if kind == DE_GROOTE_FREGLY_2016:
        return _growing_passive(m, i, x)
    if kind in (THELEN_2003, THELEN_DEPRECATED):
        taut = less(m.passive_from[i], x)
        if not any_of(taut):
            return like(x, 0.0), like(x, 0.0)
        bent = where(less(m.passive_to[i], x), m.passive_to[i], x)
        f, f1 = _growing_passive(m, i, bent)
        return where(taut, f + f1 * (x - bent), 0.0), where(taut, f1, 0.0)
    if m.passive_curve[i] == EXPONENTIAL_PASSIVE:
        f, slope = _growth(1.0, 8.0 * (x - 1.0) - 4.0)
        return f, 8.0 * slope
    f, f1 = _spline_above_zero(c, m.passive_curve[i], x)
    if kind == RIGID_TENDON:
        capped = less(_RIGID_TENDON_PASSIVE_CAP, f)
        f, f1 = where(capped, _RIGID_TENDON_PASSIVE_CAP, f), where(capped, 0.0, f1)
    return f, f1


@inline
def tendon_force_length(m, c, i, x):
    """(f, f') of the tendon at the length x over its slack length."""
    kind = m.kind[i]
    if kind == MILLARD_2012:
        return stepped(c, m.tendon_curve[i], x)
    strain = x - 1.0
    if kind == DE_GROOTE_FREGLY_2016:
        growth, slope = _growth(_DGF_TENDON_OFFSET, strain * m.per_toe_strain[i])
        return growth - _DGF_TENDON_OFFSET, slope * m.per_toe_strain[i]
    taut = less(0.0, strain)
    if not any_of(taut) and kind != THELEN_DEPRECATED:
        return like(x, 0.0), like(x, 0.0)
    if kind in (THELEN_2003, THELEN_DEPRECATED):
        stiffness = m.tendon_stiffness[i]
        f, f1 = m.toe_force[i] + stiffness * (strain - m.toe_strain[i]), like(x, stiffness)
        toe = less(strain, m.toe_strain[i])
        if any_of(toe):
            rate = _TOE_SHAPE * m.per_toe_strain[i]
            scale = m.toe_force[i] * _PER_TOE_HEIGHT
            growth = scale * exponential(rate * strain)
            f, f1 = where(toe, growth - scale, f), where(toe, rate * growth, f1)
    else:
        f, f1 = _spline_above_zero(c, m.tendon_curve[i], strain)
    f, f1 = where(taut, f, 0.0), where(taut, f1, 0.0)
    if kind == THELEN_DEPRECATED:
        floor = where(less(x, 0.0), 0.0, m.tendon_floor[i])
        f, f1 = f + floor * x, f1 + floor
    return f, f1


@inline
def _again_above_zero(c, start, x, piece):
    f, f1, piece = spline_again(c, start, x, piece)
    below = less(f, 0.0)
    return where(below, 0.0, f), where(below, 0.0, f1), piece


@inline
def spline_curves_again(m, c, i, x, tendon, pieces):
    """(f, f') of the active force, of the passive force and of the tendon, for Schutte's and Delp's muscles.

    As the three curves above at a fiber length x and a tendon length; `pieces` are those of the evaluation before.
    """
    active_piece, passive_piece, tendon_piece = pieces
    fl, fl1, active_piece = _again_above_zero(c, m.active_curve[i], x, active_piece)
    if m.passive_curve[i] == EXPONENTIAL_PASSIVE:
        pe, slope = _growth(1.0, 8.0 * (x - 1.0) - 4.0)
        pe1 = 8.0 * slope
    else:
        pe, pe1, passive_piece = _again_above_zero(c, m.passive_curve[i], x, passive_piece)
    strain = tendon - 1.0
    taut = less(0.0, strain)
    ft, ft1, tendon_piece = _again_above_zero(c, m.tendon_curve[i], strain, tendon_piece)
    ft, ft1 = where(taut, ft, 0.0), where(taut, ft1, 0.0)
    return (fl, fl1), (pe, pe1), (ft, ft1), (active_piece, passive_piece, tendon_piece)


@inline
def force_velocity(m, c, i, a, w):
    """(f, f') of the active force at the fiber velocity w; Thelen's also depends on the activation a."""
    kind = m.kind[i]
    if kind == MILLARD_2012:
        return stepped(c, m.velocity_curve[i], w)
    if kind == THELEN_2003:
        scale = 1.0 / thelen_speed(m, i, a)
        f, f1 = _thelen_velocity(m, i, w * scale)
        return f, f1 * scale
    if kind == THELEN_DEPRECATED:
        f, _, f1 = thelen_damped(m, i, a, like(w, 1.0), w)
        return f, f1
    if kind == DE_GROOTE_FREGLY_2016:
        d1, d2, d3, d4 = _DGF_VELOCITY
        z = d2 * w + d3
        length = root(z * z + 1.0)
        # the inverse hyperbolic sine is odd: taken where its logarithm does not cancel
        falling = less(z, 0.0)
        height = d1 * logarithm(length + where(falling, -z, z))
        return d4 + where(falling, -height, height), d1 * d2 / length
    if kind == SCHUTTE_1993:
        shortening, still = less(w, 0.0), at_most(w, -1.0)
        above = where(shortening, _SCHUTTE_HILL * (1.0 + w), _SCHUTTE_ECCENTRIC * w + _SCHUTTE_SLOPE)
        per = 1.0 / where(shortening, _SCHUTTE_HILL - w, w + _SCHUTTE_SLOPE)
        bend = where(shortening, _SCHUTTE_HILL * (1.0 + _SCHUTTE_HILL), _SCHUTTE_SLOPE * (_SCHUTTE_ECCENTRIC - 1.0))
        return where(still, 0.0, above * per), where(still, 0.0, bend * per * per)
    return spline(c, m.velocity_curve[i], w)


@inline
def thelen_speed(m, i, a):
    """Largest shortening speed at the activation a, over that at full activation."""
    return m.slow_part[i] + (1.0 - m.slow_part[i]) * a


@inline
def thelen_damped(m, i, a, pull, w):
    """(F, dF/dpull, dF/dw) of OpenSim's Thelen2003Muscle_Deprecated: Hill's equation with damping inside.

        v = (F - pull) / (b + d),   b = pull + F / Af, or (2 + 2 / Af) (pull Flen - F) / (Flen - 1) where F > pull

    with pull = a f_L and v = w over the activation's part of the largest speed; straight below F = 0 and above the
    bound, with the slope there.
    """
    shape, top, steep = m.hill_rate[i], m.eccentric_force[i], m.eccentric_rate[i]
    damping, most = m.hill_damping[i], m.linear_from[i]
    scale = 1.0 / thelen_speed(m, i, a)
    v = w * scale
    p = where(less(pull, _LEAST_PULL), _LEAST_PULL, pull)
    shortening = less(v, 0.0)
    # where the straight line begins: v = (F - pull) / q, and how q, F and the slope q^2 / e there change with pull
    q1 = where(shortening, 1.0, steep * (top - most))
    e1 = where(shortening, 1.0 + shape, steep * (top - 1.0))
    f1 = where(shortening, -1.0, most - 1.0)
    q, e = q1 * p + damping, e1 * p + damping
    edge = f1 * p / q
    beyond = either(both(shortening, less(v, edge)), both(opposite(shortening), less(edge, v)))
    slope = q * q / e
    straight = (f1 + 1.0) * p + slope * (v - edge)
    slope_by = q * (2.0 * q1 * e - q * e1) / (e * e)
    straight_by = f1 + 1.0 + slope_by * (v - edge) - slope * f1 * damping / (q * q)
    per = 1.0 / where(shortening, 1.0 - shape * v, 1.0 + steep * v)
    by = where(shortening, 1.0 + v, 1.0 + steep * top * v) * per
    F = by * p + damping * v * per
    rise = where(shortening, (p + damping) + shape * F, steep * top * p + damping - steep * F) * per
    return where(beyond, straight, F), where(beyond, straight_by, by), where(beyond, slope, rise) * scale


@inline
def thelen_damped_inverse(m, i, a, pull, force):
    """w with `thelen_damped` at a force."""
    shape, top, steep = m.hill_rate[i], m.eccentric_force[i], m.eccentric_rate[i]
    damping, most = m.hill_damping[i], m.linear_from[i]
    p = where(less(pull, _LEAST_PULL), _LEAST_PULL, pull)
    at = where(less(force, 0.0), 0.0, where(less(most * p, force), most * p, force))
    shortening = less(at, p)
    per = 1.0 / (where(shortening, p + shape * at, steep * (top * p - at)) + damping)
    e = where(shortening, 1.0 + shape, steep * (top - 1.0)) * p + damping
    return ((at - p) * per + (force - at) * e * per * per) * thelen_speed(m, i, a)


@inline
def _thelen_velocity(m, i, v):
    """Thelen's curve of v, the velocity over the activation's part of the largest; straight beyond -1 and the bound."""
    shape, top, steep = m.hill_rate[i], m.eccentric_force[i], m.eccentric_rate[i]
    bound = m.linear_from[i]
    v_bound = (bound - 1.0) / (steep * (top - bound))
    at = where(less(v, -1.0), -1.0, where(less(v_bound, v), v_bound, v))
    shortening = less(at, 0.0)
    per = 1.0 / where(shortening, 1.0 - shape * at, 1.0 + steep * at)
    f = where(shortening, 1.0 + at, 1.0 + steep * top * at) * per
    slope = where(shortening, 1.0 + shape, steep * (top - 1.0)) * per * per
    return f + slope * (v - at), slope


@inline
def thelen_velocity_inverse(m, i, f):
    """v with Thelen's curve at f; straight below 0 and above the bound, as the curve is."""
    shape, top, steep = m.hill_rate[i], m.eccentric_force[i], m.eccentric_rate[i]
    bound = m.linear_from[i]
    at = where(less(f, 0.0), 0.0, where(less(bound, f), bound, f))
    shortening = less(at, 1.0)
    per = 1.0 / where(shortening, 1.0 + shape * at, steep * (top - at))
    slope = where(shortening, 1.0 + shape, steep * (top - 1.0)) * per * per
    return (at - 1.0) * per + slope * (f - at)


@inline
def dgf_velocity_inverse(f):
    """w with De Groote and Fregly's curve at f."""
    d1, d2, d3, d4 = _DGF_VELOCITY
    growth = exponential((f - d4) / d1)
    return (0.5 * (growth - 1.0 / growth) - d3) / d2


@inline
def schutte_velocity_inverse(damping, active, force):
    """w with active f(w) + damping w = force, in closed form: each branch is a quadratic."""
    k, e = _SCHUTTE_HILL, _SCHUTTE_SLOPE
    shortening = less(force, active)
    half = (
        0.5
        / damping
        * where(shortening, force + k * (active + damping), force - _SCHUTTE_ECCENTRIC * active - e * damping)
    )
    rest = (force - active) / damping
    far = root(half * half + where(shortening, -k * rest, e * rest))
    w = half + where(shortening, -far, far)
    return where(at_most(force, -damping), force / damping, w)
