"""Taut paths over an ellipsoid within planes through the straight line.

Worked out in the planes' own coordinates, with numpy and a search over all sides; the kernels' slopes, roots and
brackets have no part in it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

FloatArray = np.ndarray
# Sides of a half turn that are compared before the least is refined.
_SIDES = 361
# Their nodes are eigenvalues of a matrix: searches ask for the same ones ten thousand times.
_gauss = cache(np.polynomial.legendre.leggauss)


def section_lengths(a: FloatArray, P: FloatArray, Q: FloatArray, sides: FloatArray, nodes: int = 96) -> FloatArray:
    """Lengths of the paths on `sides` (n, 3), unit vectors across the line; all in coordinates in which the ellipsoid
    with semi-axes a is the unit sphere. The arc is a sum over so many Gauss points, more than the kernels take."""
    u = (Q - P) / np.linalg.norm(Q - P)
    p, q, y = P @ u, Q @ u, sides @ P
    # the circle's centre lies in the plane at (0, 0), the line at the height y
    radius = np.sqrt(1.0 - (P @ P - p * p - y * y))
    ends = []
    for x, way in ((p, 1.0), (q, -1.0)):
        d = np.hypot(x, y)
        ends.append(np.arctan2(x, y) + way * np.arccos(np.minimum(1.0, radius / d)))
    t, w = _gauss(nodes)
    half, middle = (ends[1] - ends[0]) / 2, (ends[1] + ends[0]) / 2
    angles = middle[:, None] + half[:, None] * t
    along = -np.sin(angles)[..., None] * sides[:, None] + np.cos(angles)[..., None] * u
    length = half * radius * (np.linalg.norm(a * along, axis=-1) @ w)
    for end, x in ((ends[0], p), (ends[1], q)):
        touch = radius[:, None] * (np.cos(end)[:, None] * sides + np.sin(end)[:, None] * u)
        apart = y[:, None] * sides + x * u - touch
        length = length + np.where(np.hypot(x, y) > radius, np.linalg.norm(a * apart, axis=1), 0.0)
    return length


def half_turn(P: FloatArray, Q: FloatArray, axis: int, sign: float, psi: FloatArray) -> FloatArray:
    """Sides of the half of a quadrant, at angles 0 to pi from one of its edges to the other."""
    u = (Q - P) / np.linalg.norm(Q - P)
    e = np.eye(3)[axis] * sign
    inner = e - (e @ u) * u
    inner /= np.linalg.norm(inner)
    return np.cos(psi)[:, None] * np.cross(u, inner) + np.sin(psi)[:, None] * inner


def least_length(a: FloatArray, P: FloatArray, Q: FloatArray, axis: int, sign: float) -> float:
    """The shortest of the paths on the sides of a quadrant's half."""

    def length(psi: FloatArray) -> FloatArray:
        return section_lengths(a, P, Q, half_turn(P, Q, axis, sign, np.atleast_1d(psi)))

    psi = np.linspace(0.0, np.pi, _SIDES)
    values = length(psi)
    best = int(values.argmin())
    bounds = (psi[max(best - 1, 0)], psi[min(best + 1, _SIDES - 1)])
    found = minimize_scalar(lambda x: length(x)[0], bounds=bounds, method="bounded", options={"xatol": 1e-10})
    return min(float(found.fun), float(values[best]))
