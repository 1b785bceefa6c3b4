"""Gaps: where they are, and filling them when asked."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.signals.labels import labeled_like, time_first
from musculo.signals.named_arrays import series
from musculo.signals.natural_smoothing import NaturalSpline


class Gap(NamedTuple):
    """Frames start to stop - 1 of one channel are missing."""

    channel: str
    start: int
    stop: int
    start_time: float  # [s] of the first missing frame
    end_time: float  # [s] of the last missing frame
    inside: bool  # whether frames stand on both sides; only such a gap can be filled

    @property
    def frames(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        edge = "" if self.inside else ", at an end of the recording"
        return f"{self.channel}: {self.frames} frames from {self.start_time:g} to {self.end_time:g} s{edge}"


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and stop of each run of True in (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], np.asarray(flags, dtype=bool), [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def find_gaps(time: FloatArray, missing: NDArray[np.bool_], names: tuple[str, ...]) -> tuple[Gap, ...]:
    """The gaps of the channels (frames, channels), channel by channel."""
    frames = len(time)
    return tuple(
        Gap(name, a, b, float(time[a]), float(time[b - 1]), a > 0 and b < frames)
        for k, name in enumerate(names)
        for a, b in runs(missing[:, k])
    )


def fill_gaps(time: ArrayLike, values: ArrayLike, longest: int, degree: int = 3) -> FloatArray:
    """Values (n, ...) whose inner gaps of at most `longest` frames are filled by the natural spline through the rest.

    A channel is one column, and a vector is missing where any part of its column is NaN: hand vectors in with shape
    (n, channels, 3) to have their parts filled together. Gaps at the ends, longer ones, and those of channels with
    fewer than degree + 1 frames stay gaps. A data frame, series or xarray comes back as one.
    """
    if not isinstance(longest, int | np.integer) or isinstance(longest, bool) or longest < 1:
        raise InvalidInput(f"longest={longest!r}; give the longest gap that may be filled as a whole number of frames")
    given = time_first(values)
    t, y = series(time, given, finite=False)
    filled = np.array(y)
    flat = filled.reshape(len(t), 1, -1) if y.ndim < 2 else filled.reshape(len(t), y.shape[1], -1)
    missing: NDArray[np.bool_] = np.any(~np.isfinite(flat), axis=2)
    for k in range(flat.shape[1]):
        known = ~missing[:, k]
        if known.sum() < degree + 1:
            continue
        wanted = np.zeros(len(t), dtype=bool)
        for a, b in runs(missing[:, k]):
            wanted[a:b] = a > 0 and b < len(t) and b - a <= longest
        if wanted.any():
            flat[wanted, k] = NaturalSpline(t[known], flat[known, k], degree)(t[wanted])
    return cast(FloatArray, labeled_like(given, filled))
