"""The curves of every kind of muscle: value and slope at a normalised argument.

`m` is the MuscleTable, `c` the table of curves (`hill_curve_table`), `i` a muscle. Lengths are over the optimal fibre
length or the tendon's slack length, velocities over the largest shortening speed (shortening negative), forces over
the maximum isometric force. The sources of the formulas are at `musculo.muscle.curves`.
"""

from __future__ import annotations

import math

from musculo.kernels.hill_curve_table import spline, stepped
from musculo.kernels.hill_math import exponential, logarithm, root
from musculo.kernels.hill_table import (
    ACTIVE_CURVE,
    ACTIVE_WIDTH,
    DE_GROOTE_FREGLY_2016,
    ECCENTRIC_FORCE,
    EXTRAPOLATION,
    HILL_SHAPE,
    KIND,
    MILLARD_2012,
    PASSIVE_CURVE,
    PASSIVE_OFFSET,
    PASSIVE_RATE,
    PASSIVE_SCALE,
    RIGID_TENDON,
    SCHUTTE_1993,
    TENDON_CURVE,
    TENDON_STIFFNESS,
    THELEN_2003,
    TOE_STRAIN,
    VELOCITY_CURVE,
)
from musculo.kernels.jit import inline

# [DeGroote2016] as in OpenSim's DeGrooteFregly2016Muscle: the sum of three bells is 1 at the optimal length.
_DGF_ACTIVE = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
_DGF_VELOCITY = (-0.3211346127989808, -8.149, -0.374, 0.8825327733249912)
_DGF_TENDON_OFFSET = 0.2

# [Thelen2003]: the toe of the tendon curve ends at this force, with this shape.
_TOE_FORCE = 0.33
_TOE_SHAPE = 3.0
_TOE_SCALE = _TOE_FORCE / (math.exp(_TOE_SHAPE) - 1.0)

# [Schutte1993] as in OpenSim: Hill's constant, the slope factor of lengthening, the force of fast lengthening.
_SCHUTTE_HILL = 0.15
_SCHUTTE_SLOPE = 0.13 * _SCHUTTE_HILL / (_SCHUTTE_HILL + 1.0)
_SCHUTTE_ECCENTRIC = 1.4
# The default passive curve of Schutte's muscle: e^(8 (l - 1) - 4).
EXPONENTIAL_PASSIVE = -2

# OpenSim's RigidTendonMuscle caps its passive force here.
_RIGID_TENDON_PASSIVE_CAP = 10.0


@inline
def _bell(x, row):
    amplitude, center, spread, growth = row
    width = spread + growth * x
    offset = (x - center) / width
    value = amplitude * exponential(-0.5 * offset * offset)
    return value, -value * offset * (1.0 - growth * offset) / width


@inline
def _spline_above_zero(c, start, x):
    f, f1 = spline(c, start, x)
    if f.real < 0.0:
        return 0.0 * x, 0.0 * x
    return f, f1


@inline
def active_force_length(m, c, i, x):
    """(f, f') of the active force at the fibre length x."""
    kind = m.integer[i, KIND]
    if kind == MILLARD_2012:
        return stepped(c, m.integer[i, ACTIVE_CURVE], x)
    if kind == THELEN_2003:
        f = exponential(-(x - 1.0) * (x - 1.0) / m.number[i, ACTIVE_WIDTH])
        return f, -2.0 * (x - 1.0) / m.number[i, ACTIVE_WIDTH] * f
    if kind == DE_GROOTE_FREGLY_2016:
        scaled = (x - 1.0) / m.number[i, ACTIVE_WIDTH] + 1.0
        f0, d0 = _bell(scaled, _DGF_ACTIVE[0])
        f1, d1 = _bell(scaled, _DGF_ACTIVE[1])
        f2, d2 = _bell(scaled, _DGF_ACTIVE[2])
        return f0 + f1 + f2, (d0 + d1 + d2) / m.number[i, ACTIVE_WIDTH]
    return _spline_above_zero(c, m.integer[i, ACTIVE_CURVE], x)


@inline
def passive_force_length(m, c, i, x):
    """(f, f') of the elastic passive force at the fibre length x."""
    kind = m.integer[i, KIND]
    if kind == MILLARD_2012:
        return stepped(c, m.integer[i, PASSIVE_CURVE], x)
    if kind == THELEN_2003 and x.real <= 1.0:
        return 0.0 * x, 0.0 * x
    if kind in (THELEN_2003, DE_GROOTE_FREGLY_2016):
        rate = m.number[i, PASSIVE_RATE]
        growth = exponential(rate * (x - 1.0)) * m.number[i, PASSIVE_SCALE]
        return growth - m.number[i, PASSIVE_OFFSET] * m.number[i, PASSIVE_SCALE], rate * growth
    if m.integer[i, PASSIVE_CURVE] == EXPONENTIAL_PASSIVE:
        f = exponential(8.0 * (x - 1.0) - 4.0)
        return f, 8.0 * f
    f, f1 = _spline_above_zero(c, m.integer[i, PASSIVE_CURVE], x)
    if kind == RIGID_TENDON and f.real > _RIGID_TENDON_PASSIVE_CAP:
        return _RIGID_TENDON_PASSIVE_CAP + 0.0 * x, 0.0 * x
    return f, f1


