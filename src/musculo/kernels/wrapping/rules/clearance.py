"""Whether a path over obstacles keeps out of all of them, and passes those whose side is constrained on that side."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import CYLINDER, TORUS
from musculo.kernels.scalar.vectors import add, load3, rotate
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.geodesic_curve import COARSE, geodesic_end
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ABSENT,
    CONSTRAINED,
    CONTACT,
    DIRECTION,
    FIRST,
    FREE,
    LAST,
    LENGTH,
    OBSTACLE_ROWS,
    POSE,
    SHAPE,
    SHRINK,
    SIDE,
    SIDE_TURN,
    START,
    load_shape,
    obstacle_row,
    seen_from,
)
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.geodesic.start_guess import ring_approach
from musculo.kernels.wrapping.geodesic.surface_shape import bending, chord_depth, depth, frame_at

# A straight piece that dips less than this (squared, over the size) into a surface only touches it.
_GRAZING = 1e-9
# Arcs closer than this to another surface [m], or followed for longer than so many steps, count as through it: what
# takes their place is as long.
_NEAR, _STEPS = 3e-6, 200
# Places along an arc over a ring where it is looked at.
_PLACES = 16
# A straight piece this far (over the radius) inside a ring's tube only touches it.
_SKIN = 1e-6


@kernel
def _between(a, b):
    """The turn about z from point a to point b, by the shorter way [rad]."""
    return principal(math.atan2(b[1], b[0]) - math.atan2(a[1], a[0]))


@kernel
def _along_arc(W, w, n, j, k, lane):
    """(clear, turn): whether the arc on obstacle j keeps out of obstacle k, and its turn about that one's z axis.

    In steps that are no longer than the distance to k, which is at least (depth - 1) times k's smallest size.
    """
    a, b = w + OBSTACLE_ROWS * j, w + OBSTACLE_ROWS * k
    own, other = load_shape(W, a, lane), load_shape(W, b, lane)
    R, p = load_rotation(W, a + POSE, lane), load3(W, a + POSE + 9, lane)
    x, t, left = load3(W, a + START, lane), load3(W, a + DIRECTION, lane), W[a + LENGTH, lane]
    steps = w + OBSTACLE_ROWS * n
    y = seen_from(W, b, add(p, rotate(R, x)), lane)
    turn = 0.0
    for _ in range(_STEPS):
        if left <= 0.0:
            return True, turn
        away = other[4] * (depth(other, y) - 1.0)
        if away < _NEAR:
            return False, turn
        step = min(left, away)
        geodesic_end(own, x, t, step, COARSE, W, steps, lane)
        x, t = load3(W, steps, lane), load3(W, steps + 3, lane)
        now = seen_from(W, b, add(p, rotate(R, x)), lane)
        turn += _between(y, now)
        y, left = now, left - step
    return False, turn


@kernel
def _presses(W, w, n, k, lane):
    """Whether the arc on obstacle k presses on it all along: over the hollow side of a ring it would lift off."""
    a = w + OBSTACLE_ROWS * k
    shape = load_shape(W, a, lane)
    x, t, step = load3(W, a + START, lane), load3(W, a + DIRECTION, lane), W[a + LENGTH, lane] / _PLACES
    steps = w + OBSTACLE_ROWS * n
    for i in range(_PLACES + 1):
        if i > 0:
            geodesic_end(shape, x, t, step, COARSE, W, steps, lane)
            x, t = load3(W, steps, lane), load3(W, steps + 3, lane)
        _, across = frame_at(shape, x, t)
        if bending(shape, x, t, across)[0] > 0.0:
            return False
    return True


@kernel
def _through_hole(s, n, P, Q, k, constrained, lane):
    """Whether a path keeps out of the tube of ring k, but for arcs over it, and passes through its hole where its ends
    are on either side of its plane (one way less the other); arcs count as the lines between their ends there."""
    C, o = s.C, obstacle_row(s, k)
    shape = load_shape(C, o, lane)
    u, passes = seen_from(C, o, P, lane), 0
    above = 1 if u[2] > 0.0 else 0
    for j in range(2 * n + 1):
        v = seen_from(C, o, Q, lane)
        if j < 2 * n:
            a = obstacle_row(s, j // 2)
            if C[a + CONTACT, lane] <= 0.0:
                continue
            v = seen_from(C, o, load3(C, a + (FIRST if j % 2 == 0 else LAST), lane), lane)
        if j % 2 == 0:
            # a piece that begins on the ring may still meet it further on
            if ring_approach(shape, u, v, True)[1] < 1.0 - _SKIN:
                return False
        elif j // 2 == k:
            if not _presses(C, s.base, n, k, lane):
                return False
        else:
            clear, _ = _along_arc(C, s.base, n, j // 2, k, lane)
            if not clear:
                return False
        if (u[2] > 0.0) != (v[2] > 0.0):
            t = u[2] / (u[2] - v[2])
            x, y = u[0] + t * (v[0] - u[0]), u[1] + t * (v[1] - u[1])
            if x * x + y * y < shape[5] * shape[5]:
                passes += 1 if v[2] > 0.0 else -1
        u = v
    return not constrained or passes == (1 if u[2] > 0.0 else 0) - above


@kernel
def keeps_out(s, n, P, Q, lane):
    """Whether the path that `geodesic_segment` left keeps out of all obstacles that are there, and passes cylinders
    whose side is constrained on that side and rings through their holes."""
    C = s.C
    for k in range(n):
        o = obstacle_row(s, k)
        if C[o + SIDE, lane] == ABSENT or C[o + SHRINK, lane] <= 0.0:
            continue
        if C[o + SHAPE, lane] == TORUS:
            if not _through_hole(s, n, P, Q, k, C[o + SIDE, lane] != FREE, lane):
                return False
            continue
        shape = load_shape(C, o, lane)
        constrained = C[o + SIDE, lane] == CONSTRAINED and shape[0] == CYLINDER
        u, touches, turn = seen_from(C, o, P, lane), False, 0.0
        for j in range(n + 1):
            v, next_touches, a = seen_from(C, o, Q, lane), False, obstacle_row(s, j)
            if j < n:
                if C[a + CONTACT, lane] <= 0.0:
                    continue
                v, next_touches = seen_from(C, o, load3(C, a + FIRST, lane), lane), j == k
            if not touches and not next_touches and chord_depth(shape, u, v) < 1.0 - _GRAZING:
                return False
            turn += _between(u, v)
            if j < n:
                u, touches = seen_from(C, o, load3(C, a + LAST, lane), lane), j == k
                if j != k:
                    clear, more = _along_arc(C, s.base, n, j, k, lane)
                    if not clear:
                        return False
                    turn += more
                elif constrained:
                    x, t = load3(C, o + START, lane), load3(C, o + DIRECTION, lane)
                    turn += C[o + LENGTH, lane] * (x[0] * t[1] - x[1] * t[0]) / (shape[4] * shape[4])
        if constrained and math.fabs(turn - C[o + SIDE_TURN, lane]) > math.pi:
            return False
    return True
