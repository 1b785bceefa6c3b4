"""Metabolic power of a muscle: heat of activation, of maintenance and of shortening, and the work of its fibers.

With the excitation e, the fiber length x over the optimal one, the fiber velocity v (shortening negative), the active
and the passive force F_a and F_p of the fiber, its mass m, and the part r of its slow fibers:

    slow = r sin(pi/2 e),   fast = (1 - r) (1 - cos(pi/2 e))
    activation  A = m (A_s slow + A_f fast)
    maintenance M = m L(x) (M_s slow + M_f fast),   L: lines through (0, 0.5), (0.5, 0.5), (1, 1), (1.5, 0), (10, 0)
    shortening  S = -alpha v,   alpha = 0.25 (F_a + F_p) where v < 0, else 0
                or alpha = 0.16 F_iso + 0.18 (F_a + F_p) where v < 0, else 0.157 (F_a + F_p)
    work        W = -F_a v
    S is raised where A + M + S + W < 0 until this is 0; A + M + S is at least m times 1 W/kg; their sum is the power.

Source:  [Bhargava2004], as OpenSim 4.6 has it in Bhargava2004SmoothedMuscleMetabolics, with its smooth form: each
         choice between y0 (c <= 0) and y1 is y0 + (y1 - y0) (1 + tanh(b c)) / 2.
Departs: L is smooth in neither, so slopes at its corners are those from the left.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.hill.curve_values import active_force_length, force_velocity, passive_force_length
from musculo.kernels.hill.exponentials import hyperbolic_tangent
from musculo.kernels.hill.fiber_equilibrium import fiber_shape
from musculo.kernels.scalar.choices import at_most, where
from musculo.kernels.scalar.scalars import like, sincos

# Rows of what a muscle gives: the power and its parts, then slopes of the power.
TOTAL, ACTIVATION, MAINTENANCE, SHORTENING, WORK = 0, 1, 2, 3, 4
RATE_ROWS = 5
# Rows of what a node gives: the power, and its slopes by excitation, activation, s and v (`muscle_slopes`).
NODE_ROWS = 5
# No muscle gives less heat than this [W/kg] (Umberger 2003).
LEAST_HEAT = 1.0
_QUARTER = 0.5 * math.pi


class MetabolicTable(NamedTuple):
    """What metabolic power takes beside the muscles themselves."""

    mass: FloatArray  # (muscles,) [kg]
    slow: FloatArray  # (muscles,) r
    activation_slow: float  # A_s [W/kg]
    activation_fast: float
    maintenance_slow: float
    maintenance_fast: float
    velocity_smoothing: float  # b of the choices by velocity [s/m]; zero: sharp ones
    power_smoothing: float  # of the power that is not negative [1/W]
    heat_smoothing: float  # of the least heat [1/W]
    by_force: int  # 1 where alpha depends on the isometric force
    negative_work: int  # 1 where stretching gives work back
    not_negative: int  # 1 where the power is not negative
    least_heat: int  # 1 where the heat has a least value


class MetabolicFrames(NamedTuple):
    """Muscles in all frames, (frames, muscles) each."""

    excitation: FloatArray
    activation: FloatArray
    length: FloatArray  # of fibers [m]
    velocity: FloatArray  # of fibers [m/s]
    active: FloatArray  # force along the fiber [N]
    passive: FloatArray


class MetabolicNodes(NamedTuple):
    """Muscles at all nodes, (nodes, muscles) each."""

    excitation: FloatArray
    activation: FloatArray
    along: FloatArray  # s [m]
    speed: FloatArray  # v = ds/dt [m/s]


@kernel
def _choice(c, b):
    """(g, dg/dc) of how far c > 0 holds: a step, or a smooth one where b > 0."""
    g, g1 = where(at_most(c, 0.0), like(c, 0.0), like(c, 1.0)), like(c, 0.0)
    if b > 0.0:
        t = hyperbolic_tangent(b * c)
        g, g1 = 0.5 + 0.5 * t, 0.5 * b * (1.0 - t * t)
    return g, g1


@kernel
def _length_dependence(x):
    """(L, dL/dx)."""
    zero = like(x, 0.0)
    value = where(at_most(x, 1.5), 3.0 - 2.0 * x, zero)
    slope = where(at_most(x, 1.5), like(x, -2.0), zero)
    value, slope = where(at_most(x, 1.0), x, value), where(at_most(x, 1.0), like(x, 1.0), slope)
    return where(at_most(x, 0.5), like(x, 0.5), value), where(at_most(x, 0.5), zero, slope)


@kernel
def metabolic_power(p, i, e, x, v, active, passive, isometric):
    """((power, A, M, S, W), slopes of the power by e, x, v, F_a, F_p and F_iso) of muscle i."""
    mass, r = p.mass[i], p.slow[i]
    sine, cosine = sincos(_QUARTER * e)
    slow, fast = r * sine, (1.0 - r) * (1.0 - cosine)
    slow1, fast1 = r * _QUARTER * cosine, (1.0 - r) * _QUARTER * sine
    L, L1 = _length_dependence(x)
    kept = p.maintenance_slow * slow + p.maintenance_fast * fast
    heat_a = mass * (p.activation_slow * slow + p.activation_fast * fast)
    heat_m = mass * L * kept
    heat_e = mass * (
        p.activation_slow * slow1
        + p.activation_fast * fast1
        + L * (p.maintenance_slow * slow1 + p.maintenance_fast * fast1)
    )
    heat_x = mass * L1 * kept

    g, g1 = _choice(v, p.velocity_smoothing)
    force = active + passive
    iso, short, stretched = 0.0, 0.25, 0.0
    if p.by_force == 1:
        iso, short, stretched = 0.16, 0.18, 0.157
    left, right = iso * isometric + short * force, stretched * force
    alpha = left + (right - left) * g
    alpha_f, alpha_i = short + (stretched - short) * g, iso * (1.0 - g)
    S = -alpha * v
    S_v, S_f, S_i = -alpha - (right - left) * g1 * v, -alpha_f * v, -alpha_i * v

    share, share1 = like(v, 1.0), like(v, 0.0)
    if p.negative_work == 0:
        share, share1 = 1.0 - g, -g1
    W = -active * v * share
    W_v, W_a = -active * (share + v * share1), -v * share

    total = heat_a + heat_m + S + W
    # heat by the sum of all, and how much of a change of heat without this is left
    lift, lift1 = like(v, 0.0), like(v, 0.0)
    if p.not_negative == 1:
        h, h1 = _choice(-total, p.power_smoothing)
        lift, lift1 = -total * h, total * h1 - h
    S = S + lift
    heat, part = heat_a + heat_m + S, like(v, 1.0)
    if p.least_heat == 1:
        gap = LEAST_HEAT * mass - heat
        h, h1 = _choice(gap, p.heat_smoothing)
        heat, part = heat + gap * h, 1.0 - h - gap * h1
    by_e = part * (1.0 + lift1) * heat_e
    by_x = part * (1.0 + lift1) * heat_x
    by_v = part * (S_v + lift1 * (S_v + W_v)) + W_v
    by_active = part * (S_f + lift1 * (S_f + W_a)) + W_a
    by_passive = part * (1.0 + lift1) * S_f
    by_iso = part * (1.0 + lift1) * S_i
    return (heat + W, heat_a, heat_m, S, W), (by_e, by_x, by_v, by_active, by_passive, by_iso)


@driver
def metabolic_frames(m, c, p, x, out, start, stop):
    """Powers (frames, RATE_ROWS, muscles) of frames start .. stop - 1."""
    for frame in range(start, stop):
        for i in range(m.kind.size):
            normal = x.length[frame, i] * m.per_optimal_length[i]
            fl, _ = active_force_length(m, c, i, normal)
            isometric = m.max_force[i] * x.activation[frame, i] * fl
            rows, _ = metabolic_power(
                p,
                i,
                x.excitation[frame, i],
                normal,
                x.velocity[frame, i],
                x.active[frame, i],
                x.passive[frame, i],
                isometric,
            )
            for k in range(RATE_ROWS):
                out[frame, k, i] = rows[k]


@kernel
def _node_power(m, c, p, i, e, a, s, v):
    """(power, by e, by a, by s, by v) of a De Groote-Fregly muscle; s: its fiber along the tendon, v = ds/dt."""
    length, cosine, turn = fiber_shape(m, i, s)
    optimal, rate, strong = m.per_optimal_length[i], v * m.per_max_speed[i], m.max_force[i]
    fl, fl1 = active_force_length(m, c, i, length * optimal)
    pe, pe1 = passive_force_length(m, c, i, length * optimal)
    fv, fv1 = force_velocity(m, c, i, a, rate * cosine)
    # w = rate cosine; the fiber's velocity is v cosine
    w_s, w_v, x_s = rate * turn, cosine * m.per_max_speed[i], cosine * optimal
    active, passive = strong * a * fl * fv, strong * (m.damping[i] * rate * cosine + pe)
    rows, slopes = metabolic_power(p, i, e, length * optimal, v * cosine, active, passive, strong * a * fl)
    by_e, by_x, by_v, by_active, by_passive, by_iso = slopes
    return (
        rows[0],
        by_e,
        strong * fl * (by_active * fv + by_iso),
        by_x * x_s
        + by_v * v * turn
        + by_active * strong * a * (fl1 * x_s * fv + fl * fv1 * w_s)
        + by_passive * strong * (m.damping[i] * w_s + pe1 * x_s)
        + by_iso * strong * a * fl1 * x_s,
        by_v * cosine + by_active * strong * a * fl * fv1 * w_v + by_passive * strong * m.damping[i] * w_v,
    )


@driver
def metabolic_slope_nodes(m, c, p, x, slopes, start, stop):
    """Powers and their slopes (nodes, NODE_ROWS, muscles) of nodes start .. stop - 1."""
    for node in range(start, stop):
        for i in range(m.kind.size):
            e, a, s, v = x.excitation[node, i], x.activation[node, i], x.along[node, i], x.speed[node, i]
            row = _node_power(m, c, p, i, e, a, s, v)
            for k in range(NODE_ROWS):
                slopes[node, k, i] = row[k]
