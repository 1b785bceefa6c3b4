"""How the slopes of prices (`side_penalty`) change as the ends of a stretch move: second derivatives along dP, dQ."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add, add_scaled, dot, scale, subtract
from musculo.kernels.wrapping.rules.side_penalty import PRICE, rim_of, rising

_NONE = (0.0, 0.0, 0.0)


@kernel
def hole_slopes(reach, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `price_of_hole`."""
    first = math.fabs(P[2]) <= math.fabs(Q[2])
    _, _, bend = rising(PRICE, math.fabs(P[2] if first else Q[2]), reach)
    to = (0.0, 0.0, bend * (dP[2] if first else dQ[2]))
    return to if first else _NONE, _NONE if first else to


@kernel
def _away(a, P, dP):
    """Of p / |p| over a, with p = P / a: d(rim)/dP where P is the end that shrinks a surface."""
    p, v = (P[0] / a[0], P[1] / a[1], P[2] / a[2]), (dP[0] / a[0], dP[1] / a[1], dP[2] / a[2])
    square = dot(p, p)
    x = scale(1.0 / math.sqrt(square), add_scaled(v, -dot(p, v) / square, p))
    return x[0] / a[0], x[1] / a[1], x[2] / a[2]


@kernel
def rim_slopes(a, P, Q, dP, dQ):
    """d(rim_P), d(rim_Q) of `rim_of`."""
    _, to_P, to_Q = rim_of(a, P, Q)
    if dot(to_P, to_P) > 0.0:
        return _away(a, P, dP), _NONE
    return _NONE, (_away(a, Q, dQ) if dot(to_Q, to_Q) > 0.0 else _NONE)


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
    rim = rim_of(a, P, Q)[0]
    g = (-sign if axis == 0 else 0.0, -sign if axis == 1 else 0.0, -sign if axis == 2 else 0.0)
    dg, by_P, by_Q = _NONE, _NONE, _NONE
    if -sign * m[axis] > rim - far:
        away = dot(m, dm) / (far * far)
        g = (-m[0] / far, -m[1] / far, -m[2] / far)
        dg = ((m[0] * away - dm[0]) / far, (m[1] * away - dm[1]) / far, (m[2] * away - dm[2]) / far)
        by_P, by_Q = rim_slopes(a, P, Q, dP, dQ)
    gd = dot(g, d) / along
    dgd = (dot(dg, d) + dot(g, dd) - gd * dalong) / along
    across = add_scaled(g, -gd, d)
    dacross = add_scaled(add_scaled(dg, -dgd, d), -gd, dd)
    turn = add_scaled(scale(dgd, m), gd, dm)
    x = add(add_scaled(scale(1.0 - t, dacross), -dt, across), turn)
    y = subtract(add_scaled(scale(t, dacross), dt, across), turn)
    by_P = add(by_P, (x[0] / a[0], x[1] / a[1], x[2] / a[2]))
    by_Q = add(by_Q, (y[0] / a[0], y[1] / a[1], y[2] / a[2]))
    return scale(PRICE * a[axis], by_P), scale(PRICE * a[axis], by_Q)
