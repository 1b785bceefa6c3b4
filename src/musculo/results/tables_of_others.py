"""Data frames and labeled arrays over time where a table is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from musculo.errors import InvalidInput
from musculo.results.table import Table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import xarray

TableLike: TypeAlias = "Table | pandas.DataFrame | xarray.DataArray"


def table_of(value: Any) -> Any:
    """The table of a data frame with times (its index or a column is called time), or of a labeled array over time.

    Anything else is returned as it is: whoever asked says what is missing.
    """
    if isinstance(value, Table):
        return value
    columns, index = getattr(value, "columns", None), getattr(value, "index", None)
    if columns is not None and (getattr(index, "name", None) == "time" or "time" in columns):
        return Table.from_pandas(value)
    if "time" in getattr(value, "dims", ()) and "time" in getattr(value, "coords", ()):
        return Table.from_xarray(value)
    return value


def checked_table(what: str, given: object) -> Table:
    """The table that is asked for; anything that is not over time is an error."""
    table = table_of(given)
    if isinstance(table, Table):
        return table
    raise InvalidInput(
        f"{what} is {type(given).__name__}; read a file with read_storage(path), make a Table(time, names, values), or "
        "give a data frame whose index is called time"
    )
