"""Labeled arrays (xarray) that carry unit and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from musculo.errors import InvalidInput
from musculo.results.provenance import Provenance

if TYPE_CHECKING:
    import xarray

    from musculo.results.table import Table

AXES = ("x", "y", "z")


def labelled(
    name: str, values: Any, labels: Mapping[str, Any], unit: str = "", provenance: Provenance | None = None
) -> xarray.DataArray:
    """An array with named axes, one for each key of `labels`, in order.

    `labelled("moment_arm", r, {"time": t, "muscle": muscles, "coordinate": coordinates}, "m", provenance)`
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


def to_table(array: xarray.DataArray) -> Table:
    """The table of a labeled array: one column for each combination of the labels beside time, joined by `/`.

    Labels of the dimension `axis` are joined by `_`, as OpenSim does (`RASI_x`).
    """
    from musculo.results.table import Table

    if "time" not in array.dims:
        raise InvalidInput(f"the array {array.name!r} has the dimensions {array.dims}; a table needs time")
    others = [dim for dim in array.dims if dim != "time"]
    ordered = array.transpose("time", *others)
    names = [""]
    for dim in others:
        mark = "_" if dim == "axis" else "/"
        names = [f"{a}{mark}{b}" if a else str(b) for a in names for b in np.asarray(ordered[dim].values).tolist()]
    if not others:
        names = [str(array.name or "value")]
    unit = str(array.attrs.get("units", ""))
    units: tuple[str, ...] = (unit,) * len(names) if unit else ()
    if not unit and len(others) == 1 and "unit" in array.coords:
        units = tuple(str(one) for one in array.coords["unit"].values)
    time = np.asarray(array.coords["time"].values, dtype=float)
    return Table(
        time,
        tuple(names),
        np.asarray(ordered.values, dtype=float).reshape(len(time), len(names)),
        degrees=bool(array.attrs.get("degrees", 0)),
        units=units,
        name=str(array.name or ""),
        provenance=Provenance.from_attributes(array.attrs),
    )
