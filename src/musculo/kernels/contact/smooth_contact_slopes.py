"""Smooth contacts of spheres with ground at nodes of the tree: their wrenches, and how these change, exactly.

All vectors are spatial, in ground and about its origin, as in `torque_slopes`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import apart, driver, inline, kernel, spliced
from musculo.kernels.contact.contact_pressure import push, smooth_pressure, smooth_wrench, touch
from musculo.kernels.forces.fixed_frames import frame_point
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import accumulate3, add, add_scaled, cross, dot, load3, scale, store3
from musculo.kernels.tree.derivatives.joint_slopes import (
    OWN_ROWS,
    OWN_VELOCITY,
    coordinates_end,
    joint_slopes,
    own_slope_rows,
)
from musculo.kernels.tree.derivatives.torque_slope_frames import general_joints, slope_space
from musculo.kernels.tree.derivatives.torque_slopes import add_dot, coordinate_twist, moved_to_ground
from musculo.kernels.tree.node_kinematics import (
    ANGULAR_VELOCITY,
    MOTION_ROWS,
    POSITION,
    ROTATION,
    VELOCITY,
    kinematics,
    twists,
)
from musculo.kernels.tree.nodes import PRISMATIC, REVOLUTE, Motion, load_rotation
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take
from musculo.kernels.tree.tree_frames import work_rows

# Rows of a coordinate in the workspace, and of a speed.
MOVE = 0  # T (6)
MOVE_VELOCITY = 6  # y (6)
MOVE_WRENCH = 12  # change of the wrench of one node (6)
MOVE_ROWS = 18
SPEED_ROWS = 6  # change of the wrench of one node


class ContactFrames(NamedTuple):
    """States at which contacts are asked for, and where they go; frames first."""

    q: FloatArray  # (frames, n_q)
    u: FloatArray  # (frames, n_u)
    wrench: FloatArray  # (frames, 6 n) force, then moment about ground's origin, on each node, in ground
    force: FloatArray  # (frames, 3 contacts) on each sphere
    by_q: FloatArray  # (frames, n_u n_q) J^T dW/dq; or no frames, and no slopes are computed
    by_u: FloatArray  # (frames, n_u n_u) J^T dW/du; likewise


@spliced
def contact_rows(tree):
    """Rows of the workspace of `smooth_contact_slopes`."""
    return MOVE_ROWS * tree.q_rows.size + SPEED_ROWS * tree.u_rows.size


@inline
def _speed_row(tree, slot):
    return MOVE_ROWS * tree.q_rows.size + SPEED_ROWS * slot


@kernel
def smooth_contacts(pairs, motion, wrench, force, lane):
    """Wrenches of all contacts of one lane, added up by node, and the force on each sphere.

    Args:
        pairs: `SmoothPairs` with half-spaces in ground. motion: from `kinematics`.
        wrench: (6 n, lanes) force and moment about ground's origin; added to. force: (3 contacts, lanes); written.
    """
    for k in range(pairs.radius.size):
        moment, given, _ = smooth_wrench(pairs, k, motion, lane)
        store3(force, 3 * k, lane, given)
        row = 6 * pairs.second.node[k]
        accumulate3(wrench, row, lane, given)
        accumulate3(wrench, row + 3, lane, moment)


@spliced
def _velocity(i, K, lane):
    """Of node i."""
    o = i * MOTION_ROWS
    omega = load3(K, o + ANGULAR_VELOCITY, lane)
    return omega, add(load3(K, o + VELOCITY, lane), cross(load3(K, o + POSITION, lane), omega))


@kernel
def _one_move(tree, i, k, K, S, own, C, lane):
    """T and y = v_P x T + dJ of node i's coordinate k."""
    t, theta = coordinate_twist(tree, i, k, K, S, own, lane)
    omega, v = _velocity(tree.parent[i], K, lane)
    turn, slide = cross(omega, t), add(cross(omega, theta), cross(v, t))
    if tree.kind[i] != REVOLUTE and tree.kind[i] != PRISMATIC:
        o, at = i * MOTION_ROWS, OWN_ROWS * k + OWN_VELOCITY
        R, p = load_rotation(K, o + ROTATION, lane), load3(K, o + POSITION, lane)
        n, nu = moved_to_ground(R, p, load3(own, at, lane), load3(own, at + 3, lane))
        turn, slide = add(turn, n), add(slide, nu)
    row = MOVE_ROWS * k
    store3(C, row + MOVE, lane, t)
    store3(C, row + MOVE + 3, lane, theta)
    store3(C, row + MOVE_VELOCITY, lane, turn)
    store3(C, row + MOVE_VELOCITY + 3, lane, slide)


