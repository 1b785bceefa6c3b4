"""The shortest path over the obstacles of a stretch that keeps the rules, or pays for breaking some."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import CYLINDER, ELLIPSOID, SPHERE, TORUS
from musculo.kernels.scalar.vectors import add_scaled, dot, load3, rotate_back, scale, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.round_obstacle import other_way_length
from musculo.kernels.wrapping.geodesic.taut_path import (
    ABSENT,
    ARC,
    CONTACT,
    FIRST,
    FIRST_TANGENT,
    FREE,
    HELD,
    LAST,
    LAST_TANGENT,
    LEFT_OUT,
    OTHER_SIDE,
    OVERLAPPED,
    RESULT_ROWS,
    ROUGH,
    SHRUNK,
    SIDE,
    SIDE_TURN,
    UNFINISHED,
    WAY_ROUND,
    Surfaces,
    geodesic_stretch,
)
from musculo.kernels.wrapping.rules.clearance import keeps_out
from musculo.kernels.wrapping.rules.obstacles import (
    BEST,
    OPTION,
    POSE_ROWS,
    PRICE,
    PRICE_ROWS,
    PRICES,
)
from musculo.kernels.wrapping.rules.side_penalty import NEVER

# What an obstacle may do: keep its rules, break the one about its side, be left out.
_OPTIONS = 3
# Paths that turn by less [rad] are not looked at: another side is hardly shorter. Over two balls of 13 and 18 mm whose
# path turns by less than 0.3 it was shorter by up to 0.3 mm.
_TURN = 0.05
# The same over a ring alone.
_RING_TURN = 0.3


@kernel
def _solve(paths, n, P, Q, C, I, base, tags, most, lane):
    """The taut path with every obstacle's option in force; its length without prices, and its status."""
    G = base + POSE_ROWS * most
    surfaces = Surfaces(paths.surface_kind, paths.surface_size)
    W = base + (POSE_ROWS + RESULT_ROWS + PRICES * PRICE_ROWS) * most
    return geodesic_stretch(surfaces, I, tags, n, P, Q, C, base, C, G, C, W, lane)


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
            price = C[prices + PRICE_ROWS * (PRICES * j + option - 1) + PRICE, lane]
            if price >= NEVER or C[G + RESULT_ROWS * j + SIDE, lane] == ABSENT:
                return NEVER
            total += price
    return total


@kernel
def _size(paths, surface):
    """How far a surface reaches from its centre, a cylinder from its axis [m]."""
    kind = paths.surface_kind[surface]
    a, b, c = paths.surface_size[surface, 0], paths.surface_size[surface, 1], paths.surface_size[surface, 2]
    if kind == ELLIPSOID:
        return max(a, max(b, c))
    return a + b if kind == TORUS else a


@kernel
def _axis(j, C, base, lane):
    """The direction of an obstacle's z axis."""
    x = base + POSE_ROWS * j
    return C[x + 2, lane], C[x + 5, lane], C[x + 8, lane]


@kernel
def _from_axis(j, X, C, base, lane):
    """From a point to the nearest one on an obstacle's z axis."""
    u, d = _axis(j, C, base, lane), subtract(load3(C, base + POSE_ROWS * j + 9, lane), X)
    return add_scaled(d, -dot(d, u), u)


@kernel
def _gap(paths, i, j, P, Q, length, C, I, base, tags, lane):
    """How far two cylinders are apart where a path from P to Q of this length can touch them; negative: they overlap.

    Such a path keeps within half its length of the middle of P and Q, and an axis counts as far as that and its radius.
    """
    first, second = paths.surface_size[I[tags + i, lane], 0], paths.surface_size[I[tags + j, lane], 0]
    far_i, far_j = 0.5 * length + first, 0.5 * length + second
    middle = scale(0.5, add_scaled(P, 1.0, Q))
    u, v = _axis(i, C, base, lane), _axis(j, C, base, lane)
    d = subtract(_from_axis(i, middle, C, base, lane), _from_axis(j, middle, C, base, lane))
    along_u, along_v, cosine = dot(u, d), dot(v, d), dot(u, v)
    sine = 1.0 - cosine * cosine
    s = (cosine * along_v - along_u) / sine if sine > 0.0 else 0.0
    s = min(far_i, max(-far_i, s))
    t = min(far_j, max(-far_j, cosine * s + along_v))
    s = min(far_i, max(-far_i, cosine * t - along_u))
    d = add_scaled(add_scaled(d, s, u), -t, v)
    return math.sqrt(dot(d, d)) - first - second


