"""Whether a path over obstacles keeps out of all of them, and passes those whose side is constrained on that side."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import CYLINDER, TORUS
from musculo.kernels.scalar.vectors import add, dot, load3, rotate, rotate_back, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.geodesic_curve import COARSE, geodesic_end
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    DIRECTION,
    LENGTH,
    OBSTACLE_ROWS,
    POSE,
    SHAPE,
    START,
    load_shape,
)
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.geodesic.start_guess import ring_approach
from musculo.kernels.wrapping.geodesic.surface_shape import bending, depth, frame_at
from musculo.kernels.wrapping.geodesic.taut_path import (
    ABSENT,
    CONSTRAINED,
    CONTACT,
    FIRST,
    FREE,
    LAST,
    SHRUNK,
    SIDE,
    SIDE_TURN,
)
from musculo.kernels.wrapping.rules.obstacles import pose_row, result_row, room_row

# A piece that dips less than this (squared, over the size) into a surface touches it only.
_GRAZING = 1e-9
# Arcs closer than this to another surface [m], or followed for longer than so many steps, count as through it: what
# takes their place is as long.
_NEAR, _STEPS = 3e-6, 200
# Places along an arc over a ring where it is looked at.
_PLACES = 16
# A straight piece this far (over the radius) inside a ring's tube only touches it.
_SKIN = 1e-6


@kernel
def _hits(shape, A, B):
    """Whether the straight piece A B (the surface's frame) passes through a quadric; a cylinder has no ends here."""
    f, g, h = math.sqrt(shape[1]), math.sqrt(shape[2]), math.sqrt(shape[3])
    x = (f * A[0], g * A[1], h * A[2])
    d = (f * B[0] - x[0], g * B[1] - x[1], h * B[2] - x[2])
    along = dot(d, d)
    t = min(1.0, max(0.0, -dot(x, d) / along)) if along > 0.0 else 0.0
    m = (x[0] + t * d[0], x[1] + t * d[1], x[2] + t * d[2])
    return dot(m, m) < 1.0 - _GRAZING


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
    R_k, p_k = load_rotation(W, b + POSE, lane), load3(W, b + POSE + 9, lane)
    x, t, left = load3(W, a + START, lane), load3(W, a + DIRECTION, lane), W[a + LENGTH, lane]
    steps = w + OBSTACLE_ROWS * n
    y = rotate_back(R_k, subtract(add(p, rotate(R, x)), p_k))
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
        now = rotate_back(R_k, subtract(add(p, rotate(R, x)), p_k))
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
    C, W = s.C, room_row(s)
    R, p = load_rotation(C, pose_row(s, k), lane), load3(C, pose_row(s, k) + 9, lane)
    shape = load_shape(C, W + OBSTACLE_ROWS * k, lane)
    u, passes = rotate_back(R, subtract(P, p)), 0
    above = 1 if u[2] > 0.0 else 0
    for j in range(2 * n + 1):
        v = rotate_back(R, subtract(Q, p))
        if j < 2 * n:
            g = result_row(s, j // 2)
            if C[g + CONTACT, lane] <= 0.0:
                continue
            v = rotate_back(R, subtract(load3(C, g + (FIRST if j % 2 == 0 else LAST), lane), p))
        if j % 2 == 0:
            # a piece that begins on the ring may still meet it further on
            if ring_approach(shape, u, v, True)[1] < 1.0 - _SKIN:
                return False
        elif j // 2 == k:
            if not _presses(C, W, n, k, lane):
                return False
        else:
            clear, _ = _along_arc(C, W, n, j // 2, k, lane)
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
    C, W = s.C, room_row(s)
    for k in range(n):
        g, o = result_row(s, k), W + OBSTACLE_ROWS * k
        if C[g + SIDE, lane] == ABSENT or C[g + SHRUNK, lane] <= 0.0:
            continue
        if C[o + SHAPE, lane] == TORUS:
            if not _through_hole(s, n, P, Q, k, C[g + SIDE, lane] != FREE, lane):
                return False
            continue
        R, p = load_rotation(C, pose_row(s, k), lane), load3(C, pose_row(s, k) + 9, lane)
        shape = load_shape(C, o, lane)
        constrained = C[g + SIDE, lane] == CONSTRAINED and shape[0] == CYLINDER
        u, touches, turn = rotate_back(R, subtract(P, p)), False, 0.0
        for j in range(n + 1):
            v, next_touches = rotate_back(R, subtract(Q, p)), False
            if j < n:
                if C[result_row(s, j) + CONTACT, lane] <= 0.0:
                    continue
                v = rotate_back(R, subtract(load3(C, result_row(s, j) + FIRST, lane), p))
                next_touches = j == k
            if not touches and not next_touches and _hits(shape, u, v):
                return False
            turn += _between(u, v)
            if j < n:
                u = rotate_back(R, subtract(load3(C, result_row(s, j) + LAST, lane), p))
                touches = j == k
                if j != k:
                    clear, more = _along_arc(C, W, n, j, k, lane)
                    if not clear:
                        return False
                    turn += more
                elif constrained:
                    x, t = load3(C, o + START, lane), load3(C, o + DIRECTION, lane)
                    turn += C[o + LENGTH, lane] * (x[0] * t[1] - x[1] * t[0]) / (shape[4] * shape[4])
        if constrained and math.fabs(turn - C[g + SIDE_TURN, lane]) > math.pi:
            return False
    return True
