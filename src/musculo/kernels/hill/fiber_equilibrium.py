"""Fiber and tendon in equilibrium at a given path length.

The unknown is s, the part of the fiber along the tendon: the tendon is then L - s long, the fiber sqrt(s^2 + h^2)
with h its constant width, and the cosine of the pennation is s / l.

    R(s) = f_T((L - s) / l_S) - (s / l) N(s),   N = a f_L f_V(w) + beta w + f_PE
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.overloads import is_complex, overload
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.hill.curve_lookup import no_piece
from musculo.kernels.hill.curve_values import (
    active_force_length,
    force_velocity,
    passive_force_length,
    spline_curves_again,
    tendon_force_length,
    thelen_damped,
)
from musculo.kernels.hill.exponentials import magnitude, root
from musculo.kernels.hill.fiber_velocity import HALVING, MOST_EVALUATIONS
from musculo.kernels.hill.muscle_table import (
    CONVERGED,
    DELP_1990,
    FIBER_AT_MINIMUM,
    NOT_CONVERGED,
    SCHUTTE_1993,
    TENDON_SLACK,
    THELEN_DEPRECATED,
)
from musculo.kernels.scalar.choices import (
    any_of,
    at_most,
    both,
    either,
    is_zero,
    less,
    never,
    opposite,
    real_part,
    where,
)
from musculo.kernels.scalar.scalars import like

# Newton starts where the tendon is strained by so much without activation, and so much more with full activation and
# Hill's force at the velocity: about where it carries what the fiber then gives (four evaluations on average).
_START_STRAIN = 0.01
_MORE_STRAIN = 0.03
# The same for tendons that are splines of the strain: OpenSim's own carries the maximum isometric force at 0.033, those
# of the other kinds at 0.033 to 0.049.
_SPLINE_START_STRAIN = 0.005
_SPLINE_MORE_STRAIN = 0.025
_START_HILL = 4.0
_START_ECCENTRIC = 1.4
_START_BEND = 0.06
# Fiber and tendon balance to this part of the maximum isometric force, or of the force where that is larger.
_BALANCED = 1e-10
# A step or a bracket this small, over the path's length, leads to no other number.
_NOTHING = 4.0e-16


@inline
def fiber_force(m, c, i, a, s, v):
    """(N, l, cosine, d(N cosine)/ds, active, passive) of the fiber whose part along the tendon is s and lengthens at v.

    active = a f_L f_V and passive = beta w + f_PE, over the maximum isometric force.
    """
    length, cosine, turn = fiber_shape(m, i, s)
    x = length * m.per_optimal_length[i]
    fl, pe = active_force_length(m, c, i, x), passive_force_length(m, c, i, x)
    force, slope, active, passive = _fiber_force(m, c, i, a, v, (cosine, turn), (fl, pe))
    return force, length, cosine, slope, active, passive


@inline
def fiber_shape(m, i, s):
    """(l, cosine, d cosine/ds) of the fiber whose part along the tendon is s."""
    h = m.width[i]
    length, cosine, turn = s, like(s, 1.0), like(s, 0.0)
    if h > 0.0:
        length = root(s * s + h * h)
        per_length = 1.0 / length
        cosine, turn = s * per_length, h * h * per_length * per_length * per_length
    return length, cosine, turn


@inline
def _fiber_force(m, c, i, a, v, shape, curves):
    """(N, d(N cosine)/ds, active, passive) of a fiber with (cosine, d cosine/ds) and curves by length, each with slope.

    curves: active force-length, passive force-length.
    """
    (cosine, turn), ((fl, fl1), (pe, pe1)) = shape, curves
    optimal = m.per_optimal_length[i]
    active, passive = a * fl, pe
    slope = a * fl1 + pe1
    still = is_zero(v)
    if any_of(opposite(still)):
        damping = m.damping[i]
        v = v * m.per_max_speed[i]
        if m.kind[i] == THELEN_DEPRECATED:
            active, fv, rise = thelen_damped(m, i, a, active, v * cosine)
        else:
            fv, fv1 = force_velocity(m, c, i, a, v * cosine)
            # f_V(0) = 1 for every kind, De Groote and Fregly's included
            fv = where(still, 1.0, fv)
            active, rise = active * fv, active * fv1
        slope = cosine * (a * fl1 * fv + pe1) * optimal + (rise + damping) * v * turn
        passive = pe + damping * v * cosine
    else:
        slope = cosine * slope * optimal
    force = active + passive
    return force, turn * force + cosine * slope, active, passive


@kernel
def solve_equilibrium(m, c, i, length, v, a):
    """A stable equilibrium of muscle i at path length `length` whose fiber lengthens at v cosine.

    Newton's method inside a bracket, with the third-order correction that the evaluation before offers (the cubic of
    s by R through both). The bracket starts as [s_min, L - l_S]: the shortest fiber, and the fiber with a slack tendon.
    Its ends are looked at only when a step asks for what lies beyond: no equilibrium beyond the first means that the
    fiber stays at its minimum, beyond the second that the tendon is slack. A step is taken only where dR/ds < 0 and
    inside the bracket, otherwise the bracket is halved. Lanes of a pack go on until the last has ended; those that have
    ended stay where they are, so that no answer depends on its neighbors.

    Guarantees: always ends. Every HALVING evaluations the bracket has halved, an end has been looked at, or |R| has
                fallen to a quarter, so MOST_EVALUATIONS leave rounding of the one or of the other. The root has R > 0
                on its left and R < 0 on its right: a fiber pushed away from it returns.

    Returns: s, the status, and what was last evaluated, at s: (l, cosine, d(N cosine)/ds, active, passive) of the fiber
        and (f_T, its slope by length) of the tendon.
    """
    L, speed, share = real_part(length), real_part(v), real_part(a)
    slack, per_slack = m.slack_length[i], m.per_slack_length[i]
    shortest, longest = like(L, m.least_along[i]), L - slack
    searching = less(shortest, longest)
    low, high = shortest, longest
    low_known, high_known = never(L), never(L)
    w = speed * m.per_max_speed[i]
    w = where(less(w, -1.0), -1.0, w)
    shortening = less(w, 0.0)
    gain = where(shortening, 1.0 + w, _START_ECCENTRIC * w + _START_BEND)
    gain = gain / where(shortening, 1.0 - _START_HILL * w, w + _START_BEND)
    strain, more_strain = _START_STRAIN, _MORE_STRAIN
    of_splines = m.kind[i] in (SCHUTTE_1993, DELP_1990)
    if of_splines:
        strain, more_strain = _SPLINE_START_STRAIN, _SPLINE_MORE_STRAIN
    x = L - slack * (1.0 + strain + more_strain * share * gain)
    x = where(both(less(low, x), less(x, high)), x, 0.5 * (low + high))
    x = where(searching, x, shortest)
    status = where(searching, like(L, float(NOT_CONVERGED)), float(TENDON_SLACK))
    width, error = high - low, like(L, math.inf)
    # the evaluation before: its gap is zero where it is of no use
    x0, gap0, per_slope0 = x, like(L, 0.0), like(L, 0.0)
    # muscles of splines keep the pieces of their curves from step to step; the others carry these along unused
    pieces = no_piece(x), no_piece(x), no_piece(x)
    for n in range(MOST_EVALUATIONS):
        tendon = (L - x) * per_slack
        if of_splines:
            fiber, cosine, turn = fiber_shape(m, i, x)
            at = fiber * m.per_optimal_length[i]
            fl, pe, (ft, ft1), pieces = spline_curves_again(m, c, i, at, tendon, pieces)
            force, fiber_slope, active, passive = _fiber_force(m, c, i, share, speed, (cosine, turn), (fl, pe))
        else:
            ft, ft1 = tendon_force_length(m, c, i, tendon)
            force, fiber, cosine, fiber_slope, active, passive = fiber_force(m, c, i, share, x, speed)
        ft1 = ft1 * per_slack
        gap = ft - force * cosine
        tight, loose = less(0.0, gap), less(gap, 0.0)
        # nothing beyond an end that asks for more
        outrun, stopped = both(opposite(loose), at_most(longest, x)), both(loose, at_most(x, shortest))
        low, high = where(tight, x, low), where(loose, x, high)
        low_known, high_known = either(low_known, tight), either(high_known, loose)
        per_slope = -1.0 / (ft1 + fiber_slope)
        step = -gap * per_slope
        small = either(at_most(magnitude(step), _NOTHING * L), at_most(high - low, _NOTHING * L))
        down = less(per_slope, 0.0)
        found = either(small, both(down, at_most(magnitude(gap), _BALANCED * (1.0 + ft))))
        answer = where(outrun, float(TENDON_SLACK), where(stopped, float(FIBER_AT_MINIMUM), float(CONVERGED)))
        ended = both(searching, either(found, either(outrun, stopped)))
        status = where(ended, answer, status)
        searching = both(searching, opposite(ended))
        if not any_of(searching):
            break
        per_gap = 1.0 / (gap - gap0)
        chord = (x - x0) * per_gap
        bend, bend0 = (per_slope - chord) * per_gap, (chord - per_slope0) * per_gap
        more = gap * gap * (bend - gap0 * (bend - bend0) * per_gap)
        bent = both(less(0.0, magnitude(gap0)), at_most(magnitude(more), 0.5 * magnitude(step)))
        new = x + where(bent, step + more, step)
        taken = both(down, both(less(low, new), less(new, high)))
        if n % HALVING == HALVING - 1:
            shrunk = either(at_most(high - low, 0.5 * width), at_most(magnitude(gap), 0.25 * error))
            taken = both(taken, shrunk)
            width, error = high - low, magnitude(gap)
        x0, gap0, per_slope0 = x, where(taken, gap, 0.0), per_slope
        middle = 0.5 * (low + high)
        beyond = where(both(tight, opposite(high_known)), high, where(both(loose, opposite(low_known)), low, middle))
        x = where(searching, where(taken, new, beyond), x)
    return lifted(m, c, i, length, v, a, (x, status, (fiber, cosine, fiber_slope, active, passive), (ft, ft1)))


def lifted(m, c, i, length, v, a, found):
    """What `solve_equilibrium` found for the real parts, with the imaginary parts that a complex lane gives it."""
    return found


@overload(lifted)
def _lifted(m, c, i, length, v, a, found):
    if is_complex(length):
        return lambda m, c, i, length, v, a, found: _complex_step(m, c, i, length, v, a, found[0], found[1])
    return lambda m, c, i, length, v, a, found: found


@kernel
def _complex_step(m, c, i, length, v, a, x, status):
    """One more Newton step; the ends of the bracket are the shortest fiber, which does not move, and L - l_S."""
    per_slack = m.per_slack_length[i]
    s = complex(x, 0.0)
    if status == TENDON_SLACK and x > m.least_along[i]:
        s = x + (length - length.real)
    elif status == CONVERGED:
        ft, ft1 = tendon_force_length(m, c, i, (length - s) * per_slack)
        force, _, cosine, slope, _, _ = fiber_force(m, c, i, a, s, v)
        gap = ft - force * cosine
        s = x + (gap - gap.real) / (ft1.real * per_slack + slope.real)
    ft, ft1 = tendon_force_length(m, c, i, (length - s) * per_slack)
    _, fiber, cosine, slope, active, passive = fiber_force(m, c, i, a, s, v)
    return s, status, (fiber, cosine, slope, active, passive), (ft, ft1 * per_slack)
