"""How far a pose is from what was recorded, with the exact gradient and Hessian by the speeds of the tree.

    2 J = sum_m w_m |r_m|^2 / sum_m w_m + sum_s w_s theta_s^2 / sum_s w_s + sum_c w_c (q_c - target_c)^2

with r = model's marker - recorded one and theta the angle between the model's and the measured orientation of a sensor.

Markers act like point masses: with T_i = (w_i, v_i) the twist of ground's origin that unit speed i gives, the sums
over markers outboard of a node make a composite inertia I, and the sum of w dr_i . dr_j is T_i^T I T_j, as in the
composite-rigid-body algorithm. No Jacobian of single markers is formed. Second derivatives need the same sums:

    d2x / dq_i dq_j = w_i x (w_j x x + v_j)   for i inboard of j

so that Newton's Hessian costs what Gauss and Newton's does. Sensors go into the same sums, as torques and inertias
(`musculo.kernels.fit.sensor_fit`). `musculo.analyses.inverse_kinematics.fit_recording` prepares the arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.constraints.coupling import follow, pull_back
from musculo.kernels.fit.sensor_fit import fit_sensors
from musculo.kernels.scalar.scalars import sincos
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    matmul,
    rotate,
    scale,
    store3,
    subtract,
)
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.nodes import (
    BALL,
    ELLIPSOID,
    FREE,
    FUNCTION,
    JOINT_ACCEL,
    JOINT_ALPHA,
    NODE_ROWS,
    hinge_column,
    load_rotation,
    pose,
    store_rotation,
)

# Rows of a node in the poses: R_WM (9), p_WM (3).
POSE_ROWS = 12
# Rows of a node in the sums over its markers and sensors: all in ground, about its origin.
WEIGHT = 0  # sum w
FIRST = 1  # sum w x
SECOND = 4  # sum w x x^T, symmetric: xx yy zz xy xz yz
PULL = 10  # sum w r
MIXED = 13  # sum w r x^T, row-major
SUM_ROWS = 22
# Rows of a joint's curvature, for one pair of its coordinates: angular, linear at M's origin.
CURVATURE_ROWS = 6


class Targets(NamedTuple):
    """Which points and frames of the model are compared with what is recorded."""

    node: IntArray  # (markers,)
    location: FloatArray  # (markers, 3) in the node
    weight: FloatArray  # (markers,)
    sensor_node: IntArray  # (sensors,)
    sensor_rotation: FloatArray  # (9 sensors, 1) of the sensor in the node, row-major
    sensor_weight: FloatArray  # (sensors,)
    task_row: IntArray  # (tasks,) row of q
    task_weight: FloatArray  # (tasks,)
    needed: IntArray  # (needed,) nodes with markers or sensors on them or outboard of them, base to tip
    first_pair: IntArray  # (n,) first curvature of a function node


class Recorded(NamedTuple):
    """What is known of a frame; NaN where it is not."""

    markers: FloatArray  # (3 markers, lanes) positions
    sensors: FloatArray  # (9 sensors, lanes) rotations, row-major
    goals: FloatArray  # (tasks, lanes) values of the tasks


class Misfit(NamedTuple):
    """How far a pose is from each thing recorded; NaN where it was not."""

    distance: FloatArray  # (markers, lanes)
    angle: FloatArray  # (sensors, lanes)


class Space(NamedTuple):
    """What a lane writes on: every array is (rows, lanes)."""

    work: FloatArray  # of the tree's kernels
    poses: FloatArray  # (POSE_ROWS n,)
    sums: FloatArray  # (SUM_ROWS n,)
    twists: FloatArray  # (6 n_u,)
    curvatures: FloatArray  # (CURVATURE_ROWS pairs,)
    unit: FloatArray  # (n_u,) speeds
    slopes: FloatArray  # of the couplings
    gradient: FloatArray  # (n_u,)
    hessian: FloatArray  # (n_u n_u,)
    factor: FloatArray  # (free free,)
    step: FloatArray  # (free,)
    held: FloatArray  # (free,) 1 where a bound holds the unknown
    trial: FloatArray  # (n_q,) a step that is tried
    other: FloatArray  # (n_q,) a pose from another start


@spliced
def _place_node(tree, table, i, first_pair, q, space, lane):
    """Place node i; of a function node keep the curvature of its motion: what second derivatives its coordinates have.

    With unit speeds the joint's bias is alpha = C_ii and a = a_ii; pairs follow by b(e_i + e_j) = b_ii + b_jj + 2 b_ij.
    """
    W, u, B = space.work, space.unit, space.curvatures
    curved = tree.kind[i] == FUNCTION
    n = tree.n_u[i] if curved else 1
    j, k = 0, 0
    # one place where nodes are placed, for the sake of the time it takes to compile
    for _ in range(n * (n + 1) // 2):
        if curved:
            for m in range(n):
                u[tree.u_rows[tree.u_first[i] + m], lane] = 1.0 if m in (j, k) else 0.0
        place(tree, table, i, q, u, curved, W, lane)
        if curved:
            row = CURVATURE_ROWS * (first_pair + j * n + k)
            store3(B, row, lane, load3(W, i * NODE_ROWS + JOINT_ALPHA, lane))
            store3(B, row + 3, lane, load3(W, i * NODE_ROWS + JOINT_ACCEL, lane))
        k += 1
        if k > j:
            j, k = j + 1, 0
    if curved:
        for j in range(n):
            for k in range(j):
                row = CURVATURE_ROWS * (first_pair + j * n + k)
                for m in range(CURVATURE_ROWS):
                    own = B[CURVATURE_ROWS * (first_pair + j * n + j) + m, lane]
                    other = B[CURVATURE_ROWS * (first_pair + k * n + k) + m, lane]
                    B[row + m, lane] = 0.5 * (B[row + m, lane] - own - other)


@kernel
def fit(model, recorded, q, space, misfit, lane):
    """J at coordinates q, of which the dependent ones are filled in; leaves poses and sums for `slopes_of_fit`.

    Args:
        model: tree, table of functions, couplings, their table, and `Targets`. misfit: written.
    """
    tree, table, couplings, coupling_table, targets = model
    markers, goals, errors = recorded.markers, recorded.goals, misfit.distance
    follow(couplings, coupling_table, q, space.slopes, lane)
    W, P, S = space.work, space.poses, space.sums
    for k in range(SUM_ROWS):
        S[k, lane] = 0.0
    for k in range(POSE_ROWS):
        P[k, lane] = 1.0 if k in (0, 4, 8) else 0.0
    for k in range(targets.needed.size):
        i = targets.needed[k]
        _place_node(tree, table, i, targets.first_pair[i], q, space, lane)
        R, p = pose(tree, i, W, lane)
        parent = tree.parent[i] * POSE_ROWS
        R_P = load_rotation(P, parent, lane)
        store_rotation(P, i * POSE_ROWS, lane, matmul(R_P, R))
        store3(P, i * POSE_ROWS + 9, lane, add(load3(P, parent + 9, lane), rotate(R_P, p)))
        for m in range(SUM_ROWS):
            S[i * SUM_ROWS + m, lane] = 0.0
    total = 0.0
    for m in range(targets.node.size):
        if not math.isnan(markers[3 * m, lane]):
            total += targets.weight[m]
    share = 1.0 / total if total > 0.0 else 0.0
    cost = 0.0
    for m in range(targets.node.size):
        if math.isnan(markers[3 * m, lane]):
            errors[m, lane] = np.nan
            continue
        i = targets.node[m]
        local = (targets.location[m, 0], targets.location[m, 1], targets.location[m, 2])
        row = i * POSE_ROWS
        x = add(load3(P, row + 9, lane), rotate(load_rotation(P, row, lane), local))
        r = subtract(x, load3(markers, 3 * m, lane))
        squared = dot(r, r)
        errors[m, lane] = math.sqrt(squared)
        w = targets.weight[m] * share
        if w > 0.0:
            cost += w * squared
            _add_marker(S, i * SUM_ROWS, lane, w, x, r)
    if targets.sensor_node.size > 0:
        cost += fit_sensors(targets, recorded.sensors, P, S, (POSE_ROWS, SUM_ROWS, SECOND, MIXED), misfit.angle, lane)
    for k in range(targets.task_row.size):
        if not math.isnan(goals[k, lane]):
            off = q[targets.task_row[k], lane] - goals[k, lane]
            cost += targets.task_weight[k] * off * off
    return 0.5 * cost


@spliced
def _add_marker(S, o, lane, w, x, r):
    """Add one marker to the sums of its node."""
    S[o + WEIGHT, lane] += w
    wx, wr = scale(w, x), scale(w, r)
    for k in range(3):
        S[o + FIRST + k, lane] += wx[k]
        S[o + PULL + k, lane] += wr[k]
        S[o + SECOND + k, lane] += wx[k] * x[k]
        for j in range(3):
            S[o + MIXED + 3 * k + j, lane] += wr[k] * x[j]
    S[o + SECOND + 3, lane] += wx[0] * x[1]
    S[o + SECOND + 4, lane] += wx[0] * x[2]
    S[o + SECOND + 5, lane] += wx[1] * x[2]


@kernel
def _columns(tree, targets, q, space, lane):
    """Twists of ground's origin by the coordinates: by the speeds, turned to angles' derivatives where those differ.

    Angles of a ball: w = N^-1 qdot, so column k of the angles is the sum of the speeds' columns times N^-1.
    """
    P, T = space.poses, space.twists
    for n in range(targets.needed.size):
        i = targets.needed[n]
        R = load_rotation(P, i * POSE_ROWS, lane)
        p = load3(P, i * POSE_ROWS + 9, lane)
        for k in range(tree.n_u[i]):
            angular, linear = hinge_column(tree, i, k, space.work, lane)
            angular = rotate(R, angular)
            row = 6 * tree.u_rows[tree.u_first[i] + k]
            store3(T, row, lane, angular)
            store3(T, row + 3, lane, subtract(rotate(R, linear), cross(angular, p)))
        if tree.kind[i] in (BALL, FREE, ELLIPSOID) and not tree.quaternion[i]:
            s0, c0 = sincos(q[tree.q_rows[tree.q_first[i]], lane])
            s1, c1 = sincos(q[tree.q_rows[tree.q_first[i] + 1], lane])
            first = tree.u_first[i]
            a, b, c = 6 * tree.u_rows[first], 6 * tree.u_rows[first + 1], 6 * tree.u_rows[first + 2]
            for k in range(6):
                x, y, z = T[a + k, lane], T[b + k, lane], T[c + k, lane]
                T[b + k, lane] = c0 * y + s0 * z
                T[c + k, lane] = s1 * x - s0 * c1 * y + c0 * c1 * z


@kernel
def _own_curvature(tree, i, a, b, pair, space, lane):
    """What the pull of a node's markers and sensors makes of the curvature of its function joint, for coordinates a, b.

    x_ab = C x (x - p) + (w_a x (w_b x (x - p)) + w_b x (w_a x (x - p))) / 2 + a_ab, of which the middle is taken
    with twists about ground's origin elsewhere; that has (w_a x v_b + w_b x v_a) / 2 of M's origin too much.
    """
    P, S = space.poses, space.sums
    R = load_rotation(P, i * POSE_ROWS, lane)
    p = load3(P, i * POSE_ROWS + 9, lane)
    n = tree.n_u[i]
    row = CURVATURE_ROWS * (pair + max(a, b) * n + min(a, b))
    angular_a, linear_a = hinge_column(tree, i, a, space.work, lane)
    angular_b, linear_b = hinge_column(tree, i, b, space.work, lane)
    linear = add_scaled(load3(space.curvatures, row + 3, lane), -0.5, cross(angular_a, linear_b))
    linear = rotate(R, add_scaled(linear, -0.5, cross(angular_b, linear_a)))
    angular = rotate(R, load3(space.curvatures, row, lane))
    f = load3(S, i * SUM_ROWS + PULL, lane)
    moment = subtract(_moment(S, i * SUM_ROWS, lane), cross(p, f))
    return dot(angular, moment) + dot(linear, f)


@spliced
def _moment(S, o, lane):
    """sum w x x r of markers, about ground's origin, and sum w e of sensors."""
    M = o + MIXED
    return (
        S[M + 7, lane] - S[M + 5, lane],
        S[M + 2, lane] - S[M + 6, lane],
        S[M + 3, lane] - S[M + 1, lane],
    )


