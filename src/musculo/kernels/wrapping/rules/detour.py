"""How much longer a path over an ellipsoid is on the side that its quadrant asks for than on the other.

A plane through the straight line from P to Q cuts the ellipsoid in an ellipse; the taut path within the plane passes on
one side of the line. Turned about the line the plane gives a path for every side. With L(side) their lengths,

    detour = max(0, min(L(opposite) - wrong, price of a side on the quadrant's half))

where `wrong` is the least L on the other half, and `opposite` the side that points from the line to the centre and
beyond: the long way round, as on a sphere. The quadrant's half are the sides whose component along the quadrant's axis
has its sign or is zero. There F = L - wrong has minima, at the edges of the half or between them, and

    price of a side = F + (STEEP - 1) max(0, F - barrier / DEEP)

with the barrier of a minimum what L rises at least on the way from it to an edge, none at an edge itself. So nothing is
due where the shortest path is on the quadrant's half; more and more as it leaves that half, up to the long way round;
but where the quadrant's half keeps a shortest path of its own, well apart from the other, it is that path's length.

All minima and maxima are over closed half turns or parts of them between other minima, and a barrier is low where such
a minimum comes or goes; so they, and the detour, are continuous functions of P and Q, but where the line passes the
centre; a geodesic on the quadrant's side, which may come and go as P and Q move, is not asked for. All of it
is done in coordinates in which the ellipsoid is the unit sphere (`start_guess` starts paths from the same planes).
The arc's length is a sum of 16 Gauss points for semi-axes within 4 to 1, of more for flatter ellipsoids. No end may lie
inside.

Source: none; the rule is ours. Departs from OpenSim, which takes a plane section on the quadrant's side for the path.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.scalar.scalar_jets import (
    angle,
    cosine,
    direction,
    inner,
    minus,
    outer,
    plus,
    root,
    sine,
    times,
    unit_times,
    weigh,
    with_slopes,
)
from musculo.kernels.scalar.vectors import add, add_scaled, cross, dot, scale, subtract

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# How fast the long way round falls due where the shortest path leaves the quadrant's half: fast enough for a ball that
# the line crosses a third of its radius off the centre, and no faster, as moment arms grow with it (`side_penalty`).
STEEP = 3.0
# A path on the quadrant's half counts in full where the barrier round it is this part of what it is longer.
DEEP = 1.0
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
        s = with_slopes(side, _ZERO, _ZERO)
        if axis == OPPOSITE:
            s = (weigh(-1.0, P[0]), weigh(-1.0, P[1]), weigh(-1.0, P[2]))
        along = inner(s, u)
        s = (minus(s[0], times(along, u[0])), minus(s[1], times(along, u[1])), minus(s[2], times(along, u[2])))
    else:
        e = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        s = outer(u, with_slopes(e, _ZERO, _ZERO))
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
    L = _section(a, with_slopes(P, _ZERO, _ZERO), with_slopes(Q, _ZERO, _ZERO), side, -1, (0.0, way, way, 0.0))
    return side, L[0], L[1], L[3]


@kernel
def _bottom(a, P, Q, across, v, way, kind, low, high):
    """The least length (kind = 1) between an angle where it falls and one where it rises, or the greatest (-1) between
    one where it rises and one where it falls, by Newton's method: (angle, side, length)."""
    psi = 0.5 * (low + high)
    side, length, slope, bend = _at(a, P, Q, across, v, way, psi)
    for _ in range(_REFINEMENTS):
        step = -slope / bend if kind * bend > 0.0 else 1e300
        if math.fabs(step) < _STILL:
            break
        low, high = (low, psi) if kind * slope > 0.0 else (psi, high)
        psi = psi + step if low < psi + step < high else 0.5 * (low + high)
        side, length, slope, bend = _at(a, P, Q, across, v, way, psi)
    return psi, side, length


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
def _bracket(a, P, Q, across, v, way, kind, low, high, before, bent, slope, bend):
    """Whether the length has a minimum (kind = 1) or a maximum (-1) between two angles where its slopes and bends are
    (before, bent) and (slope, bend), and where: (found, low, high) as `_bottom` takes them.

    It has one where the slope changes its sign. Where it has one sign at both, but bends say that it turns back between
    them, there may be a minimum and a maximum.
    """
    found = kind * before < 0.0 <= kind * slope
    if before * slope > 0.0 and bent * before < 0.0 < bend * slope:
        turns = _turning(a, P, Q, across, v, way, low, high, bent, -slope)
        found = turns >= 0.0
        low, high = (low, turns) if kind * slope < 0.0 else (turns, high)
    return found, low, high


