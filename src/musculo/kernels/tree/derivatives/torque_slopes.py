"""Slopes of generalized forces by coordinates, speeds and accelerations: the tangent of inverse dynamics, O(n depth).

All vectors are spatial, in ground and about its origin: (angular, linear) of motions, (moment, force) of wrenches. Then
what one coordinate does to a whole subtree is two vectors, and no pair of joints needs a transform.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import apart, inline, kernel, spliced, traced
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    rotate,
    rotate_back,
    scale,
    store3,
    subtract,
    symmetric_times,
)
from musculo.kernels.tree.crba import shift_inertia
from musculo.kernels.tree.derivatives.joint_slopes import (
    OWN_ACCEL,
    OWN_COLUMNS,
    OWN_ROWS,
    OWN_TWIST,
    OWN_VELOCITY,
    coordinates_end,
    own_speed_row,
)
from musculo.kernels.tree.node_kinematics import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    MOTION_ROWS,
    POSITION,
    ROTATION,
    VELOCITY,
)
from musculo.kernels.tree.nodes import PRISMATIC, REVOLUTE, load_rotation, store_rotation

# Rows of a node: its velocity and acceleration, and sums over its subtree.
TWIST = 0  # v (6)
TWIST_RATE = 6  # a (6), less gravity
MASS = 12  # mass, first moment (3), tensor (6)
TURNING = 22  # the matrix D (9)
MOMENTUM = 31  # linear momentum (3)
WRENCH = 34  # of inertia and gravity (6)
LOAD = 40  # of external loads (6)
SUBTREE_ROWS = 46
# Rows of a speed.
COLUMN_INERTIA = 0  # I S (6)
COLUMN_TURNING = 6  # D^T s + p x sigma, twice (3)
SPEED_ACCEL = 9  # x of the speed (6)
SPEED_WRENCH = 15  # what the joints inboard feel of the speed (6)
COLUMN_LOAD = 21  # what the load does along S (6)
SPEED_ROWS = 27
# Rows of a coordinate.
MOVE = 0  # T (6)
MOVE_TURN = 6  # angular part of y (3)
MOVE_ACCEL = 9  # x (6)
MOVE_WRENCH = 15  # what the joints inboard feel of the coordinate (6)
MOVE_ROWS = 21


class SlopeParts(NamedTuple):
    """What slopes are made of."""

    nodes: FloatArray  # (MOTION_ROWS n, lanes) of `kinematics`
    columns: FloatArray  # (6 n_u, lanes) of `twists`
    own: FloatArray  # (`own_slope_rows`, lanes) of `joint_slopes`
    sums: FloatArray  # (`slope_rows`, lanes) over subtrees, of `torque_slopes`


@spliced
def slope_rows(tree):
    """Rows of the workspace of `torque_slopes`."""
    return SUBTREE_ROWS * tree.parent.size + SPEED_ROWS * tree.u_rows.size + MOVE_ROWS * tree.q_rows.size


@inline
def speed_row(tree, slot):
    return SUBTREE_ROWS * tree.parent.size + SPEED_ROWS * slot


@inline
def move_row(tree, k):
    return SUBTREE_ROWS * tree.parent.size + SPEED_ROWS * tree.u_rows.size + MOVE_ROWS * k


@inline
def tensor_rows(C, row, lane):
    return (
        C[row, lane],
        C[row + 1, lane],
        C[row + 2, lane],
        C[row + 3, lane],
        C[row + 4, lane],
        C[row + 5, lane],
    )


@traced
def _turning_matrix(J, h, omega, v):
    """D (9) with D n = (E n) x w + h x (n x v), where E = tr(J) / 2 - J is the second moment of mass."""
    t = 0.5 * (J[0] + J[1] + J[2])
    xx, yy, zz = t - J[0], t - J[1], t - J[2]
    xy, xz, yz = -J[3], -J[4], -J[5]
    x, y, z = omega[0], omega[1], omega[2]
    d = h[0] * v[0] + h[1] * v[1] + h[2] * v[2]
    return (
        xy * z - xz * y + d - v[0] * h[0],
        yy * z - yz * y - v[0] * h[1],
        yz * z - zz * y - v[0] * h[2],
        xz * x - xx * z - v[1] * h[0],
        yz * x - xy * z + d - v[1] * h[1],
        zz * x - xz * z - v[1] * h[2],
        xx * y - xy * x - v[2] * h[0],
        xy * y - yy * x - v[2] * h[1],
        xz * y - yz * x + d - v[2] * h[2],
    )


@spliced
def inertia_times(m, h, J, angular, linear):
    """(moment, force) of I (angular, linear)."""
    moment = add(symmetric_times(J, angular), cross(h, linear))
    return moment, add_scaled(cross(angular, h), m, linear)


@spliced
def moved_to_ground(R, p, angular, linear):
    """A twist in M about its origin, as one in ground about ground's origin."""
    turned = rotate(R, angular)
    return turned, add(rotate(R, linear), cross(p, turned))


