"""What it costs to pass a cylinder the other way round than its quadrant says, or to leave it out near its end.

A rule that is broken saves a length. A penalty that falls from that to nothing, as evenly as can be, on the way from
where the rule cannot be broken (the reach) to its edge, gives the shortest moment arms there:

    penalty = max(rate x, saved x / reach)   [m],   0 < x < reach: how far it is to the rule's edge

Where the rule saves less than rate x it is kept. What is saved is the length over this cylinder alone by the rule, less
that without it, both in closed form (`round_obstacle.taut_cylinder`). Among other surfaces a path may save more, and

    rate x^2 / (reach - x)

is added, so that no rule is broken at its reach, whatever that would save.

Source: none; the rule is ours. Departs from OpenSim, whose path jumps where it changes its way round or meets an end.
Guarantees: penalties are continuous functions of P and Q, by which they are differentiated exactly.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.scalar.scalar_jets import (
    angle,
    inner,
    minus,
    over,
    plus,
    root,
    times,
    unit_times,
    weigh,
    with_slopes,
)
from musculo.kernels.wrapping.geodesic.round_obstacle import principal

# Meters of length for every meter from the edge of a rule. The steeper, the nearer to their edge rules hold, and the
# longer moment arms are there: with 8, an arm of 15 mm (MoBL-ARMS, ECRL at the elbow) was one of 260 mm over half a
# degree, and the longest of 600 random poses 494 mm; with 2 they are 60 and less than 300 mm.
END_RATE = 2.0
# The penalty of what cannot be broken.
NEVER = 1e300
# Meters of length for every meter along the girth from the edge of the way that is constrained, and how far from there
# another may be taken [rad]. At half that rate a thin cylinder was left at a right angle already.
TURN_RATE, TURN_REACH = 4.0, 1.0
# Over half a cylinder's length: within so much of where it ceases to count it may be left out. A lone one counts half
# as far beyond its end: muscles that OpenSim keeps on a tilted cylinder were lost 30 degrees earlier else. Beside other
# surfaces it counts up to its end, as paths that pass there are dear to search (arm26: twice the time for TRIlong).
_REACH = 0.25
_NONE = (0.0, 0.0, 0.0)


@kernel
def turn_near(reference, P, Q):
    """The turn about z from P to Q that is within half a turn of the reference [rad]."""
    return reference + principal(math.atan2(Q[1], Q[0]) - math.atan2(P[1], P[0]) - reference)


@kernel
def _far_end(half, lone):
    """Where a cylinder ceases to count, from its middle [m]."""
    return (1.0 + 0.5 * _REACH) * half if lone else half


@kernel
def _plain(x):
    """A number without slopes."""
    return x, 0.0, 0.0


@kernel
def _magnitude(x):
    """|x|."""
    return weigh(-1.0, x) if x[0] < 0.0 else x


@kernel
def _tangent(d, r):
    """Length of the tangent from a point, and the angle it is seen under from the axis; none from the surface."""
    if d[0] <= r[0]:
        return _plain(0.0), _plain(0.0)
    h = root(times(minus(d, r), plus(d, r)))
    return h, angle(h, r)


@kernel
def _taut(r, d_P, d_Q, rise, turn, chord):
    """Length of the taut path that turns by `turn` >= 0 about a cylinder, shrunk to the nearer end where that is
    inside; the chord where it is not touched."""
    nearer = d_P if d_P[0] < d_Q[0] else d_Q
    radius = nearer if nearer[0] < r else _plain(r)
    h_P, lean_P = _tangent(d_P, radius)
    h_Q, lean_Q = _tangent(d_Q, radius)
    wrap = minus(turn, plus(lean_P, lean_Q))
    if not wrap[0] > 0.0:
        return chord
    flat = plus(plus(h_P, h_Q), times(radius, wrap))
    return root(plus(times(flat, flat), times(rise, rise)))


@kernel
def _due(rate, x, saved, reach, lone):
    """The penalty at x from the edge of a rule that saves so much; NEVER beyond the reach, and where a lone cylinder's
    rule costs more to break than that saves."""
    if x[0] >= reach or (lone and rate * x[0] >= saved[0]):
        return _plain(NEVER)
    due = weigh(rate, x)
    if saved[0] > rate * reach:
        due = weigh(1.0 / reach, times(x, saved))
    if lone:
        return due
    return plus(due, over(weigh(rate, times(x, x)), minus(_plain(reach), x)))


@kernel
def _ways(r, reference, P, Q, d_P, d_Q, lone):
    """Taut lengths by the turn near the reference and by the other way round, what that costs, and the chord."""
    d = (minus(Q[0], P[0]), minus(Q[1], P[1]), minus(Q[2], P[2]))
    chord = root(inner(d, d))
    if d_P[0] == 0.0 or d_Q[0] == 0.0:
        # from the axis there is no way round
        return chord, chord, _plain(NEVER), chord
    between = minus(angle(Q[1], Q[0]), angle(P[1], P[0]))
    off = plus(between, _plain(principal(between[0] - reference) - between[0]))
    turn = _magnitude(plus(off, _plain(reference)))
    constrained = _taut(r, d_P, d_Q, d[2], turn, chord)
    other = _taut(r, d_P, d_Q, d[2], _magnitude(minus(_plain(2.0 * math.pi), turn)), chord)
    left = minus(_plain(math.pi), _magnitude(off))
    return constrained, other, _due(TURN_RATE * r, left, minus(constrained, other), TURN_REACH, lone), chord


@kernel
def _penalty(end, half, r, constrained, reference, P, Q, lone):
    """The penalty of `penalty_of_end`, or of `penalty_of_turn`; all numbers have slopes."""
    apart()
    d_P = root(plus(times(P[0], P[0]), times(P[1], P[1])))
    d_Q = root(plus(times(Q[0], Q[0]), times(Q[1], Q[1])))
    kept, other, penalty, chord = _ways(r, reference if constrained else 0.0, P, Q, d_P, d_Q, lone)
    if not end:
        return penalty
    if constrained and other[0] + penalty[0] < kept[0]:
        kept = plus(other, penalty)
    z = over(plus(times(P[2], d_Q), times(Q[2], d_P)), plus(d_P, d_Q))
    x = minus(_plain(_far_end(half, lone)), _magnitude(z))
    return _due(END_RATE, x, minus(kept, chord), _REACH * half, lone)


@kernel
def _penalty_and_slopes(end, half, r, constrained, reference, P, Q, lone):
    """A penalty, d(penalty)/dP and d(penalty)/dQ; they are worked out only where it can be paid."""
    p, q = with_slopes(P, _NONE, _NONE), with_slopes(Q, _NONE, _NONE)
    penalty = _penalty(end, half, r, constrained, reference, p, q, lone)[0]
    if penalty >= NEVER:
        return NEVER, _NONE, _NONE
    x, y, z = _NONE, _NONE, _NONE
    for i in range(3):
        at_P, at_Q = with_slopes(P, unit_times(i, 1.0), _NONE), with_slopes(Q, _NONE, unit_times(i, 1.0))
        _, by_P, by_Q = _penalty(end, half, r, constrained, reference, at_P, at_Q, lone)
        x, y, z = y, z, (by_P, by_Q, 0.0)
    return penalty, (x[0], y[0], z[0]), (x[1], y[1], z[1])


@kernel
def penalty_of_turn(r, reference, P, Q, lone):
    """A cylinder passed by the shorter way instead of the one nearest to the turn `reference`.

        x = r (pi - |turn - reference|),   turn - reference within (-pi, pi],   saved = constrained - other way

    Where no other surface is about (`lone`) the shorter way is the shorter path; among others it need not be, and the
    edge of the rule is crossed from either side at a penalty.

    Returns turn [rad], penalty (NEVER from TURN_REACH off the edge on, and where keeping to the rule is cheaper),
    d(penalty)/dP, d(penalty)/dQ.
    """
    turn = turn_near(reference, P, Q)
    if math.pi - math.fabs(turn - reference) >= TURN_REACH or (lone and math.fabs(turn) <= math.pi):
        return turn, NEVER, _NONE, _NONE
    penalty, to_P, to_Q = _penalty_and_slopes(False, 0.0, r, True, reference, P, Q, lone)
    return turn, penalty, to_P, to_Q


@kernel
def penalty_of_end(half, r, constrained, reference, P, Q, lone):
    """A cylinder of length 2 half left out: the contact's middle is taken where distances to the axis divide the chord.

        x = far end - |z|,   z = (z_P d_Q + z_Q d_P) / (d_P + d_Q),   saved = length over the cylinder - chord

    The way over the cylinder is the one that is constrained, or the other one and its penalty; the shorter one if none
    is constrained.

    Returns penalty (zero beyond the far end, NEVER further from it than the reach, and where keeping to the rule is
    cheaper), d(penalty)/dP, d(penalty)/dQ.
    """
    d_P, d_Q = math.sqrt(P[0] * P[0] + P[1] * P[1]), math.sqrt(Q[0] * Q[0] + Q[1] * Q[1])
    whole = d_P + d_Q
    if whole == 0.0:
        return NEVER, _NONE, _NONE
    x = _far_end(half, lone) - math.fabs((P[2] * d_Q + Q[2] * d_P) / whole)
    if x <= 0.0:
        return 0.0, _NONE, _NONE
    if x >= _REACH * half:
        return NEVER, _NONE, _NONE
    return _penalty_and_slopes(True, half, r, constrained, reference, P, Q, lone)
