"""Every constraint and driver in absolute coordinates: its derivatives, by the complex step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.absolute import constraints, drivers
from support.absolute_rows import KINDS, ComplexRows, example
from support.complex_kernels import slope

# The complex step is exact; numbers of the size of one are left with rounding.
ROUNDING = 1e-13


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_residual(kind):
    """J v - nu is the rate of Phi, and -gamma that of J v - nu where v stays; far from where Phi is zero."""
    rng = np.random.default_rng(len(kind))
    mechanism, given = example(kind, rng)
    if not mechanism.n_equations:
        pytest.skip("no equations")
    rows = ComplexRows(mechanism, given)
    x, v = rows.state(rng)
    phi, J, nu, gamma = (part.real for part in rows.rows(x, v, rows.signals, moving=True))
    assert np.abs(phi).min() > 1e-6
    for k, unit in enumerate(np.eye(mechanism.n_unknowns)):
        by_one = slope(rows.rows(rows.moved(x, unit), v, rows.signals)[0])
        assert_allclose(J[:, k], by_one, atol=ROUNDING, rtol=ROUNDING)
    x1, S1 = rows.moved(x, v), rows.later()
    phi1, J1, nu1, _ = rows.rows(x1, v, S1)
    assert_allclose(J @ v - nu, slope(phi1), atol=10 * ROUNDING, rtol=10 * ROUNDING)
    assert_allclose(-gamma, slope(J1 @ v - nu1), atol=100 * ROUNDING, rtol=100 * ROUNDING)


COUNTS = {
    "Spherical": 3,
    "Revolute": 5,
    "Universal": 4,
    "Cylindrical": 4,
    "Translational": 5,
    "Planar": 3,
    "Rigid": 6,
    "PointOnEllipsoid": 1,
    "Scapulothoracic": 2,
    "SethEllipsoid": 3,
    "PointOnLine": 2,
    "Distance": 1,
    "Free": 0,
    "CoordinateFunction": 1,
}


@pytest.mark.parametrize("kind", COUNTS)
def test_counts(kind):
    """As many independent equations as the textbook has."""
    rng = np.random.default_rng(0)
    mechanism, given = example(kind, rng)
    assert mechanism.n_equations == COUNTS[kind]
    if mechanism.n_equations:
        rows = ComplexRows(mechanism, given)
        x, v = rows.state(rng)
        assert np.linalg.matrix_rank(rows.rows(x, v, rows.signals)[1].real) == COUNTS[kind]


def test_every_file_is_listed():
    """A constraint or driver that has a file is tested above."""
    for module in (constraints, drivers):
        files = {path.stem for path in Path(module.__file__).parent.glob("*.py")} - {"__init__", "constraint", "driver"}
        listed = {KINDS[name].__module__.rpartition(".")[2] for name in module.__all__ if name in KINDS}
        assert files == listed
