"""How poses and twist columns of all nodes change with every coordinate, exactly."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add, cross, load3, matmul, rotate, store3, subtract, transpose
from musculo.kernels.tree.derivatives.joint_slopes import STEP, real9, slope3, slope9
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import hinge_column, load_rotation, pose


class Carriers(NamedTuple):
    """What each coordinate (n_q) carries: lists are slices `first[k] .. first[k + 1] - 1`."""

    node: IntArray  # (n_q,) the node whose joint it belongs to
    first: IntArray  # (n_q + 1,)
    speed: IntArray  # (entries,) rows of u of the joints it moves or belongs to


class ComplexPose(NamedTuple):
    """The complex workspace of `place`."""

    q: FloatArray  # (n_q, lanes)
    u: FloatArray  # (n_u, lanes) zeros
    W: FloatArray  # (work rows, lanes)


class PoseSlopes(NamedTuple):
    """What `pose_slopes` finds."""

    twists: FloatArray  # (6 n_q, lanes) of what each coordinate moves
    columns: FloatArray  # (6 n_u n_q, lanes) slopes of twist columns, for each coordinate those of all speeds


@kernel
def pose_slopes(tree, table, carriers, placed, work, found, lane):
    """The twist that each coordinate's unit rate gives to what it moves, and the slopes of all twist columns.

        d(R_WB)/dq_k = w_k~ R_WB,   dx/dq_k = v_k + w_k x x   for every node and point that coordinate k moves
        dS_j/dq_k = (w_k x w_j, w_k x v_j + v_k x w_j) + Ad(X_WM) dH_j/dq_k   for every speed j that it carries

    with S_j = (w_j, v_j) from the kernel `twists`, and H_j the joint's own column, which k changes in its own joint
    alone. What a joint does with its own coordinates comes from the complex step through the kernel `place`.

    Args:
        carriers: `Carriers`. placed: `PlacedNodes`. work: `ComplexPose`.
        found: `PoseSlopes`, written; `found.columns` is zero at first, and keeps that where a coordinate carries
            nothing.
    """
    q, motion, columns, T, D = placed.q, placed.nodes, placed.columns, found.twists, found.columns
    Q, U, W = work.q, work.u, work.W
    n_q, n_u = q.shape[0], columns.shape[0] // 6
    for k in range(n_q):
        Q[k, lane] = complex(q[k, lane], 0.0)
    for k in range(n_q):
        i = carriers.node[k]
        Q[k, lane] = complex(q[k, lane], STEP)
        place(tree, table, i, Q, U, False, W, lane)
        Q[k, lane] = complex(q[k, lane], 0.0)
        R, p = pose(tree, i, W, lane)
        parent = tree.parent[i] * MOTION_ROWS
        R_P = load_rotation(motion, parent + ROTATION, lane)
        turn = matmul(slope9(R), transpose(real9(R)))
        omega = rotate(R_P, (0.5 * (turn[7] - turn[5]), 0.5 * (turn[2] - turn[6]), 0.5 * (turn[3] - turn[1])))
        p_W = load3(motion, i * MOTION_ROWS + POSITION, lane)
        velocity = subtract(rotate(R_P, slope3(p)), cross(omega, p_W))
        store3(T, 6 * k, lane, omega)
        store3(T, 6 * k + 3, lane, velocity)
        for j in range(carriers.first[k], carriers.first[k + 1]):
            row = 6 * carriers.speed[j]
            w, v = load3(columns, row, lane), load3(columns, row + 3, lane)
            to = 6 * n_u * k + row
            store3(D, to, lane, cross(omega, w))
            store3(D, to + 3, lane, add(cross(omega, v), cross(velocity, w)))
        R_W = load_rotation(motion, i * MOTION_ROWS + ROTATION, lane)
        for j in range(tree.n_u[i]):
            angular, linear = hinge_column(tree, i, j, W, lane)
            w = rotate(R_W, slope3(angular))
            v = subtract(rotate(R_W, slope3(linear)), cross(w, p_W))
            to = 6 * (n_u * k + tree.u_rows[tree.u_first[i] + j])
            store3(D, to, lane, add(load3(D, to, lane), w))
            store3(D, to + 3, lane, add(load3(D, to + 3, lane), v))