@kernel
def _near(paths, i, j, P, Q, length, C, I, base, tags, lane):
    """Whether two obstacles may overlap: their centres (a cylinder's: its axis) are closer than both reach, or two
    cylinders where a path of this length can touch them."""
    first, second = I[tags + i, lane], I[tags + j, lane]
    if paths.surface_kind[first] == CYLINDER and paths.surface_kind[second] == CYLINDER:
        return _gap(paths, i, j, P, Q, length, C, I, base, tags, lane) < 0.0
    d = subtract(load3(C, base + POSE_ROWS * j + 9, lane), load3(C, base + POSE_ROWS * i + 9, lane))
    if paths.surface_kind[first] == CYLINDER or paths.surface_kind[second] == CYLINDER:
        u = _axis(i if paths.surface_kind[first] == CYLINDER else j, C, base, lane)
        d = add_scaled(d, -dot(d, u), u)
    reach = _size(paths, first) + _size(paths, second)
    return dot(d, d) < reach * reach


@kernel
def _other_order(paths, n, P, Q, length, C, I, base, G, tags, lane):
    """Whether a path may be shorter than `length` that meets two of the cylinders it touches in the other order."""
    for j in range(n):
        for i in range(j):
            if C[G + RESULT_ROWS * i + CONTACT, lane] > 0.0 and C[G + RESULT_ROWS * j + CONTACT, lane] > 0.0:
                to, on = _from_axis(j, P, C, base, lane), _from_axis(i, Q, C, base, lane)
                there = math.sqrt(dot(to, to)) - paths.surface_size[I[tags + j, lane], 0]
                back = math.sqrt(dot(on, on)) - paths.surface_size[I[tags + i, lane], 0]
                gap = _gap(paths, i, j, P, Q, length, C, I, base, tags, lane)
                if max(there, 0.0) + max(gap, 0.0) + max(back, 0.0) < length:
                    return True
    return False


@kernel
def _long_way(j, C, G, lane):
    """Whether obstacle j is a cylinder that is held to the long way round."""
    g = G + RESULT_ROWS * j
    return C[g + SIDE, lane] == HELD and math.fabs(C[g + SIDE_TURN, lane]) > math.pi


@kernel
def _open(paths, j, C, I, G, tags, lane):
    """Whether obstacle j leaves it open on which side it is passed, or in which order: not a cylinder that is held to
    the short way round."""
    held = C[G + RESULT_ROWS * j + SIDE, lane] == HELD and not _long_way(j, C, G, lane)
    return paths.surface_kind[I[tags + j, lane]] != CYLINDER or not held


@kernel
def _crowded(paths, n, j, P, Q, length, C, I, base, G, tags, lane):
    """Whether another obstacle that is there may overlap obstacle j, where a path of this length can touch both."""
    for k in range(n):
        g = G + RESULT_ROWS * k
        there = k != j and C[g + SIDE, lane] != ABSENT and C[g + SHRUNK, lane] > 0.0
        if there and _near(paths, j, k, P, Q, length, C, I, base, tags, lane):
            return True
    return False


@kernel
def _worth(paths, n, P, Q, length, C, I, base, G, tags, lane):
    """Whether a path may be shorter than `length` that passes a cylinder whose side is open the other way round."""
    for j in range(n):
        g, x = G + RESULT_ROWS * j, base + POSE_ROWS * j
        if C[g + CONTACT, lane] > 0.0 and C[g + SIDE, lane] != HELD:
            R, p = load_rotation(C, x, lane), load3(C, x + 9, lane)
            r = paths.surface_size[I[tags + j, lane], 0] * C[g + SHRUNK, lane]
            P_own, Q_own = rotate_back(R, subtract(P, p)), rotate_back(R, subtract(Q, p))
            if other_way_length(r, P_own, Q_own, C[g + WAY_ROUND, lane]) < length:
                return True
    return False


