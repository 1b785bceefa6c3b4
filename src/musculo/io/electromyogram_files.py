"""Electromyograms of C3D files and tables."""

from __future__ import annotations

from pathlib import Path

from musculo.errors import InvalidInput
from musculo.io.c3d import read_c3d
from musculo.io.data_tables import read_table
from musculo.io.text import PathLike, checked_path
from musculo.results.table import Table


def read_electromyograms(path: PathLike) -> Table:
    """All analog channels of a C3D file, or the columns of a .sto, .mot, .csv or .parquet file, in their own units."""
    where = checked_path(path, "electromyograms (.c3d, .sto, .mot, .csv, .parquet)")
    if Path(where).suffix.lower() != ".c3d":
        return read_table(path)
    analog = read_c3d(path).analog
    if analog is None:
        raise InvalidInput(f"{where} has no analog channels")
    return analog
