"""How far a point of a taut polyline lies outside the solids that it is pulled over, and which way out is.

Solids are rows of two arrays: `form` (kind, k_x, k_y, k_z, r, R) as `surface_shape` has them, and `pose`, R row by
row and p in ground. A cylinder has no ends.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import TORUS
from musculo.kernels.scalar.vectors import dot, rotate, rotate_back, rotate_symmetric, scale, subtract
from musculo.kernels.wrapping.geodesic.surface_shape import depth, slope
from musculo.kernels.wrapping.polyline.polyline_chain import scaled_square

# Nearer to the middle of a solid than this (over its size) no direction is known to lead out of it.
_MIDDLE = 1e-6


@kernel
def solid_shape(w, k):
    """The shape of solid k of a polyline's workspace."""
    f = w.form
    return int(f[k, 0]), f[k, 1], f[k, 2], f[k, 3], f[k, 4], f[k, 5]


@kernel
def solid_pose(w, k):
    """R and p of solid k in ground."""
    p = w.pose
    R = (p[k, 0], p[k, 1], p[k, 2], p[k, 3], p[k, 4], p[k, 5], p[k, 6], p[k, 7], p[k, 8])
    return R, (p[k, 9], p[k, 10], p[k, 11])


@kernel
def own_point(w, k, x):
    """A point of ground in the frame of solid k."""
    R, p = solid_pose(w, k)
    return rotate_back(R, subtract(x, p))


@kernel
def azimuth(w, k, x):
    """The angle of a point of ground about the z axis of solid k [rad]."""
    y = own_point(w, k, x)
    return math.atan2(y[1], y[0])


@kernel
def slack(w, k, x):
    """(s, n, steep, y): about how far outside solid k a point lies [m], the unit outward normal in ground, the slope of
    the gauge along it, and the point in the solid's frame.

        s = (g - 1) / |dg/dx|,  n = dg/dx / |dg/dx|

    The gauge g is `depth`; that of all but a ring is convex, so that everything with n . (x' - x) + s >= 0 is outside:
    a half-space.
    """
    shape, (R, p) = solid_shape(w, k), solid_pose(w, k)
    y = rotate_back(R, subtract(x, p))
    torus = shape[0] == TORUS
    if torus and y[0] * y[0] + y[1] * y[1] < (_MIDDLE * shape[5]) ** 2:
        y = (_MIDDLE * shape[5], y[1], y[2])
    g = depth(shape, y)
    if g < _MIDDLE:
        # any way out of the middle is as good
        h = _MIDDLE * shape[4]
        y = (y[0], y[1], h) if torus else (h, y[1], y[2])
        g = depth(shape, y)
    d = slope(shape, y)
    l = math.sqrt(dot(d, d))
    steep = 1.0 / shape[4] if torus else l / g
    return (g - 1.0) / steep, rotate(R, scale(1.0 / l, d)), steep, y


@kernel
def bend(w, k, y, hollow):
    """The Hessian of the slack in ground (the normal's own slope, s = 0), symmetric, at a point of the solid's frame.

    If `hollow`, only what bends towards a point outside: a ring, round its hole.
    """
    shape, (R, _) = solid_shape(w, k), solid_pose(w, k)
    if shape[0] == TORUS:
        rho = max(math.sqrt(y[0] * y[0] + y[1] * y[1]), _MIDDLE * shape[5])
        away = rho - shape[5]
        far = max(math.sqrt(away * away + y[2] * y[2]), _MIDDLE * shape[4])
        # across the tube: t = (-s u, -s v, c); round the ring: (-v, u, 0)
        c, s, u, v = away / far, y[2] / far, y[0] / rho, y[1] / rho
        a, b = 1.0 / far, c / rho
        if hollow:
            a, b = 0.0, min(b, 0.0)
        t, e = scaled_square(a, (-s * u, -s * v, c)), scaled_square(b, (-v, u, 0.0))
        h = (t[0] + e[0], t[1] + e[1], t[2], t[3] + e[3], t[4], t[5])
    else:
        d, g = slope(shape, y), depth(shape, y)
        f = 1.0 / math.sqrt(dot(d, d))
        e = scaled_square(f / (g * g), d)
        h = (f * shape[1] - e[0], f * shape[2] - e[1], f * shape[3] - e[2], -e[3], -e[4], -e[5])
    return rotate_symmetric(R, h)
