"""Functions against live OpenSim: values and first and second derivatives, inside and beyond the knots."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.functions import (
    GCVSpline,
    MultivariatePolynomial,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    SimmSpline,
    Sine,
    Step,
)

opensim = pytest.importorskip("opensim")

# Both evaluate the same closed formulas or solve the same small systems in float64.
SAME_FORMULA = 1e-12
# A jump over a spacing of 1e-7 makes slopes of 1e7, whose rounding spreads over the curve.
REPEATED_KNOT = 1e-8
# Divided differences and B-splines of degree 7 on uneven knots lose a digit more.
DEGREE_SEVEN = 1e-11
# GCVSPL searches its smoothing weight to a relative 1e-6, in a criterion that is flat and noisy at its minimum.
WEIGHT_SEARCH = 1e-4

X = np.array([-1.5, -1.0, -0.2, 0.3, 0.9, 1.4, 2.2, 2.5, 3.1])
Y = np.array([0.3, 1.2, -0.4, 0.8, 0.1, 1.1, 0.7, -0.9, 0.2])
AROUND = np.linspace(-3.0, 5.0, 83)


def value(function, *x):
    return function.calcValue(opensim.Vector(list(map(float, x))))


def partial(function, components, *x):
    wanted = opensim.StdVectorInt()
    for component in components:
        wanted.append(component)
    return function.calcDerivative(wanted, opensim.Vector(list(map(float, x))))


def with_points(function, x, y):
    for a, b in zip(x, y, strict=True):
        function.addPoint(float(a), float(b))
    return function


def assert_same(ours, theirs, points, tolerance, orders=(0, 1, 2)):
    for order in orders:
        expected = np.array([partial(theirs, [0] * order, t) if order else value(theirs, t) for t in points])
        scale = max(1.0, np.abs(expected).max())
        assert_allclose(ours.derivative(points, order=order), expected, rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_simm_spline(n):
    theirs = with_points(opensim.SimmSpline(), X[:n], Y[:n])
    points = np.concatenate([AROUND, X[:n]])
    assert_same(SimmSpline(X[:n], Y[:n]), theirs, points, SAME_FORMULA)


def test_simm_spline_with_a_repeated_knot():
    """Real muscle curves repeat knots; OpenSim takes such a spacing as 1e-7 and both jump there."""
    x, y = (0.0, 0.5, 1.15, 1.15, 1.8, 2.5), (0.1, 0.4, 0.6, 0.9, 1.2, 0.7)
    theirs = with_points(opensim.SimmSpline(), x, y)
    points = np.array([t for t in AROUND if abs(t - 1.15) > 1e-6])
    assert_same(SimmSpline(x, y), theirs, points, REPEATED_KNOT)


def gcv_spline(half_order, error_variance, x=X, y=Y):
    spline = opensim.GCVSpline()
    spline.setDegree(2 * half_order - 1)
    opensim.PropertyHelper.setValueDouble(error_variance, spline.updPropertyByName("error_variance"))
    return with_points(spline, x, y)


@pytest.mark.parametrize("half_order", [1, 2, 3, 4])
def test_gcv_spline_interpolates(half_order):
    orders = (0, 1, 2)[: half_order + 1]
    tolerance = SAME_FORMULA if half_order < 4 else DEGREE_SEVEN
    assert_same(GCVSpline(X, Y, half_order), gcv_spline(half_order, 0.0), AROUND, tolerance, orders)


@pytest.mark.parametrize("error_variance", [-1.0, 1e-4, 2.5e-3])
@pytest.mark.parametrize("half_order", [2, 3, 4])
def test_gcv_spline_smooths(half_order, error_variance):
    x = np.linspace(0.0, 3.0, 30)
    y = np.sin(x) + 0.05 * np.random.default_rng(0).standard_normal(30)
    theirs = gcv_spline(half_order, error_variance, x, y)
    points = np.linspace(-0.2, 3.2, 41)
    ours = GCVSpline(x, y, half_order, error_variance)
    assert np.abs(ours(x) - y).max() > 1e-3  # it does smooth
    assert_same(ours, theirs, points, WEIGHT_SEARCH)


def test_piecewise_linear():
    theirs = with_points(opensim.PiecewiseLinearFunction(), X, Y)
    assert_same(PiecewiseLinear(X, Y), theirs, AROUND, SAME_FORMULA)


def test_step():
    theirs = opensim.StepFunction(-0.5, 1.7, 2.0, -1.0)
    assert_same(Step(-0.5, 1.7, 2.0, -1.0), theirs, AROUND, SAME_FORMULA)


def test_sine():
    theirs = opensim.Sine(2.0, 3.0, 0.4, 1.0)
    assert_same(Sine(2.0, 3.0, 0.4, 1.0), theirs, AROUND, SAME_FORMULA)


def test_polynomial():
    coefficients = (0.3, -1.0, 2.0, 0.5)
    theirs = opensim.PolynomialFunction(opensim.Vector(list(coefficients)))
    assert_same(Polynomial(coefficients), theirs, AROUND, SAME_FORMULA)


def test_multiplier():
    spline = with_points(opensim.SimmSpline(), X, Y)
    spline.this.disown()  # the multiplier owns and frees it
    theirs = opensim.MultiplierFunction(spline, -2.5)
    assert_same(Scaled(SimmSpline(X, Y), -2.5), theirs, AROUND, SAME_FORMULA)


@pytest.mark.parametrize(("dimension", "order"), [(1, 3), (2, 3), (3, 4), (4, 2)])
def test_multivariate_polynomial(dimension, order):
    rng = np.random.default_rng(dimension)
    coefficients = rng.uniform(-1.0, 1.0, math.comb(dimension + order, order))
    theirs = opensim.MultivariatePolynomialFunction(opensim.Vector(coefficients.tolist()), dimension, order)
    ours = MultivariatePolynomial(dimension, order, coefficients)
    for x in rng.uniform(-1.5, 1.5, (5, dimension)):
        assert_allclose(ours(*x), value(theirs, *x), rtol=SAME_FORMULA, atol=SAME_FORMULA)
        expected = [partial(theirs, [k], *x) for k in range(dimension)]
        assert_allclose(ours.gradient(*x), expected, rtol=SAME_FORMULA, atol=10 * SAME_FORMULA)
