"""Parts that are spliced into kernels write to the arrays of their caller."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.testing import assert_array_equal

from musculo.arrays import FloatArray
from musculo.kernels.compiler.overloads import overload
from musculo.kernels.compiler.parts import driver, kernel, spliced


class Space(NamedTuple):
    """Four arrays, two of which are written."""

    W: FloatArray
    A: FloatArray
    q: FloatArray
    u: FloatArray


def doubled(x):
    """A function that stands in the place of its calls: where there are such, Numba looks for dead code."""
    return 2.0 * x


@overload(doubled, inline="always")
def _doubled(x):
    return lambda x: 2.0 * x


@spliced
def _part(space, i):
    W, A, q, u = space.W, space.A, space.q, space.u
    W[0, i] = doubled(u[0, i])
    for k in range(2):
        A[k, i] = W[0, i] + k
    # nothing in this function reads A afterwards
    A[2, i] = q[0, i]
    A[3, i] += q[0, i]


@kernel
def _columns(space):
    for i in range(space.q.shape[1]):
        _part(space, i)


@driver
def _run(q, u, A):
    _columns(Space(np.zeros_like(q), A, q, u))


def test_what_a_part_writes_last_stays_written(monkeypatch, tmp_path):
    """Numba's elimination of dead code drops such writes where arrays came out of a tuple."""
    monkeypatch.setenv("MUSCULO_CACHE_DIR", str(tmp_path))  # compiled now
    rng = np.random.default_rng(3)
    q, u, A = rng.uniform(size=(1, 3)), rng.uniform(size=(1, 3)), np.ones((4, 3))
    _run(q, u, A)
    assert_array_equal(A, np.vstack([2.0 * u, 2.0 * u + 1.0, q, q + 1.0]))