@spliced
def _own_motion(tree, i, K, external, loaded, C, lane):
    """Velocity, acceleration, inertia and wrenches of one node by itself."""
    o, c = i * MOTION_ROWS, i * SUBTREE_ROWS
    R, p = load_rotation(K, o + ROTATION, lane), load3(K, o + POSITION, lane)
    omega, alpha = load3(K, o + ANGULAR_VELOCITY, lane), load3(K, o + ANGULAR_ACCELERATION, lane)
    velocity = load3(K, o + VELOCITY, lane)
    v = add(velocity, cross(p, omega))
    a = subtract(add(load3(K, o + ACCELERATION, lane), cross(p, alpha)), cross(omega, velocity))
    a = (a[0] - tree.gravity[0], a[1] - tree.gravity[1], a[2] - tree.gravity[2])
    store3(C, c + TWIST, lane, omega)
    store3(C, c + TWIST + 3, lane, v)
    store3(C, c + TWIST_RATE, lane, alpha)
    store3(C, c + TWIST_RATE + 3, lane, a)
    zero = like(omega[0], 0.0)
    if tree.massless[i]:
        for k in range(MASS, LOAD + 6):
            C[c + k, lane] = zero
    else:
        N = tree.inertia
        m = like(zero, N[i, 0])
        h, J = shift_inertia(
            m, (N[i, 1], N[i, 2], N[i, 3]), (N[i, 4], N[i, 5], N[i, 6], N[i, 7], N[i, 8], N[i, 9]), R, p
        )
        spin, momentum = inertia_times(m, h, J, omega, v)
        moment, force = inertia_times(m, h, J, alpha, a)
        C[c + MASS, lane] = m
        store3(C, c + MASS + 1, lane, h)
        for k in range(6):
            C[c + MASS + 4 + k, lane] = J[k]
        store_rotation(C, c + TURNING, lane, _turning_matrix(J, h, omega, v))
        store3(C, c + MOMENTUM, lane, momentum)
        store3(C, c + WRENCH, lane, add(moment, add(cross(omega, spin), cross(v, momentum))))
        store3(C, c + WRENCH + 3, lane, add(force, cross(omega, momentum)))
    if loaded:
        store3(C, c + LOAD, lane, load3(external, 6 * i + 3, lane))
        store3(C, c + LOAD + 3, lane, load3(external, 6 * i, lane))


@spliced
def sum_of_speed_and_acceleration(C, c, turn, x_angular, x_linear, lane):
    """(moment, force) of I x + B y over a subtree, with B y = 2 (D n, n x p) of the angular part n of y alone."""
    moment, force = inertia_times(
        C[c + MASS, lane], load3(C, c + MASS + 1, lane), tensor_rows(C, c + MASS + 4, lane), x_angular, x_linear
    )
    moment = add_scaled(moment, 2.0, rotate(load_rotation(C, c + TURNING, lane), turn))
    return moment, add_scaled(force, 2.0, cross(turn, load3(C, c + MOMENTUM, lane)))


