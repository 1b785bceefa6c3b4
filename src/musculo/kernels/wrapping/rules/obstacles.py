"""Which surfaces stand in the way of a segment of a path, where they are, and what their rules cost to break."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import (
    CYLINDER,
    ENTRY_ROWS,
    PLACE,
    POINT,
    TAG_ROWS,
    TORUS,
    fixed_rotation_of,
)
from musculo.kernels.scalar.vectors import (
    add,
    load3,
    matmul,
    rotate,
    rotate_back,
    store3,
    subtract,
)
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ABSENT,
    CONSTRAINED,
    FREE,
    PENALTY,
    POSE,
    RULE,
    SIDE_TURN,
    SURFACE,
    THROUGH,
    TO_P,
    TO_Q,
    WRAP,
    obstacle_row,
    penalty_row,
    tag_row,
)
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.geodesic.surface_shape import chord_depth, shape_of
from musculo.kernels.wrapping.rules.cylinder_penalty import (
    NEVER,
    penalty_of_end,
    penalty_of_turn,
    turn_near,
)


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
def constrained_turn(paths, wrap, k, a, b):
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
def _rules(paths, s, j, surface, reference, ends, lone, lane):
    """How the side of obstacle j is constrained between two ends (the surface's frame), and what breaking that costs.

    Args:
        reference: the turn about a cylinder's axis in the middle of those that are constrained.
    """
    kind, (P, Q), o = paths.surface_kind[surface], ends, obstacle_row(s, j)
    R = load_rotation(s.C, o + POSE, lane)
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
    s.C[o + RULE, lane], s.C[o + SIDE_TURN, lane] = side, turn


@kernel
def _needs_search(paths, surface, reference, P, Q):
    """Whether the only surface of a segment may bend the straight line P Q (the surface's frame): a ring, a surface in
    its way, a cylinder that it passes on the wrong side."""
    kind = paths.surface_kind[surface]
    if kind == TORUS or chord_depth(shape_of(paths, surface, 1.0), P, Q) <= 1.0:
        return True
    return kind == CYLINDER and paths.surface_sign[surface] != 0.0 and math.fabs(turn_near(reference, P, Q)) > math.pi


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
            o = obstacle_row(s, n) + POSE
            for j in range(9):
                C[o + j, lane] = R[j]
            store3(C, o + 9, lane, p)
            reference = constrained_turn(paths, wrap, k, a, b) if paths.surface_kind[surface] == CYLINDER else 0.0
            P, Q = rotate_back(R, subtract(P_0, p)), rotate_back(R, subtract(Q_0, p))
            if acting == 1 and not _needs_search(paths, surface, reference, P, Q):
                continue
            _rules(paths, s, n, surface, reference, (P, Q), acting == 1, lane)
            I[tag_row(s, SURFACE, n), lane] = surface
            I[tag_row(s, WRAP, n), lane] = wrap
            n += 1
    return n
