"""Recursive Newton-Euler: generalized forces and joint reactions from a motion, O(n).

Barman2020 chapters II-III give the recursion for revolute and prismatic links; here for every mobilizer.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import apart, kernel, spliced
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import (
    accumulate3,
    add,
    add_scaled,
    cross,
    dot,
    load3,
    matmul,
    rotate,
    rotate_back,
    store3,
    subtract,
    symmetric_times,
)
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.nodes import (
    ACCEL,
    ALPHA,
    FORCE,
    JOINT_ACCEL,
    JOINT_ALPHA,
    JOINT_OMEGA,
    JOINT_VELOCITY,
    MOMENT,
    NODE_ROWS,
    OMEGA,
    PRISMATIC,
    REVOLUTE,
    WORLD,
    hinge_row,
    load_rotation,
    pose,
    store_rotation,
)


@spliced
def rest_at_ground(tree, loads, W, lane):
    """Ground does not move; its acceleration upwards stands for gravity. Its pose is needed for external loads."""
    zero = like(W[0, lane], 0.0)
    store3(W, OMEGA, lane, (zero, zero, zero))
    store3(W, ALPHA, lane, (zero, zero, zero))
    store3(W, ACCEL, lane, (zero - tree.gravity[0], zero - tree.gravity[1], zero - tree.gravity[2]))
    if loads is not None and loads.acting:
        one = like(zero, 1.0)
        store_rotation(W, WORLD, lane, (one, zero, zero, zero, one, zero, zero, zero, one))
        store3(W, WORLD + 9, lane, (zero, zero, zero))


@spliced
def joint_motion(tree, i, udot, W, lane):
    """Velocity and acceleration across a general node's joint: (w, v, alpha, a) in M."""
    b = i * NODE_ROWS
    alpha = load3(W, b + JOINT_ALPHA, lane)
    accel = load3(W, b + JOINT_ACCEL, lane)
    for k in range(tree.n_u[i]):
        slot = tree.u_first[i] + k
        row = hinge_row(tree, slot)
        a = udot[tree.u_rows[slot], lane]
        alpha = add_scaled(alpha, a, load3(W, row, lane))
        accel = add_scaled(accel, a, load3(W, row + 3, lane))
    return load3(W, b + JOINT_OMEGA, lane), load3(W, b + JOINT_VELOCITY, lane), alpha, accel


@spliced
def inertial_wrench(tree, i, omega, alpha, accel):
    """(force, moment about the origin) that the motion of node i's own mass needs.

    f = m a + alpha x h + w x (w x h),   t = I alpha + w x I w + h x a,   h = m c.
    """
    J = tree.inertia
    m = J[i, 0]
    h = (J[i, 1], J[i, 2], J[i, 3])
    tensor = (J[i, 4], J[i, 5], J[i, 6], J[i, 7], J[i, 8], J[i, 9])
    force = add(add_scaled(cross(alpha, h), m, accel), cross(omega, cross(omega, h)))
    moment = add(symmetric_times(tensor, alpha), cross(omega, symmetric_times(tensor, omega)))
    return force, add(moment, cross(h, accel))


@spliced
def less_external(tree, i, X, loads, wrench, W, lane):
    """The wrench (force, moment) that node i's joint must give, less the external one; keeps the pose in ground.

    X = (R, p): pose of the node in its parent, which is in ground already.
    """
    (R, p), (force, moment) = X, wrench
    P = tree.parent[i] * NODE_ROWS + WORLD
    R_WP = load_rotation(W, P, lane)
    R_W = matmul(R_WP, R)
    p_W = add(load3(W, P + 9, lane), rotate(R_WP, p))
    store_rotation(W, i * NODE_ROWS + WORLD, lane, R_W)
    store3(W, i * NODE_ROWS + WORLD + 9, lane, p_W)
    push = load3(loads.wrench, 6 * i, lane)
    twist = subtract(load3(loads.wrench, 6 * i + 3, lane), cross(p_W, push))
    return subtract(force, rotate_back(R_W, push)), subtract(moment, rotate_back(R_W, twist))


