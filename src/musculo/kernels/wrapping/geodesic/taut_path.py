"""A path stretched over surfaces: exact geodesics, several obstacles at once, and what a caller sees of them.

`geodesic_segment` serves one segment of a path: from one fixed point to the next, over an ordered list of obstacles.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import dot, load3, rotate, store3, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ABSENT,
    AZIMUTHS,
    CONTACT,
    FIRST,
    GRADIENT,
    GUESSED,
    LAST,
    LENGTH,
    ON_END,
    POSE,
    SHAPE,
    SHRINK,
    SHRINKER,
    SIDE,
    SURFACE,
    load_shape,
    obstacle_row,
    seen_from,
    tag_row,
)
from musculo.kernels.wrapping.geodesic.surface_shape import depth, depth_gradient, shape_of
from musculo.kernels.wrapping.geodesic.tighten import CONVERGED, INSIDE, ON_SURFACE, VANISHED, solve_path


@kernel
def _set_up(paths, s, n, p_start, p_end, lane):
    """Fill in the shapes of all obstacles, shrunk where an end lies inside. Returns 1 where one is shrunk."""
    W, shrunk = s.C, 0
    for k in range(n):
        i, o = s.I[tag_row(s, SURFACE, k), lane], obstacle_row(s, k)
        P, Q = seen_from(W, o, p_start, lane), seen_from(W, o, p_end, lane)
        shape = shape_of(paths, i, 1.0)
        out_P, out_Q = depth(shape, P), depth(shape, Q)
        shrink = min(1.0, min(out_P, out_Q))
        if shrink < 1.0:
            shape = shape_of(paths, i, max(shrink, VANISHED))
        if W[o + SIDE, lane] == ABSENT:
            shrink = 0.0
        elif shrink < 1.0:
            shrunk = 1
        W[o + SHRINK, lane] = shrink
        W[o + ON_END, lane] = 1.0 if out_P < shrink * (1.0 + ON_SURFACE) else 0.0
        W[o + ON_END + 1, lane] = 1.0 if out_Q < shrink * (1.0 + ON_SURFACE) else 0.0
        W[o + SHAPE, lane] = shape[0]
        W[o + SHAPE + 1, lane], W[o + SHAPE + 2, lane], W[o + SHAPE + 3, lane] = shape[1], shape[2], shape[3]
        W[o + SHAPE + 4, lane], W[o + SHAPE + 5, lane] = shape[4], shape[5]
        W[o + AZIMUTHS, lane], W[o + AZIMUTHS + 1, lane] = math.atan2(P[1], P[0]), math.atan2(Q[1], Q[0])
        W[o + CONTACT, lane], W[o + GUESSED, lane] = 0.0, 0.0
    return shrunk


@kernel
def note_shrinker(W, o, p_start, p_end, lane):
    """Which end shrinks the obstacle whose rows start at o, and how; SHRINKER is zero before."""
    if W[o + SHRINK, lane] >= 1.0:
        return
    shape = load_shape(W, o, lane)
    P, Q = seen_from(W, o, p_start, lane), seen_from(W, o, p_end, lane)
    first = depth(shape, P) <= depth(shape, Q)
    W[o + SHRINKER, lane] = 1.0 if first else 2.0
    # depth is 1 on the shrunk surface, so its gradient is that of the logarithm of the size
    gradient = depth_gradient(shape, P if first else Q)
    store3(W, o + GRADIENT, lane, rotate(load_rotation(W, o + POSE, lane), gradient))


@kernel
def geodesic_segment(paths, s, n, p_start, p_end, lane):
    """The taut path from p_start to p_end over n obstacles in order.

        length = sum of straight pieces + sum of geodesics;   d(length) = sum over straight pieces of e . (dv - du)

    where e is a piece's unit vector from its start u to its end v, and contact points move with their obstacle as if
    fixed to it (the path is stationary). That is all a moment arm needs.

    Args:
        paths: `Paths`, which have the wrap surfaces.
        s: `Segment`. Of an obstacle, SURFACE, POSE, SIDE and SIDE_TURN are read; on return: CONTACT 1 or 0; where 1:
            FIRST, LAST (contact points), FIRST_TANGENT, LAST_TANGENT (unit, along the path), LENGTH (on the surface);
            PRESS, SHRINK, SHRINKER, GRADIENT (below). Where CONTACT is 0, length, points and tangents mean nothing.
        p_start, p_end: tuples of three float64, in the common frame [m] (ground, or any other).

    Returns (length [m], status):
        CONVERGED   path errors below 1e-12 rad (1e-8 where rounding allows no better); length to 1e-12 of the size.
        INSIDE      as CONVERGED, but an end lies inside a surface, which is shrunk (SHRINK < 1).
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
        Inside      where an end of the segment lies inside, the surface shrinks about its center (a torus: its tube)
                    until the end is on it; length stays continuous down to the center, where the obstacle vanishes.
                    A piece without a length has the direction of the tangent there, and d(length) has the further
                    term PRESS GRADIENT . dp of the end that is SHRINKER, with dp relative to the surface's own motion.

    Source:     [Scholz2015], natural geodesic variations; closed forms for one cylinder or sphere.
    Guarantees: allocates nothing, raises nothing; float64.
    """
    W = s.C
    shrunk = _set_up(paths, s, n, p_start, p_end, lane)
    status = solve_path(W, s.base, n, p_start, p_end, lane)
    length, u = 0.0, p_start
    for k in range(n):
        o = obstacle_row(s, k)
        W[o + SHRINKER, lane] = 0.0
        if W[o + CONTACT, lane] == 0.0:
            continue
        note_shrinker(W, o, p_start, p_end, lane)
        piece = subtract(load3(W, o + FIRST, lane), u)
        length += math.sqrt(dot(piece, piece)) + W[o + LENGTH, lane]
        u = load3(W, o + LAST, lane)
    piece = subtract(p_end, u)
    length += math.sqrt(dot(piece, piece))
    return length, (INSIDE if status == CONVERGED and shrunk else status)
