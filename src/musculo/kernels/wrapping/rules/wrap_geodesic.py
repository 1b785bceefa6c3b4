"""Exact wrapping: which surfaces stand in the way of which segment of a path, and the taut path over them.

A segment lies between two path points that follow each other in this pose. A surface acts on every segment in its
range, in the order in which paths meet the surfaces in most poses of the model; it is in contact where its geodesic
has a length. No surface is given to one segment at the cost of another, so nothing jumps where OpenSim
changes its choice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.paths.path_points import (
    ARC,
    ENTRY_ROWS,
    EXTRA,
    GAIN,
    PAID,
    PLACE,
    SLOT,
    TAG_ROWS,
    TANGENT,
    first_entry,
    move_entry,
    put_entry,
)
from musculo.kernels.scalar.vectors import (
    accumulate3,
    cross,
    load3,
    scale,
    store3,
)
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    BEST,
    CONTACT,
    FIRST,
    FIRST_TANGENT,
    GRADIENT,
    LAST,
    LAST_TANGENT,
    LENGTH,
    PRESS,
    SHRINKER,
    TO_P,
    TO_Q,
    WRAP,
    Segment,
    obstacle_row,
    penalty_row,
    tag_row,
)
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.kernels.wrapping.rules.obstacles import gather
from musculo.kernels.wrapping.rules.path_choice import shortest_path


@inline
def most_wraps(paths):
    """Wraps of the path that has the most."""
    most = 0
    for k in range(paths.first_wrap.size - 1):
        most = max(most, paths.first_wrap[k + 1] - paths.first_wrap[k])
    return most


@inline
def segment_room(paths, C, I):
    """Where the obstacles of a segment lie, behind the entries of all paths; one segment follows the other."""
    entries = first_entry(paths, paths.first_point.size - 1)
    return Segment(C, I, entries * ENTRY_ROWS, entries * TAG_ROWS, most_wraps(paths))


@inline
def segment_ends(s, e, lane):
    """The points that the segment from entry e to e + 1 runs between."""
    return load3(s.C, e * ENTRY_ROWS + PLACE, lane), load3(s.C, (e + 1) * ENTRY_ROWS + PLACE, lane)


class Wrapped(NamedTuple):
    """What wrapping finds of paths besides contacts, the lane last."""

    S: FloatArray  # (6 slots, lanes) forces on nodes
    status: Any  # (paths, lanes)


@kernel
def _press(e, slot, gain, C, I, S, first, lane):
    """Unit tension's force on the point of entry e and on the surface, where the length depends on the place of the
    one relative to the other beyond what straight pieces say: d(length) = gain . (dp_point - dp_surface)."""
    P = load3(C, e * ENTRY_ROWS + PLACE, lane)
    accumulate3(C, e * ENTRY_ROWS + GAIN, lane, gain)
    own = first + 6 * I[e * TAG_ROWS + SLOT, lane]
    accumulate3(S, own, lane, scale(-1.0, cross(P, gain)))
    accumulate3(S, own + 3, lane, scale(-1.0, gain))
    other = first + 6 * slot
    accumulate3(S, other, lane, cross(P, gain))
    accumulate3(S, other + 3, lane, gain)


@kernel
def _gains(paths, k, e, s, n, S, lane):
    """Forces of ends inside surfaces, and of penalties paid, between entries e and e + 1."""
    C, I, first = s.C, s.I, 6 * paths.first_slot[k]
    for j in range(n):
        o = obstacle_row(s, j)
        slot = paths.wrap_slot[I[tag_row(s, WRAP, j), lane]]
        if C[o + SHRINKER, lane] != 0.0:
            gain = scale(C[o + PRESS, lane], load3(C, o + GRADIENT, lane))
            _press(e if C[o + SHRINKER, lane] == 1.0 else e + 1, slot, gain, C, I, S, first, lane)
        option = I[tag_row(s, BEST, j), lane]
        if option > 0:
            row = penalty_row(s, j, option)
            _press(e, slot, load3(C, row + TO_P, lane), C, I, S, first, lane)
            _press(e + 1, slot, load3(C, row + TO_Q, lane), C, I, S, first, lane)


@kernel
def _put_contact(paths, s, wrap, at, x, tangent, arc, lane):
    """Fill entry `at` with a contact."""
    put_entry(s.C, s.I, at, x, (paths.wrap_slot[wrap], paths.surface_body[paths.wrap_surface[wrap]], wrap, 0), lane)
    store3(s.C, at * ENTRY_ROWS + TANGENT, lane, tangent)
    s.C[at * ENTRY_ROWS + ARC, lane] = arc


@kernel
def insert_contacts(paths, e, end, s, n, lane):
    """Put the contacts of a segment behind entry e of a path that ends before `end`; returns how many entries came."""
    C, I, touching = s.C, s.I, 0
    for j in range(n):
        if C[obstacle_row(s, j) + CONTACT, lane] > 0.0:
            touching += 1
    if touching > 0:
        for j in range(end - 1, e, -1):
            move_entry(C, I, j, j + 2 * touching, lane)
    at = e + 1
    for j in range(n):
        o = obstacle_row(s, j)
        if C[o + CONTACT, lane] > 0.0:
            wrap = I[tag_row(s, WRAP, j), lane]
            x, t = load3(C, o + FIRST, lane), load3(C, o + FIRST_TANGENT, lane)
            _put_contact(paths, s, wrap, at, x, t, 0.0, lane)
            x, t = load3(C, o + LAST, lane), load3(C, o + LAST_TANGENT, lane)
            _put_contact(paths, s, wrap, at + 1, x, t, C[o + LENGTH, lane], lane)
            at += 2
    return 2 * touching


@kernel
def put_penalty(paths, k, e, s, n, found, out, lane):
    """Add to path k what its segment between entries e and e + 1 costs, and how its search ended.

    Args:
        found: what of the length is a penalty; what it has beyond that, pieces and arcs; the status.
    """
    penalty, more, outcome = found
    out.status[k, lane] = max(out.status[k, lane], outcome)
    s.C[e * ENTRY_ROWS + PAID, lane] = penalty
    s.C[e * ENTRY_ROWS + EXTRA, lane] = penalty + more
    _gains(paths, k, e, s, n, out.S, lane)


@kernel
def solve_segment(paths, k, e, motion, s, out, lane):
    """Bring path k taut between entries e and e + 1; contacts are left where `insert_contacts` finds them.

    Returns how many obstacles were looked at; -1 where the path is UNFINISHED, which is its status then.
    """
    n = gather(paths, k, e, motion, s, lane)
    if n > 0:
        P, Q = segment_ends(s, e, lane)
        penalty, outcome = shortest_path(paths, s, n, P, Q, lane)
        if outcome == UNFINISHED:
            out.status[k, lane] = UNFINISHED
            return -1
        put_penalty(paths, k, e, s, n, (penalty, 0.0, outcome), out, lane)
    return n


@kernel
def wrap_geodesic(paths, motion, C, I, counts, S, status, lane):
    """Put contacts into all current paths: taut over every surface in the way.

    The rules are those of docs/wrapping.md: `gather` finds a segment's obstacles and holds their sides, `seek_shortest`
    breaks rules at a penalty, and `polyline_second_pass` has what is left.

    Args:
        motion: (MOTION_ROWS nodes, lanes). C, I, counts: current paths, changed; C has geodesic_rows(most) rows more
            than its entries need, I has OBSTACLE_TAGS most rows more. S: (6 slots, lanes), forces on nodes are added.
        status: (paths, lanes), written: the highest status of the path's segments, see `shortest_path`;
            UNFINISHED where it is left to the second pass, with no entries, or was so before: it is not tried then.
    """
    s, out = segment_room(paths, C, I), Wrapped(S, status)
    for k in range(paths.first_point.size - 1):
        if status[k, lane] == UNFINISHED:
            counts[k, lane] = 0
            continue
        status[k, lane] = 0
        if paths.first_wrap[k + 1] == paths.first_wrap[k]:
            continue
        e = first_entry(paths, k)
        end = e + counts[k, lane]
        while e < end - 1:
            n = solve_segment(paths, k, e, motion, s, out, lane)
            if n < 0:
                end = first_entry(paths, k)
                break
            came = insert_contacts(paths, e, end, s, n, lane) if n > 0 else 0
            end += came
            e += came + 1
        counts[k, lane] = end - first_entry(paths, k)
