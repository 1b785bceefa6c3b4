"""Least squares for the polynomials of `fit_paths`: lengths and moment arms together, all degrees from one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.functions.multivariate import MultivariatePolynomial, exponent_rows

# Of the largest eigenvalue of the normal matrix: directions that the samples say nothing about stay zero.
_RANK = 1e-14


@dataclass(frozen=True, eq=False)
class PolynomialBasis:
    """Products of Chebyshev polynomials of coordinates, each scaled to -1 .. 1 over its range, sorted by degree."""

    low: FloatArray  # (m,)
    high: FloatArray  # (m,)
    degree: int  # the highest

    @cached_property
    def exponents(self) -> FloatArray:
        """(terms, m) the degree in each coordinate; sorted by their sum."""
        return np.array(sorted(exponent_rows(len(self.low), self.degree), key=sum), dtype=np.int64)

    def terms(self, degree: int) -> int:
        """How many terms have this degree at most."""
        return int((self.exponents.sum(axis=1) <= degree).sum())

    @cached_property
    def _middle(self) -> FloatArray:
        return 0.5 * (self.low + self.high)

    @cached_property
    def _half(self) -> FloatArray:
        half = 0.5 * (self.high - self.low)
        return np.where(half > 0.0, half, 1.0)

    def _factors(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Chebyshev polynomials of each coordinate and their slopes (m, degree + 1, samples)."""
        x = ((z - self._middle) / self._half).T
        T, D = np.ones((len(x), self.degree + 1, x.shape[1])), np.zeros((len(x), self.degree + 1, x.shape[1]))
        if self.degree:
            T[:, 1], D[:, 1] = x, 1.0
        for k in range(2, self.degree + 1):
            T[:, k] = 2.0 * x * T[:, k - 1] - T[:, k - 2]
            D[:, k] = 2.0 * T[:, k - 1] + 2.0 * x * D[:, k - 1] - D[:, k - 2]
        return T, D / self._half[:, None, None]

    def values(self, z: FloatArray) -> list[FloatArray]:
        """Of samples z (samples, m): the terms (samples, terms), then their slopes by each coordinate."""
        T, D = self._factors(z)
        m = len(self.low)
        found = []
        for along in range(-1, m):
            parts = [(D if k == along else T)[k][self.exponents[:, k]] for k in range(m)]
            found.append(np.prod(parts, axis=0).T)
        return found

    def polynomial(self, coefficients: FloatArray, degree: int) -> MultivariatePolynomial:
        """The same polynomial in powers of the coordinates, as OpenSim has it."""
        m = len(self.low)
        C = np.zeros((degree + 1,) * m)
        C[tuple(self.exponents[: len(coefficients)].T)] = coefficients
        for k in range(m):
            powers = np.zeros((degree + 1, degree + 1))  # of each Chebyshev polynomial
            line = np.polynomial.Polynomial([-self._middle[k] / self._half[k], 1.0 / self._half[k]])
            for j in range(degree + 1):
                one = np.polynomial.Chebyshev.basis(j).convert(kind=np.polynomial.Polynomial)(line)
                powers[j, : len(one.coef)] = one.coef
            C = np.moveaxis(np.tensordot(powers, C, axes=(0, k)), 0, k)
        own = tuple(float(C[e]) for e in exponent_rows(m, degree))
        return MultivariatePolynomial(m, degree, own)


@dataclass(frozen=True, eq=False)
class PolynomialFits:
    """Fits of several paths of the same coordinates, of all degrees up to the basis' own."""

    basis: PolynomialBasis
    normal: FloatArray  # (terms, terms)
    right: FloatArray  # (terms, paths)

    def coefficients(self, degree: int) -> FloatArray:
        """(terms, paths) of the polynomials of this degree that are best over the samples."""
        n = self.basis.terms(degree)
        w, V = np.linalg.eigh(self.normal[:n, :n])
        keep = w > _RANK * w[-1]
        return V[:, keep] @ ((V[:, keep].T @ self.right[:n]) / w[keep, None])


def fit_polynomials(basis: PolynomialBasis, z: FloatArray, length: FloatArray, arms: FloatArray) -> PolynomialFits:
    """Polynomials that minimize the mean square of the errors of lengths [m] and of moment arms [m/rad, m/m] together.

        sum over samples of  (p - l)^2 + sum_j (dp/dz_j + r_j)^2

    Args:
        z: (samples, m) coordinates. length: (samples, paths). arms: (samples, paths, m).

    Raises:
        InvalidInput: there are fewer numbers than coefficients.
    """
    n = len(basis.exponents)
    if z.size + len(z) < n:
        raise InvalidInput(
            f"{len(z)} samples of {z.shape[1]} coordinates do not settle the {n} coefficients of degree "
            f"{basis.degree}; take more samples or a lower degree"
        )
    normal, right = np.zeros((n, n)), np.zeros((n, length.shape[1]))
    for k, A in enumerate(basis.values(z)):
        normal += A.T @ A
        right += A.T @ (length if k == 0 else -arms[:, :, k - 1])
    return PolynomialFits(basis, normal / len(z), right / len(z))
