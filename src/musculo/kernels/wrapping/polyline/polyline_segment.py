"""Polylines in place of rows of contacts: from the obstacles of a segment to a polyline, and from that to the path.

A polyline has forces of its own on surfaces and ends. The path keeps of it, for every surface, where it first and last
touches; what the straight pieces between these say about lengths and forces is set right here.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.paths.path_points import COINCIDENT, ENTRY_ROWS, GAIN, PLACE, SHORT, SLOT, TAG_ROWS
from musculo.kernels.scalar.vectors import accumulate3, add, add_scaled, cross, dot, load3, scale, subtract
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ABSENT,
    BENDING,
    CONTACT,
    ENDS,
    FIRST,
    FIRST_TANGENT,
    LAST,
    LAST_TANGENT,
    LENGTH,
    OBSTACLE_ROWS,
    POSE,
    PRESS,
    SHRINK,
    SHRINKER,
    SIDE,
    SIDE_TURN,
    WRAP,
    load_shape,
    obstacle_row,
    tag_row,
)
from musculo.kernels.wrapping.geodesic.taut_path import note_shrinker
from musculo.kernels.wrapping.geodesic.tighten import VANISHED
from musculo.kernels.wrapping.polyline.polyline_chain import Chain, put_row3, row3
from musculo.kernels.wrapping.polyline.polyline_search import (
    FOLLOWED,
    KNOTS,
    SHORTEST,
    WRENCH,
    copy_result,
    shortest_polyline,
)
from musculo.kernels.wrapping.polyline.polyline_starts import PIECES, STARTS, Polylines

# An arc's middle lies off its chord's by about this part of it times the difference of the tangents at its ends: 1/8
# for a short one, 1/6 for half a circle.
_BULGE = 1.0 / 7.0
# Arcs shorter than this count as so long [m].
_TOUCH = 1e-6


@room
def polyline_work(most):
    """Workspace for polylines over at most so many solids; next to nothing where there are none."""
    K = KNOTS if most > 0 else 1
    n = max(most, 1)
    chain = Chain(
        np.zeros((K, 3)),
        np.zeros((K, 3)),
        np.zeros((K, 3)),
        np.zeros((K, 6)),
        np.zeros((K, 6)),
        np.zeros((K, 3)),
        np.zeros((K, n, 3)),
        np.zeros((K, n)),
        np.zeros((K, n)),
        np.zeros(K, dtype=np.int64),
        np.zeros(K, dtype=np.int64),
    )
    kept, kept_length = np.zeros((STARTS, PIECES + 1 if most > 0 else 1, 3)), np.zeros(STARTS)
    form, pose, hold, way = np.zeros((n, 6)), np.zeros((n, 12)), np.zeros((n, 2)), np.zeros((2 + 3 * n, 4))
    length, pull, solid = np.zeros(3), np.zeros((3, 2, 3)), np.zeros((3, n, OBSTACLE_ROWS))
    return Polylines(chain, kept, kept_length, form, pose, hold, way, length, pull, solid)


@kernel
def _add_point(polylines, i, x):
    """Make x point i of the path to start along; returns i + 1."""
    put_row3(polylines.way, i, x)
    return i + 1


@kernel
def _is_there(C, o, lane):
    """Whether an obstacle is in force and has not shrunk to nothing."""
    return C[o + SIDE, lane] != ABSENT and C[o + SHRINK, lane] >= VANISHED


@kernel
def polyline_length(s, n, P, Q, known, limit, polylines, lane):
    """The length of the shortest polyline over the obstacles that are there, see `shortest_polyline`, which says what a
    path of length `known` and a `limit` mean.

    What `geodesic_segment` left says how they are shrunk.
    """
    C, solids, points, bends = s.C, 0, _add_point(polylines, 0, P), 0.0
    for j in range(n):
        o = obstacle_row(s, j)
        if C[o + CONTACT, lane] > 0.0:
            first, last = load3(C, o + FIRST, lane), load3(C, o + LAST, lane)
            bend = subtract(load3(C, o + FIRST_TANGENT, lane), load3(C, o + LAST_TANGENT, lane))
            bends += dot(bend, bend) / max(C[o + LENGTH, lane], _TOUCH)
            middle = add_scaled(scale(0.5, add(first, last)), _BULGE * C[o + LENGTH, lane], bend)
            points = _add_point(polylines, points, first)
            points = _add_point(polylines, points, middle)
            points = _add_point(polylines, points, last)
        if not _is_there(C, o, lane):
            continue
        shape = load_shape(C, o, lane)
        polylines.form[solids, 0], polylines.form[solids, 1], polylines.form[solids, 2] = shape[0], shape[1], shape[2]
        polylines.form[solids, 3], polylines.form[solids, 4], polylines.form[solids, 5] = shape[3], shape[4], shape[5]
        for i in range(12):
            polylines.pose[solids, i] = C[o + POSE + i, lane]
        polylines.hold[solids, 0], polylines.hold[solids, 1] = C[o + SIDE, lane], C[o + SIDE_TURN, lane]
        solids += 1
    points = _add_point(polylines, points, Q)
    return shortest_polyline(polylines, solids, P, Q, points, known, limit, bends)


@kernel
def keep_polyline(s, n, polylines, lane):
    """Make the polyline that was found last the one that the path follows; every obstacle gets its own rows."""
    r, solid = polylines.solid, 0
    copy_result(polylines, SHORTEST, FOLLOWED)
    for j in range(n):
        o = obstacle_row(s, j)
        there = _is_there(s.C, o, lane)
        for i in range(OBSTACLE_ROWS):
            r[FOLLOWED, j, i] = r[SHORTEST, solid, i] if there else 0.0
        r[FOLLOWED, j, SHRINK] = s.C[o + SHRINK, lane]
        solid += there


@kernel
def show_polyline(s, n, P, Q, polylines, lane):
    """Put the polyline into the results of the obstacles: as `geodesic_segment` leaves them."""
    C = s.C
    for j in range(n):
        o, r = obstacle_row(s, j), polylines.solid[FOLLOWED, j]
        C[o + CONTACT, lane], C[o + LENGTH, lane], C[o + SHRINK, lane] = r[CONTACT], r[LENGTH], r[SHRINK]
        for i in range(ENDS, BENDING):
            C[o + i, lane] = r[i]
        C[o + PRESS, lane], C[o + SHRINKER, lane] = r[PRESS], 0.0
        if r[PRESS] != 0.0:
            note_shrinker(C, o, P, Q, lane)


@kernel
def _add_wrench(S, row, sign, x, f, lane):
    """Add a force's wrench about ground's origin."""
    accumulate3(S, row, lane, scale(sign, cross(x, f)))
    accumulate3(S, row + 3, lane, scale(sign, f))


@kernel
def _piece(u, v, touches, tangent):
    """(direction, length) of a straight piece as `path.moment_arms` reads it; `touches`: it begins or ends in a contact
    with that tangent."""
    d = subtract(v, u)
    l = math.sqrt(dot(d, d))
    if touches and l < SHORT:
        return tangent, l
    return scale(1.0 / l if l >= COINCIDENT else 0.0, d), l


@kernel
def polyline_pull(paths, k, e, s, n, S, polylines, lane):
    """Add the forces of the polyline between entries e and e + 1 to S, less those that the contacts shown will add.

    Returns how much longer the polyline is than what the contacts shown say.
    """
    C, I = s.C, s.I
    r, pull, first = polylines.solid, polylines.pull, 6 * paths.first_slot[k]
    P, Q = load3(C, e * ENTRY_ROWS + PLACE, lane), load3(C, (e + 1) * ENTRY_ROWS + PLACE, lane)
    at_P, at_Q = first + 6 * I[e * TAG_ROWS + SLOT, lane], first + 6 * I[(e + 1) * TAG_ROWS + SLOT, lane]
    f, h = row3(pull[FOLLOWED], 0), row3(pull[FOLLOWED], 1)
    _add_wrench(S, at_P, 1.0, P, f, lane)
    _add_wrench(S, at_Q, 1.0, Q, h, lane)
    # a point that moves on its body is pulled by the piece, and by this
    accumulate3(C, e * ENTRY_ROWS + GAIN, lane, scale(-1.0, f))
    accumulate3(C, (e + 1) * ENTRY_ROWS + GAIN, lane, scale(-1.0, h))
    u, at_u, tangent, shown = P, at_P, P, 0.0
    touches = False
    for j in range(n + 1):
        v, at_v = Q, at_Q
        if j < n:
            o = obstacle_row(s, j)
            slot = first + 6 * paths.wrap_slot[I[tag_row(s, WRAP, j), lane]]
            for i in range(6):
                S[slot + i, lane] += r[FOLLOWED, j, WRENCH + i]
            if C[o + CONTACT, lane] <= 0.0:
                continue
            v, at_v = load3(C, o + FIRST, lane), slot
            if not touches:
                tangent = load3(C, o + FIRST_TANGENT, lane)
        d, l = _piece(u, v, touches or j < n, tangent)
        shown += l
        if at_u != at_v:
            _add_wrench(S, at_u, -1.0, u, d, lane)
            _add_wrench(S, at_v, 1.0, v, d, lane)
        if not touches:
            accumulate3(C, e * ENTRY_ROWS + GAIN, lane, d)
        if j == n:
            accumulate3(C, (e + 1) * ENTRY_ROWS + GAIN, lane, scale(-1.0, d))
        else:
            touches = True
            shown += C[o + LENGTH, lane]
            u, at_u = load3(C, o + LAST, lane), at_v
            tangent = load3(C, o + LAST_TANGENT, lane)
    return polylines.length[FOLLOWED] - shown
