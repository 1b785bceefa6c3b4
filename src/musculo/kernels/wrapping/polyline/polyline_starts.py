"""Where polylines start: on all sides of the solids, wound round cylinders and through rings as their rules say."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import CYLINDER, TORUS
from musculo.kernels.scalar.vectors import add_scaled, dot, subtract
from musculo.kernels.wrapping.geodesic.one_obstacle import CONSTRAINED, FREE
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.polyline.polyline_chain import Chain
from musculo.kernels.wrapping.polyline.polyline_solid import azimuth, gauge

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
    result: NDArray[
        np.float64
    ]  # (3, SOLIDS + SOLID_ROWS solids) of the polyline at hand, of the shortest, of the one that a path follows


@kernel
def across(P, Q):
    """Unit vector along P Q, two across, and the distance."""
    d = (Q[0] - P[0], Q[1] - P[1], Q[2] - P[2])
    l = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    d = (d[0] / l, d[1] / l, d[2] / l) if l > 0.0 else (1.0, 0.0, 0.0)
    # the least component across: one continuous rule is not possible, and none is needed
    if math.fabs(d[0]) <= math.fabs(d[1]) and math.fabs(d[0]) <= math.fabs(d[2]):
        u = (0.0, d[2], -d[1])
    elif math.fabs(d[1]) <= math.fabs(d[2]):
        u = (-d[2], 0.0, d[0])
    else:
        u = (d[1], -d[0], 0.0)
    f = 1.0 / math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    u = (f * u[0], f * u[1], f * u[2])
    v = (d[1] * u[2] - d[2] * u[1], d[2] * u[0] - d[0] * u[2], d[0] * u[1] - d[1] * u[0])
    return d, u, v, l


@kernel
def _height(w, k, x):
    """z of a point in the frame of solid k."""
    p = w.pose
    return p[k, 2] * (x[0] - p[k, 9]) + p[k, 5] * (x[1] - p[k, 10]) + p[k, 8] * (x[2] - p[k, 11])


@kernel
def _ring_between(w, solids, P, Q):
    """The first ring whose side is constrained and whose plane lies between P and Q, or -1."""
    for k in range(solids):
        between = (_height(w, k, P) > 0.0) != (_height(w, k, Q) > 0.0)
        if between and int(w.form[k, 0]) == TORUS and w.hold[k, 0] != FREE:
            return k
    return -1


@kernel
def first_pieces(w, solids, P, Q):
    """How many pieces tell polylines from P to Q apart: a longer piece might pass through a thin solid."""
    smallest, wound = 1e300, 0.0
    for k in range(solids):
        kind = int(w.form[k, 0])
        size = w.form[k, 4]
        if w.hold[k, 0] == CONSTRAINED and math.fabs(w.hold[k, 1]) > math.pi:
            wound += size * math.fabs(w.hold[k, 1])
        if kind not in (CYLINDER, TORUS):
            size = 1.0 / math.sqrt(max(w.form[k, 1], max(w.form[k, 2], w.form[k, 3])))
        smallest = min(smallest, (_CONSTRAINED_LONGER if w.hold[k, 0] == CONSTRAINED else 1.0) * size)
    d = (Q[0] - P[0], Q[1] - P[1], Q[2] - P[2])
    whole = _WINDING * math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) + wound
    N = FEWEST
    while PIECES > N and whole > N * _LONGEST * smallest:
        N *= 2
    return N


@kernel
def begin_apart(w, solids, P, Q, start, N):
    """Lay the polyline of N pieces from P to Q, pulled out in direction `start` to the far side of what is in the
    way."""
    c = w.chain
    _, u, v, l = across(P, Q)
    angle = 2.0 * math.pi * start / DIRECTIONS
    a, b = math.cos(angle), math.sin(angle)
    out = (a * u[0] + b * v[0], a * u[1] + b * v[1], a * u[2] + b * v[2])
    far = 0.0
    ring = _ring_between(w, solids, P, Q)
    for k in range(solids):
        kind = int(w.form[k, 0])
        size = w.form[k, 4]
        if kind == TORUS:
            continue
        if kind != CYLINDER:
            size = 1.0 / math.sqrt(min(w.form[k, 1], min(w.form[k, 2], w.form[k, 3])))
        off = (w.pose[k, 9] - P[0]) * out[0] + (w.pose[k, 10] - P[1]) * out[1] + (w.pose[k, 11] - P[2]) * out[2]
        if kind == CYLINDER:
            off = size
        far = max(far, min(max(off, 0.0) + 1.2 * size, 2.5 * size + 0.5 * l))
    for i in range(N + 1):
        t = i / N
        x = (P[0] + t * (Q[0] - P[0]), P[1] + t * (Q[1] - P[1]), P[2] + t * (Q[2] - P[2]))
        bow = math.sin(math.pi * t)
        if ring >= 0:
            x, bow = _through(w, ring, P, Q, out, t)
        bow = far * math.sqrt(max(bow, 0.0))
        for j in range(3):
            c.x[i, j] = x[j] + (bow * out[j] if 0 < i < N else 0.0)
        c.on[i] = 0
        for k in range(solids):
            c.force[i, k] = 0.0
    for j in range(3):
        c.x[N, j] = Q[j]


@kernel
def _through(w, k, P, Q, out, t):
    """(point, bow): part t of the way from P to Q through the hole of ring k, along its axis on the side `out` of it,
    and how much of a bow may be there: none in the hole, where it would lead through the ring."""
    p = w.pose
    h = _ALONG_AXIS * w.form[k, 4] * (1.0 if _height(w, k, P) > 0.0 else -1.0)
    axis = (p[k, 2], p[k, 5], p[k, 8])
    aside = _ASIDE * (w.form[k, 5] - w.form[k, 4])
    middle = add_scaled((p[k, 9], p[k, 10], p[k, 11]), aside, add_scaled(out, -dot(out, axis), axis))
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
    c = w.chain
    w.way[0, 3] = 0.0
    for i in range(1, points):
        d = 0.0
        for j in range(3):
            d += (w.way[i, j] - w.way[i - 1, j]) ** 2
        w.way[i, 3] = w.way[i - 1, 3] + math.sqrt(d)
    at, last = 1, points - 1
    for i in range(N + 1):
        s = w.way[last, 3] * i / N
        while at < last and w.way[at, 3] < s:
            at += 1
        l = w.way[at, 3] - w.way[at - 1, 3]
        t = (s - w.way[at - 1, 3]) / l if l > 0.0 else 0.0
        for j in range(3):
            c.x[i, j] = w.way[at - 1, j] + t * (w.way[at, j] - w.way[at - 1, j])
        c.on[i] = 0
        for k in range(w.form.shape[0]):
            c.force[i, k] = 0.0
    for j in range(3):
        c.x[N, j] = w.way[last, j]


@kernel
def _turn(w, k, N):
    """The polyline's turn about the axis of solid k [rad]."""
    x = w.chain.x
    total, before = 0.0, azimuth(w.pose, k, (x[0, 0], x[0, 1], x[0, 2]))
    for i in range(1, N + 1):
        now = azimuth(w.pose, k, (x[i, 0], x[i, 1], x[i, 2]))
        total += principal(now - before)
        before = now
    return total


