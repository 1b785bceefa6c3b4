"""Ground reactions as force plates measure them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.results.frozen import frozen, frozen_time
from musculo.results.table import Table

VERTICAL = 1  # OpenSim's ground has y up
CONTACT = 20.0  # [N] below it a plate is taken as empty


@dataclass(frozen=True, eq=False)
class ForcePlate:
    """One plate: what the ground does to the subject, in ground (y up).

    Args:
        name: for instance "1".
        time: (frames,) [s].
        force: (frames, 3) on the subject [N].
        moment: (frames, 3) about the center of the plate's surface [N m].
        point: (frames, 3) center of pressure on the surface [m]; NaN where the plate is all but empty.
        free_moment: (frames, 3) about the normal through the center of pressure [N m]; NaN where `point` is.
        corners: (4, 3) of the surface [m].
        kind: the type number of the C3D file; 0 for others.
    """

    name: str
    time: FloatArray
    force: FloatArray
    moment: FloatArray
    point: FloatArray
    free_moment: FloatArray
    corners: FloatArray
    kind: int = 0

    def __post_init__(self) -> None:
        where = f"force plate {self.name!r}"
        time = frozen_time(self.time, where)
        object.__setattr__(self, "time", time)
        for key in ("force", "moment", "point", "free_moment"):
            object.__setattr__(self, key, frozen(key, getattr(self, key), (len(time), 3), where))
        object.__setattr__(self, "corners", frozen("corners", self.corners, (4, 3), where))

    @property
    def center(self) -> FloatArray:
        """(3,) middle of the surface [m]."""
        return np.asarray(self.corners.mean(axis=0))

    def rotated(self, R: ArrayLike) -> ForcePlate:
        """The plate in another ground: p_new = R p (3, 3)."""
        turn = np.asarray(R, dtype=float).T
        vectors = ("force", "moment", "point", "free_moment", "corners")
        return replace(self, **{key: getattr(self, key) @ turn for key in vectors})

    def loaded(self, threshold: float = CONTACT) -> NDArray[np.bool_]:
        """(frames,) where the vertical force exceeds the threshold [N]."""
        return np.asarray(np.abs(self.force[:, VERTICAL]) > threshold)


def plates_to_table(plates: Sequence[ForcePlate], threshold: float = CONTACT) -> Table:
    """Forces, centers of pressure and free moments in the layout that OpenSim's external loads use.

    Columns `ground_force_1_vx ..., ground_force_1_px ..., ground_torque_1_x ...` with the plates' names. Where a plate
    carries no more than `threshold`, force and moment are zero and the point is that of the nearest loaded frame, so
    that no value is missing and splines through the points do not swing; a plate that is never loaded keeps its center.
    """
    if not plates:
        raise InvalidInput("there is no force plate to make a table of")
    time = plates[0].time
    names: list[str] = []
    columns: list[FloatArray] = []
    for plate in plates:
        if not np.array_equal(plate.time, time):
            raise InvalidInput(f"force plate {plate.name!r} has other times than {plates[0].name!r}; resample it first")
        on = plate.loaded(threshold) & np.isfinite(plate.point).all(axis=1)
        points = np.broadcast_to(plate.center, (len(time), 3))
        if on.any():
            points = plate.point[_nearest(on)]
        names += [f"ground_force_{plate.name}_v{axis}" for axis in "xyz"]
        names += [f"ground_force_{plate.name}_p{axis}" for axis in "xyz"]
        names += [f"ground_torque_{plate.name}_{axis}" for axis in "xyz"]
        columns += [np.where(on[:, None], plate.force, 0.0), points, np.where(on[:, None], plate.free_moment, 0.0)]
    units = ("N", "N", "N", "m", "m", "m", "N m", "N m", "N m") * len(plates)
    return Table(time, tuple(names), np.hstack(columns), units=units, name="ground_reactions")


def _nearest(on: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each frame the nearest frame that is on."""
    known = np.flatnonzero(on)
    frames = np.arange(len(on))
    right = np.clip(np.searchsorted(known, frames), 0, len(known) - 1)
    left = np.clip(right - 1, 0, None)
    closer = np.abs(known[left] - frames) <= np.abs(known[right] - frames)
    return np.where(closer, known[left], known[right])
