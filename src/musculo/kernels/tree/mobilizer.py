"""From coordinates to the pose, hinge matrix and bias of each node's joint.

Seth2010 eq. 1-4 state what a mobilizer is, 8-14 the ball and the ellipsoid, 18-35 joints made of functions,
15-17 reversal. Hinge columns and biases end up in the outboard frame M, where the recursions want them.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import inline, kernel, spliced
from musculo.kernels.functions.function_lanes import evaluate_function
from musculo.kernels.functions.function_values import evaluate_multivariate
from musculo.kernels.scalar.scalars import like, sincos, square_root
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    load3,
    matmul,
    rotate,
    rotate_back,
    scale,
    store3,
    subtract,
    transpose,
)
from musculo.kernels.tree.nodes import (
    BALL,
    ELLIPSOID,
    FREE,
    FUNCTION,
    JOINT_ACCEL,
    JOINT_ALPHA,
    JOINT_OMEGA,
    JOINT_VELOCITY,
    NODE_ROWS,
    POSE,
    PRISMATIC,
    REVOLUTE,
    fixed_position,
    fixed_rotation,
    hinge_row,
    scratch_row,
    store_rotation,
    turned_about_z,
)


@inline
def axis_rotation(a, angle):
    """R(a, angle) = c 1 + (1 - c) a a^T + s a~ for a unit vector a."""
    s, c = sincos(angle)
    t = 1.0 - c
    x, y, z = a[0], a[1], a[2]
    return (
        c + t * (x * x),
        t * (x * y) - s * z,
        t * (x * z) + s * y,
        t * (x * y) + s * z,
        c + t * (y * y),
        t * (y * z) - s * x,
        t * (x * z) - s * y,
        t * (y * z) + s * x,
        c + t * (z * z),
    )


@inline
def xyz_rotation(a, b, c):
    """R(x, a) R(y, b) R(z, c)."""
    sa, ca = sincos(a)
    sb, cb = sincos(b)
    sc, cc = sincos(c)
    return (
        cb * cc,
        -(cb * sc),
        sb,
        ca * sc + sa * sb * cc,
        ca * cc - sa * sb * sc,
        -(sa * cb),
        sa * sc - ca * sb * cc,
        sa * cc + ca * sb * sc,
        ca * cb,
    )


@inline
def quaternion_rotation(w, x, y, z):
    """Rotation of the unit quaternion along (w, x, y, z); the length does not matter."""
    n = 1.0 / square_root(w * w + x * x + y * y + z * z)
    w, x, y, z = w * n, x * n, y * n, z * n
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@kernel
def place_functions(tree, table, i, q, u, moving, W, lane):
    """A joint of functions, in F: returns R_FM, p_FM and the bias at zero udot; writes the columns of H_F.

        w = sum_j W_j thetadot_j,   W = [a1, R1 a2, R1 R2 a3],   v = sum_j a_j pdot_j
        alpha_bias = sum_j (Wdot_j thetadot_j + W_j u^T theta_j,qq u),   a_bias = sum_j a_j u^T p_j,qq u

    Source: Seth2010 eq. 18-35.
    """
    first = tree.u_first[i]
    zero = like(q[0, lane], 0.0)
    one = like(zero, 1.0)
    for k in range(6 * tree.n_u[i]):
        W[hinge_row(tree, first) + k, lane] = zero
    R = (one, zero, zero, zero, one, zero, zero, zero, one)
    p = (zero, zero, zero)
    omega = (zero, zero, zero)  # of the rotations passed so far
    alpha = (zero, zero, zero)
    accel = (zero, zero, zero)
    scratch = scratch_row(tree)
    for j in range(6):
        function = tree.function[i, j]
        if function < 0:
            continue
        axis = (tree.axes[i, j, 0], tree.axes[i, j, 1], tree.axes[i, j, 2])
        m = table.n_arguments[function]
        start = tree.argument_first[i, j]
        if m <= 1:
            f, f1, f2 = evaluate_function(table, function, q[tree.argument_rows[start], lane])
            W[scratch, lane] = f
            W[scratch + 1, lane] = f1
            W[scratch + 2, lane] = f2
        else:
            evaluate_multivariate(table, (function, m), q, tree.argument_rows, start, lane, W, scratch)
            f = W[scratch, lane]
        direction = rotate(R, axis) if j < 3 else (axis[0] + zero, axis[1] + zero, axis[2] + zero)
        rate, curvature = zero, zero
        for k in range(m):
            dof = tree.argument_dof[start + k]
            slope = W[scratch + 1 + k, lane]
            row = hinge_row(tree, first + dof) + (0 if j < 3 else 3)
            store3(W, row, lane, add_scaled(load3(W, row, lane), slope, direction))
            if moving:
                speed = u[tree.u_rows[first + dof], lane]
                rate = rate + slope * speed
                for n in range(m):
                    other = u[tree.u_rows[first + tree.argument_dof[start + n]], lane]
                    curvature = curvature + W[scratch + 1 + m + m * k + n, lane] * speed * other
        if j < 3:
            alpha = add(alpha, add_scaled(scale(rate, cross(omega, direction)), curvature, direction))
            omega = add_scaled(omega, rate, direction)
            R = matmul(R, axis_rotation(axis, f))
        else:
            p = add_scaled(p, f, direction)
            accel = add_scaled(accel, curvature, direction)
    return R, p, alpha, accel


@spliced
def place_ball(tree, i, q, W, lane):
    """Rotation of a ball, free or ellipsoid joint from its angles or quaternion; writes H_w = 1 and H_v = 0."""
    first = tree.q_first[i]
    x0 = q[tree.q_rows[first], lane]
    x1 = q[tree.q_rows[first + 1], lane]
    x2 = q[tree.q_rows[first + 2], lane]
    if tree.quaternion[i]:
        R = quaternion_rotation(x0, x1, x2, q[tree.q_rows[first + 3], lane])
    else:
        R = xyz_rotation(x0, x1, x2)
    zero = like(x0, 0.0)
    one = like(x0, 1.0)
    for k in range(tree.n_u[i]):
        row = hinge_row(tree, tree.u_first[i] + k)
        for j in range(6):
            W[row + j, lane] = one if j == k else zero
    return R


@spliced
def place_guided(tree, table, i, q, u, moving, W, lane):
    """A function node that turns about z of F by its coordinate and slides by functions of it, as a knee does.

        H_M = (z, R^T p'),   a_bias = R^T p'' u^2

    The same as `place_general` makes of it, with nothing computed that is known beforehand: it costs little more than
    a pin.
    """
    b, slot = i * NODE_ROWS, tree.u_first[i]
    x = q[tree.q_rows[tree.q_first[i]], lane]
    s, c = sincos(x)
    zero = like(x, 0.0)
    p, slope, bend = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    for j in range(3, 6):
        if tree.function[i, j] >= 0:
            axis = (tree.axes[i, j, 0], tree.axes[i, j, 1], tree.axes[i, j, 2])
            f, f1, f2 = evaluate_function(table, tree.function[i, j], x)
            p, slope, bend = add_scaled(p, f, axis), add_scaled(slope, f1, axis), add_scaled(bend, f2, axis)
    slide = (c * slope[0] + s * slope[1], c * slope[1] - s * slope[0], slope[2])
    row = hinge_row(tree, slot)
    store3(W, row, lane, (zero, zero, like(x, 1.0)))
    store3(W, row + 3, lane, slide)
    if moving:
        rate = u[tree.u_rows[slot], lane]
        square = rate * rate
        store3(W, b + JOINT_OMEGA, lane, (zero, zero, rate))
        store3(W, b + JOINT_VELOCITY, lane, scale(rate, slide))
        store3(W, b + JOINT_ALPHA, lane, (zero, zero, zero))
        turned = (c * bend[0] + s * bend[1], c * bend[1] - s * bend[0], bend[2])
        store3(W, b + JOINT_ACCEL, lane, scale(square, turned))
    F = fixed_rotation(tree, i)
    store_rotation(W, b + POSE, lane, turned_about_z(F, c, s))
    store3(W, b + POSE + 9, lane, add(fixed_position(tree, i), rotate(F, p)))


@kernel
def place_general(tree, table, i, q, u, moving, W, lane):
    """Pose, H, joint velocity and bias of a general node, in the outboard frame.

    Reversed (F outboard), with w, v, alpha, a of M in F (Seth2010 eq. 15-17, derived again):
        H' = (-H_w, -H_v + H_w x p),   alpha' = -alpha,   a' = -a + alpha x p + 2 w x v - w x (w x p),   all in F.
    """
    kind = tree.kind[i]
    first = tree.u_first[i]
    n_u = tree.n_u[i]
    b = i * NODE_ROWS
    zero = like(W[b, lane], 0.0)
    p = (zero, zero, zero)
    alpha = (zero, zero, zero)
    accel = (zero, zero, zero)
    one = like(zero, 1.0)
    R = (one, zero, zero, zero, one, zero, zero, zero, one)
    if kind == FUNCTION:
        R, p, alpha, accel = place_functions(tree, table, i, q, u, moving, W, lane)
    elif kind in (BALL, FREE, ELLIPSOID):
        R = place_ball(tree, i, q, W, lane)
        if kind == FREE:
            start = tree.q_first[i] + (4 if tree.quaternion[i] else 3)
            p = (q[tree.q_rows[start], lane], q[tree.q_rows[start + 1], lane], q[tree.q_rows[start + 2], lane])
        elif kind == ELLIPSOID:
            rx, ry, rz = tree.radii[i, 0], tree.radii[i, 1], tree.radii[i, 2]
            n = (R[2], R[5], R[8])
            p = (rx * n[0], ry * n[1], rz * n[2])
            # v = diag(r) (w x n), eq. 13
            row = hinge_row(tree, first)
            W[row + 4, lane] = -(ry * n[2])
            W[row + 5, lane] = rz * n[1]
            W[row + 9, lane] = rx * n[2]
            W[row + 11, lane] = -(rz * n[0])
            W[row + 15, lane] = -(rx * n[1])
            W[row + 16, lane] = ry * n[0]
            if moving:
                w = (u[tree.u_rows[first], lane], u[tree.u_rows[first + 1], lane], u[tree.u_rows[first + 2], lane])
                turn = cross(w, cross(w, n))
                accel = (rx * turn[0], ry * turn[1], rz * turn[2])
    omega = (zero, zero, zero)
    velocity = (zero, zero, zero)
    if moving:
        for k in range(n_u):
            row = hinge_row(tree, first + k)
            speed = u[tree.u_rows[first + k], lane]
            omega = add_scaled(omega, speed, load3(W, row, lane))
            velocity = add_scaled(velocity, speed, load3(W, row + 3, lane))
    if tree.reversed[i]:
        for k in range(n_u):
            row = hinge_row(tree, first + k)
            angular, linear = load3(W, row, lane), load3(W, row + 3, lane)
            store3(W, row, lane, (-angular[0], -angular[1], -angular[2]))
            store3(W, row + 3, lane, subtract(cross(angular, p), linear))
        if moving:
            coriolis = cross(omega, velocity)
            turn = cross(omega, cross(omega, p))
            accel = subtract(add_scaled(cross(alpha, p), 2.0, coriolis), add(accel, turn))
            velocity = subtract(cross(omega, p), velocity)
            alpha = (-alpha[0], -alpha[1], -alpha[2])
            omega = (-omega[0], -omega[1], -omega[2])
        back = rotate_back(R, p)
        p = (-back[0], -back[1], -back[2])
        R = transpose(R)
    else:
        for k in range(n_u):
            row = hinge_row(tree, first + k)
            store3(W, row, lane, rotate_back(R, load3(W, row, lane)))
            store3(W, row + 3, lane, rotate_back(R, load3(W, row + 3, lane)))
        if moving:
            omega, velocity = rotate_back(R, omega), rotate_back(R, velocity)
            alpha, accel = rotate_back(R, alpha), rotate_back(R, accel)
    if moving:
        store3(W, b + JOINT_OMEGA, lane, omega)
        store3(W, b + JOINT_VELOCITY, lane, velocity)
        store3(W, b + JOINT_ALPHA, lane, alpha)
        store3(W, b + JOINT_ACCEL, lane, accel)
    F = fixed_rotation(tree, i)
    store_rotation(W, b + POSE, lane, matmul(F, R))
    store3(W, b + POSE + 9, lane, add(fixed_position(tree, i), rotate(F, p)))


@spliced
def place(tree, table, i, q, u, moving, W, lane):
    """Place node i: after this `pose` and `hinge_column` hold and, if moving, the joint's velocity and bias."""
    b = i * NODE_ROWS
    kind = tree.kind[i]
    if kind == REVOLUTE:
        s, c = sincos(q[tree.q_rows[tree.q_first[i]], lane])
        W[b, lane] = c
        W[b + 1, lane] = s
    elif kind == PRISMATIC:
        W[b, lane] = q[tree.q_rows[tree.q_first[i]], lane]
    elif tree.guided[i]:
        place_guided(tree, table, i, q, u, moving, W, lane)
    else:
        place_general(tree, table, i, q, u, moving, W, lane)
