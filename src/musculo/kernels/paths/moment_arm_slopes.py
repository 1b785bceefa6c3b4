"""Derivatives of moment arms with respect to the coordinates, exact: no difference is taken.

    dr_j/dq_k = sum over the path's nodes of  dw_j . m + dv_j . f + w_j . dm + v_j . df

where (m, f) is the wrench of unit tension on a node and (w_j, v_j) the twist of speed j (`path.moment_arms`). A segment
from one path point to the next adds to the slopes of the wrenches by itself, so all is done as soon as it is solved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.functions.function_values import evaluate
from musculo.kernels.paths.path_points import (
    MOVING,
    POINT,
    SLOT,
    TAG_ROWS,
    TORUS,
    first_entry,
    fixed_rotation_of,
)
from musculo.kernels.scalar.vectors import add, cross, dot, load3, rotate, scale, store3, subtract
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, ROTATION
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.geodesic_curve import GEODESIC_STATE
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    BEFORE,
    BEST,
    CONTACT,
    ENDS,
    OBSTACLE_ROWS,
    PINNED,
    SHAPE,
    SHRINKER,
    START,
    WRAP,
    next_active,
    obstacle_row,
    tag_row,
)
from musculo.kernels.wrapping.geodesic.path_error_newton import TIGHT, assemble, eliminate, straighten
from musculo.kernels.wrapping.geodesic.taut_path_slopes import (
    END_FORCE,
    END_FORCE_SLOPE,
    START_FORCE,
    START_FORCE_SLOPE,
    START_SLOPE,
    Carrying,
    Variations,
    carried,
    clear_forces,
    coordinate_row,
    end_wrenches,
    fill_column,
    force_slopes,
    slot_row,
    slot_twist,
)
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED, copy_rows, lay_all, pin_neighbors
from musculo.kernels.wrapping.rules.wrap_geodesic import (
    Wrapped,
    insert_contacts,
    segment_ends,
    segment_room,
    solve_segment,
)

# Ends of a segment so close to a contact (over the surface's size) are the contact.
_MET = 1e-7
_ITERATIONS = 4


class PathCoordinates(NamedTuple):
    """The coordinates that can change the moment arms of a path: slices `first[k] .. first[k + 1] - 1`.

    They move some of the path's nodes but not all of them, or a point on its body.
    """

    first: IntArray  # (paths + 1,)
    row: IntArray  # (entries,) row of q
    first_moved: IntArray  # (paths + 1,) first entry in `moved`
    moved: IntArray  # (entries,) 1 where a coordinate moves a slot, for each path (slots, coordinates) row by row


class SlopeWork(NamedTuple):
    """Room to work in, the lane last."""

    C: FloatArray  # current paths, as `wrap_geodesic` has them
    I: IntArray
    counts: IntArray
    S: FloatArray  # (6 slots, lanes) wrenches of unit tension
    V: FloatArray  # `slope_rows` rows
    D: FloatArray  # (6 entries of coordinates.moved, lanes) slopes of wrenches
    T: FloatArray  # (6 n_q, lanes) twists by coordinates, of `pose_slopes`
    column_slopes: FloatArray  # (6 n_u n_q, lanes) of `pose_slopes`
    X: NDArray[np.complex128]
    U: NDArray[np.complex128]
    W: NDArray[np.complex128]


class ArmSlopes(NamedTuple):
    """What is found: the lane last in kernels, the frame first in drivers."""

    arms: FloatArray  # (paths n_u, lanes)
    slopes: FloatArray  # (paths n_u n_q, lanes) zero at first
    status: NDArray[np.int8]  # (paths, lanes)
    exact: NDArray[np.int8]  # (paths, lanes) means nothing where the status is UNFINISHED


@spliced
def carrying(coordinates, k, c, T):
    """Coordinate c of path k and what it carries."""
    first, count = coordinates.first[k], coordinates.first[k + 1] - coordinates.first[k]
    return Carrying(c, coordinates.row[first + c], T, coordinates.moved, coordinates.first_moved[k] + c, count)


@kernel
def _moving_slopes(table, function, x, low, high):
    """(slope, curvature) of one coordinate function of a moving point; zero outside the coordinate's range."""
    if x < low or x > high:
        return 0.0, 0.0
    _, first, second, _ = evaluate(table, function, x)
    return first, second


