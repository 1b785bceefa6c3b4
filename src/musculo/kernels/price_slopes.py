"""How the slopes of prices (`geodesic_price`) change as the ends of a stretch move: second derivatives along dP, dQ."""

from __future__ import annotations

import math

from musculo.kernels.detour import detour_slopes
from musculo.kernels.geodesic_price import PRICE, TOLL, least_toll_of_side, toll_of_side
from musculo.kernels.jit import kernel
from musculo.kernels.vector import add, add_scaled, dot, scale, subtract

_NONE = (0.0, 0.0, 0.0)


@kernel
def _turn_slope(to, P, dP):
    """Of to = slope (P_y, -P_x, 0) / (P_x^2 + P_y^2), one side of `price_of_turn`."""
    square = P[0] * P[0] + P[1] * P[1]
    slope = to[0] * P[1] - to[1] * P[0]
    f = 2.0 * (P[0] * dP[0] + P[1] * dP[1]) / square
    return slope * dP[1] / square - f * to[0], -slope * dP[0] / square - f * to[1], 0.0


@kernel
def turn_slopes(to_P, to_Q, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `price_of_turn`; both sides have the same form."""
    return _turn_slope(to_P, P, dP), _turn_slope(to_Q, Q, dQ)


@kernel
def end_slopes(P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `price_of_end`; not beyond the end, nor with an end of the stretch on the axis."""
    d_P, d_Q = math.sqrt(P[0] * P[0] + P[1] * P[1]), math.sqrt(Q[0] * Q[0] + Q[1] * Q[1])
    if d_P == 0.0 or d_Q == 0.0:
        return _NONE, _NONE
    whole = d_P + d_Q
    z = (P[2] * d_Q + Q[2] * d_P) / whole
    slope = -PRICE if z >= 0.0 else PRICE
    away_P, away_Q = (P[0] * dP[0] + P[1] * dP[1]) / d_P, (Q[0] * dQ[0] + Q[1] * dQ[1]) / d_Q
    grows = away_P + away_Q
    dz = (dP[2] * d_Q + P[2] * away_Q + dQ[2] * d_P + Q[2] * away_P - z * grows) / whole
    a, b = (Q[2] - z) / whole, (P[2] - z) / whole
    da, db = (dQ[2] - dz - a * grows) / whole, (dP[2] - dz - b * grows) / whole
    p, q = a / d_P, b / d_Q
    dp, dq = slope * (da - p * away_P) / d_P, slope * (db - q * away_Q) / d_Q
    p, q = slope * p, slope * q
    c = slope * (away_Q - d_Q / whole * grows) / whole
    return (dp * P[0] + p * dP[0], dp * P[1] + p * dP[1], c), (dq * Q[0] + q * dQ[0], dq * Q[1] + q * dQ[1], -c)


@kernel
def toll_slopes(a, axis, sign, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `toll_of_side`, where a toll is paid; its formulas, differentiated one after the other."""
    p, v = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (dP[0] / a[0], dP[1] / a[1], dP[2] / a[2])
    d = (Q[0] / a[0] - p[0], Q[1] / a[1] - p[1], Q[2] / a[2] - p[2])
    dd = (dQ[0] / a[0] - v[0], dQ[1] / a[1] - v[1], dQ[2] / a[2] - v[2])
    along = dot(d, d)
    dalong = 2.0 * dot(d, dd)
    t = -dot(p, d) / along
    dt = -(dot(v, d) + dot(p, dd) + t * dalong) / along
    m = (p[0] + t * d[0], p[1] + t * d[1], p[2] + t * d[2])
    dm = (v[0] + dt * d[0] + t * dd[0], v[1] + dt * d[1] + t * dd[1], v[2] + dt * d[2] + t * dd[2])
    far = math.sqrt(dot(m, m))
    q, w = add(p, d), add(v, dd)
    out_P, out_Q = math.sqrt(dot(p, p)), math.sqrt(dot(q, q))
    rim = min(1.0, min(out_P, out_Q))
    g = (-sign if axis == 0 else 0.0, -sign if axis == 1 else 0.0, -sign if axis == 2 else 0.0)
    dg, x, y = _NONE, _NONE, _NONE
    if -sign * m[axis] > rim - far:
        away = dot(m, dm) / (far * far)
        g = (-m[0] / far, -m[1] / far, -m[2] / far)
        dg = ((m[0] * away - dm[0]) / far, (m[1] * away - dm[1]) / far, (m[2] * away - dm[2]) / far)
        if rim < 1.0 and out_P <= out_Q:
            x = scale(1.0 / out_P, add_scaled(v, -dot(p, v) / (out_P * out_P), p))
        elif rim < 1.0:
            y = scale(1.0 / out_Q, add_scaled(w, -dot(q, w) / (out_Q * out_Q), q))
    gd = dot(g, d) / along
    dgd = (dot(dg, d) + dot(g, dd) - gd * dalong) / along
    across = add_scaled(g, -gd, d)
    dacross = add_scaled(add_scaled(dg, -dgd, d), -gd, dd)
    turn = add_scaled(scale(dgd, m), gd, dm)
    x = add(x, add(add_scaled(scale(1.0 - t, dacross), -dt, across), turn))
    y = add(y, subtract(add_scaled(scale(t, dacross), dt, across), turn))
    s = TOLL * a[axis]
    to_P = (s * x[0] / a[0], s * x[1] / a[1], s * x[2] / a[2])
    return to_P, (s * y[0] / a[0], s * y[1] / a[1], s * y[2] / a[2])


@kernel
def least_toll_slopes(a, axis, sign, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `least_toll_of_side`, where a toll is paid."""
    if least_toll_of_side(a, axis, sign, P, Q)[0] < toll_of_side(a, axis, sign, P, Q)[0]:
        return detour_slopes(a, axis, sign, P, Q, dP, dQ)
    return toll_slopes(a, axis, sign, P, Q, dP, dQ)
