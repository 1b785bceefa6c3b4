"""How much longer a path over an ellipsoid is on the side that its quadrant asks for than on the other.

A plane through the straight line from P to Q cuts the ellipsoid in an ellipse; the taut path within the plane passes on
one side of the line. Turned about the line the plane gives a path for every side. With L(side) their lengths,

    detour = max(0, min over sides of the quadrant's half L - min over sides of the other half L)

where the quadrant's half is that of the sides whose component along the quadrant's axis has its sign or is zero. Both
minima are over closed half turns, so they, and the detour, are continuous functions of P and Q; a geodesic on the
quadrant's side, which may come and go as P and Q move, is not asked for. All of it is done in coordinates in which the
ellipsoid is the unit sphere. The arc's length is a sum of 16 Gauss points.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.jet import angle, cosine, direction, inner, minus, outer, plus, root, sine, times, weigh
from musculo.kernels.jit import apart, kernel
from musculo.kernels.vector import add, cross, dot, subtract

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Sides of a half turn that are looked at; minima between them are refined.
_SIDES = 24
_REFINEMENTS = 40
# A side is found where Newton's step is as small [rad].
_STILL = 1e-12
_ZERO = (0.0, 0.0, 0.0)


@kernel
def _jets(x, by_a, by_b):
    """A vector with its slopes along two directions."""
    return (x[0], by_a[0], by_b[0], 0.0), (x[1], by_a[1], by_b[1], 0.0), (x[2], by_a[2], by_b[2], 0.0)


@kernel
def _stretched(t, E, H, K):
    """Length on the ellipsoid of the sphere's unit tangent -sin(t) side + cos(t) u."""
    c, s = cosine(t), sine(t)
    square = plus(times(E, times(s, s)), times(K, times(c, c)))
    return root(minus(square, weigh(2.0, times(H, times(s, c)))))


@kernel
def _section(a, P, Q, side, axis, turn):
    """Length of the taut path in the plane on one side of the line P Q, all numbers with slopes (`jet`).

    With p, q the places of P and Q along the line, y that of the line along `side`, rho the radius of the circle in
    which the plane cuts the sphere, g(t) how much a tangent at the angle t is stretched on the ellipsoid:

        L = l_P g(t_P) + rho integral of g from t_P to t_Q + l_Q g(t_Q),   l = sqrt(|P|^2 - 1)
        t_P = atan2(p, y) + atan2(l_P, rho),   t_Q = atan2(q, y) - atan2(l_Q, rho)

    Args:
        a: semi-axes [m]. P, Q: vectors in the sphere's coordinates.
        side: plain unit vector across the line. axis: -1, or one that the side stays across as the line moves.
        turn: by how much the plane is turned from there [rad].
    """
    apart()
    d = (minus(Q[0], P[0]), minus(Q[1], P[1]), minus(Q[2], P[2]))
    u = direction(d)
    if axis < 0:
        s = _jets(side, _ZERO, _ZERO)
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
    l_P, l_Q = root(out_P), root(out_Q)
    rho = root(minus(plus(times(p, p), times(y, y)), out_P))
    first, last = plus(angle(p, y), angle(l_P, rho)), minus(angle(q, y), angle(l_Q, rho))
    half, middle = weigh(0.5, minus(last, first)), weigh(0.5, plus(last, first))
    arc = (0.0, 0.0, 0.0, 0.0)
    for i in range(_NODES.size):
        t = plus(middle, weigh(_NODES[i], half))
        arc = plus(arc, weigh(_WEIGHTS[i], _stretched(t, E, H, K)))
    arc = times(arc, times(half, rho))
    arc = plus(arc, times(l_P, _stretched(first, E, H, K)))
    return plus(arc, times(l_Q, _stretched(last, E, H, K)))


@kernel
def _lowest(a, P, Q, across, way):
    """The shortest of the paths on the sides of a half turn: from `across` round the line (way = 1: right-handed, -1:
    left-handed) to its opposite. Returns (length, side, whether that is an edge of the half turn)."""
    u = subtract(Q, P)
    n = math.sqrt(dot(u, u))
    v = cross(u, across)
    v = (way * v[0] / n, way * v[1] / n, way * v[2] / n)
    P, Q = _jets(P, _ZERO, _ZERO), _jets(Q, _ZERO, _ZERO)
    best, best_side, edge = 1e300, across, True
    before, found, low, high, psi = 0.0, 0.0, 0.0, 0.0, 0.0
    i, left = 0, 0
    # one loop for the sides that are looked at and, where the slope changes its sign, for what refines the one between
    while i <= _SIDES:
        if left == 0:
            psi = math.pi * i / _SIDES
        c, s = math.cos(psi), math.sin(psi)
        side = (c * across[0] + s * v[0], c * across[1] + s * v[1], c * across[2] + s * v[2])
        length, slope, _, bend = _section(a, P, Q, side, -1, (0.0, way, way, 0.0))
        candidate, between = left == 0 and i % _SIDES == 0, left > 0
        if between:
            low, high = (low, psi) if slope > 0.0 else (psi, high)
            step = -slope / bend if bend > 0.0 else 1e300
            left -= 1
            if math.fabs(step) < _STILL or left == 0:
                left, candidate = 0, True
                before = found
                i += 1
            else:
                psi = psi + step if low < psi + step < high else 0.5 * (low + high)
        elif i > 0 and before < 0.0 < slope:
            low, high, left, found = math.pi * (i - 1) / _SIDES, psi, _REFINEMENTS, slope
            psi = low + (high - low) * before / (before - slope)
        else:
            before = slope
            i += 1
        if candidate and length < best:
            best, best_side, edge = length, side, not between
    return best, best_side, edge


