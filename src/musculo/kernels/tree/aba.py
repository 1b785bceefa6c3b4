"""Articulated bodies: accelerations from generalized forces, O(n), for every mobilizer.

The hinge columns of a node are eliminated one after the other, which is the L D L^T factorization of its hinge matrix
H^T I H written out; no small matrix is solved. Speeds whose acceleration is prescribed are not eliminated.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import inline, kernel, spliced, traced
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
    rotate_symmetric,
    store3,
    symmetric_times,
    transpose,
)
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.nodes import (
    ACCEL,
    ALPHA,
    JOINT_ACCEL,
    JOINT_ALPHA,
    JOINT_OMEGA,
    JOINT_VELOCITY,
    NODE_ROWS,
    OMEGA,
    PRISMATIC,
    REVOLUTE,
    hinge_column,
    hinge_row,
    load_rotation,
    pose,
)
from musculo.kernels.tree.rnea import inertial_wrench, less_external, rest_at_ground

# Rows of a node: articulated inertia t = A alpha + B a, f = B^T alpha + C a; bias wrench; bias acceleration.
INERTIA_A = 0
INERTIA_B = 6
INERTIA_C = 15
BIAS_MOMENT = 21
BIAS_FORCE = 24
BIAS_ALPHA = 27
BIAS_ACCEL = 30
ARTICULATED_ROWS = 33
# Rows of a slot: U (moment, force), 1/D, tau - H.p, and how far D is from singular.
SLOT_ROWS = 9
PIVOT = 8


class ArticulatedSpace(NamedTuple):
    """What `aba` works in."""

    W: FloatArray  # the workspace that all kernels share
    A: FloatArray  # (ARTICULATED_ROWS n + SLOT_ROWS slots, lanes) articulated bodies


@spliced
def slot_row(tree, slot):
    """First row of a speed in the articulated workspace."""
    return ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * slot


@inline
def _load6(A, row, lane):
    return (
        A[row, lane],
        A[row + 1, lane],
        A[row + 2, lane],
        A[row + 3, lane],
        A[row + 4, lane],
        A[row + 5, lane],
    )


@traced
def _reduce_symmetric(S, a, b):
    """S - a b^T where b is parallel to a."""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[1] * b[1],
        S[2] - a[2] * b[2],
        S[3] - a[0] * b[1],
        S[4] - a[0] * b[2],
        S[5] - a[1] * b[2],
    )


@traced
def _reduce_general(B, a, b):
    """B - a b^T."""
    return (
        B[0] - a[0] * b[0],
        B[1] - a[0] * b[1],
        B[2] - a[0] * b[2],
        B[3] - a[1] * b[0],
        B[4] - a[1] * b[1],
        B[5] - a[1] * b[2],
        B[6] - a[2] * b[0],
        B[7] - a[2] * b[1],
        B[8] - a[2] * b[2],
    )


@traced
def _shift_articulated(A, B, C, R, p):
    """Articulated inertia of M in and about the origin of P.

    With A' = R A R^T (B, C alike) and P = p~:  C_P = C',  B_P = B' + P C',  A_P = A' - B' P + P B'^T - P C' P.
    """
    A, C = rotate_symmetric(R, A), rotate_symmetric(R, C)
    B = matmul(matmul(R, B), transpose(R))
    c0 = (C[0], C[3], C[4])
    c1 = (C[3], C[1], C[5])
    c2 = (C[4], C[5], C[2])
    # columns of P C' are p x (columns of C')
    x0, x1, x2 = cross(p, c0), cross(p, c1), cross(p, c2)
    up = (
        B[0] + x0[0],
        B[1] + x1[0],
        B[2] + x2[0],
        B[3] + x0[1],
        B[4] + x1[1],
        B[5] + x2[1],
        B[6] + x0[2],
        B[7] + x1[2],
        B[8] + x2[2],
    )
    # A_P = A' + P B'^T - B_P P;   row r of X P is (row r of X) x p; column r of P B'^T is p x (row r of B')
    b0, b1, b2 = (B[0], B[1], B[2]), (B[3], B[4], B[5]), (B[6], B[7], B[8])
    y0, y1, y2 = cross(p, b0), cross(p, b1), cross(p, b2)
    z0 = cross((up[0], up[1], up[2]), p)
    z1 = cross((up[3], up[4], up[5]), p)
    z2 = cross((up[6], up[7], up[8]), p)
    A = (
        A[0] + y0[0] - z0[0],
        A[1] + y1[1] - z1[1],
        A[2] + y2[2] - z2[2],
        A[3] + y1[0] - z0[1],
        A[4] + y2[0] - z0[2],
        A[5] + y2[1] - z1[2],
    )
    return A, up, C


@spliced
def _outward(tree, table, i, motion, prescribed, loads, space, lane):
    """Velocities, bias accelerations and bias wrenches of node i from its parent's."""
    W, A, q, u, udot = space.W, space.A, motion.q, motion.u, motion.udot
    place(tree, table, i, q, u, tree.parent.size > 0, W, lane)
    b = i * NODE_ROWS
    at = i * ARTICULATED_ROWS
    P = tree.parent[i] * NODE_ROWS
    R, p = pose(tree, i, W, lane)
    omega_P = load3(W, P + OMEGA, lane)
    omega = rotate_back(R, omega_P)
    accel = rotate_back(R, cross(omega_P, cross(omega_P, p)))
    zero = like(omega[0], 0.0)
    kind = tree.kind[i]
    if kind == REVOLUTE:
        rate = u[tree.u_rows[tree.u_first[i]], lane]
        alpha = (omega[1] * rate, -(omega[0] * rate), zero)
        omega = (omega[0], omega[1], omega[2] + rate)
    elif kind == PRISMATIC:
        rate = 2.0 * u[tree.u_rows[tree.u_first[i]], lane]
        alpha = (zero, zero, zero)
        accel = (accel[0] + omega[1] * rate, accel[1] - omega[0] * rate, accel[2])
    elif tree.guided[i]:
        rate = u[tree.u_rows[tree.u_first[i]], lane]
        accel = add(accel, load3(W, b + JOINT_ACCEL, lane))
        accel = add_scaled(accel, 2.0, cross(omega, load3(W, b + JOINT_VELOCITY, lane)))
        alpha = (omega[1] * rate, -(omega[0] * rate), zero)
        omega = (omega[0], omega[1], omega[2] + rate)
    else:
        omega_J = load3(W, b + JOINT_OMEGA, lane)
        velocity_J = load3(W, b + JOINT_VELOCITY, lane)
        alpha = add(cross(omega, omega_J), load3(W, b + JOINT_ALPHA, lane))
        accel = add(add_scaled(accel, 2.0, cross(omega, velocity_J)), load3(W, b + JOINT_ACCEL, lane))
        omega = add(omega, omega_J)
    for k in range(tree.n_u[i]):
        row = tree.u_rows[tree.u_first[i] + k]
        if prescribed[row]:
            angular, linear = hinge_column(tree, i, k, W, lane)
            alpha = add_scaled(alpha, udot[row, lane], angular)
            accel = add_scaled(accel, udot[row, lane], linear)
    store3(W, b + OMEGA, lane, omega)
    store3(A, at + BIAS_ALPHA, lane, alpha)
    store3(A, at + BIAS_ACCEL, lane, accel)
    force, moment = inertial_wrench(tree, i, omega, (zero, zero, zero), (zero, zero, zero))
    if loads is not None and loads.acting:
        force, moment = less_external(tree, i, (R, p), loads, (force, moment), W, lane)
    store3(A, at + BIAS_FORCE, lane, force)
    store3(A, at + BIAS_MOMENT, lane, moment)
    # rigid inertia to begin with: A = J, B = h~, C = m 1
    m = tree.inertia[i, 0]
    hx, hy, hz = tree.inertia[i, 1], tree.inertia[i, 2], tree.inertia[i, 3]
    for k in range(6):
        A[at + INERTIA_A + k, lane] = tree.inertia[i, 4 + k]
        A[at + INERTIA_C + k, lane] = m if k < 3 else 0.0
    A[at + INERTIA_B, lane] = zero
    A[at + INERTIA_B + 1, lane] = zero - hz
    A[at + INERTIA_B + 2, lane] = zero + hy
    A[at + INERTIA_B + 3, lane] = zero + hz
    A[at + INERTIA_B + 4, lane] = zero
    A[at + INERTIA_B + 5, lane] = zero - hx
    A[at + INERTIA_B + 6, lane] = zero - hy
    A[at + INERTIA_B + 7, lane] = zero + hx
    A[at + INERTIA_B + 8, lane] = zero


