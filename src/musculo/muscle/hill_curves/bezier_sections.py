"""Bezier curves from corners: the sections of Millard's curves, and the table that kernels evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.polynomial import chebyshev

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.hill.curve_lookup import ENTRY, HEAD, ROW

# Below this difference of slopes the two tangents of a corner count as parallel (OpenSim's square root of epsilon).
_PARALLEL = 1.49e-8
_QUINTIC = 5
_BISECTIONS = 12
_NEWTON_STEPS = 6
# A section is tabulated in more and more steps until its polynomials are this close to it, over its largest value.
TABLE_TOLERANCE = 1e-13
_MOST_STEPS = 256


@dataclass(frozen=True)
class Knot:
    """Where two sections meet: a point and the slope of the curve there."""

    x: float
    y: float
    slope: float


@dataclass(frozen=True)
class BezierCurve:
    """Control points (sections, 6) in x and y, and the slopes of the straight lines beyond the ends."""

    x: FloatArray
    y: FloatArray
    slope_left: float
    slope_right: float

    def key(self) -> tuple[bytes, bytes, float, float]:
        """Equal for equal curves, so that a table holds each once."""
        return self.x.tobytes(), self.y.tobytes(), self.slope_left, self.slope_right

    def inverse(self) -> BezierCurve:
        """The curve with x and y exchanged; both must increase."""
        return BezierCurve(self.y, self.x, 1.0 / self.slope_left, 1.0 / self.slope_right)

    def section(self, k: int, x: FloatArray) -> FloatArray:
        """y at x in section k, by solving x(u) = x: bisection, then Newton's steps."""
        powers_x, powers_y = (_power_basis() @ (p[k] - p[k, 0]) for p in (self.x, self.y))
        target = x - self.x[k, 0]
        low, high = np.zeros_like(target), np.ones_like(target)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = np.polyval(powers_x[::-1], middle) < target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        u = 0.5 * (low + high)
        for _ in range(_NEWTON_STEPS):
            slope = np.polyval(np.polyder(powers_x[::-1]), u)
            u = np.clip(u - (np.polyval(powers_x[::-1], u) - target) / slope, 0.0, 1.0)
        return self.y[k, 0] + np.polyval(powers_y[::-1], u)


def corner(start: Knot, end: Knot, curviness: float) -> tuple[FloatArray, FloatArray]:
    """Control points of a quintic Bezier section between two knots.

        P0, M0, M0, M1, M1, P1   with   M_i = P_i + c (C - P_i),   c = 0.1 + 0.8 curviness,

    and C where the tangents of the two knots meet. Doubled points give zero curvature at both ends, so that
    sections join with two continuous derivatives.

    Source:     [Millard2013], OpenSim's SegmentedQuinticBezierToolkit.
    Guarantees: passes through both knots with their slopes; curviness 0 is nearly straight, 1 nearly the corner.
    """
    if abs(start.slope - end.slope) > _PARALLEL:
        x = (end.y - start.y - end.x * end.slope + start.x * start.slope) / (start.slope - end.slope)
    else:
        x = 0.5 * (start.x + end.x)
    y = end.y + (x - end.x) * end.slope
    if not start.x < x < end.x:
        raise InvalidInput(
            f"the tangents at x = {start.x:g} and x = {end.x:g} meet at x = {x:g}, outside the two; "
            "change the slopes so that the curve bends one way between them"
        )
    c = 0.1 + 0.8 * curviness
    x_points = [start.x, start.x + c * (x - start.x), end.x + c * (x - end.x), end.x]
    y_points = [start.y, start.y + c * (y - start.y), end.y + c * (y - end.y), end.y]
    doubled = [0, 1, 1, 2, 2, 3]
    return np.array(x_points)[doubled], np.array(y_points)[doubled]


def bezier_curve(knots: Sequence[Knot], curviness: Sequence[float]) -> BezierCurve:
    """The curve through the knots in increasing x, one curviness a section."""
    sections = [corner(a, b, c) for a, b, c in zip(knots[:-1], knots[1:], curviness, strict=True)]
    x, y = (np.stack([section[axis] for section in sections]) for axis in (0, 1))
    return BezierCurve(x, y, knots[0].slope, knots[-1].slope)


