"""Which columns of a plain table of forces belong to one plate: force, point of application and free moment."""

from __future__ import annotations

import re
from typing import NamedTuple

from musculo.errors import InvalidInput
from musculo.results.table import Table

# `ground_force_vx`, `1_ground_force_v1`, `FP2_vz`: the last letters say what and which axis.
_FORCE = re.compile(r"^(.*_)?v([xyz]|[123])$", re.IGNORECASE)
_MOMENT = re.compile(r"^(.*(?:torque|moment).*?)m?([xyz]|[123])$", re.IGNORECASE)
# What is left of a name without these tells which plate it is.
_WORDS = re.compile(r"ground|force|torque|moment|free|_|m$", re.IGNORECASE)


class ForceColumns(NamedTuple):
    """The columns of one plate, by the beginnings of their names."""

    name: str  # "1" of `1_ground_force_vx`; the place in the file where names tell nothing
    force: str
    point: str
    moment: str  # empty where the table has no free moment of it


def force_columns(table: Table) -> tuple[ForceColumns, ...]:
    """The plates of a table such as OpenSim's external loads use, in the order of their forces.

    A force is three columns that end in vx, vy, vz; its point is those that end in px, py, pz behind the same
    beginning; its free moment is named torque or moment, and otherwise alike (`1_ground_torque_x`).

    Raises:
        InvalidInput: no column is a force, or a force lacks its point.
    """
    forces = dict.fromkeys(m.group(1) or "" for name in table.names if (m := _FORCE.match(name)))
    moments = {_label(m.group(1)): m.group(0)[: -len(m.group(2))] for n in table.names if (m := _MOMENT.match(n))}
    where = table.source or f"table {table.name!r}"
    if not forces:
        shown = ", ".join(table.names[:8]) + (", ..." if len(table.names) > 8 else "")
        raise InvalidInput(
            f"{where} has no forces: no columns end in vx, vy, vz, such as ground_force_1_vx; columns: {shown}"
        )
    found = []
    for k, stem in enumerate(forces, 1):
        if sum(name.startswith(f"{stem}p") for name in table.names) != 3:
            raise InvalidInput(
                f"{where}: the force {stem}v has no point of application; it needs three columns {stem}px, {stem}py, "
                f"{stem}pz"
            )
        label = _label(stem)
        found.append(ForceColumns(label or str(k), f"{stem}v", f"{stem}p", moments.get(label, "")))
    names = [one.name for one in found]
    return tuple(one if names.count(one.name) == 1 else one._replace(name=str(k)) for k, one in enumerate(found, 1))


def _label(stem: str) -> str:
    return _WORDS.sub("", stem)
