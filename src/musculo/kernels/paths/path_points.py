"""The way of a muscle over its points, and its length.

All paths of a model are rows of arrays (`Paths`). A lane walks them in three steps: `active_points` lists the points
that are there in this pose, a wrapping method puts contacts between them, and `path_lengths` and the kernels of
`path_arms` read the lists. The list of a path is its current path: path k has `counts[k]` entries from
`first_entry(paths, k)` on, and entry e has ENTRY_ROWS rows of the workspace C and TAG_ROWS rows of I.

A wrapping method is one kernel `wrap(paths, motion, C, I, counts, ...)`: for each wrap that a path touches it inserts
two contacts (PLACE and SEEN in ground, ARC on the second, tags), and raises the count by two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.functions.function_values import evaluate
from musculo.kernels.scalar.scalars import like, square_root
from musculo.kernels.scalar.vectors import add, dot, load3, rotate, store3, subtract
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import load_rotation

# Kinds of path points.
FIXED, CONDITIONAL, MOVING = range(3)
# Kinds of surfaces.
CYLINDER, SPHERE, ELLIPSOID, TORUS = range(4)
# How OpenSim picks the plane of an ellipsoid's wrap.
HYBRID, MIDPOINT, AXIAL = range(3)

# Rows of an entry in C.
PLACE = 0  # position in ground
SEEN = 3  # the position that lengths and directions use: OpenSim's may be one of an earlier pass
ARC = 6  # length along a surface from the entry before; zero unless both touch the same one
EXTRA = 7  # what the length has beyond pieces and arcs on the way to the next point
GAIN = 8  # of a path point: d(length)/d(position) beyond what straight pieces say, in ground
TANGENT = 8  # of a contact: the path's direction there
PAID = 11  # of a path point: what of EXTRA is a penalty
ENTRY_ROWS = 12
# Rows of an entry in I.
SLOT = 0  # which of the path's nodes it is fixed to
BODY = 1  # which body it is fixed to
OWNER = 2  # which wrap (of all paths) put it there; -1 for a path point
POINT = 3  # which point (of all paths) it is; of no meaning for a contact
TAG_ROWS = 4

# A conditional point is there up to so far outside its range [rad, m]: OpenSim's margin.
RANGE_MARGIN = 1e-5
# Points closer than this [m] coincide (SimTK's SignificantReal, eps^(7/8)); the segment has no direction.
COINCIDENT = 2.0e-14
# A straight piece shorter than this [m] has the direction of the tangent where it touches a surface.
SHORT = 1e-5


class Paths(NamedTuple):
    """All paths of a model. Lists of a path are slices `first[k] .. first[k + 1] - 1` of flat arrays.

    Nodes are those of the tree. A path's slots number the distinct nodes it touches; its speeds are those that move
    some of them, the `n_inner` ones that do not move all of them first: only those can change its length.
    """

    first_point: IntArray  # (paths + 1,)
    first_wrap: IntArray  # (paths + 1,)
    first_slot: IntArray  # (paths + 1,)
    first_speed: IntArray  # (paths + 1,)
    first_moved: IntArray  # (paths,) first entry in `moved`
    n_inner: IntArray  # (paths,)
    slot_node: IntArray  # (slots,)
    speed_row: IntArray  # (speeds,) row of u
    moved: IntArray  # (entries,) 1 where a speed moves a slot, for each path (slots, speeds) row by row
    point_kind: IntArray  # (points,)
    point_node: IntArray  # (points,)
    point_slot: IntArray  # (points,)
    point_body: IntArray  # (points,)
    location: FloatArray  # (points, 3) in the node; of a moving point: its frame's origin
    condition_row: IntArray  # (points,) row of q; -1: none, never there
    condition_range: FloatArray  # (points, 2)
    moving_R: FloatArray  # (points, 9) rotation of a moving point's frame in the node
    moving_function: IntArray  # (points, 3) in the table of functions; -1: not a moving point
    moving_row: IntArray  # (points, 3) row of q; -1: the function is taken at zero
    moving_speed: IntArray  # (points, 3) row of u that is the derivative of that coordinate; -1: none
    moving_range: FloatArray  # (points, 3, 2) the coordinate is clamped to
    wrap_surface: IntArray  # (wraps,)
    wrap_slot: IntArray  # (wraps,)
    wrap_range: IntArray  # (wraps, 2) first and last point (of all paths) between which it is tried
    wrap_method: IntArray  # (wraps,)
    wrap_order: IntArray  # (wraps,) the wraps of each path in the order in which the path meets them
    first_seen: IntArray  # (wraps,) first entry in what follows: each wrap sees all points of its path
    seen_azimuth: FloatArray  # (entries,) of the point about the surface's z axis in the default pose [rad]
    seen_next: IntArray  # (entries,) the point that follows in the default pose; -1: none, or no side is constrained
    seen_shift: (
        FloatArray  # (entries,) the turn about that axis amid the constrained ones to the next, less the line's [rad]
    )
    seen_inside: IntArray  # (entries,) 1 where the point is fixed to the surface's node, inside it
    path_entry: IntArray  # (paths + 1,) first entry of the current path
    surface_kind: IntArray  # (surfaces,)
    surface_node: IntArray  # (surfaces,)
    surface_body: IntArray  # (surfaces,)
    surface_R: FloatArray  # (surfaces, 9) in the node
    surface_p: FloatArray  # (surfaces, 3) in the node
    surface_size: FloatArray  # (surfaces, 3) radius and length; radius; semi-axes; tube and ring radius
    surface_axis: IntArray  # (surfaces,) axis of the quadrant, 0 .. 2
    surface_sign: FloatArray  # (surfaces,) +1 or -1: side of the quadrant; 0: all
    surface_active: IntArray  # (surfaces,)


class PosedPaths(NamedTuple):
    """The paths of a model in one pose, the lane last."""

    paths: Any  # `Paths`
    table: Any  # functions of the moving points
    q: FloatArray  # (n_q, lanes)
    motion: FloatArray  # (MOTION_ROWS nodes, lanes) from the kernel `kinematics`


class CurrentPaths(NamedTuple):
    """Points and contacts of all paths in this pose, and what unit tension does, the lane last."""

    C: FloatArray  # ENTRY_ROWS of every entry
    I: IntArray  # TAG_ROWS of every entry
    counts: IntArray  # (paths, lanes) entries of each path
    S: FloatArray  # (6 slots, lanes) wrenches on the nodes of each path


@kernel
def moving_axis(table, function, x, low, high, literal):
    """(value, slope) of one coordinate function of a moving point.

    The location holds still outside the coordinate's range. So does its slope vanish there, unless `literal`:
    OpenSim takes the slope of the function itself.
    """
    inside = x
    outside = False
    if x.real < low:
        inside = like(x, low)
        outside = True
    elif x.real > high:
        inside = like(x, high)
        outside = True
    value, slope, _, _ = evaluate(table, function, inside)
    if outside:
        slope = like(slope, 0.0)
        if literal:
            _, slope, _, _ = evaluate(table, function, x)
    return value, slope


@spliced
def moving_axis_at(paths, table, point, axis, q, literal, lane):
    """(value, slope) of axis 0, 1 or 2 of a moving point in this pose."""
    row = paths.moving_row[point, axis]
    x = like(q[0, lane], 0.0)
    low, high = 0.0, 0.0
    if row >= 0:
        x = q[row, lane]
        low, high = paths.moving_range[point, axis, 0], paths.moving_range[point, axis, 1]
    return moving_axis(table, paths.moving_function[point, axis], x, low, high, literal)


@spliced
def fixed_rotation_of(R, i):
    """Nine numbers of row i."""
    return R[i, 0], R[i, 1], R[i, 2], R[i, 3], R[i, 4], R[i, 5], R[i, 6], R[i, 7], R[i, 8]


@spliced
def first_entry(paths, k):
    """First entry of path k: there is room for all its points and two contacts a wrap and segment in its range."""
    return paths.path_entry[k]


@spliced
def move_entry(C, I, source, target, lane):
    """Copy one entry of a current path to the place of another."""
    for j in range(ENTRY_ROWS):
        C[target * ENTRY_ROWS + j, lane] = C[source * ENTRY_ROWS + j, lane]
    for j in range(TAG_ROWS):
        I[target * TAG_ROWS + j, lane] = I[source * TAG_ROWS + j, lane]


@spliced
def put_entry(C, I, e, x, tags, lane):
    """Fill entry e of a current path: a point at x; all else in C is zero. tags: SLOT, BODY, OWNER and POINT."""
    c, t = e * ENTRY_ROWS, e * TAG_ROWS
    store3(C, c + PLACE, lane, x)
    store3(C, c + SEEN, lane, x)
    for j in range(ARC, ENTRY_ROWS):
        C[c + j, lane] = like(x[0], 0.0)
    I[t + SLOT, lane], I[t + BODY, lane], I[t + OWNER, lane], I[t + POINT, lane] = tags


@kernel
def active_points(x, now, literal, lane):
    """List the points of all paths that are there in this pose.

    Args:
        x: `PosedPaths`. now: `CurrentPaths`, written but for S.
        literal: whether a moving point moves as in OpenSim (see `moving_axis`).
    """
    for k in range(x.paths.first_point.size - 1):
        now.counts[k, lane] = list_points(x, now, k, literal, lane)


@spliced
def list_points(x, now, k, literal, lane):
    """List the points of path k; returns how many are there."""
    paths, table, q, motion, C, I = x.paths, x.table, x.q, x.motion, now.C, now.I
    n = 0
    for point in range(paths.first_point[k], paths.first_point[k + 1]):
        kind = paths.point_kind[point]
        there = True
        if kind == CONDITIONAL:
            row = paths.condition_row[point]
            there = row >= 0
            if there:
                value = q[row, lane].real
                there = (
                    paths.condition_range[point, 0] - RANGE_MARGIN <= value
                    and value <= paths.condition_range[point, 1] + RANGE_MARGIN
                )
        if there:
            one = like(motion[0, lane], 1.0)
            p = (one * paths.location[point, 0], one * paths.location[point, 1], one * paths.location[point, 2])
            if kind == MOVING:
                px, _ = moving_axis_at(paths, table, point, 0, q, literal, lane)
                py, _ = moving_axis_at(paths, table, point, 1, q, literal, lane)
                pz, _ = moving_axis_at(paths, table, point, 2, q, literal, lane)
                p = add(p, rotate(fixed_rotation_of(paths.moving_R, point), (px, py, pz)))
            node = paths.point_node[point] * MOTION_ROWS
            p = add(load3(motion, node + POSITION, lane), rotate(load_rotation(motion, node + ROTATION, lane), p))
            tags = (paths.point_slot[point], paths.point_body[point], -1, point)
            put_entry(C, I, first_entry(paths, k) + n, p, tags, lane)
            n += 1
    return n


@spliced
def same_contact(paths, I, e, literal, lane):
    """Whether what lies between entries e and e + 1 is an arc: both belong to one wrap (OpenSim: to one surface)."""
    a = I[e * TAG_ROWS + OWNER, lane]
    b = I[(e + 1) * TAG_ROWS + OWNER, lane]
    same = False
    if a >= 0 and b >= 0:
        same = a == b or (literal and paths.wrap_surface[a] == paths.wrap_surface[b])
    return same


@spliced
def path_length(paths, first, n, literal, C, I, lane):
    """Straight segments and arcs of a current path of n entries from `first` on [m]."""
    length = like(C[0, lane], 0.0)
    for e in range(first, first + n - 1):
        c = e * ENTRY_ROWS
        length = length + C[c + EXTRA, lane]
        if same_contact(paths, I, e, literal, lane):
            length = length + C[c + ENTRY_ROWS + ARC, lane]
        else:
            d = subtract(load3(C, c + ENTRY_ROWS + SEEN, lane), load3(C, c + SEEN, lane))
            length = length + square_root(dot(d, d))
    return length


@kernel
def path_lengths(paths, literal, C, I, counts, length, lane):
    """Lengths (paths, lanes) of all current paths [m]; `literal`: arcs as OpenSim counts them (see `same_contact`)."""
    for k in range(paths.first_point.size - 1):
        length[k, lane] = path_length(paths, first_entry(paths, k), counts[k, lane], literal, C, I, lane)
