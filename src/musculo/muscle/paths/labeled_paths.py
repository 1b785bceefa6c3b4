"""Labels of what muscles and paths give: frames or times, statuses with their meanings, units along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput
from musculo.results.labeled_arrays import labeled

if TYPE_CHECKING:
    import xarray


def frame_labels(values: Any, dims: int, time: ArrayLike | None, what: str) -> dict[str, Any]:
    """The label of the frames, if `values` has them beside so many other dimensions."""
    if np.ndim(values) == dims:
        if time is not None:
            raise InvalidInput(f"{what} is of a single pose; it has no frames for time to belong to")
        return {}
    frames = len(values)
    if time is None:
        return {"frame": range(frames)}
    times = np.asarray(time, dtype=float)
    if times.shape != (frames,):
        raise InvalidInput(f"time has shape {times.shape}; {what} has {frames} frames")
    if not (np.isfinite(times).all() and (np.diff(times) > 0.0).all()):
        raise InvalidInput("time must be finite and increase from frame to frame")
    return {"time": times}


def with_meanings(name: str, values: Any, labels: Mapping[str, Any], meanings: Mapping[int, str]) -> xarray.DataArray:
    """Codes with their meanings, as the CF conventions write them."""
    array = labeled(name, values, labels)
    array.attrs["flag_values"] = list(meanings)
    array.attrs["flag_meanings"] = " ".join(meaning.replace(" ", "_") for meaning in meanings.values())
    return array


def units_along(arms: xarray.DataArray, dim: str, name: str, units: list[str]) -> xarray.DataArray:
    """Moment arms with their units along a dimension under that name, and as a whole where all are the same."""
    found = arms.assign_coords({name: (dim, units)})
    if len(set(units)) == 1:
        found.attrs["units"] = units[0]
    else:
        found.attrs["comment"] = f"m of angles, 1 of distances: see {name!r}"
    return found
