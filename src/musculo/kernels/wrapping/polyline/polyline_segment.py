"""Polylines in place of rows of contacts: from the obstacles of a segment to a polyline, and from that to the path.

A polyline has forces of its own on surfaces and ends. The path keeps of it, for every surface, where it first and last
touches; what the straight pieces between these say about lengths and forces is set right here.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.paths.path_points import COINCIDENT, ENTRY_ROWS, GAIN, PLACE, SHORT, SLOT, TAG_ROWS
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
    store3,
    subtract,
)
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.surface_shape import depth, depth_gradient, shape_of
from musculo.kernels.wrapping.geodesic.taut_path import (
    ABSENT,
    CONTACT,
    END_GAIN,
    SHRUNK,
    SIDE,
    SIDE_TURN,
    START_GAIN,
    Surfaces,
)
from musculo.kernels.wrapping.geodesic.taut_path import ARC as GEODESIC_ARC
from musculo.kernels.wrapping.geodesic.taut_path import FIRST as CONTACT_FIRST
from musculo.kernels.wrapping.geodesic.taut_path import FIRST_TANGENT as CONTACT_FIRST_TANGENT
from musculo.kernels.wrapping.geodesic.taut_path import LAST as CONTACT_LAST
from musculo.kernels.wrapping.geodesic.taut_path import LAST_TANGENT as CONTACT_LAST_TANGENT
from musculo.kernels.wrapping.geodesic.tighten import VANISHED
from musculo.kernels.wrapping.polyline.polyline_chain import Chain
from musculo.kernels.wrapping.polyline.polyline_search import (
    ARC,
    AT_END,
    AT_START,
    FIRST,
    FIRST_TANGENT,
    KNOTS,
    LAST,
    LAST_TANGENT,
    LENGTH,
    PRESS,
    SHRINK,
    SOLID_ROWS,
    SOLIDS,
    TOUCHED,
    WRENCH,
    shortest_polyline,
)
from musculo.kernels.wrapping.polyline.polyline_starts import PIECES, STARTS, Polylines
from musculo.kernels.wrapping.rules.obstacles import SURFACE, WRAP, pose_row, result_row, tag_row

# Rows of Polylines.result: of the polyline at hand, of the shortest one, of the one that the path follows.
_BEST = 2
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
    kept = np.zeros((STARTS, PIECES + 1 if most > 0 else 1, 3))
    way = np.zeros((2 + 3 * n, 4))
    result = np.zeros((3, SOLIDS + SOLID_ROWS * n))
    return Polylines(chain, kept, np.zeros(STARTS), np.zeros((n, 6)), np.zeros((n, 12)), np.zeros((n, 2)), way, result)


@kernel
def _add_point(polylines, i, x):
    """Make x point i of the path to start along; returns i + 1."""
    polylines.way[i, 0], polylines.way[i, 1], polylines.way[i, 2] = x
    polylines.way[i, 3] = 0.0
    return i + 1


@kernel
def polyline_length(paths, s, n, P, Q, known, limit, polylines, lane):
    """The length of the shortest polyline over the obstacles that are there, see `shortest_polyline`, which says what a
    path of length `known` and a `limit` mean.

    What `geodesic_segment` left says how they are shrunk.
    """
    C = s.C
    surfaces = Surfaces(paths.surface_kind, paths.surface_size)
    solids, points, bends = 0, _add_point(polylines, 0, P), 0.0
    for j in range(n):
        g, x = result_row(s, j), pose_row(s, j)
        if C[g + CONTACT, lane] > 0.0:
            first, last = load3(C, g + CONTACT_FIRST, lane), load3(C, g + CONTACT_LAST, lane)
            bend = subtract(load3(C, g + CONTACT_FIRST_TANGENT, lane), load3(C, g + CONTACT_LAST_TANGENT, lane))
            bends += dot(bend, bend) / max(C[g + GEODESIC_ARC, lane], _TOUCH)
            middle = add_scaled(scale(0.5, add(first, last)), _BULGE * C[g + GEODESIC_ARC, lane], bend)
            points = _add_point(polylines, points, first)
            points = _add_point(polylines, points, middle)
            points = _add_point(polylines, points, last)
        if C[g + SIDE, lane] == ABSENT or C[g + SHRUNK, lane] < VANISHED:
            continue
        shape = shape_of(surfaces, s.I[tag_row(s, SURFACE, j), lane], C[g + SHRUNK, lane])
        polylines.form[solids, 0], polylines.form[solids, 1], polylines.form[solids, 2] = shape[0], shape[1], shape[2]
        polylines.form[solids, 3], polylines.form[solids, 4], polylines.form[solids, 5] = shape[3], shape[4], shape[5]
        for i in range(12):
            polylines.pose[solids, i] = C[x + i, lane]
        polylines.hold[solids, 0], polylines.hold[solids, 1] = C[g + SIDE, lane], C[g + SIDE_TURN, lane]
        solids += 1
    points = _add_point(polylines, points, Q)
    return shortest_polyline(polylines, solids, P, Q, points, known, limit, bends)


@kernel
def keep_polyline(s, n, polylines, lane):
    """Make the polyline that was found last the one that the path follows; every obstacle gets its own rows."""
    C, r, solid = s.C, polylines.result, 0
    for i in range(SOLIDS):
        r[_BEST, i] = r[1, i]
    for j in range(n):
        g = result_row(s, j)
        there = C[g + SIDE, lane] != ABSENT and C[g + SHRUNK, lane] >= VANISHED
        for i in range(SOLID_ROWS):
            r[_BEST, SOLIDS + SOLID_ROWS * j + i] = r[1, SOLIDS + SOLID_ROWS * solid + i] if there else 0.0
        r[_BEST, SOLIDS + SOLID_ROWS * j + SHRINK] = C[g + SHRUNK, lane]
        solid += there


@kernel
def show_polyline(paths, s, n, P, Q, polylines, lane):
    """Put the polyline into the results of the obstacles: contacts as `geodesic_segment` leaves them, gains of ends
    that shrink a surface. Returns the polyline's length."""
    C, r = s.C, polylines.result
    surfaces = Surfaces(paths.surface_kind, paths.surface_size)
    for j in range(n):
        g, x, of_polyline = result_row(s, j), pose_row(s, j), SOLIDS + SOLID_ROWS * j
        C[g + CONTACT, lane], C[g + SHRUNK, lane] = r[_BEST, of_polyline + TOUCHED], r[_BEST, of_polyline + SHRINK]
        C[g + GEODESIC_ARC, lane] = r[_BEST, of_polyline + ARC]
        store3(C, g + CONTACT_FIRST, lane, _row3(r, of_polyline + FIRST))
        store3(C, g + CONTACT_LAST, lane, _row3(r, of_polyline + LAST))
        store3(C, g + CONTACT_FIRST_TANGENT, lane, _row3(r, of_polyline + FIRST_TANGENT))
        store3(C, g + CONTACT_LAST_TANGENT, lane, _row3(r, of_polyline + LAST_TANGENT))
        store3(C, g + START_GAIN, lane, (0.0, 0.0, 0.0))
        store3(C, g + END_GAIN, lane, (0.0, 0.0, 0.0))
        press = r[_BEST, of_polyline + PRESS]
        if press != 0.0 and C[g + SHRUNK, lane] < 1.0:
            R, p = load_rotation(C, x, lane), load3(C, x + 9, lane)
            a, b = rotate_back(R, subtract(P, p)), rotate_back(R, subtract(Q, p))
            shape = shape_of(surfaces, s.I[tag_row(s, SURFACE, j), lane], C[g + SHRUNK, lane])
            first = depth(shape, a) <= depth(shape, b)
            # depth is 1 on the shrunk surface, so its gradient is that of the logarithm of the size
            gain = rotate(R, scale(press, depth_gradient(shape, a if first else b)))
            store3(C, g + (START_GAIN if first else END_GAIN), lane, gain)
    return r[_BEST, LENGTH]


