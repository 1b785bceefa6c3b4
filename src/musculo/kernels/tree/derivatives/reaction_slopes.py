"""What joints transmit and its slopes by coordinates, speeds and accelerations: the internal loads of [Barman2020]."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import add, cross, load3, matmul, rotate, rotate_back, subtract
from musculo.kernels.tree.derivatives.joint_slopes import coordinates_end
from musculo.kernels.tree.derivatives.torque_slopes import (
    COLUMN_INERTIA,
    LOAD,
    MASS,
    MOVE,
    MOVE_ACCEL,
    MOVE_TURN,
    MOVE_WRENCH,
    SPEED_ACCEL,
    SPEED_WRENCH,
    SUBTREE_ROWS,
    WRENCH,
    inertia_times,
    move_row,
    speed_row,
    sum_of_speed_and_acceleration,
    tensor_rows,
)
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import load_rotation


class Sections(NamedTuple):
    """The loads of joints that are asked for, and which nodes are on whose way to ground."""

    node: IntArray  # (loads,) outboard of the joint
    sign: FloatArray  # (loads,) 1 for the load on the outboard body, -1 for that on the inboard one
    point_node: IntArray  # (loads,) the node that the point is fixed to
    offset: FloatArray  # (loads, 3) from this node's origin to the point
    frame_node: IntArray  # (loads,) the node that the load is expressed in
    turn: FloatArray  # (loads, 9) rotation of the frame in this node
    above: IntArray  # (n, n) 1 where the second node is the first or on its way to ground


@spliced
def _give_column(out, section, wrench, first, columns, column, lane):
    """d(force, moment) in the frame, of d(moment about ground's origin) and d(force) in ground, the point at rest.

    section: (rotation of the frame, sign, point) in ground.
    """
    (R, sign, arm), (couple, push) = section, wrench
    couple = rotate_back(R, subtract(couple, cross(arm, push)))
    push = rotate_back(R, push)
    for k in range(3):
        out[first + k * columns + column, lane] = sign * push[k]
        out[first + (3 + k) * columns + column, lane] = sign * couple[k]


@spliced
def _give_nothing(tree, joint, zero, lane, out):
    """Zeros in the columns of a node that the load does not feel."""
    n_q, n_u = tree.q_rows.size, tree.u_rows.size
    for k in range(tree.q_first[joint], coordinates_end(tree, joint)):
        for r in range(6):
            out[r * n_q + tree.q_rows[k], lane] = zero
    for slot in range(tree.u_first[joint], tree.u_first[joint] + tree.n_u[joint]):
        for r in range(6):
            out[6 * n_q + r * n_u + tree.u_rows[slot], lane] = zero
            out[6 * (n_q + n_u) + r * n_u + tree.u_rows[slot], lane] = zero


@kernel
def reaction_slopes(tree, j, x, parts, loaded, value, out, lane):
    """The load j of `Sections` x, and its slopes, of one lane; external wrenches constant in ground.

        F = sum over the subtree of the joint of (I a + v x* I v) - external,   in ground and about its origin

    A coordinate that moves the whole subtree by the twist T changes F by I x + B y + T x* F_inertia with the I and B of
    this subtree, a coordinate further out by the same of its own subtree, others not at all (x, y, B: `torque_slopes`).
    Then with the point p and the frame of rotation R, which the coordinate moves by dp and turns by w, or not:

        f = R^T push,   m = R^T (couple - p x push)
        df = R^T (dpush - w x push),   dm = R^T (dcouple - p x dpush - dp x push - w x (couple - p x push))

    Source:     [Barman2020], steps 9 and 10 of chapter III: distal and proximal forces and moments of a link.
    Departs:    in ground, for all columns from sums over subtrees; the paper recurs link by link for each coordinate.
                Its printed eq. 3.83 lacks -F_d x dx_j - F_G x dx_G of a prismatic joint; 3.76 turns the force where
                R^T alone stands, and 3.85 has the arm of the moment wrong where j = k.
    Guarantees: equal to the complex step of `rnea`.

    Args:
        tree: the model. j: which load. x: `Sections`. parts: `SlopeParts`, as `torque_slopes` leaves them.
        value: (6, lanes) force, moment; written. out: (6 (n_q + 2 n_u), lanes) written: three matrices, row by row, a
            column for each coordinate, speed and acceleration.
    """
    K, S, C = parts.nodes, parts.columns, parts.sums
    n_q, n_u = tree.q_rows.size, tree.u_rows.size
    by_u, by_udot = 6 * n_q, 6 * (n_q + n_u)
    i = x.node[j]
    c, o = i * SUBTREE_ROWS, x.frame_node[j] * MOTION_ROWS
    sign = like(K[0, lane], x.sign[j])
    T = x.turn
    R = load_rotation(K, o + ROTATION, lane)
    R = matmul(R, (T[j, 0], T[j, 1], T[j, 2], T[j, 3], T[j, 4], T[j, 5], T[j, 6], T[j, 7], T[j, 8]))
    o = x.point_node[j] * MOTION_ROWS
    offset = (x.offset[j, 0], x.offset[j, 1], x.offset[j, 2])
    arm = add(load3(K, o + POSITION, lane), rotate(load_rotation(K, o + ROTATION, lane), offset))
    inertia_couple, inertia_push = load3(C, c + WRENCH, lane), load3(C, c + WRENCH + 3, lane)
    couple, push = inertia_couple, inertia_push
    if loaded:
        couple = subtract(couple, load3(C, c + LOAD, lane))
        push = subtract(push, load3(C, c + LOAD + 3, lane))
    moment = subtract(couple, cross(arm, push))
    turned, pushed = rotate_back(R, moment), rotate_back(R, push)
    for k in range(3):
        value[k, lane] = sign * pushed[k]
        value[3 + k, lane] = sign * turned[k]
    section = (R, sign, arm)
    zero = like(K[0, lane], 0.0)
    nothing = (zero, zero, zero)
    for joint in range(1, tree.parent.size):
        inboard, outboard = x.above[i, joint] == 1, x.above[joint, i] == 1
        if not inboard and not outboard and x.above[x.point_node[j], joint] + x.above[x.frame_node[j], joint] == 0:
            _give_nothing(tree, joint, zero, lane, out)
            continue
        swings, turns = x.above[x.point_node[j], joint] == 1, x.above[x.frame_node[j], joint] == 1
        for k in range(tree.q_first[joint], coordinates_end(tree, joint)):
            row = move_row(tree, k)
            t, theta = load3(C, row + MOVE, lane), load3(C, row + MOVE + 3, lane)
            d_couple, d_push = nothing, nothing
            if inboard:
                d_couple, d_push = sum_of_speed_and_acceleration(
                    C,
                    c,
                    load3(C, row + MOVE_TURN, lane),
                    load3(C, row + MOVE_ACCEL, lane),
                    load3(C, row + MOVE_ACCEL + 3, lane),
                    lane,
                )
                d_couple = add(d_couple, add(cross(t, inertia_couple), cross(theta, inertia_push)))
                d_push = add(d_push, cross(t, inertia_push))
            elif outboard:
                d_couple, d_push = load3(C, row + MOVE_WRENCH, lane), load3(C, row + MOVE_WRENCH + 3, lane)
            if swings:
                d_couple = subtract(d_couple, cross(add(theta, cross(t, arm)), push))
            if turns:
                # what is subtracted with the push comes back with the arm
                d_push = subtract(d_push, cross(t, push))
                d_couple = subtract(d_couple, add(cross(t, moment), cross(arm, cross(t, push))))
            _give_column(out, section, (d_couple, d_push), 0, n_q, tree.q_rows[k], lane)
        for slot in range(tree.u_first[joint], tree.u_first[joint] + tree.n_u[joint]):
            row, column = speed_row(tree, slot), tree.u_rows[slot]
            d_couple, d_push = nothing, nothing
            e_couple, e_push = nothing, nothing
            if inboard:
                s, sigma = load3(S, 6 * column, lane), load3(S, 6 * column + 3, lane)
                d_couple, d_push = sum_of_speed_and_acceleration(
                    C, c, s, load3(C, row + SPEED_ACCEL, lane), load3(C, row + SPEED_ACCEL + 3, lane), lane
                )
                e_couple, e_push = inertia_times(
                    C[c + MASS, lane],
                    load3(C, c + MASS + 1, lane),
                    tensor_rows(C, c + MASS + 4, lane),
                    s,
                    sigma,
                )
            elif outboard:
                d_couple, d_push = load3(C, row + SPEED_WRENCH, lane), load3(C, row + SPEED_WRENCH + 3, lane)
                e_couple, e_push = load3(C, row + COLUMN_INERTIA, lane), load3(C, row + COLUMN_INERTIA + 3, lane)
            _give_column(out, section, (d_couple, d_push), by_u, n_u, column, lane)
            _give_column(out, section, (e_couple, e_push), by_udot, n_u, column, lane)
