"""Poses, velocities and accelerations of all nodes in ground, and the columns of every Jacobian."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import apart, kernel, spliced
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import add, add_scaled, cross, load3, matmul, rotate, store3, subtract
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.nodes import (
    PRISMATIC,
    REVOLUTE,
    hinge_column,
    load_rotation,
    pose,
    store_rotation,
)
from musculo.kernels.tree.rnea import joint_motion

# Rows of a node in the result.
ROTATION = 0  # R_WM
POSITION = 9  # p_WM
ANGULAR_VELOCITY = 12
VELOCITY = 15  # of M's origin
ANGULAR_ACCELERATION = 18
ACCELERATION = 21  # of M's origin
MOTION_ROWS = 24


class PlacedNodes(NamedTuple):
    """A pose, with what `kinematics` and `twists` make of it."""

    q: FloatArray  # (n_q, lanes)
    nodes: FloatArray  # (MOTION_ROWS n, lanes)
    columns: FloatArray  # (6 n_u, lanes)


@spliced
def _relative(tree, i, u, udot, W, lane):
    """(w, v, alpha, a) across the joint of node i, in M."""
    zero = like(W[0, lane], 0.0)
    still = (zero, zero, zero)
    kind = tree.kind[i]
    if kind == REVOLUTE:
        row = tree.u_rows[tree.u_first[i]]
        omega, velocity = (zero, zero, u[row, lane]), still
        alpha, accel = (zero, zero, udot[row, lane]), still
    elif kind == PRISMATIC:
        row = tree.u_rows[tree.u_first[i]]
        omega, velocity = still, (zero, zero, u[row, lane])
        alpha, accel = still, (zero, zero, udot[row, lane])
    else:
        omega, velocity, alpha, accel = joint_motion(tree, i, udot, W, lane)
    return omega, velocity, alpha, accel


@kernel
def kinematics(tree, table, W, motion, moving, out, lane):
    """Poses of all nodes in ground and, if `moving`, their velocities and accelerations.

        w = w_P + w_J,   v = v_P + w_P x r + v_J,   alpha = alpha_P + w_P x w_J + alpha_J
        a = a_P + alpha_P x r + w_P x (w_P x r) + 2 w_P x v_J + a_J,   all in ground, r from P's origin to M's.

    Args:
        tree, table: the model. W: workspace. motion: `Motion`, of which q alone is read unless `moving`.
        out: (MOTION_ROWS n, lanes), written.
    """
    apart()
    q, u, udot = motion.q, motion.u, motion.udot
    zero = like(q[0, lane], 0.0)
    one = like(zero, 1.0)
    for k in range(MOTION_ROWS):
        out[k, lane] = zero
    out[0, lane] = one
    out[4, lane] = one
    out[8, lane] = one
    for i in range(1, tree.parent.size):
        place(tree, table, i, q, u, moving, W, lane)
        o = i * MOTION_ROWS
        P = tree.parent[i] * MOTION_ROWS
        R, p = pose(tree, i, W, lane)
        R_P = load_rotation(out, P + ROTATION, lane)
        R_W = matmul(R_P, R)
        r = rotate(R_P, p)
        store_rotation(out, o + ROTATION, lane, R_W)
        store3(out, o + POSITION, lane, add(load3(out, P + POSITION, lane), r))
        if moving:
            omega_J, velocity_J, alpha_J, accel_J = _relative(tree, i, u, udot, W, lane)
            omega_J, velocity_J = rotate(R_W, omega_J), rotate(R_W, velocity_J)
            omega_P = load3(out, P + ANGULAR_VELOCITY, lane)
            alpha_P = load3(out, P + ANGULAR_ACCELERATION, lane)
            swing = cross(omega_P, r)
            store3(out, o + ANGULAR_VELOCITY, lane, add(omega_P, omega_J))
            store3(out, o + VELOCITY, lane, add(add(load3(out, P + VELOCITY, lane), swing), velocity_J))
            alpha = add(add(alpha_P, cross(omega_P, omega_J)), rotate(R_W, alpha_J))
            store3(out, o + ANGULAR_ACCELERATION, lane, alpha)
            accel = add(load3(out, P + ACCELERATION, lane), add(cross(alpha_P, r), cross(omega_P, swing)))
            accel = add(add_scaled(accel, 2.0, cross(omega_P, velocity_J)), rotate(R_W, accel_J))
            store3(out, o + ACCELERATION, lane, accel)


@kernel
def twists(tree, W, out, columns, lane):
    """Twist of ground's origin that each unit speed gives to whatever it moves, in ground: (w, v) in six rows a speed.

    The velocity of a point x of a moved body is v + w x x. Call after `kinematics`, with its W and out.
    """
    for i in range(1, tree.parent.size):
        o = i * MOTION_ROWS
        R_W = load_rotation(out, o + ROTATION, lane)
        p_W = load3(out, o + POSITION, lane)
        for k in range(tree.n_u[i]):
            angular, linear = hinge_column(tree, i, k, W, lane)
            angular = rotate(R_W, angular)
            linear = subtract(rotate(R_W, linear), cross(angular, p_W))
            row = 6 * tree.u_rows[tree.u_first[i] + k]
            store3(columns, row, lane, angular)
            store3(columns, row + 3, lane, linear)