@spliced
def _one_speed(tree, i, slot, x, loaded, lane):
    """What node i's speed `slot` changes: x = dA/du + (v_P + v) x S, and the products of its column."""
    K, S, own, C = x.nodes, x.columns, x.own, x.sums
    c, P = i * SUBTREE_ROWS, tree.parent[i] * SUBTREE_ROWS
    column = 6 * tree.u_rows[slot]
    row = speed_row(tree, slot)
    s, sigma = load3(S, column, lane), load3(S, column + 3, lane)
    omega = add(load3(C, P + TWIST, lane), load3(C, c + TWIST, lane))
    v = add(load3(C, P + TWIST + 3, lane), load3(C, c + TWIST + 3, lane))
    angular, linear = cross(omega, s), add(cross(omega, sigma), cross(v, s))
    if tree.kind[i] != REVOLUTE and tree.kind[i] != PRISMATIC:
        o, at = i * MOTION_ROWS, own_speed_row(tree, slot)
        R, p = load_rotation(K, o + ROTATION, lane), load3(K, o + POSITION, lane)
        turned, moved = moved_to_ground(R, p, load3(own, at, lane), load3(own, at + 3, lane))
        angular, linear = add(angular, turned), add(linear, moved)
    store3(C, row + SPEED_ACCEL, lane, angular)
    store3(C, row + SPEED_ACCEL + 3, lane, linear)
    moment, force = sum_of_speed_and_acceleration(C, c, s, angular, linear, lane)
    store3(C, row + SPEED_WRENCH, lane, moment)
    store3(C, row + SPEED_WRENCH + 3, lane, force)
    moment, force = inertia_times(
        C[c + MASS, lane], load3(C, c + MASS + 1, lane), tensor_rows(C, c + MASS + 4, lane), s, sigma
    )
    store3(C, row + COLUMN_INERTIA, lane, moment)
    store3(C, row + COLUMN_INERTIA + 3, lane, force)
    D = load_rotation(C, c + TURNING, lane)
    turning = add(rotate_back(D, s), cross(load3(C, c + MOMENTUM, lane), sigma))
    store3(C, row + COLUMN_TURNING, lane, scale(2.0, turning))
    if loaded:
        moment, force = load3(C, c + LOAD, lane), load3(C, c + LOAD + 3, lane)
        store3(C, row + COLUMN_LOAD, lane, add(cross(moment, s), cross(force, sigma)))
        store3(C, row + COLUMN_LOAD + 3, lane, cross(force, s))


@spliced
def coordinate_twist(tree, i, k, K, S, own, lane):
    """T: how node i's coordinate k moves what is outboard."""
    if tree.kind[i] != REVOLUTE and tree.kind[i] != PRISMATIC:
        o, at = i * MOTION_ROWS, OWN_ROWS * k + OWN_TWIST
        R, p = load_rotation(K, o + ROTATION, lane), load3(K, o + POSITION, lane)
        t, theta = moved_to_ground(R, p, load3(own, at, lane), load3(own, at + 3, lane))
    else:
        column = 6 * tree.u_rows[tree.u_first[i]]
        t, theta = load3(S, column, lane), load3(S, column + 3, lane)
    return t, theta


