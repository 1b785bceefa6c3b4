"""`musculo walk`: from one recording to joint loads, all steps in a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from musculo.cli.commands.step_flags import (
    RESULTS,
    Emg,
    EmgChannels,
    EmgMost,
    EmgSide,
    Feet,
    FillGaps,
    FilterLoads,
    Folder,
    FollowEmg,
    ModelFile,
    Names,
    PlateLoads,
    Plates,
    Renames,
    Time,
    Up,
    Zeros,
    step,
)
from musculo.cli.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from musculo.io.setup import Setup
else:
    Setup = object  # nothing slow is imported before a command runs


@step
def walk(
    model: ModelFile,
    trial: Annotated[
        Path, typer.Argument(metavar="TRIAL", help="A recording: a .c3d with markers and plates, or a .trc.")
    ],
    loads: PlateLoads = None,
    foot: Feet = None,
    plate: Plates = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="TASKS.xml", help="An IKTaskSet, or a set-up that holds one.")
    ] = None,
    weight: Annotated[
        Names | None, typer.Option("--weight", "-w", metavar="MARKER=W", help="The weight of a marker; 0 ignores it.")
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            "--steps",
            metavar="STEPS",
            help="Some of ik,id,so,jr. Default: all, or ik where nothing measures the forces under a walker.",
        ),
    ] = None,
    lowpass: Annotated[
        float,
        typer.Option("--lowpass", metavar="HZ", help="Filter coordinates at this frequency; 0 for no filter."),
    ] = 6.0,
    filter_loads: FilterLoads = None,
    fill_gaps: FillGaps = None,
    reserve: Annotated[
        float,
        typer.Option("--reserve", metavar="N", help="Reserves of this strength help the muscles [N m, N]; 0 for none."),
    ] = 1.0,
    forces: Annotated[
        list[Path] | None,
        typer.Option("--forces", metavar="FORCES.xml", help="Force sets to add, for instance reserves; repeatable."),
    ] = None,
    emg: Emg = None,
    emg_channel: EmgChannels = None,
    emg_side: EmgSide = "",
    emg_max: EmgMost = None,
    follow_emg: FollowEmg = None,
    time: Time = "",
    up: Up = "",
    zeros_as_gaps: Zeros = False,
    rename: Renames = None,
    output: Folder = RESULTS,
) -> list[Setup]:
    """A whole trial: angles, moments, muscle forces and joint loads from one recording, on one page."""
    from musculo.cli.trial_flags import whole_trial

    return whole_trial(
        model,
        trial,
        output,
        loads=loads,
        steps=steps,
        tasks=tasks,
        weights=weight or [],
        time=time,
        lowpass=lowpass,
        filter_loads=filter_loads,
        fill_gaps=fill_gaps,
        reserve=reserve,
        force_sets=forces or [],
        up=up,
        zeros_as_gaps=zeros_as_gaps,
        renames=rename or (),
        feet=foot or (),
        plates=plate or (),
        emg=emg,
        emg_channels=emg_channel or (),
        emg_side=emg_side,
        emg_most=emg_max or (),
        follow_emg=follow_emg,
    )


def add_trial_commands(app: typer.Typer) -> None:
    """Put the command into the shell's list, before those of its steps."""
    app.command("walk", epilog=EXIT_CODES)(walk)
