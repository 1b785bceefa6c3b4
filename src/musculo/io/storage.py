"""OpenSim's tables over time, .mot and .sto: every version, and what other programs make of them.

How files are read:

- The header ends with `endheader`; a file without one begins with its labels. Unknown lines of it are kept.
- Cells are separated by tabs, commas, semicolons or blanks, whichever makes labels and rows fit. Empty cells between
  separators, `nan` and its relatives are gaps (NaN).
- `nRows` and `nColumns` are not needed; where they are wrong, the rows and labels of the file count; a note says so.
- Values beyond 1e100 are kept; a note names them, and what computes with them refuses them as it does gaps.
- Degrees: `inDegrees=yes` or `no`; without it a .mot without version is in degrees, all else in radians, as in OpenSim.
- A row at the same time as the row before replaces it (as in OpenSim); a time that goes back is an error.
- The second column of a name becomes `1_name`, the third `2_name`, as OpenSim's external loads count them.
- States of OpenSim's CMCTool stand below the header of an empty table, their labels below that of time.
- Vectors (`DataType=Vec3`) become three columns `name_x`, `name_y`, `name_z`, as OpenSim's Storage flattens them.
"""

from __future__ import annotations

import os
import re
import warnings
from itertools import product
from typing import NamedTuple

import numpy as np

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.text import PathLike, exact, explain, number, read_lines, write_text
from musculo.results.provenance import Provenance
from musculo.results.table import LARGEST, Table
from musculo.results.tables_of_others import TableLike, checked_table

_KIND = "a table of OpenSim (.mot or .sto)"
_SEPARATORS = ("\t", ",", ";", None)  # None: any blanks

# Parts of a cell, and what their columns are called.
_PARTS = {
    "double": ("",),
    "Vec3": ("_x", "_y", "_z"),
    "UnitVec3": ("_x", "_y", "_z"),
    "Quaternion": ("_1", "_2", "_3", "_4"),
    "SpatialVec": ("_rx", "_ry", "_rz", "_tx", "_ty", "_tz"),
} | {f"Vec{n}": tuple(f"_{k + 1}" for k in range(n)) for n in (2, 4, 5, 6, 7, 8, 9, 10, 11, 12)}

_ROW_KEYS = ("nrows", "nr", "datarows")
_COLUMN_KEYS = ("ncolumns", "nc", "datacolumns")
# Keys of SIMM's header, which stand before blanks instead of an equals sign.
_SIMM_KEYS = ("name", "datarows", "datacolumns", "otherdata", "range", "wrap", "enforce_loops", "event")


class _Header(NamedTuple):
    keys: dict[str, str]  # as the file spells them
    lower: dict[str, str]
    title: str
    text: str
    end: int  # index of the first line after it

    def promised(self, keys: tuple[str, ...]) -> int | None:
        for key in keys:
            if key in self.lower:
                found = re.match(r"\s*(\d{1,9})\s*$", self.lower[key])
                return int(found[1]) if found else None
        return None


class _Cells(NamedTuple):
    labels: list[str]
    parts: tuple[str, ...]  # of a cell: the endings of its columns
    rows: list[list[str]]
    lines: list[int]  # the line of each row
    plain: bool  # without characters that Python reads as numbers and tables do not mean so
    numbers: np.ndarray | None = None  # all rows at once, where that is possible; then `rows` is empty


def read_storage(path: PathLike) -> Table:
    """Read a .mot or .sto file.

    The numbers are those of the file: angles of a file in degrees stay in degrees (`table.degrees`) until
    `table.in_radians(model)` is asked, because only a model knows which columns are angles. Gaps are NaN;
    `table.gaps()` lists them, `table.fill(longest=...)` fills them. What the reader found odd is in `table.notes`.

    Raises:
        InvalidFile: with file, line and column, for everything that is no such table.
    """
    lines = read_lines(path, _KIND)
    where = os.fspath(path)
    header = _header(lines, where)
    notes: list[str] = []
    degrees = _in_degrees(header, where, notes)
    cells = _cells(lines, header, where)
    data = _in_order(_values(cells, where), cells.lines, where, notes)
    _counts(header, len(cells.lines), len(cells.labels), notes)
    names = [label + part for label in cells.labels[1:] for part in cells.parts]
    names = _once(names, notes)
    wild = np.isfinite(data[:, 1:]) & (np.abs(data[:, 1:]) > LARGEST)
    if wild.any():
        which = ", ".join(name for name, some in zip(names, wild.any(axis=0), strict=True) if some)
        notes.append(f"{int(wild.sum())} values are beyond {LARGEST:g} ({which:.80}), which is beyond any measurement")
    missing = ~np.isfinite(data[:, 1:])
    if missing.any():
        notes.append(f"{int(missing.sum())} values in {int(missing.any(axis=0).sum())} columns are missing")
    units = tuple(header.keys.get("units", "").split(";"))
    return Table(
        data[:, 0],
        tuple(names),
        data[:, 1:],
        degrees,
        units if len(units) == len(names) and any(units) else (),
        header.title,
        header.keys,
        tuple(notes),
        Provenance.from_attributes(header.keys),
        where,
    )


