"""Second derivatives of the equations of a model with muscles, contracted with multipliers.

With multipliers lambda of moments, mu of equilibria and nu of rates of activation, the Lagrangian of a node is

    lambda . tau(q, u, udot) - sum_i (lambda . r_i) F_i + sum_i mu_i (f_i - g_i) + sum_i nu_i rate_i

Curvatures of tau are differences of its exact slopes along each coordinate and speed; those of a muscle follow from the
second slopes of one fiber by the chain rule; the third derivatives of lengths of paths that are in it are differences
of exact second ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.derivatives.dynamics_derivatives import inverse_dynamics_derivatives
from musculo.embedding.slopes import embedding_slopes
from musculo.kernels.hill.muscle_slopes import CURVATURE_ROWS
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives
from musculo.trajectory.muscles.muscle_driven import MuscleDriven

_A_S, _A_V, _S_S, _S_V, _V_V, _E_E, _E_A, _A_A = range(CURVATURE_ROWS)
# Steps of differences of exact slopes [rad, m], and of speeds: half the digits are left, which a Newton step does not
# notice.
_STEP, _SPEED_STEP = 1e-6, 1e-5


class NodeCurvature(NamedTuple):
    """Blocks of the symmetric matrix of a node, before they are put where variables are.

    `kinematic` is by (q, u, udot); `mixed` by (a, f, df/dt) of each muscle and (q, u); `inner` by (e, a, f, df/dt).
    """

    kinematic: FloatArray  # (nodes, 3 n, 3 n)
    mixed: FloatArray  # (nodes, muscles, 3, 2 n)
    inner: FloatArray  # (nodes, muscles, 4, 4)


def node_curvature(f: MuscleDriven, v: FloatArray, multipliers: FloatArray, paths: bool = True) -> NodeCurvature:
    """Of the nodes v (nodes, inputs) with multipliers (nodes, outputs); `paths`: third derivatives of lengths too."""
    n, m = len(f.names), f.muscles
    motion = f.motion(v)
    moments = multipliers[:, :n]
    kinematic = _of_dynamics(f, v, moments)
    if m is None:
        return NodeCurvature(kinematic, np.zeros((len(v), 0, 3, 2 * n)), np.zeros((len(v), 0, 4, 4)))
    x, el, count = f.layout, m.elastic, len(m.names)
    of_arms = moment_arm_derivatives(f.model, motion.q, threads=f.threads)
    bends = of_arms.independent
    pull = f._pull(v, motion, of_arms.moment_arm @ motion.J)
    fibers = m.fibers(v[:, x.excitation], v[:, x.activation], pull.along, pull.along_rate, bends=True)
    b, r, speeds = fibers.bends, pull.arms, v[:, x.speed]
    gs, gv = fibers.by_along, fibers.by_speed
    t, fd = m.tendons(v[:, x.tension]), v[:, x.tension_rate]
    elastic = np.zeros(count, dtype=bool)
    elastic[el] = True

    # slopes of s and v by q, u and by f, df/dt
    sq = -r
    vq = -np.einsum("kmij,ki->kmj", bends, speeds)
    vu = -r
    sf, vf, vr, sff, vff = (np.zeros((len(v), count)) for _ in range(5))
    sf[:, el], vf[:, el], vr[:, el] = -t.first, -t.second * fd, -t.first
    sff[:, el], vff[:, el] = -t.second, -t.third * fd
    # the Lagrangian has -weight g: mu of an elastic tendon, and F_max rho of a rigid one, which itself depends on q
    rho = np.einsum("kmi,ki->km", r, moments)
    rho_q = np.einsum("kmij,ki->kmj", bends, moments)
    weight = m.max_force * rho
    weight[:, el] = multipliers[:, n : n + len(el)]
    tension = m.max_force * fibers.force
    tension[:, el] = m.max_force[el] * v[:, x.tension]

    ss, sv, vv = b[:, _S_S], b[:, _S_V], b[:, _V_V]
    w = -weight
    second_s, second_v = ss[..., None] * sq + sv[..., None] * vq, sv[..., None] * sq + vv[..., None] * vq
    qq = np.einsum("km,kmi,kmj->kij", w, sq, second_s) + np.einsum("km,kmi,kmj->kij", w, vq, second_v)
    qq -= np.einsum("km,kmij->kij", w * gs, bends)
    qu = np.einsum("km,kmi,kmj->kij", w, second_v, vu)
    qu -= np.einsum("km,kmij->kji", w * gv, bends)
    uu = np.einsum("km,kmi,kmj->kij", w * vv, vu, vu)
    # rigid: - F_max (rho_x g_y + rho_y g_x)
    rigid = m.rigid
    strong = m.max_force[rigid]
    g_q = gs[..., None] * sq + gv[..., None] * vq
    cross = np.einsum("m,kmi,kmj->kij", strong, rho_q[:, rigid], g_q[:, rigid])
    qq -= cross + np.swapaxes(cross, 1, 2)
    qu -= np.einsum("m,kmi,kmj->kij", strong, rho_q[:, rigid], (gv[..., None] * vu)[:, rigid])
    if paths:
        along = -tension[..., None] * moments[:, None] + (weight * gv)[..., None] * speeds[:, None]
        qq += _third(f, v, bends, along)
    kinematic[:, :n, :n] += qq
    kinematic[:, :n, n : 2 * n] += qu
    kinematic[:, n : 2 * n, :n] += np.swapaxes(qu, 1, 2)
    kinematic[:, n : 2 * n, n : 2 * n] += uu

    mixed = np.zeros((len(v), count, 3, 2 * n))
    a_s, a_v = b[:, _A_S], b[:, _A_V]
    mixed[:, :, 0, :n] = w[..., None] * (a_s[..., None] * sq + a_v[..., None] * vq)
    mixed[:, :, 0, n:] = w[..., None] * a_v[..., None] * vu
    mixed[:, rigid, 0, :n] -= (strong * fibers.by_activation[:, rigid])[..., None] * rho_q[:, rigid]
    mixed[:, :, 1, :n] = w[..., None] * (sf[..., None] * second_s + vf[..., None] * second_v)
    mixed[:, :, 1, n:] = (w * (sf * sv + vf * vv))[..., None] * vu
    mixed[:, el, 1, :n] -= m.max_force[el][:, None] * rho_q[:, el]
    mixed[:, :, 2, :n] = (w * vr)[..., None] * second_v
    mixed[:, :, 2, n:] = (w * vr * vv)[..., None] * vu

    inner = np.zeros((len(v), count, 4, 4))
    nu = np.zeros((len(v), count))
    nu[:, m.driven] = multipliers[:, n + len(el) :]
    inner[:, :, 0, 0], inner[:, :, 0, 1], inner[:, :, 1, 1] = nu * b[:, _E_E], nu * b[:, _E_A], nu * b[:, _A_A]
    inner[:, :, 1, 2] = w * (a_s * sf + a_v * vf)
    inner[:, :, 1, 3] = w * a_v * vr
    inner[:, :, 2, 2] = w * ((ss * sf + 2.0 * sv * vf) * sf + vv * vf * vf + gs * sff + gv * vff)
    second = np.zeros((len(v), count))
    second[:, el] = -t.second
    inner[:, :, 2, 3] = w * ((sv * sf + vv * vf) * vr + gv * second)
    inner[:, :, 3, 3] = w * vv * vr * vr
    for i, j in ((1, 0), (2, 1), (3, 1), (3, 2)):
        inner[:, :, i, j] = inner[:, :, j, i]
    return NodeCurvature(kinematic, mixed, inner)


def _of_dynamics(f: MuscleDriven, v: FloatArray, moments: FloatArray) -> FloatArray:
    """(nodes, 3 n, 3 n) of lambda . tau. Where coordinates are coupled, bends of the coupling are ignored."""
    n, nodes, e = len(f.names), len(v), f.embedding
    motion = f.motion(v)
    G = embedding_slopes(e, motion.q, motion.time)[0] if e.rules else np.tile(np.eye(n), (nodes, 1, 1))
    J = motion.J
    pull = np.einsum("kun,kn->ku", J, moments)
    # all steps of all nodes in one call: coordinates, then speeds, then none
    steps = 2 * n + 1
    q, u = np.tile(motion.q, (steps, 1, 1)), np.tile(motion.u, (steps, 1, 1))
    for k in range(n):
        q[k] += _STEP * G[:, :, k]
        u[n + k] += _SPEED_STEP * J[:, :, k]

    def every(values: FloatArray) -> FloatArray:
        return np.broadcast_to(values, (steps, *values.shape)).reshape(steps * nodes, *values.shape[1:])

    time = every(motion.time)
    d = inverse_dynamics_derivatives(
        f.model,
        q.reshape(steps * nodes, -1),
        u.reshape(steps * nodes, -1),
        every(motion.udot),
        loads=f.loads_at(time),
        time=time,
        threads=f.threads,
    )
    lam = every(pull)

    def along(slopes: FloatArray, map_: FloatArray) -> FloatArray:
        """(steps, nodes, n) gradient by independent ones."""
        by_tree = np.matmul(lam[:, None, :], slopes)[:, 0].reshape(steps, nodes, -1)
        return np.einsum("skq,kqn->skn", by_tree, map_)

    gradient = np.concatenate([along(d.dtau_dq, G), along(d.dtau_du, J), along(d.dtau_dudot, J)], axis=2)
    found = np.zeros((nodes, 3 * n, 3 * n))
    found[:, :n] = np.moveaxis((gradient[:n] - gradient[-1]) / _STEP, 0, 1)
    found[:, n : 2 * n, n : 2 * n] = np.moveaxis((gradient[n : 2 * n, :, n : 2 * n] - gradient[-1, :, n : 2 * n]) / _SPEED_STEP, 0, 1)
    found[:, :n, :n] = 0.5 * (found[:, :n, :n] + np.swapaxes(found[:, :n, :n], 1, 2))
    found[:, n:, :n] = np.swapaxes(found[:, :n, n:], 1, 2)
    return found


def _third(f: MuscleDriven, v: FloatArray, bends: FloatArray, along: FloatArray) -> FloatArray:
    """(nodes, n, n) sum over muscles and i of along_mi d2 r_mi / dq dq, by differences of dr/dq."""
    n, nodes, x = len(f.names), len(v), f.layout
    moved = np.tile(v, (n, 1, 1))
    for k in range(n):
        moved[k, :, x.value[k]] += _STEP
    motion = f.motion(moved.reshape(n * nodes, -1))
    ahead = moment_arm_derivatives(f.model, motion.q, threads=f.threads).independent.reshape(n, *bends.shape)
    found = np.einsum("kmi,skmij->ksj", along, (ahead - bends) / _STEP)
    return 0.5 * (found + np.swapaxes(found, 1, 2))
