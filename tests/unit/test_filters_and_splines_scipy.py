"""Filters and splines beside SciPy's, which take longer to import than a short recording to analyse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import make_interp_spline
from scipy.linalg import solve_banded as scipy_solve_banded
from scipy.signal import butter, lfilter, lfiltic, sosfiltfilt

from musculo.functions.bsplines import natural_spline, not_a_knot_spline
from musculo.kernels.scalar.banded_equations import solve_banded
from musculo.signals.filters import butterworth, corrected_cutoff, opensim_lowpass

RATE = 200.0  # [Hz]
# A filter's state is a sum over the past: poles at 1 - d from the unit circle let rounding grow by 1 / d per section.
FILTER_ROUNDING = 1e-12
# Banded equations of splines: their condition grows with the degree, to 1e5 at degree 7.
SPLINE_ROUNDING = {1: 1e-13, 2: 1e-13, 3: 1e-13, 5: 1e-12, 7: 1e-9}


def signal(frames: int, columns: int = 5) -> np.ndarray:
    return np.cumsum(np.random.default_rng(frames).normal(size=(frames, columns)), axis=0)


@pytest.mark.parametrize("cutoff", [0.7, 6.0, 70.0])
@pytest.mark.parametrize("order", [2, 4, 6, 8, 16])
def test_butterworth_is_scipys(order: int, cutoff: float) -> None:
    y = signal(400)
    sos = butter(order // 2, 2.0 * corrected_cutoff(cutoff, RATE, order) / RATE, output="sos")
    reflected = min(399, max(6 * order, int(np.ceil(3.0 * RATE / cutoff))))
    expected = sosfiltfilt(sos, y, axis=0, padtype="odd", padlen=reflected)
    found = butterworth(np.arange(400) / RATE, y, cutoff, order)
    assert_allclose(found, expected, rtol=0.0, atol=FILTER_ROUNDING * np.abs(y).max())


def test_opensims_filter_is_scipys_recursion_from_the_first_three_samples() -> None:
    # step 1 s, so that times are even to the last bit and nothing is resampled
    y = signal(120)
    n = len(y) // 2
    padded = np.concatenate((2.0 * y[0] - y[n:0:-1], y, 2.0 * y[-1] - y[-2 : -n - 2 : -1]))
    b, a = butter(3, 0.12)
    for _ in range(2):
        state = np.stack([lfiltic(b, a, column[2::-1], column[2::-1]) for column in padded[:3].T], axis=1)
        padded = np.concatenate((padded[:3], lfilter(b, a, padded[3:], axis=0, zi=state)[0]))[::-1]
    found = opensim_lowpass(np.arange(len(y)), y, 0.06)
    assert_allclose(found.values, padded, rtol=0.0, atol=FILTER_ROUNDING * np.abs(y).max())


@pytest.mark.parametrize("frames", [0, 1, 40])
@pytest.mark.parametrize("degree", [1, 3, 5, 7])
def test_natural_spline_is_scipys(degree: int, frames: int) -> None:
    y = signal(frames + degree + 1)
    x = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, len(y)))
    vanishing = [(order, np.zeros(y.shape[1])) for order in range((degree + 1) // 2, degree)]
    expected = make_interp_spline(x, y, k=degree, bc_type=(vanishing, vanishing) if vanishing else None)
    same_spline(natural_spline(x, y, degree), expected, x)


@pytest.mark.parametrize("frames", [0, 1, 40])
@pytest.mark.parametrize("degree", [1, 3, 5, 7])
def test_not_a_knot_spline_is_scipys(degree: int, frames: int) -> None:
    y = signal(frames + degree + 1)
    x = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, len(y)))
    same_spline(not_a_knot_spline(x, y, degree), make_interp_spline(x, y, k=degree), x)


def test_through_three_points_goes_a_parabola() -> None:
    x, y = np.array([0.0, 1.0, 2.5]), signal(3)
    same_spline(not_a_knot_spline(x, y, 2), make_interp_spline(x, y, k=2), x)


def same_spline(found, expected, x: np.ndarray) -> None:
    """In any order, at its knots, between them and beyond its ends."""
    points = np.random.default_rng(2).permutation(np.concatenate((x, np.linspace(x[0] - 0.2, x[-1] + 0.2, 97))))
    for order in range(found.degree + 1):
        wanted = expected(points, nu=order)
        rounding = SPLINE_ROUNDING[found.degree] * np.abs(wanted).max()
        assert_allclose(found(points, order), wanted, rtol=0.0, atol=rounding)
    assert (found(points, found.degree + 1) == 0.0).all()


def test_banded_equations_are_solved_as_by_lapack() -> None:
    generator = np.random.default_rng(3)
    # no entry of the diagonal leads by itself, so rows are exchanged
    n, below, above = 60, 2, 3
    bands, right = generator.normal(size=(below + above + 1, n)), generator.normal(size=(n, 4))
    rows = np.zeros((n, below + above + 1))
    for i in range(n):
        start = max(i - below, 0)
        for j in range(start, min(i + above + 1, n)):
            rows[i, j - start] = bands[above + i - j, j]
    expected = scipy_solve_banded((below, above), bands, right)
    assert solve_banded(rows, below, right)
    assert_allclose(right, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_singular_banded_equations_are_told() -> None:
    assert not solve_banded(np.zeros((3, 3)), 1, np.ones((3, 1)))
