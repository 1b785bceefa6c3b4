"""How much longer a path over an ellipsoid is on the side that its quadrant asks for than on the other.

A plane through the straight line from P to Q cuts the ellipsoid in an ellipse; the taut path within the plane passes on
one side of the line. Turned about the line the plane gives a path for every side. With L(side) their lengths,

    detour = max(0, min(L(opposite) - wrong, STEEP (right - wrong)))

where `right` is the least L on the quadrant's half, the sides whose component along the quadrant's axis has its sign or
is zero, `wrong` that on the other half, and `opposite` the side that points from the line to the centre and beyond: the
long way round, as on a sphere. So nothing is due where the shortest path is on the quadrant's half, and almost as soon
as it leaves that half the long way round is.

Both minima are over closed half turns, so they, and the detour, are continuous functions of P and Q, but where the line
passes the centre; a geodesic on the quadrant's side, which may come and go as P and Q move, is not asked for. All of it
is done in coordinates in which the ellipsoid is the unit sphere (`geodesic_guess` starts paths from the same planes).
The arc's length is a sum of 16 Gauss points for semi-axes within 4 to 1, of more for flatter ellipsoids. No end may lie
inside.

Source: none; the rule is ours. Departs from OpenSim, which takes a plane section on the quadrant's side for the path.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.jet import angle, cosine, direction, inner, minus, outer, plus, root, sine, times, weigh
from musculo.kernels.jit import apart, kernel
from musculo.kernels.vector import add, add_scaled, cross, dot, scale, subtract

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# How fast the long way round falls due where the shortest path leaves the quadrant's half.
STEEP = 8.0
# Sides of a half turn that are looked at; minima between them are refined. Flat ellipsoids have narrow ones: as many
# sides more, and parts of the arc, for every so much of the ratio of the longest to the shortest semi-axis.
_SIDES = 24
_FLAT, _MOST = 4.0, 6.0
_REFINEMENTS = 40
_HALVINGS = 12
# A side is found where Newton's step is as small [rad].
_STILL = 1e-12
# An end is on the surface where the square of its distance from the centre is less beyond that.
_ON_SURFACE = 1e-8
_ZERO = (0.0, 0.0, 0.0)
# Beside the three axes that may hold a side: the centre does.
OPPOSITE = 3


@kernel
def _jets(x, by_a, by_b):
    """A vector with its slopes along two directions."""
    return (x[0], by_a[0], by_b[0], 0.0), (x[1], by_a[1], by_b[1], 0.0), (x[2], by_a[2], by_b[2], 0.0)


@kernel
def _flatness(a):
    """How many times the usual number of sides and Gauss points an ellipsoid needs."""
    ratio = max(a[0], max(a[1], a[2])) / min(a[0], min(a[1], a[2]))
    return 1 + int(min(_MOST, ratio / _FLAT))


@kernel
def _stretched(t, E, H, K):
    """Length on the ellipsoid of the sphere's unit tangent -sin(t) side + cos(t) u."""
    c, s = cosine(t), sine(t)
    square = plus(times(E, times(s, s)), times(K, times(c, c)))
    return root(minus(square, weigh(2.0, times(H, times(s, c)))))


@kernel
def _tangent(out):
    """Length of the tangent from an end: none from one on the surface, which a root would not be smooth at."""
    return root(out) if out[0] > _ON_SURFACE else (0.0, 0.0, 0.0, 0.0)


