"""Small nonlinear programs with stated optima, from functions of a few variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Complex steps have no subtraction, so a tiny step costs no digits.
_TINY = 1e-30
# Central differences of exact slopes: truncation and rounding balance near the cube root of epsilon.
_SMALL = 6e-6


class SmallProgram:
    """A dense program of analytic functions f(x) and g(x); slopes by complex steps."""

    variable_stages = None
    row_stages = None

    def __init__(self, f, g=lambda x: [], *, lower=-np.inf, upper=np.inf, rows=(), size, names=None, exact=False):
        self.f, self.g = f, g
        self.lower, self.upper = np.broadcast_to(lower, size).astype(float), np.broadcast_to(upper, size).astype(float)
        self.row_lower, self.row_upper = np.array([a for a, _ in rows], float), np.array([b for _, b in rows], float)
        self.variable_names = [f"x[{k + 1}]" for k in range(size)] if names is None else names
        self.row_names = [f"g[{k + 1}]" for k in range(len(rows))]
        pattern = np.indices((len(rows), size)).reshape(2, -1)
        self.jacobian_pattern = (pattern[0], pattern[1])
        self.hessian_pattern = np.tril_indices(size) if exact else None

    def objective(self, x):
        return self.f(x)

    def gradient(self, x):
        return self._slopes(lambda z: [self.f(z)], x)[0]

    def rows(self, x):
        return np.array(self.g(x), float)

    def jacobian(self, x):
        return self._slopes(self.g, x).ravel()

    def hessian(self, x, objective_factor, multipliers):
        def slope(z):
            pull = self._slopes(self.g, z).T @ multipliers if len(multipliers) else 0.0
            return objective_factor * self.gradient(z) + pull

        steps = _SMALL * np.eye(len(x))
        full = np.array([(slope(x + step) - slope(x - step)) / (2 * _SMALL) for step in steps])
        return full[self.hessian_pattern]

    @staticmethod
    def _slopes(function, x):
        columns = [np.imag(np.array(function(x + 1j * _TINY * unit), complex)) / _TINY for unit in np.eye(len(x))]
        return np.array(columns, float).T


@dataclass(frozen=True)
class KnownOptimum:
    """A problem of Hock and Schittkowski (1981), Test Examples for Nonlinear Programming Codes, by its number."""

    make: Callable[..., SmallProgram]
    start: tuple[float, ...]
    objective: float


_EQUAL = (0.0, 0.0)
_POSITIVE = (0.0, np.inf)


def _hs(f, g=lambda x: [], rows=(), **limits):
    return lambda size, exact=False: SmallProgram(f, g, rows=rows, size=size, exact=exact, **limits)


HOCK_SCHITTKOWSKI = {
    6: KnownOptimum(_hs(lambda x: (1 - x[0]) ** 2, lambda x: [10 * (x[1] - x[0] ** 2)], [_EQUAL]), (-1.2, 1), 0.0),
    7: KnownOptimum(
        _hs(lambda x: np.log(1 + x[0] ** 2) - x[1], lambda x: [(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4], [_EQUAL]),
        (2, 2),
        -np.sqrt(3),
    ),
    35: KnownOptimum(
        _hs(
            lambda x: 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2
            + 2 * x[0] * x[1] + 2 * x[0] * x[2],
            lambda x: [3 - x[0] - x[1] - 2 * x[2]],
            [_POSITIVE],
            lower=0,
        ),
        (0.5, 0.5, 0.5),
        1 / 9,
    ),
    40: KnownOptimum(
        _hs(
            lambda x: -x[0] * x[1] * x[2] * x[3],
            lambda x: [x[0] ** 3 + x[1] ** 2 - 1, x[0] ** 2 * x[3] - x[2], x[3] ** 2 - x[1]],
            [_EQUAL] * 3,
        ),
        (0.8, 0.8, 0.8, 0.8),
        -0.25,
    ),
    43: KnownOptimum(
        _hs(
            lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
            lambda x: [
                8 - x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - x[3] ** 2 - x[0] + x[1] - x[2] + x[3],
                10 - x[0] ** 2 - 2 * x[1] ** 2 - x[2] ** 2 - 2 * x[3] ** 2 + x[0] + x[3],
                5 - 2 * x[0] ** 2 - x[1] ** 2 - x[2] ** 2 - 2 * x[0] + x[1] + x[3],
            ],
            [_POSITIVE] * 3,
        ),
        (0, 0, 0, 0),
        -44.0,
    ),
    71: KnownOptimum(
        _hs(
            lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2],
            lambda x: [x[0] * x[1] * x[2] * x[3], x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2],
            [(25, np.inf), (40, 40)],
            lower=1,
            upper=5,
        ),
        (1, 5, 5, 1),
        17.0140173,
    ),
    78: KnownOptimum(
        _hs(
            lambda x: x[0] * x[1] * x[2] * x[3] * x[4],
            lambda x: [
                x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2 + x[4] ** 2 - 10,
                x[1] * x[2] - 5 * x[3] * x[4],
                x[0] ** 3 + x[1] ** 3 + 1,
            ],
            [_EQUAL] * 3,
        ),
        (-2, 1.5, 2, -1, -1),
        -2.91970041,
    ),
    100: KnownOptimum(
        _hs(
            lambda x: (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2 + 10 * x[4] ** 6
            + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6],
            lambda x: [
                127 - 2 * x[0] ** 2 - 3 * x[1] ** 4 - x[2] - 4 * x[3] ** 2 - 5 * x[4],
                282 - 7 * x[0] - 3 * x[1] - 10 * x[2] ** 2 - x[3] + x[4],
                196 - 23 * x[0] - x[1] ** 2 - 6 * x[5] ** 2 + 8 * x[6],
                -4 * x[0] ** 2 - x[1] ** 2 + 3 * x[0] * x[1] - 2 * x[2] ** 2 - 5 * x[5] + 11 * x[6],
            ],
            [_POSITIVE] * 4,
        ),
        (1, 2, 0, 4, 0, 1, 1),
        680.6300573,
    ),
}  # fmt: skip
