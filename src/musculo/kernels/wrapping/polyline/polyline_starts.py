"""Where polylines start: on all sides of the solids, wound round cylinders and through rings as their rules say."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import CYLINDER, TORUS
from musculo.kernels.scalar.vectors import add, add_scaled, cross, dot, rotate, scale, subtract
from musculo.kernels.wrapping.geodesic.obstacle_workspace import CONSTRAINED, FREE
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.geodesic.surface_shape import depth, unit
from musculo.kernels.wrapping.polyline.polyline_chain import Chain, put_row3, row3
from musculo.kernels.wrapping.polyline.polyline_solid import azimuth, own_point, solid_pose, solid_shape

# Pieces while polylines are told apart: the fewest, the most, and how long one may be over the smallest solid.
FEWEST, PIECES, _LONGEST = 32, 128, 1.0
# The same of a cylinder whose side is constrained: that a piece slipped through it shows.
_CONSTRAINED_LONGER = 2.0
# How much longer than the straight line polylines may be expected to be.
_WINDING = 1.3
# Through rings polylines start along the axis for so many tube radii on either side; the way there is this part of all;
# and so far from the axis, over the hole's radius.
_ALONG_AXIS, _TO_HOLE, _ASIDE = 1.5, 0.4, 0.7
# Pieces of a polyline at rest are equally long; one that is longer than the mean by this factor leads through a solid.
_UNEVEN = 1.5
# Starts: along a path that is given, and pulled out in so many directions round the straight line.
DIRECTIONS = 12
# Polylines that are kept to choose from.
STARTS = DIRECTIONS + 1


class Polylines(NamedTuple):
    """Workspace of `shortest_polyline`: a chain, polylines to choose from, and the solids of a segment."""

    chain: Chain
    kept: NDArray[np.float64]  # (STARTS, PIECES + 1, 3)
    kept_length: NDArray[np.float64]  # (STARTS,)
    form: NDArray[np.float64]  # (solids, 6)
    pose: NDArray[np.float64]  # (solids, 12)
    hold: NDArray[np.float64]  # (solids, 2) how the side is constrained, and a cylinder's turn
    way: NDArray[np.float64]  # (2 + 3 solids, 4) a path to start along: points, and how far along each is
    # results, see `polyline_search`
    length: NDArray[np.float64]  # (3,)
    pull: NDArray[np.float64]  # (3, 2, 3) forces on both ends
    solid: NDArray[np.float64]  # (3, solids, OBSTACLE_ROWS)


@kernel
def across(P, Q):
    """Two unit vectors across P Q, and its length."""
    d = subtract(Q, P)
    l = math.sqrt(dot(d, d))
    d = scale(1.0 / l, d) if l > 0.0 else (1.0, 0.0, 0.0)
    # the least component across: one continuous rule is not possible, and none is needed
    if math.fabs(d[0]) <= math.fabs(d[1]) and math.fabs(d[0]) <= math.fabs(d[2]):
        u = unit((0.0, d[2], -d[1]))
    elif math.fabs(d[1]) <= math.fabs(d[2]):
        u = unit((-d[2], 0.0, d[0]))
    else:
        u = unit((d[1], -d[0], 0.0))
    return u, cross(d, u), l


@kernel
def _ring_between(w, solids, P, Q):
    """The first ring whose side is constrained and whose plane lies between P and Q, or -1."""
    for k in range(solids):
        between = (own_point(w, k, P)[2] > 0.0) != (own_point(w, k, Q)[2] > 0.0)
        if between and int(w.form[k, 0]) == TORUS and w.hold[k, 0] != FREE:
            return k
    return -1


@kernel
def _lay(c, i, x):
    """Put knot i to x, out of contact."""
    put_row3(c.x, i, x)
    c.on[i] = 0
    for k in range(c.force.shape[1]):
        c.force[i, k] = 0.0


@kernel
def first_pieces(w, solids, P, Q):
    """How many pieces tell polylines from P to Q apart: a longer piece might pass through a thin solid."""
    smallest, wound = 1e300, 0.0
    for k in range(solids):
        size = w.form[k, 4]
        if w.hold[k, 0] == CONSTRAINED and math.fabs(w.hold[k, 1]) > math.pi:
            wound += size * math.fabs(w.hold[k, 1])
        smallest = min(smallest, (_CONSTRAINED_LONGER if w.hold[k, 0] == CONSTRAINED else 1.0) * size)
    d = subtract(Q, P)
    whole = _WINDING * math.sqrt(dot(d, d)) + wound
    N = FEWEST
    while PIECES > N and whole > N * _LONGEST * smallest:
        N *= 2
    return N


@kernel
def begin_apart(w, solids, P, Q, start, N):
    """Lay the polyline of N pieces from P to Q, pulled out in direction `start` to the far side of what is in the
    way."""
    u, v, l = across(P, Q)
    angle = 2.0 * math.pi * start / DIRECTIONS
    out = add_scaled(scale(math.cos(angle), u), math.sin(angle), v)
    far, ring = 0.0, _ring_between(w, solids, P, Q)
    for k in range(solids):
        kind, size = int(w.form[k, 0]), w.form[k, 4]
        if kind == TORUS:
            continue
        off = size
        if kind != CYLINDER:
            size = 1.0 / math.sqrt(min(w.form[k, 1], min(w.form[k, 2], w.form[k, 3])))
            off = dot(subtract(solid_pose(w, k)[1], P), out)
        far = max(far, min(max(off, 0.0) + 1.2 * size, 2.5 * size + 0.5 * l))
    for i in range(N + 1):
        t = i / N
        x, bow = add_scaled(P, t, subtract(Q, P)), math.sin(math.pi * t)
        if ring >= 0:
            x, bow = _through(w, ring, P, Q, out, t)
        _lay(w.chain, i, add_scaled(x, far * math.sqrt(max(bow, 0.0)), out) if 0 < i < N else x)
    put_row3(w.chain.x, N, Q)


@kernel
def _through(w, k, P, Q, out, t):
    """(point, bow): part t of the way from P to Q through the hole of ring k, along its axis on the side `out` of it,
    and how much of a bow may be there: none in the hole, where it would lead through the ring."""
    R, p = solid_pose(w, k)
    h = _ALONG_AXIS * w.form[k, 4] * (1.0 if own_point(w, k, P)[2] > 0.0 else -1.0)
    axis = (R[2], R[5], R[8])
    aside = _ASIDE * (w.form[k, 5] - w.form[k, 4])
    middle = add_scaled(p, aside, add_scaled(out, -dot(out, axis), axis))
    A, B = add_scaled(middle, h, axis), add_scaled(middle, -h, axis)
    if t < _TO_HOLE:
        s = t / _TO_HOLE
        return add_scaled(P, s, subtract(A, P)), math.sin(math.pi * s)
    if t > 1.0 - _TO_HOLE:
        s = (1.0 - t) / _TO_HOLE
        return add_scaled(Q, s, subtract(B, Q)), math.sin(math.pi * s)
    return add_scaled(A, (t - _TO_HOLE) / (1.0 - 2.0 * _TO_HOLE), subtract(B, A)), 0.0


@kernel
def begin_along(w, points, N):
    """Lay the polyline of N pieces along the first `points` points of w.way, in pieces of equal length."""
    way = w.way
    way[0, 3] = 0.0
    for i in range(1, points):
        d = subtract(row3(way, i), row3(way, i - 1))
        way[i, 3] = way[i - 1, 3] + math.sqrt(dot(d, d))
    at, last = 1, points - 1
    for i in range(N + 1):
        s = way[last, 3] * i / N
        while at < last and way[at, 3] < s:
            at += 1
        l = way[at, 3] - way[at - 1, 3]
        t = (s - way[at - 1, 3]) / l if l > 0.0 else 0.0
        _lay(w.chain, i, add_scaled(row3(way, at - 1), t, subtract(row3(way, at), row3(way, at - 1))))
    put_row3(w.chain.x, N, row3(way, last))


@kernel
def _turn(w, k, N):
    """The polyline's turn about the axis of solid k [rad]."""
    x = w.chain.x
    total, before = 0.0, azimuth(w, k, row3(x, 0))
    for i in range(1, N + 1):
        now = azimuth(w, k, row3(x, i))
        total += principal(now - before)
        before = now
    return total


