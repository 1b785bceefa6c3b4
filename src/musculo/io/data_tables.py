"""Tables as spreadsheets and statistics programs read them: CSV and Parquet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.storage import read_storage, write_storage
from musculo.io.text import PathLike, checked_path, read_lines, write_beside, write_text
from musculo.results.table import Table
from musculo.results.tables_of_others import TableLike, checked_table

_KIND = "a table (.csv, .parquet, .sto, .mot)"


def read_table(path: PathLike, *, degrees: bool | None = None) -> Table:
    """A table of a .csv, .parquet, .sto or .mot file, by its ending.

    A .csv has names in its first line, and time [s] in the column `time`, or in the first one.

    Args:
        path: the file.
        degrees: whether angles are in degrees. A .csv cannot say so (false by default); others say it themselves.
    """
    where = checked_path(path, _KIND)
    suffix = Path(where).suffix.lower()
    if suffix == ".csv":
        return _read_csv(path, where, bool(degrees))
    if suffix == ".parquet":
        return _read_parquet(where, degrees)
    if degrees is not None:
        raise InvalidInput(f"{where}: a file of this kind says itself whether angles are in degrees; omit degrees=")
    return read_storage(path)


def write_table(table: TableLike, path: PathLike) -> None:
    """Write a table as .csv, .parquet (which needs pyarrow), .sto or .mot, by the ending of its name."""
    table = checked_table("the table to write", table)
    where = checked_path(path, _KIND)
    suffix = Path(where).suffix.lower()
    if suffix == ".csv":
        stream = io.StringIO()
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(("time", *table.names))
        rows.writerows(
            [repr(float(t)), *("" if np.isnan(v) else repr(float(v)) for v in row)]
            for t, row in zip(table.time, table.values, strict=True)
        )
        write_text(path, [stream.getvalue().rstrip("\n")])
    elif suffix == ".parquet":
        _needs_pyarrow(where)
        frame = table.to_pandas().reset_index()
        write_beside(path, lambda part: frame.to_parquet(part, index=False))
    elif suffix in (".sto", ".mot"):
        write_storage(table, path)
    else:
        raise InvalidInput(f"{where}: {suffix or 'no'} ending; give {_KIND}")


def _read_csv(path: PathLike, where: str, degrees: bool) -> Table:
    rows = list(csv.reader(read_lines(path, _KIND)))
    body = [row for row in rows[1:] if any(cell.strip() for cell in row)]
    if not body:
        raise InvalidFile(f"{where} has no rows of numbers below the names of the columns")
    names = [name.strip() for name in rows[0]]
    k = names.index("time") if "time" in names else 0
    for number, row in enumerate(body, 2):
        if len(row) != len(names):
            raise InvalidFile(f"{where}:{number}: {len(row)} cells, and the first line names {len(names)} columns")
    try:
        values = np.array([[float(cell) if cell.strip() else np.nan for cell in row] for row in body])
    except ValueError as error:
        raise InvalidFile(f"{where}: {error}; cells are numbers or empty, with commas between") from None
    others = [j for j in range(len(names)) if j != k]
    return Table(values[:, k], tuple(names[j] for j in others), values[:, others], degrees=degrees, source=where)


def _read_parquet(where: str, degrees: bool | None) -> Table:
    _needs_pyarrow(where)
    import pandas  # type: ignore[import-untyped]

    try:
        frame = pandas.read_parquet(where)
    except Exception as error:  # what pyarrow raises on damaged files has many names
        raise InvalidFile(f"{where} cannot be read as {_KIND} ({error})") from None
    return Table.from_pandas(frame, degrees=degrees, name=Path(where).stem)


def _needs_pyarrow(where: str) -> None:
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise InvalidInput(f"{where}: Parquet needs pyarrow, which is not installed: pip install pyarrow; or use .csv")
