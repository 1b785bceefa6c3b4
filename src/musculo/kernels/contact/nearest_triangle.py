"""The nearest point of a surface of triangles."""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel

# Boxes are passed over where they are further away than what was found, by more than rounding.
_ROUNDING = 1e-12


class Meshes(NamedTuple):
    """Surfaces of triangles, each in its frame, one after the other: mesh m is first[m] .. first[m + 1] - 1.

    Boxes hold triangles that are near each other, in a tree: from a box on, those inside it follow up to `past`.
    """

    first: IntArray  # (meshes + 1,)
    middle: FloatArray  # (triangles, 3)
    area: FloatArray  # (triangles,)
    normal: FloatArray  # (triangles, 3) outward
    corners: FloatArray  # (triangles, 9)
    center: FloatArray  # (meshes, 3) of the sphere that holds all
    radius: FloatArray  # (meshes,)
    first_box: IntArray  # (meshes + 1,) the first box of a mesh holds all of it
    box: FloatArray  # (boxes, 6) least x, y, z, and largest
    past: IntArray  # (boxes,) the first box after it that is not inside it
    held: IntArray  # (boxes, 2) where its own triangles begin in `order`, and how many; none where boxes are inside it
    order: IntArray  # (triangles,) triangles, those of a box one after the other


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
def _to_triangle(p, meshes, k):
    """The point of triangle k that is nearest to p, and the way from there to p."""
    t = meshes.corners[k]
    x = nearest_on_triangle(p, (t[0], t[1], t[2]), (t[3], t[4], t[5]), (t[6], t[7], t[8]))
    return x, _minus(p, x)


@kernel
def nearest_of_mesh(p, meshes, m, guess):
    """The nearest point of all triangles of mesh m to p, whether p is behind its face, and which triangle it is on.

    A box of the tree whose distance is larger than what is found already is passed over with all that is in it. Of
    triangles that are equally near the first counts.

    Args:
        guess: a triangle that may be near, such as that of a point beside p; -1 for none. The answer is the same.
    """
    best = math.inf
    at = guess
    found, way = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if guess >= 0:
        found, way = _to_triangle(p, meshes, guess)
        best = _dot(way, way)
    i, end = meshes.first_box[m], meshes.first_box[m + 1]
    while i < end:
        b = meshes.box[i]
        x = max(b[0] - p[0], 0.0, p[0] - b[3])
        y = max(b[1] - p[1], 0.0, p[1] - b[4])
        z = max(b[2] - p[2], 0.0, p[2] - b[5])
        if x * x + y * y + z * z > best * (1.0 + _ROUNDING):
            i = meshes.past[i]
            continue
        for j in range(meshes.held[i, 0], meshes.held[i, 0] + meshes.held[i, 1]):
            k = meshes.order[j]
            point, to = _to_triangle(p, meshes, k)
            d = _dot(to, to)
            if d < best or (d == best and k < at):
                best, found, way, at = d, point, to, k
        i += 1
    n = meshes.normal[at]
    return found, _dot(way, (n[0], n[1], n[2])) < 0.0, at