@inline
def tendon_force_length(m, c, i, x):
    """(f, f') of the tendon at the length x over its slack length."""
    kind = m.integer[i, KIND]
    if kind == MILLARD_2012:
        return stepped(c, m.integer[i, TENDON_CURVE], x)
    strain = x - 1.0
    if kind == DE_GROOTE_FREGLY_2016:
        growth = _DGF_TENDON_OFFSET * exponential(strain / m.number[i, TOE_STRAIN])
        return growth - _DGF_TENDON_OFFSET, growth / m.number[i, TOE_STRAIN]
    if strain.real <= 0.0:
        return 0.0 * x, 0.0 * x
    if kind == THELEN_2003:
        if strain.real > m.number[i, TOE_STRAIN]:
            return _TOE_FORCE + m.number[i, TENDON_STIFFNESS] * (strain - m.number[i, TOE_STRAIN]), m.number[
                i, TENDON_STIFFNESS
            ] + 0.0 * x
        rate = _TOE_SHAPE / m.number[i, TOE_STRAIN]
        growth = _TOE_SCALE * exponential(rate * strain)
        return growth - _TOE_SCALE, rate * growth
    return _spline_above_zero(c, m.integer[i, TENDON_CURVE], strain)


@inline
def force_velocity(m, c, i, a, w):
    """(f, f') of the active force at the fibre velocity w; Thelen's also depends on the activation a."""
    kind = m.integer[i, KIND]
    if kind == MILLARD_2012:
        return stepped(c, m.integer[i, VELOCITY_CURVE], w)
    if kind == THELEN_2003:
        scale = 1.0 / (0.25 + 0.75 * a)
        f, f1 = _thelen_velocity(m, i, w * scale)
        return f, f1 * scale
    if kind == DE_GROOTE_FREGLY_2016:
        d1, d2, d3, d4 = _DGF_VELOCITY
        z = d2 * w + d3
        length = root(z * z + 1.0)
        # the inverse hyperbolic sine is odd: taken where its logarithm does not cancel
        if z.real < 0.0:
            return d4 - d1 * logarithm(length - z), d1 * d2 / length
        return d4 + d1 * logarithm(length + z), d1 * d2 / length
    if kind == SCHUTTE_1993:
        if w.real <= -1.0:
            return 0.0 * w, 0.0 * w
        if w.real < 0.0:
            gap = _SCHUTTE_HILL - w
            return _SCHUTTE_HILL * (1.0 + w) / gap, _SCHUTTE_HILL * (1.0 + _SCHUTTE_HILL) / (gap * gap)
        reach = w + _SCHUTTE_SLOPE
        slope = _SCHUTTE_SLOPE * (_SCHUTTE_ECCENTRIC - 1.0) / (reach * reach)
        return (_SCHUTTE_ECCENTRIC * w + _SCHUTTE_SLOPE) / reach, slope
    return spline(c, m.integer[i, VELOCITY_CURVE], w)


@inline
def _thelen_velocity(m, i, v):
    """Thelen's curve of v = w / (1/4 + 3/4 a), and its slope."""
    shape = 1.0 / m.number[i, HILL_SHAPE]
    if v.real <= -1.0:
        slope = 1.0 / (1.0 + shape)
        return slope * (v + 1.0), slope + 0.0 * v
    if v.real <= 0.0:
        gap = 1.0 - shape * v
        return (1.0 + v) / gap, (1.0 + shape) / (gap * gap)
    top = m.number[i, ECCENTRIC_FORCE]
    steep = (2.0 + 2.0 * shape) / (top - 1.0)
    bound = m.number[i, EXTRAPOLATION] * top
    v_bound = (bound - 1.0) / (steep * (top - bound))
    if v.real < v_bound:
        gap = 1.0 + steep * v
        return (1.0 + steep * top * v) / gap, steep * (top - 1.0) / (gap * gap)
    gap = 1.0 + steep * v_bound
    slope = steep * (top - 1.0) / (gap * gap)
    return bound + slope * (v - v_bound), slope + 0.0 * v


@inline
def thelen_velocity_inverse(m, i, f):
    """v with Thelen's curve at f; straight below 0 and above the bound, as the curve is."""
    shape = 1.0 / m.number[i, HILL_SHAPE]
    if f.real <= 0.0:
        return -1.0 + (1.0 + shape) * f
    if f.real <= 1.0:
        return (f - 1.0) / (1.0 + shape * f)
    top = m.number[i, ECCENTRIC_FORCE]
    steep = (2.0 + 2.0 * shape) / (top - 1.0)
    bound = m.number[i, EXTRAPOLATION] * top
    if f.real < bound:
        return (f - 1.0) / (steep * (top - f))
    v_bound = (bound - 1.0) / (steep * (top - bound))
    gap = 1.0 + steep * v_bound
    return v_bound + (f - bound) * (gap * gap) / (steep * (top - 1.0))


@inline
def dgf_velocity_inverse(f):
    """w with De Groote and Fregly's curve at f."""
    d1, d2, d3, d4 = _DGF_VELOCITY
    growth = exponential((f - d4) / d1)
    return (0.5 * (growth - 1.0 / growth) - d3) / d2


@inline
def schutte_velocity_inverse(damping, active, force):
    """w with active f(w) + damping w = force, in closed form: each branch is a quadratic."""
    if force.real <= -damping:
        return force / damping
    k = _SCHUTTE_HILL
    if force.real < active.real:
        half = 0.5 * (force + k * (active + damping)) / damping
        return half - root(half * half - k * (force - active) / damping)
    k = _SCHUTTE_SLOPE
    half = 0.5 * (force - _SCHUTTE_ECCENTRIC * active - k * damping) / damping
    return half + root(half * half + k * (force - active) / damping)
