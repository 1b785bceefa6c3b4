"""The second pass over a path: what `wrap_geodesic` leaves UNFINISHED, with polylines.

Where the path over the obstacles does not exist or passes through one of them, as it may where they overlap, the
shortest polyline outside all of them takes its place; both are the same where the path begins to pass through one.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import first_entry
from musculo.kernels.wrapping.geodesic.tighten import NOT_CONVERGED, OVERLAPPED
from musculo.kernels.wrapping.polyline.polyline_segment import (
    keep_polyline,
    polyline_length,
    polyline_pull,
    show_polyline,
)
from musculo.kernels.wrapping.rules.cylinder_penalty import NEVER
from musculo.kernels.wrapping.rules.obstacles import gather
from musculo.kernels.wrapping.rules.path_choice import NONE_BEST, NONE_TRIED, choose, seek_shortest
from musculo.kernels.wrapping.rules.wrap_geodesic import insert_contacts, put_penalty, segment_ends


@kernel
def _shortest_path_or_polyline(paths, s, n, P, Q, polylines, lane):
    """As `shortest_path`, with polylines where one might count. The status of a polyline is OVERLAPPED."""
    tried, best = NONE_TRIED, NONE_BEST
    while True:
        tried, best, stopped, doubtful = seek_shortest(paths, s, n, P, Q, tried, best, lane)
        if not stopped:
            break
        number, length, cost, outcome = tried
        known = length if doubtful else 0.0
        # with its cost a longer one would not be the best
        limit = best[0] - cost if best[2] < NOT_CONVERGED else NEVER
        polyline = polyline_length(s, n, P, Q, known, limit, polylines, lane)
        if polyline < 0.0:
            # nothing better is known than a path that may pass through a surface
            outcome = NOT_CONVERGED
        elif polyline > 0.0:
            length, outcome = polyline, OVERLAPPED
            if polyline + cost < best[0] or best[2] >= NOT_CONVERGED:
                keep_polyline(s, n, polylines, lane)
        tried = (number, length, cost, outcome)
    return choose(s, n, best, lane)


@kernel
def finish_segment(paths, k, e, motion, s, out, polylines, lane):
    """As `solve_segment`, whatever it takes. Returns how many obstacles were looked at, and whether it is a
    polyline."""
    n = gather(paths, k, e, motion, s, lane)
    is_polyline = False
    if n > 0:
        P, Q = segment_ends(s, e, lane)
        penalty, outcome = _shortest_path_or_polyline(paths, s, n, P, Q, polylines, lane)
        is_polyline, more = outcome == OVERLAPPED, 0.0
        if is_polyline:
            show_polyline(s, n, P, Q, polylines, lane)
            more = polyline_pull(paths, k, e, s, n, out.S, polylines, lane)
        put_penalty(paths, k, e, s, n, (penalty, more, outcome), out, lane)
    return n, is_polyline


@kernel
def finish_path(paths, k, motion, s, counts, out, polylines, lane):
    """Put contacts into path k, of which the points are listed: as `wrap_geodesic`, with `polyline_work(most)`."""
    out.status[k, lane] = 0
    e = first_entry(paths, k)
    end = e + counts[k, lane]
    while e < end - 1:
        n, _ = finish_segment(paths, k, e, motion, s, out, polylines, lane)
        came = insert_contacts(paths, e, end, s, n, lane) if n > 0 else 0
        end += came
        e += came + 1
    counts[k, lane] = end - first_entry(paths, k)
