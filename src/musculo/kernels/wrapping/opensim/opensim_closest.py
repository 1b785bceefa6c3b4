"""The point of an ellipsoid that OpenSim calls closest."""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import unfused

# A coordinate smaller than this lies in a plane of symmetry.
_NEAR = 2e-13
# Newton's iteration: residual that is good enough, most steps.
_SOLVED = 1e-9
_STEPS = 64


@unfused
def _closest_on_ellipse(a, b, u, v):
    """(x, y) on the ellipse with semi-axes a, b for the point (u, v); closed forms on the axes."""
    on_y, on_x = math.fabs(u) <= _NEAR, math.fabs(v) <= _NEAR
    if on_x and on_y:
        if a < b:
            return (-a if u < 0.0 else a), v
        return u, (-b if v < 0.0 else b)
    if on_y:
        if a >= b or math.fabs(v) >= b - a * a / b:
            return u, (b if v >= 0.0 else -b)
        y = b * b * v / (b * b - a * a)
        return a * math.sqrt(math.fabs(1.0 - (y / b) * (y / b))), y
    if on_x:
        if b >= a or math.fabs(u) >= a - b * b / a:
            return (a if u >= 0.0 else -a), v
        x = a * a * u / (a * a - b * b)
        return x, b * math.sqrt(math.fabs(1.0 - (x / a) * (x / a)))
    aa, bb = a * a, b * b
    au, bv = aa * u * u, bb * v * v
    t = 0.0
    if (u / a) * (u / a) + (v / b) * (v / b) - 1.0 >= 0.0:
        t = max(a, b) * math.sqrt(u * u + v * v)
    for _ in range(_STEPS):
        P, Q = t + aa, t + bb
        PP, QQ = P * P, Q * Q
        f = PP * QQ - au * QQ - bv * PP
        if math.fabs(f) < _SOLVED:
            break
        t = t - f / (2.0 * (P * QQ + PP * Q - au * Q - bv * P))
    return aa * u / (t + aa), bb * v / (t + bb)


@unfused
def closest_on_ellipsoid(a, x, forced):
    """A point of the ellipsoid with semi-axes a near x; `forced` is an axis whose coordinate is kept, or -1.

    Where a coordinate is kept (forced, or zero in x) the others are taken on the full ellipse, not on the section.

    Source: OpenSim 4.6, WrapEllipsoid; Hart 1994, Graphics Gems IV, p. 113.
    """
    k = forced
    if k < 0:
        least = math.inf
        for i in range(3):
            if math.fabs(x[i]) <= _NEAR:
                around = a[(i + 1) % 3] + a[(i + 2) % 3]
                if around < least:
                    least = around
                    k = i
    if k == 0:
        y, z = _closest_on_ellipse(a[1], a[2], x[1], x[2])
        return x[0], y, z
    if k == 1:
        z, y = _closest_on_ellipse(a[2], a[0], x[2], x[0])
        return y, x[1], z
    if k == 2:
        y, z = _closest_on_ellipse(a[0], a[1], x[0], x[1])
        return y, z, x[2]
    A, B, C = a[0] * a[0], a[1] * a[1], a[2] * a[2]
    u, v, w = A * x[0] * x[0], B * x[1] * x[1], C * x[2] * x[2]
    t = 0.0
    if u / (A * A) + v / (B * B) + w / (C * C) - 1.0 >= 0.0:
        t = max(a[0], max(a[1], a[2])) * math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    for _ in range(_STEPS):
        P, Q, R = t + A, t + B, t + C
        PP, QQ, RR = P * P, Q * Q, R * R
        f = PP * QQ * RR - u * QQ * RR - v * PP * RR - w * PP * QQ
        if math.fabs(f) < _SOLVED:
            break
        slope = (
            P * QQ * RR
            + PP * Q * RR
            + PP * QQ * R
            - u * (Q * RR + QQ * R)
            - v * (P * RR + PP * R)
            - w * (P * QQ + PP * Q)
        )
        t = t - f / (2.0 * slope)
    return A * x[0] / (t + A), B * x[1] / (t + B), C * x[2] / (t + C)