@kernel
def _passes(w, k, N):
    """How often the polyline passes through the hole of ring k, one way less the other."""
    x, total = w.chain.x, 0
    u = own_point(w, k, row3(x, 0))
    for i in range(N):
        v = own_point(w, k, row3(x, i + 1))
        if (u[2] > 0.0) != (v[2] > 0.0):
            y = add_scaled(u, u[2] / (u[2] - v[2]), subtract(v, u))
            if dot(y, y) < w.form[k, 5] * w.form[k, 5]:
                total += 1 if v[2] > 0.0 else -1
        u = v
    return total


@kernel
def _even(w, N):
    """Whether no piece of the polyline is longer than the others, as one that passes through a solid is."""
    longest, whole = 0.0, 0.0
    for i in range(N):
        piece = subtract(row3(w.chain.x, i + 1), row3(w.chain.x, i))
        l = math.sqrt(dot(piece, piece))
        longest, whole = max(longest, l), whole + l
    return longest * N <= _UNEVEN * whole


@kernel
def right_side(w, solids, N):
    """Whether the polyline passes all cylinders whose side is constrained on that side, and rings through their holes
    where its ends are on either side; and whether it is even."""
    x = w.chain.x
    if not _even(w, N):
        return False
    for k in range(solids):
        if w.hold[k, 0] == CONSTRAINED and math.fabs(_turn(w, k, N) - w.hold[k, 1]) > math.pi:
            return False
        if int(w.form[k, 0]) == TORUS and w.hold[k, 0] != FREE:
            before = own_point(w, k, row3(x, 0))[2] > 0.0
            after = own_point(w, k, row3(x, N))[2] > 0.0
            if _passes(w, k, N) != int(after) - int(before):
                return False
    return True