class Law(NamedTuple):
    """A contact at one state, and the slopes of its force."""

    n: tuple  # into the half-space
    point: tuple  # where it acts
    force: tuple  # on the sphere
    slide: tuple  # slip v_t
    rub: tuple  # g: friction is normal g v_t
    slope: tuple  # h: dg = h v_t . dv_t
    normal: tuple
    by_depth: tuple  # of normal
    by_speed: tuple  # of normal


@inline
def _push_slope(at, dx, dv):
    """Change of the force when the depth changes by dx and the velocity by dv.

    dF = -((n + g v_t) df + f (h (v_t . dv) v_t + g dv_t)),   df = f_x dx + f_v n . dv
    """
    along = dot(at.n, dv)
    d_normal = at.by_depth * dx + at.by_speed * along
    slip = add_scaled(dv, -along, at.n)
    turned = d_normal * at.rub + at.normal * at.slope * dot(at.slide, dv)
    change = add_scaled(scale(d_normal, at.n), turned, at.slide)
    return scale(-1.0, add_scaled(change, at.normal * at.rub, slip))


@kernel
def _add_contact(tree, pairs, k, K, S, C, lane):
    """Add what the coordinates and speeds inboard of contact k change in its wrench."""
    b = pairs.second.node[k]
    omega, v_B = _velocity(b, K, lane)
    n, x, point, v = touch(pairs, k, K, lane)
    _, normal, by_depth, by_speed = smooth_pressure(pairs, k, x, dot(v, n))
    force, slide, rub, slope = push(normal, n, v, dot(v, n), pairs.constant[k], pairs.friction, k)
    force = scale(-1.0, force)
    at = Law(n, point, force, slide, rub, slope, normal, by_depth, by_speed)
    center = frame_point(pairs.second, k, K, lane)
    j = b
    while j > 0:
        for c in range(tree.q_first[j], coordinates_end(tree, j)):
            row = MOVE_ROWS * c
            t, theta = load3(C, row + MOVE, lane), load3(C, row + MOVE + 3, lane)
            turn = add(cross(t, omega), load3(C, row + MOVE_VELOCITY, lane))
            drift = add(add(cross(t, v_B), cross(theta, omega)), load3(C, row + MOVE_VELOCITY + 3, lane))
            d_center = add(theta, cross(t, center))
            dx = dot(n, d_center)
            d_point = add_scaled(d_center, -0.5 * dx, n)
            dv = add(drift, add(cross(turn, point), cross(omega, d_point)))
            d_force = _push_slope(at, dx, dv)
            accumulate3(C, row + MOVE_WRENCH, lane, add(cross(d_point, force), cross(point, d_force)))
            accumulate3(C, row + MOVE_WRENCH + 3, lane, d_force)
        for slot in range(tree.u_first[j], tree.u_first[j] + tree.n_u[j]):
            column, row = 6 * tree.u_rows[slot], _speed_row(tree, slot)
            dv = add(load3(S, column + 3, lane), cross(load3(S, column, lane), point))
            d_force = _push_slope(at, like(x, 0.0), dv)
            accumulate3(C, row, lane, cross(point, d_force))
            accumulate3(C, row + 3, lane, d_force)
        j = tree.parent[j]


@kernel
def _clear(tree, b, C, lane):
    """No change yet of the wrench of node b."""
    zero = like(C[0, lane], 0.0)
    j = b
    while j > 0:
        for c in range(tree.q_first[j], coordinates_end(tree, j)):
            for r in range(6):
                C[MOVE_ROWS * c + MOVE_WRENCH + r, lane] = zero
        for slot in range(tree.u_first[j], tree.u_first[j] + tree.n_u[j]):
            for r in range(6):
                C[_speed_row(tree, slot) + r, lane] = zero
        j = tree.parent[j]


