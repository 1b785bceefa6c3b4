"""Which surfaces stand in the way of a segment of a path, where they are, and what their rules cost to break."""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.paths.path_points import (
    CYLINDER,
    ELLIPSOID,
    ENTRY_ROWS,
    PLACE,
    POINT,
    TAG_ROWS,
    TORUS,
    fixed_rotation_of,
)
from musculo.kernels.scalar.vectors import (
    add,
    dot,
    load3,
    matmul,
    rotate,
    rotate_back,
    store3,
    subtract,
)
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.geodesic.taut_path import (
    ABSENT,
    CONSTRAINED,
    FREE,
    RESULT_ROWS,
    SIDE,
    SIDE_TURN,
    THROUGH,
)
from musculo.kernels.wrapping.rules.cylinder_penalty import (
    NEVER,
    penalty_of_end,
    penalty_of_turn,
    turn_near,
)

POSE_ROWS = 12
# What it costs, d/dP and d/dQ in ground: to break the rule about the side, to leave a cylinder out.
PENALTY, TO_P, TO_Q = 0, 1, 4
PENALTY_ROWS = 7
PENALTIES = 2
# Rows of an obstacle in the integers: surface, wrap, option tried, option of the shortest path so far.
SURFACE, WRAP, OPTION, BEST = range(4)
OBSTACLE_TAGS = 4


class Segment(NamedTuple):
    """Where a path segment's obstacles lie in the workspace of all paths, in the order in which the path meets them.

    In C: their poses, what `geodesic_segment` says of them, what breaking their rules costs, and the room in which
    geodesics are found. In I: OBSTACLE_TAGS rows of numbers.
    """

    C: FloatArray  # (rows, lanes)
    I: IntArray  # (rows, lanes)
    base: int  # first row in C
    tags: int  # first row in I
    most: int  # obstacles that there is room for


@inline
def pose_row(s, j):
    """First row in C of the pose of obstacle j."""
    return s.base + POSE_ROWS * j


@inline
def result_row(s, j):
    """First row in C of what is found for obstacle j: RESULT_ROWS of `geodesic_segment`."""
    return s.base + POSE_ROWS * s.most + RESULT_ROWS * j


@inline
def penalty_row(s, j, option):
    """First row in C of what option 1 (its side) or 2 (its end) costs obstacle j."""
    return s.base + (POSE_ROWS + RESULT_ROWS) * s.most + PENALTY_ROWS * (PENALTIES * j + option - 1)


@inline
def room_row(s):
    """First row in C of the room that geodesics are found in."""
    return s.base + (POSE_ROWS + RESULT_ROWS + PENALTIES * PENALTY_ROWS) * s.most


@inline
def tag_row(s, kind, j):
    """Row in I of SURFACE, WRAP, OPTION or BEST of obstacle j."""
    return s.tags + kind * s.most + j


@kernel
def _surface_pose(paths, surface, motion, lane):
    """(R, p) of a surface in ground."""
    node = paths.surface_node[surface] * MOTION_ROWS
    R_N = load_rotation(motion, node + ROTATION, lane)
    R = matmul(R_N, fixed_rotation_of(paths.surface_R, surface))
    p = (paths.surface_p[surface, 0], paths.surface_p[surface, 1], paths.surface_p[surface, 2])
    return R, add(load3(motion, node + POSITION, lane), rotate(R_N, p))


@kernel
def _acts(paths, wrap, k, a, b):
    """Whether a wrap of path k acts between its points a and b: both in range, neither fixed inside the surface."""
    if paths.surface_active[paths.wrap_surface[wrap]] == 0:
        return False
    if a < paths.wrap_range[wrap, 0] or b > paths.wrap_range[wrap, 1]:
        return False
    row = paths.first_seen[wrap] - paths.first_point[k]
    return paths.seen_inside[row + a] == 0 and paths.seen_inside[row + b] == 0


@kernel
def held_turn(paths, wrap, k, a, b):
    """The turn about a cylinder's axis from point a to point b in the middle of those that are constrained."""
    row = paths.first_seen[wrap] - paths.first_point[k]
    turn = principal(paths.seen_azimuth[row + b] - paths.seen_azimuth[row + a])
    return turn + paths.seen_shift[row + a] if paths.seen_next[row + a] == b else turn


@kernel
def keeps_side(paths, surface):
    """Whether a cylinder has a quadrant that names a side."""
    return paths.surface_sign[surface] != 0.0 and paths.surface_axis[surface] < 2