@kernel
def _passes(w, k, N):
    """How often the polyline passes through the hole of ring k, one way less the other."""
    x = w.chain.x
    total = 0
    z = _height(w, k, (x[0, 0], x[0, 1], x[0, 2]))
    for i in range(N):
        ahead = _height(w, k, (x[i + 1, 0], x[i + 1, 1], x[i + 1, 2]))
        if (z > 0.0) != (ahead > 0.0):
            t = z / (z - ahead)
            away = 0.0
            for j in range(3):
                away += (x[i, j] + t * (x[i + 1, j] - x[i, j]) - w.pose[k, 9 + j]) ** 2
            if away < w.form[k, 5] * w.form[k, 5]:
                total += 1 if ahead > 0.0 else -1
        z = ahead
    return total


@kernel
def even(w, N):
    """Whether no piece of the polyline is longer than the others, as one that passes through a solid is."""
    x = w.chain.x
    longest, whole = 0.0, 0.0
    for i in range(N):
        a, b, d = x[i + 1, 0] - x[i, 0], x[i + 1, 1] - x[i, 1], x[i + 1, 2] - x[i, 2]
        l = math.sqrt(a * a + b * b + d * d)
        longest, whole = max(longest, l), whole + l
    return longest * N <= _UNEVEN * whole


@kernel
def right_side(w, solids, N):
    """Whether the polyline passes all cylinders whose side is constrained on that side, and rings through their holes
    where its ends are on either side; and whether it is even."""
    x = w.chain.x
    if not even(w, N):
        return False
    for k in range(solids):
        if w.hold[k, 0] == CONSTRAINED and math.fabs(_turn(w, k, N) - w.hold[k, 1]) > math.pi:
            return False
        if int(w.form[k, 0]) == TORUS and w.hold[k, 0] != FREE:
            before = _height(w, k, (x[0, 0], x[0, 1], x[0, 2])) > 0.0
            after = _height(w, k, (x[N, 0], x[N, 1], x[N, 2])) > 0.0
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
            g = gauge(w.form, w.pose, k, (x[i, 0], x[i, 1], x[i, 2]))
            if g < least:
                least, at = g, i
        # a third of the knots goes round, the others lie closer together
        loop = N // 3
        before = (at * (N - loop)) // N
        after = N - loop - before
        for i in range(N + 1):
            t = 0.0
            s = 0.0
            if i <= before:
                s = at * i / before if before > 0 else 0.0
            elif i >= N - after:
                s = N - (N - at) * (N - i) / after if after > 0 else 1.0 * N
            else:
                s, t = 1.0 * at, (i - before) / loop
            a = min(int(s), N - 1)
            f = s - a
            z = (
                x[a, 0] + f * (x[a + 1, 0] - x[a, 0]),
                x[a, 1] + f * (x[a + 1, 1] - x[a, 1]),
                x[a, 2] + f * (x[a + 1, 2] - x[a, 2]),
            )
            if 0.0 < t < 1.0:
                z = _round(w, k, z, t * more)
            y[i, 0], y[i, 1], y[i, 2] = z
        for i in range(1, N):
            for j in range(3):
                x[i, j] = y[i, j]


@kernel
def _round(w, k, z, angle):
    """A point turned about the axis of solid k, and taken out of it."""
    p = w.pose
    a, b, c = z[0] - p[k, 9], z[1] - p[k, 10], z[2] - p[k, 11]
    u = p[k, 0] * a + p[k, 3] * b + p[k, 6] * c
    v = p[k, 1] * a + p[k, 4] * b + p[k, 7] * c
    h = p[k, 2] * a + p[k, 5] * b + p[k, 8] * c
    r = math.sqrt(u * u + v * v)
    if r == 0.0:
        u, r = 1e-9, 1e-9
    f = max(1.0, 1.3 * w.form[k, 4] / r)
    g, s = f * math.cos(angle), f * math.sin(angle)
    u, v = g * u - s * v, s * u + g * v
    return (
        p[k, 9] + p[k, 0] * u + p[k, 1] * v + p[k, 2] * h,
        p[k, 10] + p[k, 3] * u + p[k, 4] * v + p[k, 5] * h,
        p[k, 11] + p[k, 6] * u + p[k, 7] * v + p[k, 8] * h,
    )
