"""Laws of all functions: derivatives are derivatives, and curves are as smooth as they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from musculo.functions import (
    FourierSeries,
    GCVSpline,
    Linear,
    MultivariatePolynomial,
    NaturalCubicSpline,
    PiecewiseLinear,
    Polynomial,
    SampledSpline,
    Scaled,
    SimmSpline,
    Sine,
    Step,
)
from musculo.functions.multivariate import exponent_rows

# The complex step has no truncation error at this size; what remains is rounding in short sums.
STEP = 1e-100
ROUNDING = 1e3 * np.finfo(float).eps

X = (-1.5, -1.0, -0.2, 0.3, 0.9, 1.4, 2.2, 2.5, 3.1)
Y = (0.3, 1.2, -0.4, 0.8, 0.1, 1.1, 0.7, -0.9, 0.2)
SPLINES = {
    "simm": (SimmSpline(X, Y), 1),
    "natural": (NaturalCubicSpline(X, Y), 2),
    "gcv1": (GCVSpline(X, Y, 1), 0),
    "gcv3": (GCVSpline(X, Y, 2), 2),
    "gcv5": (GCVSpline(X, Y, 3), 3),
    "gcv7": (GCVSpline(X, Y, 4), 3),
    "gcv5 smoothing": (GCVSpline(X, Y, 3, error_variance=0.01), 3),
    "sampled3": (SampledSpline(X, Y, 3), 2),
    "sampled5": (SampledSpline(X, Y, 5), 2),
    "sampled7": (SampledSpline(X, Y, 7), 2),
    "linear": (PiecewiseLinear(X, Y), 0),
    "step": (Step(-1.5, 3.1, 2.0, -1.0), 2),
}
FUNCTIONS = {name: spline for name, (spline, _) in SPLINES.items()} | {
    "line": Linear(2.0, -1.0),
    "polynomial": Polynomial((0.1, -0.3, 0.5, 2.0, -1.0, 0.4)),
    "sine": Sine(2.0, 3.0, 0.4, 1.0),
    "fourier": FourierSeries(0.5, (1.0, 0.2, -0.3), (0.1, -0.7, 0.4), 0.8),
    "scaled": Scaled(Scaled(SimmSpline(X, Y), -2.0), 0.7),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_derivative_is_the_complex_step_of_the_one_before(name):
    f = FUNCTIONS[name]
    x = np.concatenate([np.linspace(-3.0, 5.0, 57), X])
    for order in range(3):
        stepped = f.derivative(x + 1j * STEP, order=order).imag / STEP
        exact = f.derivative(x, order=order + 1)
        assert_allclose(stepped, exact, rtol=ROUNDING, atol=ROUNDING * np.max(np.abs(exact), initial=1.0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivative_is_the_difference_quotient(name):
    f = FUNCTIONS[name]
    x, h = np.linspace(-2.97, 4.97, 61), 1e-6  # no knot within h
    quotient = (f(x + h) - f(x - h)) / (2.0 * h)
    # Truncation h^2 f'''/6 and rounding eps f / h, both below 1e-9 here.
    assert_allclose(quotient, f.derivative(x), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", SPLINES)
def test_splines_are_as_smooth_as_promised(name):
    spline, continuous = SPLINES[name]
    knots = np.array((-1.5, 3.1) if name == "step" else X)
    gap = 1e-11
    for order in range(continuous + 1):
        left, right = spline.derivative(knots - gap, order=order), spline.derivative(knots + gap, order=order)
        # A jump would be of the order of the values; a continuous function moves by its slope times the gap.
        assert_allclose(left, right, atol=1e-8 * max(1.0, np.abs(right).max()))


def test_simm_spline_is_twice_differentiable_between_its_ends():
    inner = np.array(X[1:-1])
    f = SimmSpline(X, Y)
    assert_allclose(f.derivative(inner - 1e-12, order=2), f.derivative(inner, order=2), atol=1e-9)


@pytest.mark.parametrize("name", [n for n in SPLINES if n not in ("step", "gcv5 smoothing")])
def test_splines_pass_through_their_knots(name):
    # Interpolation of degree 7 on nine uneven knots is conditioned like 1e3.
    assert_allclose(SPLINES[name][0](X), Y, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("half_order", [1, 2, 3, 4])
def test_natural_splines_reproduce_their_null_space_everywhere(half_order):
    p = Polynomial(np.arange(1.0, half_order + 1.0))
    far = np.linspace(-6.0, 8.0, 41)
    assert_allclose(GCVSpline(X, p(X), half_order)(far), p(far), rtol=1e-10, atol=1e-10)
    assert_allclose(GCVSpline(X, p(X), half_order, error_variance=0.1)(far), p(far), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_sampled_spline_reproduces_polynomials_of_its_degree(degree):
    p = Polynomial(np.linspace(-1.0, 1.0, degree + 1))
    inside = np.linspace(X[0], X[-1], 33)
    scale = np.abs(p(inside)).max()
    assert_allclose(SampledSpline.through(X, p(X), degree)(inside), p(inside), atol=1e-11 * scale)


knots = st.lists(st.floats(0.05, 2.0), min_size=4, max_size=12)
values = st.lists(st.floats(-10.0, 10.0), min_size=13, max_size=13)


@given(gaps=knots, y=values, kind=st.sampled_from([SimmSpline, NaturalCubicSpline, SampledSpline, PiecewiseLinear]))
@settings(max_examples=25, deadline=None)
def test_any_interpolant_is_continuous_and_hits_its_knots(gaps, y, kind):
    x = np.cumsum([0.0, *gaps])
    y = np.array(y[: len(x)])
    f = kind(tuple(x), tuple(y))
    # Spacings down to 0.05 in cubics and quintics: coefficients up to 1e9 times the values, times epsilon.
    tolerance = 1e-6 * max(1.0, np.abs(y).max())
    assert_allclose(f(x), y, atol=tolerance)
    assert_allclose(f(np.nextafter(x, -np.inf)), y, atol=tolerance)


@given(shift=st.permutations(range(9)))
@settings(max_examples=5, deadline=None)
def test_samples_may_come_in_any_order(shift):
    x, y = np.array(X)[list(shift)], np.array(Y)[list(shift)]
    assert SampledSpline.through(x, y) == SampledSpline(X, Y)


@given(
    dimension=st.integers(2, 6),
    order=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=20, deadline=None)
def test_multivariate_gradient_and_hessian_are_complex_steps(dimension, order, seed):
    rng = np.random.default_rng(seed)
    exponents = np.array(list(exponent_rows(dimension, order)))
    coefficients = rng.uniform(-1.0, 1.0, len(exponents))
    f = MultivariatePolynomial(dimension, order, tuple(coefficients))
    x = rng.uniform(-1.5, 1.5, (dimension, 3))
    x[0, 0] = 0.0  # zero to the power zero is one
    scale = np.sum(np.abs(coefficients)) * 1.5**order * max(order, 1) ** 2
    value = np.sum(coefficients * np.prod(x.T[:, None, :] ** exponents, axis=-1), axis=-1)
    assert_allclose(f(*x), value, atol=ROUNDING * scale)
    for k in range(dimension):
        stepped = x.astype(complex)
        stepped[k] += 1j * STEP
        assert_allclose(f(*stepped).imag / STEP, f.gradient(*x)[..., k], atol=ROUNDING * scale)
        assert_allclose(f.gradient(*stepped).imag / STEP, f.hessian(*x)[..., k, :], atol=ROUNDING * scale)
