"""Forces of plates from whichever file holds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from musculo.errors import InvalidFile
from musculo.io.c3d import read_c3d
from musculo.io.storage import read_storage
from musculo.io.text import PathLike, checked_path
from musculo.results.force_plates import plates_to_table
from musculo.results.plate_columns import force_columns
from musculo.results.table import Table

_KIND = "a recording of force plates (.c3d, .mot or .sto)"


def read_plate_forces(path: PathLike, up: str | None = None) -> Table:
    """Forces, centers of pressure and free moments of plates, in the columns that OpenSim's external loads use.

    Args:
        path: a .c3d with plates, or a table of forces.
        up: the laboratory's upward axis of a .c3d, as in `read_c3d`; tables have y up, as in OpenSim.
    """
    where = checked_path(path, _KIND)
    if Path(where).suffix.lower() != ".c3d":
        table = read_storage(path)
        force_columns(table)  # refuses what has no forces
        return table
    recording = read_c3d(path, up)
    if not recording.plates:
        raise InvalidFile(f"{where} holds no force plates; give a file of forces, or leave the loads out")
    return replace(plates_to_table(recording.plates), source=where, name=Path(where).stem)


def has_plates(path: PathLike, up: str | None = None) -> bool:
    """Whether a .c3d holds plates that `read_plate_forces` reads."""
    return bool(read_c3d(path, up).plates)
