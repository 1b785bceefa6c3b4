"""How a taut segment changes as its ends and surfaces move: by the natural variations of its geodesics.

A coordinate carries ends and surfaces along as rigid bodies. With the contacts fixed to their surfaces that makes
path errors; the variations of the geodesics that close them again are one linear system with a right-hand side for each
coordinate. Forces of unit tension then change with the directions of the straight pieces.

Notation: a twist (w, v) of ground's origin carries a point x by v + w x x. A surface that an end inside shrinks grows
by the rate `growth` of the logarithm of its size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.paths.path_points import COINCIDENT, SHORT
from musculo.kernels.scalar.vectors import (
    accumulate3,
    add,
    add_scaled,
    cross,
    dot,
    load3,
    rotate,
    rotate_back,
    scale,
    subtract,
)
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    BENDING,
    ENDS,
    FIRST,
    FIRST_TANGENT,
    GRADIENT,
    JACOBI,
    LAST,
    LAST_TANGENT,
    LENGTH,
    OBSTACLE_ROWS,
    PINNED,
    POSE,
    PRESS,
    SHAPE,
    SHRINKER,
    load_shape,
    next_active,
)

# Rows of the segment's workspace V: forces on start and end, the path's slot of every obstacle's node, and of every
# coordinate the slopes of start and end and of the forces on them.
START_SLOPE, END_SLOPE, START_FORCE_SLOPE, END_FORCE_SLOPE = 0, 3, 6, 9
COORDINATE_ROWS = 12
START_FORCE, END_FORCE = 0, 3
HEAD_ROWS = 6

_TINY = 1e-300


class Variations(NamedTuple):
    """The linear system of a segment: which variations of its geodesics close the path errors of each coordinate."""

    V: FloatArray  # (rows, lanes) the segment's workspace
    n: int  # obstacles
    first: int  # its first row in V, row by row: matrix, then a right-hand side for each coordinate
    size: int  # equations
    width: int  # its columns


class Carrying(NamedTuple):
    """A coordinate and what it carries: slot s where moved[flags + s stride] says so."""

    c: int  # its number among the path's coordinates
    row: int  # of q
    T: FloatArray  # (6 n_q, lanes) twists by all coordinates
    moved: IntArray
    flags: int
    stride: int


@inline
def slot_row(j):
    """Row in V of the slot of obstacle j."""
    return HEAD_ROWS + j


@inline
def coordinate_row(n, c):
    """First row of coordinate c in V, with n obstacles."""
    return HEAD_ROWS + n + COORDINATE_ROWS * c


@inline
def slope_rows(most, coordinates):
    """Rows of V for segments of at most so many obstacles in paths of at most so many coordinates."""
    return coordinate_row(most, coordinates) + 4 * most * (4 * most + coordinates)


@inline
def slot_twist(by, slot, lane):
    """(w, v) that a coordinate gives to a slot: its twist, or zero where it does not carry it."""
    f = 1.0 * by.moved[by.flags + slot * by.stride]
    return scale(f, load3(by.T, 6 * by.row, lane)), scale(f, load3(by.T, 6 * by.row + 3, lane))


@inline
def carried(w, v, x):
    """v + w x x."""
    return add(v, cross(w, x))


@kernel
def growth(W, o, V, at, motion, ends, lane):
    """How fast the logarithm of the size of the obstacle at o grows with a coordinate.

    Args:
        V: from row `at` on it has the coordinate's rows. motion: twist (w, v) of the obstacle. ends: of the segment.
    """
    shrinker, (w, v), (P, Q) = W[o + SHRINKER, lane], motion, ends
    if shrinker == 0.0:
        return 0.0
    x, row = (P, START_SLOPE) if shrinker == 1.0 else (Q, END_SLOPE)
    dx = load3(V, at + row, lane)
    return dot(load3(W, o + GRADIENT, lane), subtract(dx, carried(w, v, x)))


@inline
def _direction_slope(e, l, dx):
    """How a unit vector e turns as the end of its piece, of length l, moves by dx against its start."""
    return scale(1.0 / l, add_scaled(dx, -dot(e, dx), e))


@kernel
def _path_error_slopes(W, o, end, e, de, w, offset, lane):
    """Minus the slopes of the two path errors at an end: e . n, e . b; of a pinned end its offset's."""
    r = o + ENDS + 12 * end
    t, n, b = load3(W, r + 3, lane), load3(W, r + 6, lane), load3(W, r + 9, lane)
    if W[o + PINNED + end, lane] != 0.0:
        f = -1.0 / W[o + SHAPE + 4, lane]
        return f * dot(offset, t), f * dot(offset, b)
    return -dot(de, n) - dot(e, cross(w, n)), -dot(de, b) - dot(e, cross(w, b))


