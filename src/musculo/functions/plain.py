"""Functions without their kernel: for what is said of a file while it is read, before anything is compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.errors import Unsupported
from musculo.functions.base import Function
from musculo.kernels.function_table import PIECEWISE_POLYNOMIAL

FloatArray = NDArray[np.float64]


def plain_value(function: Function, x: FloatArray) -> FloatArray:
    """f at x (any shape) in NumPy: constants, lines, polynomials and splines of one argument.

    Raises:
        Unsupported: a function of another kind.
    """
    packed = function.packed()
    if packed.kind != PIECEWISE_POLYNOMIAL or packed.n_arguments > 1:
        raise Unsupported(f"a {type(function).__name__} has no value without its kernel")
    n = packed.entries
    knots, powers = packed.data[:n], packed.data[n:].reshape(n + 1, packed.degree + 1)
    piece = np.searchsorted(knots, x, side="right")
    t = x - knots[np.maximum(piece - 1, 0)] if n else np.asarray(x, dtype=float)
    value = np.zeros(np.shape(x))
    for power in range(packed.degree + 1):
        value = value * t + powers[piece, power]
    return np.asarray(packed.scale * value)