@spliced
def _one_coordinate(tree, i, k, K, S, own, C, lane):
    """What node i's coordinate k moves: T, y = v_P x T + dJ, x = a_P x T + v_P x (v_P x T) + dA + (v_P + v) x dJ."""
    c, P = i * SUBTREE_ROWS, tree.parent[i] * SUBTREE_ROWS
    row = move_row(tree, k)
    omega, v = load3(C, P + TWIST, lane), load3(C, P + TWIST + 3, lane)
    alpha, a = load3(C, P + TWIST_RATE, lane), load3(C, P + TWIST_RATE + 3, lane)
    t, theta = coordinate_twist(tree, i, k, K, S, own, lane)
    turn, slide = cross(omega, t), add(cross(omega, theta), cross(v, t))
    angular = add(cross(alpha, t), cross(omega, turn))
    linear = add(add(cross(alpha, theta), cross(a, t)), add(cross(omega, slide), cross(v, turn)))
    if tree.kind[i] != REVOLUTE and tree.kind[i] != PRISMATIC:
        o, at = i * MOTION_ROWS, OWN_ROWS * k
        R, p = load_rotation(K, o + ROTATION, lane), load3(K, o + POSITION, lane)
        n, nu = moved_to_ground(R, p, load3(own, at + OWN_VELOCITY, lane), load3(own, at + OWN_VELOCITY + 3, lane))
        turned, moved = moved_to_ground(R, p, load3(own, at + OWN_ACCEL, lane), load3(own, at + OWN_ACCEL + 3, lane))
        both, drift = add(omega, load3(C, c + TWIST, lane)), add(v, load3(C, c + TWIST + 3, lane))
        turn = add(turn, n)
        angular = add(angular, add(turned, cross(both, n)))
        linear = add(linear, add(moved, add(cross(both, nu), cross(drift, n))))
    store3(C, row + MOVE, lane, t)
    store3(C, row + MOVE + 3, lane, theta)
    store3(C, row + MOVE_TURN, lane, turn)
    store3(C, row + MOVE_ACCEL, lane, angular)
    store3(C, row + MOVE_ACCEL + 3, lane, linear)
    moment, force = sum_of_speed_and_acceleration(C, c, turn, angular, linear, lane)
    couple, push = load3(C, c + WRENCH, lane), load3(C, c + WRENCH + 3, lane)
    moment = add(moment, add(cross(t, couple), cross(theta, push)))
    store3(C, row + MOVE_WRENCH, lane, moment)
    store3(C, row + MOVE_WRENCH + 3, lane, add(force, cross(t, push)))


@spliced
def _six(A, a, B, b, lane):
    """Scalar product of two times six rows."""
    return add_dot(load3(A, a, lane), load3(B, b, lane), load3(A, a + 3, lane), load3(B, b + 3, lane))


@traced
def add_dot(a, b, c, d):
    """a . b + c . d."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + c[0] * d[0] + c[1] * d[1] + c[2] * d[2]


@spliced
def _own_columns(tree, i, K, own, loaded, C, out, lane):
    """Add what the change of node i's own hinge columns does: dH . F in M."""
    o, c = i * MOTION_ROWS, i * SUBTREE_ROWS
    R, p = load_rotation(K, o + ROTATION, lane), load3(K, o + POSITION, lane)
    moment, force = load3(C, c + WRENCH, lane), load3(C, c + WRENCH + 3, lane)
    if loaded:
        moment = subtract(moment, load3(C, c + LOAD, lane))
        force = subtract(force, load3(C, c + LOAD + 3, lane))
    moment, force = rotate_back(R, subtract(moment, cross(p, force))), rotate_back(R, force)
    n_q = tree.q_rows.size
    for k in range(tree.q_first[i], coordinates_end(tree, i)):
        for m in range(tree.n_u[i]):
            at = OWN_ROWS * k + OWN_COLUMNS + 6 * m
            to = tree.u_rows[tree.u_first[i] + m] * n_q + tree.q_rows[k]
            work = dot(load3(own, at, lane), moment) + dot(load3(own, at + 3, lane), force)
            out[to, lane] = out[to, lane] + work


@spliced
def _pair(tree, i, j, S, loaded, C, out, lane):
    """Elements of the three matrices that node i and node j, which is i or inboard of it, have in common."""
    n_q, n_u = tree.q_rows.size, tree.u_rows.size
    by_u, by_udot = n_u * n_q, n_u * n_q + n_u * n_u
    for a in range(tree.u_first[i], tree.u_first[i] + tree.n_u[i]):
        outer, outer_row = tree.u_rows[a], speed_row(tree, a)
        for k in range(tree.q_first[j], coordinates_end(tree, j)):
            move = move_row(tree, k)
            slope = _six(C, outer_row + COLUMN_INERTIA, C, move + MOVE_ACCEL, lane)
            slope = slope + dot(load3(C, outer_row + COLUMN_TURNING, lane), load3(C, move + MOVE_TURN, lane))
            if loaded:
                slope = slope + _six(C, outer_row + COLUMN_LOAD, C, move + MOVE, lane)
            out[outer * n_q + tree.q_rows[k], lane] = slope
        for b in range(tree.u_first[j], tree.u_first[j] + tree.n_u[j]):
            inner, inner_row = tree.u_rows[b], speed_row(tree, b)
            mass = _six(C, outer_row + COLUMN_INERTIA, S, 6 * inner, lane)
            out[by_udot + outer * n_u + inner, lane] = mass
            out[by_udot + inner * n_u + outer, lane] = mass
            slope = _six(C, outer_row + COLUMN_INERTIA, C, inner_row + SPEED_ACCEL, lane)
            slope = slope + dot(load3(C, outer_row + COLUMN_TURNING, lane), load3(S, 6 * inner, lane))
            out[by_u + outer * n_u + inner, lane] = slope
            if i != j:
                out[by_u + inner * n_u + outer, lane] = _six(S, 6 * inner, C, outer_row + SPEED_WRENCH, lane)
    if i != j:
        for b in range(tree.u_first[j], tree.u_first[j] + tree.n_u[j]):
            inner = tree.u_rows[b]
            for k in range(tree.q_first[i], coordinates_end(tree, i)):
                out[inner * n_q + tree.q_rows[k], lane] = _six(S, 6 * inner, C, move_row(tree, k) + MOVE_WRENCH, lane)