@spliced
def _inward(tree, i, tau, prescribed, space, lane):
    """Eliminate node i's free speeds and hand what is left to its parent."""
    W, A = space.W, space.A
    at = i * ARTICULATED_ROWS
    kind = tree.kind[i]
    IA = _load6(A, at + INERTIA_A, lane)
    IB = load_rotation(A, at + INERTIA_B, lane)
    IC = _load6(A, at + INERTIA_C, lane)
    alpha = load3(A, at + BIAS_ALPHA, lane)
    accel = load3(A, at + BIAS_ACCEL, lane)
    moment = add(load3(A, at + BIAS_MOMENT, lane), add(symmetric_times(IA, alpha), rotate(IB, accel)))
    force = add(load3(A, at + BIAS_FORCE, lane), add(rotate_back(IB, alpha), symmetric_times(IC, accel)))
    for k in range(tree.n_u[i]):
        slot = tree.u_first[i] + k
        row = tree.u_rows[slot]
        if prescribed[row]:
            continue
        s = slot_row(tree, slot)
        # how large D could be were nothing eliminated before: what a vanishing D is measured by
        if kind == REVOLUTE:
            U_t = (IA[4], IA[5], IA[2])
            U_f = (IB[6], IB[7], IB[8])
            D = IA[2]
            rest = tau[row, lane] - moment[2]
            size = IA[0] + IA[1] + IA[2]
        elif kind == PRISMATIC:
            U_t = (IB[2], IB[5], IB[8])
            U_f = (IC[4], IC[5], IC[2])
            D = IC[2]
            rest = tau[row, lane] - force[2]
            size = IC[0] + IC[1] + IC[2]
        elif tree.guided[i]:
            slide = load3(W, hinge_row(tree, slot) + 3, lane)
            U_t = add((IA[4], IA[5], IA[2]), rotate(IB, slide))
            U_f = add((IB[6], IB[7], IB[8]), symmetric_times(IC, slide))
            D = U_t[2] + dot(slide, U_f)
            rest = tau[row, lane] - moment[2] - dot(slide, force)
            size = IA[0] + IA[1] + IA[2] + dot(slide, slide) * (IC[0] + IC[1] + IC[2])
        else:
            angular, linear = hinge_column(tree, i, k, W, lane)
            U_t = add(symmetric_times(IA, angular), rotate(IB, linear))
            U_f = add(rotate_back(IB, angular), symmetric_times(IC, linear))
            D = dot(angular, U_t) + dot(linear, U_f)
            rest = tau[row, lane] - dot(angular, moment) - dot(linear, force)
            size = dot(angular, angular) * (IA[0] + IA[1] + IA[2]) + dot(linear, linear) * (IC[0] + IC[1] + IC[2])
        inverse = 1.0 / D
        store3(A, s, lane, U_t)
        store3(A, s + 3, lane, U_f)
        A[s + 6, lane] = inverse
        A[s + 7, lane] = rest
        A[s + PIVOT, lane] = D / size
        V_t = (U_t[0] * inverse, U_t[1] * inverse, U_t[2] * inverse)
        V_f = (U_f[0] * inverse, U_f[1] * inverse, U_f[2] * inverse)
        IA = _reduce_symmetric(IA, U_t, V_t)
        IB = _reduce_general(IB, U_t, V_f)
        IC = _reduce_symmetric(IC, U_f, V_f)
        moment = add_scaled(moment, rest, V_t)
        force = add_scaled(force, rest, V_f)
    P = tree.parent[i]
    if P > 0:
        up = P * ARTICULATED_ROWS
        R, p = pose(tree, i, W, lane)
        IA, IB, IC = _shift_articulated(IA, IB, IC, R, p)
        force = rotate(R, force)
        moment = add(rotate(R, moment), cross(p, force))
        for k in range(6):
            A[up + INERTIA_A + k, lane] = A[up + INERTIA_A + k, lane] + IA[k]
            A[up + INERTIA_C + k, lane] = A[up + INERTIA_C + k, lane] + IC[k]
        for k in range(9):
            A[up + INERTIA_B + k, lane] = A[up + INERTIA_B + k, lane] + IB[k]
        accumulate3(A, up + BIAS_MOMENT, lane, moment)
        accumulate3(A, up + BIAS_FORCE, lane, force)


