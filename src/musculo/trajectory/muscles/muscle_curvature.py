"""Second derivatives of the equations of a model with muscles, contracted with multipliers.

With multipliers lambda of moments, mu of equilibria and nu of rates of activation, the Lagrangian of a node is

    lambda . tau(q, u, udot) - sum_i (lambda . r_i) F_i + sum_i mu_i (f_i - g_i) + sum_i nu_i rate_i

Curvatures of tau are differences of its exact slopes along each coordinate and speed; those of a muscle follow from the
second slopes of one fiber by the chain rule, and from third derivatives of lengths of paths.
"""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.hill.muscle_slopes import CURVATURE_ROWS
from musculo.trajectory.muscles.muscle_state import MuscleEquations, Pull, TreeMotion
from musculo.trajectory.muscles.scattered_blocks import ScatteredBlocks

_A_S, _A_V, _S_S, _S_V, _V_V, _E_E, _E_A, _A_A = range(CURVATURE_ROWS)
# Steps of differences of exact slopes [rad, m], and of speeds: half the digits are left, which a Newton step does not
# notice.
_STEP, _SPEED_STEP = 1e-6, 1e-5
# Frames that are differentiated at a time: what they need stays in the memory near the processor.
_FRAMES = 1024


def curvature_places(f: MuscleEquations) -> ScatteredBlocks:
    """Where the numbers of `curvature_blocks` belong."""
    x, m, own = f.layout, f.muscles, f.paths.own
    moving = np.concatenate([x.value, x.speed, x.acceleration])
    v = f.some_states()
    rng = np.random.default_rng(len(v))
    found = _of_dynamics(f, v, f.motion(v), rng.normal(size=(len(v), len(f.names))))
    there = (found != 0.0).any(axis=0)
    value, speed = (np.where(own >= 0, columns[np.maximum(own, 0)], -1) for columns in (x.value, x.speed))
    excited = np.full(len(m.names), -1)
    excited[m.driven] = x.excitation[m.driven]
    tension, rate = np.full(len(m.names), -1), np.full(len(m.names), -1)
    tension[m.elastic], rate[m.elastic] = x.tension, x.tension_rate
    states = np.stack([excited, x.activation, tension, rate], axis=1)
    blocks = ScatteredBlocks()
    blocks.add(np.where(there, moving[:, None], -1), moving, symmetric=True)
    blocks.add(value[:, :, None], value[:, None, :], symmetric=True)
    blocks.add(value[:, :, None], speed[:, None, :])
    blocks.add(speed[:, :, None], speed[:, None, :], symmetric=True)
    blocks.add(states[:, 1:, None], value[:, None, :])
    blocks.add(states[:, 1:, None], speed[:, None, :])
    blocks.add(states[:, :, None], states[:, None, :], symmetric=True)
    return blocks.made(len(f.inputs), lower=True)


def curvature_blocks(f: MuscleEquations, v: FloatArray, multipliers: FloatArray) -> list[FloatArray]:
    """Blocks of the symmetric matrix of every node, in the order of `curvature_places`.

    By (q, u, udot) of dynamics; by (q, q), (q, u) and (u, u) of each muscle, by its own coordinates; by its states
    (a, f, df/dt) and q, and u; by its states (e, a, f, df/dt).
    """
    motion = f.motion(v)
    dynamics = _of_dynamics(f, v, motion, multipliers[:, : len(f.names)])
    pull = f.pull(v, motion, bends=True, second=True)
    return [dynamics, *_of_muscles(f, v, motion, pull, multipliers)]


