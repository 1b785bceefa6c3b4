"""Curves of muscles in one array, as their kernels read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.functions.function import Function
from musculo.kernels.functions.function_values import PIECEWISE_POLYNOMIAL
from musculo.kernels.hill.curve_lookup import CUBIC, ROW, SPLINE_HEAD
from musculo.muscle.hill_curves.bezier_sections import BezierCurve, aligned, stepped_rows


class CurveTable:
    """Curves of all muscles, each once; a curve is known by where it starts."""

    def __init__(self) -> None:
        self._blocks: list[FloatArray] = []
        self._size = 0
        self._starts: dict[Any, int] = {}

    def _put(self, key: Any, rows: Callable[[], FloatArray]) -> int:
        if key not in self._starts:
            block = rows()
            self._starts[key] = self._size
            self._blocks += [block, np.zeros(aligned(block.size) - block.size)]
            self._size += aligned(block.size)
        return self._starts[key]

    def bezier(self, curve: BezierCurve) -> int:
        return self._put(curve.key(), lambda: stepped_rows(curve))

    def function(self, function: Function, usual: tuple[float, float]) -> int:
        """A spline whose argument is mostly within `usual`, where it is found sooner."""
        return self._put((function, usual), lambda: spline_rows(function, usual))

    def table(self) -> FloatArray:
        """All of them in a row; never empty, and at an address where the rows of polynomials are lines of cache."""
        rows = np.concatenate([*self._blocks, np.zeros(ROW)])
        space = np.empty(rows.size + ROW)
        shift = -(space.ctypes.data // 8) % ROW
        space[shift : shift + rows.size] = rows
        return space[shift : shift + rows.size]


def spline_rows(function: Function, usual: tuple[float, float]) -> FloatArray:
    packed = function.packed()
    if packed.kind != PIECEWISE_POLYNOMIAL:
        raise InvalidInput(f"a curve of a muscle is a spline or a polynomial, not a {type(function).__name__}")
    n, degree = packed.entries, packed.degree
    knots, powers = packed.data[:n], packed.scale * packed.data[n:].reshape(n + 1, degree + 1)
    # a piece has its origin at its left knot, the first one at its right
    origins = knots[np.maximum(np.arange(n + 1) - 1, 0)] if n else np.zeros(1)
    rows = np.column_stack([origins, np.zeros((n + 1, max(ROW - 2 - degree, 0))), powers])
    if degree <= CUBIC and n:
        # the two beyond the ends reach nowhere: which of its sides an end belongs to is settled by seeking it
        rows[1:-1, 1] = np.diff(knots)
    first = aligned(SPLINE_HEAD + n)
    # the last knot is only passed, never met
    passed = np.searchsorted(knots[:-1], usual, side="right")
    head = [n, degree, *passed, first, *knots]
    return np.concatenate([head, np.zeros(first - len(head)), rows.ravel()])
