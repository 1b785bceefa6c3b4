"""The shortest path over the obstacles of a stretch that keeps the rules, or pays for breaking some."""

from __future__ import annotations

import math

from musculo.kernels.geodesic import (
    ABSENT,
    AS_QUADRANT,
    CONTACT,
    FIRST,
    FREE,
    HELD,
    LAST,
    OTHER_SIDE,
    OVERLAPPED,
    RESULT_ROWS,
    SHRUNK,
    SIDE,
    SIDE_TURN,
    Surfaces,
    geodesic_stretch,
)
from musculo.kernels.geodesic_price import NEVER
from musculo.kernels.geodesic_round import principal
from musculo.kernels.jit import kernel
from musculo.kernels.path import (
    CYLINDER,
    ELLIPSOID,
    SPHERE,
    TORUS,
)
from musculo.kernels.tree import load_rotation
from musculo.kernels.vector import (
    dot,
    load3,
    rotate_back,
    subtract,
)
from musculo.kernels.wrap_obstacles import (
    BEST,
    OPTION,
    POSE_ROWS,
    PRICE,
    PRICE_ROWS,
    PRICES,
)

# A piece that dips less than this (squared, over the size) into a surface touches it only.
_GRAZING = 1e-9
# Ways to begin that `geodesic_stretch` knows.
_BEGINNINGS = 3
# What an obstacle may do: keep its rules, break the one about its side, be left out.
_OPTIONS = 3


@kernel
def _solve(paths, n, P, Q, begin, C, I, base, tags, most, lane):
    """The taut path with every obstacle's option in force; its length without prices, and its status."""
    G = base + POSE_ROWS * most
    surfaces = Surfaces(paths.surface_kind, paths.surface_size, paths.surface_axis, paths.surface_sign)
    W = base + (POSE_ROWS + RESULT_ROWS + PRICES * PRICE_ROWS) * most
    for j in range(n):
        C[G + RESULT_ROWS * j + CONTACT, lane] = -1.0
    return geodesic_stretch(surfaces, I, tags, n, P, Q, begin, C, base, C, G, C, W, lane)


@kernel
def _set_options(n, C, I, base, tags, most, row, lane):
    """Put the options of a row of tags into force."""
    G = base + POSE_ROWS * most
    for j in range(n):
        option = I[tags + row * most + j, lane]
        if option == 1:
            C[G + RESULT_ROWS * j + SIDE, lane] = FREE
        elif option == 2:
            C[G + RESULT_ROWS * j + SIDE, lane] = ABSENT


@kernel
def _price_of(n, number, C, I, base, tags, most, lane):
    """Spell a number as options, one an obstacle, and add up what they cost; NEVER where one cannot be taken."""
    G = base + POSE_ROWS * most
    prices = base + (POSE_ROWS + RESULT_ROWS) * most
    total = 0.0
    for j in range(n):
        option = number % _OPTIONS
        number //= _OPTIONS
        I[tags + OPTION * most + j, lane] = option
        if option > 0:
            price = C[prices + PRICE_ROWS * (PRICES * j + option) + PRICE, lane]
            if price >= NEVER or C[G + RESULT_ROWS * j + SIDE, lane] == ABSENT:
                return NEVER
            total += price
    return total


@kernel
def _hits(paths, surface, shrunk, R, p, u, v):
    """Whether the straight piece u v (ground) passes through a surface, shrunk as an end inside asks for; rings do not
    count."""
    kind = paths.surface_kind[surface]
    if kind == TORUS:
        return False
    A, B = rotate_back(R, subtract(u, p)), rotate_back(R, subtract(v, p))
    a = shrunk * paths.surface_size[surface, 0]
    b, c = a, a
    if kind == ELLIPSOID:
        b, c = shrunk * paths.surface_size[surface, 1], shrunk * paths.surface_size[surface, 2]
    x = (A[0] / a, A[1] / b, 0.0 if kind == CYLINDER else A[2] / c)
    d = (B[0] / a - x[0], B[1] / b - x[1], 0.0 if kind == CYLINDER else B[2] / c - x[2])
    along = dot(d, d)
    t = min(1.0, max(0.0, -dot(x, d) / along)) if along > 0.0 else 0.0
    m = (x[0] + t * d[0], x[1] + t * d[1], x[2] + t * d[2])
    if kind == CYLINDER and math.fabs(A[2] + t * (B[2] - A[2])) > 0.5 * paths.surface_size[surface, 1]:
        return False
    return dot(m, m) < 1.0 - _GRAZING


