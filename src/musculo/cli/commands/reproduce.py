"""`musculo reproduce`: a paper's experiment done again, its quantities beside those of the paper or of OpenSim."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.table import Table

from musculo.cli.console import printing, table
from musculo.cli.exit_codes import GOOD, INCOMPLETE, WrongUsage
from musculo.cli.starting import imports_end, tell_of_compiling
from musculo.errors import InvalidInput, UnknownName
from musculo.io.text import write_text
from musculo.replications.study import Part, Quantity, Row, Settings, Study
from musculo.trajectory.solvers.interrupts import ending_searches

ALL = "all"
# Everything is computed and written, but a figure of ours falls short of its goal. Measured times say so in the table
# only: they change from machine to machine.
FALLS_SHORT = INCOMPLETE


def _arm26(settings: Settings) -> Study:
    from musculo.demo import arm, arm_flexion
    from musculo.replications.elbow.arm26 import arm26_study

    recorded = None if settings.data is None else settings.data / "arm26" / "ref"
    if recorded is not None and not recorded.is_dir():
        recorded = None
    return arm26_study(arm(), arm_flexion(), opensim=settings.opensim, recorded=recorded, say=settings.say)


def _in(module: str) -> Callable[[Settings], Study]:
    """The function `study` of a file in `replications`, which is imported when the study runs."""

    def run(settings: Settings) -> Study:
        found: Any = import_module(f"musculo.replications.{module}")
        done: Study = found.study(settings)
        return done

    return run


# A study joins by a line here: its name, what it is, and a function from settings to what it found.
STUDIES: dict[str, tuple[str, Callable[[Settings], Study]]] = {
    "arm26": ("Ruggiero2020: muscles and joint loads of an elbow flexion", _arm26),
    "four-bar": ("Ehsani2023: a loop of one degree of freedom by splines", _in("closed_loops.four_bar")),
    "five-bar": ("Ehsani2023: a loop of two degrees of freedom by projection", _in("closed_loops.five_bar")),
    "andrews": ("Ehsani2023: Andrews' squeezer as ODE and as DAE", _in("closed_loops.andrews")),
    "shoulder-moment-arms": (
        "Ehsani2023: moment arms at a shoulder with a rhythm",
        _in("shoulder.shoulder_moment_arms"),
    ),
    "shoulder-tracking": (
        "Ehsani2023: a shoulder follows an elevation, as ODE and as DAE",
        _in("shoulder.shoulder_tracking"),
    ),
    "two-link": ("Barman2020: two revolute joints in the least time", _in("prediction.two_link")),
    "prismatic": ("Barman2020: a prismatic joint, time against effort", _in("prediction.prismatic")),
    "gait": ("Barman2020: a step of walking of a 55-dof skeleton with least effort", _in("prediction.predicted_gait")),
    "lifting": ("Xia2008: a box is lifted once, and again and again by joints that tire", _in("prediction.lifting")),
    "moco-inverse": ("Dembia2020: excitations of a walk, MocoInverse's own test", _in("moco.moco_inverse")),
    "moco-track": ("Dembia2020: a walk follows its recording, MocoTrack's own test", _in("moco.moco_track")),
    "moco-walk": ("Dembia2020: a walk of 80 muscles follows its recording", _in("moco.moco_walk")),
    "predicted-step": ("Dembia2020: steps of a planar walker with 18 muscles", _in("moco.predicted_step")),
    "drivers": ("Antunes2025: rotations driven by angles and by Euler parameters", _in("drivers.drivers_study")),
    "ellipsoid": ("Seth2010: a body on an ellipsoid by mobilizer and by constraints", _in("joints.ellipsoid_study")),
    "knee": ("Seth2010: a knee along splines by mobilizer and by constraints", _in("joints.knee")),
    "screw": ("Seth2010: a collar on a screw by mobilizer and by constraint", _in("joints.screw_study")),
    "manifold": ("Seth2010: a particle on a measured surface of two coordinates", _in("joints.manifold")),
    "push-up": ("Seth2010: a shoulder rooted at the thorax and at the hand", _in("joints.push_up")),
    "protein-hinge": ("Seth2010: a protein of two domains closes", _in("joints.protein_hinge")),
}


def run_studies(
    names: list[str],
    json_file: Path | None = None,
    data: Path | None = None,
    opensim: bool = True,
    quiet: bool = False,
    output: Path | None = None,
) -> int:
    """Run studies, print each as tables, and write all of them to a file where one is named; gives the exit code."""
    imports_end()
    if not names:
        _print_list()
        return GOOD
    known = (*STUDIES, ALL)
    for name in names:
        if name not in known:
            # a guess is told first; there are few enough to list them all besides
            guess = UnknownName("study", name, known)
            raise WrongUsage(f"{guess} All there are: {', '.join(known)}" if "?" in str(guess) else str(guess))
    # each once, in the order in which they are named
    wanted = tuple(STUDIES) if ALL in names else tuple(dict.fromkeys(names))
    if data is not None and not data.is_dir():
        raise InvalidInput(f"the folder {data} with recorded data does not exist; omit --data to run without it")

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    tell_of_compiling(quiet)
    done = []
    for k, name in enumerate(wanted, 1):
        say(f"{name} ({k} of {len(wanted)})")
        start = time.perf_counter()
        with ending_searches():
            study = STUDIES[name][1](Settings(opensim, data, say))
        say(f"{name}: {time.perf_counter() - start:.1f} s")
        done.append(study)
        if not quiet:
            _print_study(study, after_another=k > 1)
        for file in _write_plots(study, output):
            say(f"wrote {file}")
        if output is not None and not study.plots:
            say(f"{name} has no plots, so none is in {output}")
        if json_file is not None:
            # again after each: what is done is kept where a later study fails or is interrupted
            write_text(json_file, json.dumps([one.to_json() for one in done], indent=1).splitlines())
    short = [(study, row) for study in done for row in study.short if not row.timed]
    for study, row in short:
        # as of every exit code that is not 0, the reason is said even where nothing else is
        unit = f" {row.unit}" if row.unit else ""
        print(
            f"{study.name}: falls short of its goal: {row.quantity} is {_number(row.ours)}{unit}, "
            f"and its goal is {row.goal} {row.wanted:g}{unit}",
            file=sys.stderr,
        )
    return FALLS_SHORT if short else GOOD


def _print_list() -> None:
    with printing() as out:
        out.print("Studies that can be reproduced:")
        rows = [(name, what) for name, (what, _) in STUDIES.items()]
        out.print(Padding(table(("name", "what"), [*rows, (ALL, "every one of them")]), (0, 0, 0, 2), expand=False))


def _write_plots(study: Study, output: Path | None) -> list[Path]:
    if output is None or not study.plots:
        return []
    from musculo.report.plot import plot_page

    output.mkdir(parents=True, exist_ok=True)
    files = [output / f"{study.name}_{plot.name}.html" for plot in study.plots]
    for file, plot in zip(files, study.plots, strict=True):
        write_text(file, [plot_page(plot)])
    return files


def _print_study(study: Study, after_another: bool = False) -> None:
    with printing() as out:
        if after_another:
            out.print()
        out.print(f"{study.title}")
        out.print(f"{study.source}")
        out.print()
        out.print(study.method)
        if study.missing:
            out.print(study.missing)
        if study.rows:
            out.print()
            out.print(Padding(_rows(study.rows), (0, 0, 0, 2), expand=False))
        for remark in study.remarks:
            out.print()
            out.print(remark)
        for part in study.parts:
            out.print()
            out.print(part.title, style="bold")
            if part.remark:
                out.print(part.remark)
            out.print(Padding(_grid(part), (0, 0, 0, 2), expand=False))


def _rows(rows: tuple[Row, ...]) -> Table:
    """The table quantity, goal, ours, met or not, where the paper states the goal, note."""
    cells = [
        (
            f"{row.quantity} [{row.unit}]" if row.unit else row.quantity,
            f"{row.goal} {row.wanted:g}",
            _number(row.ours),
            "-" if row.met is None else "met" if row.met else "SHORT",
            f"paper, {row.cite}" if row.cite else "us",
            row.note,
        )
        for row in rows
    ]
    return table(("quantity", "goal", "ours", "outcome", "goal from", "note"), cells, ("goal", "ours"))


def _number(value: float | None, digits: int = 3) -> str:
    if value is None:
        return "-"
    # 0.00123 and 12345 are easier read with a power of ten
    return f"{value:.{digits}g}" if value == 0 or 0.01 <= abs(value) < 1e4 else f"{value:.{digits - 1}e}"


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
    if any(one.note for one in part.quantities):
        columns.append("note")
    rows = [[_cell(column, part, one) for column in columns] for one in part.quantities]
    return table(columns, rows, [column for column in columns if column not in ("quantity", "unit", "note")])


def _cell(column: str, part: Part, one: Quantity) -> str:
    if column == "quantity":
        return one.name.replace("_", " ")
    if column in ("unit", "note"):
        return one.unit if column == "unit" else one.note
    values = {"ours": one.ours, "difference": one.difference}
    values |= {part.whose: one.theirs} if part.whose else {}
    values |= {part.alike: one.alike} if part.alike else {}
    value = values[column]
    exact = column in ("difference", part.alike)
    return "" if value is None else f"{value:.1e}" if exact else f"{value:.4g}"
