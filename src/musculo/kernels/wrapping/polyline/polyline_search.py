"""The shortest polyline over some solids: few knots at first, then more.

A polyline that starts somewhere ends in a shortest one near by. Which of these is the shortest of all depends on the
side of the solids that it starts on, so it starts on all.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.wrapping.polyline.polyline_solid import slack
from musculo.kernels.wrapping.polyline.polyline_starts import (
    DIRECTIONS,
    begin_along,
    begin_apart,
    first_pieces,
    right_side,
    wind,
)
from musculo.kernels.wrapping.polyline.polyline_steps import coarsen, descend, energy, newton, refine, relax

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
# Lengths that differ by less than this part are one.
_ROUNDING = 1e-7
# A polyline must be shorter than a path that is known by more than what polylines are off [m].
_AS_LONG = 3e-8
# Rows of a result: length, force on start and end of the polyline ...
LENGTH, AT_START, AT_END = 0, 1, 4
# ... and of every solid: moment and force, d(length)/d(ln size), whether it is touched, first and last contact with
# their tangents, how long the polyline is in between, and by what factor it is shrunk (for who asks for the polyline).
SOLIDS = 7
WRENCH, PRESS, TOUCHED, FIRST, LAST, FIRST_TANGENT, LAST_TANGENT, ARC, SHRINK = 0, 6, 7, 8, 11, 14, 17, 20, 21
SOLID_ROWS = 22


@kernel
def _recall(c, N):
    """Lay the polyline as it was noted."""
    for i in range(1, N):
        for j in range(3):
            c.x[i, j] = c.y[i, j]


@kernel
def _joins(w, number, N):
    """Whether the polyline at hand is about to come to rest in one of the first `number` that are kept."""
    x = w.chain.x
    for s in range(number):
        near = min(_MERGED * w.kept_length[s] / N, _MERGED_FAR)
        far, i = 0.0, 1
        # the middle first, as it is off most
        for j in range(3):
            far = max(far, math.fabs(x[N // 2, j] - w.kept[s, N // 2, j]))
        while far < near and i < N:
            for j in range(3):
                far = max(far, math.fabs(x[i, j] - w.kept[s, i, j]))
            i += 1
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
            moved = relax(c, w.form, w.pose, N, solids, reach, moved)
            if moved < 1e-7:
                break
            if _joins(w, number, N):
                return False
        for i in range(N + 1):
            for j in range(3):
                c.y[i, j] = c.x[i, j]
        before = energy(c, N)
        good = newton(c, w.form, w.pose, N, solids, 12, reach)
        # new knots begin inside
        if good and energy(c, N) <= before * (1.0 + (2e-3 if near and steps == 0 else 1e-4)):
            return True
        if 2.0 * N * before > longest * longest:
            return False
        _recall(c, N)
        if near and steps > 0:
            if descend(c, w.form, w.pose, N, solids, _DESCENT, reach) and energy(c, N) <= before * (1.0 + 1e-4):
                return True
            _recall(c, N)
        steps = max(2 * steps, 10)
    return False


@kernel
def _harvest(w, solids, N, factor):
    """Add `factor` times length and forces of the polyline at rest to the result at hand."""
    c, r = w.chain, w.result
    L = math.sqrt(2.0 * N * energy(c, N))
    r[0, LENGTH] += factor * L
    f = factor * N / L
    for j in range(3):
        r[0, AT_START + j] += f * (c.x[1, j] - c.x[0, j])
        r[0, AT_END + j] -= f * (c.x[N, j] - c.x[N - 1, j])
    for i in range(1, N):
        if c.on[i] == 0:
            continue
        x, y, z = c.x[i, 0], c.x[i, 1], c.x[i, 2]
        for k in range(solids):
            if (c.on[i] >> k) & 1:
                o = SOLIDS + SOLID_ROWS * k
                _, _, steep, _ = slack(w.form, w.pose, k, (x, y, z))
                g = -f * c.force[i, k]
                u, v, t = g * c.n[i, k, 0], g * c.n[i, k, 1], g * c.n[i, k, 2]
                r[0, o] += y * t - z * v
                r[0, o + 1] += z * u - x * t
                r[0, o + 2] += x * v - y * u
                r[0, o + 3] += u
                r[0, o + 4] += v
                r[0, o + 5] += t
                r[0, o + PRESS] -= g / steep


@kernel
def _mark_contacts(w, solids, N):
    """Where the polyline touches every solid, first and last, for paths that are shown; no part of it counts twice."""
    c, r = w.chain, w.result
    whole = r[0, LENGTH]
    done = 1
    for k in range(solids):
        o = SOLIDS + SOLID_ROWS * k
        first, last = 0, 0
        for i in range(done, N):
            if (c.on[i] >> k) & 1 and c.force[i, k] > 0.0:
                first = i if first == 0 else first
                last = i
        r[0, o + TOUCHED] = 1.0 if last > first else 0.0
        if last <= first:
            continue
        done = last
        for end in range(2):
            i = first if end == 0 else last
            l = whole / N
            for q in range(3):
                r[0, o + (FIRST if end == 0 else LAST) + q] = c.x[i, q]
                t = (c.x[i, q] - c.x[i - 1, q]) if end == 0 else (c.x[i + 1, q] - c.x[i, q])
                r[0, o + (FIRST_TANGENT if end == 0 else LAST_TANGENT) + q] = t / l
        r[0, o + ARC] = whole * (last - first) / N


@kernel
def _keep(w, s, N, take):
    """Copy the polyline of N pieces to place s of those kept, or back if `take`."""
    x = w.chain.x
    for i in range(N + 1):
        for j in range(3):
            if take:
                x[i, j] = w.kept[s, i, j]
            else:
                w.kept[s, i, j] = x[i, j]


@kernel
def _known(w, number, N):
    """Whether the polyline at hand is one of those kept."""
    x = w.chain.x
    for s in range(number):
        far = 0.0
        for q in range(1, 4):
            i = q * N // 4
            for j in range(3):
                far = max(far, math.fabs(x[i, j] - w.kept[s, i, j]))
        if far < _SAME:
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
    _keep(w, number, N, False)
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
    """Bring polyline s of those kept, of N pieces, to rest with more and more knots; result in row 0. Returns whether
    it comes to rest on the right side."""
    c, r = w.chain, w.result
    _keep(w, s, N, True)
    for i in range(N + 1):
        c.on[i] = 0
        for k in range(solids):
            c.force[i, k] = 0.0
    good, near = True, False
    before, change = 0.0, 0.0
    while good:
        # a polyline that is near moves by less than a piece; a longer step may lead to another one
        good = _settle(w, solids, N, min(reach, w.kept_length[s] / N), near, 1e300, 0)
        near = True
        now = math.sqrt(2.0 * N * energy(c, N))
        if N == KNOTS - 1:
            # errors fall with the square of the pieces' length
            if math.fabs(now - before) < 0.5 * change + _ROUNDING * now:
                _harvest(w, solids, N, 4.0 / 3.0)
                break
            # what was only just at rest with fewer knots slipped to another polyline; with fewer knots once more
            coarsen(c, N, solids)
            N, before = N // 2, 0.0
            continue
        before, change = now, math.fabs(now - before)
        if 2 * N == KNOTS - 1:
            for i in range(SOLIDS + SOLID_ROWS * solids):
                r[0, i] = 0.0
            _harvest(w, solids, N, -1.0 / 3.0)
        refine(c, N, solids)
        N *= 2
    return good and right_side(w, solids, KNOTS - 1)


@kernel
def shortest_polyline(w, solids, P, Q, points, known, limit, bends):
    """The shortest polyline from P to Q outside the first `solids` solids of w, each on its
    constrained side.

    Its length and forces are those of two polylines of KNOTS / 2 and KNOTS knots, extrapolated to any number: both are
    stationary, so that forces are the slopes of the length still. Left in row 1 of w.result. One start is along the
    first `points` points of w.way.
    Returns the length, or a negative number where none comes to rest; zero where none is shorter than a path of length
    `known` (zero: there is none), by more than the polyline may be off. Polylines longer than `limit` are of no use.
    The known path turns by theta on arcs of length a: bends = sum of theta^2 / a, so that pieces of length l cut off
    bends l^2 / 24.
    """
    apart()
    r = w.result
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
        if found and r[0, LENGTH] < best:
            best = r[0, LENGTH]
            _mark_contacts(w, solids, KNOTS - 1)
            for i in range(SOLIDS + SOLID_ROWS * solids):
                r[1, i] = r[0, i]
    if known > 0.0 and best > known - _AS_LONG:
        return 0.0
    return best if best < 1e300 else -1.0
