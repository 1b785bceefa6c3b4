"""Steps of a polyline towards rest: three kinds, all of which solve the chain of `polyline_chain`.

`relax`: every solid is replaced, for each knot, by a half-space outside it, and the least F found; F falls from step to
step and no knot is ever inside after the first (but for rings, where steps are short). `newton`: the conditions
themselves, with the bending of the solids; it converges in a few steps where the set of contacts is known. `descend`:
between the two, with as much of the bending as still leads downhill, for polylines that are about to slip.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.paths.path_points import TORUS
from musculo.kernels.scalar.vectors import add, add_scaled, dot, scale, subtract
from musculo.kernels.wrapping.polyline.polyline_chain import normal_at, put_row3, row3, solve
from musculo.kernels.wrapping.polyline.polyline_solid import bend, slack

# After a step of Newton's method in which no knot moves more than this [m] the next leaves nothing but rounding.
REST = 1e-9
# A knot is inside a plane, and one that touches inside it so far that it stays whatever its force [m].
_INSIDE, _PULLED = -1e-15, -1e-12
# Times that contacts may change in a step.
_ROUNDS = 25


@kernel
def look(w, N, solids, bent):
    """Slacks and normals of all knots, and the bending of the solids by the present forces: all of it if `bent`, else
    that which holds knots in place (see `bend`), without which steps in the hole of a ring are too long."""
    c = w.chain
    for i in range(1, N):
        for j in range(6):
            c.B[i, j] = 0.0
        for k in range(solids):
            s, n, _, y = slack(w, k, row3(c.x, i))
            c.s[i, k] = s
            c.n[i, k, 0], c.n[i, k, 1], c.n[i, k, 2] = n
            if (bent or int(w.form[k, 0]) == TORUS) and c.force[i, k] > 0.0:
                h = bend(w, k, y, not bent)
                for j in range(6):
                    c.B[i, j] -= c.force[i, k] * h[j]


@kernel
def _step_size(c, N):
    """The largest component of the step."""
    largest = 0.0
    for i in range(1, N):
        for j in range(3):
            largest = max(largest, math.fabs(c.d[i, j]))
    return largest


@kernel
def _allowed(c, form, N, solids, reach):
    """How much of the step may be taken, at most 1: no knot moves further than `reach`, and none near a ring further
    than what keeps it on its side of the tube: its distance, or part of the tube's radius and of the hole's."""
    factor = 1.0
    for k in range(solids):
        ring = int(form[k, 0]) == TORUS
        if k > 0 and not ring:
            continue
        least = 0.4 * min(form[k, 4], form[k, 5] - form[k, 4]) if ring else reach
        for i in range(1, N):
            size = max(math.fabs(c.d[i, 0]), max(math.fabs(c.d[i, 1]), math.fabs(c.d[i, 2])))
            most = min(reach, max(least, 0.5 * c.s[i, k])) if ring else reach
            if factor * size > most:
                factor = most / size
    return factor


@kernel
def _move(c, N, factor):
    """Take so much of the step."""
    for i in range(1, N):
        put_row3(c.x, i, add_scaled(row3(c.x, i), factor, row3(c.d, i)))


@kernel
def _gap(c, i, k):
    """How far the step leaves knot i outside the plane of solid k."""
    return dot(normal_at(c, i, k), row3(c.d, i)) + c.s[i, k]


@kernel
def _contacts_change(c, N, solids, one):
    """Let contacts come where the step leads inside, and go where a force pulls; how many do.

    If `one`, only the one that is furthest off does: where all change at once, two sets may follow each other for ever.
    """
    changed, worst, knot, solid = 0, 0.0, 0, 0
    for i in range(1, N):
        on = 0
        for k in range(solids):
            gap = _gap(c, i, k)
            was = (c.on[i] >> k) & 1
            if was:
                touches = c.force[i, k] > 0.0 or gap < _PULLED
            else:
                touches = gap < _INSIDE
            if touches:
                on |= 1 << k
            # force and gap are both lengths
            off = -c.force[i, k] if was else -gap
            if touches != (was == 1) and (changed == 0 or off > worst):
                worst, knot, solid = off, i, k
                changed = max(changed, 1)
        if on != c.on[i] and not one:
            changed += 1
            c.on[i] = on
    if one and changed > 0:
        c.on[knot] ^= 1 << solid
    return changed


@kernel
def _deepest_touch(c, N, solids):
    """As `_contacts_change`, but in a row of knots that are inside only the deepest one comes; how many change.

    Where all of them came, those that the polyline has no need of would go one a round from the ends of the row. So the
    row is halved instead from round to round.
    """
    changed = 0
    for k in range(solids):
        bit, deepest, knot = 1 << k, _INSIDE, 0
        for i in range(1, N + 1):
            gap = _gap(c, i, k) if i < N else 0.0
            on = i < N and c.on[i] & bit != 0
            if not on and gap < deepest:
                deepest, knot = gap, i
            if knot > 0 and (on or gap >= _INSIDE):
                c.on[knot] |= bit
                changed, deepest, knot = changed + 1, _INSIDE, 0
            if on and not (c.force[i, k] > 0.0 or gap < _PULLED):
                c.on[i] ^= bit
                changed += 1
    return changed


@kernel
def _hold(c, N, solids, rounds):
    """The step with the contacts that it asks for, in so many rounds."""
    for i in range(rounds):
        solve(c, N, solids)
        changed = _contacts_change(c, N, solids, True) if 2 * i > rounds else _deepest_touch(c, N, solids)
        if changed == 0:
            break


@kernel
def relax(w, N, solids, reach, moved):
    """One step to the least F with all solids replaced by half-spaces; the largest shift [m].

    `moved`: the largest shift of the step before. After one by more than a piece the contacts are others, and are found
    sooner from none.
    """
    apart()
    c = w.chain
    look(w, N, solids, False)
    if moved * moved * N > 2.0 * energy(c, N):
        for i in range(1, N):
            c.on[i] = 0
    _hold(c, N, solids, _ROUNDS)
    size = _step_size(c, N)
    _move(c, N, _allowed(c, w.form, N, solids, reach))
    return size


@kernel
def newton(w, N, solids, most, reach):
    """Newton's method from here: 1 where it comes to rest with contacts that press and nothing inside, else 0.

    In so many steps, and as many more in which contacts change one at a time.
    """
    apart()
    c, rests = w.chain, 0
    for i in range(2 * most):
        look(w, N, solids, True)
        solve(c, N, solids)
        size = _step_size(c, N)
        if not size < reach or _allowed(c, w.form, N, solids, reach) < 1.0:
            return 0
        changed = _contacts_change(c, N, solids, i >= most)
        _move(c, N, 1.0)
        # once more, as normals are those before the step
        rests = rests + 1 if size < REST and changed == 0 else 0
        if rests == 2:
            return 1
    return 0


@kernel
def _downhill(c, N):
    """How much the step lowers F to first order: minus its slope times the step."""
    total = 0.0
    for i in range(1, N):
        pull = add_scaled(add(row3(c.x, i - 1), row3(c.x, i + 1)), -2.0, row3(c.x, i))
        total += dot(row3(c.d, i), pull)
    return total


@kernel
def descend(w, N, solids, most, reach):
    """Steps with part of the bending, more from step to step while that leads downhill: 1 at rest, else 0.

    For a polyline that is about to slip: F is all but flat along one direction. `relax` creeps there, and Newton's
    method leads uphill, to where the polyline would be balanced. Between the two, with all but a part `left` of the
    bending, steps are up to 1 / left times as long as those of `relax`.
    """
    apart()
    c, left, last, rests = w.chain, 1.0, 1e300, 0
    for _ in range(most):
        look(w, N, solids, True)
        for i in range(1, N):
            for j in range(6):
                c.B[i, j] *= 1.0 - left
        _hold(c, N, solids, _ROUNDS)
        size = _step_size(c, N)
        rests = rests + 1 if size < REST else 0
        if rests == 2:
            return 1
        if left < 1.0 and rests == 0 and (size > reach or _downhill(c, N) < 0.0):
            left, last = min(1.0, 8.0 * left), 1e300
            continue
        _move(c, N, _allowed(c, w.form, N, solids, reach))
        # about the slope, which may not grow
        slope = size * left
        left = 0.5 * left if slope < 1.5 * last else min(1.0, 4.0 * left)
        last = slope
    return 0


@kernel
def energy(c, N):
    """F [m^2]."""
    total = 0.0
    for i in range(N):
        piece = subtract(row3(c.x, i + 1), row3(c.x, i))
        total += dot(piece, piece)
    return 0.5 * total


@kernel
def refine(c, N, solids):
    """Put a knot into the middle of every piece: N pieces become 2 N; contacts and forces go with the knots."""
    for i in range(N, -1, -1):
        put_row3(c.x, 2 * i, row3(c.x, i))
        c.on[2 * i] = c.on[i]
        for k in range(solids):
            c.force[2 * i, k] = 0.25 * c.force[i, k]
    for i in range(1, 2 * N, 2):
        put_row3(c.x, i, scale(0.5, add(row3(c.x, i - 1), row3(c.x, i + 1))))
        c.on[i] = c.on[i - 1] & c.on[i + 1]
        for k in range(solids):
            c.force[i, k] = 0.5 * (c.force[i - 1, k] + c.force[i + 1, k]) if (c.on[i] >> k) & 1 else 0.0