@kernel
def wind(w, solids, N):
    """Wind the start as often round cylinders whose side is constrained as it should be, where it comes nearest to
    them."""
    x, y = w.chain.x, w.chain.y
    for k in range(solids):
        if w.hold[k, 0] != CONSTRAINED:
            continue
        more = w.hold[k, 1] - _turn(w, k, N)
        if math.fabs(more) < math.pi:
            continue
        least, at = 1e300, 1
        for i in range(1, N):
            g = depth(solid_shape(w, k), own_point(w, k, row3(x, i)))
            if g < least:
                least, at = g, i
        # a third of the knots goes round, the others lie closer together
        loop = N // 3
        before = (at * (N - loop)) // N
        after = N - loop - before
        for i in range(N + 1):
            s, t = 0.0, 0.0
            if i <= before:
                s = at * i / before if before > 0 else 0.0
            elif i >= N - after:
                s = N - (N - at) * (N - i) / after if after > 0 else 1.0 * N
            else:
                s, t = 1.0 * at, (i - before) / loop
            a = min(int(s), N - 1)
            z = add_scaled(row3(x, a), s - a, subtract(row3(x, a + 1), row3(x, a)))
            if 0.0 < t < 1.0:
                z = _round(w, k, z, t * more)
            put_row3(y, i, z)
        for i in range(1, N):
            put_row3(x, i, row3(y, i))


@kernel
def _round(w, k, z, angle):
    """A point turned about the axis of solid k, and taken out of it."""
    (R, p), (u, v, h) = solid_pose(w, k), own_point(w, k, z)
    r = math.sqrt(u * u + v * v)
    if r == 0.0:
        u, r = 1e-9, 1e-9
    f = max(1.0, 1.3 * w.form[k, 4] / r)
    g, s = f * math.cos(angle), f * math.sin(angle)
    return add(p, rotate(R, (g * u - s * v, s * u + g * v, h)))