def stepped_rows(curve: BezierCurve) -> FloatArray:
    """The curve as a table of polynomials (`musculo.kernels.hill.curve_lookup` says how it is laid out).

    Guarantees: within TABLE_TOLERANCE of the Bezier curve, times its largest value; the slopes are those of the table.
    """
    return _stepped_rows(*curve.key())


# Muscles of all models mostly have the same curves, and fitting them takes longer than a short trial's static
# optimization. A table is about 10 kB.
@lru_cache(maxsize=512)
def _stepped_rows(x: bytes, y: bytes, slope_left: float, slope_right: float) -> FloatArray:
    points = [np.frombuffer(one).reshape(-1, _QUINTIC + 1) for one in (x, y)]
    curve = BezierCurve(points[0], points[1], slope_left, slope_right)
    n = len(curve.x)
    directory, blocks, first = [], [], aligned(HEAD + ENTRY * (n + 2))
    for k in range(-1, n + 1):
        if 0 <= k < n:
            rows = _fitted(curve, k)
            border = origin = curve.x[k, 0]
            rate = len(rows) / (curve.x[k, -1] - curve.x[k, 0])
        else:
            # a straight line, of x less the end
            end, slope = ((0, 0), curve.slope_left) if k < 0 else ((-1, -1), curve.slope_right)
            rows = np.zeros((1, ROW))
            rows[0, -2:] = slope, curve.y[end]
            border, rate = curve.x[end], 0.5
            origin = border - 1.0
        directory.append([border, origin, rate, len(rows) - 1, first])
        blocks.append(rows.ravel())
        first += rows.size
    head = np.concatenate([[n + 2], np.ravel(directory)])
    rows = np.concatenate([head, np.zeros(aligned(head.size) - head.size), *blocks])
    rows.flags.writeable = False
    return rows


def aligned(size: int) -> int:
    """The next whole number of rows: a row that starts there is one line of cache."""
    return -(-size // ROW) * ROW


def _fitted(curve: BezierCurve, k: int) -> FloatArray:
    """(steps, ROW) polynomials of section k, each of -1 to 1 over its step: interpolation at Chebyshev's points."""
    nodes = chebyshev.chebpts1(ROW)
    # values -> Chebyshev's coefficients -> powers, highest first; both are well conditioned
    to_powers = np.stack([_padded(np.asarray(chebyshev.cheb2poly(row), dtype=float)) for row in np.eye(ROW)], axis=1)[
        ::-1
    ]
    to_powers = to_powers @ np.linalg.inv(chebyshev.chebvander(nodes, ROW - 1))
    between = np.linspace(-1.0, 1.0, 2 * ROW + 1)
    start, width = curve.x[k, 0], curve.x[k, -1] - curve.x[k, 0]
    bound = TABLE_TOLERANCE * max(1.0, float(np.abs(curve.y).max()))
    steps = 8
    while True:

        def values(points: FloatArray, n: int = steps) -> FloatArray:
            return curve.section(k, start + width * (np.arange(n)[:, None] + 0.5 + 0.5 * points) / n)

        rows = values(nodes) @ to_powers.T
        error = np.abs(rows @ np.vander(between, ROW).T - values(between)).max()
        if error <= bound or steps >= _MOST_STEPS:
            return rows
        steps *= 2


def _padded(powers: FloatArray) -> FloatArray:
    return np.concatenate([powers, np.zeros(ROW - len(powers))])


def _power_basis() -> FloatArray:
    """(6, 6) from control points to coefficients of u^k."""
    basis = np.zeros((_QUINTIC + 1, _QUINTIC + 1))
    for k in range(_QUINTIC + 1):
        for i in range(k + 1):
            basis[k, i] = comb(_QUINTIC, k) * comb(k, i) * (-1) ** (k - i)
    return basis