@spliced
def _own_slope(x, point, row, lane):
    """How coordinate `row` moves a moving point on its body, in ground."""
    paths = x.paths
    along = fixed_rotation_of(paths.moving_R, point)
    R = load_rotation(x.motion, paths.point_node[point] * MOTION_ROWS + ROTATION, lane)
    dx = (0.0, 0.0, 0.0)
    for axis in range(3):
        if paths.moving_row[point, axis] == row:
            low, high = paths.moving_range[point, axis, 0], paths.moving_range[point, axis, 1]
            slope, _ = _moving_slopes(x.table, paths.moving_function[point, axis], x.q[row, lane], low, high)
            dx = add(dx, scale(slope, rotate(R, (along[axis], along[axis + 3], along[axis + 6]))))
    return dx


@spliced
def _slide_slopes(x, point, row, w, force, slopes, first, lane):
    """What a moving point's own motion adds, by coordinate `row`, given the force f on it and its slope df.

    d(f'(q) d . f) with d the axis in ground, turned by w.
    """
    paths, n_q, (f, df) = x.paths, x.q.shape[0], force
    along = fixed_rotation_of(paths.moving_R, point)
    R = load_rotation(x.motion, paths.point_node[point] * MOTION_ROWS + ROTATION, lane)
    for axis in range(3):
        speed, own = paths.moving_speed[point, axis], paths.moving_row[point, axis]
        if speed >= 0 and own >= 0:
            low, high = paths.moving_range[point, axis, 0], paths.moving_range[point, axis, 1]
            slope, curvature = _moving_slopes(x.table, paths.moving_function[point, axis], x.q[own, lane], low, high)
            d = rotate(R, (along[axis], along[axis + 3], along[axis + 6]))
            value = slope * (dot(cross(w, d), f) + dot(d, df))
            if own == row:
                value += curvature * dot(d, f)
            slopes[(first + speed) * n_q + row, lane] += value


@kernel
def _set_up(x, coordinates, k, e, s, n, work, lane):
    """Fill V: slopes of both ends by all coordinates, and the slots of all obstacles.

    Returns how many obstacles are in contact, and whether all of this is exact: no torus that is shrunk.
    """
    paths, C, I, V = x.paths, s.C, s.I, work.V
    ends = segment_ends(s, e, lane)
    count = coordinates.first[k + 1] - coordinates.first[k]
    clear_forces(V, n, count, lane)
    for c in range(count):
        by = carrying(coordinates, k, c, work.T)
        for end in range(2):
            t = (e + end) * TAG_ROWS
            angular, linear = slot_twist(by, I[t + SLOT, lane], lane)
            dx = carried(angular, linear, ends[end])
            point = I[t + POINT, lane]
            if paths.point_kind[point] == MOVING:
                dx = add(dx, _own_slope(x, point, by.row, lane))
            store3(V, coordinate_row(n, c) + START_SLOPE + 3 * end, lane, dx)
    touching, exact = 0, True
    for j in range(n):
        o = obstacle_row(s, j)
        V[slot_row(j), lane] = paths.wrap_slot[I[tag_row(s, WRAP, j), lane]]
        if C[o + CONTACT, lane] != 0.0:
            touching += 1
            exact = exact and (C[o + SHRINKER, lane] == 0.0 or C[o + SHAPE, lane] != TORUS)
    return touching, exact


@kernel
def _pin(W, w, n, P, Q, lane):
    """Let geodesics that start (end) in the segment's start (end) do so exactly.

    Closed forms meet an end on the surface within the square root of rounding: enough for lengths and forces, which
    depend on its square, but not for their slopes. Further away, the end has a straight piece of its own.
    """
    pin_neighbors(W, w, n, P, Q, lane)
    pinned = False
    for k in range(n):
        o = w + OBSTACLE_ROWS * k
        if W[o + CONTACT, lane] == 0.0:
            continue
        for end in range(2):
            d = subtract(load3(W, o + ENDS + 12 * end, lane), P if end == 0 else Q)
            if dot(d, d) > (_MET * W[o + SHAPE + 4, lane]) ** 2:
                W[o + PINNED + end, lane] = 0.0
            pinned = pinned or W[o + PINNED + end, lane] != 0.0
    if pinned:
        straighten(W, w, n, (0, n), P, Q, (_ITERATIONS, TIGHT), lane)