@kernel
def aba(tree, table, space, motion, tau, prescribed, loads, lane):
    """Forward dynamics of one lane: q, u, tau -> udot of the free speeds; that of prescribed speeds is read.

    Elimination of a column h of the hinge:  U = I h,  D = h . U,  I <- I - U U^T / D,  p <- p + U (tau - h . p) / D;
    outward, last column first:  udot = (tau - h . p - U . a) / D,  a <- a + h udot.

    Args:
        tree, table: the model. space: `ArticulatedSpace`. motion: `Motion`, of which udot is written. tau: (speeds,
            lanes). prescribed: (speeds,) 1 where udot is given. loads: `Loads`, or None.
    """
    n, W, A, udot = tree.parent.size, space.W, space.A, motion.udot
    rest_at_ground(tree, loads, W, lane)
    for i in range(1, n):
        _outward(tree, table, i, motion, prescribed, loads, space, lane)
    for i in range(n - 1, 0, -1):
        _inward(tree, i, tau, prescribed, space, lane)
    for i in range(1, n):
        b = i * NODE_ROWS
        at = i * ARTICULATED_ROWS
        P = tree.parent[i] * NODE_ROWS
        kind = tree.kind[i]
        R, p = pose(tree, i, W, lane)
        alpha_P = load3(W, P + ALPHA, lane)
        accel_P = add(load3(W, P + ACCEL, lane), cross(alpha_P, p))
        # the bias acceleration is in tau - h . p already; it joins after the speeds are solved for
        alpha = rotate_back(R, alpha_P)
        accel = rotate_back(R, accel_P)
        for k in range(tree.n_u[i] - 1, -1, -1):
            slot = tree.u_first[i] + k
            row = tree.u_rows[slot]
            if prescribed[row]:
                continue
            s = slot_row(tree, slot)
            rest = A[s + 7, lane] - dot(load3(A, s, lane), alpha) - dot(load3(A, s + 3, lane), accel)
            rate = rest * A[s + 6, lane]
            udot[row, lane] = rate
            if kind == REVOLUTE:
                alpha = (alpha[0], alpha[1], alpha[2] + rate)
            elif kind == PRISMATIC:
                accel = (accel[0], accel[1], accel[2] + rate)
            else:
                angular, linear = hinge_column(tree, i, k, W, lane)
                alpha = add_scaled(alpha, rate, angular)
                accel = add_scaled(accel, rate, linear)
        store3(W, b + ALPHA, lane, add(alpha, load3(A, at + BIAS_ALPHA, lane)))
        store3(W, b + ACCEL, lane, add(accel, load3(A, at + BIAS_ACCEL, lane)))
