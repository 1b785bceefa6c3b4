"""A path stretched over surfaces: exact geodesics, several obstacles at once, and what a caller sees of them.

`geodesic_segment` serves one segment of a path: from one fixed point to the next, over an ordered list of obstacles.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import dot, load3, rotate, rotate_back, scale, store3, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ACTIVE,
    AZIMUTHS,
    ENDS,
    HOLD,
    LENGTH,
    OBSTACLE_ROWS,
    ON_END,
    POSE,
    PRESS,
    SHAPE,
    SHRINK,
    TURN,
    WAY,
    load_shape,
    work_rows,
)
from musculo.kernels.wrapping.geodesic.one_obstacle import ABSENT, CONSTRAINED, FREE, THROUGH
from musculo.kernels.wrapping.geodesic.surface_shape import (
    CYLINDER,
    ELLIPSOID,
    SPHERE,
    TORUS,
    Surfaces,
    depth,
    depth_gradient,
    shape_of,
)
from musculo.kernels.wrapping.geodesic.tighten import (
    CONVERGED,
    INSIDE,
    LEFT_OUT,
    NOT_CONVERGED,
    ON_SURFACE,
    OTHER_SIDE,
    OVERLAPPED,
    UNFINISHED,
    VANISHED,
    taut_path,
)

__all__ = [
    "ABSENT",
    "CONSTRAINED",
    "CONVERGED",
    "CYLINDER",
    "ELLIPSOID",
    "FREE",
    "INSIDE",
    "LEFT_OUT",
    "NOT_CONVERGED",
    "OTHER_SIDE",
    "OVERLAPPED",
    "SPHERE",
    "THROUGH",
    "TORUS",
    "UNFINISHED",
    "SegmentRows",
    "Surfaces",
    "geodesic_segment",
    "work_rows",
]

# Rows of an obstacle in `G`. In the common frame: contact (1, 0), first and last contact point, unit tangents there
# (both in the direction from start to end), length on the surface, ...
CONTACT, FIRST, LAST, FIRST_TANGENT, LAST_TANGENT, ARC = 0, 1, 4, 7, 10, 13
# ... what the segment's length gains by shrinking, d(length)/d(p_start) and d(length)/d(p_end), zero unless that end
# lies inside; the factor by which the surface is shrunk (1: not) ...
START_GAIN, END_GAIN, SHRUNK = 14, 17, 20
# On entry: how the side is constrained (THROUGH, FREE, CONSTRAINED, ABSENT) and, where a cylinder's is CONSTRAINED, the
# turn about its axis from start to end [rad].
SIDE, SIDE_TURN = 21, 22
RESULT_ROWS = 23


class SegmentRows(NamedTuple):
    """Where the obstacles of a segment are known and found: arrays (rows, lanes), each with its first row."""

    obstacles: IntArray  # their numbers among the surfaces, in the path's order
    first: int
    X: FloatArray  # poses, 12 rows each: R (row-major, 9) and p (3), the surface's frame in the common frame
    x_row: int
    G: FloatArray  # results, RESULT_ROWS each
    g_row: int
    W: FloatArray  # workspace, work_rows(n)
    w_row: int


@kernel
def _set_up(surfaces, rows, n, p_start, p_end, lane):
    """Fill the workspace: shapes (shrunk where an end lies inside), and poses. Returns 1 where one is shrunk."""
    X, G, W, shrunk = rows.X, rows.G, rows.W, 0
    for k in range(n):
        i = rows.obstacles[rows.first + k, lane]
        o, x, g = rows.w_row + OBSTACLE_ROWS * k, rows.x_row + 12 * k, rows.g_row + RESULT_ROWS * k
        for r in range(12):
            W[o + POSE + r, lane] = X[x + r, lane]
        R, p = load_rotation(X, x, lane), load3(X, x + 9, lane)
        P, Q = rotate_back(R, subtract(p_start, p)), rotate_back(R, subtract(p_end, p))
        shape = shape_of(surfaces, i, 1.0)
        out_P, out_Q = depth(shape, P), depth(shape, Q)
        shrink = min(1.0, min(out_P, out_Q))
        side = G[g + SIDE, lane]
        if side == ABSENT:
            shrink = 0.0
        elif shrink < 1.0:
            shrunk = 1
            shape = shape_of(surfaces, i, max(shrink, VANISHED))
        W[o + SHRINK, lane] = shrink
        W[o + ON_END, lane] = 1.0 if out_P < shrink * (1.0 + ON_SURFACE) else 0.0
        W[o + ON_END + 1, lane] = 1.0 if out_Q < shrink * (1.0 + ON_SURFACE) else 0.0
        W[o + SHAPE, lane] = shape[0]
        W[o + SHAPE + 1, lane], W[o + SHAPE + 2, lane], W[o + SHAPE + 3, lane] = shape[1], shape[2], shape[3]
        W[o + SHAPE + 4, lane], W[o + SHAPE + 5, lane] = shape[4], shape[5]
        W[o + HOLD, lane] = side
        W[o + TURN, lane] = G[g + SIDE_TURN, lane]
        W[o + AZIMUTHS, lane], W[o + AZIMUTHS + 1, lane] = math.atan2(P[1], P[0]), math.atan2(Q[1], Q[0])
        W[o + ACTIVE, lane], W[o + WAY, lane] = 0.0, 0.0
    return shrunk


@kernel
def geodesic_segment(surfaces, rows, n, p_start, p_end, lane):
    """The taut path from p_start to p_end over n obstacles in order.

        length = sum of straight pieces + sum of geodesics;   d(length) = sum over straight pieces of e . (dv - du)

    where e is a piece's unit vector from its start u to its end v, and contact points move with their obstacle as if
    fixed to it (the path is stationary). That is all a moment arm needs.

    Args:
        surfaces: `Surfaces`, the model's wrap surfaces.
        rows: `SegmentRows`. Of G, SIDE and SIDE_TURN are read; on return: CONTACT 1 or 0; where 1: FIRST, LAST (contact
            points), FIRST_TANGENT, LAST_TANGENT (unit, along the path), ARC (length on the surface); START_GAIN,
            END_GAIN, SHRUNK (below). Where CONTACT is 0, ARC is 0 and the points and tangents mean nothing.
        p_start, p_end: tuples of three float64, in the common frame [m] (ground, or any other).

    Returns (length [m], status):
        CONVERGED   path errors below 1e-12 rad (1e-8 where rounding allows no better); length to 1e-12 of the size.
        INSIDE      as CONVERGED, but an end lies inside a surface, which is shrunk (SHRUNK < 1).
        OVERLAPPED  no such path was found: one surface covers another's contact, or a geodesic is not shortest.
        NOT_CONVERGED
                    contacts still move by more than 1e-12 m a sweep: a feasible path, not quite taut.
        LEFT_OUT    a surface found no geodesic and is left out (its CONTACT is 0).

    Rules:
        Contact     a surface is in contact where its geodesic has a positive length. It grows from zero, so lift-off
                    and touch-down are continuous.
        Side        a cylinder that is CONSTRAINED is passed by the turn that is given, any other surface by the
                    shortest path; a torus that is not FREE through its hole, on the inner side of its tube.
        Jumps       none for one obstacle, as both ways round are equally long where the shorter one changes; for a
                    torus where an end crosses the ring's plane outside it. Several obstacles with open sides:
                    cylinders and ellipsoids are passed on the side that makes the whole shorter.
        Torus       one contact a surface: a line almost in the ring's plane that touches the tube twice is LEFT_OUT
                    or follows one of the two. List the torus twice to have both.
        Cylinders   are infinite, as in [Scholz2015]: a path that slides off an end would jump.
        Inside      where an end of the segment lies inside, the surface shrinks about its centre (a torus: its tube)
                    until the end is on it; length stays continuous down to the centre, where the obstacle vanishes.
                    A piece without a length has the direction of the tangent there, and d(length) has the further
                    terms START_GAIN . dp_start + END_GAIN . dp_end, with dp relative to the surface's own motion.

    Source:     [Scholz2015], natural geodesic variations; closed forms for one cylinder or sphere.
    Guarantees: allocates nothing, raises nothing; float64.
    """
    G, W = rows.G, rows.W
    shrunk = _set_up(surfaces, rows, n, p_start, p_end, lane)
    status = taut_path(W, rows.w_row, n, p_start, p_end, lane)
    length, u = 0.0, p_start
    for k in range(n):
        o, g = rows.w_row + OBSTACLE_ROWS * k, rows.g_row + RESULT_ROWS * k
        touches = W[o + ACTIVE, lane] != 0.0
        G[g + CONTACT, lane] = 1.0 if touches else 0.0
        G[g + ARC, lane] = W[o + LENGTH, lane] if touches else 0.0
        G[g + SHRUNK, lane] = W[o + SHRINK, lane]
        store3(G, g + START_GAIN, lane, (0.0, 0.0, 0.0))
        store3(G, g + END_GAIN, lane, (0.0, 0.0, 0.0))
        if not touches:
            continue
        v = load3(W, o + ENDS, lane)
        piece = subtract(v, u)
        length += math.sqrt(dot(piece, piece)) + W[o + LENGTH, lane]
        u = load3(W, o + ENDS + 12, lane)
        store3(G, g + FIRST, lane, v)
        store3(G, g + LAST, lane, u)
        store3(G, g + FIRST_TANGENT, lane, load3(W, o + ENDS + 3, lane))
        store3(G, g + LAST_TANGENT, lane, load3(W, o + ENDS + 15, lane))
        if W[o + SHRINK, lane] < 1.0:
            _gain(W, o, p_start, p_end, G, g, lane)
    piece = subtract(p_end, u)
    length += math.sqrt(dot(piece, piece))
    return length, (INSIDE if status == CONVERGED and shrunk else status)


@kernel
def _gain(W, o, p_start, p_end, G, g, lane):
    """How the length changes with the end that shrinks the surface: d(length)/d(ln size) times d(ln size)/dp."""
    shape = load_shape(W, o, lane)
    R, p = load_rotation(W, o + POSE, lane), load3(W, o + POSE + 9, lane)
    P, Q = rotate_back(R, subtract(p_start, p)), rotate_back(R, subtract(p_end, p))
    d_P, d_Q = depth(shape, P), depth(shape, Q)
    x, row = (P, START_GAIN) if d_P <= d_Q else (Q, END_GAIN)
    # depth is 1 on the shrunk surface, so its gradient is that of the logarithm of the size
    store3(G, g + row, lane, rotate(R, scale(W[o + PRESS, lane], depth_gradient(shape, x))))
