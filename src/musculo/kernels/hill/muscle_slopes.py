"""What muscles give at one node of a mesh, with exact slopes: force of the fibers, and rate of activation.

With s the part of the fiber along the tendon and v = ds/dt, the force of the fiber along the tendon over the maximum
isometric one is

    g(a, s, v) = (a f_L(l) f_V(w) + beta w + f_PE(l)) cos,   l = sqrt(s^2 + h^2),   cos = s / l,   w = v cos / v_max

A rigid tendon has s = L - l_S and v = dL/dt; then g is the tension. An elastic one has the length that its normalized
force f asks for, s = L - l_T(f), v = dL/dt - l_T'(f) df/dt; then f = g is an equation of the node, which is smooth
even where a fiber passes its slack length: nothing is solved inside a node.

Source: [DeGroote2016] eq. 1-4 and supplement; the equation of the node is their third formulation.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.hill.curve_values import active_force_length, force_velocity, passive_force_length
from musculo.kernels.hill.exponentials import hyperbolic_tangent
from musculo.kernels.hill.fiber_equilibrium import fiber_shape

# Rows of what a node gives: the force and its slopes, then the rate of activation and its slopes.
FORCE, BY_ACTIVATION, BY_LENGTH, BY_SPEED = 0, 1, 2, 3
RATE, RATE_BY_EXCITATION, RATE_BY_ACTIVATION = 4, 5, 6
SLOPE_ROWS = 7
# Second slopes: of the force by a s, a v, s s, s v, v v (it is linear in a); of the rate by e e, e a, a a.
CURVATURE_ROWS = 8
# Steps of the central differences of exact slopes that give second ones: of lengths over the optimal one, speeds over
# the largest, activations. The error is 1e-10 of the third derivative, and rounding 1e-11: far less than a Newton
# step notices.
_STEP = 1e-5


class MuscleNodes(NamedTuple):
    """Muscles at all nodes, (nodes, muscles) each."""

    excitation: FloatArray
    activation: FloatArray
    along: FloatArray  # s [m]
    speed: FloatArray  # v [m/s]


@kernel
def force_slopes(m, c, i, a, s, v):
    """(g, dg/da, dg/ds, dg/dv) of the fiber of muscle i."""
    length, cosine, turn = fiber_shape(m, i, s)
    optimal, rate = m.per_optimal_length[i], v * m.per_max_speed[i]
    fl, fl1 = active_force_length(m, c, i, length * optimal)
    pe, pe1 = passive_force_length(m, c, i, length * optimal)
    fv, fv1 = force_velocity(m, c, i, a, rate * cosine)
    force = a * fl * fv + m.damping[i] * rate * cosine + pe
    by_w = a * fl * fv1 + m.damping[i]
    by_s = (a * fl1 * fv + pe1) * cosine * optimal + by_w * rate * turn
    return (
        force * cosine,
        fl * fv * cosine,
        by_s * cosine + force * turn,
        by_w * cosine * cosine * m.per_max_speed[i],
    )


@kernel
def rate_slopes(m, i, e, a):
    """(r, dr/de, dr/da) of the smooth rate of activation (`activation_rate`, SMOOTH)."""
    scale = 0.5 + 1.5 * a
    t = hyperbolic_tangent(m.activation_smoothing[i] * (e - a))
    up, down = 1.0 / (m.activation_time[i] * scale), scale / m.deactivation_time[i]
    both = (0.5 + 0.5 * t) * up + (0.5 - 0.5 * t) * down
    turn = 0.5 * m.activation_smoothing[i] * (1.0 - t * t) * (up - down)
    by_scale = (0.5 - 0.5 * t) * down - (0.5 + 0.5 * t) * up
    by_e = both + turn * (e - a)
    return both * (e - a), by_e, 1.5 * by_scale / scale * (e - a) - by_e


@driver
def muscle_slope_nodes(m, c, x, slopes, curvatures, start, stop):
    """Slopes (nodes, SLOPE_ROWS, muscles), and second ones (nodes, CURVATURE_ROWS, muscles) unless these are empty."""
    for node in range(start, stop):
        for i in range(m.kind.size):
            e, a, s, v = x.excitation[node, i], x.activation[node, i], x.along[node, i], x.speed[node, i]
            row = force_slopes(m, c, i, a, s, v)
            slopes[node, 0, i], slopes[node, 1, i], slopes[node, 2, i], slopes[node, 3, i] = row
            rate = rate_slopes(m, i, e, a)
            slopes[node, 4, i], slopes[node, 5, i], slopes[node, 6, i] = rate
            if curvatures.size > 0:
                _curvatures(m, c, i, (e, a, s, v), curvatures, node)


@kernel
def _curvatures(m, c, i, at, out, node):
    e, a, s, v = at
    ds, dv = _STEP * m.optimal_length[i], _STEP * m.max_speed[i]
    _, a1, s1, v1 = force_slopes(m, c, i, a, s + ds, v)
    _, a0, s0, v0 = force_slopes(m, c, i, a, s - ds, v)
    out[node, 0, i], out[node, 2, i], out[node, 3, i] = 0.5 * (a1 - a0) / ds, 0.5 * (s1 - s0) / ds, 0.5 * (v1 - v0) / ds
    _, a1, _, v1 = force_slopes(m, c, i, a, s, v + dv)
    _, a0, _, v0 = force_slopes(m, c, i, a, s, v - dv)
    out[node, 1, i], out[node, 4, i] = 0.5 * (a1 - a0) / dv, 0.5 * (v1 - v0) / dv
    _, e1, a1 = rate_slopes(m, i, e + _STEP, a)
    _, e0, a0 = rate_slopes(m, i, e - _STEP, a)
    out[node, 5, i], out[node, 6, i] = 0.5 * (e1 - e0) / _STEP, 0.5 * (a1 - a0) / _STEP
    _, _, a1 = rate_slopes(m, i, e, a + _STEP)
    _, _, a0 = rate_slopes(m, i, e, a - _STEP)
    out[node, 7, i] = 0.5 * (a1 - a0) / _STEP