@kernel
def _row3(r, at):
    """Three numbers of the polyline that the path follows."""
    return r[_BEST, at], r[_BEST, at + 1], r[_BEST, at + 2]


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
    r, first = polylines.result, 6 * paths.first_slot[k]
    P, Q = load3(C, e * ENTRY_ROWS + PLACE, lane), load3(C, (e + 1) * ENTRY_ROWS + PLACE, lane)
    at_P, at_Q = first + 6 * I[e * TAG_ROWS + SLOT, lane], first + 6 * I[(e + 1) * TAG_ROWS + SLOT, lane]
    f, h = _row3(r, AT_START), _row3(r, AT_END)
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
            g = result_row(s, j)
            slot = first + 6 * paths.wrap_slot[I[tag_row(s, WRAP, j), lane]]
            for i in range(6):
                S[slot + i, lane] += r[_BEST, SOLIDS + SOLID_ROWS * j + WRENCH + i]
            if C[g + CONTACT, lane] <= 0.0:
                continue
            v, at_v = load3(C, g + CONTACT_FIRST, lane), slot
            if not touches:
                tangent = load3(C, g + CONTACT_FIRST_TANGENT, lane)
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
            shown += C[g + GEODESIC_ARC, lane]
            u, at_u = load3(C, g + CONTACT_LAST, lane), at_v
            tangent = load3(C, g + CONTACT_LAST_TANGENT, lane)
    return r[_BEST, LENGTH] - shown
