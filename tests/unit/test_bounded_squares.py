"""Compiled least squares with bounds, beside SciPy's and by the conditions that tell an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from musculo.kernels.scalar.bounded_squares import bounded_squares, squares_room

# Of the residual in parts of b; both end where rounding hides which variable would lessen it.
ROUNDING = 1e-11


def solved(A: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    x = np.zeros(A.shape[1])
    assert bounded_squares(A, b, lower, upper, x, squares_room(*A.shape))
    return x


@pytest.mark.parametrize("seed", range(40))
def test_nothing_comes_nearer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, tasks = int(rng.integers(1, 15)), int(rng.integers(1, 12))
    # as trackers ask: weighed accelerations of any size, and effort that makes the answer unique
    K = rng.normal(size=(tasks, n)) * 10.0 ** rng.integers(-1, 5, size=n)
    A, b = np.vstack([K, np.eye(n)]), np.concatenate([rng.normal(size=tasks) * 100.0, np.zeros(n)])
    middle, width = rng.normal(size=n) * 0.01, rng.uniform(0.0, 0.1, n)
    lower, upper = middle - width, middle + width
    lower[rng.random(n) < 0.2] = -np.inf
    upper[rng.random(n) < 0.2] = np.inf
    x = solved(A, b, lower, upper)
    assert (x >= lower).all()
    assert (x <= upper).all()
    expected = lsq_linear(A, b, (lower, np.nextafter(upper, np.inf)), method="bvls", tol=1e-14, max_iter=1000).x
    left, least = (np.linalg.norm(A @ one - b) for one in (x, np.clip(expected, lower, upper)))
    assert left <= least + ROUNDING * np.linalg.norm(b)


def test_an_answer_within_bounds_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(9, 5)), rng.normal(size=9)
    wide = np.full(5, 1e3)
    np.testing.assert_allclose(solved(A, b, -wide, wide), np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-13)


def test_unknowns_without_a_range_stay_where_they_must() -> None:
    A, b = np.vstack([np.ones((1, 3)), np.eye(3)]), np.array([9.0, 0.0, 0.0, 0.0])
    lower, upper = np.array([0.5, -9.0, 0.0]), np.array([0.5, 9.0, 1.0])
    # (x + 0.5 + z - 9)^2 + x^2 + z^2 with z at its bound: x = (9 - 1.5) / 2
    np.testing.assert_allclose(solved(A, b, lower, upper), [0.5, 3.75, 1.0], atol=1e-13)
