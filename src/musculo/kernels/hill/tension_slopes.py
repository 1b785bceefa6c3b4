"""Tension of muscles and its exact slopes: by path, activation and what muscles are made of.

With s the part of the fiber along the tendon, h = l_M sin(pennation) its constant width and g its force along the
tendon over the maximum isometric one, in equilibrium

    R = f_T((L - s) / l_S) - g(a, s, v; l_M, h, v_max) = 0,   ds/dp = (dR/dp) / (K_T + K_M)

with K_T = f_T' / l_S and K_M = dg/ds, so that
dF/dp = F_0 (df_T/dp - K_T ds/dp). A rigid tendon has s = L - l_S and F = F_0 g.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, inline, kernel
from musculo.kernels.hill.curve_values import tendon_force_length
from musculo.kernels.hill.fiber_equilibrium import fiber_force
from musculo.kernels.hill.muscle_force import equilibrium, rigid_forces
from musculo.kernels.hill.muscle_table import (
    CONVERGED,
    DELP_1990,
    FIBER_AT_MINIMUM,
    SCHUTTE_1993,
    TENDON_FORCE,
    TENDON_LENGTH,
    THELEN_DEPRECATED,
)

# Slopes, in the order of the result.
BY_LENGTH, BY_SPEED, BY_ACTIVATION, BY_FORCE, BY_OPTIMAL, BY_SLACK, BY_PENNATION, BY_MOST_SPEED = range(8)
SLOPES = 8
# Of the residual one more: it is by the length and the velocity of the fiber, too.
BY_FIBER, BY_FIBER_VELOCITY, RESIDUAL_SLOPES = 8, 1, 9
# f(x + i h) = f(x) + i h f'(x) + O(h^2): with h so small nothing but rounding is left.
_STEP = 1e-30


class TensionFrames(NamedTuple):
    """What slopes are asked at, (frames, muscles) each."""

    length: FloatArray  # of the path [m]
    speed: FloatArray  # of the path; of the fiber where this is given [m/s]
    activation: FloatArray
    fiber: FloatArray  # (0, muscles), or given lengths: then it is the residual [m]


class TensionSlopes(NamedTuple):
    """What comes of it."""

    force: FloatArray  # (frames, muscles) tensions, or residuals [N]
    status: FloatArray  # (frames, muscles)
    slopes: FloatArray  # (SLOPES or RESIDUAL_SLOPES, frames, muscles), zero at first


class Fiber(NamedTuple):
    """Force of a fiber over the maximum isometric one, and slopes of its part along the tendon."""

    force: float  # N
    along: float  # g = N cos
    by_a: float
    by_s: float  # at constant width
    by_v: float
    by_h: float  # at constant s
    by_optimal: float  # at constant width
    by_most_speed: float  # by the largest speed in optimal lengths a second


@inline
def _per_most_speed(m, i):
    """One over the stated largest speed in optimal lengths a second; zero for kinds that have a speed of their own."""
    stated = m.contraction_velocity[i]
    if m.kind[i] in (SCHUTTE_1993, DELP_1990, THELEN_DEPRECATED) or stated <= 0.0:
        return 0.0
    return 1.0 / stated


@inline
def _fiber(m, c, i, a, s, v):
    """The `Fiber` of muscle i.

    Slopes by a and v by the complex step. With s = l cos, h = l sin: g does not change where s, h, v and l_M grow
    together, nor where v and v_max do, and at constant l it depends on cos alone, as N(l, v cos) cos.
    """
    force, length, cosine, by_s, _, _ = fiber_force(m, c, i, a, s, v)
    share, still = complex(a, _STEP), complex(s, 0.0)
    x, _, _, _, _, _ = fiber_force(m, c, i, share, still, complex(v, 0.0))
    y, _, _, _, _, _ = fiber_force(m, c, i, complex(a, 0.0), still, complex(v, _STEP))
    by_a, by_v = x.imag / _STEP * cosine, y.imag / _STEP * cosine
    h = m.width[i]
    sine = h / length
    by_angle = -sine * (force + v * by_v / cosine)
    by_l = (by_s + by_angle * sine / length) / cosine
    by_h = by_l * sine + by_angle * cosine / length
    by_optimal = -(s * by_s + v * by_v + h * by_h) * m.per_optimal_length[i]
    by_most = -v * by_v * _per_most_speed(m, i)
    return Fiber(force, force * cosine, by_a, by_s, by_v, by_h, by_optimal, by_most)


@inline
def _by_shape(m, i, f):
    """(by optimal length, by pennation) of g at constant s: the width is l_M sin(pennation)."""
    wide = m.width[i] * m.per_optimal_length[i]
    return f.by_optimal + f.by_h * wide, f.by_h * m.optimal_length[i] * m.cosine_at_optimal[i]


@kernel
def _of_rigid(m, c, i, state, slopes, frame):
    """Slopes of a muscle whose tendon keeps its slack length; what is slack pulls with nothing."""
    L, v, a = state
    rows, found = rigid_forces(m, c, i, L, v, a, False)
    if found == CONVERGED:
        scale = m.max_force[i]
        f = _fiber(m, c, i, a, L - m.slack_length[i], v)
        optimal, pennation = _by_shape(m, i, f)
        slopes[BY_LENGTH, frame, i], slopes[BY_SLACK, frame, i] = scale * f.by_s, -scale * f.by_s
        slopes[BY_SPEED, frame, i], slopes[BY_ACTIVATION, frame, i] = scale * f.by_v, scale * f.by_a
        slopes[BY_OPTIMAL, frame, i], slopes[BY_PENNATION, frame, i] = scale * optimal, scale * pennation
        slopes[BY_MOST_SPEED, frame, i], slopes[BY_FORCE, frame, i] = scale * f.by_most_speed, f.along
    return rows[TENDON_FORCE], found


@kernel
def _of_elastic(m, c, i, state, by_pennation, slopes, frame):
    """Slopes of a muscle in equilibrium; of a fiber at its stop those of the tendon alone."""
    L, v, a = state
    rows, found = equilibrium(m, c, i, L, v, a)
    scale, tendon = m.max_force[i], rows[TENDON_LENGTH] * m.per_slack_length[i]
    ft, ft1 = tendon_force_length(m, c, i, tendon)
    stiff, s = ft1 * m.per_slack_length[i], L - rows[TENDON_LENGTH]
    if found == CONVERGED:
        f = _fiber(m, c, i, a, s, v)
        optimal, pennation = _by_shape(m, i, f)
        both = scale * stiff / (stiff + f.by_s)
        slopes[BY_LENGTH, frame, i], slopes[BY_SLACK, frame, i] = both * f.by_s, -both * f.by_s * tendon
        slopes[BY_SPEED, frame, i], slopes[BY_ACTIVATION, frame, i] = both * f.by_v, both * f.by_a
        slopes[BY_OPTIMAL, frame, i], slopes[BY_PENNATION, frame, i] = both * optimal, both * pennation
        slopes[BY_MOST_SPEED, frame, i], slopes[BY_FORCE, frame, i] = both * f.by_most_speed, ft
    elif found == FIBER_AT_MINIMUM:
        slopes[BY_LENGTH, frame, i], slopes[BY_SLACK, frame, i] = scale * stiff, -scale * stiff * tendon
        slopes[BY_OPTIMAL, frame, i] = -scale * stiff * s * m.per_optimal_length[i]
        slopes[BY_PENNATION, frame, i], slopes[BY_FORCE, frame, i] = -scale * stiff * by_pennation[i], ft
    return rows[TENDON_FORCE], found


@kernel
def _of_residual(m, c, i, state, length, slopes, frame):
    """F_0 (f_T - N cos) at given length and velocity of the fiber, and its slopes."""
    L, speed, a = state
    scale, h = m.max_force[i], m.width[i]
    s = math.sqrt(length * length - h * h)
    cosine, sine = s / length, h / length
    tendon = (L - s) * m.per_slack_length[i]
    ft, ft1 = tendon_force_length(m, c, i, tendon)
    stiff = ft1 * m.per_slack_length[i]
    f = _fiber(m, c, i, a, s, speed / cosine)
    # N by the fiber's length and velocity, from slopes along s at constant width and along v
    by_u = f.by_v / (cosine * cosine)
    by_angle = -sine * (f.force + speed * by_u)
    by_l = (f.by_s + by_angle * sine / length) / (cosine * cosine)
    wide, turned = h * m.per_optimal_length[i], m.optimal_length[i] * m.cosine_at_optimal[i]
    by_h = scale * (stiff * h / s + f.force * sine / (length * cosine))
    slopes[BY_LENGTH, frame, i] = scale * stiff
    slopes[BY_FIBER_VELOCITY, frame, i] = -scale * by_u * cosine
    slopes[BY_ACTIVATION, frame, i] = -scale * f.by_a
    slopes[BY_FORCE, frame, i] = ft - f.along
    by_optimal = (length * by_l + speed * by_u) * m.per_optimal_length[i] * cosine
    slopes[BY_OPTIMAL, frame, i] = scale * by_optimal + by_h * wide
    slopes[BY_SLACK, frame, i] = -scale * stiff * tendon
    slopes[BY_PENNATION, frame, i] = by_h * turned
    slopes[BY_MOST_SPEED, frame, i] = scale * speed * by_u * cosine * _per_most_speed(m, i)
    slopes[BY_FIBER, frame, i] = -scale * (stiff / cosine + by_l * cosine + f.force * sine * sine / (length * cosine))
    return scale * (ft - f.along)


@driver
def tension_slope_frames(m, c, x, rigid, by_pennation, found, start, stop):
    """Tensions, or residuals where fiber lengths are given, and slopes of frames start .. stop - 1.

    Args:
        x: `TensionFrames`. by_pennation: (muscles,) of the part along the tendon of the shortest fiber.
        found: `TensionSlopes`, written.
    """
    force, status, slopes = found.force, found.status, found.slopes
    for frame in range(start, stop):
        for i in range(m.kind.size):
            L, v, a = x.length[frame, i], x.speed[frame, i], x.activation[frame, i]
            low = a < m.least_activation[i]
            a = m.least_activation[i] if low else a
            if x.fiber.shape[0] > 0:
                force[frame, i] = _of_residual(m, c, i, (L, v, a), x.fiber[frame, i], slopes, frame)
            elif rigid or m.rigid[i] == 1:
                force[frame, i], status[frame, i] = _of_rigid(m, c, i, (L, v, a), slopes, frame)
            else:
                force[frame, i], status[frame, i] = _of_elastic(m, c, i, (L, v, a), by_pennation, slopes, frame)
            if low:
                slopes[BY_ACTIVATION, frame, i] = 0.0
