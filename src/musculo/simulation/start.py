"""The state that a simulation starts from."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.model.model import Model


def start_of(model: Model, q0: ArrayLike | None, u0: ArrayLike | None, time: float) -> tuple[FloatArray, FloatArray]:
    """q (n,) and u (n_u,) of the first state."""
    e = embedding_of(model)
    q = e.default_pose(time) if q0 is None else _one("q0", coordinates_of(model, q0, "q0"))
    compiled(model).check_coordinates(q[None])
    if u0 is not None:
        return q, _one("u0", speeds_of(model, u0, "u0"))
    return q, e.motion(e.independent(q), np.zeros(len(e.speed_names)), time=time, guess=q).u


def _one(name: str, given: tuple[FloatArray, bool]) -> FloatArray:
    array, single = given
    if not single:
        raise InvalidInput(f"{name} has shape {array.shape}; a simulation starts from one state, ({array.shape[1]},)")
    return array[0].copy()