@spliced
def _inner_first(tree, i, k, j):
    """Whether slot k of a ball, free, ellipsoid or single node acts inboard of slot j, or is j itself.

    A free joint translates, then turns about the first, second and third angle; reversed, all the other way round.
    """
    turns_k, turns_j = k < 3, j < 3
    if tree.kind[i] == FREE and turns_k != turns_j:
        inner = turns_k == (tree.reversed[i] == 1)
    elif tree.reversed[i]:
        inner = k >= j
    else:
        inner = k <= j
    return inner


@spliced
def _outward(tree, i, j, space, newton, lane):
    """(L, P, Z) of slot j of node i: momenta of its markers under the slot's twist, and the turn of their pull.

    P = sum w (w x x + v),   L = sum w x x (w x x + v),   Z = sum w (w x x + v) x r   (zero without `newton`)
    """
    S, T = space.sums, space.twists
    o = i * SUM_ROWS
    row = 6 * tree.u_rows[tree.u_first[i] + j]
    w, v = load3(T, row, lane), load3(T, row + 3, lane)
    h = load3(S, o + FIRST, lane)
    xx, yy, zz = S[o + SECOND, lane], S[o + SECOND + 1, lane], S[o + SECOND + 2, lane]
    xy, xz, yz = S[o + SECOND + 3, lane], S[o + SECOND + 4, lane], S[o + SECOND + 5, lane]
    momentum = add_scaled(cross(w, h), S[o + WEIGHT, lane], v)
    hv = cross(h, v)
    angular = (
        (yy + zz) * w[0] - xy * w[1] - xz * w[2] + hv[0],
        (xx + zz) * w[1] - xy * w[0] - yz * w[2] + hv[1],
        (xx + yy) * w[2] - xz * w[0] - yz * w[1] + hv[2],
    )
    turn = (0.0, 0.0, 0.0)
    if newton:
        f = load3(S, o + PULL, lane)
        M = load_rotation(S, o + MIXED, lane)
        trace = M[0] + M[4] + M[8]
        vf = cross(v, f)
        turn = (
            M[0] * w[0] + M[3] * w[1] + M[6] * w[2] - trace * w[0] + vf[0],
            M[1] * w[0] + M[4] * w[1] + M[7] * w[2] - trace * w[1] + vf[1],
            M[2] * w[0] + M[5] * w[1] + M[8] * w[2] - trace * w[2] + vf[2],
        )
    return angular, momentum, turn