@kernel
def _section(a, P, Q, side, axis, turn):
    """Length of the taut path in the plane on one side of the line P Q, all numbers with slopes (`jet`).

    With p, q the places of P and Q along the line, y that of the line along `side`, rho the radius of the circle in
    which the plane cuts the sphere, g(t) how much a tangent at the angle t is stretched on the ellipsoid:

        L = l_P g(t_P) + rho integral of g from t_P to t_Q + l_Q g(t_Q),   l = sqrt(|P|^2 - 1)
        t_P = atan2(p, y) + atan2(l_P, rho),   t_Q = atan2(q, y) - atan2(l_Q, rho)

    Args:
        a: semi-axes [m]. P, Q: vectors in the sphere's coordinates.
        side: plain unit vector across the line. axis: -1, or one that the side stays across as the line moves, or
            OPPOSITE: the side stays opposite to the line as seen from the centre.
        turn: by how much the plane is turned from there [rad].
    """
    apart()
    d = (minus(Q[0], P[0]), minus(Q[1], P[1]), minus(Q[2], P[2]))
    u = direction(d)
    if axis < 0 or axis == OPPOSITE:
        s = _jets(side, _ZERO, _ZERO)
        if axis == OPPOSITE:
            s = (weigh(-1.0, P[0]), weigh(-1.0, P[1]), weigh(-1.0, P[2]))
        along = inner(s, u)
        s = (minus(s[0], times(along, u[0])), minus(s[1], times(along, u[1])), minus(s[2], times(along, u[2])))
    else:
        e = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        s = outer(u, _jets(e, _ZERO, _ZERO))
        if s[0][0] * side[0] + s[1][0] * side[1] + s[2][0] * side[2] < 0.0:
            s = (weigh(-1.0, s[0]), weigh(-1.0, s[1]), weigh(-1.0, s[2]))
    s = direction(s)
    v = outer(u, s)
    c, t = cosine(turn), sine(turn)
    s = (
        plus(times(c, s[0]), times(t, v[0])),
        plus(times(c, s[1]), times(t, v[1])),
        plus(times(c, s[2]), times(t, v[2])),
    )
    E, H, K = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
    for i in range(3):
        square = a[i] * a[i]
        E = plus(E, weigh(square, times(s[i], s[i])))
        H = plus(H, weigh(square, times(s[i], u[i])))
        K = plus(K, weigh(square, times(u[i], u[i])))
    one = (1.0, 0.0, 0.0, 0.0)
    p, q, y = inner(P, u), inner(Q, u), inner(P, s)
    out_P, out_Q = minus(inner(P, P), one), minus(inner(Q, Q), one)
    l_P, l_Q = _tangent(out_P), _tangent(out_Q)
    rho = root(minus(plus(times(p, p), times(y, y)), out_P))
    first, last = plus(angle(p, y), angle(l_P, rho)), minus(angle(q, y), angle(l_Q, rho))
    parts = _flatness(a)
    half = weigh(0.5 / parts, minus(last, first))
    arc = (0.0, 0.0, 0.0, 0.0)
    for k in range(parts):
        for i in range(_NODES.size):
            t = plus(first, weigh(2 * k + 1.0 + _NODES[i], half))
            arc = plus(arc, weigh(_WEIGHTS[i], _stretched(t, E, H, K)))
    arc = times(arc, times(half, rho))
    arc = plus(arc, times(l_P, _stretched(first, E, H, K)))
    return plus(arc, times(l_Q, _stretched(last, E, H, K)))


@kernel
def _at(a, P, Q, across, v, way, psi):
    """At an angle of a half turn: (side, length, its slope, its bend); P and Q are plain."""
    c, s = math.cos(psi), math.sin(psi)
    side = (c * across[0] + s * v[0], c * across[1] + s * v[1], c * across[2] + s * v[2])
    L = _section(a, _jets(P, _ZERO, _ZERO), _jets(Q, _ZERO, _ZERO), side, -1, (0.0, way, way, 0.0))
    return side, L[0], L[1], L[3]


@kernel
def _bottom(a, P, Q, across, v, way, low, high):
    """The least length between an angle where it falls and one where it rises, by Newton's method: (side, length)."""
    psi = 0.5 * (low + high)
    side, length, slope, bend = _at(a, P, Q, across, v, way, psi)
    for _ in range(_REFINEMENTS):
        step = -slope / bend if bend > 0.0 else 1e300
        if math.fabs(step) < _STILL:
            break
        low, high = (low, psi) if slope > 0.0 else (psi, high)
        psi = psi + step if low < psi + step < high else 0.5 * (low + high)
        side, length, slope, bend = _at(a, P, Q, across, v, way, psi)
    return side, length


@kernel
def _turning(a, P, Q, across, v, way, low, high, bent, wanted):
    """An angle between two where the slope has the sign `wanted`, found by halving for where its bend changes from that
    of `bent`; -1 where there is none."""
    for _ in range(_HALVINGS):
        psi = 0.5 * (low + high)
        _, _, slope, bend = _at(a, P, Q, across, v, way, psi)
        if slope * wanted > 0.0:
            return psi
        low, high = (psi, high) if (bend > 0.0) == (bent > 0.0) else (low, psi)
    return -1.0


@kernel
def _lowest(a, axis, P, Q, across, way):
    """The shortest of the paths on the sides of a half turn: from `across` round the line (way = 1: right-handed, -1:
    left-handed) to its opposite. Returns (length, side, what holds it there: the axis at an edge, -1 nothing).

    A minimum lies where the slope of the length turns positive between two sides. Where it has one sign at both, but
    bends say that it turns back between them, there may be a minimum and a maximum.
    """
    u = subtract(Q, P)
    n = way / math.sqrt(dot(u, u))
    v = cross(u, across)
    v = (n * v[0], n * v[1], n * v[2])
    sides = _SIDES * _flatness(a)
    best, best_side, held = 1e300, across, axis
    before, bent = 0.0, 0.0
    for i in range(sides + 1):
        low, high = math.pi * (i - 1) / sides, math.pi * i / sides
        side, length, slope, bend = _at(a, P, Q, across, v, way, high)
        if i % sides == 0 and length < best:
            best, best_side, held = length, side, axis
        if i > 0:
            between = before < 0.0 <= slope
            if before * slope > 0.0 and bent * before < 0.0 < bend * slope:
                turns = _turning(a, P, Q, across, v, way, low, high, bent, -slope)
                between = turns >= 0.0
                low, high = (low, turns) if slope < 0.0 else (turns, high)
            if between:
                side, length = _bottom(a, P, Q, across, v, way, low, high)
                if length < best:
                    best, best_side, held = length, side, -1
        before, bent = slope, bend
    return best, best_side, held


