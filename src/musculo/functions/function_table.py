"""Functions as data: one table of arrays that a kernel evaluates (`musculo.kernels.functions.function_values`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from musculo.arrays import FloatArray, IntArray


class FunctionTable(NamedTuple):
    """Many functions in flat arrays; no array is ever empty, and all are C-contiguous.

    What `data` and `exponents` hold, from the function's offset on, depends on its kind:

    - PIECEWISE_POLYNOMIAL: `count` breakpoints, then `count + 1` rows of `degree + 1` coefficients, highest power
      first. Row 0 holds left of the first breakpoint, row k right of breakpoint k - 1, the last row beyond the last.
      A row is a polynomial of x minus its left breakpoint (row 0: minus the first). Without breakpoints it is one
      polynomial of x itself.
    - FOURIER: offset, omega, then `count` pairs of a cosine and a sine coefficient.
    - MULTIVARIATE: `count` products of a monomial in all variables but the last, and a polynomial in the last. For
      each, `exponents` holds the exponents of the monomial and the polynomial's degree, `data` the polynomial's
      coefficients, lowest power first.
    """

    kinds: IntArray  # (functions,) one of the kinds above
    n_arguments: IntArray  # (functions,) 0 for a constant
    degrees: IntArray  # (functions,) polynomial degree
    counts: IntArray  # (functions,) breakpoints, harmonics or products
    data_offsets: IntArray  # (functions,) first element in data
    exponent_offsets: IntArray  # (functions,) first element in exponents
    scales: FloatArray  # (functions,) factor on value and derivatives
    data: FloatArray  # (total + 8,)
    exponents: IntArray  # (total,)


class PackedFunction(NamedTuple):
    """One function as the rows it takes in a table."""

    kind: int
    n_arguments: int
    degree: int
    entries: int  # breakpoints, harmonics or products
    data: FloatArray
    exponents: tuple[int, ...] = ()
    scale: float = 1.0


class Packable(Protocol):
    """What goes into a table: `musculo.functions.function.Function`."""

    def packed(self) -> PackedFunction: ...


def compile_functions(functions: Sequence[Packable]) -> FunctionTable:
    """The table of these functions, in their order; `Unsupported` is raised for a function that is only carried.

    Without functions the table holds the constant zero, so that its arrays keep their type and are not empty.
    """
    packed = [function.packed() for function in functions]
    if not packed:
        packed = [PackedFunction(0, 0, 0, 0, np.zeros(1))]
    data_sizes = [p.data.size for p in packed]
    exponent_sizes = [len(p.exponents) for p in packed]
    exponents = [e for p in packed for e in p.exponents]
    return FunctionTable(
        kinds=np.array([p.kind for p in packed], dtype=np.int64),
        n_arguments=np.array([p.n_arguments for p in packed], dtype=np.int64),
        degrees=np.array([p.degree for p in packed], dtype=np.int64),
        counts=np.array([p.entries for p in packed], dtype=np.int64),
        data_offsets=_starts(data_sizes),
        exponent_offsets=_starts(exponent_sizes),
        scales=np.array([p.scale for p in packed], dtype=np.float64),
        # kernels fetch eight numbers from the beginning of a piece on
        data=np.ascontiguousarray(np.concatenate([*(p.data for p in packed), np.zeros(8)]), dtype=np.float64),
        exponents=np.array(exponents or [0], dtype=np.int64),
    )


def _starts(sizes: Sequence[int]) -> IntArray:
    """Where each block starts when blocks of these sizes lie in a row."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
