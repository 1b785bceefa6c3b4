"""Which coordinates a pose leaves open: those that move no marker and that no task holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike

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
        markers: names of those that were followed and seen.
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