@kernel
def torque_slopes(tree, x, loads, out, lane):
    """d(tau)/dq, d(tau)/du and d(tau)/d(udot) of one lane, external wrenches constant in ground.

    A coordinate k of joint i, with parent P, moves what is outboard by the twist T. There

        dv = T x v + y,   da = T x a + y x v + x,   df = T x* f + I x + B y,   B y = I (y x v) + y x* I v + v x* I y
        y = v_P x T + dJ,   x = a_P x T + v_P x (v_P x T) + dA + (v_P + v_i) x dJ

    with J and A the velocity and acceleration across joint i, and dJ and dA their changes in M. y and x are the same
    for the whole subtree, so sums of I and B over subtrees give all elements:

        joint inboard of i:    dtau = S . (I x + B y + T x* F)
        joint i or outboard:   dtau = (I S) . x + (B^T S) . y - (S x* F_load) . T,  and of i itself + dH . F

    A speed has T = 0, y = S and x = dA/du + (v_P + v_i) x S; an acceleration x = S alone.

    Source:     Barman2020 chapter III gives the recursion for revolute and prismatic links in a chain, a coordinate at
                a time; [Carpentier2018] the form with one pair of vectors for a subtree.
    Departs:    for every mobilizer, branched; B needs y's angular part alone (the terms of the linear part cancel).
                Barman2020's printed eq. 3.13, 3.40 and 3.83 lack terms, which are here.
    Guarantees: equal to the complex step of `rnea`.

    Args:
        tree: the model. x: `SlopeParts`, of which the sums are written. loads: `Loads`.
        out: (n_u n_q + 2 n_u n_u, lanes) the three matrices; of unrelated joints nothing is written.
    """
    apart()
    n, loaded, external = tree.parent.size, loads.acting, loads.wrench
    K, S, own, C = x.nodes, x.columns, x.own, x.sums
    _own_motion(tree, 0, K, external, loaded, C, lane)
    for i in range(1, n):
        _own_motion(tree, i, K, external, loaded, C, lane)
    # Tip to base: sums over subtrees.
    last = LOAD + 6 if loaded else LOAD
    for i in range(n - 1, 0, -1):
        P = tree.parent[i]
        if P > 0:
            for k in range(MASS, last):
                C[P * SUBTREE_ROWS + k, lane] = C[P * SUBTREE_ROWS + k, lane] + C[i * SUBTREE_ROWS + k, lane]
    for i in range(1, n):
        for slot in range(tree.u_first[i], tree.u_first[i] + tree.n_u[i]):
            _one_speed(tree, i, slot, x, loaded, lane)
        for k in range(tree.q_first[i], coordinates_end(tree, i)):
            _one_coordinate(tree, i, k, K, S, own, C, lane)
        j = i
        while j > 0:
            _pair(tree, i, j, S, loaded, C, out, lane)
            j = tree.parent[j]
        if tree.kind[i] != REVOLUTE and tree.kind[i] != PRISMATIC:
            _own_columns(tree, i, K, own, loaded, C, out, lane)
