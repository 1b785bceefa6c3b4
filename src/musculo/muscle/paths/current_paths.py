"""The paths themselves, point by point, and how the search for each of them ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName


class PathStatus(IntEnum):
    """How the search for a taut path ended, best first: that of the worst segment of a path."""

    CONVERGED = 0
    """The path is taut."""
    INSIDE = 1
    """A fixed point of the path lies inside a surface."""
    OTHER_SIDE = 2
    """The path gives up a rule of the model, and the length has a penalty for it (`PathGeometry.penalty`)."""
    OVERLAPPED = 3
    """Surfaces overlap: the path is a polyline that is pulled tight outside all of them."""
    NOT_CONVERGED = 4
    """The search was given up; the path is the best it came by."""
    IGNORED = 5
    """No path over a surface was found, so the path ignores the surface."""
    CUT_SHORT = 6
    """An end is a conditional point out of its range: the path runs between the other points only, as in OpenSim, and
    has no length where one is left."""


# The same in words, in the order of their numbers.
STATUSES = tuple(status.name.lower().replace("_", " ") for status in PathStatus)


@dataclass(frozen=True, eq=False)
class PathPoints:
    """The current paths of all frames in flat arrays; `of` gives one of them.

    The entries of path k are `first[k] .. first[k] + count[frame, k] - 1` of the middle axis; what follows up to
    first[k + 1] is unused.
    """

    names: tuple[str, ...]
    first: NDArray[np.int64]  # (paths + 1,)
    count: NDArray[np.int64]  # (frames, paths)
    position: FloatArray = field(repr=False)  # (frames, entries, 3) in ground [m]
    wrap: NDArray[np.int32] = field(repr=False)  # (frames, entries) -1: a path point; else which of `wrap_objects`
    penalty: FloatArray = field(repr=False)  # (frames, paths) what of a length is no path [m]
    wrap_objects: tuple[str, ...] = ()

    def of(self, name: str, frame: int = 0) -> tuple[FloatArray, tuple[str, ...]]:
        """Points (n, 3) of one path in ground, origin to insertion, and the wrap object each touches ('' for none)."""
        k = self._index(name)
        asked = f"frame {frame} of path {name!r} is asked for"
        if isinstance(frame, bool) or not isinstance(frame, Integral):
            raise InvalidInput(f"{asked}; give a whole number, 0 to {len(self.count) - 1}")
        if not -len(self.count) <= frame < len(self.count):
            raise InvalidInput(f"{asked}; there are {len(self.count)} frames")
        entries = slice(self.first[k], self.first[k] + self.count[frame, k])
        touched = tuple(self.wrap_objects[w] if w >= 0 else "" for w in self.wrap[frame, entries])
        return self.position[frame, entries], touched

    def touches(self, name: str, wrap_object: str) -> NDArray[np.bool_]:
        """(frames,) in which frames a path is in contact with a wrap object."""
        k = self._index(name)
        if wrap_object not in self.wrap_objects:
            raise UnknownName("wrap object", wrap_object, tuple(dict.fromkeys(self.wrap_objects)))
        there = np.arange(self.first[k + 1] - self.first[k]) < self.count[:, k, None]
        own = [w for w, wrap in enumerate(self.wrap_objects) if wrap == wrap_object]
        touching: NDArray[np.bool_] = np.isin(self.wrap[:, self.first[k] : self.first[k + 1]], own) & there
        return np.asarray(touching.any(axis=1))

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("path", name, self.names)
        return self.names.index(name)
