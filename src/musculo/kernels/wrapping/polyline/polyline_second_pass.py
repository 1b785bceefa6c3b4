"""The second pass over a path: what `wrap_geodesic` leaves UNFINISHED, with strings.

Where the path over the obstacles does not exist or passes through one of them, as it may where they overlap, the
shortest string outside all of them takes its place; both are the same where the path begins to pass through one.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import ENTRY_ROWS, PLACE, TAG_ROWS, first_entry
from musculo.kernels.scalar.vectors import load3
from musculo.kernels.wrapping.geodesic.taut_path import OVERLAPPED, ROUGH
from musculo.kernels.wrapping.polyline.polyline_segment import keep_string, show_string, string_length, string_pull
from musculo.kernels.wrapping.rules.cylinder_penalty import NEVER
from musculo.kernels.wrapping.rules.obstacles import Segment, gather
from musculo.kernels.wrapping.rules.path_choice import NONE_BEST, NONE_TRIED, choose, seek_shortest
from musculo.kernels.wrapping.rules.wrap_geodesic import insert_contacts, most_wraps, put_price


@kernel
def _shortest_path_or_string(paths, s, n, P, Q, strings, lane):
    """As `shortest_path`, with strings where one might count. The status of a string is OVERLAPPED."""
    tried, best = NONE_TRIED, NONE_BEST
    while True:
        tried, best, stopped, doubtful = seek_shortest(paths, s, n, P, Q, tried, best, lane)
        if not stopped:
            break
        number, length, cost, outcome, sides = tried
        known = length if doubtful else 0.0
        # with its cost a longer one would not be the best
        limit = best[0] - cost if best[2] < ROUGH else NEVER
        string = string_length(paths, s, n, P, Q, known, limit, strings, lane)
        if string < 0.0:
            # nothing better is known than a path that may pass through a surface
            outcome = ROUGH
        elif string > 0.0:
            length, outcome = string, OVERLAPPED
            if string + cost < best[0] or best[2] >= ROUGH:
                keep_string(s, n, strings, lane)
        tried = (number, length, cost, outcome, sides)
    return choose(s, n, best, lane)


@kernel
def finish_stretch(paths, k, e, motion, C, I, S, status, base, tags, most, strings, lane):
    """As `solve_stretch`, whatever it takes. Returns how many obstacles were looked at, and whether it is a string."""
    s = Segment(C, I, base, tags, most)
    n = gather(paths, k, e, motion, s, lane)
    stringed = False
    if n > 0:
        P, Q = load3(C, e * ENTRY_ROWS + PLACE, lane), load3(C, (e + 1) * ENTRY_ROWS + PLACE, lane)
        price, outcome = _shortest_path_or_string(paths, s, n, P, Q, strings, lane)
        stringed, more = outcome == OVERLAPPED, 0.0
        if stringed:
            show_string(paths, s, n, P, Q, strings, lane)
            more = string_pull(paths, k, e, s, n, S, strings, lane)
        put_price(paths, k, e, s, n, (price, more, outcome), S, status, lane)
    return n, stringed


@kernel
def finish_path(paths, k, motion, C, I, counts, S, status, strings, lane):
    """Put contacts into path k, of which the points are listed: as `wrap_geodesic`, with `string_work(most)`."""
    entries = first_entry(paths, paths.first_point.size - 1)
    base, tags, most = entries * ENTRY_ROWS, entries * TAG_ROWS, most_wraps(paths)
    status[k, lane] = 0
    e = first_entry(paths, k)
    end = e + counts[k, lane]
    while e < end - 1:
        n, _ = finish_stretch(paths, k, e, motion, C, I, S, status, base, tags, most, strings, lane)
        came = insert_contacts(paths, e, end, n, C, I, base, tags, most, lane) if n > 0 else 0
        end += came
        e += came + 1
    counts[k, lane] = end - first_entry(paths, k)
