"""`musculo reproduce`: a paper's experiment done again, its quantities beside those of the paper or of OpenSim."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.padding import Padding
from rich.table import Table

from musculo.cli.console import printing, table
from musculo.errors import InvalidInput, UnknownName
from musculo.io.text import write_text
from musculo.replications.study import Part, Quantity, Study


class Settings(NamedTuple):
    """What a study may be told."""

    opensim: bool = True  # whether OpenSim may be run, where it is installed
    data: Path | None = None  # a folder with recorded results of OpenSim
    say: Callable[[str], None] = lambda _: None


def _arm26(settings: Settings) -> Study:
    from musculo.demo import arm, arm_flexion
    from musculo.replications.arm26 import arm26_study

    recorded = None if settings.data is None else settings.data / "arm26" / "ref" / "CMC"
    if recorded is not None and not recorded.is_dir():
        recorded = None
    return arm26_study(arm(), arm_flexion(), opensim=settings.opensim, recorded=recorded, say=settings.say)


# A study joins by a line here: its name, what it is, and a function from settings to what it found.
STUDIES: dict[str, tuple[str, Callable[[Settings], Study]]] = {
    "arm26": ("Ruggiero2020: muscles and joint loads of an elbow flexion", _arm26),
}


def run_studies(
    names: list[str], json_file: Path | None = None, data: Path | None = None, opensim: bool = True, quiet: bool = False
) -> None:
    """Run studies, print each as tables, and write all of them to a file where one is named."""
    if not names:
        with printing() as out:
            out.print("Studies that can be reproduced:")
            rows = [(name, what) for name, (what, _) in STUDIES.items()]
            out.print(Padding(table(("name", "what"), rows), (0, 0, 0, 2), expand=False))
        return
    for name in names:
        if name not in STUDIES:
            raise UnknownName("study", name, tuple(STUDIES))
    if data is not None and not data.is_dir():
        raise InvalidInput(f"the folder {data} with recorded data is not there; leave --data out to do without it")

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    done = [STUDIES[name][1](Settings(opensim, data, say)) for name in names]
    if json_file is not None:
        write_text(json_file, json.dumps([study.to_json() for study in done], indent=1).splitlines())
    if not quiet:
        for study in done:
            _print_study(study)


def _print_study(study: Study) -> None:
    with printing() as out:
        out.print(f"{study.title}")
        out.print(f"{study.source}")
        out.print()
        out.print(study.method)
        if study.missing:
            out.print(study.missing)
        for part in study.parts:
            out.print()
            out.print(part.title, style="bold")
            if part.remark:
                out.print(part.remark)
            out.print(Padding(_grid(part), (0, 0, 0, 2), expand=False))


def _grid(part: Part) -> Table:
    columns = ["quantity", "unit", "ours"]
    if part.whose:
        columns = ["quantity", "unit", part.whose, "ours"]
    if any(one.difference is not None for one in part.quantities):
        columns.append("difference")
    if part.alike:
        columns.append(part.alike)
    if not any(one.unit for one in part.quantities):
        columns.remove("unit")
    rows = [[_cell(column, part, one) for column in columns] for one in part.quantities]
    return table(columns, rows, [column for column in columns if column not in ("quantity", "unit")])


def _cell(column: str, part: Part, one: Quantity) -> str:
    if column == "quantity":
        return one.name.replace("_", " ")
    if column == "unit":
        return one.unit
    values = {"ours": one.ours, "difference": one.difference}
    values |= {part.whose: one.theirs} if part.whose else {}
    values |= {part.alike: one.alike} if part.alike else {}
    value = values[column]
    exact = column in ("difference", part.alike)
    return "" if value is None else f"{value:.1e}" if exact else f"{value:.4g}"