@kernel
def _azimuth(R, p, x):
    """The angle of a point of ground about a surface's z axis."""
    y = rotate_back(R, subtract(x, p))
    return math.atan2(y[1], y[0])


@kernel
def _crosses(paths, n, P, Q, untouched, C, I, base, tags, most, lane):
    """Whether the path that was solved passes through a surface that it should keep out of, or on the wrong side of a
    cylinder whose side is held; only of those that it does not touch, if `untouched`."""
    G = base + POSE_ROWS * most
    for k in range(n):
        g = G + RESULT_ROWS * k
        if C[g + SIDE, lane] == ABSENT or C[g + SHRUNK, lane] <= 0.0 or (untouched and C[g + CONTACT, lane] > 0.0):
            continue
        R, p = load_rotation(C, base + POSE_ROWS * k, lane), load3(C, base + POSE_ROWS * k + 9, lane)
        held = C[g + SIDE, lane] == HELD and C[g + CONTACT, lane] <= 0.0
        u, touches, turn = P, False, 0.0
        for j in range(n + 1):
            v, next_touches = Q, False
            if j < n:
                if C[G + RESULT_ROWS * j + CONTACT, lane] <= 0.0:
                    continue
                v, next_touches = load3(C, G + RESULT_ROWS * j + FIRST, lane), j == k
            if not touches and not next_touches and _hits(paths, I[tags + k, lane], C[g + SHRUNK, lane], R, p, u, v):
                return True
            if held:
                turn += principal(_azimuth(R, p, v) - _azimuth(R, p, u))
            if j < n:
                u, touches = load3(C, G + RESULT_ROWS * j + LAST, lane), j == k
                if held:
                    turn += principal(_azimuth(R, p, u) - _azimuth(R, p, v))
        if held and math.fabs(turn - C[g + SIDE_TURN, lane]) > math.pi:
            return True
    return False


@kernel
def _toll_or_side(paths, surface, C, base, most, lane):
    """For one obstacle: keep to the quadrant's side, or pay the toll. Without a toll the shortest path is that side's,
    but a line through the middle of a sphere needs the quadrant to choose."""
    prices = base + (POSE_ROWS + RESULT_ROWS) * most
    if paths.surface_kind[surface] == SPHERE:
        C[base + POSE_ROWS * most + SIDE, lane] = AS_QUADRANT
    if C[prices + PRICE, lane] > 0.0:
        C[base + POSE_ROWS * most + SIDE, lane] = AS_QUADRANT
        for r in range(PRICE_ROWS):
            C[prices + PRICE_ROWS + r, lane] = C[prices + r, lane]
            C[prices + r, lane] = 0.0


@kernel
def _leave_out(n, subset, C, G, lane):
    """Leave out the obstacles whose bit is not set; False where one of them was not there anyway."""
    fresh = True
    for j in range(n):
        if (subset >> j) & 1 == 0:
            fresh = fresh and C[G + RESULT_ROWS * j + SIDE, lane] != ABSENT
            C[G + RESULT_ROWS * j + SIDE, lane] = ABSENT
    return fresh