@kernel
def _shortest(a, axis, sign, P, Q):
    """The shortest path on the quadrant's half and on the other, as `_lowest`; P and Q in the sphere's coordinates.
    Zero lengths where the line runs along the quadrant's axis, and has no halves."""
    d = subtract(Q, P)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    far = math.sqrt(d[i] * d[i] + d[j] * d[j])
    if far == 0.0:
        return (0.0, _ZERO, True), (0.0, _ZERO, True)
    # d x (the quadrant's axis); turned on right-handed it goes away from that axis
    y, z = d[j] / far, -d[i] / far
    across = (0.0, y, z) if axis == 0 else ((z, 0.0, y) if axis == 1 else (y, z, 0.0))
    return _lowest(a, P, Q, across, -sign), _lowest(a, P, Q, across, sign)


@kernel
def _slope_along(a, axis, P, Q, found, dP, dQ, eP, eQ, turn):
    """The length of a path that was found, with slopes along (dP, dQ) and (eP, eQ), the plane turned along the latter
    by `turn`."""
    jets = _jets(P, dP, eP), _jets(Q, dQ, eQ)
    return _section(a, jets[0], jets[1], found[1], axis if found[2] else -1, (0.0, 0.0, turn, 0.0))


@kernel
def _unit(i, scale):
    """The i-th unit vector times a number."""
    return scale if i == 0 else 0.0, scale if i == 1 else 0.0, scale if i == 2 else 0.0


@kernel
def detour_of_side(a, axis, sign, P, Q):
    """The detour [m] and d(detour)/dP, d(detour)/dQ.

    The length is least or at a fixed edge, so the plane's turn adds nothing to its slopes.
    """
    apart()
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    right, wrong = _shortest(a, axis, sign, p, q)
    detour = right[0] - wrong[0]
    if detour <= 0.0:
        return 0.0, _ZERO, _ZERO
    to_P, to_Q = _ZERO, _ZERO
    for i in range(3):
        dp, dq = _unit(i, 1.0 / a[i]), _unit(i, 1.0 / a[i])
        x = _slope_along(a, axis, p, q, right, dp, _ZERO, _ZERO, dq, 0.0)
        y = _slope_along(a, axis, p, q, wrong, dp, _ZERO, _ZERO, dq, 0.0)
        to_P, to_Q = add(to_P, _unit(i, x[1] - y[1])), add(to_Q, _unit(i, x[2] - y[2]))
    return detour, to_P, to_Q


@kernel
def _bend(a, axis, p, q, found, dp, dq):
    """d(to_P), d(to_Q) of one of the two lengths along (dp, dq); the plane of a least length turns with P and Q."""
    turn = 0.0
    if not found[2]:
        jets = _jets(p, _ZERO, _ZERO), _jets(q, _ZERO, _ZERO)
        curved = _section(a, jets[0], jets[1], found[1], -1, (0.0, 1.0, 1.0, 0.0))[3]
        jets = _jets(p, _ZERO, dp), _jets(q, _ZERO, dq)
        turn = -_section(a, jets[0], jets[1], found[1], -1, (0.0, 1.0, 0.0, 0.0))[3] / curved
    to_P, to_Q = _ZERO, _ZERO
    for i in range(3):
        e = _unit(i, 1.0 / a[i])
        to_P = add(to_P, _unit(i, _slope_along(a, axis, p, q, found, e, _ZERO, dp, dq, turn)[3]))
        to_Q = add(to_Q, _unit(i, _slope_along(a, axis, p, q, found, _ZERO, e, dp, dq, turn)[3]))
    return to_P, to_Q


@kernel
def detour_slopes(a, axis, sign, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `detour_of_side` along (dP, dQ), where there is a detour."""
    apart()
    p, q = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (Q[0] / a[0], Q[1] / a[1], Q[2] / a[2])
    dp, dq = (dP[0] / a[0], dP[1] / a[1], dP[2] / a[2]), (dQ[0] / a[0], dQ[1] / a[1], dQ[2] / a[2])
    right, wrong = _shortest(a, axis, sign, p, q)
    x, y = _bend(a, axis, p, q, right, dp, dq), _bend(a, axis, p, q, wrong, dp, dq)
    return subtract(x[0], y[0]), subtract(x[1], y[1])