@spliced
def _outward(tree, i, motion, loads, W, lane):
    """Velocity and acceleration of node i from its parent's, and the wrench that its own mass and loads need."""
    u, udot = motion.u, motion.udot
    b = i * NODE_ROWS
    P = tree.parent[i] * NODE_ROWS
    kind = tree.kind[i]
    R, p = pose(tree, i, W, lane)
    omega_P = load3(W, P + OMEGA, lane)
    alpha_P = load3(W, P + ALPHA, lane)
    accel_P = add(load3(W, P + ACCEL, lane), cross(alpha_P, p))
    accel_P = add(accel_P, cross(omega_P, cross(omega_P, p)))
    omega = rotate_back(R, omega_P)
    alpha = rotate_back(R, alpha_P)
    accel = rotate_back(R, accel_P)
    if kind == REVOLUTE:
        row = tree.u_rows[tree.u_first[i]]
        rate = u[row, lane]
        alpha = (alpha[0] + omega[1] * rate, alpha[1] - omega[0] * rate, alpha[2] + udot[row, lane])
        omega = (omega[0], omega[1], omega[2] + rate)
    elif kind == PRISMATIC:
        row = tree.u_rows[tree.u_first[i]]
        rate = 2.0 * u[row, lane]
        accel = (accel[0] + omega[1] * rate, accel[1] - omega[0] * rate, accel[2] + udot[row, lane])
    else:
        omega_J, velocity_J, alpha_J, accel_J = joint_motion(tree, i, udot, W, lane)
        alpha = add(add(alpha, cross(omega, omega_J)), alpha_J)
        accel = add(add_scaled(accel, 2.0, cross(omega, velocity_J)), accel_J)
        omega = add(omega, omega_J)
    store3(W, b + OMEGA, lane, omega)
    store3(W, b + ALPHA, lane, alpha)
    store3(W, b + ACCEL, lane, accel)
    if tree.massless[i]:
        zero = like(omega[0], 0.0)
        force = (zero, zero, zero)
        moment = (zero, zero, zero)
    else:
        force, moment = inertial_wrench(tree, i, omega, alpha, accel)
    if loads is not None and loads.acting:
        force, moment = less_external(tree, i, (R, p), loads, (force, moment), W, lane)
    store3(W, b + FORCE, lane, force)
    store3(W, b + MOMENT, lane, moment)


@spliced
def _inward(tree, i, tau, W, lane):
    """Generalized forces of node i's joint, and its wrench handed on to its parent."""
    b = i * NODE_ROWS
    P = tree.parent[i]
    kind = tree.kind[i]
    force = load3(W, b + FORCE, lane)
    moment = load3(W, b + MOMENT, lane)
    first = tree.u_first[i]
    if kind == REVOLUTE:
        tau[tree.u_rows[first], lane] = moment[2]
    elif kind == PRISMATIC:
        tau[tree.u_rows[first], lane] = force[2]
    else:
        for k in range(tree.n_u[i]):
            row = hinge_row(tree, first + k)
            work = dot(load3(W, row, lane), moment) + dot(load3(W, row + 3, lane), force)
            tau[tree.u_rows[first + k], lane] = work
    if P > 0:
        R, p = pose(tree, i, W, lane)
        force = rotate(R, force)
        moment = add(rotate(R, moment), cross(p, force))
        accumulate3(W, P * NODE_ROWS + FORCE, lane, force)
        accumulate3(W, P * NODE_ROWS + MOMENT, lane, moment)


@kernel
def rnea(tree, table, W, motion, loads, tau, lane):
    """Inverse dynamics of one lane: q, u, udot -> tau; leaves every node's joint wrench in FORCE and MOMENT.

        w = R^T w_P + w_J,   alpha = R^T alpha_P + R^T w_P x w_J + alpha_J
        a = R^T (a_P + alpha_P x p + w_P x (w_P x p)) + 2 R^T w_P x v_J + a_J
        tau = H^T (t, f),   f_P += R f,   t_P += R t + p x R f

    Args:
        tree, table: the model (`Tree`, `FunctionTable`).
        W: workspace (rows, lanes). motion: `Motion`. loads: `Loads`, or None. tau: (speeds, lanes), written.
    """
    apart()
    n = tree.parent.size
    moving = n > 0  # no literal: `place_general` is compiled once for still and moving alike
    rest_at_ground(tree, loads, W, lane)
    for i in range(1, n):
        place(tree, table, i, motion.q, motion.u, moving, W, lane)
        _outward(tree, i, motion, loads, W, lane)
    # Tip to base: a parent's wrench needs every child's first.
    for i in range(n - 1, 0, -1):
        _inward(tree, i, tau, W, lane)
