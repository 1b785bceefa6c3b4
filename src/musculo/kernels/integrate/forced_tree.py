"""Forces of a model as a force of one state: (t, q, u, tau, ...) adds to tau, as `KernelForce` calls it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.forces.acting_forces import ActingForces, ForceState, ForceSums, acting_forces, acting_room
from musculo.kernels.forces.passive_forces import PassiveRoom
from musculo.kernels.forces.wrench_forces import pull_back
from musculo.kernels.integrate.force_calls import call_force
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.tree_frames import work_rows


class ForcedTree(NamedTuple):
    """A tree and what acts on it."""

    tree: Any
    table: Any
    forces: ActingForces
    controls: FloatArray  # (rows, 1) of actuators


class ForcedRoom(NamedTuple):
    """Where one state is worked on."""

    Q: FloatArray  # (n, 1)
    U: FloatArray  # (n_u, 1)
    rest: FloatArray  # (n_u, 1) zeros
    tau: FloatArray  # (n_u, 1)
    W: FloatArray
    motion: FloatArray  # (MOTION_ROWS nodes, 1)
    E: FloatArray  # (6 nodes, 1) wrenches
    values: PassiveRoom


@room
def forced_room(p):
    """Room for one state of a `ForcedTree`."""
    n, n_u, nodes = p.tree.q_rows.size, p.tree.u_rows.size, p.tree.parent.size
    return ForcedRoom(
        np.zeros((n, 1)), np.zeros((n_u, 1)), np.zeros((n_u, 1)), np.zeros((n_u, 1)),
        np.zeros((work_rows(p.tree), 1)), np.zeros((MOTION_ROWS * nodes, 1)), np.zeros((6 * nodes, 1)),
        acting_room(p.forces),
    )  # fmt: skip


@kernel
def model_force(t, q, u, tau, p, r):
    """Add the generalized forces of all that acts on a tree: tau + J^T E of `acting_forces`.

    Args: t: time [s]. q: (n,). u: (n_u,). tau: (n_u,). p: `ForcedTree`. r: `ForcedRoom`.
    """
    for k in range(q.size):
        r.Q[k, 0] = q[k]
    for k in range(u.size):
        r.U[k, 0] = u[k]
        r.tau[k, 0] = 0.0
    if p.forces.on_bodies != 0:
        # no literal: joints are compiled once for still and moving alike
        kinematics(p.tree, p.table, r.W, Motion(r.Q, r.U, r.rest), q.size > 0, r.motion, 0)
        for k in range(r.E.size):
            r.E[k, 0] = 0.0
    state, sums = ForceState(r.Q, r.U, r.motion), ForceSums(r.E, r.tau)
    acting_forces(p.forces, t, state, p.controls, sums, r.values, 0)
    if p.forces.on_bodies != 0:
        pull_back(p.tree, r.W, r.motion, r.E, r.tau, 0)
    for k in range(u.size):
        tau[k] += r.tau[k, 0]


@kernel
def wrench_force(q, E, tau, p, r):
    """Add the generalized forces of wrenches on nodes to tau: J^T E.

    Args: q: (n,). E: (6 nodes,) force, then moment about ground's origin. tau: (n_u,). p: `ForcedTree`. r: room.
    """
    for k in range(q.size):
        r.Q[k, 0] = q[k]
    for k in range(tau.size):
        r.tau[k, 0] = 0.0
    for k in range(E.size):
        r.E[k, 0] = E[k]
    # no literal: joints are compiled once for still and moving alike
    kinematics(p.tree, p.table, r.W, Motion(r.Q, r.rest, r.rest), q.size < 0, r.motion, 0)
    pull_back(p.tree, r.W, r.motion, r.E, r.tau, 0)
    for k in range(tau.size):
        tau[k] += r.tau[k, 0]


@kernel
def in_turn(t, q, u, tau, forces):
    """Add several forces in their order, so that each finds in tau what those before it gave.

    Args: forces: (k,) addresses of words as in `force_calls`.
    """
    for k in range(forces.size):
        call_force(forces[k], t, q, u, tau)
