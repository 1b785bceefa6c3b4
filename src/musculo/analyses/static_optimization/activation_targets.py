"""Activations that an optimum should stay near, such as measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.results.table import Table

# Measured activations may be a little above 1 or below 0; beyond this they are of another unit.
_ROOM = 0.5


def near_targets(
    targets: Mapping[str, ArrayLike] | Table | None, names: Sequence[str], time: FloatArray | None, frames: int
) -> FloatArray | None:
    """(frames, names) what each should stay near; zero where nothing is stated. None where nothing is stated at all."""
    if targets is None:
        return None
    near = np.zeros((frames, len(names)))
    columns = _columns(targets, time)
    for name, values in columns.items():
        if name not in names:
            raise UnknownName("muscle or actuator", name, names, "targets")
        given = np.asarray(values, dtype=float)
        if given.ndim and given.shape != (frames,):
            raise InvalidInput(f"targets of {name!r} have shape {given.shape}; give a number or ({frames},)")
        known = np.isfinite(given)
        if not np.all((given[known] >= -_ROOM) & (given[known] <= 1.0 + _ROOM)):
            raise InvalidInput(
                f"targets of {name!r} reach from {given[known].min():g} to {given[known].max():g}; activations are 0 "
                "to 1: normalize them first (emg_envelope(..., largest=))"
            )
        near[:, names.index(name)] = np.where(known, given, 0.0)
    return near


def _columns(targets: Mapping[str, ArrayLike] | Table, time: FloatArray | None) -> Mapping[str, ArrayLike]:
    if not isinstance(targets, Table):
        return targets
    if time is None:
        raise InvalidInput("targets are a table over time; give time=, or coordinates as a table or an xarray")
    beyond = (time < targets.time[0]) | (time > targets.time[-1])
    found: dict[str, ArrayLike] = {}
    for k, name in enumerate(targets.names):
        known = np.isfinite(targets.values[:, k])
        if not known.any():
            continue
        values = np.interp(time, targets.time[known], targets.values[known, k])
        found[name] = np.where(beyond, np.nan, values)
    return found