@kernel
def fill_column(W, w_row, system, by, P, Q, lane):
    """The right-hand side for a coordinate: its path errors, contacts fixed to their surfaces."""
    (V, n, A, size, width), c = system, by.c
    u, du = P, load3(V, coordinate_row(n, c) + START_SLOPE, lane)
    before, w_before, a = -1, (0.0, 0.0, 0.0), 0
    at = A + size + c
    k = next_active(W, w_row, 0, n, lane)
    while True:
        y, dy, o, w, v, size_rate = Q, load3(V, coordinate_row(n, c) + END_SLOPE, lane), -1, w_before, w_before, 0.0
        if k < n:
            o = w_row + OBSTACLE_ROWS * k
            w, v = slot_twist(by, int(V[slot_row(k), lane]), lane)
            size_rate = growth(W, o, V, coordinate_row(n, c), (w, v), (P, Q), lane)
            y = load3(W, o + FIRST, lane)
            dy = add_scaled(carried(w, v, y), size_rate, subtract(y, load3(W, o + POSE + 9, lane)))
        e = subtract(y, u)
        l = max(math.sqrt(dot(e, e)), _TINY)
        e = scale(1.0 / l, e)
        de = _direction_slope(e, l, subtract(dy, du))
        if before >= 0:
            # against what is pinned there: the end of the segment
            first, second = _path_error_slopes(W, before, 1, e, de, w_before, subtract(du, dy), lane)
            V[at + (4 * a - 2) * width, lane] = first
            V[at + (4 * a - 1) * width, lane] = second
        if o < 0:
            return
        first, second = _path_error_slopes(W, o, 0, e, de, w, subtract(dy, du), lane)
        V[at + 4 * a * width, lane] = first
        V[at + (4 * a + 1) * width, lane] = second
        u = load3(W, o + LAST, lane)
        du = add_scaled(carried(w, v, u), size_rate, subtract(u, load3(W, o + POSE + 9, lane)))
        before, w_before, a = o, w, a + 1
        k = next_active(W, w_row, k + 1, n, lane)


@kernel
def _end_variation(W, o, end, V, at, width, lane):
    """What the four variations from row `at` on do at an end: (along t, along b, turn of t towards b)."""
    alpha, beta, phi = V[at, lane], V[at + width, lane], V[at + 2 * width, lane]
    if end == 0:
        return alpha, beta, phi
    y = o + JACOBI
    return (
        alpha + V[at + 3 * width, lane],
        W[y, lane] * beta + W[y + 2, lane] * phi,
        W[y + 1, lane] * beta + W[y + 3, lane] * phi,
    )


@kernel
def _contact_slope(W, o, end, V, at, width, size_rate, lane):
    """Slopes of a contact point and of the tangent there, relative to the surface's own motion."""
    r, g = o + ENDS + 12 * end, o + BENDING + 3 * end
    along, across, turn = _end_variation(W, o, end, V, at, width, lane)
    x, t, n, b = load3(W, r, lane), load3(W, r + 3, lane), load3(W, r + 6, lane), load3(W, r + 9, lane)
    dx = add_scaled(add_scaled(scale(along, t), across, b), size_rate, subtract(x, load3(W, o + POSE + 9, lane)))
    return dx, add_scaled(scale(turn, b), W[g, lane] * along + W[g + 1, lane] * across, n)


@kernel
def _add_wrench(D, row, sign, x, dx, f, df, lane):
    """Add the slope of a force's wrench about ground's origin, (x x f, f)."""
    accumulate3(D, row, lane, scale(sign, add(cross(dx, f), cross(x, df))))
    accumulate3(D, row + 3, lane, scale(sign, df))


@kernel
def add_end_force(V, n, c, end, f, df, lane):
    """Add to the force on the start (0) or the end (1) of the segment and to its slope; the force once, for c = 0."""
    if c == 0:
        accumulate3(V, START_FORCE + 3 * end, lane, f)
    accumulate3(V, coordinate_row(n, c) + START_FORCE_SLOPE + 3 * end, lane, df)


@kernel
def _press_slope(W, o, V, at, width, size_rate, lane):
    """Slope of d(length)/d(ln size) = arc + t_1 . (x_1 - p) - t_2 . (x_2 - p), a quadric's with center p.

    A quadric grows as everything about its center does: the geodesic with it, and the pieces that end on it.
    """
    slope = V[at + 3 * width, lane] + size_rate * W[o + LENGTH, lane]
    center = load3(W, o + POSE + 9, lane)
    for end in range(2):
        r = o + ENDS + 12 * end
        dx, dt = _contact_slope(W, o, end, V, at, width, size_rate, lane)
        part = dot(dt, subtract(load3(W, r, lane), center)) + dot(load3(W, r + 3, lane), dx)
        slope = slope + part if end == 0 else slope - part
    return slope