def _bare(line: str) -> str:
    """A line without blanks of any kind and separators around it."""
    return line.strip().strip(" \t,;").strip()


# --- header ---------------------------------------------------------------------------------------------------------
def _header(lines: list[str], where: str) -> _Header:
    end = next((k for k, line in enumerate(lines) if line.strip(' \t,;"').lower() == "endheader"), None)
    if end is None:
        first = next((k for k, line in enumerate(lines) if line.strip()), 0)
        if not re.match(r"\s*\"?time\"?\s*([\t,;\s]|$)", lines[first], re.IGNORECASE):
            raise InvalidFile(
                f"{where}:{first + 1}: no line 'endheader' and no label 'time' in the first line; it should be {_KIND}"
            )
        return _Header({}, {}, "", "", first)
    keys: dict[str, str] = {}
    title, text = "", []
    for line in lines[:end]:
        words = _bare(line)
        if not words or words.startswith("#"):
            continue
        key, equals, value = (part.strip() for part in words.partition("="))
        simm = words.split(None, 1)
        if equals and key and " " not in key:
            keys.setdefault(key, value)
        elif simm[0].lower() in _SIMM_KEYS and len(simm) == 2:
            keys.setdefault(simm[0], simm[1].strip())
            title = title or (simm[1].strip() if simm[0].lower() == "name" else "")
        else:
            title = title or words
            text.append(words)
    lower = {key.lower(): value for key, value in keys.items()}
    return _Header(keys, lower, title, "\n".join(text), end + 1)


def _in_degrees(header: _Header, where: str, notes: list[str]) -> bool:
    stated = header.lower.get("indegrees")
    if stated is not None:
        word = stated.lower()
        if word in ("yes", "y", "no", "n"):
            return word in ("yes", "y")
        raise InvalidFile(
            f"{where}: the header says inDegrees={stated!r:.40}, which OpenSim takes as no whatever it is; "
            "write inDegrees=yes or inDegrees=no"
        )
    if "version" in header.lower or not header.end:
        return False
    if where.lower().endswith(".mot"):
        notes.append("no inDegrees and no version: read as degrees, as OpenSim reads such a .mot")
        return True
    return "angles are in degrees" in header.text.lower()


def _counts(header: _Header, rows: int, columns: int, notes: list[str]) -> None:
    for what, keys, found in (("rows", _ROW_KEYS, rows), ("columns", _COLUMN_KEYS, columns)):
        promised = header.promised(keys)
        if promised is not None and promised != found:
            notes.append(f"the header promises {promised} {what}, the file holds {found}; all of them were read")


# --- cells ----------------------------------------------------------------------------------------------------------
def _split(line: str, separator: str | None, width: int = 0) -> list[str]:
    """The cells of a line; empty ones at its end are dropped down to `width`."""
    if separator is None:
        return line.split()
    cells = [cell.strip() for cell in line.split(separator)]
    while len(cells) > max(width, 1) and not cells[-1]:
        cells.pop()
    return cells


