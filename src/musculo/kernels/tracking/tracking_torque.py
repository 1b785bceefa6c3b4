"""Computed torque: the generalized forces with which independent coordinates follow functions of time.

A force of one state as `musculo.simulation.forces.kernel_force.KernelForce` calls it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.constraints.coupler_frames import RuledFrames, RuleSpace, frame_of_rules, scratch_rows
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.embedded_acceleration import Followers
from musculo.kernels.functions.function_values import evaluate
from musculo.kernels.tree.nodes import Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import work_rows


class TrackedTree(NamedTuple):
    """A tree without loops, and the motion that its independent coordinates shall follow."""

    tree: Any
    table: Any
    rules: RuleRows  # couplers, locks and prescribed motions, inputs first
    functions: Any  # of the rules
    followers: Followers
    z: IntArray  # (n_z,) rows of q that are independent
    zu: IntArray  # (n_z,) rows of u that are, in the same order
    goals: Any  # table of the functions of time to follow, one for each of z
    proportional: FloatArray  # (n_z,) gains [1/s^2]
    derivative: FloatArray  # (n_z,) [1/s]


class TorqueRoom(NamedTuple):
    """Where one state is worked on."""

    frame: RuledFrames
    space: RuleSpace
    U: FloatArray  # (n_u, 1)
    A: FloatArray  # (n_u, 1) accelerations
    T: FloatArray  # (n_u, 1) generalized forces
    W: FloatArray


@room
def torque_room(p):
    """Room for one state of a `TrackedTree`."""
    n, n_u = p.tree.q_rows.size, p.tree.u_rows.size
    frame = RuledFrames(
        np.zeros((1, n)), np.zeros((1, n_u)), np.zeros((1, n)), np.zeros((1, n_u)), np.zeros((1, n_u)),
        np.zeros((1, max(p.followers.inputs.size, 1))),
    )  # fmt: skip
    space = RuleSpace(np.zeros((scratch_rows(p.functions), 1)), np.zeros((n, 1)))
    rows = np.zeros((n_u, 1)), np.zeros((n_u, 1)), np.zeros((n_u, 1))
    return TorqueRoom(frame, space, *rows, np.zeros((work_rows(p.tree), 1)))


@kernel
def tracking_torque(t, q, u, tau, p, r):
    """Add forces on the independent speeds under which their accelerations are those of a linear error equation.

        a = f'' - kv (zu - f') - kp (z - f),   J^T (M (J a + b) + c - tau) is added

    with what follows from z by couplers, locks and prescribed motions, so u = J zu, udot = J zudot + b. c holds gravity
    and velocity terms, and tau the forces that are known when this one is asked for: they are made up for.

    Source:     [Ehsani2023], eq. 200 and 201, where kp = K^2 and kv = 2 K.
    Departs:    N multiplies the speeds in eq. 200 (a misprint). The equations are not solved together: inverse dynamics
                at the accelerations a gives the same torques without a mass matrix.
    Guarantees: under these forces and tau alone, zudot = a to rounding; nothing is added on speeds that follow others.

    Args: t: time [s]. q: (n,). u: (n_u,). tau: (n_u,). p: `TrackedTree`. r: `TorqueRoom`.
    """
    n_u = p.tree.u_rows.size
    for k in range(q.size):
        r.frame.given_q[0, k] = q[k]
    for k in range(n_u):
        r.frame.given_u[0, k] = u[k]
    frame_of_rules(p.rules, p.functions, t, r.frame, r.space, 0)
    for k in range(n_u):
        r.U[k, 0] = r.frame.u[0, k]
        r.A[k, 0] = r.frame.bias[0, k]
    for k in range(p.z.size):
        place, speed, acceleration, _ = evaluate(p.goals, k, t)
        late, slow = place - r.space.x[p.z[k], 0], speed - r.U[p.zu[k], 0]
        r.A[p.zu[k], 0] = acceleration + p.derivative[k] * slow + p.proportional[k] * late
    for i in range(p.followers.dependent.size):
        k = p.followers.dependent[i]
        total = r.frame.bias[0, k]
        for e in range(p.followers.first_input[i], p.followers.first_input[i + 1]):
            a = p.followers.inputs[e]
            total = total + r.frame.slopes[0, e] * (r.A[a, 0] - r.frame.bias[0, a])
        r.A[k, 0] = total
    rnea(p.tree, p.table, r.W, Motion(r.space.x, r.U, r.A), Loads(r.A, q.size < 0), r.T, 0)
    for k in range(n_u):
        r.T[k, 0] -= tau[k]
    for i in range(p.followers.dependent.size - 1, -1, -1):
        k = p.followers.dependent[i]
        for e in range(p.followers.first_input[i], p.followers.first_input[i + 1]):
            r.T[p.followers.inputs[e], 0] += r.frame.slopes[0, e] * r.T[k, 0]
    for k in range(p.zu.size):
        tau[p.zu[k]] += r.T[p.zu[k], 0]
