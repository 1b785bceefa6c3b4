"""How far a point of a taut polyline lies outside the solids that it is pulled over, and which way out is.

Solids are rows of two arrays: `form` (kind, k_x, k_y, k_z, r, R) as `surface_shape` has them, and `pose`, R row by
row and p in ground. A cylinder has no ends.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import TORUS

# Nearer to the middle of a solid than this (over its size) no direction is known to lead out of it.
_MIDDLE = 1e-6


@kernel
def own_point(pose, k, x):
    """A point of ground in the frame of solid k."""
    a, b, c = x[0] - pose[k, 9], x[1] - pose[k, 10], x[2] - pose[k, 11]
    return (
        pose[k, 0] * a + pose[k, 3] * b + pose[k, 6] * c,
        pose[k, 1] * a + pose[k, 4] * b + pose[k, 7] * c,
        pose[k, 2] * a + pose[k, 5] * b + pose[k, 8] * c,
    )


@kernel
def turned(pose, k, v):
    """A vector of solid k's frame in ground."""
    return (
        pose[k, 0] * v[0] + pose[k, 1] * v[1] + pose[k, 2] * v[2],
        pose[k, 3] * v[0] + pose[k, 4] * v[1] + pose[k, 5] * v[2],
        pose[k, 6] * v[0] + pose[k, 7] * v[1] + pose[k, 8] * v[2],
    )


@kernel
def azimuth(pose, k, x):
    """The angle of a point of ground about the z axis of solid k [rad]."""
    y = own_point(pose, k, x)
    return math.atan2(y[1], y[0])


@kernel
def gauge(form, pose, k, x):
    """1 on the surface of solid k, less inside; of a ring the distance from its middle circle over the tube's."""
    y = own_point(pose, k, x)
    if int(form[k, 0]) == TORUS:
        away = math.sqrt(y[0] * y[0] + y[1] * y[1]) - form[k, 5]
        return math.sqrt(away * away + y[2] * y[2]) / form[k, 4]
    return math.sqrt(form[k, 1] * y[0] * y[0] + form[k, 2] * y[1] * y[1] + form[k, 3] * y[2] * y[2])


@kernel
def slack(form, pose, k, x):
    """(s, n, steep, y): about how far outside solid k a point lies [m], the unit outward normal in ground, the slope of
    the gauge along it, and the point in the solid's frame.

        s = (g - 1) / |dg/dx|,  n = dg/dx / |dg/dx|

    The gauge g of all but a ring is convex, so that everything with n . (x' - x) + s >= 0 is outside: a half-space.
    """
    y = own_point(pose, k, x)
    if int(form[k, 0]) == TORUS:
        rho = max(math.sqrt(y[0] * y[0] + y[1] * y[1]), _MIDDLE * form[k, 5])
        away = rho - form[k, 5]
        far = max(math.sqrt(away * away + y[2] * y[2]), _MIDDLE * form[k, 4])
        n = (away / far * y[0] / rho, away / far * y[1] / rho, y[2] / far)
        return far - form[k, 4], turned(pose, k, n), 1.0 / form[k, 4], y
    kx, ky, kz = form[k, 1], form[k, 2], form[k, 3]
    g = math.sqrt(kx * y[0] * y[0] + ky * y[1] * y[1] + kz * y[2] * y[2])
    if g < _MIDDLE:
        # any way out of the middle is as good
        y = (_MIDDLE / math.sqrt(kx), y[1], y[2])
        g = math.sqrt(kx * y[0] * y[0] + ky * y[1] * y[1] + kz * y[2] * y[2])
    d = (kx * y[0], ky * y[1], kz * y[2])
    steep = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    f = 1.0 / steep
    return (g - 1.0) * g * f, turned(pose, k, (f * d[0], f * d[1], f * d[2])), steep / g, y


@kernel
def add_bend(form, pose, k, y, factor, hollow, B, i):
    """Add `factor` times the Hessian of the slack (the normal's own slope, s = 0) to row i of B: xx xy xz yy yz zz.

    If `hollow`, only what bends towards a point outside: a ring, round its hole.
    """
    h = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if int(form[k, 0]) == TORUS:
        rho = max(math.sqrt(y[0] * y[0] + y[1] * y[1]), _MIDDLE * form[k, 5])
        away = rho - form[k, 5]
        far = max(math.sqrt(away * away + y[2] * y[2]), _MIDDLE * form[k, 4])
        c, s = away / far, y[2] / far
        u, v = y[0] / rho, y[1] / rho
        # across the tube: t = (-s u, -s v, c); round the ring: (-v, u, 0)
        a, b = 1.0 / far, c / rho
        if hollow:
            a, b = 0.0, min(b, 0.0)
        h = (
            a * s * s * u * u + b * v * v,
            a * s * s * u * v - b * u * v,
            -a * s * c * u,
            a * s * s * v * v + b * u * u,
            -a * s * c * v,
            a * c * c,
        )
    elif not hollow:
        kx, ky, kz = form[k, 1], form[k, 2], form[k, 3]
        g = max(math.sqrt(kx * y[0] * y[0] + ky * y[1] * y[1] + kz * y[2] * y[2]), _MIDDLE)
        d = (kx * y[0] / g, ky * y[1] / g, kz * y[2] / g)
        f = 1.0 / (g * math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]))
        h = (
            f * (kx - d[0] * d[0]),
            -f * d[0] * d[1],
            -f * d[0] * d[2],
            f * (ky - d[1] * d[1]),
            -f * d[1] * d[2],
            f * (kz - d[2] * d[2]),
        )
    # R h R^T, row by row
    for r in range(3):
        a, b, c = pose[k, 3 * r], pose[k, 3 * r + 1], pose[k, 3 * r + 2]
        u = a * h[0] + b * h[1] + c * h[2]
        v = a * h[1] + b * h[3] + c * h[4]
        w = a * h[2] + b * h[4] + c * h[5]
        for q in range(r, 3):
            value = u * pose[k, 3 * q] + v * pose[k, 3 * q + 1] + w * pose[k, 3 * q + 2]
            at = q if r == 0 else (q + 2 if r == 1 else 5)
            B[i, at] += factor * value