@kernel
def _unpin(W, w, n, lane):
    """Put geodesics that `_pin` has moved back to where they were found: so their contacts come into the path."""
    pinned = False
    k = next_active(W, w, 0, n, lane)
    while k < n:
        o = w + OBSTACLE_ROWS * k + PINNED
        pinned = pinned or W[o, lane] != 0.0 or W[o + 1, lane] != 0.0
        k = next_active(W, w, k + 1, n, lane)
    if pinned:
        copy_rows(W, w, n, BEFORE, START, lane)
        lay_all(W, w, n, lane)


@kernel
def _close_path_errors(coordinates, k, s, system, T, P, Q, lane):
    """The variations of all geodesics by all coordinates, into V. False where the system is singular."""
    (V, n, A, size, width), C, w = system, s.C, s.base
    M = w + OBSTACLE_ROWS * n + GEODESIC_STATE
    _pin(C, w, n, P, Q, lane)
    assemble(C, w, (M, size + 1), (0, n), P, Q, lane)
    for i in range(size):
        for j in range(size):
            V[A + i * width + j, lane] = C[M + i * (size + 1) + j, lane]
    for c in range(width - size):
        fill_column(C, w, system, carrying(coordinates, k, c, T), P, Q, lane)
    return eliminate(V, A, size, width, lane)


@kernel
def _begin_slopes(x, coordinates, k, e, s, n, work, lane):
    """Add what the solved segment from entry e to e + 1, over n obstacles, does to the slopes of wrenches on surfaces.
    Returns 1 if exactly; `_end_slopes` does the rest then."""
    for j in range(n):
        if s.I[tag_row(s, BEST, j), lane] > 0:
            # the slope of a penalty has none in closed form here
            return 0
    P, Q = segment_ends(s, e, lane)
    count = coordinates.first[k + 1] - coordinates.first[k]
    touching, exact = _set_up(x, coordinates, k, e, s, n, work, lane)
    size = 4 * touching
    system = Variations(work.V, n, coordinate_row(n, count), size, size + count)
    tried = touching > 0 and exact
    if tried:
        copy_rows(s.C, s.base, n, START, BEFORE, lane)
        exact = _close_path_errors(coordinates, k, s, system, work.T, P, Q, lane) and exact
    if exact:
        for c in range(count):
            by = carrying(coordinates, k, c, work.T)
            force_slopes(s.C, s.base, system, by, P, Q, work.D, lane)
    if tried:
        _unpin(s.C, s.base, n, lane)
    return 1 if exact else 0


@kernel
def _end_slopes(x, coordinates, at, s, n, work, slopes, lane):
    """Add what the segment does to its ends, after `_begin_slopes`; to `slopes` what moving points add."""
    paths, I, V, (k, e) = x.paths, s.I, work.V, at
    count, n_u = coordinates.first[k + 1] - coordinates.first[k], work.U.shape[0]
    P, Q = segment_ends(s, e, lane)
    at_P, at_Q = I[e * TAG_ROWS + SLOT, lane] * count, I[(e + 1) * TAG_ROWS + SLOT, lane] * count
    for c in range(count):
        flags = coordinates.first_moved[k] + c
        end_wrenches(V, n, c, (P, Q), work.D, (6 * (flags + at_P), 6 * (flags + at_Q)), lane)
    for end in range(2):
        t = (e + end) * TAG_ROWS
        point = I[t + POINT, lane]
        if paths.point_kind[point] == MOVING:
            f = load3(V, START_FORCE if end == 0 else END_FORCE, lane)
            for c in range(count):
                by = carrying(coordinates, k, c, work.T)
                angular, _ = slot_twist(by, I[t + SLOT, lane], lane)
                r = coordinate_row(n, c) + (START_FORCE_SLOPE if end == 0 else END_FORCE_SLOPE)
                _slide_slopes(x, point, by.row, angular, (f, load3(V, r, lane)), slopes, k * n_u, lane)


