"""`musculo imu-place` and `imu-ik`: sensors on a model, and the motion that they measured, from flags."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from musculo.cli.commands.shared_flags import ModelFile, Names, Time
from musculo.cli.exit_codes import EXIT_CODES, WrongUsage
from musculo.cli.making_commands import step

if TYPE_CHECKING:
    from musculo.io.setup import Setup
else:
    Setup = object  # nothing slow is imported before a command runs

Turned = Annotated[
    str,
    typer.Option(
        "--turn",
        metavar="X,Y,Z",
        help="Degrees about x, y and z, in this order, that rotate the sensors' ground frame to one with y up: -90,0,0 "
        "if z is up.",
    ),
]
_FULL_TURN = 360.0


def _angles(text: str) -> tuple[float, float, float]:
    from musculo.cli.flag_values import numbers_of

    if not text:
        return 0.0, 0.0, 0.0
    x, y, z = (math.radians(value) for value in numbers_of("--turn", text, 3))
    return x, y, z


@step
def imu_place(
    model: ModelFile,
    orientations: Annotated[
        Path, typer.Argument(metavar="STILL.sto", help="Orientations of the sensors while the subject stood still.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.osim", help="The model with its sensors.")],
    base: Annotated[
        str,
        typer.Option("--base", metavar="SENSOR", help="The sensor that defines the heading, for instance pelvis_imu."),
    ] = "",
    axis: Annotated[
        str, typer.Option("--axis", metavar="x|-x|y|-y|z|-z", help="The axis of this sensor that points ahead.")
    ] = "",
    turn: Turned = "",
) -> Setup:
    """Put sensors on a model, with their orientations while the subject holds the model's default pose."""
    from musculo.cli.flag_values import check_axis
    from musculo.io.setup import IMUPlacerSetup

    if bool(base) != bool(axis):
        raise WrongUsage("a heading needs both --base and --axis; give both or none")
    if axis:
        check_axis("--axis", axis)
    return IMUPlacerSetup(
        output.stem,
        model_file=model,
        base_imu_label=base,
        base_heading_axis=axis,
        sensor_to_opensim_rotations=_angles(turn),
        orientation_file_for_calibration=orientations,
        output_model_file=output,
        source=f"imu-place_{output.stem}",
    )


@step
def imu_ik(
    model: ModelFile,
    orientations: Annotated[Path, typer.Argument(metavar="TRIAL.sto", help="Orientations of the sensors over time.")],
    weight: Annotated[
        Names | None, typer.Option("--weight", "-w", metavar="SENSOR=W", help="The weight of a sensor. Default: 1.")
    ] = None,
    turn: Turned = "",
    heading: Annotated[
        float,
        typer.Option("--heading", metavar="DEG", help="Then rotate about y: the heading that `imu-place` prints."),
    ] = 0.0,
    time: Time = "",
) -> Setup:
    """Inverse kinematics of sensors: the motion that fits measured orientations best."""
    from musculo.cli.flag_values import span_of, weights_of
    from musculo.io.setup import OrientationWeight
    from musculo.opensim_tools.tasks import SensorTask

    if not abs(heading) <= _FULL_TURN:
        raise WrongUsage(f"--heading {heading:g}: give degrees from -360 to 360")
    return SensorTask(
        orientations.stem,
        model_file=model,
        time_range=span_of(time),
        output_motion_file=f"{orientations.stem}_ik.mot",
        sensor_to_opensim_rotations=_angles(turn),
        orientations_file=orientations,
        weights=tuple(OrientationWeight(name, value) for name, value in weights_of(weight or [], "sensor")),
        source=f"imu-ik_{orientations.stem}",
        heading=math.radians(heading),
    )


def add_sensor_commands(app: typer.Typer) -> None:
    """Put the commands into the shell's list."""
    for name, command in (("imu-place", imu_place), ("imu-ik", imu_ik)):
        app.command(name, epilog=EXIT_CODES)(command)
