"""Exact wrapping: which surfaces stand in the way of which stretch of a path, and the taut path over them.

A stretch lies between two path points that follow each other in this pose. A surface acts on every stretch in its
range, in the order in which the path meets the surfaces in the model's default pose; it is in contact where its
geodesic has a length. No surface is given to one stretch at the cost of another, so nothing jumps where OpenSim
changes its choice.
"""

from __future__ import annotations

import math

from musculo.kernels.geodesic import (
    ABSENT,
    AS_QUADRANT,
    CONTACT,
    CONVERGED,
    END_GAIN,
    FIRST,
    FIRST_TANGENT,
    FREE,
    HELD,
    LAST,
    LAST_TANGENT,
    OTHER_SIDE,
    OVERLAPPED,
    RESULT_ROWS,
    SHRUNK,
    SIDE,
    SIDE_TURN,
    START_GAIN,
    Surfaces,
    geodesic_stretch,
    work_rows,
)
from musculo.kernels.geodesic import (
    ARC as GEODESIC_ARC,
)
from musculo.kernels.geodesic_price import NEVER, price_of_end, price_of_hole, price_of_turn, toll_of_side, turn_near
from musculo.kernels.geodesic_round import principal
from musculo.kernels.jit import kernel
from musculo.kernels.kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.path import (
    ARC,
    BODY,
    CYLINDER,
    ELLIPSOID,
    ENTRY_ROWS,
    EXTRA,
    GAIN,
    OWNER,
    PLACE,
    POINT,
    SEEN,
    SLOT,
    SPHERE,
    TAG_ROWS,
    TANGENT,
    TORUS,
    first_entry,
    fixed_rotation_of,
    move_entry,
)
from musculo.kernels.tree import load_rotation
from musculo.kernels.vector import (
    accumulate3,
    add,
    cross,
    dot,
    load3,
    matmul,
    rotate,
    rotate_back,
    scale,
    store3,
    subtract,
)

POSE_ROWS = 12
# What it costs, d/dP and d/dQ in ground: to pass at all, to break the rule about the side, to leave a cylinder out.
PRICE, TO_P, TO_Q = 0, 1, 4
PRICE_ROWS = 7
PRICES = 3
# A piece that dips less than this (squared, over the size) into a surface touches it only.
_GRAZING = 1e-9
# Other orders are tried for so many obstacles at most.
_ORDERED = 4
# What an obstacle may do: keep its rules, break the one about its side, be left out.
_OPTIONS = 3
# Rows of an obstacle in the integers: surface, wrap, option tried, option of the shortest path so far.
_SURFACE, WRAP, _OPTION, BEST = range(4)
OBSTACLE_TAGS = 4


@kernel
def geodesic_rows(most):
    """Rows of scratch for stretches of at most so many obstacles."""
    return (POSE_ROWS + RESULT_ROWS + PRICES * PRICE_ROWS) * most + work_rows(most)


@kernel
def most_wraps(paths):
    """Wraps of the path that has the most."""
    most = 0
    for k in range(paths.first_wrap.size - 1):
        most = max(most, paths.first_wrap[k + 1] - paths.first_wrap[k])
    return most


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
def _reference(paths, wrap, k, a, b):
    """The turn about a cylinder's axis from point a to point b in the default pose, as OpenSim's path takes it."""
    row = paths.first_seen[wrap] - paths.first_point[k]
    turn = principal(paths.seen_azimuth[row + b] - paths.seen_azimuth[row + a])
    if paths.wrap_stretch[wrap, 0] == a and paths.wrap_stretch[wrap, 1] == b:
        turn += 2.0 * math.pi * paths.wrap_turns[wrap]
    return turn


@kernel
def _store_price(C, row, R, price, to_P, to_Q, lane):
    """Keep a price and its slopes, turned from the surface's frame into ground."""
    C[row + PRICE, lane] = price
    store3(C, row + TO_P, lane, rotate(R, to_P))
    store3(C, row + TO_Q, lane, rotate(R, to_Q))