@spliced
def segment_slopes(x, coordinates, at, s, n, work, found, lane):
    """Add what the solved segment from entry e to e + 1, over n obstacles, does to the slopes of path k.

    at: (k, e).
    """
    k, e = at
    if coordinates.first[k + 1] > coordinates.first[k]:
        good = _begin_slopes(x, coordinates, k, e, s, n, work, lane)
        if good == 1:
            _end_slopes(x, coordinates, at, s, n, work, found.slopes, lane)
        found.exact[k, lane] &= good


@spliced
def can_change(paths, I, e, lane):
    """Whether a straight segment from entry e to e + 1 can change: it leaves its node, or an end moves on its body."""
    a, b = e * TAG_ROWS, (e + 1) * TAG_ROWS
    moving = paths.point_kind[I[a + POINT, lane]] == MOVING or paths.point_kind[I[b + POINT, lane]] == MOVING
    return moving or I[a + SLOT, lane] != I[b + SLOT, lane]


@kernel
def wrap_slopes(x, coordinates, work, found, lane):
    """As the kernel `wrap_geodesic`, and the slopes of what unit tension does to the nodes of every path.

    Args:
        x: `PosedPaths`. coordinates: `PathCoordinates`. work: `SlopeWork`, its D is written.
        found: `ArmSlopes`; the slopes get what moving points add, status and exact are written.
    """
    paths, status, exact, D = x.paths, found.status, found.exact, work.D
    s, counts, out = segment_room(paths, work.C, work.I), work.counts, Wrapped(work.S, status)
    for i in range(6 * coordinates.moved.size):
        D[i, lane] = 0.0
    for k in range(paths.first_point.size - 1):
        if status[k, lane] == UNFINISHED:
            counts[k, lane] = 0
            continue
        status[k, lane] = 0
        exact[k, lane] = 1
        wraps = paths.first_wrap[k + 1] - paths.first_wrap[k]
        e = first_entry(paths, k)
        end = e + counts[k, lane]
        while e < end - 1:
            n = 0
            if wraps > 0:
                n = solve_segment(paths, k, e, x.motion, s, out, lane)
            if n < 0:
                end = first_entry(paths, k)
                break
            if n > 0 or can_change(paths, s.I, e, lane):
                segment_slopes(x, coordinates, (k, e), s, n, work, found, lane)
            came = insert_contacts(paths, e, end, s, n, lane) if n > 0 else 0
            end += came
            e += came + 1
        counts[k, lane] = end - first_entry(paths, k)


@kernel
def arm_slopes(paths, coordinates, columns, work, slopes, n_q, lane):
    """Slopes of all moment arms (paths n_u n_q, lanes), added to.

    Args:
        columns: (6 n_u, lanes) from `twists`. work: as `moment_arms` and `wrap_slopes` leave it.
    """
    for k in range(paths.first_point.size - 1):
        arm_slopes_of_path(paths, coordinates, k, columns, work, slopes, n_q, lane)


@spliced
def arm_slopes_of_path(paths, coordinates, k, columns, work, slopes, n_q, lane):
    """Slopes of the moment arms of path k, as `arm_slopes`."""
    n_u, column_slopes, S, D = columns.shape[0] // 6, work.column_slopes, work.S, work.D
    count = coordinates.first[k + 1] - coordinates.first[k]
    speeds = paths.first_speed[k + 1] - paths.first_speed[k]
    for j in range(paths.n_inner[k]):
        speed = paths.speed_row[paths.first_speed[k] + j]
        w, v = load3(columns, 6 * speed, lane), load3(columns, 6 * speed + 3, lane)
        for c in range(count):
            row = coordinates.row[coordinates.first[k] + c]
            slope = 6 * (n_u * row + speed)
            dw, dv = load3(column_slopes, slope, lane), load3(column_slopes, slope + 3, lane)
            total = 0.0
            for s in range(paths.first_slot[k + 1] - paths.first_slot[k]):
                if paths.moved[paths.first_moved[k] + s * speeds + j] != 0:
                    m = 6 * (paths.first_slot[k] + s)
                    d = 6 * (coordinates.first_moved[k] + s * count + c)
                    total += dot(dw, load3(S, m, lane)) + dot(dv, load3(S, m + 3, lane))
                    total += dot(w, load3(D, d, lane)) + dot(v, load3(D, d + 3, lane))
            slopes[(k * n_u + speed) * n_q + row, lane] += total
