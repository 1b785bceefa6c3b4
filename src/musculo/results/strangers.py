"""Columns of a motion that look like coordinates of another model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from musculo.results.table import Table

if TYPE_CHECKING:
    from musculo.model.model import Model

# Ends of columns of states that are no values of coordinates.
NO_COORDINATES = ("/speed", "activation", "fiber_length", "normalized_tendon_force")
# What else OpenSim and laboratories write beside coordinates: speeds, states, plates, errors, signals of muscles.
_BESIDE = re.compile(
    r"_u$|^[fm][xyz]$|^/.*(?<!/value)$|/speed$|/control$|\.|_[vpm][xyz]$|force|torque|moment|error|activation|excitation|fiber|length|"
    r"emg|grf|cop|marker|power|accel|velocity|event|frame|time",
    re.IGNORECASE,
)
IGNORED = "these columns are ignored; is it the motion of another model?"
_AXES = ("_tx", "_ty", "_tz")


def strange_coordinates(table: Table, model: Model) -> list[str]:
    """Columns that no coordinate of the model takes, and that are nothing else that stands beside coordinates.

    Positions of markers come as three: `Sternum_tx`, `Sternum_ty` and `Sternum_tz`, none of them a coordinate.
    """
    used = {table.find(name) for name in model.coordinate_names}
    left = {name for k, name in enumerate(table.names) if k not in used}
    points = {name for name in left for axis in _AXES if name.endswith(axis) and _is_point(name[:-3], left)}
    known = {*model.muscle_names, *model.marker_names, *model.body_names, *(force.name for force in model.forces)}
    return [n for n in table.names if n in left - points - known and not _BESIDE.search(n)]


def _is_point(stem: str, names: set[str]) -> bool:
    return all(f"{stem}{axis}" in names for axis in _AXES)
