"""OpenSim's .mot and .sto tables, as far as the demo needs them: a header, `endheader`, columns between tabs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.errors import InvalidFile

FloatArray = NDArray[np.float64]


class Table(NamedTuple):
    """Columns over time; angles in radians."""

    time: FloatArray  # (frames,) [s]
    names: tuple[str, ...]
    values: FloatArray  # (frames, columns)


def read_table(path: Path) -> Table:
    """Read a table; where it says `inDegrees=yes`, all its columns are taken as angles and become radians."""
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        start = [line.strip() for line in lines].index("endheader")
        labels = lines[start + 1].split()
        rows = np.array([[float(word) for word in line.split()] for line in lines[start + 2 :] if line.strip()])
    except (ValueError, IndexError) as error:
        raise InvalidFile(f"{path}: not a .mot or .sto table ({error})") from None
    if rows.ndim != 2 or rows.shape[1] != len(labels) or labels[0] != "time":
        raise InvalidFile(f"{path}: the rows do not fit the columns {', '.join(labels)}; the first must be time")
    header = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines[:start])}
    values = np.radians(rows[:, 1:]) if header.get("inDegrees") == "yes" else rows[:, 1:]
    return Table(rows[:, 0], tuple(labels[1:]), values)


def write_table(path: Path, title: str, table: Table) -> None:
    """Write a .sto that OpenSim reads, every digit kept."""
    header = (
        title,
        "version=1",
        f"nRows={len(table.time)}",
        f"nColumns={1 + len(table.names)}",
        "inDegrees=no",
        "endheader",
        "\t".join(("time", *table.names)),
    )
    rows = ("\t".join(repr(float(x)) for x in (t, *row)) for t, row in zip(table.time, table.values, strict=True))
    write_text(path, [*header, *rows])


def write_text(path: Path, lines: Sequence[str]) -> None:
    """Write a file so that it appears complete or not at all."""
    try:
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in lines)
            # mkstemp makes files private; a result is as readable as any other file of the user.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(part, 0o666 & ~mask)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise InvalidFile(f"{path} cannot be written ({error.strerror}); choose another folder") from None
