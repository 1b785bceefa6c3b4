"""Polynomials of several variables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from musculo.errors import InvalidInput
from musculo.functions.function import Function, set_numbers
from musculo.functions.function_table import PackedFunction
from musculo.kernels.functions.function_values import MULTIVARIATE, PIECEWISE_POLYNOMIAL

# OpenSim has no limit; what depends on more coordinates than these is no polynomial that anybody made.
MAX_DIMENSION = 24


@dataclass(frozen=True)
class MultivariatePolynomial(Function):
    """A polynomial of total degree `order` in `dimension` variables (OpenSim's MultivariatePolynomialFunction).

        f(x) = sum_e coefficients[e] x_1^e_1 ... x_d^e_d,   e_1 + ... + e_d <= order

    with the exponents in lexicographic order, the last variable fastest: 1, y, y^2, x, x y, x^2 for order 2 in x, y.

    Departs:    OpenSim answers every request for a second derivative with a first derivative; here they are correct.
    Guarantees: the Hessian is symmetric and the derivative of the gradient.
    """

    dimension: int
    order: int
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("dimension", "order"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value:
                raise InvalidInput(f"MultivariatePolynomial: {name} must be a whole number, got {value!r}")
            object.__setattr__(self, name, int(value))
        if not 1 <= self.dimension <= MAX_DIMENSION:
            raise InvalidInput(f"MultivariatePolynomial: dimension is 1 to {MAX_DIMENSION}, got {self.dimension}")
        if self.order < 0:
            raise InvalidInput(f"MultivariatePolynomial: order must not be negative, got {self.order}")
        set_numbers(self, "coefficients")
        needed = math.comb(self.dimension + self.order, self.order)
        if len(self.coefficients) != needed:
            raise InvalidInput(
                f"MultivariatePolynomial: dimension {self.dimension} and order {self.order} need {needed} "
                f"coefficients, got {len(self.coefficients)}"
            )

    @property
    def n_arguments(self) -> int:
        return self.dimension

    def packed(self) -> PackedFunction:
        if self.dimension == 1:
            return PackedFunction(PIECEWISE_POLYNOMIAL, 1, self.order, 0, np.array(self.coefficients[::-1]))
        # Coefficients that differ in the exponent of the last variable alone are neighbors: one polynomial of it.
        groups = [(*row, self.order - sum(row)) for row in exponent_rows(self.dimension - 1, self.order)]
        exponents = tuple(e for group in groups for e in group)
        coefficients = np.array(self.coefficients)
        return PackedFunction(MULTIVARIATE, self.dimension, self.order, len(groups), coefficients, exponents)


def exponent_rows(dimension: int, order: int) -> Iterator[tuple[int, ...]]:
    """All exponents of total degree up to `order`, lexicographic with the last variable fastest."""
    if dimension == 0:
        yield ()
        return
    for first in range(order + 1):
        for rest in exponent_rows(dimension - 1, order - first):
            yield (first, *rest)