def _cells(lines: list[str], header: _Header, where: str) -> _Cells:
    """The words below the header, under the separator that makes labels and rows fit."""
    full = [(k + 1, line) for k, line in enumerate(lines) if k >= header.end and _bare(line)]
    if not full:
        raise InvalidFile(f"{where}:{header.end}: the file ends after its header; labels and rows should follow")
    (label_line, label_text), body = full[0], full[1:]
    label_text, body = _labels_below(label_text, body)
    kind = header.lower.get("datatype", "double")
    parts = next((names for name, names in _PARTS.items() if name.lower() == kind.lower()), None)
    if parts is None:
        raise InvalidFile(f"{where}: DataType={kind!r:.40} is unknown; known: {', '.join(_PARTS)}")
    if not body:
        raise InvalidFile(f"{where}:{label_line}: no rows follow the labels; a table needs at least one")
    # Commas inside a cell part the components of vectors.
    separators = tuple(s for s in _SEPARATORS if len(parts) == 1 or s != ",")
    # Labels without a name are the last thing to think of: double tabs part cells as well as single ones.
    for nameless, label_separator in product((False, True), separators):
        labels = _split(label_text, label_separator)
        if nameless != ("" in labels):
            continue
        if labels and labels[0].startswith('"'):  # spreadsheets quote all of them
            labels = [label.strip('"') for label in labels]
        if not labels or labels[0].lower() != "time":
            continue
        for separator in separators:
            if len(_split(body[0][1], separator, len(labels))) == len(labels):
                # Python also reads 1_000 and the digits of other scripts.
                plain = all(text.isascii() and "_" not in text for _, text in body)
                quick = plain and separator == "\t" and len(parts) == 1
                numbers = _tabbed([text for _, text in body], len(labels)) if quick else None
                if numbers is not None:
                    return _Cells(labels, parts, [], [k for k, _ in body], plain, numbers)
                rows = [_split(text, separator, len(labels)) for _, text in body]
                cells = _Cells(labels, parts, rows, [k for k, _ in body], plain)
                _same_width(cells, where)
                return cells
    labels = _split(label_text, None)
    if not labels or labels[0].strip('",;').lower().split(",")[0].split(";")[0] != "time":
        raise InvalidFile(
            f"{where}:{label_line}: the first label is {labels[0][:40] if labels else ''!r}; it must be time"
        )
    raise InvalidFile(
        f"{where}:{body[0][0]}: the first row has {len(_split(body[0][1], None))} numbers, the labels above it are "
        f"{len(labels)}; each row needs one number for each label, time included"
    )


def _labels_below(label_text: str, body: list[tuple[int, str]]) -> tuple[str, list[tuple[int, str]]]:
    """The line of labels and the rows, where OpenSim's CMCTool wrote its states below the header of an empty table.

    There the label `time` stands alone; labels follow, sometimes with a rest of a word in a line before them.
    """
    if _bare(label_text).lower() == "time":
        for k, (_, line) in enumerate(body[:2]):
            words = line.split()
            if k + 1 == len(body) or not _is_words(line):
                break
            if len(words) > 1 and (line.startswith("\t") or words[0].lower() == "time"):
                return (line if words[0].lower() == "time" else "time" + line), body[k + 1 :]
    return label_text, body


def _is_words(line: str) -> bool:
    """Whether no cell of a line between tabs is a number."""
    return not any(re.match(r"[-+.\d]", cell) or cell.lower() == "nan" for cell in line.split())


def _tabbed(lines: list[str], width: int) -> np.ndarray | None:
    """Numbers between single tabs, without blanks, all rows at once; None where a row is anything else."""
    text = "\t".join(lines)
    if "\t\t" in text or " " in text or any(line.count("\t") != width - 1 for line in lines):
        return None
    with warnings.catch_warnings():
        # What is no number ends the reading with a warning.
        warnings.simplefilter("error")
        try:
            found = np.fromstring(text, sep="\t")
        except (DeprecationWarning, ValueError):
            return None
    return found.reshape(len(lines), width) if found.size == len(lines) * width else None


def _same_width(cells: _Cells, where: str) -> None:
    for row, line in zip(cells.rows, cells.lines, strict=True):
        if len(row) != len(cells.labels):
            raise InvalidFile(
                f"{where}:{line}: the row has {len(row)} cells, the labels are {len(cells.labels)}; "
                "is the file cut off, or a cell missing?"
            )


def _values(cells: _Cells, where: str) -> np.ndarray:
    """Numbers (rows, 1 + columns * parts)."""
    if cells.numbers is not None:
        return cells.numbers
    if len(cells.parts) == 1 and cells.plain:
        try:
            return np.array([[float(word) for word in row] for row in cells.rows])
        except ValueError:
            pass  # the careful way says where
    size = len(cells.parts)
    data = np.empty((len(cells.rows), 1 + (len(cells.labels) - 1) * size))
    for k, (row, line) in enumerate(zip(cells.rows, cells.lines, strict=True)):
        data[k, 0] = _cell(row[0], ("",), line, cells.labels[0], where)[0]
        for c, (word, label) in enumerate(zip(row[1:], cells.labels[1:], strict=True)):
            data[k, 1 + c * size : 1 + (c + 1) * size] = _cell(word, cells.parts, line, label, where)
    return data


