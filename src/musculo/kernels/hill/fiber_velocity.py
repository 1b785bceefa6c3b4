"""The fiber velocity at which a muscle's fibers carry a given force."""

from __future__ import annotations

import math

from musculo.kernels.compiler.overloads import is_complex, overload
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.hill.curve_lookup import last_value, stepped
from musculo.kernels.hill.curve_values import (
    dgf_velocity_inverse,
    force_velocity,
    schutte_velocity_inverse,
    thelen_damped_inverse,
    thelen_speed,
    thelen_velocity_inverse,
)
from musculo.kernels.hill.exponentials import magnitude
from musculo.kernels.hill.muscle_table import (
    DE_GROOTE_FREGLY_2016,
    MILLARD_2012,
    SCHUTTE_1993,
    THELEN_2003,
    THELEN_DEPRECATED,
)
from musculo.kernels.scalar.choices import any_of, at_most, both, either, less, opposite, real_part, where
from musculo.kernels.scalar.scalars import like

# Fibers that neither contract nor damp move at no definite speed; answers stay within this many largest speeds.
VELOCITY_BOUND = 10.0
# Fibers of some fifteen optimal lengths contract with less than this part of the maximum force: that is nothing, and
# another force over it may be no number.
_NO_PULL = 1e-200
# De Groote and Fregly's curve inverted without damping ends here, in largest speeds: a bound need not be close.
_FAR = 1e3
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
    kind = m.kind[i]
    f, pull = real_part(force), real_part(active)
    pulling = less(_NO_PULL, pull)
    if damping > 0.0:
        if kind == SCHUTTE_1993:
            return schutte_velocity_inverse(damping, active, force)
        if kind == MILLARD_2012:
            # 0 <= f <= f(right end): the curve is flat beyond its ends
            top = last_value(c, m.velocity_curve[i])
            w = _newton(m, c, i, a, active, force, damping, ((f - top * pull) / damping, f / damping, pulling))
            return where(pulling, w, force / damping)
        if kind == DE_GROOTE_FREGLY_2016:
            # without damping the root would be w0; damping draws it towards 0
            w0 = clipped(dgf_velocity_inverse(f / where(pulling, pull, 1.0)), _FAR)
            low, high = where(less(w0, 0.0), w0, 0.0), where(less(w0, 0.0), 0.0, w0)
            w = _newton(m, c, i, a, active, force, damping, (low, high, pulling))
            return where(pulling, w, force / damping)
    if kind == THELEN_DEPRECATED:
        return thelen_damped_inverse(m, i, a, active, force)
    drift = where(less(0.0, f), VELOCITY_BOUND, where(less(f, 0.0), -VELOCITY_BOUND, 0.0)) + like(force, 0.0)
    if not any_of(pulling):
        return drift
    share = force / where(pulling, active, 1.0)
    if kind == THELEN_2003:
        w = thelen_velocity_inverse(m, i, share) * thelen_speed(m, i, a)
    elif kind == DE_GROOTE_FREGLY_2016:
        w = clipped(dgf_velocity_inverse(share), VELOCITY_BOUND)
    elif kind == MILLARD_2012 and m.velocity_inverse[i] >= 0:
        w, _ = stepped(c, m.velocity_inverse[i], share)
    else:
        w = _newton(m, c, i, a, active, force, 0.0, (like(f, -1.0), like(f, 1.0), pulling))
    return where(pulling, w, drift)


@inline
def clipped(x, bound):
    """x between -bound and bound."""
    return where(less(x, -bound), -bound, where(less(bound, x), bound, x))


@kernel
def _newton(m, c, i, a, active, force, damping, search):
    """The root in a bracket by Newton's steps kept inside a bracket; the nearer end where there is none.

    Every HALVING evaluations the bracket has halved, is halved, or the gap has fallen to a quarter. It can do the
    latter some thirty times before it is rounding, so MOST_EVALUATIONS shrink the bracket by 2^60 at least.

    search: (low, high, which lanes are asked for); the others are left alone.
    """
    low, high, searching = search
    share, pull, load = real_part(a), real_part(active), real_part(force)
    x = where(less(0.0, low), low, where(less(high, 0.0), high, 0.0))
    width, error = high - low, like(low, math.inf)
    for n in range(MOST_EVALUATIONS):
        if not any_of(searching):
            break
        f, slope = force_velocity(m, c, i, share, x)
        gap = pull * f + damping * x - load
        above = less(0.0, gap)
        high, low = where(above, x, high), where(above, low, x)
        new = x - gap / (pull * slope + damping)
        inside = both(at_most(low, new), at_most(new, high))
        if n % HALVING == HALVING - 1:
            shrunk = either(at_most(high - low, 0.5 * width), at_most(magnitude(gap), 0.25 * error))
            inside = both(inside, shrunk)
            width, error = high - low, magnitude(gap)
        new = where(inside, new, 0.5 * (low + high))
        done = at_most(magnitude(new - x), _SMALL_STEP * (1.0 + magnitude(new)))
        x = where(searching, new, x)
        searching = both(searching, opposite(done))
    return lifted_velocity(m, c, i, a, active, force, damping, x)


def lifted_velocity(m, c, i, a, active, force, damping, x):
    """The root x of the real parts with the imaginary part that a complex lane gives it: one more Newton step."""
    return x


@overload(lifted_velocity)
def _lifted_velocity(m, c, i, a, active, force, damping, x):
    if is_complex(force):
        return lambda m, c, i, a, active, force, damping, x: _complex_step(m, c, i, a, active, force, damping, x)
    return lambda m, c, i, a, active, force, damping, x: x


@kernel
def _complex_step(m, c, i, a, active, force, damping, x):
    f, slope = force_velocity(m, c, i, a, complex(x, 0.0))
    gap = active * f + damping * x - force
    slope = active.real * slope.real + damping
    return x - (gap - gap.real) / slope if slope > 0.0 else complex(x, 0.0)
