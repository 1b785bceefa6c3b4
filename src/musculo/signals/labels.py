"""Signals with labels (pandas, xarray) keep their kind, names and units: results that lost them would be misread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput

DEGREES = ("deg", "degree", "degrees", "°")
# What is not a unit of the SI, so that numbers without it would be wrong where a model takes them.
_NOT_SI = (*DEGREES, "mm", "cm")


def time_first(values: Any) -> Any:
    """A signal with its frames along the first axis, where it names its axes (xarray); any other as it is."""
    dims: Any = getattr(values, "dims", ())
    return values.transpose("time", ...) if "time" in dims and dims[0] != "time" else values


def labeled_like(given: Any, values: FloatArray, time: FloatArray | None = None, order: int = 0) -> Any:
    """Values (frames, ...) as the same kind with the same names and attributes as `given`, units per second^order.

    Args:
        given: a data frame, a series or an xarray with frames first; of anything else the values come back.
        values: what was made of it.
        time: (frames,) [s] of the values, where these are not the frames of `given`.
        order: of the time derivative that they are.
    """
    if not isinstance(getattr(given, "attrs", None), Mapping):
        return values
    kind: Any = type(given)
    if hasattr(given, "dims"):  # xarray
        frames, coords = given.dims[0], dict(given.coords)
        if time is not None:
            coords = {name: coord for name, coord in coords.items() if frames not in coord.dims}
            if frames in given.coords:
                coords[frames] = (frames, time, given.coords[frames].attrs)
        if "unit" in coords:
            units = [derived_unit(str(unit), order) for unit in np.atleast_1d(coords["unit"]).tolist()]
            coords["unit"] = (coords["unit"].dims, np.reshape(units, coords["unit"].shape))
        result = kind(values, dims=given.dims, coords=coords, name=given.name)
    else:  # pandas
        names = {"columns": given.columns} if hasattr(given, "columns") else {"name": given.name}
        result = kind(values, index=given.index if time is None else time, **names)
        result.index.name = given.index.name
    result.attrs.update(given.attrs)
    units = given.attrs.get("units", "")
    if isinstance(units, Mapping):
        result.attrs["units"] = {name: derived_unit(str(unit), order) for name, unit in units.items()}
    elif units:
        result.attrs["units"] = derived_unit(str(units), order)
    return result


def derived_unit(unit: str, order: int) -> str:
    """The unit of a time derivative: "deg" is "deg/s", and that "deg/s^2"; one that is not stated stays so."""
    base, power = time_power(unit)
    power += order
    return unit if not unit or not order else f"{base}/s" if power == 1 else f"{base}/s^{power}"


def time_power(unit: str) -> tuple[str, int]:
    """A unit without what it is per second, and by which power: ("deg", 2) of "deg/s^2"; 0 where it is not."""
    base, *below = (part.strip() for part in unit.split("/"))
    if not below:
        return base, 0
    ends = {"s": 1, "sec": 1, "s^2": 2, "s2": 2, "s**2": 2, "s²": 2}
    if any(part.lower() not in ends for part in below):
        return unit, 0
    return base, sum(ends[part.lower()] for part in below)


def refuse_other_units(values: Any) -> None:
    """Refuse a signal that states degrees, or millimeters, where what is made of it cannot state anything."""
    attributes = getattr(values, "attrs", None)
    if not isinstance(attributes, Mapping):
        return
    units = attributes.get("units", "")
    stated = list(units.values()) if isinstance(units, Mapping) else [units]
    if "unit" in getattr(values, "coords", ()):
        stated += np.atleast_1d(values.coords["unit"]).tolist()
    found = [str(unit) for unit in stated if time_power(str(unit))[0].lower() in _NOT_SI]
    if attributes.get("degrees", 0) or found:
        raise InvalidInput(
            f"the values are in {found[0] if found else 'degrees'}, as their attrs say, which a spline cannot state; "
            "convert first (table.in_radians(model) knows which columns are angles), or use time_derivative, resample "
            "or lowpass, which keep names and units"
        )