@kernel
def _round_the_back(j, P, Q, C, base, G, lane):
    """Whether the path runs over ball j on the other side of its centre than the straight line passes it."""
    g, centre = G + RESULT_ROWS * j, load3(C, base + POSE_ROWS * j + 9, lane)
    out = subtract(add_scaled(load3(C, g + FIRST, lane), 1.0, load3(C, g + LAST, lane)), scale(2.0, centre))
    d, start = subtract(Q, P), subtract(P, centre)
    return dot(out, start) * dot(d, d) < dot(out, d) * dot(start, d)


@kernel
def _doubtful(paths, n, P, Q, length, C, I, base, G, tags, lane):
    """Whether there may be a shorter path on another side of a surface, which the solver may not know.

    The path turns by more than _TURN in all, and either touches a ball or ellipsoid and something else; or a cylinder
    of which the side is open, with another such surface about, or another that it may overlap if the other way round it
    may be shorter at all; or one that is held to the long way round and something that it may overlap, or that lies
    behind it, if the other order may be shorter, or whose side is open; or a single surface, no cylinder that is held,
    and may have been kept from the shortest way over that by another near by, as where it passes a ball the long way
    round; or a ring alone.
    """
    touching, ball, either, turn, alone, about, long_way, crowded = 0, False, False, 0.0, 0, 0, False, False
    back, all_held, last, ahead = False, True, P, subtract(Q, P)
    for j in range(n):
        g = G + RESULT_ROWS * j
        if C[g + SIDE, lane] != ABSENT and C[g + SHRUNK, lane] > 0.0 and _open(paths, j, C, I, G, tags, lane):
            about += 1
            all_held = all_held and C[g + SIDE, lane] == HELD
        if C[g + CONTACT, lane] > 0.0:
            back = back or (touching > 0 and dot(subtract(load3(C, g + FIRST, lane), last), ahead) < 0.0)
            last = load3(C, g + LAST, lane)
            touching, alone = touching + 1, j
            ball = ball or paths.surface_kind[I[tags + j, lane]] in (SPHERE, ELLIPSOID)
            if _open(paths, j, C, I, G, tags, lane):
                either = True
                crowded = crowded or (n > 1 and _crowded(paths, n, j, P, Q, length, C, I, base, G, tags, lane))
            straight = dot(load3(C, g + FIRST_TANGENT, lane), load3(C, g + LAST_TANGENT, lane))
            turn += math.acos(min(1.0, max(-1.0, straight)))
            if _long_way(j, C, G, lane):
                # the ends of more than half a turn do not tell it
                long_way, turn = True, turn + math.pi
    if n == 1:
        # a path over a ring may wind round its tube, so that its ends do not tell its turn
        ring, tube = paths.surface_kind[I[tags, lane]] == TORUS, paths.surface_size[I[tags, lane], 0]
        return ring and touching > 0 and C[G + ARC, lane] > _RING_TURN * tube
    if turn < _TURN or not either:
        return False
    if touching == 1 and C[G + RESULT_ROWS * alone + SIDE, lane] == HELD:
        # no path that turns as it is held is shorter than the one over this cylinder alone
        return False
    if not ball and (about < 2 or all_held):
        if long_way:
            return crowded or (back and _other_order(paths, n, P, Q, length, C, I, base, G, tags, lane))
        return crowded and _worth(paths, n, P, Q, length, C, I, base, G, tags, lane)
    if touching > 1:
        return True
    # over one ball alone there is no shorter way than the short one
    return (
        _round_the_back(alone, P, Q, C, base, G, lane)
        if paths.surface_kind[I[tags + alone, lane]] == SPHERE
        else crowded
    )


