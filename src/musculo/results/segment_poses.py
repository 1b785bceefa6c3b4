"""Poses of body segments over time, as markerless systems measure them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import UnknownName
from musculo.results.frozen import check_names, frozen, frozen_time, window
from musculo.results.markers import Markers


@dataclass(frozen=True, eq=False)
class SegmentPoses:
    """Where segments are and how they are turned, in ground (y up); NaN where that is not known.

    Args:
        time: (frames,) [s].
        names: of the segments; each once.
        R: (frames, segments, 3, 3) R_WS, which takes vectors of the segment to ground.
        origin: (frames, segments, 3) of the segments' frames [m].
        source: the file.
    """

    time: FloatArray
    names: tuple[str, ...]
    R: FloatArray
    origin: FloatArray
    source: str = ""

    def __post_init__(self) -> None:
        where = self.source or "poses of segments"
        time, names = frozen_time(self.time, where), check_names("segment", self.names, where)
        shape = (len(time), len(names))
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "R", frozen("rotations", self.R, (*shape, 3, 3), where))
        object.__setattr__(self, "origin", frozen("origins", self.origin, (*shape, 3), where))

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        return f"SegmentPoses({len(self.names)} segments, {len(self)} frames, {span})"

    def rotated(self, R: ArrayLike) -> SegmentPoses:
        """The poses in another ground: p_new = R p (3, 3)."""
        turn = np.asarray(R, dtype=float)
        return replace(self, R=turn @ self.R, origin=self.origin @ turn.T)

    def between(self, start: float | None = None, end: float | None = None) -> SegmentPoses:
        """The frames from start to end [s], both included."""
        rows = window(self.time, start, end, self.source or "poses of segments")
        return replace(self, time=self.time[rows], R=self.R[rows], origin=self.origin[rows])

    def pick(self, names: Iterable[str]) -> SegmentPoses:
        """Some segments, in the given order."""
        wanted = tuple(names)
        for name in wanted:
            if name not in self.names:
                raise UnknownName("segment", name, self.names, self.source)
        k = [self.names.index(name) for name in wanted]
        return replace(self, names=wanted, R=self.R[:, k], origin=self.origin[:, k])

    def origins(self) -> Markers:
        """The origins of the segments' frames, joint centers mostly, as markers of the segments' names."""
        rate = (len(self) - 1) / float(self.time[-1] - self.time[0]) if len(self) > 1 else 0.0
        return Markers(self.time, self.names, self.origin, rate, source=self.source)
