"""The shortest polyline over some solids: few knots at first, then more.

A polyline that starts somewhere ends in a shortest one near by. Which of these is the shortest of all depends on the
side of the solids that it starts on, so it starts on all.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.scalar.vectors import cross, scale
from musculo.kernels.wrapping.geodesic.obstacle_workspace import (
    CONTACT,
    FIRST,
    FIRST_TANGENT,
    LAST,
    LAST_TANGENT,
    LENGTH,
    OBSTACLE_ROWS,
    PRESS,
    SAVED,
)
from musculo.kernels.wrapping.polyline.polyline_chain import normal_at, put_row3, row3
from musculo.kernels.wrapping.polyline.polyline_solid import slack
from musculo.kernels.wrapping.polyline.polyline_starts import (
    DIRECTIONS,
    begin_along,
    begin_apart,
    first_pieces,
    right_side,
    wind,
)
from musculo.kernels.wrapping.polyline.polyline_steps import descend, energy, newton, refine, relax

# Knots in the end.
KNOTS = 1025
# Polylines of few pieces that are longer than the shortest by more than this part are no candidates; those that are
# longer still are not even brought to rest.
_MARGIN, _HOPELESS = 0.04, 0.15
# A polyline of few pieces is shorter than its path by what pieces cut off; it is that path if by hardly more than this,
# and by no more than this part of the length besides.
_CUT, _COARSE = 1.3 / 24.0, 3e-6
_PATIENCE = 6
# Steps of a polyline that creeps.
_DESCENT = 80
# Polylines whose middles are closer than this are one [m].
_SAME = 1e-5
# One that is this close to a polyline that is kept, over a piece and [m], and longer, will be that one. Two polylines
# that are at rest so close to each other are all but as long: by 2e-9 m over a ball of 10 mm.
_MERGED, _MERGED_FAR = 0.3, 3e-4
# A polyline must be shorter than a path that is known by more than what polylines are off [m].
_AS_LONG = 3e-8
# Places of a result: of the polyline at hand, of the shortest one, of the one that the path follows.
AT_HAND, SHORTEST, FOLLOWED = range(3)
# Moment and force on a solid, in its rows of a result; where else the rows mean something, they are an obstacle's.
WRENCH = SAVED


@kernel
def _copy(source, target, N):
    """Copy the knots of a polyline of N pieces."""
    for i in range(N + 1):
        put_row3(target, i, row3(source, i))


@kernel
def _apart(w, s, i):
    """The largest component of how far knot i is from that of kept polyline s."""
    x, far = w.chain.x, 0.0
    for j in range(3):
        far = max(far, math.fabs(x[i, j] - w.kept[s, i, j]))
    return far


@kernel
def _joins(w, number, N):
    """Whether the polyline at hand is about to come to rest in one of the first `number` that are kept."""
    for s in range(number):
        near = min(_MERGED * w.kept_length[s] / N, _MERGED_FAR)
        # the middle first, as it is off most
        far, i = _apart(w, s, N // 2), 1
        while far < near and i < N:
            far, i = max(far, _apart(w, s, i)), i + 1
        if far < near and 2.0 * N * energy(w.chain, N) >= w.kept_length[s] ** 2:
            return True
    return False


@kernel
def _settle(w, solids, N, reach, near, longest, number):
    """Relax (not at first where the polyline is `near`) until Newton's method comes to rest; whether it did before it
    was clear that the polyline stays longer than `longest`, or joins one of the first `number` that are kept. Near its
    rest a polyline that creeps descends instead."""
    c = w.chain
    steps = 0 if near else 10
    for _ in range(_PATIENCE):
        moved = 0.0
        for _ in range(steps):
            moved = relax(w, N, solids, reach, moved)
            if moved < 1e-7:
                break
            if _joins(w, number, N):
                return False
        _copy(c.x, c.y, N)
        before = energy(c, N)
        good = newton(w, N, solids, 12, reach)
        # new knots begin inside
        if good and energy(c, N) <= before * (1.0 + (2e-3 if near and steps == 0 else 1e-4)):
            return True
        if 2.0 * N * before > longest * longest:
            return False
        _copy(c.y, c.x, N)
        if near and steps > 0:
            if descend(w, N, solids, _DESCENT, reach) and energy(c, N) <= before * (1.0 + 1e-4):
                return True
            _copy(c.y, c.x, N)
        steps = max(2 * steps, 10)
    return False


@kernel
def _harvest(w, solids, N, factor):
    """Add `factor` times length and forces of the polyline at rest to the result at hand."""
    c, solid = w.chain, w.solid
    L = math.sqrt(2.0 * N * energy(c, N))
    w.length[AT_HAND] += factor * L
    f = factor * N / L
    for j in range(3):
        w.pull[AT_HAND, 0, j] += f * (c.x[1, j] - c.x[0, j])
        w.pull[AT_HAND, 1, j] -= f * (c.x[N, j] - c.x[N - 1, j])
    for i in range(1, N):
        for k in range(solids):
            if (c.on[i] >> k) & 1:
                x = row3(c.x, i)
                _, _, steep, _ = slack(w, k, x)
                force = scale(-f * c.force[i, k], normal_at(c, i, k))
                moment = cross(x, force)
                for j in range(3):
                    solid[AT_HAND, k, WRENCH + j] += moment[j]
                    solid[AT_HAND, k, WRENCH + 3 + j] += force[j]
                solid[AT_HAND, k, PRESS] += f * c.force[i, k] / steep


@kernel
def _mark_contacts(w, solids, N):
    """Where the polyline touches every solid, first and last, for paths that are shown; no part of it counts twice."""
    c, piece, done = w.chain, w.length[AT_HAND] / N, 1
    for k in range(solids):
        r, first, last = w.solid[AT_HAND, k], 0, 0
        for i in range(done, N):
            if (c.on[i] >> k) & 1 and c.force[i, k] > 0.0:
                first = i if first == 0 else first
                last = i
        r[CONTACT] = 1.0 if last > first else 0.0
        if last <= first:
            continue
        done = last
        for j in range(3):
            r[FIRST + j], r[LAST + j] = c.x[first, j], c.x[last, j]
            r[FIRST_TANGENT + j] = (c.x[first, j] - c.x[first - 1, j]) / piece
            r[LAST_TANGENT + j] = (c.x[last + 1, j] - c.x[last, j]) / piece
        r[LENGTH] = w.length[AT_HAND] * (last - first) / N


@kernel
def copy_result(w, source, target):
    """Copy one result to the place of another."""
    w.length[target] = w.length[source]
    for end in range(2):
        for j in range(3):
            w.pull[target, end, j] = w.pull[source, end, j]
    for k in range(w.solid.shape[1]):
        for i in range(OBSTACLE_ROWS):
            w.solid[target, k, i] = w.solid[source, k, i]


@kernel
def _known(w, number, N):
    """Whether the polyline at hand is one of those kept."""
    for s in range(number):
        if max(_apart(w, s, N // 4), max(_apart(w, s, N // 2), _apart(w, s, 3 * N // 4))) < _SAME:
            return True
    return False


@kernel
def _try(w, solids, N, reach, number, least):
    """Bring the polyline that is laid to rest and keep it, if it is on the right side and new: (how many are kept, the
    length of the shortest)."""
    apart()
    wind(w, solids, N)
    if not _settle(w, solids, N, reach, False, least * (1.0 + _HOPELESS), number):
        return number, least
    length = math.sqrt(2.0 * N * energy(w.chain, N))
    if not right_side(w, solids, N) or _known(w, number, N):
        return number, least
    _copy(w.chain.x, w.kept[number], N)
    w.kept_length[number] = length
    return number + 1, min(least, length)


@kernel
def _candidates(w, solids, P, Q, points, N, reach):
    """Find polylines of N pieces from all starts into w.kept: (how many, the length of the
    shortest)."""
    number, least = 0, 1e300
    for start in range(-1 if points > 1 else 0, DIRECTIONS):
        if start < 0:
            begin_along(w, points, N)
        else:
            begin_apart(w, solids, P, Q, start, N)
        number, least = _try(w, solids, N, reach, number, least)
    return number, least


@kernel
def _finish(w, solids, s, N, reach):
    """Bring polyline s of those kept, of N pieces, to rest with more and more knots; result AT_HAND. Returns whether
    it comes to rest on the right side."""
    c = w.chain
    _copy(w.kept[s], c.x, N)
    for i in range(N + 1):
        c.on[i] = 0
        for k in range(solids):
            c.force[i, k] = 0.0
    good, near = True, False
    while good:
        # a polyline that is near moves by less than a piece; a longer step may lead to another one
        good = _settle(w, solids, N, min(reach, w.kept_length[s] / N), near, 1e300, 0)
        near = True
        if N == KNOTS - 1:
            # errors fall with the square of the pieces' length
            _harvest(w, solids, N, 4.0 / 3.0)
            break
        if 2 * N == KNOTS - 1:
            w.length[AT_HAND], w.pull[AT_HAND], w.solid[AT_HAND] = 0.0, 0.0, 0.0
            _harvest(w, solids, N, -1.0 / 3.0)
        refine(c, N, solids)
        N *= 2
    return good and right_side(w, solids, KNOTS - 1)


@kernel
def shortest_polyline(w, solids, P, Q, points, known, limit, bends):
    """The shortest polyline from P to Q outside the first `solids` solids of w, each on its
    constrained side.

    Its length and forces are those of two polylines of KNOTS / 2 and KNOTS knots, extrapolated to any number: both are
    stationary, so that forces are the slopes of the length still. It is the result SHORTEST. One start is along the
    first `points` points of w.way.
    Returns the length, or a negative number where none comes to rest; zero where none is shorter than a path of length
    `known` (zero: there is none), by more than the polyline may be off. Polylines longer than `limit` are of no use.
    The known path turns by theta on arcs of length a: bends = sum of theta^2 / a, so that pieces of length l cut off
    bends l^2 / 24.
    """
    apart()
    reach = 0.3
    N = first_pieces(w, solids, P, Q)
    limit = min(limit, known) if known > 0.0 else limit
    number, least = _candidates(w, solids, P, Q, points, N, reach)
    near, best = 0, 1e300
    # pieces cut corners, so that a polyline is no shorter with more of them
    longest = min(least * (1.0 + _MARGIN), limit)
    for s in range(number):
        near += w.kept_length[s] <= longest
    if near == 1 and known > 0.0 and known - least < _CUT * bends * (known / N) ** 2 + _COARSE * known:
        return 0.0
    for s in range(number):
        found = False
        if w.kept_length[s] <= longest:
            found = _finish(w, solids, s, N, reach)
        if found and w.length[AT_HAND] < best:
            best = w.length[AT_HAND]
            _mark_contacts(w, solids, KNOTS - 1)
            copy_result(w, AT_HAND, SHORTEST)
    if known > 0.0 and best > known - _AS_LONG:
        return 0.0
    return best if best < 1e300 else -1.0
