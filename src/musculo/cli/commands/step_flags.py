"""Flags that several commands share, and how a function of flags becomes a command that runs a set-up."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from musculo.cli.flag_tasks import MotionFlags
    from musculo.io.setup import Setup
else:
    MotionFlags = Setup = object  # nothing slow is imported before a command runs

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
Emg = Annotated[
    Path | None,
    typer.Option(
        "--emg",
        metavar="EMG",
        help="Electromyograms, raw or envelopes (.c3d, .sto, .mot, .csv), shown behind activations. "
        "Default: those of a C3D recording.",
    ),
]
EmgChannels = Annotated[
    list[str] | None,
    typer.Option("--emg-channel", metavar="CHANNEL=MUSCLE", help="The muscle of a channel; repeatable."),
]
EmgSide = Annotated[
    str, typer.Option("--emg-side", metavar="r|l", help="The side of channels whose names do not tell theirs.")
]
EmgMost = Annotated[
    list[str] | None,
    typer.Option(
        "--emg-max",
        metavar="[CHANNEL=]VALUE",
        help="What a maximal contraction gives, in the unit of the signal; repeatable. Default: 1.",
    ),
]
FollowEmg = Annotated[
    float | None,
    typer.Option(
        "--follow-emg",
        metavar="W",
        help="Keep activations near the electromyograms, with this weight beside 1 of the least effort.",
    ),
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

RESULTS = Path("results")


def _common(
    output: Folder = RESULTS,
    opensim: Opensim = False,
    report: Report = True,
    force: Force = False,
    jobs: Threads = None,
    quiet: Quiet = False,
    as_json: Json = False,
    strict: Strict = False,
) -> None:
    """The flags of every step, in the order of its help."""


def step(make: Callable[..., Setup | list[Setup]]) -> Callable[..., None]:
    """A command of a function that makes a set-up, or several, of its own flags: those of every step come after them.

    The function is given the common flags that it names, too. Where its output is a file, its folder has the results.
    """
    own, common = (inspect.signature(f, eval_str=True).parameters for f in (make, _common))
    both = {**own, **{name: p for name, p in common.items() if name not in own}}

    def command(**given: Any) -> None:
        from musculo.cli.run_setups import Options, run_setups

        made = make(**{name: given[name] for name in own})
        setups = made if isinstance(made, list) else [made]
        folder = given["output"] if both["output"].default == RESULTS else given["output"].parent
        options = Options(not given["opensim"], folder, False, given["force"], given["jobs"])
        flags = (given[name] for name in ("quiet", "as_json", "report", "strict"))
        raise typer.Exit(run_setups(setups, options, 1, *flags))

    command.__name__, command.__doc__ = make.__name__, make.__doc__
    command.__signature__ = inspect.Signature(list(both.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: p.annotation for name, p in both.items()}
    return command


def _motion_flags(
    model: ModelFile,
    motion: MotionFile,
    loads: PlateLoads = None,
    foot: Feet = None,
    plate: Plates = None,
    filter_loads: FilterLoads = None,
    lowpass: Lowpass = "",
    fill_gaps: FillGaps = None,
    resample: Resample = None,
    time: Time = "",
) -> MotionFlags:
    """The flags of every step that analyzes a motion with loads."""
    from musculo.cli.flag_tasks import MotionFlags, preparation

    prepare = preparation(fill_gaps, filter_loads, loads, resample, feet=foot or (), plates=plate or ())
    return MotionFlags(model, motion, loads, lowpass, time, prepare)


def step_of_motion(make: Callable[..., Setup]) -> Callable[..., None]:
    """As `step`, of a function of `MotionFlags` and of its own flags, which come after those."""
    parts = (inspect.signature(f, eval_str=True).parameters for f in (_motion_flags, make))
    motion, (_, *own) = next(parts), next(parts).values()

    def made(**given: Any) -> Setup:
        flags = _motion_flags(**{name: given[name] for name in motion})
        return make(flags, **{one.name: given[one.name] for one in own})

    made.__name__, made.__doc__ = make.__name__, make.__doc__
    made.__signature__ = inspect.Signature([*motion.values(), *own])  # type: ignore[attr-defined]
    return step(made)