@kernel
def _shrunk_force_slope(W, o, V, inside, motion, variations, lane):
    """The force of a surface on the end x inside that shrinks it, and its slope where that end moves by dx (`inside`).

    Args:
        motion: twist (w, v) of the surface, and how fast its size grows. variations: their first row in V, and how far
            apart these rows are.
    """
    (x, dx), (w, v, size_rate), (at, width) = inside, motion, variations
    shape = load_shape(W, o, lane)
    R = load_rotation(W, o + POSE, lane)
    own = rotate_back(R, subtract(dx, carried(w, v, x)))
    g = load3(W, o + GRADIENT, lane)
    # the Hessian of ln sqrt(x . k x) where that is 0: k - 2 (k x) (k x)^T
    bend = rotate(R, (shape[1] * own[0], shape[2] * own[1], shape[3] * own[2]))
    dg = add(cross(w, g), add_scaled(bend, -2.0 * size_rate, g))
    press = W[o + PRESS, lane]
    df = scale(-1.0, add_scaled(scale(press, dg), _press_slope(W, o, V, at, width, size_rate, lane), g))
    return scale(-press, g), df


@kernel
def force_slopes(W, w_row, system, by, P, Q, D, lane):
    """Slopes of the forces of unit tension by a coordinate: on surfaces into D, on the segment's ends into V.

    D: slopes of the wrenches, six rows for each entry of `by.moved`.
    """
    (V, n, A, size, width), c = system, by.c
    u, du = P, load3(V, coordinate_row(n, c) + START_SLOPE, lane)
    before, t, dt, to_u = -1, P, P, 0
    at = A + size + c
    k = next_active(W, w_row, 0, n, lane)
    while True:
        y, dy, o, to = Q, load3(V, coordinate_row(n, c) + END_SLOPE, lane), -1, 0
        w, v, size_rate = P, P, 0.0
        if k < n:
            o = w_row + OBSTACLE_ROWS * k
            slot = int(V[slot_row(k), lane])
            to = 6 * (by.flags + slot * by.stride)
            w, v = slot_twist(by, slot, lane)
            size_rate = growth(W, o, V, coordinate_row(n, c), (w, v), (P, Q), lane)
            y = load3(W, o + FIRST, lane)
            dy, dt_y = _contact_slope(W, o, 0, V, at, width, size_rate, lane)
            dy = add(dy, carried(w, v, y))
            if before < 0:
                t = load3(W, o + FIRST_TANGENT, lane)
                dt = add(dt_y, cross(w, t))
        e = subtract(y, u)
        l = math.sqrt(dot(e, e))
        if l < SHORT and (before >= 0 or o >= 0):
            e, de = t, dt
        elif l < COINCIDENT:
            e, de = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        else:
            e = scale(1.0 / l, e)
            de = _direction_slope(e, l, subtract(dy, du))
        if before < 0:
            add_end_force(V, n, c, 0, e, de, lane)
        else:
            _add_wrench(D, to_u, 1.0, u, du, e, de, lane)
        if o < 0:
            add_end_force(V, n, c, 1, scale(-1.0, e), scale(-1.0, de), lane)
            return
        _add_wrench(D, to, -1.0, y, dy, e, de, lane)
        if W[o + SHRINKER, lane] != 0.0:
            end = 0 if W[o + SHRINKER, lane] == 1.0 else 1
            x = P if end == 0 else Q
            dx = load3(V, coordinate_row(n, c) + START_SLOPE + 3 * end, lane)
            f, df = _shrunk_force_slope(W, o, V, (x, dx), (w, v, size_rate), (at, width), lane)
            add_end_force(V, n, c, end, f, df, lane)
            _add_wrench(D, to, -1.0, x, dx, f, df, lane)
        u, t = load3(W, o + LAST, lane), load3(W, o + LAST_TANGENT, lane)
        du, dt = _contact_slope(W, o, 1, V, at, width, size_rate, lane)
        du, dt = add(du, carried(w, v, u)), add(dt, cross(w, t))
        before, to_u, at = o, to, at + 4 * width
        k = next_active(W, w_row, k + 1, n, lane)


@kernel
def end_wrenches(V, n, c, ends, D, to, lane):
    """Slopes of the wrenches of the forces on both ends, once these are complete, into rows `to` of D."""
    r, (P, Q) = coordinate_row(n, c), ends
    dP, dQ = load3(V, r + START_SLOPE, lane), load3(V, r + END_SLOPE, lane)
    f, df = load3(V, START_FORCE, lane), load3(V, r + START_FORCE_SLOPE, lane)
    _add_wrench(D, to[0], 1.0, P, dP, f, df, lane)
    f, df = load3(V, END_FORCE, lane), load3(V, r + END_FORCE_SLOPE, lane)
    _add_wrench(D, to[1], 1.0, Q, dQ, f, df, lane)


@kernel
def clear_forces(V, n, coordinates, lane):
    """Forces on the ends, and their slopes, zero."""
    for i in range(HEAD_ROWS):
        V[i, lane] = 0.0
    for c in range(coordinates):
        for i in range(6):
            V[coordinate_row(n, c) + START_FORCE_SLOPE + i, lane] = 0.0
