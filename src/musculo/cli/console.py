"""How commands print: tables that stay readable at 80 columns and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text


@contextmanager
def printing() -> Iterator[Console]:
    """A console on stdout, without colors where NO_COLOR is set or stdout is not a terminal.

    Rich fills table rows with blanks; in a pipe or a file they would only be in the way, so they are cut off.
    """
    out = Console(highlight=False, markup=False, emoji=False)
    if out.is_terminal:
        yield out
        return
    with out.capture() as captured:
        yield out
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[str] = (),
    widths: Sequence[int | None] | None = None,
) -> Table:
    """Columns under their names, indented by two; the columns named in `numbers` are set to the right.

    Columns are as wide as what stands in them, or as `widths` says.
    """
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for column, width in zip(columns, widths or (None,) * len(columns), strict=True):
        grid.add_column(column, justify="right" if column in numbers else "left", overflow="fold", width=width)
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    return grid
