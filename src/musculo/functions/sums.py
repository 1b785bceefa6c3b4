"""A sum of functions of one argument."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, Unsupported
from musculo.functions.elementary_functions import packed_pieces, taylor_shift
from musculo.functions.function import Function
from musculo.functions.function_table import PackedFunction
from musculo.kernels.functions.function_values import PIECEWISE_POLYNOMIAL


@dataclass(frozen=True)
class Sum(Function):
    """f = g_1 + g_2 + ..., of functions that are polynomials in pieces: constants, lines, steps, splines.

    Raises:
        Unsupported: when it is evaluated, if a part is no such function.
    """

    parts: tuple[Function, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts or not all(isinstance(one, Function) and one.n_arguments <= 1 for one in self.parts):
            raise InvalidInput(f"Sum: needs functions of one argument, got {self.parts!r:.80}")

    def packed(self) -> PackedFunction:
        pieces = [_pieces(one) for one in self.parts]
        breaks = np.unique(np.concatenate([b for b, _ in pieces]))
        if not breaks.size:
            breaks = np.zeros(1)  # polynomials of x itself, whose one row begins at zero
        degree = max(rows.shape[1] for _, rows in pieces) - 1
        total = np.zeros((len(breaks) + 1, degree + 1))
        for own, rows in pieces:
            for j in range(len(total)):
                here = breaks[max(j - 1, 0)]
                # of the piece at the right of a break, and for the first row at the left of all
                k = int(np.searchsorted(own, here, side="right")) if j else 0
                begins = own[max(k - 1, 0)] if own.size else 0.0
                total[j, degree + 1 - rows.shape[1] :] += taylor_shift(rows[k], here - begins)
        return packed_pieces(breaks, total)


def _pieces(function: Function) -> tuple[FloatArray, FloatArray]:
    """Breakpoints and the coefficients of every piece, highest power first."""
    p = function.packed()
    if p.kind != PIECEWISE_POLYNOMIAL:
        raise Unsupported(
            f"a sum with {type(function).__name__}: only constants, polynomials, steps, lines and splines are summed"
        )
    return p.data[: p.entries], p.scale * p.data[p.entries :].reshape(p.entries + 1, p.degree + 1)
