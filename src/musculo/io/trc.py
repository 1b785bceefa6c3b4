"""Marker trajectories in TRC files.

OpenSim has two readers of them, one strict (inverse kinematics) and one lenient (scaling); this one takes what either
takes. Numbers are separated by tabs, or by blanks where a line has no tab. Empty cells and `nan` are gaps, and so is
what a row lacks at its end; a row with more numbers than markers is an error. Blank lines are skipped. `NumFrames` is
not needed, and `NumMarkers` must agree with the names or with the columns.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice
from typing import Literal, NamedTuple

import numpy as np

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.lengths import METRES, unit_note
from musculo.io.text import PathLike, exact, explain, lines_of, number, write_text
from musculo.results.markers import Markers

_KIND = "a marker file (.trc)"
_KEYS = (
    "DataRate",
    "CameraRate",
    "NumFrames",
    "NumMarkers",
    "Units",
    "OrigDataRate",
    "OrigDataStartFrame",
    "OrigNumFrames",
)


# By this part a rate may differ from what times say that are rounded.
_SAME_RATE = 0.02
_PAUSE = 2.5  # usual steps
# Lines among which the header is, and rows that are made an array at a time.
_MOST_HEAD, _BLOCK = 50, 512


class _Head(NamedTuple):
    stated: dict[str, str]
    names: tuple[str, ...]
    line_of_names: int
    first_row: int  # index of the first line that may hold numbers


def read_trc(path: PathLike) -> Markers:
    """Read a TRC file; positions become meters, and markers that were not visible become NaN.

    `markers.gaps()` lists the gaps, `markers.fill(longest=...)` fills them. Points exactly at the origin are data, as
    in OpenSim; a note reports them, and `markers.zeros_as_gaps()` treats them as gaps.

    Raises:
        InvalidFile: with file, line and column, for everything that is no such file.
    """
    lines = lines_of(path, _KIND)
    where = os.fspath(path)
    top = list(islice(lines, _MOST_HEAD))
    head = _head(top, where)
    notes: list[str] = []
    scale = _scale(head, where)
    count = _number_of(head, "NumMarkers")
    if count is not None and count != len(head.names):
        notes.append(f"NumMarkers is {count:g}, but {len(head.names)} markers are named; all named ones were read")
    time, values, lines_of_rows = _rows(chain(top[head.first_row :], lines), head, where, notes)
    frames = _number_of(head, "NumFrames")
    if frames is not None and len(time) < frames:
        notes.append(f"NumFrames is {frames:g}, but there are only {len(time)} rows; is the file cut off?")
    elif frames is not None and len(time) > frames:
        notes.append(
            f"NumFrames is {frames:g}, but there are {len(time)} rows; all were read (OpenSim's scaling reads "
            f"{frames:g} of them)"
        )
    _check_time(time, lines_of_rows, where)
    names = _once(head.names, notes)
    values *= scale
    position = values.reshape(len(time), len(names), 3)
    seen = np.isfinite(position)
    partly = seen.any(axis=2) & ~seen.all(axis=2)
    if partly.any():
        notes.append(f"{int(partly.sum())} points with one or two coordinates were treated as gaps")
    markers = Markers(time, names, position, _rate(head, time, notes), source=where)
    del values, position, seen  # as large as the markers themselves
    odd = unit_note(markers, head.stated.get("Units", ""))
    return replace(markers, notes=(*notes, *markers.notes, *markers.report(), *odd))


def _cells(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


def _head(lines: list[str], where: str) -> _Head:
    """The five lines of the header, found by the line that begins with Frame#."""
    names_at = next((k for k, line in enumerate(lines) if line.split()[:1] and _is_frame(line.split()[0])), None)
    if names_at is None:
        raise InvalidFile(f"{where}:1: no line that begins with 'Frame#' and names the markers; it should be {_KIND}")
    stated: dict[str, str] = {}
    for k, line in enumerate(lines[:names_at]):
        if "DataRate" in line.split() and k + 1 < names_at:
            stated = dict(zip(line.split(), lines[k + 1].split(), strict=False))
    if not stated and names_at > 0:
        # The lenient reader ignores the keys and takes the values in their order.
        stated = dict(zip(_KEYS, lines[names_at - 1].split(), strict=False))
    cells = [cell.strip() for cell in _cells(lines[names_at])]
    time_at = next((k for k, cell in enumerate(cells) if cell.lower() == "time"), None)
    if time_at is None or time_at > 2:
        raise InvalidFile(f"{where}:{names_at + 1}: the label 'Time' must follow 'Frame#', before the markers' names")
    names = tuple(cell for cell in cells[time_at + 1 :] if cell)
    if not names:
        raise InvalidFile(f"{where}:{names_at + 1}: no marker is named after 'Time'")
    first_row = names_at + 1
    while first_row < len(lines) and (not lines[first_row].strip() or _is_axes(lines[first_row])):
        first_row += 1
    return _Head(stated, names, names_at + 1, first_row)