@kernel
def _rules(paths, surface, wrap, k, a, b, P, Q, R, C, g, prices, lane):
    """How the side of a surface is held between P and Q (its own frame), and what breaking that costs."""
    kind, sign, axis = paths.surface_kind[surface], paths.surface_sign[surface], paths.surface_axis[surface]
    none = (0.0, 0.0, 0.0)
    _store_price(C, prices, R, 0.0, none, none, lane)
    _store_price(C, prices + PRICE_ROWS, R, NEVER, none, none, lane)
    _store_price(C, prices + 2 * PRICE_ROWS, R, NEVER, none, none, lane)
    side, turn = FREE, 0.0
    if kind == CYLINDER:
        r = paths.surface_size[surface, 0]
        if sign != 0.0 and axis < 2:
            side = HELD
            turn, price, to_P, to_Q = price_of_turn(r, _reference(paths, wrap, k, a, b), P, Q)
            _store_price(C, prices + PRICE_ROWS, R, price, to_P, to_Q, lane)
        price, to_P, to_Q = price_of_end(0.5 * paths.surface_size[surface, 1], P, Q)
        _store_price(C, prices + 2 * PRICE_ROWS, R, price, to_P, to_Q, lane)
        if price <= 0.0:
            side = ABSENT
    elif kind == TORUS:
        side = AS_QUADRANT
        price, to_P, to_Q = price_of_hole(paths.surface_size[surface, 1], P, Q)
        _store_price(C, prices + PRICE_ROWS, R, price, to_P, to_Q, lane)
    elif sign != 0.0:
        x = paths.surface_size[surface, 0]
        size = (x, x, x)
        if kind == ELLIPSOID:
            size = (x, paths.surface_size[surface, 1], paths.surface_size[surface, 2])
        price, to_P, to_Q = toll_of_side(size, axis, sign, P, Q)
        _store_price(C, prices, R, price, to_P, to_Q, lane)
    C[g + SIDE, lane] = side
    C[g + SIDE_TURN, lane] = turn


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
def _gather(paths, k, e, motion, C, I, base, tags, most, lane):
    """List the obstacles between entries e and e + 1 with their poses and rules; returns how many."""
    a, b = I[e * TAG_ROWS + POINT, lane], I[(e + 1) * TAG_ROWS + POINT, lane]
    P_0, Q_0 = load3(C, e * ENTRY_ROWS + PLACE, lane), load3(C, (e + 1) * ENTRY_ROWS + PLACE, lane)
    n = 0
    alone = paths.first_wrap[k + 1] == paths.first_wrap[k] + 1
    for i in range(paths.first_wrap[k], paths.first_wrap[k + 1]):
        wrap = paths.wrap_order[i]
        if _acts(paths, wrap, k, a, b):
            surface = paths.wrap_surface[wrap]
            R, p = _surface_pose(paths, surface, motion, lane)
            x = base + POSE_ROWS * n
            for j in range(9):
                C[x + j, lane] = R[j]
            store3(C, x + 9, lane, p)
            g = base + POSE_ROWS * most + RESULT_ROWS * n
            prices = base + (POSE_ROWS + RESULT_ROWS) * most + PRICES * PRICE_ROWS * n
            P, Q = rotate_back(R, subtract(P_0, p)), rotate_back(R, subtract(Q_0, p))
            if alone and _misses(paths.surface_kind[surface], paths.surface_size[surface], P, Q):
                # the straight line is the path, unless the side is held against it
                if paths.surface_kind[surface] != CYLINDER or paths.surface_sign[surface] == 0.0:
                    continue
                if math.fabs(turn_near(_reference(paths, wrap, k, a, b), P, Q)) <= math.pi:
                    continue
            _rules(paths, surface, wrap, k, a, b, P, Q, R, C, g, prices, lane)
            t = tags + n
            I[t + _SURFACE * most, lane] = surface
            I[t + WRAP * most, lane] = wrap
            n += 1
    return n


