"""The shortest path over the obstacles of a segment that keeps the rules, or pays for breaking some."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import ELLIPSOID, SPHERE, TORUS
from musculo.kernels.scalar.vectors import dot, load3, subtract
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    ABSENT,
    BEST,
    CONTACT,
    FIRST_TANGENT,
    FREE,
    LAST_TANGENT,
    OPTION,
    PENALTY,
    RULE,
    SIDE,
    SURFACE,
    obstacle_row,
    penalty_row,
    tag_row,
)
from musculo.kernels.wrapping.geodesic.taut_path import geodesic_segment
from musculo.kernels.wrapping.geodesic.tighten import LEFT_OUT, NOT_CONVERGED, OTHER_SIDE, OVERLAPPED, UNFINISHED
from musculo.kernels.wrapping.rules.clearance import keeps_out
from musculo.kernels.wrapping.rules.cylinder_penalty import NEVER

# What an obstacle may do: keep its rules, break the one about its side, be left out.
_OPTIONS = 3
# Paths that turn by less [rad] are not looked at: another side is hardly shorter. Over two balls of 13 and 18 mm whose
# path turns by less than 0.3 it was shorter by up to 0.3 mm.
_TURN = 0.05


@kernel
def _set_options(s, n, lane):
    """Put the options that are tried into force."""
    for j in range(n):
        o, option = obstacle_row(s, j), s.I[tag_row(s, OPTION, j), lane]
        s.C[o + SIDE, lane] = s.C[o + RULE, lane] if option == 0 else (FREE if option == 1 else ABSENT)


@kernel
def _penalty_of(s, n, number, lane):
    """Spell a number as options, one an obstacle, and add up what they cost; NEVER where one cannot be taken."""
    total = 0.0
    for j in range(n):
        option = number % _OPTIONS
        number //= _OPTIONS
        s.I[tag_row(s, OPTION, j), lane] = option
        if option > 0:
            penalty = s.C[penalty_row(s, j, option) + PENALTY, lane]
            if penalty >= NEVER or s.C[obstacle_row(s, j) + RULE, lane] == ABSENT:
                return NEVER
            total += penalty
    return total


@kernel
def _doubtful(paths, s, n, lane):
    """Whether there may be a shorter path on another side of a surface: this one touches several, a ball or an
    ellipsoid among them, and turns by more than _TURN in all."""
    C, touching, ball, turn = s.C, 0, False, 0.0
    for j in range(n):
        o = obstacle_row(s, j)
        if C[o + CONTACT, lane] > 0.0:
            touching += 1
            ball = ball or paths.surface_kind[s.I[tag_row(s, SURFACE, j), lane]] in (SPHERE, ELLIPSOID)
            straight = dot(load3(C, o + FIRST_TANGENT, lane), load3(C, o + LAST_TANGENT, lane))
            turn += math.acos(min(1.0, max(-1.0, straight)))
    return touching > 1 and ball and turn > _TURN


# Before any combination of options is tried: the last one (number, length, cost, status), and the best (length with
# penalty, penalty, status, number).
NONE_TRIED, NONE_BEST = (-1, 0.0, 0.0, LEFT_OUT), (NEVER, 0.0, LEFT_OUT, 0)


@kernel
def seek_shortest(paths, s, n, P, Q, tried, best, lane):
    """Go on through the combinations of options until one has no path that is known to be the shortest, or to the end.

    Args:
        tried: the combination at which it stopped, with what became of it; it takes part now. NONE_TRIED at first.
        best: the best of those before; NONE_BEST at first.

    Returns (tried, best, stopped, doubtful). Where it stopped, the combination is in force, and its path does not
    exist, passes through a surface, or, `doubtful`, a shorter one is possible. At the end the path of the best
    combination is in the results, unless its status is OVERLAPPED: somebody else knows it.
    """
    # one convex surface is touched once; a ring may be touched again on the other side of its hole
    lone = n == 1 and paths.surface_kind[s.I[tag_row(s, SURFACE, 0), lane]] != TORUS
    d = subtract(Q, P)
    straight = math.sqrt(dot(d, d))
    combinations = 1
    for _ in range(n):
        combinations *= _OPTIONS
    number, length, cost, outcome = tried
    shortest, penalty, status, best_number = best
    solved = number
    # one call of the solver, as each is compiled where it stands; the last one is for the best path once more
    while True:
        # a path that is not known to keep out of the surfaces gives way to any that does, if not at any penalty
        if number >= 0 and (outcome >= NOT_CONVERGED, length + cost) < (status >= NOT_CONVERGED, shortest):
            shortest, penalty, status, best_number = length + cost, cost, outcome, number
        number += 1
        while number < combinations:
            cost = _penalty_of(s, n, number, lane)
            if number == 0 or cost < shortest - straight or (status >= NOT_CONVERGED and cost < shortest):
                break
            number += 1
        last = number >= combinations
        if last:
            # a path that somebody else knows is kept as it is
            if solved == best_number or status == OVERLAPPED:
                break
            _penalty_of(s, n, best_number, lane)
        _set_options(s, n, lane)
        length, outcome = geodesic_segment(paths, s, n, P, Q, lane)
        if last:
            break
        solved = number
        clear = outcome < OVERLAPPED and (lone or keeps_out(s, n, P, Q, lane))
        doubtful = clear and _doubtful(paths, s, n, lane)
        if doubtful or not clear:
            return (number, length, cost, outcome), (shortest, penalty, status, best_number), True, doubtful
    return (number, length, cost, outcome), (shortest, penalty, status, best_number), False, False


@kernel
def choose(s, n, best, lane):
    """Note the options of the best path. Returns (penalty, status): with a penalty it is OTHER_SIDE at least."""
    _, penalty, status, number = best
    _penalty_of(s, n, number, lane)
    for j in range(n):
        s.I[tag_row(s, BEST, j), lane] = s.I[tag_row(s, OPTION, j), lane]
    if penalty > 0.0 and status < OTHER_SIDE:
        status = OTHER_SIDE
    return penalty, status


@kernel
def shortest_path(paths, s, n, P, Q, lane):
    """The shortest of the paths that keep the rules or pay for breaking some; left in the results.

    Returns (penalty, status). UNFINISHED where the path over the obstacles does not exist, passes through one of them,
    or may not be the shortest, as where they overlap: the second pass knows it then (`polyline_second_pass`).
    """
    _, best, stopped, _ = seek_shortest(paths, s, n, P, Q, NONE_TRIED, NONE_BEST, lane)
    if stopped:
        return 0.0, UNFINISHED
    return choose(s, n, best, lane)
