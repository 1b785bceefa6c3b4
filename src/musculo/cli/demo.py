"""`musculo demo`: the leg swing as a table, a plot and numbers."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from rich.padding import Padding

from musculo.cli.console import printing, table
from musculo.demo.plot import write_plot
from musculo.demo.swing import LegSwing, leg_swing
from musculo.errors import InvalidInput
from musculo.io.storage import write_storage
from musculo.kernels.jit import cache_folder

PLOT, NUMBERS = "leg_swing.html", "leg_swing_moments.sto"


def run_demo(folder: Path, quiet: bool) -> None:
    """Compute the swing, write plot and numbers into `folder`, and print the table."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot make the folder {folder} ({error.strerror}); choose another one with --output"
        ) from None
    if not quiet and not any(cache_folder().glob("frames-*/*.nbi")):
        print("Compiling for this machine: once, about half a minute ...", file=sys.stderr, flush=True)
    swing = leg_swing()
    write_storage(swing.table(), folder / NUMBERS)
    write_plot(folder / PLOT, swing)
    if not quiet:
        _print_table(swing, folder)


def _print_table(swing: LegSwing, folder: Path) -> None:
    low, high = swing.angles.min(axis=0), swing.angles.max(axis=0)
    rows = [
        (
            peak.coordinate,
            f"{math.degrees(low[k]):.0f} to {math.degrees(high[k]):.0f}°",
            f"{peak.peak:.2f}",
            f"{peak.time:.2f}",
            f"{peak.mean:.2f}",
        )
        for k, peak in enumerate(swing.peaks())
    ]
    columns = ("coordinate", "motion", "peak [N m]", "at [s]", "mean [N m]")
    largest = max(abs(peak.peak) for peak in swing.peaks())
    with printing() as out:
        out.print(
            f"A leg of {sum(b.mass for b in swing.model.bodies[1:]):.1f} kg swings for {swing.time[-1]:.1f} s "
            f"({len(swing.time)} frames). The moments it takes:"
        )
        out.print()
        out.print(Padding(table(columns, rows, columns[1:]), (0, 0, 0, 2), expand=False))
        out.print()
        out.print(
            f"Check: recursive Newton-Euler against M(q) udot + b(q, u), two different algorithms: "
            f"they differ by {swing.residual:.0e} N m at most, {swing.residual / largest:.0e} of the largest moment."
        )
        out.print()
        out.print(f"plot     {folder / PLOT}", soft_wrap=True)
        out.print(f"numbers  {folder / NUMBERS}", soft_wrap=True)
