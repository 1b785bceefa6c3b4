"""The nearest point of a surface of triangles."""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel


class Meshes(NamedTuple):
    """Surfaces of triangles, each in its frame, one after the other: mesh m is first[m] .. first[m + 1] - 1."""

    first: IntArray  # (meshes + 1,)
    middle: FloatArray  # (triangles, 3)
    area: FloatArray  # (triangles,)
    normal: FloatArray  # (triangles, 3) outward
    corners: FloatArray  # (triangles, 9)
    size: FloatArray  # (triangles,) radius about the middle
    low: FloatArray  # (meshes, 3) least x, y, z
    high: FloatArray  # (meshes, 3)
    center: FloatArray  # (meshes, 3) of the sphere that holds all
    radius: FloatArray  # (meshes,)


@kernel
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _minus(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def _between(a, b, t):
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])


@kernel
def nearest_on_triangle(p, a, b, c):
    """The point of triangle a b c that is nearest to p, by the region of its plane that p is over.

    Source: [Ericson2004] section 5.1.5.
    """
    ab, ac, ap = _minus(b, a), _minus(c, a), _minus(p, a)
    d1, d2 = _dot(ab, ap), _dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return a
    bp = _minus(p, b)
    d3, d4 = _dot(ab, bp), _dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return b
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return _between(a, b, d1 / (d1 - d3))
    cp = _minus(p, c)
    d5, d6 = _dot(ab, cp), _dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return c
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return _between(a, c, d2 / (d2 - d6))
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return _between(b, c, (d4 - d3) / ((d4 - d3) + (d5 - d6)))
    scale = 1.0 / (va + vb + vc)
    v, w = vb * scale, vc * scale
    return a[0] + ab[0] * v + ac[0] * w, a[1] + ab[1] * v + ac[1] * w, a[2] + ab[2] * v + ac[2] * w


@kernel
def nearest_of_mesh(p, meshes, m):
    """The nearest point of all triangles of mesh m to p, and whether p is behind its face.

    A triangle whose sphere is further away than what is found already is passed over.
    """
    best = math.inf
    behind = False
    found = (0.0, 0.0, 0.0)
    for k in range(meshes.first[m], meshes.first[m + 1]):
        m = meshes.middle[k]
        d = _minus(p, (m[0], m[1], m[2]))
        least = math.sqrt(_dot(d, d)) - meshes.size[k]
        if least > 0.0 and least * least >= best:
            continue
        t, n = meshes.corners[k], meshes.normal[k]
        x = nearest_on_triangle(p, (t[0], t[1], t[2]), (t[3], t[4], t[5]), (t[6], t[7], t[8]))
        d = _minus(p, x)
        if _dot(d, d) < best:
            best = _dot(d, d)
            found = x
            behind = _dot(d, (n[0], n[1], n[2])) < 0.0
    return found, behind