@kernel
def shortest_path(paths, n, P, Q, C, I, base, tags, most, lane):
    """The shortest of the paths that keep the rules or pay for breaking some; left in the results.

    Where the path over all obstacles does not exist or passes through one of them, as it may where they overlap, the
    longest of the paths over some of them counts. No obstacle makes a path shorter that keeps out of it; so this is
    the path over all wherever that keeps out of all, and where it begins to pass through one, the length does not jump.
    Returns (price, status).
    """
    G = base + POSE_ROWS * most
    prices = base + (POSE_ROWS + RESULT_ROWS) * most
    if n == 1:
        _toll_or_side(paths, I[tags, lane], C, base, most, lane)
    d = subtract(Q, P)
    straight = math.sqrt(dot(d, d))
    combinations, subsets = 1, 1
    for _ in range(n):
        combinations *= _OPTIONS
        subsets *= 2
    best, price, status = NEVER, 0.0, 0
    best_number, best_trial = 0, 0
    number, trial, last = 0, 0, False
    longest, longest_trial, longest_status = 0.0, 0, 0
    shortest, shortest_trial, plain, plain_status = NEVER, 0, 0.0, 0
    solved_number, solved_trial = 0, 0
    cost = _price_of(n, number, C, I, base, tags, most, lane)
    # one call of the solver, as each is compiled where it stands; the last one is for the best path once more
    while True:
        if last or number == 0 or cost < best - straight:
            kept = _sides(n, C, G, lane)
            _set_options(n, C, I, base, tags, most, OPTION, lane)
            # trial 0: all obstacles; then every subset, sought in all ways
            subset, begin, clear = trial // _BEGINNINGS, trial % _BEGINNINGS, False
            there = subset == 0 or _leave_out(n, subset, C, G, lane)
            single = subset & (subset - 1) == 0
            if there and (single if begin == 0 else not single):
                length, outcome = _solve(paths, n, P, Q, begin, C, I, base, tags, most, lane)
                solved_number, solved_trial = number, trial
                found = n == 1 or outcome < OVERLAPPED
                if found and n > 1:
                    found = not _crosses(paths, n, P, Q, subset > 0, C, I, base, tags, most, lane)
                if subset == 0:
                    clear, plain, plain_status = found, length, outcome
                    longest, longest_trial, longest_status = length if clear else 0.0, 0, outcome
                elif found and length < shortest:
                    shortest, shortest_trial = length, trial
            _restore_sides(n, C, G, kept, lane)
            if last:
                break
            if not clear:
                if subset > 0 and begin == _BEGINNINGS - 1:
                    if shortest < NEVER and shortest > longest:
                        longest, longest_trial, longest_status = shortest, shortest_trial, OVERLAPPED
                    shortest = NEVER
                trial = trial + 1 if trial > 0 else _BEGINNINGS
                if trial < _BEGINNINGS * subsets:
                    continue
            if longest == 0.0:
                # none was found, which no model has shown yet
                longest, longest_trial, longest_status = plain, 0, plain_status
            if longest + cost < best:
                best, price, status = longest + cost, cost, longest_status
                best_number, best_trial = number, longest_trial
        number, trial = number + 1, 0
        if number < combinations:
            cost = _price_of(n, number, C, I, base, tags, most, lane)
            continue
        if solved_number == best_number and solved_trial == best_trial:
            break
        number, trial, last = best_number, best_trial, True
        _price_of(n, number, C, I, base, tags, most, lane)
    _price_of(n, best_number, C, I, base, tags, most, lane)
    toll = 0.0
    for j in range(n):
        I[tags + BEST * most + j, lane] = I[tags + OPTION * most + j, lane]
        toll += C[prices + PRICE_ROWS * PRICES * j + PRICE, lane]
    if price + toll > 0.0 and status < OTHER_SIDE:
        status = OTHER_SIDE
    return price + toll, status


@kernel
def _sides(n, C, G, lane):
    """How the rules hold the sides of all obstacles, as one number."""
    kept = 0
    for j in range(n - 1, -1, -1):
        kept = 4 * kept + int(C[G + RESULT_ROWS * j + SIDE, lane])
    return kept


@kernel
def _restore_sides(n, C, G, kept, lane):
    """Undo `_set_options`."""
    for j in range(n):
        C[G + RESULT_ROWS * j + SIDE, lane] = kept % 4
        kept //= 4