@kernel
def _round_the_line(P, Q, across, way):
    """The unit vector a quarter turn on from `across` round the line, right-handed (way = 1) or left-handed (-1)."""
    u = subtract(Q, P)
    return scale(way / math.sqrt(dot(u, u)), cross(u, across))


@kernel
def _extreme(a, axis, P, Q, across, way, kind, first, last):
    """The shortest (kind = 1) or longest (-1) of the paths on the sides of a half turn from `across` round the line to
    its opposite (see `_round_the_line`), between two angles of it.

    Returns (length, side, what holds it there: the axis at an edge of the half turn, -1 nothing).
    """
    v = _round_the_line(P, Q, across, way)
    sides = 1 + int(_SIDES * _flatness(a) * (last - first) / math.pi)
    best, best_side, held = kind * 1e300, across, axis
    before, bent = 0.0, 0.0
    for i in range(sides + 1):
        low, high = first + (last - first) * (i - 1) / sides, first + (last - first) * i / sides
        side, length, slope, bend = _at(a, P, Q, across, v, way, high)
        if i % sides == 0 and kind * (length - best) < 0.0:
            edge = first == 0.0 if i == 0 else last == math.pi
            best, best_side, held = length, side, axis if edge else -1
        if i > 0:
            found, low, high = _bracket(a, P, Q, across, v, way, kind, low, high, before, bent, slope, bend)
            if found:
                _, side, length = _bottom(a, P, Q, across, v, way, kind, low, high)
                if kind * (length - best) < 0.0:
                    best, best_side, held = length, side, -1
        before, bent = slope, bend
    return best, best_side, held


@kernel
def _price_of_shallow(F, barrier):
    """What a path that is longer than the shortest by F costs, by the height of the barrier round it."""
    return F + (STEEP - 1.0) * max(0.0, F - barrier / DEEP)


@kernel
def _right_way(a, axis, P, Q, across, way, wrong, most):
    """The cheapest way over the quadrant's half, if it costs less than `most`: (price, path, longest path on the way
    from there to an edge of the half, whether that counts)."""
    v = _round_the_line(P, Q, across, way)
    sides = _SIDES * _flatness(a)
    none = (0.0, _ZERO, -1)
    best, path, top, shallow = most, none, none, False
    before, bent = 0.0, 0.0
    for i in range(sides + 1):
        low, high = math.pi * (i - 1) / sides, math.pi * i / sides
        side, length, slope, bend = _at(a, P, Q, across, v, way, high)
        if i % sides == 0 and STEEP * (length - wrong) < best:
            best, path, shallow = STEEP * (length - wrong), (length, side, axis), False
        if i > 0:
            found, low, high = _bracket(a, P, Q, across, v, way, 1.0, low, high, before, bent, slope, bend)
            if found:
                psi, side, length = _bottom(a, P, Q, across, v, way, 1.0, low, high)
                F = length - wrong
                if best > F:
                    back = _extreme(a, axis, P, Q, across, way, -1.0, 0.0, psi)
                    on = _extreme(a, axis, P, Q, across, way, -1.0, psi, math.pi)
                    barrier = back if back[0] < on[0] else on
                    price = _price_of_shallow(F, barrier[0] - length)
                    if price < best:
                        best, path, top, shallow = price, (length, side, -1), barrier, price > F
        before, bent = slope, bend
    return best, path, top, shallow