@kernel
def _solve(paths, n, P, Q, C, I, base, tags, most, lane):
    """The taut path with every obstacle's option in force; its length without prices, and its status."""
    G = base + POSE_ROWS * most
    surfaces = Surfaces(paths.surface_kind, paths.surface_size, paths.surface_axis, paths.surface_sign)
    W = base + (POSE_ROWS + RESULT_ROWS + PRICES * PRICE_ROWS) * most
    for j in range(n):
        C[G + RESULT_ROWS * j + CONTACT, lane] = -1.0
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
        I[tags + _OPTION * most + j, lane] = option
        if option > 0:
            price = C[prices + PRICE_ROWS * (PRICES * j + option) + PRICE, lane]
            if price >= NEVER or C[G + RESULT_ROWS * j + SIDE, lane] == ABSENT:
                return NEVER
            total += price
    return total


@kernel
def _hits(paths, surface, R, p, u, v):
    """Whether the straight piece u v (ground) passes through a surface; rings do not count."""
    kind = paths.surface_kind[surface]
    if kind == TORUS:
        return False
    A, B = rotate_back(R, subtract(u, p)), rotate_back(R, subtract(v, p))
    a = paths.surface_size[surface, 0]
    b, c = (paths.surface_size[surface, 1], paths.surface_size[surface, 2]) if kind == ELLIPSOID else (a, a)
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
def _crosses(paths, n, P, Q, C, I, base, tags, most, lane):
    """Whether the path that was solved passes through a surface that it should keep out of, or on the wrong side of a
    cylinder whose side is held."""
    G = base + POSE_ROWS * most
    for k in range(n):
        g = G + RESULT_ROWS * k
        # a surface that an end lies inside is crossed by right; one that was left out as covered (0) is not
        if C[g + SIDE, lane] == ABSENT or (C[g + SHRUNK, lane] > 0.0 and C[g + SHRUNK, lane] < 1.0):
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
            if not touches and not next_touches and _hits(paths, I[tags + k, lane], R, p, u, v):
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
def _swap(C, I, base, tags, most, j, lane):
    """Let obstacles j and j + 1 change places."""
    for r in range(POSE_ROWS):
        a = base + POSE_ROWS * j + r
        C[a, lane], C[a + POSE_ROWS, lane] = C[a + POSE_ROWS, lane], C[a, lane]
    g = base + POSE_ROWS * most + RESULT_ROWS * j
    for r in range(SIDE, SIDE_TURN + 1):
        C[g + r, lane], C[g + RESULT_ROWS + r, lane] = C[g + RESULT_ROWS + r, lane], C[g + r, lane]
    first, rows = base + (POSE_ROWS + RESULT_ROWS) * most + PRICES * PRICE_ROWS * j, PRICES * PRICE_ROWS
    for r in range(rows):
        C[first + r, lane], C[first + rows + r, lane] = C[first + rows + r, lane], C[first + r, lane]
    for r in range(2):
        t = tags + r * most + j
        I[t, lane], I[t + 1, lane] = I[t + 1, lane], I[t, lane]


