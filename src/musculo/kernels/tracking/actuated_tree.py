"""A tree under actuators, its own forces and loads from outside: accelerations, and how they depend on controls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.constraints.coupler_frames import RuledFrames, RuleSpace, frame_of_rules, scratch_rows
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.embedded_acceleration import Followers
from musculo.kernels.constraints.force_columns import solve_force_columns
from musculo.kernels.forces.acting_forces import ActingForces, ForceState, ForceSums, acting_forces, acting_room
from musculo.kernels.forces.actuator_laws import actuator_forces, put_wrench
from musculo.kernels.forces.passive_forces import PassiveRoom
from musculo.kernels.forces.wrench_forces import pull_back
from musculo.kernels.scalar.vectors import add, load3, rotate
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION, kinematics
from musculo.kernels.tree.nodes import Loads, Motion, load_rotation
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import work_rows


class ActuatedTree(NamedTuple):
    """A tree without loops, whose coordinates have derivatives that are speeds, and what acts on it."""

    tree: Any
    table: Any
    rules: RuleRows  # couplers, locks and prescribed motions, inputs first
    functions: Any  # of the rules
    followers: Followers
    free: IntArray  # (n_z,) rows of q, and of u, that are independent
    forces: ActingForces  # controls are numbered as the actuators
    speed: IntArray  # (actuators,) row of u; -1 for one that acts on bodies
    strength: FloatArray  # (actuators,) force at a control of one [N, N m]
    carried: IntArray  # (loads,) nodes with loads besides, which are handed in with the state


class ActuatedRoom(NamedTuple):
    """Where one state is worked on."""

    frame: RuledFrames
    space: RuleSpace
    U: FloatArray  # (n_u, 1)
    bias: FloatArray  # (n_u, 1) accelerations at zero independent ones
    S: FloatArray  # (inputs, 1) slopes of rules
    motion: FloatArray  # (MOTION_ROWS nodes, 1)
    values: PassiveRoom
    controls: FloatArray  # (actuators, 1)
    E: FloatArray  # (6 nodes, 1) wrenches
    W: FloatArray
    C: FloatArray  # composite bodies
    M: FloatArray  # (n_u n_u, 1)
    F: FloatArray  # (n_u, 1) inverse dynamics
    T: FloatArray  # (n_u, 1 + actuators) forces on speeds: all that is known, then a unit of each control
    D: FloatArray  # (n_u, 1 + actuators) accelerations likewise
    one_T: FloatArray  # (n_u, 1) all forces together
    one_D: FloatArray  # (n_u, 1)
    pivot: FloatArray  # (n_u, 1)


@room
def actuated_room(p):
    """Room for one state of an `ActuatedTree`."""
    n, n_u, nodes, actuators = p.tree.q_rows.size, p.tree.u_rows.size, p.tree.parent.size, p.speed.size
    inputs = max(p.followers.inputs.size, 1)
    frame = RuledFrames(
        np.zeros((1, n)), np.zeros((1, n_u)), np.zeros((1, n)), np.zeros((1, n_u)), np.zeros((1, n_u)),
        np.zeros((1, inputs)),
    )  # fmt: skip
    space = RuleSpace(np.zeros((scratch_rows(p.functions), 1)), np.zeros((n, 1)))
    return ActuatedRoom(
        frame, space, np.zeros((n_u, 1)), np.zeros((n_u, 1)), np.zeros((inputs, 1)), np.zeros((MOTION_ROWS * nodes, 1)),
        acting_room(p.forces), np.zeros((actuators, 1)), np.zeros((6 * nodes, 1)), np.zeros((work_rows(p.tree), 1)),
        np.zeros((COMPOSITE_ROWS * nodes, 1)), np.zeros((n_u * n_u, 1)), np.zeros((n_u, 1)),
        np.zeros((n_u, 1 + actuators)), np.zeros((n_u, 1 + actuators)), np.zeros((n_u, 1)), np.zeros((n_u, 1)),
        np.ones((n_u, 1)),
    )  # fmt: skip


@kernel
def _carried_wrenches(nodes, loads, motion, E):
    """Add loads (loads, 9) on nodes: force in ground, its point in the node, torque in ground."""
    for k in range(nodes.size):
        row = MOTION_ROWS * nodes[k]
        arm = rotate(load_rotation(motion, row + ROTATION, 0), (loads[k, 3], loads[k, 4], loads[k, 5]))
        point = add(load3(motion, row + POSITION, 0), arm)
        force, torque = (loads[k, 0], loads[k, 1], loads[k, 2]), (loads[k, 6], loads[k, 7], loads[k, 8])
        put_wrench(E, nodes[k], force, point, torque, 0)


@kernel
def put_actuated_state(t, q, u, loads, p, r):
    """Place a state under the controls r.controls: mass matrix r.M and forces r.one_T, inertial ones among them.

    Coordinates and speeds that follow others are made of the independent ones among q (n,) and u (n_u,), and come back
    in r.space.x and r.U.

    Args: loads: (carried, 9) as `_carried_wrenches` takes them.
    """
    n_u = p.tree.u_rows.size
    for k in range(q.size):
        r.frame.given_q[0, k] = q[k]
    for k in range(n_u):
        r.frame.given_u[0, k] = u[k]
    frame_of_rules(p.rules, p.functions, t, r.frame, r.space, 0)
    for k in range(n_u):
        r.U[k, 0], r.bias[k, 0], r.one_T[k, 0] = r.frame.u[0, k], r.frame.bias[0, k], 0.0
    for k in range(r.S.shape[0]):
        r.S[k, 0] = r.frame.slopes[0, k]
    r.E[:] = 0.0
    motion = Motion(r.space.x, r.U, r.bias)
    kinematics(p.tree, p.table, r.W, motion, n_u >= 0, r.motion, 0)
    state, sums = ForceState(r.space.x, r.U, r.motion), ForceSums(r.E, r.one_T)
    acting_forces(p.forces, t, state, r.controls, sums, r.values, 0)
    _carried_wrenches(p.carried, loads, r.motion, r.E)
    rnea(p.tree, p.table, r.W, motion, Loads(r.E, n_u >= 0), r.F, 0)
    r.M[:] = 0.0
    placed_mass_matrix(p.tree, r.W, r.C, r.M, 0)
    for k in range(n_u):
        r.one_T[k, 0] -= r.F[k, 0]


@kernel
def acceleration_map(p, r):
    """r.D: accelerations of the placed state without controls in the first column, then what a unit of each adds.

    Call after `put_actuated_state` without controls.
    """
    n_u = p.tree.u_rows.size
    r.T[:] = 0.0
    for k in range(n_u):
        r.T[k, 0] = r.one_T[k, 0]
    for i in range(p.speed.size):
        if p.speed[i] >= 0:
            r.T[p.speed[i], 1 + i] = p.strength[i]
            continue
        r.E[:] = 0.0
        r.one_T[:] = 0.0
        r.controls[i, 0] = 1.0
        actuator_forces(p.forces.actuators, r.controls, r.motion, r.E, r.one_T, 0)
        r.controls[i, 0] = 0.0
        pull_back(p.tree, r.W, r.motion, r.E, r.one_T, 0)
        for k in range(n_u):
            r.T[k, 1 + i] = r.one_T[k, 0]
    solve_force_columns(n_u, p.followers, r.S, r.M, r.T, r.bias, r.D, r.pivot)


@kernel
def accelerations_of_state(p, r):
    """r.one_D: accelerations of the placed state."""
    solve_force_columns(p.tree.u_rows.size, p.followers, r.S, r.M, r.one_T, r.bias, r.one_D, r.pivot)