@kernel
def _paths(a, axis, sign, P, Q):
    """The shortest path on the quadrant's half, on the other, and the long way round, as `_lowest`; P and Q in the
    sphere's coordinates. Zero lengths where the line runs along the quadrant's axis or through the centre, and has no
    halves."""
    d = subtract(Q, P)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    far = math.sqrt(d[i] * d[i] + d[j] * d[j])
    m = add_scaled(P, -dot(P, d) / dot(d, d), d)
    away = dot(m, m)
    if far == 0.0 or away == 0.0:
        return (0.0, _ZERO, -1), (0.0, _ZERO, -1), (0.0, _ZERO, -1)
    # d x (the quadrant's axis); turned on right-handed it goes away from that axis
    y, z = d[j] / far, -d[i] / far
    across = (0.0, y, z) if axis == 0 else ((z, 0.0, y) if axis == 1 else (y, z, 0.0))
    long_way = _section(a, _jets(P, _ZERO, _ZERO), _jets(Q, _ZERO, _ZERO), _ZERO, OPPOSITE, (0.0, 0.0, 0.0, 0.0))
    return _lowest(a, axis, P, Q, across, -sign), _lowest(a, axis, P, Q, across, sign), (long_way[0], _ZERO, OPPOSITE)


@kernel
def _slope_along(a, P, Q, found, dP, dQ, eP, eQ, turn):
    """The length of a path that was found, with slopes along (dP, dQ) and (eP, eQ), the plane turned along the latter
    by `turn`."""
    jets = _jets(P, dP, eP), _jets(Q, dQ, eQ)
    return _section(a, jets[0], jets[1], found[1], found[2], (0.0, 0.0, turn, 0.0))


@kernel
def _unit(i, x):
    """The i-th unit vector times a number."""
    return x if i == 0 else 0.0, x if i == 1 else 0.0, x if i == 2 else 0.0


@kernel
def _ways(a, axis, sign, p, q):
    """Which difference the detour is, as (its factor, the longer path, the shorter path)."""
    right, wrong, opposite = _paths(a, axis, sign, p, q)
    if STEEP * (right[0] - wrong[0]) < opposite[0] - wrong[0]:
        return STEEP, right, wrong
    return 1.0, opposite, wrong


@kernel
def detour_of_side(a, axis, sign, P, Q):
    """The detour [m] and d(detour)/dP, d(detour)/dQ.

    A length is least, so that the plane's turn adds nothing to its slopes, or its side moves with the line.
    """
    apart()
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    steep, long_way, wrong = _ways(a, axis, sign, p, q)
    detour = steep * (long_way[0] - wrong[0])
    if detour <= 0.0:
        return 0.0, _ZERO, _ZERO
    to_P, to_Q = _ZERO, _ZERO
    for i in range(3):
        dp, dq = _unit(i, 1.0 / a[i]), _unit(i, 1.0 / a[i])
        x = _slope_along(a, p, q, long_way, dp, _ZERO, _ZERO, dq, 0.0)
        y = _slope_along(a, p, q, wrong, dp, _ZERO, _ZERO, dq, 0.0)
        to_P, to_Q = add(to_P, _unit(i, steep * (x[1] - y[1]))), add(to_Q, _unit(i, steep * (x[2] - y[2])))
    return detour, to_P, to_Q


@kernel
def _bend(a, p, q, found, dp, dq):
    """d(to_P), d(to_Q) of one of the two lengths along (dp, dq); the plane of a least length turns with P and Q."""
    turn = 0.0
    if found[2] < 0:
        jets = _jets(p, _ZERO, _ZERO), _jets(q, _ZERO, _ZERO)
        curved = _section(a, jets[0], jets[1], found[1], -1, (0.0, 1.0, 1.0, 0.0))[3]
        jets = _jets(p, _ZERO, dp), _jets(q, _ZERO, dq)
        turn = -_section(a, jets[0], jets[1], found[1], -1, (0.0, 1.0, 0.0, 0.0))[3] / curved
    to_P, to_Q = _ZERO, _ZERO
    for i in range(3):
        e = _unit(i, 1.0 / a[i])
        to_P = add(to_P, _unit(i, _slope_along(a, p, q, found, e, _ZERO, dp, dq, turn)[3]))
        to_Q = add(to_Q, _unit(i, _slope_along(a, p, q, found, _ZERO, e, dp, dq, turn)[3]))
    return to_P, to_Q


@kernel
def detour_slopes(a, axis, sign, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `detour_of_side` along (dP, dQ), where there is a detour."""
    apart()
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    dp, dq = (dP[0] / a[0], dP[1] / a[1], dP[2] / a[2]), (dQ[0] / a[0], dQ[1] / a[1], dQ[2] / a[2])
    steep, long_way, wrong = _ways(a, axis, sign, p, q)
    x, y = _bend(a, p, q, long_way, dp, dq), _bend(a, p, q, wrong, dp, dq)
    return scale(steep, subtract(x[0], y[0])), scale(steep, subtract(x[1], y[1]))
