"""Arrays in: shapes and values checked once, single frames made batches of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.errors import InvalidInput

FloatArray = NDArray[np.float64]


def frames_of(name: str, value: ArrayLike, columns: Sequence[str]) -> tuple[FloatArray, bool]:
    """`value` as (frames, columns), C-contiguous, and whether it was a single frame.

    Raises:
        InvalidInput: the shape does not fit the names of the columns, or an entry is not a finite number.
    """
    try:
        if np.ma.is_masked(value):
            raise InvalidInput(f"{name} is a masked array with masked entries; fill or drop those frames first")
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise InvalidInput(f"{name} holds complex numbers; pass real ones")
        array = np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} is not an array of numbers: {error}") from None
    single = array.ndim == 1
    if single:
        array = array[None]
    n = len(columns)
    if array.ndim != 2 or array.shape[1] != n:
        raise InvalidInput(
            f"{name} has shape {np.shape(value)}; it needs ({n},) or (frames, {n}), one column each for "
            f"{', '.join(columns[:8])}{', ...' if n > 8 else ''}"
        )
    if not np.isfinite(array).all():
        frame, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidInput(
            f"{name} holds {array[frame, column]} at frame {frame}, column {columns[column]!r}; "
            "fill or drop such frames first"
        )
    return np.ascontiguousarray(array), single


def finite(name: str, result: FloatArray, columns: Sequence[str]) -> FloatArray:
    """A result in which every number is one; finite input can still overflow."""
    if not np.isfinite(result).all():
        frame, column = np.argwhere(~np.isfinite(result.reshape(len(result), -1)))[0]
        raise InvalidInput(
            f"{name} of {columns[column % len(columns)]!r} at frame {frame} is beyond the range of floating-point "
            "numbers; check the size of the coordinates, speeds and loads of that frame"
        )
    return result


def same_frames(**arrays: FloatArray) -> int:
    """The common number of frames; arrays of one frame do not stretch."""
    counts = {name: array.shape[0] for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        stated = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InvalidInput(f"the arrays have different numbers of frames ({stated})")
    return next(iter(counts.values()))
