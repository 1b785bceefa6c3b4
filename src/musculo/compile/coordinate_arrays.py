"""Coordinates and speeds in: by position or by name, in the units that they state, out in radians and meters."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import check_model
from musculo.compile.frame_arrays import frames_of, labels_of, same_frames
from musculo.errors import InvalidInput, UnknownName, warn
from musculo.model.coordinate import coordinate_path
from musculo.results.angle_columns import (
    coordinate_units,
    far_beyond_ranges,
    faster_than_joints,
    rates_in_degrees,
    rotational_coordinates,
    small_for_degrees,
)
from musculo.results.strangers import IGNORED, strange_coordinates
from musculo.results.table import RADIANS, Table
from musculo.signals.labels import DEGREES, time_power

if TYPE_CHECKING:
    from musculo.model.model import Model

# What is left of a unit without "/s": the unit it means, and how much of it is one of these.
_UNITS = {
    **dict.fromkeys(DEGREES, ("rad", RADIANS)),
    **dict.fromkeys(("rad", "radian", "radians"), ("rad", 1.0)),
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), ("m", 1.0)),
    "cm": ("m", 1e-2),
    "mm": ("m", 1e-3),
    **dict.fromkeys(("", "1", "-"), ("", 1.0)),
}
# What numbers far beyond the ranges of coordinates in these units look like.
_QUESTIONS = {
    "rad": "are these degrees? Arrays are in radians and meters; give the table itself, which knows its unit, or "
    "table.coordinates(model)",
    "m": "are these millimeters? They are read as meters; convert them, or state the `units` of a table's columns",
}


def coordinates_of(
    model: Model, q: ArrayLike | Table, name: str = "q", columns: Sequence[str] | None = None
) -> tuple[FloatArray, bool]:
    """Coordinates as (frames, columns) [rad, m], and whether they were a single frame; all of the model by default.

    Arrays go by position; tables, data frames, series and labeled arrays by the names of their columns. What says that
    it is in degrees (`degrees` or `units` of a table, attributes of these names of a data frame or an xarray) is
    converted: one word for all columns is that of the rotational coordinates. Numbers far beyond what joints can do,
    as degrees in a plain array are, or millimeters, give a `MusculoWarning`.

    Raises:
        UnknownName: a column has a name that is none of these, or a table lacks one.
        InvalidInput: shapes, numbers or units that do not fit.
    """
    check_model(model)
    names = model.coordinate_names if columns is None else columns
    value, factor = _measured(name, q, names, model, 0)
    Q, single = frames_of(name, value, names)
    if factor is not None:
        _warn_of_small_angles(name, Q[:, (factor != 1.0) & np.isin(names, list(rotational_coordinates(model)))])
        Q = Q * factor
    warn_of_odd_units(name, Q, model, columns)
    if columns is None and isinstance(q, Table):
        _warn_of_strangers(name, q, model)
    return Q, single


def speeds_of(
    model: Model, u: ArrayLike | Table, name: str = "u", columns: Sequence[str] | None = None
) -> tuple[FloatArray, bool]:
    """Speeds as (frames, columns) [rad/s, m/s], likewise.

    In a table of states a speed goes by `/jointset/<joint>/<coordinate>/speed` or `<coordinate>_u`.
    """
    names = model.speed_names if columns is None else columns
    U, single = _rates_of(model, u, name, names, 1)
    found = faster_than_joints(model, U, names)
    if found:
        odd = _listed([f"{one} reaches {value:.4g} rad/s" for one, value in found])
        _warn_once("u", U, f"{name}: {odd}, which no joint does: are these degrees? {_RATES}")
    return U, single


def accelerations_of(
    model: Model, udot: ArrayLike | Table, name: str = "udot", columns: Sequence[str] | None = None
) -> tuple[FloatArray, bool]:
    """Derivatives of speeds as (frames, columns) [rad/s^2, m/s^2], likewise.

    Large ones are not warned of: noise that is differentiated twice is as large as degrees are.
    """
    return _rates_of(model, udot, name, model.speed_names if columns is None else columns, 2)


def motion_in(
    model: Model, q: ArrayLike | Table, u: ArrayLike | Table, udot: ArrayLike | Table
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """Coordinates, speeds and accelerations of the same frames, and whether these are a single one.

    Frames that follow one another tell whether u or udot are in degrees though q is not: a `MusculoWarning`.
    """
    Q, single = coordinates_of(model, q)
    U, A = speeds_of(model, u)[0], accelerations_of(model, udot)[0]
    same_frames(q=Q, u=U, udot=A)
    found = rates_in_degrees(model, Q, U, A)
    # Where q is odd itself, which is warned of, steps beside it tell nothing.
    if found and not far_beyond_ranges(model, Q):
        which = " and ".join(found)
        _warn_once(
            "u", U, f"{which}: 57 times as large as frames that follow one another say: degrees, not radians? {_RATES}"
        )
    return Q, U, A, single


def _rates_of(
    model: Model, value: ArrayLike | Table, name: str, names: Sequence[str], power: int
) -> tuple[FloatArray, bool]:
    numbers, factor = _measured(name, value, names, model, power)
    U, single = frames_of(name, numbers, names)
    return (U if factor is None else U * factor), single


def times_in(value: object) -> FloatArray | None:
    """The times of the frames of an argument (frames,) [s], where a table, a data frame or an xarray states them.

    The index of a data frame counts if it is called time, as `to_pandas` leaves it.
    """
    if isinstance(value, Table):
        return value.time
    index = getattr(value, "index", None) if hasattr(value, "columns") else None
    if getattr(index, "name", None) == "time":
        found = np.asarray(index)
        return found.astype(float) if found.ndim == 1 and found.dtype.kind in "fiu" else None
    coords = getattr(value, "coords", None)
    if getattr(value, "dims", None) is not None and coords is not None and "time" in coords:
        found = np.asarray(coords["time"])
        return found.astype(float) if found.ndim == 1 and found.dtype.kind in "fiu" else None
    return None


def _measured(name: str, value: Any, columns: Sequence[str], model: Model, power: int) -> tuple[Any, FloatArray | None]:
    """The numbers of an argument, as `frames_of` takes them, and what makes each of its columns rad and m, or None.

    `power` is that of the seconds below their unit: 0 for coordinates, 1 for speeds, 2 for accelerations.
    """
    if isinstance(value, np.ndarray | list | tuple | int | float):
        return value, None
    if isinstance(value, Table):
        picks = [_column(value, column, model, power) for column in columns]
        stated = [value.units[k] for k in picks] if value.units else [""] * len(picks)
        return value.values[:, picks], _factors(name, columns, model, value.degrees, "", stated, power)
    attributes = getattr(value, "attrs", None)
    if not isinstance(attributes, Mapping):
        return value, None
    labels, _ = labels_of(value)
    names = [str(label) for label in labels] if any(isinstance(label, str) for label in labels) else list(columns)
    units, each = attributes.get("units", ""), dict.fromkeys(names, "")
    if isinstance(units, Mapping):
        each = {str(label): str(unit) for label, unit in units.items()}
        units = ""
    elif "unit" in getattr(value, "coords", ()) and np.shape(value.coords["unit"]) == (len(names),):
        each = dict(zip(names, map(str, np.asarray(value.coords["unit"]).tolist()), strict=True))
    degrees = bool(attributes.get("degrees", 0))
    stated = [each.get(column, "") for column in columns]
    return value, _factors(name, columns, model, degrees, str(units), stated, power)


def _column(table: Table, name: str, model: Model, power: int) -> int:
    """Where a table has a coordinate, or a speed, which a table of states has under other names, or its derivative.

    Columns of speeds may hold accelerations: those of a table that was differentiated.
    """
    speeds = power > 0
    found = table.find(name) if not speeds else None
    if speeds:
        joint = next((j.name for j in model.joints if name in j.speed_names), "")
        for ending in ("acceleration", "speed")[2 - power :]:
            found = table.find(f"{coordinate_path(joint, name)}/{ending}") if found is None else found
        if found is None and name in table.names:
            found = table.names.index(name)
    if found is None:
        raise UnknownName(
            f"column for {'speed' if speeds else 'coordinate'}", name, table.names, table.source or "the table"
        )
    return found


def _factors(
    name: str, columns: Sequence[str], model: Model, degrees: bool, whole: str, each: Sequence[str], power: int
) -> FloatArray | None:
    """What these columns are multiplied with to be in rad and m; None where nothing says that they are not.

    Args:
        name: of the argument.
        columns: coordinates or speeds.
        model: the model.
        degrees: whether angles are in degrees.
        whole: the unit of all columns, which is that of the angles.
        each: the unit of each column, or nothing.
        power: of the seconds below the unit.

    Raises:
        InvalidInput: a unit that is not known, or that such a coordinate cannot have.
    """
    if not (degrees or whole or any(each)):
        return None
    turning, kinds = rotational_coordinates(model), coordinate_units(model)
    degrees = degrees or _of(name, whole, "its columns", power)[1] == RADIANS
    found = np.ones(len(columns))
    for k, (column, unit) in enumerate(zip(columns, each, strict=True)):
        if unit:
            kind, found[k] = _of(name, unit, f"column {column!r}", power)
            if kind and kinds.get(column, kind) != kind:
                raise InvalidInput(
                    f"{name}: column {column!r} is in {unit!r}, but the coordinate is in {kinds[column]}; state its "
                    "unit anew, or none"
                )
        elif degrees and column in turning:
            found[k] = RADIANS
    return None if (found == 1.0).all() else found


def _of(name: str, unit: str, where: str, power: int) -> tuple[str, float]:
    base, stated = time_power(unit)
    base = base.lower()
    # Speeds may state the unit of their coordinates alone: "deg" of a file is that of all its columns.
    if stated and stated != power:
        kind = ("coordinates [rad, m]", "speeds [rad/s, m/s]", "accelerations [rad/s^2, m/s^2]")[power]
        raise InvalidInput(
            f"{name}: {where} {'are' if where.endswith('columns') else 'is'} in {unit!r}, but these are {kind}; are "
            "the arguments in their order, or is the unit that of another table?"
        )
    if base not in _UNITS:
        raise InvalidInput(
            f"{name}: the unit {unit!r} of {where} is not known; convert to radians and meters, or state one of "
            f"{', '.join(one for one in _UNITS if one)}"
        )
    return _UNITS[base]


# The arrays that were last warned of: what one analysis hands on to the next is warned of once.
_told: dict[str, weakref.ref[FloatArray]] = {}
_RATES = (
    "Arrays are in radians and meters, per second; differentiate table.coordinates(model), or use motion_of(model, "
    "table), or give table.derivative(), which knows its unit"
)


def _warn_once(kind: str, array: FloatArray, text: str) -> None:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if kind not in _told or _told[kind]() is not owner:
        _told[kind] = weakref.ref(owner)
        warn(text)


def warn_of_odd_units(name: str, Q: FloatArray, model: Model, columns: Sequence[str] | None = None) -> None:
    """Say once that coordinates (frames, n) [rad, m] are far beyond what their joints can do: degrees, millimeters."""
    found = far_beyond_ranges(model, Q, columns)
    if found:
        _warn_once("q", Q, f"{name}: {'. '.join(_asked(model, found))}")


def _asked(model: Model, found: list[tuple[str, float, float, float]]) -> list[str]:
    """What is odd of angles, and of distances, and what it looks like."""
    units, asked = coordinate_units(model), []
    for unit, question in _QUESTIONS.items():
        odd = [
            f"{one} reaches {value:.4g} {unit}, with a range of {low:.3g} to {high:.3g}"
            for one, value, low, high in found
            if units[one] == unit
        ]
        if odd:
            asked.append(f"{_listed(odd)}: {question}")
    return asked


def _listed(odd: Sequence[str]) -> str:
    return f"{', '.join(odd[:2])}{f' and {len(odd) - 2} others likewise' if len(odd) > 2 else ''}"


def _warn_of_strangers(name: str, table: Table, model: Model) -> None:
    """Say which columns of a table look like coordinates that the model does not have."""
    strange = strange_coordinates(table, model)
    if strange:
        warn(f"{name}: the model has no coordinate for {', '.join(strange)}: {IGNORED}")


def _warn_of_small_angles(name: str, angles: FloatArray) -> None:
    """Say that angles (frames, angles) that are stated to be degrees look like radians."""
    most = small_for_degrees(angles)
    if most is not None:
        warn(
            f"{name}: its angles are read as degrees, as it states, but the largest of all is {most:.3g}: are they "
            "radians? Then remove the unit (`degrees` of a table, `attrs` of an xarray or data frame)"
        )