@kernel
def _project(tree, b, S, C, out, lane):
    """Add J^T dW of the wrench on node b."""
    n_q, n_u = tree.q_rows.size, tree.u_rows.size
    i = b
    while i > 0:
        for a in range(tree.u_first[i], tree.u_first[i] + tree.n_u[i]):
            outer = tree.u_rows[a]
            s, sigma = load3(S, 6 * outer, lane), load3(S, 6 * outer + 3, lane)
            j = b
            while j > 0:
                for c in range(tree.q_first[j], coordinates_end(tree, j)):
                    row, to = MOVE_ROWS * c + MOVE_WRENCH, outer * n_q + tree.q_rows[c]
                    work = add_dot(s, load3(C, row, lane), sigma, load3(C, row + 3, lane))
                    out[to, lane] = out[to, lane] + work
                for slot in range(tree.u_first[j], tree.u_first[j] + tree.n_u[j]):
                    row, to = _speed_row(tree, slot), n_u * n_q + outer * n_u + tree.u_rows[slot]
                    work = add_dot(s, load3(C, row, lane), sigma, load3(C, row + 3, lane))
                    out[to, lane] = out[to, lane] + work
                j = tree.parent[j]
        i = tree.parent[i]


@kernel
def smooth_contact_slopes(tree, pairs, K, S, own, C, out, lane):
    """J^T dW/dq and J^T dW/du of all contacts of one lane, with W = (c x F, F) of `smooth_wrench` on each node.

    A coordinate with the twist T moves the center of a sphere, so the depth x and the point c; and it changes the
    velocity V of the sphere's body at constant u by dV = T x V + y, y = v_P x T + dJ as in `torque_slopes`:

        dx = n . dp,   dc = dp - n dx / 2,   dv = dV(c) + w x dc,   dW = (dc x F + c x dF, dF)

    A speed changes dv = S(c) alone. What changes in J is left to slopes of generalized forces under constant wrenches.

    Guarantees: equal to the complex step of `smooth_contacts`, for every mobilizer.

    Args:
        tree: the model. pairs: `SmoothPairs` with half-spaces in ground. K, S: from `kinematics` and `twists`.
        own: from `joint_slopes`. C: workspace (`contact_rows`, lanes).
        out: (n_u n_q + n_u n_u, lanes) the two matrices; of what moves no sphere nothing is written, else added to.
    """
    apart()
    for i in range(1, tree.parent.size):
        for k in range(tree.q_first[i], coordinates_end(tree, i)):
            _one_move(tree, i, k, K, S, own, C, lane)
    for b in range(1, tree.parent.size):
        touched = False
        for k in range(pairs.radius.size):
            if pairs.second.node[k] == b:
                if not touched:
                    _clear(tree, b, C, lane)
                touched = True
                _add_contact(tree, pairs, k, K, S, C, lane)
        if touched:
            _project(tree, b, S, C, out, lane)


@driver
def smooth_contact_frames(tree, table, pairs, x, start, stop):
    """Contacts of frames start .. stop - 1 of a `ContactFrames`."""
    n_q, n_u, n = x.q.shape[1], x.u.shape[1], tree.parent.size
    w = slope_space(n, n_q, n_u, work_rows(tree), own_slope_rows(tree), contact_rows(tree))
    force = np.empty((3 * pairs.radius.size, WIDTH))
    w.A[:] = 0.0
    slopes, general = x.by_q.shape[0] > 0, general_joints(tree)
    for block in range(start, stop, WIDTH):
        take(x.q, block, stop, w.Q)
        take(x.u, block, stop, w.U)
        kinematics(tree, table, lanes(w.W), Motion(lanes(w.Q), lanes(w.U), lanes(w.A)), True, lanes(w.K), 0)
        w.E[:] = 0.0
        smooth_contacts(pairs, lanes(w.K), lanes(w.E), lanes(force), 0)
        give(w.E, 0, 6 * n, x.wrench, block, stop)
        give(force, 0, 3 * pairs.radius.size, x.force, block, stop)
        if slopes:
            twists(tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
            if general:
                for lane in range(min(WIDTH, stop - block)):
                    joint_slopes(tree, table, Motion(w.Q, w.U, w.A), w.state, w.own, lane)
            w.out[:] = 0.0
            smooth_contact_slopes(tree, pairs, lanes(w.K), lanes(w.S), lanes(w.own), lanes(w.C), lanes(w.out), 0)
            give(w.out, 0, n_u * n_q, x.by_q, block, stop)
            give(w.out, n_u * n_q, n_u * n_u, x.by_u, block, stop)