# Before any combination of options is tried: the last one (number, length, cost, status, sides before it), and the best
# (length with price, price, status, number).
NONE_TRIED, NONE_BEST = (-1, 0.0, 0.0, LEFT_OUT, 0), (NEVER, 0.0, LEFT_OUT, 0)


@kernel
def seek_shortest(paths, n, P, Q, tried, best, C, I, base, tags, most, lane):
    """Go on through the combinations of options until one has no path that is known to be the shortest, or to the end.

    Args:
        tried: the combination at which it stopped, with what became of it; it takes part now. NONE_TRIED at first.
        best: the best of those before; NONE_BEST at first.

    Returns (tried, best, stopped, doubtful). Where it stopped, the combination is in force, and its path does not
    exist, passes through a surface, or, `doubtful`, a shorter one is possible. At the end the path of the best
    combination is in the results, unless its status is OVERLAPPED: somebody else knows it.
    """
    G = base + POSE_ROWS * most
    W = base + (POSE_ROWS + RESULT_ROWS + PRICES * PRICE_ROWS) * most
    # one convex surface is touched once; a ring may be touched again on the other side of its hole
    lone = n == 1 and paths.surface_kind[I[tags, lane]] != TORUS
    d = subtract(Q, P)
    straight = math.sqrt(dot(d, d))
    combinations = 1
    for _ in range(n):
        combinations *= _OPTIONS
    number, length, cost, outcome, kept = tried
    shortest, price, status, best_number = best
    solved = number
    # one call of the solver, as each is compiled where it stands; the last one is for the best path once more
    while True:
        if number >= 0:
            _restore_sides(n, C, G, kept, lane)
            # a path that is not known to keep out of the surfaces gives way to any that does, if not at any price
            if (outcome >= ROUGH, length + cost) < (status >= ROUGH, shortest):
                shortest, price, status, best_number = length + cost, cost, outcome, number
        number += 1
        while number < combinations:
            cost = _price_of(n, number, C, I, base, tags, most, lane)
            if number == 0 or cost < shortest - straight or (status >= ROUGH and cost < shortest):
                break
            number += 1
        last = number >= combinations
        if last:
            # a path that somebody else knows is kept as it is
            if solved == best_number or status == OVERLAPPED:
                break
            _price_of(n, best_number, C, I, base, tags, most, lane)
        kept = _sides(n, C, G, lane)
        _set_options(n, C, I, base, tags, most, OPTION, lane)
        length, outcome = _solve(paths, n, P, Q, C, I, base, tags, most, lane)
        if last:
            _restore_sides(n, C, G, kept, lane)
            break
        solved = number
        clear = outcome < OVERLAPPED and (lone or keeps_out(n, P, Q, C, base, most, G, W, POSE_ROWS, lane))
        doubtful = clear and _doubtful(paths, n, P, Q, length, C, I, base, G, tags, lane)
        if doubtful or not clear:
            return (number, length, cost, outcome, kept), (shortest, price, status, best_number), True, doubtful
    return (number, length, cost, outcome, kept), (shortest, price, status, best_number), False, False


@kernel
def choose(n, best, C, I, base, tags, most, lane):
    """Note the options of the best path. Returns (price, status): with a price it is OTHER_SIDE at least."""
    _, price, status, number = best
    _price_of(n, number, C, I, base, tags, most, lane)
    for j in range(n):
        I[tags + BEST * most + j, lane] = I[tags + OPTION * most + j, lane]
    if price > 0.0 and status < OTHER_SIDE:
        status = OTHER_SIDE
    return price, status


@kernel
def shortest_path(paths, n, P, Q, C, I, base, tags, most, lane):
    """The shortest of the paths that keep the rules or pay for breaking some; left in the results.

    Returns (price, status). UNFINISHED where the path over the obstacles does not exist, passes through one of them, or
    may not be the shortest, as where they overlap: `string_choice.shortest_path_or_string` knows it then.
    """
    _, best, stopped, _ = seek_shortest(paths, n, P, Q, NONE_TRIED, NONE_BEST, C, I, base, tags, most, lane)
    if stopped:
        return 0.0, UNFINISHED
    return choose(n, best, C, I, base, tags, most, lane)


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
