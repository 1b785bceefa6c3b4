"""Least squares with bounds, beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from musculo.analyses.static_optimization.bounded_least_squares import bounded_least_squares

# Of the residual in parts of b; both end where rounding hides which variable would lessen it.
ROUNDING = 1e-11


@pytest.mark.parametrize("seed", range(60))
def test_nothing_comes_nearer(seed: int) -> None:
    generator = np.random.default_rng(seed)
    k, n = generator.integers(1, 8), generator.integers(1, 30)
    A = generator.normal(size=(k, n)) * 10.0 ** generator.integers(-2, 3, size=n)
    A[generator.random(A.shape) < 0.3] = 0.0
    b = generator.normal(size=k) * 10.0 ** generator.integers(-1, 3)
    lower, upper = np.zeros(n), generator.uniform(0.1, 2.0, n)
    lower[generator.random(n) < 0.1], upper[generator.random(n) < 0.1] = -np.inf, np.inf
    x = bounded_least_squares(A, b, lower, upper)
    expected = lsq_linear(A, b, (lower, upper), method="bvls", tol=1e-14, max_iter=1000).x
    assert (x >= lower).all()
    assert (x <= upper).all()
    left, least = (np.linalg.norm(A @ one - b) for one in (x, np.clip(expected, lower, upper)))
    assert left <= least + ROUNDING * np.linalg.norm(b)
