"""Orientations of sensors over time: rotations to ground with y up, NaN where there was no measurement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.results.frozen import check_names, frozen, frozen_time, mapped_names, window
from musculo.results.labeled_arrays import labeled
from musculo.results.provenance import Provenance
from musculo.signals.gaps import Gap, find_gaps
from musculo.spatial.rotation import from_quaternion, to_quaternion

if TYPE_CHECKING:
    import xarray

# A matrix this far from orthonormal [-] is no rotation; sensors and files round to four digits and better.
_ORTHONORMAL = 1e-3


@dataclass(frozen=True, eq=False)
class Orientations:
    """Orientations of sensors over time.

    Args:
        time: (frames,) increasing [s].
        names: of the sensors; each once.
        quaternion: (frames, sensors, 4) w, x, y, z of R_WS, which takes vectors of the sensor to ground; any length but
            zero, and kept with length one. A sensor that measured nothing is NaN in all four.
        notes: what a reader found odd and how it took it.
        provenance: what made the orientations, if musculo did.
        source: the file.
    """

    time: FloatArray
    names: tuple[str, ...]
    quaternion: FloatArray
    notes: tuple[str, ...] = ()
    provenance: Provenance | None = None
    source: str = ""

    def __post_init__(self) -> None:
        where = self.source or "orientations"
        time, names = frozen_time(self.time, where), check_names("sensor", self.names, where)
        quaternion = np.array(frozen("quaternions", self.quaternion, (len(time), len(names), 4), where))
        quaternion[~np.isfinite(quaternion).all(axis=2)] = np.nan
        largest = np.abs(quaternion).max(axis=2, initial=0.0)
        if (largest == 0.0).any():
            frame, sensor = np.argwhere(largest == 0.0)[0]
            raise InvalidInput(
                f"{where}: the quaternion of {names[sensor]!r} is zero at {time[frame]:g} s, which is not an "
                "orientation; write NaN where there is none"
            )
        quaternion /= largest[:, :, None]  # first, as squares of large numbers overflow, and those of small ones vanish
        quaternion /= np.linalg.norm(quaternion, axis=2)[:, :, None]
        quaternion.setflags(write=False)
        for key, value in (("time", time), ("names", names), ("quaternion", quaternion)):
            object.__setattr__(self, key, value)

    @classmethod
    def from_rotations(cls, time: ArrayLike, names: Iterable[str], R: ArrayLike) -> Orientations:
        """Of rotation matrices R_WS (frames, sensors, 3, 3); NaN where there is no measurement."""
        times, listed = np.asarray(time, dtype=float), check_names("sensor", names, "orientations")
        matrices = frozen("rotations", R, (times.size, len(listed), 3, 3), "orientations")
        off = np.abs(matrices @ np.swapaxes(matrices, -1, -2) - np.eye(3)).max(axis=(-1, -2), initial=0.0)
        with np.errstate(invalid="ignore"):
            wrong = (off > _ORTHONORMAL) | (np.linalg.det(matrices) < 0.0)
        if wrong.any():
            frame, sensor = np.argwhere(wrong)[0]
            raise InvalidInput(f"the matrix of {listed[sensor]!r} in frame {frame} is not a rotation")
        return cls(times, listed, to_quaternion(matrices))

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        share = f", {100.0 * self.missing.mean():.2g} % missing" if self.missing.any() else ""
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        return f"Orientations({len(self.names)} sensors, {len(self)} frames, {span}{share})"

    @property
    def _where(self) -> str:
        return self.source or "these orientations"

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(frames, sensors) where a sensor measured nothing."""
        return np.asarray(np.isnan(self.quaternion[:, :, 0]))

    @property
    def rotation(self) -> FloatArray:
        """(frames, sensors, 3, 3) R_WS."""
        return from_quaternion(self.quaternion)

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("sensor", name, self.names, self._where)
        return self.names.index(name)

    def sensor(self, name: str) -> FloatArray:
        """R_WS (frames, 3, 3) of one sensor."""
        return from_quaternion(self.quaternion[:, self._index(name)])

    # --- parts and names --------------------------------------------------------------------------------------------
    def pick(self, names: Iterable[str]) -> Orientations:
        """Some sensors, in the given order."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        return replace(self, names=wanted, quaternion=self.quaternion[:, [self._index(name) for name in wanted]])

    def rename(self, names: Mapping[str, str] | Callable[[str], str]) -> Orientations:
        """Sensors under other names: a mapping from old to new, or a function of the old name."""
        return replace(self, names=mapped_names("sensor", self.names, names, self._where))

    def between(self, start: float | None = None, end: float | None = None) -> Orientations:
        """The frames from start to end [s], both included."""
        rows = window(self.time, start, end, self._where)
        return replace(self, time=self.time[rows], quaternion=self.quaternion[rows])

    def rotated(self, R: ArrayLike) -> Orientations:
        """Orientations in another ground: R_new = R R_WS, R (3, 3).

        OpenSim's `sensor_to_opensim_rotations` are the angles of such an R; see `read_orientations`.
        """
        rotation = np.asarray(R, dtype=float)
        if rotation.shape != (3, 3) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9):
            raise InvalidInput("R is not a rotation; give a (3, 3) matrix with orthonormal rows")
        return replace(self, quaternion=to_quaternion(rotation @ self.rotation))

    # --- gaps and averages ------------------------------------------------------------------------------------------
    def gaps(self) -> tuple[Gap, ...]:
        """Where sensors measured nothing, sensor by sensor."""
        return find_gaps(self.time, self.missing, self.names)

    def mean(self, name: str) -> FloatArray:
        """(3, 3) the rotation nearest to all of a sensor's, in the sum of squared differences of matrices.

        Source: Moakher 2002, SIAM J. Matrix Anal. Appl. 24(1), sect. 3.2: the polar factor of the arithmetic mean.
        """
        seen = self.sensor(name)[~self.missing[:, self._index(name)]]
        if not len(seen):
            raise InvalidInput(f"{self._where}: sensor {name!r} measured nothing; choose another time, or omit it")
        U, _, Vt = np.linalg.svd(seen.mean(axis=0))
        return np.asarray(U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt)

    def to_xarray(self) -> xarray.DataArray:
        """Labeled quaternions (time, sensor, part)."""
        labels = {"time": self.time, "sensor": self.names, "part": ("w", "x", "y", "z")}
        return labeled("orientation", self.quaternion, labels, provenance=self.provenance)
