"""Labeled arrays (xarray) that carry unit and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from musculo.errors import InvalidInput
from musculo.results.provenance import Provenance

if TYPE_CHECKING:
    import xarray

AXES = ("x", "y", "z")


def labeled(
    name: str, values: Any, labels: Mapping[str, Any], unit: str = "", provenance: Provenance | None = None
) -> xarray.DataArray:
    """An array with named axes, one for each key of `labels`, in order.

    `labeled("moment_arm", r, {"time": t, "muscle": muscles, "coordinate": coordinates}, "m", provenance)`
    """
    import xarray

    array = np.asarray(values)
    coords = {dim: list(label) if dim != "time" else np.asarray(label, dtype=float) for dim, label in labels.items()}
    if array.shape != tuple(len(label) for label in coords.values()):
        sizes = ", ".join(f"{dim} {len(label)}" for dim, label in coords.items())
        raise InvalidInput(f"{name} has shape {array.shape}; its labels are {sizes}")
    result = xarray.DataArray(array, dims=tuple(coords), coords=coords, name=name)
    if unit:
        result.attrs["units"] = unit
    if provenance is not None:
        result.attrs.update(provenance.attributes())
    if "time" in coords:
        result.coords["time"].attrs["units"] = "s"
    return result
