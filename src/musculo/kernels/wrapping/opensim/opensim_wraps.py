"""OpenSim's bookkeeping of wraps: which object is tried where, in which order, and which result counts."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.paths.path_points import (
    ARC,
    CYLINDER,
    ELLIPSOID,
    ENTRY_ROWS,
    OWNER,
    PLACE,
    POINT,
    SEEN,
    SPHERE,
    TAG_ROWS,
    first_entry,
    fixed_rotation_of,
    move_entry,
    path_length,
    put_entry,
    same_contact,
)
from musculo.kernels.scalar.vectors import add, dot, load3, matmul, rotate, rotate_back, store3, subtract
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.opensim.opensim_cylinder import wrap_cylinder
from musculo.kernels.wrapping.opensim.opensim_ellipsoid import wrap_ellipsoid
from musculo.kernels.wrapping.opensim.opensim_outcomes import INSIDE, MANDATORY, NO_WRAP, WRAPPED
from musculo.kernels.wrapping.opensim.opensim_sphere import wrap_sphere
from musculo.kernels.wrapping.opensim.opensim_torus import wrap_torus

# Rows a wrap keeps beside the path: whether its contacts have been seen, and where they then were in ground.
WRAP_ROWS = 7
# OpenSim's most passes over several wraps, and the change of length [m] below which it stops.
_PASSES = 8
_SETTLED = 5e-4


@kernel
def wrap_segment(kind, p1, p2, size, axis, sign, method, several):
    """(code, r1, r2, arc): a straight segment p1 p2 against one surface, all in the surface's frame."""
    if kind == CYLINDER:
        result = wrap_cylinder(p1, p2, size[0], size[1], axis, sign, several)
    elif kind == SPHERE:
        result = wrap_sphere(p1, p2, size[0], axis, sign)
    elif kind == ELLIPSOID:
        result = wrap_ellipsoid(p1, p2, size, axis, sign, method)
    else:
        result = wrap_torus(p1, p2, size[0], size[1], axis, sign, several)
    return result


@spliced
def _distance(a, b):
    d = subtract(a, b)
    return math.sqrt(dot(d, d))


@spliced
def _remove_contacts(first, n, wrap, C, I, lane):
    """Take the two contacts of a wrap out of the path; returns how many entries are left."""
    left = n
    for e in range(first, first + n):
        if I[e * TAG_ROWS + OWNER, lane] == wrap:
            for j in range(e + 2, first + n):
                move_entry(C, I, j, j - 2, lane)
            left = n - 2
            break
    return left


@spliced
def _insert_contacts(paths, end, wrap, at, contact, room, lane):
    """Put two contacts in as entries `at` and `at + 1`; they are seen where they were when first put in."""
    (r1, r2, arc), (C, I, kept) = contact, room
    for j in range(end - 1, at - 1, -1):
        move_entry(C, I, j, j + 2, lane)
    if C[kept, lane] == 0.0:
        C[kept, lane] = 1.0
        store3(C, kept + 1, lane, r1)
        store3(C, kept + 4, lane, r2)
    tags = (paths.wrap_slot[wrap], paths.surface_body[paths.wrap_surface[wrap]], wrap, 0)
    put_entry(C, I, at, r1, tags, lane)
    put_entry(C, I, at + 1, r2, tags, lane)
    c = at * ENTRY_ROWS
    store3(C, c + SEEN, lane, load3(C, kept + 1, lane))
    store3(C, c + ENTRY_ROWS + SEEN, lane, load3(C, kept + 4, lane))
    C[c + ENTRY_ROWS + ARC, lane] = arc


@spliced
def _bounds(paths, first, n, wrap, I, lane):
    """First and last entry of the current path within the wrap's range of points; (0, -1) where none is there."""
    low, high = 0, -1
    for e in range(first, first + n):
        if I[e * TAG_ROWS + OWNER, lane] < 0:
            point = I[e * TAG_ROWS + POINT, lane]
            if paths.wrap_range[wrap, 0] <= point and point <= paths.wrap_range[wrap, 1]:
                if high < 0:
                    low = e
                high = e
    return low, high


