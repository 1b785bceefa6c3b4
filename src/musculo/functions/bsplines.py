"""Splines through points, as sums of B-splines, for any number of columns at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.kernels.functions.spline_frames import spline_frames, spline_rows
from musculo.kernels.scalar.banded_equations import solve_banded


class BSpline(NamedTuple):
    """f(x) = sum_j c_j B_j(x), with B_j the B-spline of knots j to j + degree + 1.

    Beyond the first and the last knot that is not repeated the end pieces go on.
    """

    knots: FloatArray  # (n + degree + 1,) not decreasing, the ends repeated degree + 1 times
    coefficients: FloatArray  # (n, columns)
    degree: int

    def __call__(self, x: FloatArray, order: int = 0) -> FloatArray:
        """Values or derivatives (points, columns) at x (points,)."""
        values = np.zeros((len(x), self.coefficients.shape[1]))
        if order <= self.degree:
            x = np.ascontiguousarray(x, dtype=float)
            spline_frames(self.knots, self.degree, self.coefficients, x, order, values)
        return values


def natural_spline(x: FloatArray, y: FloatArray, degree: int) -> BSpline:
    """The spline of odd degree through y (n, columns) at x (n,) whose derivatives m to 2m - 2 vanish at the ends.

    2m - 1 is the degree; every x is a knot.
    """
    m = (degree + 1) // 2
    knots = np.concatenate((np.full(degree, x[0]), x, np.full(degree, x[-1])))
    vanishing = np.arange(m, degree, dtype=np.int64)
    points = np.concatenate((np.full(len(vanishing), x[0]), x, np.full(len(vanishing), x[-1])))
    orders = np.concatenate((vanishing, np.zeros(len(x), dtype=np.int64), vanishing))
    right = np.zeros((len(points), y.shape[1]))
    right[len(vanishing) : len(vanishing) + len(x)] = y
    return _fitted(knots, degree, points, orders, right)


def not_a_knot_spline(x: FloatArray, y: FloatArray, degree: int) -> BSpline:
    """The spline of odd degree through y (n, columns) at x (n,); the points next to its ends are no knots.

    Through degree + 1 points it is the polynomial, whose degree may be even.
    """
    m = (degree + 1) // 2
    inner = x[m:-m] if len(x) > degree + 1 else x[:0]
    knots = np.concatenate((np.full(degree + 1, x[0]), inner, np.full(degree + 1, x[-1])))
    return _fitted(knots, degree, np.ascontiguousarray(x), np.zeros(len(x), dtype=np.int64), np.array(y, order="C"))


def _fitted(
    knots: FloatArray, degree: int, points: FloatArray, orders: NDArray[np.int64], right: FloatArray
) -> BSpline:
    rows = np.zeros((len(points), 2 * degree + 1))
    spline_rows(knots, degree, points, orders, rows)
    if not solve_banded(rows, degree, right) or not np.isfinite(right).all():
        raise np.linalg.LinAlgError("its equations are singular")
    return BSpline(knots, right, degree)
