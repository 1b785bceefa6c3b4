"""What muscle kernels do with eight lanes at once: choices, tables, and functions that agree with the C library's."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import musculo.kernels.compiler.machine_code.lowering  # noqa: F401 (what plain functions mean for packs)
from musculo.functions import GCVSpline, PiecewiseConstant, PiecewiseLinear, Polynomial
from musculo.kernels.hill.curve_lookup import no_piece, spline, spline_again, stepped
from musculo.kernels.hill.exponentials import angle_of, exponential, logarithm, magnitude, root, rounded_down
from musculo.kernels.scalar.choices import any_of, at_most, both, entry_of, less, opposite, row_of, turn_block, where
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.muscle.hill_curves import hill_defaults
from musculo.muscle.hill_curves.bezier_sections import Knot, bezier_curve, stepped_rows
from musculo.muscle.hill_curves.curve_table import spline_rows

# A few units in the last place; the argument of a logarithm near 1 is taken by its own size.
ULPS = 4.0 * np.finfo(float).eps


def applied(function, x):
    """The function of packs at x, eight at a time."""

    inside = numba.njit(function)

    @numba.njit
    def run(X, Y):
        x, y = lanes(X), lanes(Y)
        for j in range(X.shape[0]):
            y[j, 0] = inside(x[j, 0])

    X = np.ascontiguousarray(x, dtype=float).reshape(-1, WIDTH)
    Y = np.empty_like(X)
    run(X, Y)
    return Y.ravel()


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(4)


def test_exponential(rng):
    x = np.concatenate([rng.uniform(-1.0, 1.0, 400), rng.uniform(-700.0, 700.0, 400)])
    # the error of the argument's rounding grows with it
    assert_allclose(applied(lambda v: exponential(v), x), np.exp(x), rtol=ULPS)
    far = applied(lambda v: exponential(v), np.repeat([-1e4, 1e4], 4))
    assert (far[:4] < 1e-300).all()
    assert np.isfinite(far).all()


def test_logarithm(rng):
    x = np.concatenate([rng.uniform(0.5, 2.0, 400), np.exp(rng.uniform(-300.0, 300.0, 400)), np.ones(8)])
    assert_allclose(applied(lambda v: logarithm(v), x), np.log(x), rtol=ULPS, atol=ULPS)


def test_angle(rng):
    x = np.concatenate([rng.uniform(0.0, 5.0, 400), 10.0 ** rng.uniform(-12.0, 12.0, 400), np.zeros(8)])
    assert_allclose(applied(lambda v: angle_of(v, 1.0 + 0.0 * v), x), np.arctan(x), rtol=ULPS)


def test_roots_magnitudes_and_whole_numbers(rng):
    x = rng.uniform(-3.0, 3.0, 80)
    assert_array_equal(applied(lambda v: root(magnitude(v)), x), np.sqrt(np.abs(x)))
    assert_array_equal(applied(lambda v: rounded_down(v), x), np.floor(x))


def test_each_lane_takes_its_own_side(rng):
    x = rng.uniform(-2.0, 2.0, 80)

    def clipped(v):
        return where(both(less(-1.0, v), at_most(v, 1.0)), v, where(opposite(less(v, 0.0)), 1.0, -1.0))

    assert_array_equal(applied(clipped, x), np.clip(x, -1.0, 1.0))


def test_any_lane_is_enough():
    @numba.njit
    def holds(X):
        return any_of(less(lanes(X)[0, 0], 0.0))

    x = np.ones((1, WIDTH))
    assert not holds(x)
    for k in range(WIDTH):
        one = x.copy()
        one[0, k] = -1.0
        assert holds(one)


def test_rows_and_entries_of_a_table(rng):
    table = rng.normal(size=200)
    place = rng.integers(0, 190, 16).astype(float)
    expected = [math.fsum((k + 1) * table[int(p) + k] for k in range(8)) for p in place]

    def weighted(p):
        a, b, c, d, e, f, g, h = row_of(table, p)
        return a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * e + 6.0 * f + 7.0 * g + 8.0 * h

    assert_allclose(applied(weighted, place), expected, rtol=1e-12, atol=1e-12)
    assert_array_equal(applied(lambda p: entry_of(table, p), place), table[place.astype(int)])


def test_blocks_are_turned_in_place():
    @numba.njit
    def turn(source, target):
        turn_block(source, 1, 3, target, 2, 4)

    source, target = np.arange(220.0).reshape(11, 20), np.zeros((13, 15))
    turn(source, target)
    expected = np.zeros((13, 15))
    expected[2:10, 4:12] = source[1:9, 3:11].T
    assert_array_equal(target, expected)


def test_a_spline_is_the_function_it_came_from(rng):
    """At knots, between them, beyond both ends, within and outside the usual range, lanes in any order."""
    function = hill_defaults.ACTIVE_FORCE_LENGTH
    x = np.concatenate([rng.uniform(-7.0, 12.0, 400), rng.uniform(0.5, 1.5, 400), np.array(function.x[:16])])
    expected = function(x)
    for usual in ((0.45, 1.6), (-10.0, 20.0), (0.9, 1.1)):
        table = spline_rows(function, usual)
        assert_allclose(applied(lambda v, t=table: spline(t, 0, v)[0], x), expected, atol=1e-12)


_KNOTS, _VALUES = (0.0, 0.1, 0.4, 0.5, 0.9, 1.0, 1.5, 1.6), (0.0, 1.0, 0.2, 0.9, 0.4, 1.3, 0.1, 0.3)


@numba.njit
def _twice(table, X, step, found, expected):
    """Value and slope a step further on: with the piece from before the step, and without."""
    for k in range(X.shape[0]):
        x = lanes(X)[k, 0]
        _, _, piece = spline_again(table, 0, x, no_piece(x))
        lanes(found)[2 * k, 0], lanes(found)[2 * k + 1, 0], _ = spline_again(table, 0, x + step, piece)
        lanes(expected)[2 * k, 0], lanes(expected)[2 * k + 1, 0] = spline(table, 0, x + step)


@pytest.mark.parametrize("step", [0.0, 1e-3, -1e-3, 0.3, -0.3])
@pytest.mark.parametrize(
    "function",
    [
        PiecewiseConstant(_KNOTS, _VALUES),
        PiecewiseLinear(_KNOTS, _VALUES),
        GCVSpline(_KNOTS, _VALUES, 2),
        GCVSpline(_KNOTS, _VALUES, 3),
        Polynomial((1.0, -2.0, 0.5)),
        Polynomial((1.0, 0.0, -2.0, 0.5, 0.2)),
    ],
)
def test_a_spline_that_keeps_its_piece_is_the_spline(rng, function, step):
    """After a step within the piece, out of it, onto a knot and off it; of any degree, beyond the ends, too."""
    table = spline_rows(function, (0.3, 1.2))
    knots = np.array(_KNOTS)
    x = np.concatenate([rng.uniform(-0.5, 2.0, 784), knots, knots - step])

    X = x.reshape(-1, WIDTH)
    found, expected = np.empty((2, 2 * len(X), WIDTH))
    _twice(table, X, step, found, expected)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_stepped_curve_is_the_same_for_lanes_and_scalars(rng):
    table = stepped_rows(bezier_curve([Knot(0.0, 0.0, 0.2), Knot(1.0, 1.0, 3.0), Knot(2.0, 2.0, 0.5)], [0.5, 0.9]))
    x = np.concatenate([rng.uniform(-1.0, 3.0, 800), [0.0, 1.0, 2.0, -1e9, 1e9, 0.5, 1.5, 2.5]])
    # a product and a sum are fused where the compiler sees fit, in lanes and in scalars elsewhere
    found = applied(lambda v: stepped(table, 0, v)[0], x)
    assert_allclose(found, [stepped(table, 0, v)[0] for v in x], rtol=ULPS, atol=ULPS)
