"""Fibre and tendon in equilibrium at a given path length.

The unknown is s, the part of the fibre along the tendon: the tendon is then L - s long, the fibre sqrt(s^2 + h^2)
with h its constant width, and the cosine of the pennation is s / l.

    R(s) = f_T((L - s) / l_S) - (s / l) N(s),   N = a f_L f_V(w) + beta w + f_PE
"""

from __future__ import annotations

import math

from numba import types
from numba.extending import overload

from musculo.kernels.hill_curves import active_force_length, force_velocity, passive_force_length, tendon_force_length
from musculo.kernels.hill_math import root
from musculo.kernels.hill_table import (
    CONVERGED,
    DAMPING,
    FIBER_AT_MINIMUM,
    LEAST_ALONG,
    NOT_CONVERGED,
    OPTIMAL_LENGTH,
    PER_MAX_SPEED,
    PER_OPTIMAL_LENGTH,
    PER_SLACK_LENGTH,
    SLACK_LENGTH,
    TENDON_SLACK,
    WIDTH,
)
from musculo.kernels.hill_velocity import HALVING, MOST_EVALUATIONS
from musculo.kernels.jit import inline, kernel

# Newton starts where the tendon is strained by so much without activation, and so much more with full activation: about
# where it carries what the fibre then gives (four evaluations on average).
_START_STRAIN = 0.01
_MORE_STRAIN = 0.03
# A step this small, over the lengths of fibre and tendon, is followed by one more that leaves rounding alone.
_SMALL_STEP = 1e-9
# A bracket this narrow, over the path's length, holds no other number.
_NOTHING = 2.0e-16


@inline
def fiber_force(m, c, i, a, s, v):
    """(N, cosine, d(N cosine)/ds, active, passive) of the fibre whose part along the tendon is s and lengthens at v.

    active = a f_L f_V and passive = beta w + f_PE, over the maximum isometric force.
    """
    h, speed = m.number[i, WIDTH], m.number[i, PER_MAX_SPEED]
    damping, optimal = m.number[i, DAMPING], m.number[i, PER_OPTIMAL_LENGTH]
    square = s * s + h * h
    length = root(square)
    per_length = 1.0 / length
    cosine = s * per_length
    x = length * optimal
    fl, fl1 = active_force_length(m, c, i, x)
    pe, pe1 = passive_force_length(m, c, i, x)
    turn = h * h * per_length * per_length * per_length
    if v.real == 0.0 and v.imag == 0.0:
        force = a * fl + pe
        return force, cosine, turn * force + cosine * cosine * (a * fl1 + pe1) * optimal, a * fl, pe
    v = v * speed
    fv, fv1 = force_velocity(m, c, i, a, v * cosine)
    active, passive = a * fl * fv, pe + damping * v * cosine
    slope = cosine * (a * fl1 * fv + pe1) * optimal + (a * fl * fv1 + damping) * v * turn
    force = active + passive
    return force, cosine, turn * force + cosine * slope, active, passive


@inline
def balance(m, c, i, length, v, a, s):
    """(R, dR/ds, slope of the tendon's force by its length) at s."""
    slack = m.number[i, PER_SLACK_LENGTH]
    ft, ft1 = tendon_force_length(m, c, i, (length - s) * slack)
    force, cosine, slope, _, _ = fiber_force(m, c, i, a, s, v)
    return ft - force * cosine, -ft1 * slack - slope, ft1 * slack


@kernel
def solve_equilibrium(m, c, i, length, v, a):
    """(s, status): a stable equilibrium of muscle i at path length `length` whose fibre lengthens at v cosine.

    Newton's method inside a bracket. The bracket starts as [s_min, L - l_S]: the shortest fibre, and the fibre with a
    slack tendon. Its ends are looked at only when a step asks for what lies beyond: no equilibrium beyond the first
    means that the fibre stays at its minimum, beyond the second that the tendon is slack. A step is taken only where
    dR/ds < 0 and inside the bracket, otherwise the bracket is halved.

    Guarantees: always ends. Every HALVING evaluations the bracket has halved, an end has been looked at, or |R| has
                fallen to a quarter, so MOST_EVALUATIONS leave rounding of the one or of the other. The root has R > 0
                on its left and R < 0 on its right: a fibre pushed away from it returns.
    """
    shortest = m.number[i, LEAST_ALONG]
    longest = length.real - m.number[i, SLACK_LENGTH]
    if not longest > shortest:
        return shortest + 0.0 * length, TENDON_SLACK
    low, high = shortest, longest
    low_known, high_known = False, False
    x = length.real - m.number[i, SLACK_LENGTH] * (1.0 + _START_STRAIN + _MORE_STRAIN * a.real)
    if not low < x < high:
        x = 0.5 * (low + high)
    width, error = high - low, math.inf
    small = _SMALL_STEP * (m.number[i, OPTIMAL_LENGTH] + m.number[i, SLACK_LENGTH])
    status = NOT_CONVERGED
    for n in range(MOST_EVALUATIONS):
        gap, slope, _ = balance(m, c, i, length.real, v.real, a.real, x)
        if gap > 0.0:
            if x >= longest:
                return longest + 0.0 * length, TENDON_SLACK
            low, low_known = x, True
        elif gap < 0.0:
            if x <= shortest:
                return shortest + 0.0 * length, FIBER_AT_MINIMUM
            high, high_known = x, True
        else:
            if x >= longest:
                return longest + 0.0 * length, TENDON_SLACK
            status = CONVERGED
            break
        step = -gap / slope
        if slope < 0.0 and abs(step) <= small:
            x += step
            status = CONVERGED
            break
        new = x + step
        taken = slope < 0.0 and low < new < high
        if n % HALVING == HALVING - 1:
            taken = taken and (high - low <= 0.5 * width or abs(gap) <= 0.25 * error)
            width, error = high - low, abs(gap)
        if not taken:
            if gap > 0.0 and not high_known:
                new = high
            elif gap < 0.0 and not low_known:
                new = low
            else:
                new = 0.5 * (low + high)
        x = new
        if high - low <= _NOTHING * length.real:
            status = CONVERGED
            break
    return lifted(m, c, i, length, v, a, x), status


def lifted(m, c, i, length, v, a, x):
    """The root x of the real parts with the imaginary parts that a complex lane gives it: one more Newton step."""
    return x


@overload(lifted)
def _lifted(m, c, i, length, v, a, x):
    if isinstance(length, types.Complex):
        return lambda m, c, i, length, v, a, x: _complex_step(m, c, i, length, v, a, x)
    return lambda m, c, i, length, v, a, x: x


@kernel
def _complex_step(m, c, i, length, v, a, x):
    gap, slope, _ = balance(m, c, i, length, v, a, x + 0.0 * length)
    return x - (gap - gap.real) / slope.real
