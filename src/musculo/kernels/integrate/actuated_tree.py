"""A tree under actuators and loads from outside: what each of them does on every speed, and the accelerations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.constraints.coupler_frames import RuledFrames, RuleSpace, frame_of_rules, scratch_rows
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.embedded_acceleration import Followers
from musculo.kernels.constraints.force_columns import solve_force_columns
from musculo.kernels.scalar.vectors import add, cross, dot, load3, rotate, rotate_back, subtract
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.nodes import NODE_ROWS, WORLD, hinge_column, load_rotation
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import work_rows


class Actuators(NamedTuple):
    """Actuators: at speeds, or made of unit forces and moments on bodies, `parts` of them."""

    speed: IntArray  # (actuators,) row of u; -1 for one on bodies
    actuator: IntArray  # (parts,) whose part it is
    node: IntArray  # (parts,) of the body that it acts on
    turns: IntArray  # (parts,) 1 for a moment
    direction_node: IntArray  # (parts,) in whose frame the direction stands still
    direction: FloatArray  # (parts, 3)
    point_node: IntArray  # (parts,) in whose frame the point does
    point: FloatArray  # (parts, 3)


class OutsideLoads(NamedTuple):
    """Forces and moments on bodies that are known functions of time, in frames of nodes."""

    node: IntArray  # (loads,) of the body
    force_node: IntArray  # (loads,) in whose frame force and moment are given
    point_node: IntArray  # (loads,) in whose frame the point is


class ActuatedTree(NamedTuple):
    """A tree without loops, whose coordinates have derivatives that are speeds, and what acts on it."""

    tree: Any
    table: Any
    rules: RuleRows  # couplers, locks and prescribed motions, inputs first
    functions: Any  # of the rules
    followers: Followers
    free: IntArray  # (n_z,) rows of q, and of u, that are independent
    actuators: Actuators
    loads: OutsideLoads


class ActuatedRoom(NamedTuple):
    """Where one state is worked on."""

    frame: RuledFrames
    space: RuleSpace
    U: FloatArray  # (n_u, 1)
    bias: FloatArray  # (n_u, 1) accelerations at zero independent ones
    S: FloatArray  # (inputs, 1) slopes of rules
    E: FloatArray  # (6 nodes, 1) zeros: loads come by `wrench_on_speeds`
    W: FloatArray
    C: FloatArray  # composite bodies
    M: FloatArray  # (n_u n_u, 1)
    F: FloatArray  # (n_u, 1) inverse dynamics
    T: FloatArray  # (n_u, 1 + actuators) forces on speeds: all that is known, then a unit of each actuator
    D: FloatArray  # (n_u, 1 + actuators) accelerations likewise
    one_T: FloatArray  # (n_u, 1) all forces together
    one_D: FloatArray  # (n_u, 1)
    pivot: FloatArray  # (n_u, 1)


@room
def actuated_room(p):
    """Room for one state of an `ActuatedTree`."""
    n, n_u, nodes, columns = p.tree.q_rows.size, p.tree.u_rows.size, p.tree.parent.size, 1 + p.actuators.speed.size
    inputs = max(p.followers.inputs.size, 1)
    frame = RuledFrames(
        np.zeros((1, n)), np.zeros((1, n_u)), np.zeros((1, n)), np.zeros((1, n_u)), np.zeros((1, n_u)),
        np.zeros((1, inputs)),
    )  # fmt: skip
    space = RuleSpace(np.zeros((scratch_rows(p.functions), 1)), np.zeros((n, 1)))
    return ActuatedRoom(
        frame, space, np.zeros((n_u, 1)), np.zeros((n_u, 1)), np.zeros((inputs, 1)), np.zeros((6 * nodes, 1)),
        np.zeros((work_rows(p.tree), 1)), np.zeros((COMPOSITE_ROWS * nodes, 1)), np.zeros((n_u * n_u, 1)),
        np.zeros((n_u, 1)), np.zeros((n_u, columns)), np.zeros((n_u, columns)), np.zeros((n_u, 1)), np.zeros((n_u, 1)),
        np.ones((n_u, 1)),
    )  # fmt: skip


@kernel
def wrench_on_speeds(tree, node, force, moment, W, T, column):
    """Add to T (n_u, columns) what a force and a moment about ground's origin, in ground, on a node do on every speed.

    tau_k = w_k . (t - p x f) + v_k . f    for the columns (w, v) of the hinges from the node to ground, each in and
    about its own frame. Call after `rnea` with loads, which places the nodes in ground.
    """
    i = node
    while i > 0:
        R, p = load_rotation(W, i * NODE_ROWS + WORLD, 0), load3(W, i * NODE_ROWS + WORLD + 9, 0)
        f, t = rotate_back(R, force), rotate_back(R, subtract(moment, cross(p, force)))
        for k in range(tree.n_u[i]):
            angular, linear = hinge_column(tree, i, k, W, 0)
            T[tree.u_rows[tree.u_first[i] + k], column] += dot(angular, t) + dot(linear, f)
        i = tree.parent[i]


@kernel
def _actuator_columns(p, W, T):
    """What a unit of each actuator does on every speed, into T from its second column on."""
    a = p.actuators
    for i in range(a.speed.size):
        if a.speed[i] >= 0:
            T[a.speed[i], 1 + i] = 1.0
    for k in range(a.actuator.size):
        at = a.direction_node[k] * NODE_ROWS + WORLD
        along = rotate(load_rotation(W, at, 0), (a.direction[k, 0], a.direction[k, 1], a.direction[k, 2]))
        if a.turns[k] == 1:
            wrench_on_speeds(p.tree, a.node[k], (0.0, 0.0, 0.0), along, W, T, 1 + a.actuator[k])
        else:
            at = a.point_node[k] * NODE_ROWS + WORLD
            R, origin = load_rotation(W, at, 0), load3(W, at + 9, 0)
            x = add(origin, rotate(R, (a.point[k, 0], a.point[k, 1], a.point[k, 2])))
            wrench_on_speeds(p.tree, a.node[k], along, cross(x, along), W, T, 1 + a.actuator[k])


@kernel
def _load_column(p, loads, W, T):
    """Add what loads from outside do to the first column. loads: (loads, 9) force, point, moment."""
    o = p.loads
    for k in range(o.node.size):
        at = o.force_node[k] * NODE_ROWS + WORLD
        R = load_rotation(W, at, 0)
        force = rotate(R, (loads[k, 0], loads[k, 1], loads[k, 2]))
        moment = rotate(R, (loads[k, 6], loads[k, 7], loads[k, 8]))
        at = o.point_node[k] * NODE_ROWS + WORLD
        R, origin = load_rotation(W, at, 0), load3(W, at + 9, 0)
        x = add(origin, rotate(R, (loads[k, 3], loads[k, 4], loads[k, 5])))
        wrench_on_speeds(p.tree, o.node[k], force, add(moment, cross(x, force)), W, T, 0)


@kernel
def put_actuated_state(t, q, u, loads, p, r):
    """Place a state: mass matrix r.M and forces r.T, those that are known in the first column.

    Coordinates and speeds that follow others are made of the independent ones among q (n,) and u (n_u,), and come back
    in r.frame.
    """
    n_u = p.tree.u_rows.size
    for k in range(q.size):
        r.frame.given_q[0, k] = q[k]
    for k in range(n_u):
        r.frame.given_u[0, k] = u[k]
    frame_of_rules(p.rules, p.functions, t, r.frame, r.space, 0)
    for k in range(n_u):
        r.U[k, 0], r.bias[k, 0] = r.frame.u[0, k], r.frame.bias[0, k]
    for k in range(r.S.shape[0]):
        r.S[k, 0] = r.frame.slopes[0, k]
    rnea(p.tree, p.table, r.space.x, r.U, r.bias, r.E, n_u >= 0, r.W, r.F, 0)
    r.M[:] = 0.0
    placed_mass_matrix(p.tree, r.W, r.C, r.M, 0)
    r.T[:] = 0.0
    for k in range(n_u):
        r.T[k, 0] = -r.F[k, 0]
    _load_column(p, loads, r.W, r.T)
    _actuator_columns(p, r.W, r.T)


@kernel
def acceleration_map(p, r):
    """r.D: accelerations of the placed state without actuators in the first column, then what a unit of each adds."""
    solve_force_columns(p.tree.u_rows.size, p.followers, r.S, r.M, r.T, r.bias, r.D, r.pivot)


@kernel
def accelerations_under(force, p, r):
    """r.one_D: accelerations of the placed state under forces (actuators,) of the actuators."""
    n_u = p.tree.u_rows.size
    for k in range(n_u):
        total = r.T[k, 0]
        for i in range(force.size):
            total += r.T[k, 1 + i] * force[i]
        r.one_T[k, 0] = total
    solve_force_columns(n_u, p.followers, r.S, r.M, r.one_T, r.bias, r.one_D, r.pivot)
