"""The workspace in which paths over obstacles are solved: what every obstacle keeps, and the geodesic laid on it."""

from __future__ import annotations

from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.vectors import add, load3, rotate, store3
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.geodesic_curve import GEODESIC_STATE, geodesic_end
from musculo.kernels.wrapping.geodesic.surface_shape import bending, frame_at

# Rows of an obstacle in the workspace. The geodesic in the obstacle's frame, and where the path touches:
START, DIRECTION, LENGTH = 0, 3, 6
ACTIVE, WAY = 7, 8
# 1 where the path's fixed end lies on the surface, so that the geodesic starts (ends) in it.
PINNED = 9
SHRINK = 11
SHAPE, POSE = 12, 18
# In the common frame, for both ends: x, t, n, b (12 rows each), then II(t,t), II(t,b), II(b,b) (3 rows each).
ENDS, BENDING = 30, 54
JACOBI, PRESS = 60, 64
SAVED = 65
# Copies of the first nine rows, while Newton's method is tried.
BEFORE = 72
# 1 where the segment's start (end) lies on the surface; PINNED follows it where no other obstacle comes between.
ON_END = 81
# How the side is constrained, and for a cylinder the turn from one end of the segment to the other, and their azimuths.
HOLD, TURN, AZIMUTHS = 83, 84, 85
OBSTACLE_ROWS = 87


@inline
def work_rows(n):
    """Rows of workspace for n obstacles: the obstacles, a geodesic's steps, the linear system, eight to spare."""
    return OBSTACLE_ROWS * n + GEODESIC_STATE + 4 * n * (4 * n + 1) + 24


@kernel
def load_shape(W, o, lane):
    """The shape of the obstacle whose rows start at o."""
    s = o + SHAPE
    kind = int(W[s, lane])
    return kind, W[s + 1, lane], W[s + 2, lane], W[s + 3, lane], W[s + 4, lane], W[s + 5, lane]


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
    while k < hi and W[w + OBSTACLE_ROWS * k + ACTIVE, lane] == 0.0:
        k += 1
    return k
