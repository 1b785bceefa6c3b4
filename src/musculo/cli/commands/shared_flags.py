"""Flags that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL.osim", help="An OpenSim model of any version since 1.9.1.")]
MotionFile = Annotated[Path, typer.Argument(metavar="MOTION.mot", help="Coordinates over time (.mot or .sto).")]
Folder = Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder for the results.")]
Time = Annotated[str, typer.Option("--time", metavar="START:END", help="In seconds; you may omit either.")]
Loads = Annotated[
    Path | None,
    typer.Option("--loads", "-l", metavar="LOADS.xml", help="External loads, for instance of force plates."),
]
PlateLoads = Annotated[
    Path | None,
    typer.Option(
        "--loads",
        "-l",
        metavar="LOADS",
        help="External loads (.xml), or what plates measured (.c3d, .mot, .sto): the foot on each is found.",
    ),
]
Lowpass = Annotated[
    str,
    typer.Option(
        "--lowpass", metavar="HZ|auto", help="Filter the coordinates at this frequency; auto: by residual analysis."
    ),
]
FilterLoads = Annotated[
    float | None, typer.Option("--filter-loads", metavar="HZ", help="Filter the external loads at this frequency.")
]
FillGaps = Annotated[
    float | None, typer.Option("--fill-gaps", metavar="SECONDS", help="Fill gaps up to this length by splines.")
]
Up = Annotated[
    str,
    typer.Option(
        "--up",
        metavar="x|-x|y|-y|z|-z",
        help="The axis that points up in the recording. Default: y, or what a C3D states.",
    ),
]
Zeros = Annotated[
    bool, typer.Option("--zeros-as-gaps", help="Treat markers exactly at the origin as gaps; some systems write them.")
]
Renames = Annotated[
    list[str] | None,
    typer.Option(
        "--rename",
        metavar="RECORDED=MODEL",
        help="What the model calls a recorded marker, or a file with a pair a line. Repeatable.",
    ),
]
Resample = Annotated[
    float | None,
    typer.Option("--resample", metavar="HZ", help="Resample uneven frames of the motion to this rate, by splines."),
]
Opensim = Annotated[
    bool, typer.Option("--like-opensim/--exact", help="OpenSim's methods, known faults included, or the exact ones.")
]
Reserve = Annotated[
    float | None,
    typer.Option(
        "--reserve", metavar="N", help="Add a reserve of this strength at every coordinate [N m, N]; 0: none."
    ),
]
Report = Annotated[bool, typer.Option("--report/--no-report", help="Write report.html beside the results.")]
Force = Annotated[
    bool, typer.Option("--force", "-f", help="Run even if nothing changed, and allow to overwrite inputs.")
]
Threads = Annotated[
    int | None, typer.Option("--jobs", "-j", metavar="N", help="Threads of this step. Default: all cores.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 4 if the report judges something as bad.")]
Names = list[str]
Feet = Annotated[
    Names | None,
    typer.Option(
        "--foot",
        metavar="BODY",
        help="A body that steps on plates; repeatable. Default: the bodies that are named as feet.",
    ),
]
Plates = Annotated[
    Names | None,
    typer.Option("--plate", metavar="PLATE=BODY", help="The foot on a plate, if you know it; repeatable."),
]
Limits = Annotated[
    Path | None, typer.Option("--limits", metavar="CONTROLS.xml", help="A ControlSet with limits of controls.")
]
RESULTS = Path("results")
