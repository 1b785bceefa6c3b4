"""Where a path shorter than a limit can pass at all: what spares most of the search for one.

A path from P to Q crosses every plane between them, outside all solids. Through a point X of the plane it is no shorter
than |P X| + |X Q|, nor than the taut paths P X Q over any one of the cylinders, which have closed forms. So shorter
paths than a limit pass through few of the directions in which X may lie off the straight line.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.paths.path_points import CYLINDER, TORUS
from musculo.kernels.scalar.vectors import add_scaled, dot, subtract
from musculo.kernels.wrapping.geodesic.one_obstacle import HELD
from musculo.kernels.wrapping.geodesic.round_obstacle import principal, taut_length
from musculo.kernels.wrapping.polyline.polyline_solid import gauge, own_point
from musculo.kernels.wrapping.polyline.polyline_starts import DIRECTIONS, across

# All directions may hold a path.
EVERY = (1 << DIRECTIONS) - 1
# Points of a plane are looked at on so many rays a direction, and at so many distances besides those at which a ray
# leaves or enters a solid.
_RAYS, _STEPS = 5, 8
# Between these points bounds may be less, by this part of the limit.
_GRAIN = 1e-3
# A point on a solid is no nearer to its middle than by this part.
_ROUNDING = 1e-9
# Limits above so many times the straight line say nothing.
_ENDLESS = 10.0
# Planes lie so far from the ends at least, over the distance of these.
_MARGIN = 0.05
# A path in so many directions side by side, with the known one among them, has no other beside it, if these are no
# wider than the smallest solid that it may pass on either side.
_NARROW = 3
# But beside a cylinder that is held to a longer turn than this [rad] it may meet the others in another order.
_ROUND = math.pi + 0.4
# Axes that are closer to the straight line than this (squared sine) have no nearest point to it.
_PARALLEL = 1e-6


@kernel
def round_bound(w, k, P, X, Q):
    """Length of the shortest path from P to Q through X outside cylinder k, with the turn to which its side is held."""
    r = w.form[k, 4]
    p, x, q = own_point(w.pose, k, P), own_point(w.pose, k, X), own_point(w.pose, k, Q)
    a, b, c = math.sqrt(p[0] ** 2 + p[1] ** 2), math.sqrt(x[0] ** 2 + x[1] ** 2), math.sqrt(q[0] ** 2 + q[1] ** 2)
    at = math.atan2(x[1], x[0])
    there = principal(at - math.atan2(p[1], p[0]))
    if w.hold[k, 0] != HELD:
        on = principal(math.atan2(q[1], q[0]) - at)
        return taut_length(r, a, b, there, x[2] - p[2]) + taut_length(r, b, c, on, q[2] - x[2])
    least = 1e300
    for i in range(-1, 2):
        turn = there + 2.0 * math.pi * i
        there_by = taut_length(r, a, b, turn, x[2] - p[2])
        least = min(least, there_by + taut_length(r, b, c, w.hold[k, 1] - turn, q[2] - x[2]))
    return least


@kernel
def _may_pass(w, solids, P, X, Q, limit):
    """Whether a path shorter than the limit may pass through X, as far as solids are looked at one by one."""
    u, v = subtract(X, P), subtract(Q, X)
    if math.sqrt(dot(u, u)) + math.sqrt(dot(v, v)) > limit:
        return False
    clear = True
    for k in range(solids):
        clear = clear and gauge(w.form, w.pose, k, X) > 1.0 - _ROUNDING
    for k in range(solids):
        clear = clear and (int(w.form[k, 0]) != CYLINDER or round_bound(w, k, P, X, Q) <= limit)
    return clear


@kernel
def _edges(w, k, M, out):
    """Distances from M at which a ray in direction `out` enters and leaves solid k; zeros where it misses it."""
    y, d = own_point(w.pose, k, M), own_point(w.pose, k, add_scaled(M, 1.0, out))
    d = subtract(d, y)
    a, b, c = 0.0, 0.0, -1.0
    for j in range(3):
        f = w.form[k, 1 + j]
        a, b, c = a + f * d[j] * d[j], b + f * d[j] * y[j], c + f * y[j] * y[j]
    root = b * b - a * c
    if not (a > 0.0 and root > 0.0):
        return 0.0, 0.0
    root = math.sqrt(root)
    return (-b - root) / a, (-b + root) / a


@kernel
def _ray(w, solids, P, Q, M, out, far, limit):
    """Whether a shorter path may pass through a point on the ray from M in direction `out`, up to so `far`."""
    for i in range(_STEPS):
        if _may_pass(w, solids, P, add_scaled(M, far * i / (_STEPS - 1), out), Q, limit):
            return True
    for k in range(solids):
        enters, leaves = _edges(w, k, M, out)
        if 0.0 < enters < far and _may_pass(w, solids, P, add_scaled(M, enters, out), Q, limit):
            return True
        if 0.0 < leaves < far and _may_pass(w, solids, P, add_scaled(M, leaves, out), Q, limit):
            return True
    return False


@kernel
def _plane_at(w, k, P, d, l):
    """How far along the line of length l from P in direction d solid k (a cylinder: its axis) is nearest to it; some
    way off the ends."""
    p = w.pose
    off = subtract((p[k, 9], p[k, 10], p[k, 11]), P)
    at = dot(off, d)
    if int(w.form[k, 0]) == CYLINDER:
        axis = (p[k, 2], p[k, 5], p[k, 8])
        along = dot(axis, d)
        sine = 1.0 - along * along
        at = (at - dot(off, axis) * along) / sine if sine > _PARALLEL else 0.5 * l
    return min(max(at, _MARGIN * l), (1.0 - _MARGIN) * l)


@kernel
def _sector(w, points, M, d, u, v):
    """The direction in which the path along w.way crosses the plane through M across d; -1 where it does so nowhere or
    more than once."""
    found = -1
    for i in range(1, points):
        a = (w.way[i - 1, 0], w.way[i - 1, 1], w.way[i - 1, 2])
        b = (w.way[i, 0], w.way[i, 1], w.way[i, 2])
        s, t = dot(subtract(a, M), d), dot(subtract(b, M), d)
        if (s > 0.0) != (t > 0.0):
            x = subtract(add_scaled(a, s / (s - t), subtract(b, a)), M)
            if found >= 0:
                return -1
            angle = math.atan2(dot(x, v), dot(x, u)) / (2.0 * math.pi) * DIRECTIONS
            found = math.floor(angle + 0.5) % DIRECTIONS
    return found


@kernel
def _narrow(mask, at):
    """Whether direction `at` and those of the mask lie within _NARROW side by side."""
    mask |= 1 << at
    for first in range(DIRECTIONS):
        window = 0
        for i in range(_NARROW):
            window |= 1 << ((first + i) % DIRECTIONS)
        if mask & ~window == 0:
            return True
    return False


@kernel
def directions_left(w, solids, P, Q, points, limit):
    """(mask, alone): bits of the directions round the straight line in which a path shorter than `limit` may pass one
    of the planes through the middles of the solids; and whether in each of the planes these are so few, and the known
    path along `points` points of w.way among them, that there is no other. With a ring, or a limit too large to be one,
    every direction is left.

    Points of the planes are sampled: a path that is shorter by less than _GRAIN of its length may be lost.
    """
    apart()
    d, u, v, l = across(P, Q)
    limit *= 1.0 + _GRAIN
    every, alone, smallest = 0, True, 1e300
    for k in range(solids):
        if int(w.form[k, 0]) == TORUS or not l > 0.0 or limit > _ENDLESS * l:
            return EVERY, False
        # in another order of the others such a path may pass through the same points
        alone = alone and not (w.hold[k, 0] == HELD and math.fabs(w.hold[k, 1]) > _ROUND)
        if w.hold[k, 0] != HELD:
            smallest = min(smallest, w.form[k, 4])
    for k in range(solids):
        t = _plane_at(w, k, P, d, l)
        M = add_scaled(P, t, d)
        # points through which the way is as long as the limit make an ellipsoid about the ends; its section
        x = (2.0 * t - l) / limit
        far = 0.5 * math.sqrt(max((limit * limit - l * l) * (1.0 - x * x), 0.0))
        mask = 0
        for i in range(DIRECTIONS):
            found, ray = False, 0
            while not found and ray < _RAYS:
                angle = 2.0 * math.pi * (i + (ray + 0.5) / _RAYS - 0.5) / DIRECTIONS
                out = add_scaled((0.0, 0.0, 0.0), math.cos(angle), u)
                found = _ray(w, solids, P, Q, M, add_scaled(out, math.sin(angle), v), far, limit)
                ray += 1
            mask |= found << i
        every |= mask
        at = _sector(w, points, M, d, u, v)
        wide = 2.0 * math.pi * _NARROW / DIRECTIONS * far
        alone = alone and at >= 0 and wide < smallest and _narrow(mask, at)
    return every, alone