@kernel
def _next_order(n, order):
    """Which neighbours change places after the order of this number, so that all orders come up and then the first."""
    if n == 2:
        return 0
    if n == 3:
        return 1 - order % 2
    # plain changes of four: the last obstacle goes down, the rest change once, it goes up, the rest change once
    inner = order % 4
    if inner == 3:
        return 0 if (order // 4) % 2 == 1 else 2
    return 2 - inner if (order // 4) % 2 == 0 else inner


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
def _shortest(paths, n, P, Q, C, I, base, tags, most, lane):
    """The shortest of the paths that keep the rules or pay for breaking some; left in the results.

    Where the path in the usual order of the obstacles is not taut or passes through one of them, as it may where they
    overlap, the other orders are tried, and the shortest path that keeps out of all counts. Returns (price, status).
    """
    G = base + POSE_ROWS * most
    prices = base + (POSE_ROWS + RESULT_ROWS) * most
    if n == 1:
        _toll_or_side(paths, I[tags, lane], C, base, most, lane)
    d = subtract(Q, P)
    straight = math.sqrt(dot(d, d))
    combinations, orders = 1, 1
    for j in range(n):
        combinations *= _OPTIONS
        orders *= j + 1
    best, price, status, best_foul = NEVER, 0.0, 0, 2
    best_number, best_order, solved_number, solved_order = 0, 0, 0, 0
    order, turn, last = 0, 0, False
    # one call of the solver, as each is compiled where it stands; the last one is for the best path once more
    while True:
        number = best_number if last else turn
        cost = _price_of(n, number, C, I, base, tags, most, lane)
        if last or turn == 0 or cost < best - straight:
            kept = _sides(n, C, G, lane)
            _set_options(n, C, I, base, tags, most, _OPTION, lane)
            length, outcome = _solve(paths, n, P, Q, C, I, base, tags, most, lane)
            foul = 1 if outcome > OVERLAPPED else 0
            if n > 1 and foul == 0:
                if _crosses(paths, n, P, Q, C, I, base, tags, most, lane):
                    foul, outcome = 1, OVERLAPPED
                elif outcome == OVERLAPPED:
                    # what was left out is not in the way
                    outcome = CONVERGED
            _restore_sides(n, C, G, kept, lane)
            solved_number, solved_order = number, order
            if foul < best_foul or (foul == best_foul and length + cost < best):
                best, price, status, best_foul = length + cost, cost, outcome, foul
                best_number, best_order = number, order
        if last:
            break
        turn += 1
        if turn < combinations:
            continue
        if best_foul > 0 and n > 1 and n <= _ORDERED and order + 1 < orders:
            _swap(C, I, base, tags, most, _next_order(n, order), lane)
            order, turn = order + 1, 0
            continue
        if solved_number == best_number and solved_order == best_order:
            break
        while order != best_order:
            _swap(C, I, base, tags, most, _next_order(n, order), lane)
            order = (order + 1) % orders
        last = True
    _price_of(n, best_number, C, I, base, tags, most, lane)
    toll = 0.0
    for j in range(n):
        I[tags + BEST * most + j, lane] = I[tags + _OPTION * most + j, lane]
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
def _gains(paths, k, e, n, C, I, S, base, tags, most, lane):
    """Forces of ends inside surfaces, and of prices paid, between entries e and e + 1."""
    first = 6 * paths.first_slot[k]
    prices = base + (POSE_ROWS + RESULT_ROWS) * most
    for j in range(n):
        g = base + POSE_ROWS * most + RESULT_ROWS * j
        slot = paths.wrap_slot[I[tags + WRAP * most + j, lane]]
        _press(e, slot, load3(C, g + START_GAIN, lane), C, I, S, first, lane)
        _press(e + 1, slot, load3(C, g + END_GAIN, lane), C, I, S, first, lane)
        option = I[tags + BEST * most + j, lane]
        for paid in range(2):
            row = prices + PRICE_ROWS * (PRICES * j + paid * option)
            if paid == 0 or option > 0:
                _press(e, slot, load3(C, row + TO_P, lane), C, I, S, first, lane)
                _press(e + 1, slot, load3(C, row + TO_Q, lane), C, I, S, first, lane)


@kernel
def _put_contact(paths, wrap, at, x, tangent, arc, C, I, lane):
    """Fill entry `at` with a contact."""
    c, t = at * ENTRY_ROWS, at * TAG_ROWS
    for j in range(ENTRY_ROWS):
        C[c + j, lane] = 0.0
    store3(C, c + PLACE, lane, x)
    store3(C, c + SEEN, lane, x)
    store3(C, c + TANGENT, lane, tangent)
    C[c + ARC, lane] = arc
    I[t + SLOT, lane] = paths.wrap_slot[wrap]
    I[t + BODY, lane] = paths.surface_body[paths.wrap_surface[wrap]]
    I[t + OWNER, lane] = wrap
    I[t + POINT, lane] = 0


@kernel
def insert_contacts(paths, e, end, n, C, I, base, tags, most, lane):
    """Put the contacts of a stretch behind entry e of a path that ends before `end`; returns how many entries came."""
    touching = 0
    for j in range(n):
        if C[base + POSE_ROWS * most + RESULT_ROWS * j + CONTACT, lane] > 0.0:
            touching += 1
    if touching > 0:
        for j in range(end - 1, e, -1):
            move_entry(C, I, j, j + 2 * touching, lane)
    at = e + 1
    for j in range(n):
        g = base + POSE_ROWS * most + RESULT_ROWS * j
        if C[g + CONTACT, lane] > 0.0:
            wrap = I[tags + WRAP * most + j, lane]
            x, t = load3(C, g + FIRST, lane), load3(C, g + FIRST_TANGENT, lane)
            _put_contact(paths, wrap, at, x, t, 0.0, C, I, lane)
            x, t = load3(C, g + LAST, lane), load3(C, g + LAST_TANGENT, lane)
            _put_contact(paths, wrap, at + 1, x, t, C[g + GEODESIC_ARC, lane], C, I, lane)
            at += 2
    return 2 * touching


@kernel
def solve_stretch(paths, k, e, motion, C, I, S, status, base, tags, most, lane):
    """Bring path k taut between entries e and e + 1; contacts are left where `insert_contacts` finds them.

    Returns how many obstacles were looked at.
    """
    n = _gather(paths, k, e, motion, C, I, base, tags, most, lane)
    if n > 0:
        P, Q = load3(C, e * ENTRY_ROWS + PLACE, lane), load3(C, (e + 1) * ENTRY_ROWS + PLACE, lane)
        price, outcome = _shortest(paths, n, P, Q, C, I, base, tags, most, lane)
        C[e * ENTRY_ROWS + EXTRA, lane] = price
        status[k, lane] = max(status[k, lane], outcome)
        _gains(paths, k, e, n, C, I, S, base, tags, most, lane)
    return n


@kernel
def wrap_geodesic(paths, motion, C, I, counts, S, status, lane):
    """Put contacts into all current paths: taut over every surface in the way.

    Rules (the kernels `geodesic_stretch` and `geodesic_price` say more):
        Stretch  a surface acts on every stretch between two points of its range that follow each other; not where
                 one of the two is fixed inside it, as OpenSim leaves such segments alone.
        Order    of the surfaces on a stretch: as the path meets them in the model's default pose.
        Side     a cylinder with a quadrant is passed on the side that OpenSim's path takes in the default pose, for
                 half a turn of its ends about the axis either way; without one, the shorter way. Ellipsoid and sphere:
                 the shortest path; where the chord passes the centre on the wrong side of a quadrant, the way round on
                 the right side or that path with a toll, whichever is shorter (several surfaces: with the toll).
        End      a cylinder ends where its length does.
        Edges    of these rules are crossed at a price, so that the length is continuous.

    Args:
        motion: (MOTION_ROWS nodes, lanes). C, I, counts: current paths, changed; C has geodesic_rows(most) rows more
            than its entries need, I has OBSTACLE_TAGS most rows more. S: (6 slots, lanes), forces on nodes are added.
        status: (paths, lanes), written: the highest `geodesic_stretch` status of the path's stretches.
    """
    n_paths = paths.first_point.size - 1
    entries = first_entry(paths, n_paths)
    base, tags, most = entries * ENTRY_ROWS, entries * TAG_ROWS, most_wraps(paths)
    for k in range(n_paths):
        status[k, lane] = 0
        if paths.first_wrap[k + 1] == paths.first_wrap[k]:
            continue
        e = first_entry(paths, k)
        end = e + counts[k, lane]
        while e < end - 1:
            n = solve_stretch(paths, k, e, motion, C, I, S, status, base, tags, most, lane)
            came = insert_contacts(paths, e, end, n, C, I, base, tags, most, lane) if n > 0 else 0
            end += came
            e += came + 1
        counts[k, lane] = end - first_entry(paths, k)
