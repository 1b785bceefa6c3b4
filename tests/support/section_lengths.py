"""Taut paths over an ellipsoid within planes through the straight line, and how much longer one half of them is.

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


def long_way(a: FloatArray, P: FloatArray, Q: FloatArray) -> float:
    """The path on the side that points from the line to the centre and beyond."""
    u = (Q - P) / np.linalg.norm(Q - P)
    m = P - (P @ u) * u
    return float(section_lengths(a, P, Q, -m[None] / np.linalg.norm(m))[0])


def refined(
    a: FloatArray, P: FloatArray, Q: FloatArray, axis: int, sign: float, kind: int
) -> tuple[FloatArray, FloatArray]:
    """Angles and lengths of all minima (kind = 1) or maxima (-1) between the edges of a quadrant's half."""

    def length(psi: float) -> float:
        return kind * float(section_lengths(a, P, Q, half_turn(P, Q, axis, sign, np.array([psi])))[0])

    psi = np.linspace(0.0, np.pi, _SIDES)
    values = kind * section_lengths(a, P, Q, half_turn(P, Q, axis, sign, psi))
    at, found = [], []
    for i in np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])) + 1:
        best = minimize_scalar(length, bounds=(psi[i - 1], psi[i + 1]), method="bounded", options={"xatol": 1e-10})
        at.append(float(best.x))
        found.append(kind * float(best.fun))
    return np.array(at), np.array(found)


def side_detour(a: FloatArray, axis: int, sign: float, P: FloatArray, Q: FloatArray) -> float:
    """How much longer the way over the quadrant's side is [m]: the long way round, or the cheapest minimum on its half,
    which costs what it is longer than the other half's least, three times as much at an edge of the half or with no
    barrier round it; `musculo.kernels.wrapping.rules.detour` has the formula. P and Q in the ellipsoid's frame."""
    p, q = P / a, Q / a
    wrong = least_length(a, p, q, axis, -sign)
    edges = section_lengths(a, p, q, half_turn(p, q, axis, sign, np.array([0.0, np.pi])))
    prices = [long_way(a, p, q) - wrong, *(3.0 * (edges - wrong))]
    tops_at, tops = refined(a, p, q, axis, sign, -1)
    for at, length in zip(*refined(a, p, q, axis, sign, 1), strict=True):
        back = max([edges[0], *tops[tops_at < at]])
        on = max([edges[1], *tops[tops_at > at]])
        barrier = min(back, on) - length
        prices.append(length - wrong + 2.0 * max(0.0, length - wrong - barrier))
    return max(0.0, min(prices))