@kernel
def store_penalty(C, row, R, penalty, to_P, to_Q, lane):
    """Keep a penalty and its slopes, turned from the surface's frame into ground."""
    C[row + PENALTY, lane] = penalty
    store3(C, row + TO_P, lane, rotate(R, to_P))
    store3(C, row + TO_Q, lane, rotate(R, to_Q))


@kernel
def _rules(paths, s, j, surface, reference, ends, R, lone, lane):
    """How the side of obstacle j is constrained between two ends (the surface's frame), and what breaking that costs.

    Args:
        reference: the turn about a cylinder's axis in the middle of those that are constrained.
    """
    kind, (P, Q) = paths.surface_kind[surface], ends
    none = (0.0, 0.0, 0.0)
    store_penalty(s.C, penalty_row(s, j, 1), R, NEVER, none, none, lane)
    store_penalty(s.C, penalty_row(s, j, 2), R, NEVER, none, none, lane)
    side, turn = FREE, 0.0
    if kind == CYLINDER:
        r, half = paths.surface_size[surface, 0], 0.5 * paths.surface_size[surface, 1]
        if keeps_side(paths, surface):
            side = CONSTRAINED
            turn, penalty, to_P, to_Q = penalty_of_turn(r, reference, P, Q, lone)
            store_penalty(s.C, penalty_row(s, j, 1), R, penalty, to_P, to_Q, lane)
        penalty, to_P, to_Q = penalty_of_end(half, r, side == CONSTRAINED, reference, P, Q, lone)
        store_penalty(s.C, penalty_row(s, j, 2), R, penalty, to_P, to_Q, lane)
        if penalty <= 0.0:
            side = ABSENT
    elif kind == TORUS:
        side = THROUGH
    g = result_row(s, j)
    s.C[g + SIDE, lane] = side
    s.C[g + SIDE_TURN, lane] = turn


@kernel
def _misses(kind, size, P, Q):
    """Whether the chord P Q (the surface's frame) passes a cylinder, sphere or ellipsoid by without touching it."""
    if kind == TORUS:
        return False
    a = size[0]
    b, c = (size[1], size[2]) if kind == ELLIPSOID else (a, a)
    p = (P[0] / a, P[1] / b, 0.0 if kind == CYLINDER else P[2] / c)
    d = (Q[0] / a - p[0], Q[1] / b - p[1], 0.0 if kind == CYLINDER else Q[2] / c - p[2])
    along = dot(d, d)
    t = -dot(p, d) / along if along > 0.0 else 0.0
    t = min(1.0, max(0.0, t))
    m = (p[0] + t * d[0], p[1] + t * d[1], p[2] + t * d[2])
    return dot(m, m) > 1.0


@kernel
def gather(paths, k, e, motion, s, lane):
    """List the obstacles between entries e and e + 1 with their poses and rules; returns how many."""
    C, I = s.C, s.I
    a, b = I[e * TAG_ROWS + POINT, lane], I[(e + 1) * TAG_ROWS + POINT, lane]
    P_0, Q_0 = load3(C, e * ENTRY_ROWS + PLACE, lane), load3(C, (e + 1) * ENTRY_ROWS + PLACE, lane)
    n = 0
    acting = 0
    for i in range(paths.first_wrap[k], paths.first_wrap[k + 1]):
        acting += 1 if _acts(paths, paths.wrap_order[i], k, a, b) else 0
    for i in range(paths.first_wrap[k], paths.first_wrap[k + 1]):
        wrap = paths.wrap_order[i]
        if _acts(paths, wrap, k, a, b):
            surface = paths.wrap_surface[wrap]
            R, p = _surface_pose(paths, surface, motion, lane)
            x = pose_row(s, n)
            for j in range(9):
                C[x + j, lane] = R[j]
            store3(C, x + 9, lane, p)
            reference = held_turn(paths, wrap, k, a, b) if paths.surface_kind[surface] == CYLINDER else 0.0
            P, Q = rotate_back(R, subtract(P_0, p)), rotate_back(R, subtract(Q_0, p))
            if acting == 1 and _misses(paths.surface_kind[surface], paths.surface_size[surface], P, Q):
                # the straight line is the path, unless the side is constrained against it
                if paths.surface_kind[surface] != CYLINDER or paths.surface_sign[surface] == 0.0:
                    continue
                if math.fabs(turn_near(reference, P, Q)) <= math.pi:
                    continue
            _rules(paths, s, n, surface, reference, (P, Q), R, acting == 1, lane)
            I[tag_row(s, SURFACE, n), lane] = surface
            I[tag_row(s, WRAP, n), lane] = wrap
            n += 1
    return n
