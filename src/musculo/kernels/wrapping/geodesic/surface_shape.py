"""Surfaces that a path slides over: their normals, their curvatures and their geodesics.

Cylinder, sphere and ellipsoid are one quadric k . x^2 = 1 with k = 1/a^2 (k_z = 0 for the cylinder); the torus has the
tube r and the ring R about z. A surface is a tuple `shape` = (kind, k_x, k_y, k_z, r, R).
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.paths.path_points import CYLINDER, ELLIPSOID, SPHERE, TORUS
from musculo.kernels.scalar.vectors import add_scaled, cross, dot, scale


@kernel
def shape_of(paths, i, shrink):
    """The shape of surface i (`Paths`) with its sizes (a torus: its tube) multiplied by `shrink`."""
    kind, size = paths.surface_kind[i], paths.surface_size
    a = size[i, 0] * shrink
    if kind == TORUS:
        return kind, 0.0, 0.0, 0.0, a, size[i, 1]
    if kind == ELLIPSOID:
        b, c = size[i, 1] * shrink, size[i, 2] * shrink
        return kind, 1.0 / (a * a), 1.0 / (b * b), 1.0 / (c * c), min(a, min(b, c)), 0.0
    k = 1.0 / (a * a)
    return kind, k, k, k if kind == SPHERE else 0.0, a, 0.0


@kernel
def depth(shape, x):
    """How far out a point lies, 1 on the surface: sqrt(k . x^2); for a torus its distance from the ring over r."""
    if shape[0] == TORUS:
        away = math.sqrt(x[0] * x[0] + x[1] * x[1]) - shape[5]
        return math.sqrt(away * away + x[2] * x[2]) / shape[4]
    return math.sqrt(shape[1] * x[0] * x[0] + shape[2] * x[1] * x[1] + shape[3] * x[2] * x[2])


@kernel
def chord_depth(shape, A, B):
    """The least `depth` along the straight line from A to B, squared; of a quadric. A cylinder has no ends here."""
    f, g, h = math.sqrt(shape[1]), math.sqrt(shape[2]), math.sqrt(shape[3])
    x = (f * A[0], g * A[1], h * A[2])
    d = (f * B[0] - x[0], g * B[1] - x[1], h * B[2] - x[2])
    along = dot(d, d)
    m = add_scaled(x, min(1.0, max(0.0, -dot(x, d) / along)) if along > 0.0 else 0.0, d)
    return dot(m, m)


@kernel
def depth_gradient(shape, x):
    """Gradient of `depth`; zero at the center (of the ring), where there is none."""
    d = depth(shape, x)
    if d == 0.0:
        return 0.0, 0.0, 0.0
    if shape[0] == TORUS:
        rho = math.sqrt(x[0] * x[0] + x[1] * x[1])
        if rho == 0.0:
            return 0.0, 0.0, x[2] / (d * shape[4] * shape[4])
        f = 1.0 / (d * shape[4] * shape[4])
        g = f * (1.0 - shape[5] / rho)
        return g * x[0], g * x[1], f * x[2]
    return shape[1] * x[0] / d, shape[2] * x[1] / d, shape[3] * x[2] / d


@kernel
def onto(shape, x):
    """A point of the surface near x: radially for quadrics, the nearest for the torus."""
    d = depth(shape, x)
    if d == 0.0:
        return x
    if shape[0] == TORUS:
        rho = math.sqrt(x[0] * x[0] + x[1] * x[1])
        if rho == 0.0:
            return x
        f = (shape[5] + (rho - shape[5]) / d) / rho
        return f * x[0], f * x[1], x[2] / d
    return x[0] / d, x[1] / d, x[2] if shape[0] == CYLINDER else x[2] / d


@kernel
def slope(shape, x):
    """Gradient of the implicit function whose Hessian `hessian_times` applies; it points outwards."""
    if shape[0] == TORUS:
        g = 1.0 - shape[5] / math.sqrt(x[0] * x[0] + x[1] * x[1])
        return g * x[0], g * x[1], x[2]
    return shape[1] * x[0], shape[2] * x[1], shape[3] * x[2]


@kernel
def hessian_times(shape, x, v):
    """The Hessian of the implicit function times v."""
    if shape[0] == TORUS:
        rho2 = x[0] * x[0] + x[1] * x[1]
        q = shape[5] / math.sqrt(rho2)
        g = 1.0 - q
        h = q * (x[0] * v[0] + x[1] * v[1]) / rho2
        return g * v[0] + h * x[0], g * v[1] + h * x[1], v[2]
    return shape[1] * v[0], shape[2] * v[1], shape[3] * v[2]


@kernel
def unit(v):
    """v / |v|; zero for zero."""
    d = math.sqrt(dot(v, v))
    return scale(1.0 / d if d > 0.0 else 0.0, v)


@kernel
def along_surface(n, v):
    """The unit vector of v less its part along the unit normal n."""
    return unit(add_scaled(v, -dot(n, v), n))


@kernel
def bending(shape, x, t, b):
    """Second fundamental form II(u, v) = -u . H v / |slope| at x: (II(t, t), II(t, b), II(b, b)) [1/m]."""
    g = slope(shape, x)
    f = -1.0 / math.sqrt(dot(g, g))
    ht = hessian_times(shape, x, t)
    return f * dot(t, ht), f * dot(b, ht), f * dot(b, hessian_times(shape, x, b))


@kernel
def frame_at(shape, x, t):
    """(n, b): outward unit normal, and n x t."""
    n = unit(slope(shape, x))
    return n, cross(n, t)
