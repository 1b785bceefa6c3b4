"""Functions: cases checkable by hand, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo.errors import InvalidInput, Unsupported
from musculo.functions import (
    Constant,
    FourierSeries,
    GCVSpline,
    Linear,
    MultivariatePolynomial,
    NaturalCubicSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    SampledSpline,
    Scaled,
    SimmSpline,
    Sine,
    Step,
    UnsupportedFunction,
    compile_functions,
)
from musculo.kernels.compiler.parts import kernel
from musculo.kernels.functions.function_values import evaluate, evaluate_many, evaluate_multivariate
from musculo.kernels.scalar.packed import WIDTH, lanes

# A handful of operations on numbers of order one.
ROUNDING = 1e2 * np.finfo(float).eps


def taylor(function, x):
    return [function.derivative(x, order=k) for k in range(4)]


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (Linear(2.0, 3.0), 5.0, [13.0, 2.0, 0.0, 0.0]),
        (Polynomial((1.0, -2.0, 0.0, 4.0)), 3.0, [13.0, 15.0, 14.0, 6.0]),  # x^3 - 2 x^2 + 4
        (Sine(2.0, 3.0, np.pi / 2, 1.0), 0.0, [3.0, 0.0, -18.0, 0.0]),  # 2 cos(3 x) + 1
        (FourierSeries(1.0, (2.0, 0.0), (0.0, 3.0), 0.5), 0.0, [3.0, 3.0, -0.5, -3.0]),  # 1 + 2 cos(x/2) + 3 sin(x)
        (Step(1.0, 3.0, 5.0, 7.0), 2.0, [6.0, 1.875, 0.0, -7.5]),  # half way: s = 1/2, s' = 15/8, s''' = -30
        (Step(1.0, 3.0, 5.0, 7.0), 0.0, [5.0, 0.0, 0.0, 0.0]),
        (Step(1.0, 3.0, 5.0, 7.0), 4.0, [7.0, 0.0, 0.0, 0.0]),
        (PiecewiseLinear((0.0, 1.0, 3.0), (0.0, 2.0, 1.0)), 2.0, [1.5, -0.5, 0.0, 0.0]),
        (PiecewiseLinear((0.0, 1.0, 3.0), (0.0, 2.0, 1.0)), -1.0, [-2.0, 2.0, 0.0, 0.0]),
        (PiecewiseLinear((0.0, 1.0, 3.0), (0.0, 2.0, 1.0)), 5.0, [0.0, -0.5, 0.0, 0.0]),
        (SimmSpline((0.0, 2.0), (1.0, 5.0)), 3.0, [7.0, 2.0, 0.0, 0.0]),  # two knots: the line
        (SimmSpline((0.0, 1.0, 3.0), (0.0, 1.0, 9.0)), 2.0, [4.0, 4.0, 2.0, 0.0]),  # three knots: x^2
        (SimmSpline((0.0, 1.0, 3.0), (0.0, 1.0, 9.0)), 4.0, [15.0, 6.0, 0.0, 0.0]),  # beyond: the end's tangent
        (SimmSpline((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 8.0, 27.0)), 2.5, [15.625, 18.75, 15.0, 6.0]),  # x^3
        # s'' = -3 at the middle knot of a natural spline through 0, 1, 0
        (NaturalCubicSpline((0.0, 1.0, 2.0), (0.0, 1.0, 0.0)), 1.0, [1.0, 0.0, -3.0, 3.0]),
        (NaturalCubicSpline((0.0, 1.0, 2.0), (0.0, 1.0, 0.0)), 3.0, [-1.5, -1.5, 0.0, 0.0]),
        (NaturalCubicSpline((0.0, 2.0), (1.0, 5.0)), -1.0, [-1.0, 2.0, 0.0, 0.0]),
        (GCVSpline((0.0, 1.0, 3.0), (0.0, 2.0, 1.0), half_order=1), 4.0, [1.0, 0.0, 0.0, 0.0]),
        (GCVSpline(range(6), [k * k for k in range(6)], half_order=3), 7.0, [49.0, 14.0, 2.0, 0.0]),
        (SampledSpline.through([2.0, 0.0, 1.0], [4.0, 0.0, 1.0]), 5.0, [25.0, 10.0, 2.0, 0.0]),
        (SampledSpline.through([0.0, 2.0], [0.0, 4.0]), 5.0, [10.0, 2.0, 0.0, 0.0]),
        (Scaled(Scaled(Linear(2.0, 3.0), 2.0), -3.0), 1.0, [-30.0, -12.0, 0.0, 0.0]),
        (MultivariatePolynomial(1, 2, (1.0, 2.0, 3.0)), 2.0, [17.0, 14.0, 6.0, 0.0]),  # 1 + 2 x + 3 x^2
    ],
)
def test_value_and_derivatives(function, x, expected):
    assert_allclose(taylor(function, x), expected, rtol=ROUNDING, atol=10 * ROUNDING)


def test_constant_takes_any_number_of_arguments():
    f = Constant(4.0)
    assert f.n_arguments == 0
    assert f() == 4.0
    assert_array_equal(f(np.zeros((2, 3)), 1.0), np.full((2, 3), 4.0))
    assert_array_equal(f.gradient(np.zeros(5), 1.0, 2.0), np.zeros((5, 3)))
    assert_array_equal(f.hessian(1.0, 2.0), np.zeros((2, 2)))
    assert f.derivative(0.0, order=1) == 0.0


def test_piecewise_constant_holds_the_last_knot():
    f = PiecewiseConstant((0.0, 1.0, 2.0, 3.0, 4.0), (10.0, 11.0, 12.0, 13.0, 14.0))
    assert_array_equal(f([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, 9.0]), [10, 10, 10, 11, 11, 12, 13, 13, 14, 14])
    assert_array_equal(f.derivative([0.5, 4.0]), [0.0, 0.0])
    assert_array_equal(PiecewiseConstant((1.0,), (7.0,))([0.0, 1.0, 2.0]), [7.0, 7.0, 7.0])


def test_derivatives_at_knots_are_from_the_right_and_at_the_last_knot_from_the_left():
    f = PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 1.0, 3.0))
    assert_array_equal(f.derivative([0.0, 1.0, 2.0]), [1.0, 2.0, 2.0])
    spline = SimmSpline((0.0, 1.0, 3.0), (0.0, 1.0, 9.0))
    assert_allclose(spline.derivative([0.0, 3.0], order=2), [2.0, 2.0], rtol=ROUNDING)
    assert_array_equal(spline.derivative([-1e-9, 3.0 + 1e-9], order=2), [0.0, 0.0])


def test_multivariate_polynomial_has_the_last_variable_fastest():
    # 1 + 2 y + 3 y^2 + 4 x + 5 x y + 6 x^2
    f = MultivariatePolynomial(2, 2, (1, 2, 3, 4, 5, 6))
    assert f.n_arguments == 2
    assert f(2.0, 3.0) == 96.0
    assert_array_equal(f.gradient(2.0, 3.0), [4 + 5 * 3 + 12 * 2, 2 + 6 * 3 + 5 * 2])
    assert_array_equal(f.hessian(2.0, 3.0), [[12.0, 5.0], [5.0, 6.0]])
    assert f.derivative(2.0, 3.0, order=(1, 1)) == 5.0
    assert f.derivative(2.0, 3.0, order=(0, 2)) == 6.0
    assert f.derivative(2.0, 3.0, order=(0, 1)) == 30.0


def test_arguments_broadcast():
    f = MultivariatePolynomial(2, 1, (0.0, 1.0, 10.0))  # y + 10 x
    x, y = np.arange(2.0)[:, None], np.arange(3.0)
    assert_array_equal(f(x, y), y + 10 * x)
    assert f.gradient(x, y).shape == (2, 3, 2)
    assert f.hessian(x, y).shape == (2, 3, 2, 2)
    assert Linear()(np.zeros((0, 4))).shape == (0, 4)
    assert np.ndim(Linear()(1)) == 0
    strided = np.arange(12.0).reshape(3, 4)[:, ::2].T
    assert_array_equal(Linear(2.0, 0.0)(strided), 2.0 * strided)


def test_table_holds_functions_of_all_kinds():
    functions = [
        Scaled(MultivariatePolynomial(2, 1, (1.0, 2.0, 3.0)), 2.0),
        Constant(5.0),
        Sine(),
        MultivariatePolynomial(3, 1, (1.0, 2.0, 3.0, 4.0)),
        PiecewiseLinear((0.0, 1.0), (0.0, 3.0)),
    ]
    table = compile_functions(functions)
    assert list(table.n_arguments) == [2, 0, 1, 3, 1]
    assert evaluate(table, 1, 9.0)[0] == 5.0
    assert evaluate(table, 4, 0.5)[:2] == (1.5, 3.0)
    assert_allclose(evaluate(table, 2, 0.5)[:2], [np.sin(0.5), np.cos(0.5)], rtol=ROUNDING)
    assert np.isnan(evaluate(table, 0, 1.0)[0])
    x, rows = np.array([[7.0, 0.0], [5.0, 1.0], [6.0, 2.0]]), np.array([99, 2, 1, 0])
    out = np.full((15, 2), -1.0)
    evaluate_many(table, 0, x, rows, 1, 1, out, 2)  # 2 (1 + 2 y + 3 x) at x = 2, y = 1
    assert_array_equal(out[:, 0], np.full(15, -1.0))
    assert_array_equal(out[:, 1], [-1, -1, 18, 6, 4, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1])
    evaluate_many(table, 3, x, rows, 1, 0, out, 0)
    assert_array_equal(out[:5, 0], [1 + 2 * 7 + 3 * 5 + 4 * 6, 4, 3, 2, 0])
    evaluate_many(table, 1, x, rows, 0, 1, out, 0)  # a constant writes its value alone
    assert_array_equal(out[:3, 1], [5.0, -1.0, 18.0])
    evaluate_many(table, 4, x, rows, 2, 1, out, 10)
    assert_array_equal(out[10:14, 1], [3.0, 3.0, 0.0, -1.0])


@kernel
def _packed_multivariate(table, m, x, rows, out):
    evaluate_multivariate(table, (0, m), lanes(x), rows, 0, 0, lanes(out), 0)


def test_multivariate_functions_take_packs_of_lanes():
    rng = np.random.default_rng(0)
    f = Scaled(MultivariatePolynomial(3, 4, rng.uniform(-1.0, 1.0, 35)), 2.0)
    x, out = rng.uniform(-1.0, 1.0, (3, WIDTH)), np.full((13, WIDTH), -1.0)
    _packed_multivariate(f.table, 3, x, np.arange(3), out)
    # Fused products and sums may round differently.
    assert_allclose(out[0], f(*x), atol=ROUNDING)
    assert_allclose(out[1:4].T, f.gradient(*x), atol=10 * ROUNDING)
    assert_allclose(out[4:].T.reshape(WIDTH, 3, 3), f.hessian(*x), atol=100 * ROUNDING)


def test_tables_have_one_type_and_no_empty_array():
    for functions in ([], [Constant()], [FourierSeries()], [MultivariatePolynomial(2, 0, (1.0,))]):
        for array in compile_functions(functions):
            assert array.size > 0
            assert array.flags.c_contiguous
            assert array.dtype in (np.int64, np.float64)


def test_functions_are_values():
    f = SimmSpline(np.array([0.0, 1.0]), [1, 2])
    assert f == SimmSpline((0.0, 1.0), (1.0, 2.0))
    assert len({f, SimmSpline((0.0, 1.0), (1.0, 2.0))}) == 1
    assert f(0.5) == 1.5
    assert pickle.loads(pickle.dumps(f)) == f


def test_smoothing_towards_infinity_is_the_least_squares_polynomial():
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 3.0, 20)
    y = np.sin(x) + 0.05 * rng.standard_normal(20)
    line = np.polyval(np.polyfit(x, y, 1), x)
    # The largest smoothing weight is 1e15 times the natural one, and the fit is solved in float64.
    assert_allclose(GCVSpline(x, y, 2, error_variance=100.0)(x), line, atol=1e-9)


def test_sampled_spline_is_accurate_up_to_the_ends():
    x = np.linspace(0.0, 2.0, 21)
    fine = np.linspace(0.0, 2.0, 1001)
    # Degree 5 with spacing 0.1: an error of order 0.1^6.
    assert_allclose(SampledSpline.through(x, np.sin(x))(fine), np.sin(fine), atol=1e-8)


@pytest.mark.parametrize(
    ("n", "degree", "used"), [(2, 5, 1), (3, 5, 2), (4, 5, 3), (5, 5, 3), (6, 5, 5), (9, 7, 7), (9, 3, 3)]
)
def test_sampled_spline_lowers_its_degree(n, degree, used):
    assert SampledSpline.through(np.arange(n), np.zeros(n), degree).degree_used == used


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(float("nan")), "value must be finite"),
        (lambda: Linear("steep"), "slope must be numbers"),
        (lambda: Polynomial(()), "at least one coefficient"),
        (lambda: Polynomial((1.0, np.inf)), "value 1 is inf"),
        (lambda: FourierSeries(0.0, (1.0,), ()), "1 cosine and 0 sine"),
        (lambda: Step(1.0, 1.0), "must lie after start"),
        (lambda: PiecewiseLinear((0.0, 1.0), (0.0,)), "x has 2 values and y has 1"),
        (lambda: PiecewiseLinear((0.0,), (0.0,)), "at least 2 knots, got 1"),
        (lambda: PiecewiseLinear((0.0, 1.0, 1.0), (0.0, 1.0, 2.0)), r"x\[1\] = 1 and x\[2\] = 1"),
        (lambda: NaturalCubicSpline((1.0, 0.0), (0.0, 1.0)), "increase strictly"),
        (lambda: GCVSpline((0.0, 1.0, 2.0, 3.0), (0.0,) * 4, 3), "at least 6 knots, got 4"),
        (lambda: GCVSpline((0.0, 1.0), (0.0, 1.0), 0), "half_order is 1 to 4, got 0"),
        (lambda: SampledSpline.through([0.0, 1.0, 1.0], [0.0, 1.0, 2.0]), "x = 1 is sampled more than once"),
        (lambda: SampledSpline.through([0.0, np.nan], [0.0, 1.0]), "x must be finite"),
        (lambda: SampledSpline.through([0.0, 1.0], [0.0]), "equal length"),
        (lambda: SampledSpline.through([0.0, 1.0], [0.0, 1.0], degree=1), "degree is one of"),
        (lambda: MultivariatePolynomial(2, 2, (1.0,)), "need 6 coefficients, got 1"),
        (lambda: MultivariatePolynomial(25, 1, (1.0,) * 26), "dimension is 1 to 24"),
        (lambda: MultivariatePolynomial(2, -1, ()), "order must not be negative"),
        (lambda: Scaled(2.0, 3.0), "must be a Function"),
        (lambda: Linear()(1.0, 2.0), r"takes 1 argument\(s\), got 2"),
        (lambda: Linear()("a"), "arguments are numbers"),
        (lambda: Linear().derivative(1.0, order=4), "outside 0 to 3"),
        (lambda: Linear().derivative(1.0, order=(1, 1)), "does not fit 1 arguments"),
        (lambda: MultivariatePolynomial(2, 0, (1.0,)).derivative(0.0, 0.0, order=(2, 1)), "outside 0 to 2"),
    ],
)
def test_refusals_say_what_is_wrong(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_unsupported_functions_are_carried_but_not_computed():
    f = UnsupportedFunction("ExpressionBasedFunction", "<ExpressionBasedFunction/>")
    with pytest.raises(Unsupported, match="ExpressionBasedFunction"):
        f(1.0)
    with pytest.raises(Unsupported, match="ExpressionBasedFunction"):
        compile_functions([Constant(), Scaled(f, 2.0)])
