"""Natural splines of degree 2m - 1: exact interpolation, and smoothing by generalized cross-validation.

The natural spline of half order m minimizes, over all functions,

    sum_i (y_i - f(x_i))^2 + p int (f^(m))^2 dx                                                          (1)

Its derivatives m to 2m - 2 vanish at both ends, and beyond them it is a polynomial of degree m - 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.functions.bsplines import BSpline, natural_spline
from musculo.functions.elementary_functions import taylor_shift

# Woltring's limits of the smoothing parameter relative to its natural size, and the precision of its search.
SMALLEST_RELATIVE_WEIGHT = 1e-15
SEARCH_TOLERANCE = 1e-8


def natural_spline_pieces(x: FloatArray, y: FloatArray, half_order: int) -> FloatArray:
    """Local coefficients (n + 1, 2m) of the natural spline through (x, y), ends included.

    Args:
        x: (n,) increasing knots.
        y: (n,) values.
        half_order: m; the degree is 2m - 1.
    """
    return with_continuations(natural_spline(x, y[:, None], 2 * half_order - 1), x, half_order - 1)


def with_continuations(spline: BSpline, x: FloatArray, continuation_degree: int) -> FloatArray:
    """Local coefficients (n + 1, degree + 1) of a one-column spline, highest first, with Taylor polynomials beyond."""
    degree = spline.degree
    rows = np.zeros((len(x) + 1, degree + 1))
    for derivative in range(degree + 1):
        rows[1:-1, degree - derivative] = spline(x[:-1], derivative)[:, 0] / math.factorial(derivative)
    keep = continuation_degree + 1
    rows[0, -keep:] = rows[1, -keep:]
    rows[-1, -keep:] = taylor_shift(rows[-2], x[-1] - x[-2])[-keep:]
    return rows


class Smoother(NamedTuple):
    """The matrices of the smoothing problem (1) in terms of g = f^(m) = sum_j gamma_j M_j.

        (R + p Q^T Q) gamma = Q^T y,   f(x) = y - p Q gamma,   I - A = p Q (R + p Q^T Q)^-1 Q^T

    with M_j the B-splines of degree m - 1 of unit integral, R = int M_i M_j, Q^T f = m! f[x_j .. x_j+m].
    Source: Reinsch 1967 for m = 2; [Woltring1986] for the criteria.
    """

    differences: FloatArray  # (n - m, m + 1) row j: the entries of Q^T from column j on
    gram: FloatArray  # (m + 1, n - m) lower bands of R
    squared: FloatArray  # (m + 1, n - m) lower bands of Q^T Q

    def solve(self, y: FloatArray, weight: float) -> tuple[FloatArray, float]:
        """Fitted values (n,) and trace of I - A for the smoothing weight p."""
        from scipy.linalg import cho_solve_banded, cholesky_banded

        count, width = self.differences.shape
        bands = self.gram + weight * self.squared
        factor = cholesky_banded(bands, lower=True)
        right = sum(self.differences[:, k] * y[k : k + count] for k in range(width))
        gamma = cho_solve_banded((factor, True), right)
        fitted = np.array(y, dtype=float)
        for k in range(width):
            fitted[k : k + count] -= weight * self.differences[:, k] * gamma
        inverse = band_of_inverse(factor)
        trace = np.sum(inverse[0] * self.squared[0])
        for k in range(1, width):
            trace += 2.0 * np.sum(inverse[k, : count - k] * self.squared[k, : count - k])
        return fitted, float(weight * trace)


def smoother(x: FloatArray, half_order: int) -> Smoother:
    """The smoothing problem for knots x (n,)."""
    m, n = half_order, len(x)
    count = n - m
    differences = np.empty((count, m + 1))
    for k in range(m + 1):
        gaps = np.ones(count)
        for other in range(m + 1):
            if other != k:
                gaps *= x[k : k + count] - x[other : other + count]
        differences[:, k] = math.factorial(m) / gaps
    # Products of two B-splines have degree 2m - 2: m Gauss points per knot interval integrate them exactly.
    nodes, weights = np.polynomial.legendre.leggauss(m)
    middle, half = 0.5 * (x[1:] + x[:-1]), 0.5 * np.diff(x)
    points, point_weights = middle[:, None] + half[:, None] * nodes, half[:, None] * weights
    splines = np.zeros((count, n - 1, m))
    for j in range(count):
        span = slice(j, j + m)
        # the B-spline of these knots alone: those that repeat its ends complete a basis
        knots = np.concatenate((np.full(m - 1, x[j]), x[j : j + m + 1], np.full(m - 1, x[j + m])))
        element = BSpline(knots, np.eye(2 * m - 1)[:, m - 1 : m].copy(), m - 1)
        splines[j, span] = element(points[span].ravel()).reshape(m, m) * m / (x[j + m] - x[j])
    gram, squared = np.zeros((m + 1, count)), np.zeros((m + 1, count))
    for k in range(m + 1):
        for j in range(count - k):
            span = slice(j + k, j + m)
            gram[k, j] = np.sum(point_weights[span] * splines[j, span] * splines[j + k, span])
            squared[k, j] = differences[j, k:] @ differences[j + k, : m + 1 - k]
    return Smoother(differences, gram, squared)


def band_of_inverse(factor: FloatArray) -> FloatArray:
    """Lower bands of (L L^T)^-1 from the bands of L (Hutchinson & de Hoog 1985), both (width, n)."""
    width, n = factor.shape
    inverse = np.zeros((width, n))
    for j in range(n - 1, -1, -1):
        reach = min(width - 1, n - 1 - j)
        block = np.empty((reach, reach))
        for a in range(reach):
            block[a, a:] = inverse[: reach - a, j + 1 + a]
            block[a:, a] = inverse[: reach - a, j + 1 + a]
        column = factor[1 : reach + 1, j] / factor[0, j]
        inverse[1 : reach + 1, j] = -block @ column
        inverse[0, j] = 1.0 / factor[0, j] ** 2 - column @ inverse[1 : reach + 1, j]
    return inverse


def smoothed_values(x: FloatArray, y: FloatArray, half_order: int, error_variance: float | None) -> FloatArray:
    """Values (n,) at the knots of the smoothing spline whose weight p minimizes a criterion.

        error variance unknown (None):   G(p) = (|y - f|^2 / n) / (trace(I - A) / n)^2
        known, s:                        T(p) = |y - f|^2 / n - s (2 trace(I - A) / n - 1)

    Source:     [Woltring1986], modes 2 and 3 of GCVSPL; the minimum is the one next to p = trace(R) / trace(Q^T Q).
    Departs:    p is searched to 1e-8 instead of 1e-6; towards p = infinity the fit is the least-squares polynomial of
                degree m - 1 to about 1e-12 on even knots, where OpenSim's own differs from it by up to 1e-4.
    """
    from scipy.optimize import minimize_scalar

    problem = smoother(x, half_order)
    n = len(x)
    natural_weight = problem.gram[0].sum() / problem.squared[0].sum()

    def criterion(log_weight: float) -> float:
        fitted, trace = problem.solve(y, math.exp(log_weight))
        mean_square = float(np.sum((y - fitted) ** 2)) / n
        if error_variance is None:
            return mean_square / (trace / n) ** 2
        return mean_square - error_variance * (2.0 * trace / n - 1.0)

    start, reach = math.log(natural_weight), -math.log(SMALLEST_RELATIVE_WEIGHT)
    low, high = _bracket(criterion, start, start - reach, start + reach)
    best = minimize_scalar(criterion, bounds=(low, high), method="bounded", options={"xatol": SEARCH_TOLERANCE})
    return problem.solve(y, math.exp(best.x))[0]


def _bracket(criterion: Callable[[float], float], start: float, lowest: float, highest: float) -> tuple[float, float]:
    """An interval around the local minimum downhill from start, walked in factors of two of the weight."""
    step = math.log(2.0)
    left, middle = start, start + step
    at_left, at_middle = criterion(left), criterion(middle)
    while at_left <= at_middle and left > lowest:
        left, middle = left - step, left
        at_left, at_middle = criterion(left), at_left
    right = middle + step
    at_right = criterion(right)
    while at_right <= at_middle and right < highest:
        middle, right = right, right + step
        at_middle, at_right = at_right, criterion(right)
    return left, right