def _of_muscles(
    f: MuscleEquations, v: FloatArray, motion: TreeMotion, pull: Pull, multipliers: FloatArray
) -> list[FloatArray]:
    m, x, n = f.muscles, f.layout, len(f.names)
    el, rigid, count = m.elastic, m.rigid, len(m.names)
    b, t, fd, u = pull.fibers.bends, pull.tendons, v[:, x.tension_rate], pull.speeds
    r, bends = pull.paths.arms, pull.paths.bends
    gs, gv = pull.fibers.by_along, pull.fibers.by_speed
    moments = multipliers[:, :n][:, np.maximum(f.paths.own, 0)]  # (nodes, muscles, K)

    # slopes of s and v by q, u and by f, df/dt
    sq, vu = -r, -r
    vq = -np.einsum("kmij,kmi->kmj", bends, u)
    sf, vf, vr, sff, vff, vfr = (np.zeros((len(v), count)) for _ in range(6))
    sf[:, el], vf[:, el], vr[:, el] = -t.first, -t.second * fd, -t.first
    sff[:, el], vff[:, el], vfr[:, el] = -t.second, -t.third * fd, -t.second
    # the Lagrangian has -weight g: mu of an elastic tendon, and F_max rho of a rigid one, which itself depends on q
    rho = (r * moments).sum(axis=2)
    rho_q = np.einsum("kmij,kmi->kmj", bends, moments)
    w = -m.max_force * rho
    w[:, el] = -multipliers[:, n : n + len(el)]

    ss, sv, vv = b[:, _S_S], b[:, _S_V], b[:, _V_V]
    second_s = ss[..., None] * sq + sv[..., None] * vq
    second_v = sv[..., None] * sq + vv[..., None] * vq
    W, W1 = w[..., None, None], w[..., None]
    qq = W * (_outer(sq, second_s) + _outer(vq, second_v)) - (w * gs)[..., None, None] * bends
    qu = W * _outer(second_v, vu) - (w * gv)[..., None, None] * np.swapaxes(bends, 2, 3)
    uu = (w * vv)[..., None, None] * _outer(vu, vu)
    # rigid: - F_max (rho_x g_y + rho_y g_x)
    strong = np.zeros(count)
    strong[rigid] = m.max_force[rigid]
    g_q, g_u = gs[..., None] * sq + gv[..., None] * vq, gv[..., None] * vu
    cross = strong[:, None, None] * _outer(rho_q, g_q)
    qq -= cross + np.swapaxes(cross, 2, 3)
    qu -= strong[:, None, None] * _outer(rho_q, g_u)
    along = -pull.force[..., None] * moments - (w * gv)[..., None] * u
    qq += f.paths.third(v[:, x.value], motion.q, along, bends)

    a_s, a_v = b[:, _A_S], b[:, _A_V]
    by_q, by_u = np.zeros((2, len(v), count, 3, r.shape[2]))
    by_q[:, :, 0] = W1 * (a_s[..., None] * sq + a_v[..., None] * vq)
    by_u[:, :, 0] = W1 * a_v[..., None] * vu
    by_q[:, :, 0] -= (strong * pull.fibers.by_activation)[..., None] * rho_q
    by_q[:, :, 1] = W1 * (sf[..., None] * second_s + vf[..., None] * second_v)
    by_u[:, :, 1] = (w * (sf * sv + vf * vv))[..., None] * vu
    by_q[:, :, 1] -= (m.max_force - strong)[:, None] * rho_q
    by_q[:, :, 2] = (w * vr)[..., None] * second_v
    by_u[:, :, 2] = (w * vr * vv)[..., None] * vu

    inner = np.zeros((len(v), count, 4, 4))
    nu = np.zeros((len(v), count))
    nu[:, m.driven] = multipliers[:, n + len(el) :]
    inner[:, :, 0, 0], inner[:, :, 1, 0], inner[:, :, 1, 1] = nu * b[:, _E_E], nu * b[:, _E_A], nu * b[:, _A_A]
    inner[:, :, 2, 1] = w * (a_s * sf + a_v * vf)
    inner[:, :, 3, 1] = w * a_v * vr
    inner[:, :, 2, 2] = w * ((ss * sf + 2.0 * sv * vf) * sf + vv * vf * vf + gs * sff + gv * vff)
    inner[:, :, 3, 2] = w * ((sv * sf + vv * vf) * vr + gv * vfr)
    inner[:, :, 3, 3] = w * vv * vr * vr
    for i, j in ((1, 0), (2, 1), (3, 1), (3, 2)):
        inner[:, :, j, i] = inner[:, :, i, j]
    return [qq, qu, uu, by_q, by_u, inner]


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[..., :, None] * b[..., None, :]


def _of_dynamics(f: MuscleEquations, v: FloatArray, motion: TreeMotion, moments: FloatArray) -> FloatArray:
    """(nodes, 3 n, 3 n) of lambda . tau. Where coordinates are coupled, bends of the coupling are ignored."""
    n, nodes, J = len(f.names), len(v), motion.J  # which is dq/dz, too, where speeds are rates of coordinates
    pull = np.einsum("kun,kn->ku", J, moments)

    def gradient(q: FloatArray, u: FloatArray, steps: int) -> FloatArray:
        """(steps, nodes, 3 n) of lambda . tau at coordinates and speeds of the tree (steps, nodes, ..)."""

        def every(values: FloatArray) -> FloatArray:
            return np.broadcast_to(values, (steps, *values.shape)).reshape(steps * nodes, *values.shape[1:])

        Q, U = q.reshape(steps * nodes, -1), u.reshape(steps * nodes, -1)
        of_tree = f.tree_slopes(Q, U, every(motion.udot), motion.outside.repeated(steps))
        lam = every(pull)[:, None]
        parts = []
        for slopes in of_tree:
            by_tree = (lam @ slopes).reshape(steps, nodes, 1, -1)
            parts.append((by_tree @ J)[:, :, 0])
        return np.concatenate(parts, axis=2)

    found = np.zeros((nodes, 3 * n, 3 * n))
    here = gradient(motion.q[None], motion.u[None], 1)[0]
    at_once = max(1, _FRAMES // nodes)
    for start in range(0, n, at_once):
        which = np.arange(start, min(start + at_once, n))
        q = motion.q + _STEP * np.moveaxis(J[:, :, which], 2, 0)
        u = np.broadcast_to(motion.u, (len(which), *motion.u.shape))
        found[:, which] = np.moveaxis((gradient(q, u, len(which)) - here) / _STEP, 0, 1)
        q = np.broadcast_to(motion.q, q.shape)
        u = motion.u + _SPEED_STEP * np.moveaxis(J[:, :, which], 2, 0)
        by_speed = gradient(q, u, len(which))[:, :, n : 2 * n] - here[:, n : 2 * n]
        found[:, n + which, n : 2 * n] = np.moveaxis(by_speed / _SPEED_STEP, 0, 1)
    for part in (slice(0, n), slice(n, 2 * n)):
        found[:, part, part] = 0.5 * (found[:, part, part] + np.swapaxes(found[:, part, part], 1, 2))
    found[:, n:, :n] = np.swapaxes(found[:, :n, n:], 1, 2)
    return found
