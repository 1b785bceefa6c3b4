"""Checks that every signal function shares: time first, columns after it, and errors that name the frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput

# Times rounded to milliseconds are 3 % of a step off at 60 Hz: such a grid is even, a missing frame is not.
LARGEST_JITTER = 0.1  # of a step
# A step of so many usual ones is a hole: at least a frame is missing.
HOLE = 1.5


class Series(NamedTuple):
    """A signal over time."""

    time: FloatArray  # (frames,) [s]
    values: FloatArray  # (frames, ...), labeled where the signal was


def series(time: ArrayLike, values: ArrayLike, least: int = 1, finite: bool = True) -> Series:
    """Time (n,) and values (n, ...) as float arrays, checked: as many rows as times, times finite and increasing.

    Args:
        least: the smallest number of rows that will do.
        finite: whether gaps (NaN) are refused.
    """
    try:
        t, y = np.asarray(time, dtype=float), np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        if hasattr(values, "names") and hasattr(values, "derivative"):
            raise InvalidInput(
                "the values are a Table; use its own lowpass, derivative, resample and fill, which keep names and "
                "units, or table.coordinates(model)"
            ) from None
        raise InvalidInput(f"time and values must be numbers: {error}") from None
    if t.ndim != 1 or y.ndim < 1 or len(y) != len(t):
        raise InvalidInput(f"time has shape {t.shape} and values {y.shape}; they need (frames,) and (frames, ...)")
    if len(t) < least:
        raise InvalidInput(f"{len(t)} frames are too few; at least {least} are needed")
    check_increasing(t)
    if finite:
        bad = ~np.isfinite(y.reshape(len(t), -1))
        if bad.any():
            frame, column = np.argwhere(bad)[0]
            raise InvalidInput(
                f"column {column} has {int(bad[:, column].sum())} frames that are not finite numbers, the first at "
                f"frame {frame} ({t[frame]:g} s); fill the gaps first, or drop those columns"
            )
    return Series(t, y)


def check_increasing(time: FloatArray) -> None:
    """Refuse times that are not finite or do not increase."""
    if not np.isfinite(time).all():
        raise InvalidInput(f"the time of frame {int(np.argmin(np.isfinite(time)))} is not a finite number")
    if len(time) > 1 and not (np.diff(time) > 0.0).all():
        at = int(np.argmax(np.diff(time) <= 0.0))
        raise InvalidInput(
            f"time does not increase from frame {at} ({time[at]} s) to {at + 1} ({time[at + 1]} s); "
            "sort the frames, drop repeated ones, or split the trials"
        )


def sampling_rate(time: ArrayLike) -> float:
    """Frames per second of an even grid; times rounded in a file pass, missing frames do not.

    Raises:
        InvalidInput: fewer than two frames, or a frame more than a tenth of a step away from its place.
    """
    t = np.asarray(time, dtype=float)
    if t.ndim != 1 or len(t) < 2:
        raise InvalidInput(f"time has shape {t.shape}; a sampling rate needs (frames,) with at least two")
    check_increasing(t)
    step = (t[-1] - t[0]) / (len(t) - 1)
    off = np.abs(t - (t[0] + step * np.arange(len(t))))
    if step <= 0.0 or not np.isfinite(step) or off.max() > LARGEST_JITTER * step:
        at = int(np.argmax(off))
        raise InvalidInput(
            f"the frames are not evenly spaced: frame {at} at {t[at]:g} s is {off.max() / step:.2f} steps from its "
            "place; resample first (--resample HZ in the shell, table.resample in Python)"
        )
    return float(1.0 / step)


def holes(time: FloatArray, least: float = HOLE) -> NDArray[np.int64]:
    """Frames after which others are missing: the next comes later than `least` usual steps, medians of all."""
    if len(time) < 3:
        return np.zeros(0, dtype=np.int64)
    step = np.diff(time)
    return np.flatnonzero(step > least * np.median(step)).astype(np.int64)


def even_parts(time: ArrayLike) -> tuple[float, tuple[slice, ...]]:
    """Frames a second, and the parts of a recording between holes in its times; one part where no frame is missing.

    Raises:
        InvalidInput: fewer than two frames, or frames that are uneven within a part, or not at one rate in all parts.
    """
    t = np.asarray(time, dtype=float)
    try:
        return sampling_rate(t), (slice(0, len(t)),)
    except InvalidInput:
        ends = holes(t) + 1 if t.ndim == 1 and np.isfinite(t).all() else np.zeros(0, dtype=np.int64)
        inside = np.delete(np.diff(t), ends - 1) if ends.size else np.zeros(0)
        if not inside.size or inside.min() <= 0.0:
            raise
        step = float(inside.mean())
        parts = [slice(int(a), int(b)) for a, b in zip((0, *ends), (*ends, len(t)), strict=True)]
        for part in parts:
            own = t[part]
            if np.abs(own - own[0] - step * np.arange(len(own))).max() > LARGEST_JITTER * step:
                raise
        return 1.0 / step, tuple(parts)