@kernel
def _ways(a, axis, sign, P, Q):
    """The detour as a sum of three lengths, times what each counts: ((factor, path), (factor, path), (factor, path)),
    a path as `_extreme` has it. All factors are zero where there is none, as where the line runs along the quadrant's
    axis or through the centre, and has no halves. P and Q in the sphere's coordinates."""
    none = (0.0, (0.0, _ZERO, -1))
    d = subtract(Q, P)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    far = math.sqrt(d[i] * d[i] + d[j] * d[j])
    m = add_scaled(P, -dot(P, d) / dot(d, d), d)
    away = dot(m, m)
    if far == 0.0 or away == 0.0:
        return none, none, none
    # d x (the quadrant's axis); turned on right-handed it goes away from that axis
    y, z = d[j] / far, -d[i] / far
    across = (0.0, y, z) if axis == 0 else ((z, 0.0, y) if axis == 1 else (y, z, 0.0))
    wrong = _extreme(a, axis, P, Q, across, sign, 1.0, 0.0, math.pi)
    long_way = _section(
        a, with_slopes(P, _ZERO, _ZERO), with_slopes(Q, _ZERO, _ZERO), _ZERO, OPPOSITE, (0.0, 0.0, 0.0, 0.0)
    )
    price, right, top, shallow = _right_way(a, axis, P, Q, across, -sign, wrong[0], long_way[0] - wrong[0])
    if price <= 0.0:
        return none, none, none
    if price == long_way[0] - wrong[0]:
        return (1.0, (long_way[0], _ZERO, OPPOSITE)), none, (-1.0, wrong)
    if right[2] >= 0:
        return (STEEP, right), none, (-STEEP, wrong)
    if not shallow:
        return (1.0, right), none, (-1.0, wrong)
    more = (STEEP - 1.0) / DEEP
    return (STEEP + more, right), (-more, top), (-STEEP, wrong)


@kernel
def _slope_along(a, P, Q, found, dP, dQ, eP, eQ, turn):
    """The length of a path that was found, with slopes along (dP, dQ) and (eP, eQ), the plane turned along the latter
    by `turn`."""
    jets = with_slopes(P, dP, eP), with_slopes(Q, dQ, eQ)
    return _section(a, jets[0], jets[1], found[1], found[2], (0.0, 0.0, turn, 0.0))


@kernel
def detour_of_side(a, axis, sign, P, Q):
    """The detour [m] and d(detour)/dP, d(detour)/dQ.

    A length is least or greatest, so that the plane's turn adds nothing to its slopes, or its side moves with the line.
    """
    apart()
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    first, second, third = _ways(a, axis, sign, p, q)
    detour, to_P, to_Q = 0.0, _ZERO, _ZERO
    for factor, path in (first, second, third):
        if factor == 0.0:
            continue
        detour += factor * path[0]
        for i in range(3):
            dp, dq = unit_times(i, 1.0 / a[i]), unit_times(i, 1.0 / a[i])
            x = _slope_along(a, p, q, path, dp, _ZERO, _ZERO, dq, 0.0)
            to_P, to_Q = add(to_P, unit_times(i, factor * x[1])), add(to_Q, unit_times(i, factor * x[2]))
    return detour, to_P, to_Q


@kernel
def _bend(a, p, q, found, dp, dq):
    """d(to_P), d(to_Q) of one of the lengths along (dp, dq); the plane of a least or greatest one turns with them."""
    turn = 0.0
    if found[2] < 0:
        jets = with_slopes(p, _ZERO, _ZERO), with_slopes(q, _ZERO, _ZERO)
        curved = _section(a, jets[0], jets[1], found[1], -1, (0.0, 1.0, 1.0, 0.0))[3]
        jets = with_slopes(p, _ZERO, dp), with_slopes(q, _ZERO, dq)
        turn = -_section(a, jets[0], jets[1], found[1], -1, (0.0, 1.0, 0.0, 0.0))[3] / curved
    to_P, to_Q = _ZERO, _ZERO
    for i in range(3):
        e = unit_times(i, 1.0 / a[i])
        to_P = add(to_P, unit_times(i, _slope_along(a, p, q, found, e, _ZERO, dp, dq, turn)[3]))
        to_Q = add(to_Q, unit_times(i, _slope_along(a, p, q, found, _ZERO, e, dp, dq, turn)[3]))
    return to_P, to_Q


@kernel
def detour_slopes(a, axis, sign, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `detour_of_side` along (dP, dQ), where there is a detour."""
    apart()
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    dp, dq = (dP[0] / a[0], dP[1] / a[1], dP[2] / a[2]), (dQ[0] / a[0], dQ[1] / a[1], dQ[2] / a[2])
    first, second, third = _ways(a, axis, sign, p, q)
    to_P, to_Q = _ZERO, _ZERO
    for factor, path in (first, second, third):
        if factor != 0.0:
            x, y = _bend(a, p, q, path, dp, dq)
            to_P, to_Q = add_scaled(to_P, factor, x), add_scaled(to_Q, factor, y)
    return to_P, to_Q
