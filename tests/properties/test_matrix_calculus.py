"""Definition 1 and theorems 1 to 4 of Ehsani2023 against derivatives by the complex step."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from musculo.spatial.matrix_calculus import (
    derivative_of,
    differential,
    elementary,
    kronecker,
    kronecker_derivative,
    permutation,
    product_derivative,
    scaled_derivative,
    slopes_of,
    transposed_differential,
    vec,
)
from support.complex_kernels import slope, step

# Sums of some ten products of numbers near one.
ROUNDING = 1e-13
sizes = st.integers(1, 4)
seeds = st.integers(0, 2**32 - 1)
FRAMES = 3


class Smooth:
    """A matrix whose elements are smooth functions of q (frames, r): sums of sines and products."""

    def __init__(self, rng: np.random.Generator, m: int, n: int, r: int) -> None:
        self._wave, self._phase = rng.normal(size=(m, n, r)), rng.normal(size=(m, n))
        self._bend = rng.normal(size=(m, n, r, r))

    def __call__(self, q: np.ndarray) -> np.ndarray:
        bend = np.einsum("ikab,fa,fb->fik", self._bend, q, q)
        return np.sin(np.einsum("ikr,fr->fik", self._wave, q) + self._phase) + bend


def by_definition(f, q: np.ndarray) -> np.ndarray:
    """df/dq (frames, m r, n), element by element as the definition has it, slopes by the complex step."""
    r = q.shape[1]
    slopes = np.stack([slope(f(step(q, e))) for e in np.eye(r)], axis=-1)
    _, m, n, _ = slopes.shape
    return sum(kronecker(elementary(m, n, i, k)[None], slopes[:, i, k, :, None]) for i in range(m) for k in range(n))


def close(a: np.ndarray, b: np.ndarray) -> None:
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= ROUNDING * (1.0 + np.abs(b).max())


def drawn(seed: int, r: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(-1.0, 1.0, (FRAMES, r))


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_definition_1_is_a_layout_of_slopes(seed, m, n, r):
    rng, q = drawn(seed, r)
    A = Smooth(rng, m, n, r)
    slopes = np.stack([slope(A(step(q, e))) for e in np.eye(r)], axis=-1)
    close(derivative_of(slopes), by_definition(A, q))
    close(slopes_of(derivative_of(slopes), r), slopes)


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, sizes, sizes, sizes)
def test_theorem_1_products(seed, m, n, t, r):
    rng, q = drawn(seed, r)
    A, B = Smooth(rng, m, n, r), Smooth(rng, n, t, r)
    found = product_derivative(A(q), by_definition(A, q), B(q), by_definition(B, q))
    close(found, by_definition(lambda x: A(x) @ B(x), q))


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_theorem_2_numbers_times_matrices(seed, m, n, r):
    rng, q = drawn(seed, r)
    a, A = Smooth(rng, 1, 1, r), Smooth(rng, m, n, r)
    found = scaled_derivative(a(q)[:, 0, 0], by_definition(a, q)[:, :, 0], A(q), by_definition(A, q))
    close(found, by_definition(lambda x: a(x) * A(x), q))


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, sizes, sizes, sizes, sizes)
def test_theorem_3_kroneckers_products(seed, m, n, s, p, r):
    rng, q = drawn(seed, r)
    A, C = Smooth(rng, m, n, r), Smooth(rng, s, p, r)
    found = kronecker_derivative(A(q), by_definition(A, q), C(q), by_definition(C, q))
    close(found, by_definition(lambda x: kronecker(A(x), C(x)), q))


@settings(max_examples=30, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_theorem_4_differentials(seed, m, n, r):
    rng, q = drawn(seed, r)
    A, dq = Smooth(rng, m, n, r), rng.normal(size=q.shape)
    along = slope(A(step(q, dq)))
    close(differential(by_definition(A, q), dq), along)
    close(transposed_differential(by_definition(lambda x: np.swapaxes(A(x), 1, 2), q), dq), along)


@settings(max_examples=20, deadline=None)
@given(seeds, sizes, sizes, sizes)
def test_second_derivatives_do_not_depend_on_the_order(seed, m, n, r):
    """d2A/dq2 is (m r r, n), and rows j and k of its r by r blocks change places without effect."""
    rng, q = drawn(seed, r)
    W = rng.normal(size=(m, n, r))

    def first(x: np.ndarray) -> np.ndarray:
        wave = np.cos(np.einsum("ikr,fr->fik", W, x))
        return derivative_of(W * wave[..., None])

    second = by_definition(first, q)
    swap = kronecker(np.eye(m), permutation(r, r))
    close(swap @ second, second)


@settings(max_examples=20, deadline=None)
@given(seeds, sizes, sizes, sizes, sizes)
def test_kroneckers_product_permutation_and_vec(seed, m, n, s, p):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(FRAMES, m, n)), rng.normal(size=(FRAMES, s, p))
    close(kronecker(A, B), np.stack([np.kron(a, b) for a, b in zip(A, B, strict=True)]))
    U = sum(np.kron(elementary(m, n, i, k), elementary(n, m, k, i)) for i in range(m) for k in range(n))
    close(permutation(m, n), U)
    close(permutation(m, n).T @ permutation(m, n), np.eye(m * n))
    a, c = rng.normal(size=(n, 1)), rng.normal(size=(m, 1))
    close(permutation(m, n) @ np.kron(a, c), np.kron(c, a))
    # vec(A X B) = (B^T (x) A) vec(X)
    X = rng.normal(size=(FRAMES, n, s))
    close(vec(A @ X @ B), kronecker(np.swapaxes(B, 1, 2), A) @ vec(X))
