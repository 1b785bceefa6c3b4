"""Splines as sums of B-splines, for all columns of a recording at once."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver, unfused


@unfused
def _interval(knots, degree, x, near):
    """i with knots[i] <= x < knots[i + 1]; of the first and the last one, also what lies beyond."""
    low, high = degree, knots.size - degree - 2
    if knots[near] <= x < knots[near + 1]:
        return near
    if near < high and knots[near + 1] <= x < knots[near + 2]:
        return near + 1
    while low < high:
        middle = (low + high + 1) // 2
        if x < knots[middle]:
            high = middle - 1
        else:
            low = middle
    return low


@unfused
def _basis(knots, degree, i, x, order, b, before):
    """Derivatives (degree + 1,) of the B-splines i - degree to i that are not zero between knots i and i + 1.

    Up to degree - order by the recursion of their values, and from there on by that of their derivatives:

        B_p = w (x - t_a) B_p-1 + w' (t_b - x) B'_p-1,   dB_p/dx = p (w B_p-1 - w' B'_p-1)

    Source: de Boor 1978, ch. X.
    """
    b[0] = 1.0
    for p in range(1, degree + 1):
        for j in range(p):
            before[j] = b[j]
        b[0] = 0.0
        for j in range(1, p + 1):
            right, left = knots[i + j], knots[i + j - p]
            if right == left:
                b[j] = 0.0
                continue
            w = before[j - 1] / (right - left)
            if p <= degree - order:
                b[j - 1] += w * (right - x)
                b[j] = w * (x - left)
            else:
                b[j - 1] -= p * w
                b[j] = p * w


@unfused
def _add(coefficients, row, factor, values, f):
    for c in range(values.shape[1]):
        values[f, c] += factor * coefficients[row, c]


@driver
def spline_rows(knots, degree, points, orders, rows):
    """The equations "derivative orders[i] at points[i]" of the coefficients, as `solve_banded` takes them.

    Args:
        knots: (n + degree + 1,).
        points: (n,) increasing, one for each coefficient, in reach of its B-spline.
        orders: (n,) of the derivatives, 0 for values.
        rows: (n, 2 degree + 1) of zeros, with `degree` entries below the diagonal.
    """
    b, before = np.zeros(degree + 1), np.zeros(degree + 1)
    i = degree
    for row in range(points.size):
        i = _interval(knots, degree, points[row], i)
        _basis(knots, degree, i, points[row], orders[row], b, before)
        start = i - degree - max(row - degree, 0)
        for k in range(degree + 1):
            rows[row, start + k] = b[k]


@driver
def spline_frames(knots, degree, coefficients, x, order, values):
    """Derivatives of an order at most the degree: values (points, columns), of zeros, at x (points,)."""
    b, before = np.zeros(degree + 1), np.zeros(degree + 1)
    i = degree
    for f in range(x.size):
        i = _interval(knots, degree, x[f], i)
        _basis(knots, degree, i, x[f], order, b, before)
        for k in range(degree + 1):
            _add(coefficients, i - degree + k, b[k], values, f)
