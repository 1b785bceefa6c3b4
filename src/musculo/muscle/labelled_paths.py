"""Paths, tensions and muscle states as labeled datasets (xarray), with units and what made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput
from musculo.results.angle_columns import sliding_coordinates
from musculo.results.labelled_arrays import labelled
from musculo.results.notebook_figures import series_html
from musculo.results.provenance import Provenance

if TYPE_CHECKING:
    import xarray

    from musculo.model.model import Model
    from musculo.muscle.equilibrium import MuscleForces
    from musculo.muscle.geometry import PathGeometry
    from musculo.muscle.path_forces import PathTensions

_FORCE_UNITS = {
    "fiber_length": "m",
    "fiber_velocity": "m/s",
    "pennation": "rad",
    "tendon_length": "m",
    "tendon_force": "N",
    "active_fiber_force": "N",
    "passive_fiber_force": "N",
    "fiber_force_along_tendon": "N",
    "stiffness": "N/m",
}


def _frames(values: Any, dims: int, time: ArrayLike | None, what: str) -> dict[str, Any]:
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


def _dataset(parts: Mapping[str, xarray.DataArray], provenance: Provenance) -> xarray.Dataset:
    import xarray

    return xarray.Dataset(dict(parts), attrs=provenance.attributes())


def _status(name: str, values: Any, labels: Mapping[str, Any], meanings: Mapping[int, str]) -> xarray.DataArray:
    """Codes with their meanings, as the CF conventions write them."""
    array = labelled(name, values, labels)
    array.attrs["flag_values"] = list(meanings)
    array.attrs["flag_meanings"] = " ".join(meaning.replace(" ", "_") for meaning in meanings.values())
    return array


def _with_units(arms: xarray.DataArray, dim: str, name: str, units: list[str]) -> xarray.DataArray:
    """Moment arms with their units along a dimension under that name, and as a whole where all are the same."""
    found = arms.assign_coords({name: (dim, units)})
    if len(set(units)) == 1:
        found.attrs["units"] = units[0]
    else:
        found.attrs["comment"] = f"m of angles, 1 of distances: see {name!r}"
    return found


def geometry_dataset(geometry: PathGeometry, time: ArrayLike | None = None) -> xarray.Dataset:
    """Lengths, penalties, speeds (if computed) and moment arms by `time` (or `frame`), `muscle` and `coordinate`.

    The second dimension is `path` where some paths are no muscles. Moment arms are per speed of the tree; those of
    angles are in m, those of distances have no unit (`unit` along `coordinate` says which). Those per independent
    speed, couplings included, as OpenSim prints them, are `moment_arm_independent`; where loops have to be closed for
    them, only if they were asked for before (`geometry.moment_arm_independent`).

    Args:
        time: (frames,) [s]; without it frames are counted.
    """
    from musculo.muscle.geometry import STATUSES

    model = geometry.model
    frames = _frames(geometry.length, 1, time, "the geometry")
    dim = "muscle" if set(geometry.names) <= set(model.muscle_names) else "path"
    labels = {**frames, dim: geometry.names}
    parts = {"length": labelled("length", geometry.length, labels, "m")}
    if geometry.speed is not None:
        parts["speed"] = labelled("speed", geometry.speed, labels, "m/s")
    if geometry.has_price:
        parts["price"] = labelled("price", geometry.price, labels, "m")
    sliding = frozenset().union(*(sliding_coordinates(joint) for joint in model.joints))
    units = ["1" if name in sliding else "m" for name in geometry.speed_names]
    arms = labelled("moment_arm", geometry.moment_arm, {**labels, "coordinate": geometry.speed_names})
    parts["moment_arm"] = _with_units(arms, "coordinate", "unit", units)
    if geometry.has_independent_arms:
        own = geometry.independent_names
        arms = labelled("moment_arm_independent", geometry.moment_arm_independent, {**labels, "independent": own})
        units = ["1" if name in sliding else "m" for name in own]
        parts["moment_arm_independent"] = _with_units(arms, "independent", "independent_unit", units)
    parts["status"] = _status("status", geometry.status, labels, dict(enumerate(STATUSES)))
    made_by = "muscle_geometry" if dim == "muscle" else "path_geometry"
    return _dataset(parts, Provenance.of(made_by, model, wrapping=geometry.wrapping))


def forces_dataset(
    forces: MuscleForces, time: ArrayLike | None = None, model: Model | None = None, **options: Any
) -> xarray.Dataset:
    """Fibers and tendons by `time` (or `frame`) and `muscle`; `status` carries its meanings.

    Args:
        time: (frames,) [s]; without it frames are counted.
        model: whose muscles they are, for the attributes. options: what they were computed with, likewise.
    """
    from musculo.muscle.equilibrium import Status

    labels = {**_frames(forces.fiber_length, 1, time, "the result"), "muscle": forces.muscle_names}
    parts = {name: labelled(name, getattr(forces, name), labels, unit) for name, unit in _FORCE_UNITS.items()}
    parts["status"] = _status("status", forces.status, labels, {int(s): s.name.lower() for s in Status})
    return _dataset(parts, Provenance.of("muscle_equilibrium", model, **options))


def tensions_dataset(
    tensions: PathTensions, time: ArrayLike | None = None, model: Model | None = None
) -> xarray.Dataset:
    """Tensions by `time` (or `frame`) and `path`."""
    labels = {**_frames(tensions.tension, 1, time, "the result"), "path": tensions.names}
    part = labelled("tension", tensions.tension, labels, "N")
    return _dataset({"tension": part}, Provenance.of("path_tensions", model))


class LabelledGeometry:
    """For `PathGeometry`: `to_xarray`, and how it shows itself in a notebook."""

    def _repr_html_(self) -> str:
        lengths, names = np.atleast_2d(self.length), self.names  # type: ignore[attr-defined]
        return series_html("Lengths of paths by frame", None, names, lengths, ("m",) * len(names))

    def to_xarray(self, time: ArrayLike | None = None) -> xarray.Dataset:
        """A labeled dataset with units and provenance; see `musculo.muscle.labelled_paths.geometry_dataset`."""
        return geometry_dataset(self, time)  # type: ignore[arg-type]


class LabelledForces:
    """For `MuscleForces`: `to_xarray`, and how it shows itself in a notebook."""

    def _repr_html_(self) -> str:
        pull, names = np.atleast_2d(self.tendon_force), self.muscle_names  # type: ignore[attr-defined]
        solved = "every muscle and frame" if self.converged else "NOT all"  # type: ignore[attr-defined]
        return series_html(
            "Pull of muscles by frame", None, names, pull, ("N",) * len(names), [("equilibrium found", solved)]
        )

    def to_xarray(self, time: ArrayLike | None = None, model: Model | None = None, **options: Any) -> xarray.Dataset:
        """A labeled dataset with units and provenance; see `musculo.muscle.labelled_paths.forces_dataset`."""
        return forces_dataset(self, time, model, **options)  # type: ignore[arg-type]
