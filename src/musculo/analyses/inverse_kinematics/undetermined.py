"""Which coordinates a recording leaves open: those that move nothing that was followed and that no task holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.model.model import Model

_STEP = 1e-5  # [rad, m]
_NOTHING = 1e-7  # of the largest singular value: central differences are good to about 1e-9
_PART = 0.1  # of a direction, before a coordinate counts as part of it


def undetermined_coordinates(
    model: Model, q: ArrayLike, markers: Sequence[str], held: Collection[str] = ()
) -> tuple[str, ...]:
    """Independent coordinates along which the pose may move while no marker does, to first order.

        J v = 0,   J = [dp/dz of the markers; rows of the identity for the coordinates held]

    Args:
        model: the model.
        q: (n,) the pose [rad, m].
        markers: names of those that were followed and visible.
        held: coordinates that tasks keep near a value.
    """
    e = embedding_of(model)
    Q = np.asarray(q, dtype=float)
    z = e.independent(Q)
    step = _STEP * np.eye(len(z))
    poses = e.coordinates(np.concatenate([z + step, z - step]), guess=Q)
    p = kinematics(model, poses).markers(list(markers)).reshape(len(poses), -1)
    rows = [(p[: len(z)] - p[len(z) :]).T / (2.0 * _STEP)]
    rows.append(np.eye(len(z))[[name in held for name in e.coordinate_names]])
    _, sizes, directions = np.linalg.svd(np.concatenate(rows))
    rank = int((sizes > _NOTHING * sizes.max(initial=0.0)).sum())
    part = np.linalg.norm(directions[rank:], axis=0)
    return tuple(name for name, size in zip(e.coordinate_names, part, strict=True) if size > _PART)


class Sought(NamedTuple):
    """What a search for poses followed, and in which frames it was there."""

    markers: tuple[str, ...]
    marker_seen: NDArray[np.bool_]  # (frames, markers) with a weight
    sensor_frames: tuple[str, ...]
    sensor_seen: NDArray[np.bool_]  # (frames, sensors)
    tasks: tuple[str, ...]
    task_given: NDArray[np.bool_]  # (frames, tasks)

    @property
    def anything(self) -> NDArray[np.bool_]:
        """(frames,) whether there was anything to follow."""
        return np.asarray(self.there.any(axis=1))

    @property
    def there(self) -> NDArray[np.bool_]:
        """(frames, markers + sensors + tasks)."""
        return np.concatenate([self.marker_seen, self.sensor_seen, self.task_given], axis=1)


def blind_speeds(model: Model, q: FloatArray, sought: Sought) -> dict[str, NDArray[np.bool_]]:
    """Independent speeds that move nothing that was followed, with the frames (frames,) in which that is so.

        max |dp/du| < 1e-7 of the largest of all speeds, p a marker, the angles of a sensor, or a coordinate with a task

    which is where `musculo.kernels.fit.bounded_step` takes an unknown for blind and leaves it where it is. Slopes are
    the largest at the poses q (poses, n); frames in which nothing was followed do not count.
    """
    e = embedding_of(model)
    motion, E = kinematics(model, q), e.jacobian(q)
    places = {marker.name: (marker.frame, marker.location) for marker in model.markers}
    rows = [motion.point_jacobian(*places[name]) @ E for name in sought.markers]
    rows += [motion.frame_jacobian(frame)[:, :3] @ E for frame in sought.sensor_frames]
    rows += [E[:, [model.speed_index(name)]] for name in sought.tasks]
    if not rows or not len(q):
        return {}
    size = np.stack([np.abs(row).max(axis=(0, 1)) for row in rows])
    moves = size > _NOTHING * size.max(initial=0.0)
    blind = (sought.there.astype(float) @ moves == 0.0) & sought.anything[:, None]
    return {name: blind[:, k] for k, name in enumerate(e.speed_names) if blind[:, k].any()}
