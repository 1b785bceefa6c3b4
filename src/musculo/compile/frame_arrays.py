"""Arrays in: shapes and values checked once, single frames made batches of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName


def columns_by_name(name: str, value: Any, columns: Sequence[str]) -> Any:
    """`value` with its columns in the order of `columns`, where it names them; else as it is, which goes by position.

    Names stand in the columns of a data frame, in the index of a series, and in the labels of an xarray, whose
    dimension with names becomes the last. Labels that are no words (numbers of columns) are no names.

    Raises:
        UnknownName: a name that is none of `columns`.
        InvalidInput: a name that is missing or stands twice.
    """
    if isinstance(value, np.ndarray | list | tuple | int | float):
        return value
    labels, array = labels_of(value)
    if not any(isinstance(label, str) for label in labels):
        return value
    names = [str(label) for label in labels]
    for label in names:
        if label == "time" and label not in columns:
            raise InvalidInput(f"{name} has a column 'time'; drop it, or make it the index, and pass on the others")
        if label not in columns:
            raise UnknownName("column", label, columns, f"the model's columns for {name}")
        if names.count(label) > 1:
            raise InvalidInput(f"{name} names the column {label!r} {names.count(label)} times; drop all but one")
    missing = [column for column in columns if column not in names]
    if missing:
        raise InvalidInput(
            f"{name} has no column {missing[0]!r}{f' (nor {len(missing) - 1} others)' if missing[1:] else ''}; its "
            f"columns are named, and need all of {', '.join(columns[:8])}{', ...' if len(columns) > 8 else ''}"
        )
    return np.asarray(array)[..., [names.index(column) for column in columns]]


def labels_of(value: Any) -> tuple[list[Any], Any]:
    """Names along the last axis of a labeled array (none: not labeled), and its numbers with that axis last."""
    dims, coords = getattr(value, "dims", None), getattr(value, "coords", None)
    if dims is not None and coords is not None and hasattr(value, "transpose"):  # xarray
        worded = [d for d in dims if d in coords and np.asarray(coords[d]).dtype.kind in "UO"]
        if len(worded) != 1:
            return [], value
        ordered = value.transpose(*(d for d in dims if d != worded[0]), worded[0])
        return np.asarray(coords[worded[0]]).tolist(), ordered
    columns = getattr(value, "columns", None)  # a data frame
    if columns is None and np.ndim(value) == 1:
        columns = getattr(value, "index", None)  # a series
    return (list(columns), value) if np.iterable(columns) and not callable(columns) else ([], value)


def frames_of(name: str, value: ArrayLike, columns: Sequence[str]) -> tuple[FloatArray, bool]:
    """`value` as (frames, columns), C-contiguous, and whether it was a single frame.

    Named columns (`columns_by_name`) may have any order.

    Raises:
        UnknownName: a column has a name that is none of these.
        InvalidInput: the shape does not fit the names of the columns, or an entry is not a finite number.
    """
    # what is called frame by frame is mostly this
    array = value if type(value) is np.ndarray and value.dtype == float else _numbers(name, value, columns)
    single = array.ndim == 1
    if single:
        array = array[None]
    n = len(columns)
    if array.ndim != 2 or array.shape[1] != n:
        what = "is None" if value is None else f"has shape {np.shape(value)}"
        raise InvalidInput(
            f"{name} {what}; it needs ({n},) or (frames, {n}), one column each for "
            f"{', '.join(columns[:8])}{', ...' if n > 8 else ''}"
        )
    if not np.isfinite(array).all():
        frame, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidInput(
            f"{name} holds {array[frame, column]} at frame {frame}, column {columns[column]!r}; "
            "fill or drop such frames first"
        )
    return np.ascontiguousarray(array), single


def _numbers(name: str, value: ArrayLike, columns: Sequence[str]) -> FloatArray:
    try:
        if np.ma.is_masked(value):
            raise InvalidInput(f"{name} is a masked array with masked entries; fill or drop those frames first")
        array = np.asarray(columns_by_name(name, value, columns))
        if array.dtype.kind == "c":
            raise InvalidInput(f"{name} holds complex numbers; pass real ones")
        return np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise not_numbers(name, value, error) from None


def not_numbers(name: str, value: Any, error: Exception) -> InvalidInput:
    """The error for what is not an array of numbers, with the way to one where what it is has one."""
    from musculo.results.table import Table

    kind = type(value).__name__
    if isinstance(value, Table):
        return InvalidInput(f"{name} is a Table; give an array: table.values")
    if isinstance(value, Mapping):
        return InvalidInput(f"{name} is a {kind}; give an array, or columns with names: pandas.DataFrame({name})")
    if hasattr(value, name):
        return InvalidInput(f"{name} is a {kind}; give the array in it, its {name!r}")
    return InvalidInput(f"{name} is not an array of numbers: {error}")


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