@spliced
def _wrap_one(paths, entries, wrap, several, motion, room, lane):
    """Try one wrap on every segment in its range: (entries, code of the last segment tried, last entry in range).

    Args:
        entries: the first of the path, and how many it has. room: C, I, and the first row that the wrap keeps in C.
    """
    (first, n), (C, I, _) = entries, room
    surface = paths.wrap_surface[wrap]
    node = paths.surface_node[surface] * MOTION_ROWS
    R_N = load_rotation(motion, node + ROTATION, lane)
    p_N = load3(motion, node + POSITION, lane)
    R = matmul(R_N, fixed_rotation_of(paths.surface_R, surface))
    p = (paths.surface_p[surface, 0], paths.surface_p[surface, 1], paths.surface_p[surface, 2])
    p = add(p_N, rotate(R_N, p))
    size = (paths.surface_size[surface, 0], paths.surface_size[surface, 1], paths.surface_size[surface, 2])
    low, high = _bounds(paths, first, n, wrap, I, lane)
    code = NO_WRAP
    best = -1
    least = math.inf
    best_1, best_2, best_arc = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for e in range(low, high):
        if not same_contact(paths, I, e, True, lane):
            c = e * ENTRY_ROWS
            p1 = rotate_back(R, subtract(load3(C, c + PLACE, lane), p))
            p2 = rotate_back(R, subtract(load3(C, c + ENTRY_ROWS + PLACE, lane), p))
            code, r1, r2, arc = wrap_segment(
                paths.surface_kind[surface],
                p1,
                p2,
                size,
                paths.surface_axis[surface],
                paths.surface_sign[surface],
                paths.wrap_method[wrap],
                several,
            )
            if code >= WRAPPED:
                r1, r2 = add(p, rotate(R, r1)), add(p, rotate(R, r2))
                seen_1, seen_2 = load3(C, c + SEEN, lane), load3(C, c + ENTRY_ROWS + SEEN, lane)
                longer = _distance(seen_1, r1) + arc + _distance(seen_2, r2) - _distance(seen_1, seen_2)
                if code == MANDATORY or longer < least:
                    best, least = e + 1, longer
                    best_1, best_2, best_arc = r1, r2, arc
                if code == MANDATORY:
                    break
    if best >= 0:
        _insert_contacts(paths, first + n, wrap, best, (best_1, best_2, best_arc), room, lane)
        n += 2
    return n, code, high


@kernel
def wrap_opensim(paths, motion, C, I, counts, lane):
    """Put contacts into all current paths as OpenSim 4.6 does.

    One wrap is tried once. Several are tried one after the other, each on the path the others left, in up to eight
    passes until the length settles. Contacts keep, for lengths and directions, the place where they were first put.

    Source:     OpenSim 4.6, observed behavior of GeometryPath with PathWraps.
    Departs:    nothing by intention.

    Args:
        motion: (MOTION_ROWS nodes, lanes). C, I, counts: current paths, changed; C has WRAP_ROWS rows a wrap more
        than its entries need.
    """
    n_paths = paths.first_point.size - 1
    spare = first_entry(paths, n_paths) * ENTRY_ROWS
    for k in range(n_paths):
        if paths.first_wrap[k + 1] > paths.first_wrap[k]:
            counts[k, lane] = _wrap_path(paths, k, counts[k, lane], motion, C, I, spare, lane)


@spliced
def _wrap_path(paths, k, n, motion, C, I, spare, lane):
    """Put contacts into current path k of n entries; returns the entries it then has."""
    first = first_entry(paths, k)
    first_wrap = paths.first_wrap[k]
    wraps = paths.first_wrap[k + 1] - first_wrap
    for wrap in range(first_wrap, first_wrap + wraps):
        C[spare + wrap * WRAP_ROWS, lane] = 0.0
    swapped = False
    before = math.inf
    going = True
    turn = 0
    while going:
        code_0, code_1 = NO_WRAP, NO_WRAP
        for i in range(wraps):
            wrap = first_wrap + (1 - i if swapped and i < 2 else i)
            n = _remove_contacts(first, n, wrap, C, I, lane)
            code = NO_WRAP
            if paths.surface_active[paths.wrap_surface[wrap]] != 0:
                kept = spare + wrap * WRAP_ROWS
                n, code, high = _wrap_one(paths, (first, n), wrap, wraps > 1, motion, (C, I, kept), lane)
                if high < 0:
                    # no point in range is there: OpenSim leaves the path as it stands
                    going = False
                    break
            if i == 0:
                code_0 = code
            elif i == 1:
                code_1 = code
        turn += 1
        if wraps < 2 or turn == _PASSES:
            going = False
        if going:
            length = path_length(paths, first, n, True, C, I, lane)
            difference = length - before
            if difference > -_SETTLED and difference < _SETTLED:
                going = False
            before = length
            if turn == 1 and code_0 == NO_WRAP and code_1 == INSIDE:
                swapped = True
                n = _remove_contacts(first, n, first_wrap, C, I, lane)
    return n