def _cell(word: str, parts: tuple[str, ...], line: int, label: str, where: str) -> list[float]:
    if len(parts) == 1:
        pieces = [word]
    else:
        pieces = word.strip("~[]() ").split(",") if word.strip() else [""] * len(parts)
        if len(pieces) == 1 and pieces[0].strip().lower() == "nan":
            pieces = ["nan"] * len(parts)
        if len(pieces) != len(parts):
            raise InvalidFile(
                f"{where}:{line}: column {label!r} holds {word[:40]!r}; it needs {len(parts)} numbers between commas"
            )
    values = []
    for piece in pieces:
        try:
            values.append(number(piece))
        except ValueError:
            raise InvalidFile(f"{where}:{line}: column {label!r}: {explain(piece)}") from None
    return values


def _in_order(data: np.ndarray, lines: list[int], where: str, notes: list[str]) -> np.ndarray:
    time = data[:, 0]
    if not np.isfinite(time).all():
        at = int(np.argmin(np.isfinite(time)))
        raise InvalidFile(f"{where}:{lines[at]}: the time is {time[at]}; every row needs a time")
    steps = np.diff(time)
    if (steps < 0.0).any():
        at = int(np.argmax(steps < 0.0)) + 1
        raise InvalidFile(
            f"{where}:{lines[at]}: time goes back from {time[at - 1]} to {time[at]} s; sort the rows, or split the "
            "trials into files"
        )
    repeated = np.append(steps == 0.0, False)
    if repeated.any():
        notes.append(f"{int(repeated.sum())} rows were replaced by a following row at the same time")
        return data[~repeated]
    return data


def _once(names: list[str], notes: list[str]) -> list[str]:
    """Every name once: `1_name` for the second, and `column_3` for an empty one."""
    seen: set[str] = set()
    result = []
    for k, name in enumerate(names):
        base = name or f"column_{k + 1}"
        new, count = base, 0
        while new in seen or (new != base and new in names):
            count += 1
            new = f"{count}_{base}"
        if new != name:
            notes.append(f"column {k + 1}, {name!r}, is called {new!r}: every column needs a name of its own")
        seen.add(new)
        result.append(new)
    return result


# --- writing --------------------------------------------------------------------------------------------------------
def write_storage(table: TableLike, path: PathLike, *, version: int | None = None) -> None:
    """Write a table as .mot or .sto, every digit kept, so that OpenSim reads the same numbers.

    Args:
        table: what to write; angles as they are, with `inDegrees` saying which.
        path: its suffix does not matter to OpenSim.
        version: 1, which everything reads, or 3. By default 1, unless the table has gaps or names with blanks, on
            which OpenSim's reader of version 1 stumbles.

    Infinite values are kept, but OpenSim reads them as NaN.
    """
    table = checked_table("the table to write", table)
    for name in table.names:
        if not name.isprintable() or name != name.strip():
            raise InvalidInput(
                f"a column is named {name!r}; tabs, line breaks and blanks at the ends cannot be written"
            )
    fragile = not np.isfinite(table.values).all() or any(len(name.split()) != 1 for name in table.names)
    chosen = version if version is not None else (3 if fragile else 1)
    if chosen not in (1, 3) or isinstance(version, bool):
        raise InvalidInput(f"version={version!r}; a table is written in version 1 or 3")
    if fragile and chosen == 1:
        raise InvalidInput(
            "the table has gaps or names with blanks, which OpenSim misreads in version 1; fill and rename, or write "
            "version 3"
        )
    title = " ".join(table.name.split()).replace("=", "_") or "table"
    if title.split(None, 1)[0].lower() in (*_SIMM_KEYS, *_ROW_KEYS, *_COLUMN_KEYS, "endheader", "version", "indegrees"):
        title = f"table {title}"
    header = [title]
    degrees = f"inDegrees={'yes' if table.degrees else 'no'}"
    if chosen == 1:
        header += ["version=1", f"nRows={len(table)}", f"nColumns={1 + len(table.names)}", degrees]
    else:
        header += [degrees, "DataType=double", "version=3", "OpenSimVersion=4.6"]
    if table.provenance is not None:
        header += [f"{key}={value}" for key, value in table.provenance.attributes().items()]
    if table.units:
        header.append("units=" + ";".join(table.units))
    rows = ("\t".join(map(exact, (t, *row))) for t, row in zip(table.time.tolist(), table.values.tolist(), strict=True))
    write_text(path, [*header, "endheader", "\t".join(("time", *table.names)), *rows])
