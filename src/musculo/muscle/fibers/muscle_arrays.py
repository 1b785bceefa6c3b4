"""Arrays with one column a muscle: shapes and values checked once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.compile.frame_arrays import columns_by_name, not_numbers
from musculo.errors import InvalidInput
from musculo.muscle.fibers.compile_muscles import CompiledMuscles

# Rounding that an activation may carry beyond its range.
_ROUNDING = 1e-9
_NOT_NEGATIVE = ("length", "fiber_length")
_UNIT_RANGE = ("activation", "excitation")
# What to give where None stands.
_MISSING = {
    "speed": "speeds are there only where u was given: muscle_geometry(model, q, u)",
    "activation": "give a number from 0 to 1, or one for each muscle",
    "excitation": "give a number from 0 to 1, or one for each muscle",
}


def muscle_columns(c: CompiledMuscles, **values: ArrayLike) -> tuple[list[FloatArray], bool]:
    """Each value as (frames, muscles), and whether all were a single frame.

    Numbers and single frames stretch over the frames of the others; named columns may have any order.

    Raises:
        InvalidInput: a shape that does not fit, an entry that is not finite, a negative length, an activation outside
            0 to 1; the message names argument, frame and muscle.
    """
    arrays = {name: _checked(name, value, c.names) for name, value in values.items()}
    counts = {name: len(a) for name, a in arrays.items() if a.ndim == 2}
    if len(set(counts.values())) > 1:
        stated = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InvalidInput(f"the arrays have different numbers of frames ({stated}); give all the same number")
    frames = next(iter(counts.values()), 1)
    shape = (frames, len(c.names))
    return [np.ascontiguousarray(np.broadcast_to(a, shape)) for a in arrays.values()], not counts


def _checked(name: str, value: ArrayLike, muscles: tuple[str, ...]) -> FloatArray:
    if value is None:
        raise InvalidInput(f"{name} is None; {_MISSING.get(name, 'give a number, or one for each muscle')}")
    try:
        array = np.asarray(columns_by_name(name, value, muscles))
        if array.dtype.kind == "c":
            raise InvalidInput(f"{name} holds complex numbers; pass real ones")
        array = np.asarray(array, dtype=float)
    except (TypeError, ValueError) as error:
        raise not_numbers(name, value, error) from None
    n = len(muscles)
    if array.ndim > 2 or (array.ndim > 0 and array.shape[-1] != n):
        raise InvalidInput(
            f"{name} has shape {array.shape}; it needs (frames, {n}), ({n},) or one number, one column each for "
            f"{', '.join(muscles[:8])}{', ...' if n > 8 else ''}"
        )
    if not np.isfinite(array).all():
        where, what = _first(array, ~np.isfinite(array), muscles)
        lost = "; where like='opensim' gives NaN, the exact paths have a length" if name in ("length", "speed") else ""
        raise InvalidInput(f"{name} holds {what}{where}; fill or drop such frames first{lost}")
    if name in _NOT_NEGATIVE and (array < 0.0).any():
        where, what = _first(array, array < 0.0, muscles)
        raise InvalidInput(f"{name} is {what} m{where}; a length is zero or more")
    if name in _UNIT_RANGE:
        outside = (array < -_ROUNDING) | (array > 1.0 + _ROUNDING)
        if outside.any():
            where, what = _first(array, outside, muscles)
            raise InvalidInput(f"{name} is {what}{where}; give numbers from 0 to 1")
        array = np.clip(array, 0.0, 1.0)
    return array


def _first(array: FloatArray, bad: NDArray[np.bool_], muscles: tuple[str, ...]) -> tuple[str, str]:
    place = tuple(int(k) for k in np.argwhere(bad)[0])
    what = f"{array[place]:g}"
    if not place:
        return "", what
    frame = f" at frame {place[0]}," if len(place) == 2 else " at"
    return f"{frame} muscle {muscles[place[-1]]!r}", what
