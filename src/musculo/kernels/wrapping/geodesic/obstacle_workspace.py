"""The workspace of a path segment: what is known and found of every obstacle, and the geodesic laid on it."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.vectors import add, load3, rotate, rotate_back, store3, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.geodesic_curve import GEODESIC_STATE, geodesic_end
from musculo.kernels.wrapping.geodesic.surface_shape import bending, frame_at

# How the side of an obstacle is constrained: through its hole (a ring); not at all; by a given turn (a cylinder); it is
# not there.
THROUGH, FREE, CONSTRAINED, ABSENT = range(4)

# Rows of an obstacle. The geodesic in the obstacle's frame: start point, unit tangent there, length; 1 where the path
# touches the obstacle; 1 where a sweep left a geodesic from which the next may start.
START, DIRECTION, LENGTH = 0, 3, 6
CONTACT, GUESSED = 7, 8
# 1 where the path's fixed end lies on the surface, so that the geodesic starts (ends) in it.
PINNED = 9
# The factor by which the surface is shrunk (1: not), its shape then, and its pose: R (row-major, 9) and p (3), its
# frame in the common frame.
SHRINK, SHAPE, POSE = 11, 12, 18
# In the common frame, for both ends: x, t, n, b (12 rows each), then II(t,t), II(t,b), II(b,b) (3 rows each).
ENDS, BENDING = 30, 54
FIRST, FIRST_TANGENT, LAST, LAST_TANGENT = ENDS, ENDS + 3, ENDS + 12, ENDS + 15
JACOBI, PRESS = 60, 64
SAVED = 65
# Copies of the first nine rows, while Newton's method is tried.
BEFORE = 72
# 1 where the segment's start (end) lies on the surface; PINNED follows it where no other obstacle comes between.
ON_END = 81
# How the side is constrained now; for a cylinder the turn about its axis from one end of the segment to the other
# [rad], and their azimuths; and how the side is constrained by the rules, before any is broken.
SIDE, SIDE_TURN, AZIMUTHS, RULE = 83, 84, 85, 105
# Of an obstacle in contact: 1 (2) where the segment's start (end) lies inside and shrinks it, else 0; and the slope of
# the logarithm of the size there, d(ln size)/d(that end). PRESS is d(length)/d(ln size).
SHRINKER, GRADIENT = 87, 88
# What it costs, d/d(start) and d/d(end) in ground: to break the rule about the side, then to leave a cylinder out.
PENALTIES, PENALTY_ROWS = 91, 7
PENALTY, TO_P, TO_Q = 0, 1, 4
OBSTACLE_ROWS = 106
# Rows of an obstacle in the integers: surface, wrap, option tried, option of the shortest path so far.
SURFACE, WRAP, OPTION, BEST = range(4)
OBSTACLE_TAGS = 4


class Segment(NamedTuple):
    """Where a path segment's obstacles lie in the workspace of all paths, in the order in which the path meets them.

    In C: OBSTACLE_ROWS of each, then the room in which geodesics are found. In I: OBSTACLE_TAGS rows of numbers.
    """

    C: FloatArray  # (rows, lanes)
    I: IntArray  # (rows, lanes)
    base: int  # first row in C
    tags: int  # first row in I
    most: int  # obstacles that there is room for


@inline
def geodesic_rows(n):
    """Rows of C for segments of at most n obstacles: the obstacles, a geodesic's steps, the linear system."""
    return OBSTACLE_ROWS * n + GEODESIC_STATE + 4 * n * (4 * n + 1)


@inline
def obstacle_row(s, j):
    """First row in C of obstacle j."""
    return s.base + OBSTACLE_ROWS * j


@inline
def penalty_row(s, j, option):
    """First row in C of what option 1 (its side) or 2 (its end) costs obstacle j."""
    return s.base + OBSTACLE_ROWS * j + PENALTIES + PENALTY_ROWS * (option - 1)


@inline
def tag_row(s, kind, j):
    """Row in I of SURFACE, WRAP, OPTION or BEST of obstacle j."""
    return s.tags + kind * s.most + j


@kernel
def load_shape(W, o, lane):
    """The shape of the obstacle whose rows start at o."""
    s = o + SHAPE
    kind = int(W[s, lane])
    return kind, W[s + 1, lane], W[s + 2, lane], W[s + 3, lane], W[s + 4, lane], W[s + 5, lane]


@kernel
def seen_from(W, o, x, lane):
    """A point of the common frame in the frame of the obstacle whose rows start at o."""
    R, p = load_rotation(W, o + POSE, lane), load3(W, o + POSE + 9, lane)
    return rotate_back(R, subtract(x, p))


@kernel
def lay(W, w, n, k, error_a_step, lane):
    """Compute obstacle k's geodesic from its start, direction and length, and both ends in the common frame."""
    o = w + OBSTACLE_ROWS * k
    steps = w + OBSTACLE_ROWS * n
    shape = load_shape(W, o, lane)
    R, p = load_rotation(W, o + POSE, lane), load3(W, o + POSE + 9, lane)
    x, t = load3(W, o + START, lane), load3(W, o + DIRECTION, lane)
    geodesic_end(shape, x, t, W[o + LENGTH, lane], error_a_step, W, steps, lane)
    for i in range(4):
        W[o + JACOBI + i, lane] = W[steps + 6 + i, lane]
    W[o + PRESS, lane] = W[steps + 10, lane]
    for end in range(2):
        if end == 1:
            x, t = load3(W, steps, lane), load3(W, steps + 3, lane)
        n_, b = frame_at(shape, x, t)
        store3(W, o + BENDING + 3 * end, lane, bending(shape, x, t, b))
        e = o + ENDS + 12 * end
        store3(W, e, lane, add(p, rotate(R, x)))
        store3(W, e + 3, lane, rotate(R, t))
        store3(W, e + 6, lane, rotate(R, n_))
        store3(W, e + 9, lane, rotate(R, b))


@kernel
def next_active(W, w, k, hi, lane):
    """The first obstacle in contact from k on, or hi."""
    while k < hi and W[w + OBSTACLE_ROWS * k + CONTACT, lane] == 0.0:
        k += 1
    return k
