"""Starts of strings that go round cylinders one after the other, in either order, beside what crosses them.

Where the side of a cylinder is held for more than half a turn, a string has to go round it, and may do so before or
after it meets another solid. Where that one crosses the cylinder there is no room for a round: it lies to the left or
right of the crossing, which may be far from the straight line.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.paths.path_points import CYLINDER, TORUS
from musculo.kernels.scalar.vectors import cross, dot, subtract
from musculo.kernels.wrapping.geodesic.one_obstacle import HELD
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.polyline.polyline_solid import azimuth, turned
from musculo.kernels.wrapping.polyline.polyline_starts import begin_along

# Places of a round along a cylinder: by the straight line, and on either side of what crosses it.
_PLACES = 3
# Starts a pair of solids: places on both, and both ways round either.
PAIR_STARTS = _PLACES * _PLACES * 4
# How far a round lies off the cylinder, and beside what crosses it, over the radius.
_OFF, _BESIDE = 1.25, 0.3
# Points of a round: so many, and a piece turns by no more than [rad].
_FEWEST, _MOST, _PIECE = 4, 60, math.pi / 8.0
WAY_ROWS = 2 + 2 * (_MOST + 1)
# Crossings of axes that are closer to parallel than this (squared sine) are not looked for.
_PARALLEL = 1e-6


@kernel
def _held_long(w, k):
    """Whether solid k is a cylinder that is held to the long way round."""
    return w.hold[k, 0] == HELD and math.fabs(w.hold[k, 1]) > math.pi


@kernel
def _height(w, k, x):
    """z of a point in the frame of solid k."""
    p = w.pose
    return p[k, 2] * (x[0] - p[k, 9]) + p[k, 5] * (x[1] - p[k, 10]) + p[k, 8] * (x[2] - p[k, 11])


@kernel
def _from_axis(w, k, x):
    """How far a point is from the z axis of solid k, squared."""
    p = w.pose
    z = _height(w, k, x)
    a, b, c = x[0] - p[k, 9], x[1] - p[k, 10], x[2] - p[k, 11]
    return max(a * a + b * b + c * c - z * z, 0.0)


@kernel
def _crossing(w, i, j):
    """(at, far, away) where solid j is nearest to the axis of cylinder i: how far along that, how far it reaches to
    either side there, and how far the two are apart; infinite along an axis that is parallel."""
    p = w.pose
    r = w.form[i, 4]
    at = _height(w, i, (p[j, 9], p[j, 10], p[j, 11]))
    if int(w.form[j, 0]) != CYLINDER:
        size = 1.0 / math.sqrt(min(w.form[j, 1], min(w.form[j, 2], w.form[j, 3])))
        return at, size, math.sqrt(_from_axis(w, i, (p[j, 9], p[j, 10], p[j, 11]))) - size - r
    size = w.form[j, 4]
    u, v = (p[i, 2], p[i, 5], p[i, 8]), (p[j, 2], p[j, 5], p[j, 8])
    cosine = dot(u, v)
    sine = 1.0 - cosine * cosine
    if sine < _PARALLEL:
        return at, 1e300, math.sqrt(_from_axis(w, i, (p[j, 9], p[j, 10], p[j, 11]))) - size - r
    at = (at + _height(w, j, (p[i, 9], p[i, 10], p[i, 11])) * cosine) / sine
    between = dot(subtract((p[j, 9], p[j, 10], p[j, 11]), (p[i, 9], p[i, 10], p[i, 11])), cross(u, v))
    return at, (size + _OFF * math.fabs(cosine) * r) / math.sqrt(sine), math.fabs(between) / math.sqrt(sine) - size - r


@kernel
def pair_starts(w, i, j, all_):
    """How many strings start with a round of solid i, then of j (if that is a cylinder): none unless one of them is
    held to the long way round, or `all_` are asked for; only those by the straight line where they are apart. Of a
    solid alone (i = j) both ways round a cylinder of which the side is open: others may leave room for one only."""
    one, other = int(w.form[i, 0]), int(w.form[j, 0])
    if i == j:
        return 2 if one == CYLINDER and w.hold[i, 0] != HELD else 0
    if one != CYLINDER or other == TORUS or not (all_ or _held_long(w, i) or _held_long(w, j)):
        return 0
    return PAIR_STARTS if _crossing(w, i, j)[2] < 0.0 else 1


@kernel
def _place(w, i, j, P, Q, choice):
    """Where along cylinder i a round lies: by the straight line, or to the left or right of solid j."""
    if choice == 0:
        d_P, d_Q = math.sqrt(_from_axis(w, i, P)), math.sqrt(_from_axis(w, i, Q))
        z_P, z_Q = _height(w, i, P), _height(w, i, Q)
        return (z_P * d_Q + z_Q * d_P) / (d_P + d_Q) if d_P + d_Q > 0.0 else 0.5 * (z_P + z_Q)
    at, far, _ = _crossing(w, i, j)
    d = subtract(Q, P)
    far = min(far + _BESIDE * w.form[i, 4], math.sqrt(dot(d, d)) + 2.0 * w.form[j, 4])
    return at - far if choice == 1 else at + far


@kernel
def tangled(w, solids):
    """Whether a cylinder that is held to the long way round crosses another."""
    found = False
    for i in range(solids):
        for j in range(solids):
            found = found or (i != j and pair_starts(w, i, j, False) > 1 and int(w.form[j, 0]) == CYLINDER)
    return found


@kernel
def _lay_round(w, k, z, before, after, flip, rounds, at):
    """Put points of a round of cylinder k at height z into w.way from row `at` on: from where the point `before` is
    seen from the axis to where `after` is, the other way if `flip`, and so many rounds more. Returns the next row."""
    a = azimuth(w.pose, k, before)
    turn = principal(azimuth(w.pose, k, after) - a)
    if flip:
        turn += -2.0 * math.pi if turn > 0.0 else 2.0 * math.pi
    turn += 2.0 * math.pi * rounds
    pieces = min(_MOST, max(_FEWEST, int(math.fabs(turn) / _PIECE)))
    r = _OFF * w.form[k, 4]
    for i in range(pieces + 1):
        angle = a + turn * i / pieces
        y = turned(w.pose, k, (r * math.cos(angle), r * math.sin(angle), z))
        for j in range(3):
            w.way[at, j] = w.pose[k, 9 + j] + y[j]
        at += 1
    return at


@kernel
def _missing(w, k, first, last):
    """How many rounds of cylinder k the points of w.way from row `first` to `last` lack."""
    if w.hold[k, 0] != HELD:
        return 0
    total, before = 0.0, azimuth(w.pose, k, (w.way[first, 0], w.way[first, 1], w.way[first, 2]))
    for i in range(first + 1, last + 1):
        now = azimuth(w.pose, k, (w.way[i, 0], w.way[i, 1], w.way[i, 2]))
        total += principal(now - before)
        before = now
    return math.floor((w.hold[k, 1] - total) / (2.0 * math.pi) + 0.5)


@kernel
def begin_round(w, i, j, P, Q, start, N):
    """Lay the string of N pieces round solid i, then round j if that is another; `start` tells places and ways. False
    where there is no such start, or none that turns as it is held."""
    apart()
    start = start if i != j else _PLACES * _PLACES * start
    place_i, place_j = start % _PLACES, start // _PLACES % _PLACES
    flip_i, flip_j = start // _PLACES // _PLACES % 2, start // _PLACES // _PLACES // 2
    both = i != j and int(w.form[j, 0]) == CYLINDER
    if (flip_i and w.hold[i, 0] == HELD) or (flip_j and (not both or w.hold[j, 0] == HELD)) or (place_j and not both):
        return False
    z_i, z_j = _place(w, i, j, P, Q, place_i), 0.0
    between = Q
    if both:
        z_j = _place(w, j, i, P, Q, place_j)
        y = turned(w.pose, j, (0.0, 0.0, z_j))
        between = (w.pose[j, 9] + y[0], w.pose[j, 10] + y[1], w.pose[j, 11] + y[2])
    # behind the path that is given
    first, rounds_i, rounds_j = w.way.shape[0] - WAY_ROWS, 0, 0
    for _ in range(_PLACES):
        w.way[first, 0], w.way[first, 1], w.way[first, 2] = P
        at = _lay_round(w, i, z_i, P, between, flip_i, rounds_i, first + 1)
        if both:
            last = (w.way[at - 1, 0], w.way[at - 1, 1], w.way[at - 1, 2])
            at = _lay_round(w, j, z_j, last, Q, flip_j, rounds_j, at)
        w.way[at, 0], w.way[at, 1], w.way[at, 2] = Q
        more_i, more_j = _missing(w, i, first, at), _missing(w, j, first, at) if both else 0
        if more_i == 0 and more_j == 0:
            begin_along(w, first, at - first + 1, N)
            return True
        rounds_i, rounds_j = rounds_i + more_i, rounds_j + more_j
    return False
