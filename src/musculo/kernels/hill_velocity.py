"""The fibre velocity at which a muscle's fibres carry a given force."""

from __future__ import annotations

import math

from musculo.kernels.hill_curve_table import RIGHT_Y, stepped
from musculo.kernels.hill_curves import (
    dgf_velocity_inverse,
    force_velocity,
    schutte_velocity_inverse,
    thelen_velocity_inverse,
)
from musculo.kernels.hill_table import (
    DE_GROOTE_FREGLY_2016,
    KIND,
    MILLARD_2012,
    SCHUTTE_1993,
    THELEN_2003,
    VELOCITY_CURVE,
    VELOCITY_INVERSE,
)
from musculo.kernels.jit import kernel

# Fibres that neither contract nor damp move at no definite speed; answers stay within this many largest speeds.
VELOCITY_BOUND = 10.0
# Every so many evaluations a bracket has at least halved, or the gap fallen to a quarter.
HALVING = 6
# 60 halvings leave nothing of a bracket that float64 could tell from its ends; 40 quarters, nothing of a gap.
MOST_EVALUATIONS = (60 + 40) * HALVING
_SMALL_STEP = 1e-10


@kernel
def velocity_of(m, c, i, a, active, force, damping):
    """w with active f(w) + damping w = force, where active = a f_L (>= 0) and damping >= 0.

    Guarantees: the left side increases with w, so there is one root; closed forms give it for Thelen and Schutte,
                otherwise it lies in a bracket that holds it by construction (`_newton`). Where nothing depends on
                w (no active force, no damping), or a curve does not reach the force, w stops at VELOCITY_BOUND.
    """
    kind = m.integer[i, KIND]
    if damping > 0.0:
        if kind == SCHUTTE_1993:
            return schutte_velocity_inverse(damping, active, force)
        if active.real <= 0.0:
            return force / damping
        if kind == MILLARD_2012:
            # 0 <= f <= f(right end): the curve is flat beyond its ends
            top = c[m.integer[i, VELOCITY_CURVE] + RIGHT_Y]
            low, high = (force.real - top * active.real) / damping, force.real / damping
            return _newton(m, c, i, a, active, force, damping, low, high)
        if kind == DE_GROOTE_FREGLY_2016:
            # without damping the root would be w0; damping draws it towards 0
            w0 = _bounded(dgf_velocity_inverse(force.real / active.real), 1e3)
            return _newton(m, c, i, a, active, force, damping, min(w0, 0.0), max(w0, 0.0))
    if active.real <= 0.0:
        return 0.0 * force + (VELOCITY_BOUND if force.real > 0.0 else (-VELOCITY_BOUND if force.real < 0.0 else 0.0))
    f = force / active
    if kind == THELEN_2003:
        return thelen_velocity_inverse(m, i, f) * (0.25 + 0.75 * a)
    if kind == DE_GROOTE_FREGLY_2016:
        w = dgf_velocity_inverse(f)
        return w if -VELOCITY_BOUND <= w.real <= VELOCITY_BOUND else _bounded(w.real, VELOCITY_BOUND) + 0.0 * f
    if kind == MILLARD_2012 and m.integer[i, VELOCITY_INVERSE] >= 0:
        w, _ = stepped(c, m.integer[i, VELOCITY_INVERSE], f)
        return w
    return _newton(m, c, i, a, active, force, 0.0, -1.0, 1.0)


@kernel
def _bounded(x, bound):
    return min(max(x, -bound), bound)


@kernel
def _newton(m, c, i, a, active, force, damping, low, high):
    """The root in [low, high] by Newton's steps kept inside a bracket; the nearer end where there is none.

    Every HALVING evaluations the bracket has halved, is halved, or the gap has fallen to a quarter. It can do the
    latter some thirty times before it is rounding, so MOST_EVALUATIONS shrink the bracket by 2^60 at least.
    """
    x = min(max(0.0, low), high)
    width, error = high - low, math.inf
    for n in range(MOST_EVALUATIONS):
        f, slope = force_velocity(m, c, i, a.real, x)
        gap = active.real * f + damping * x - force.real
        if gap > 0.0:
            high = x
        else:
            low = x
        slope = active.real * slope + damping
        new = x - gap / slope
        if n % HALVING == HALVING - 1:
            if high - low > 0.5 * width and abs(gap) > 0.25 * error:
                new = 0.5 * (low + high)
            width, error = high - low, abs(gap)
        if not low <= new <= high:
            new = 0.5 * (low + high)
        step = new - x
        x = new
        if abs(step) <= _SMALL_STEP * (1.0 + abs(x)):
            break
    # one more step, with the imaginary parts of a complex lane
    f, slope = force_velocity(m, c, i, a, x + 0.0 * force)
    slope = active * slope + damping
    if slope.real <= 0.0:
        return x + 0.0 * force
    w = x - (active * f + damping * x - force) / slope
    return w if abs(w.real - x) <= 1e-6 * (1.0 + abs(x)) else x + 0.0 * force
