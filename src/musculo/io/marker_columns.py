"""Markers from whichever file holds them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from musculo.errors import InvalidFile
from musculo.io.bids_motion import ENDING, read_bids_motion
from musculo.io.c3d import read_c3d
from musculo.io.file_axes import TAKEN_UP, to_ground
from musculo.io.lengths import METRES, unit_note
from musculo.io.storage import read_storage
from musculo.io.text import PathLike, checked_path, read_bytes
from musculo.io.trc import read_trc
from musculo.results.markers import Markers

_KIND = "a marker file (.trc, .c3d or .sto)"
_OTHER_ENDING = (
    f"give {_KIND}; a table of text becomes a .sto by that name, with the labels time, RASI_x, RASI_y, RASI_z, ... and "
    "positions in meters"
)


def read_markers(path: PathLike, up: str | None = None) -> Markers:
    """Markers of a .trc, .c3d, .sto or BIDS (`_motion.tsv`) file, by its ending.

    A .sto holds vectors (`DataType=Vec3`), or three numbers a marker in columns that end in x, y, z; it is in meters
    unless its header states `Units`.

    Args:
        path: the file.
        up: the laboratory's upward axis, as in `read_c3d`. By default what a .c3d says, and y in other files, as in
            OpenSim.
    """
    where = checked_path(path, _KIND)
    suffix = Path(where).suffix.lower()
    if suffix == ".c3d":
        return read_c3d(path, up).markers
    if suffix == ".trc":
        markers = read_trc(path)
    elif suffix in (".sto", ".mot"):
        markers = _from_table(path, where)
    elif where.endswith(ENDING):
        markers = read_bids_motion(path)
    else:
        if Path(where).is_file():
            read_bytes(path, _KIND)  # says what it is, where that can be told
        raise InvalidFile(f"{where}: {suffix or 'no'} ending; {_OTHER_ENDING}")
    if up is None:
        return markers
    note = f"{up} {TAKEN_UP}; plates that were recorded with it need the same turn"
    return replace(markers.rotated(to_ground(up)), notes=(*markers.notes, note))


def _from_table(path: PathLike, where: str) -> Markers:
    table = read_storage(path)
    stated = {key.lower(): value for key, value in table.header.items()}.get("units", "")
    names = []
    for k in range(0, len(table.names), 3):
        triple = table.names[k : k + 3]
        stems = {name[:-1] for name in triple}
        if len(triple) != 3 or len(stems) != 1 or [name[-1].lower() for name in triple] != ["x", "y", "z"]:
            raise InvalidFile(
                f"{where}: columns {', '.join(triple)} are not a marker; markers are three columns that end in x, y, z"
            )
        stem = stems.pop()
        names.append(stem.rstrip("_./") or stem or f"marker_{k // 3 + 1}")
    if stated and stated.lower() not in METRES:
        raise InvalidFile(f"{where}: Units is {stated!r:.40}; known: {', '.join(METRES)}")
    scale = METRES.get(stated.lower(), 1.0)
    position = np.asarray(table.values).reshape(len(table), len(names), 3) * scale
    rate = (len(table) - 1) / float(table.time[-1] - table.time[0]) if len(table) > 1 else 0.0
    markers = Markers(table.time, tuple(names), position, rate, table.notes, table.provenance, where)
    return replace(markers, notes=(*markers.notes, *unit_note(markers, stated)))