@kernel
def slopes_of_fit(model, recorded, newton, q, space, lane):
    """Gradient and Hessian of J by the independent coordinates, after `fit` at the same q.

    Without `newton` second derivatives of positions and of couplers are left out (Gauss and Newton). The other rows of
    `space.gradient` and `space.hessian` mean nothing.
    """
    tree, _, couplings, coupling_table, targets = model
    S, T, g, H, goals = space.sums, space.twists, space.gradient, space.hessian, recorded.goals
    n_u = tree.u_rows.size
    _columns(tree, targets, q, space, lane)
    for k in range(n_u):
        g[k, lane] = 0.0
    for k in range(n_u * n_u):
        H[k, lane] = 0.0
    # Tip to base: a node's sums are complete when all outboard ones have been added.
    for n in range(targets.needed.size - 1, -1, -1):
        i = targets.needed[n]
        o = i * SUM_ROWS
        f, moment = load3(S, o + PULL, lane), _moment(S, o, lane)
        function = tree.kind[i] == FUNCTION
        for j in range(tree.n_u[i]):
            row = tree.u_rows[tree.u_first[i] + j]
            w, v = load3(T, 6 * row, lane), load3(T, 6 * row + 3, lane)
            g[row, lane] = dot(w, moment) + dot(v, f)
            L, momentum, Z = _outward(tree, i, j, space, newton, lane)
            both = add(L, Z)
            for k in range(tree.n_u[i]):
                # own pairs: twice for functions, whose coordinates have no order; once, the inner one first, for balls
                if not function and not _inner_first(tree, i, k, j):
                    continue
                other = tree.u_rows[tree.u_first[i] + k]
                w_k, v_k = load3(T, 6 * other, lane), load3(T, 6 * other + 3, lane)
                if function:
                    H[row * n_u + other, lane] += dot(w_k, L) + dot(v_k, momentum)
                    if newton:
                        half = 0.5 * dot(w_k, Z)
                        bend = _own_curvature(tree, i, k, j, targets.first_pair[i], space, lane)
                        H[row * n_u + other, lane] += half + bend
                        H[other * n_u + row, lane] += half
                else:
                    value = dot(w_k, both) + dot(v_k, momentum)
                    H[row * n_u + other, lane] = value
                    H[other * n_u + row, lane] = value
            a = tree.parent[i]
            while a > 0:
                for k in range(tree.n_u[a]):
                    other = tree.u_rows[tree.u_first[a] + k]
                    w_k, v_k = load3(T, 6 * other, lane), load3(T, 6 * other + 3, lane)
                    value = dot(w_k, both) + dot(v_k, momentum)
                    H[row * n_u + other, lane] = value
                    H[other * n_u + row, lane] = value
                a = tree.parent[a]
        parent = tree.parent[i]
        if parent > 0:
            for m in range(SUM_ROWS):
                S[parent * SUM_ROWS + m, lane] += S[o + m, lane]
    for k in range(targets.task_row.size):
        if not math.isnan(goals[k, lane]):
            row = couplings.speed_row[targets.task_row[k]]
            g[row, lane] += targets.task_weight[k] * (q[targets.task_row[k], lane] - goals[k, lane])
            H[row * n_u + row, lane] += targets.task_weight[k]
    pull_back(couplings, coupling_table, space.slopes, newton, n_u, g, H, lane)