def _is_frame(word: str) -> bool:
    return word.lower().rstrip("#") in ("frame", "field")


def _is_axes(line: str) -> bool:
    """X1 Y1 Z1 X2 ..."""
    return line.split()[0][:1].upper() in ("X", "Y", "Z")


def _scale(head: _Head, where: str) -> float:
    unit = head.stated.get("Units", "")
    if unit.lower() not in METRES:
        # where the word is missing, the number after it stands in its place
        missing = not unit or _number_of(head, "Units") is not None
        said = "Units are missing" if missing else f"Units is {unit!r:.40}"
        raise InvalidFile(f"{where}: {said}; known: {', '.join(METRES)}. They stand in the third line, below 'Units'")
    return METRES[unit.lower()]


def _number_of(head: _Head, key: str) -> float | None:
    try:
        value = number(head.stated.get(key, ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _rate(head: _Head, time: np.ndarray, notes: list[str]) -> float:
    """Frames a second as stated, unless the times, which count, tell otherwise."""
    stated = _number_of(head, "DataRate")
    if len(time) < 2:
        return stated if stated is not None and stated > 0.0 else 0.0
    with np.errstate(all="ignore"):  # of times that no clock shows
        steps = np.diff(time)
        # times are rounded, often to milliseconds, so that only the mean of steps tells; pauses are none
        counted = float(1.0 / steps[steps <= _PAUSE * np.median(steps)].mean())
    if stated is None or stated <= 0.0:
        return counted
    if abs(counted / stated - 1.0) > _SAME_RATE:
        said = f"DataRate is {stated:g}, but by its times the file has {counted:.4g} frames a second; the times count"
        notes.append(said)
        return counted
    return stated


def _rows(lines: Iterable[str], head: _Head, where: str, notes: list[str]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Times (rows,), coordinates (rows, 3 markers) and the line of each row, from the lines at `head.first_row` on."""
    width = 3 * len(head.names)
    short, k = 0, head.first_row - 1
    times: list[float] = []
    at: list[int] = []
    values: list[list[float]] = []
    blocks: list[np.ndarray] = []  # of many rows each: lists of numbers take four times as much
    for k, line in enumerate(lines, head.first_row):
        if not line.strip() or (not at and _is_axes(line)):
            continue
        cells = _cells(line.rstrip())
        if len(cells) - 2 > width:
            raise InvalidFile(
                f"{where}:{k + 1}: the row has {len(cells) - 2} numbers after its time, {len(head.names)} markers need "
                f"{width}; line {head.line_of_names} names too few markers, or the row is too long"
            )
        if len(cells) < 2:
            raise InvalidFile(f"{where}:{k + 1}: the row has no time; is the file cut off?")
        short += len(cells) - 2 < width
        row = _floats(cells, head, k + 1, where)
        times.append(row[1])
        values.append(row[2:] + [math.nan] * (width - len(row) + 2))
        at.append(k + 1)
        if len(values) == _BLOCK:
            blocks.append(np.array(values))
            values.clear()
    if not times:
        raise InvalidFile(f"{where}:{k + 1}: no rows of numbers follow the header")
    if short:
        notes.append(f"{short} rows end before the last marker; what they lack was treated as gaps")
    blocks.append(np.array(values).reshape(-1, width))
    whole = np.empty((len(times), width))
    last = len(times)
    while blocks:  # each is given up once it is copied
        block = blocks.pop()
        whole[last - len(block) : last] = block
        last -= len(block)
    return np.array(times), whole, at


def _floats(cells: list[str], head: _Head, line: int, where: str) -> list[float]:
    row = []
    for k, cell in enumerate(cells):
        try:
            row.append(float(cell) if "_" not in cell and cell.isascii() else number(cell))
        except ValueError:
            try:
                row.append(number(cell))
            except ValueError:
                what = (
                    ("the frame", "the time")[k] if k < 2 else f"{'xyz'[(k - 2) % 3]} of {head.names[(k - 2) // 3]!r}"
                )
                raise InvalidFile(f"{where}:{line}: {what}: {explain(cell)}") from None
    return row


def _check_time(time: np.ndarray, lines: list[int], where: str) -> None:
    if not np.isfinite(time).all():
        at = int(np.argmin(np.isfinite(time)))
        raise InvalidFile(f"{where}:{lines[at]}: the time is {time[at]}; every row needs a time")
    if (np.diff(time) <= 0.0).any():
        at = int(np.argmax(np.diff(time) <= 0.0)) + 1
        raise InvalidFile(
            f"{where}:{lines[at]}: time does not increase from {time[at - 1]} to {time[at]} s; sort the rows, drop "
            "repeated ones, or split the trials"
        )


def _once(names: tuple[str, ...], notes: list[str]) -> tuple[str, ...]:
    """Every name once: `RASI_2` for the second."""
    result: list[str] = []
    for name in names:
        new, count = name, 1
        while new in result or (count > 1 and new in names):
            count += 1
            new = f"{name}_{count}"
        if new != name:
            notes.append(f"a second marker {name!r} is called {new!r}")
        result.append(new)
    return tuple(result)


def write_trc(markers: Markers, path: PathLike, units: Literal["m", "mm"] = "m") -> None:
    """Write a TRC file that OpenSim reads: every digit kept in meters, gaps as nan.

    Args:
        markers: what to write.
        path: where to.
        units: "m" (exact) or "mm", which some programs expect whatever the file says.
    """
    if not isinstance(markers, Markers):
        raise InvalidInput(f"write_trc(markers, path) needs Markers, not {type(markers).__name__}")
    if units not in ("m", "mm"):
        raise InvalidInput(f"units={units!r}; markers are written in m or mm")
    for name in markers.names:
        if not name.isprintable() or name != name.strip():
            raise InvalidInput(
                f"a marker is named {name!r}; tabs, line breaks and blanks at the ends cannot be written"
            )
    if not len(markers) or not markers.names:
        raise InvalidInput("there are no markers or no frames to write")
    factor = 1.0 if units == "m" else 1000.0
    span = float(markers.time[-1] - markers.time[0])
    rate = exact(markers.rate or ((len(markers) - 1) / span if span > 0.0 else 1.0))
    title = os.path.basename(os.fspath(path))
    counts = (str(len(markers)), str(len(markers.names)))
    lines = [
        f"PathFileType\t4\t(X/Y/Z)\t{title}",
        "\t".join(_KEYS),
        "\t".join((rate, rate, *counts, units, rate, "1", counts[0])),
        "Frame#\tTime\t" + "\t\t\t".join(markers.names) + "\t\t",
        "\t\t" + "\t".join(f"X{k}\tY{k}\tZ{k}" for k in range(1, len(markers.names) + 1)),
        "",
    ]
    rows = (markers.position * factor).reshape(len(markers), -1).tolist()
    for k, (t, row) in enumerate(zip(markers.time.tolist(), rows, strict=True)):
        lines.append("\t".join((str(k + 1), exact(t), *map(exact, row))))
    write_text(path, lines)
