"""`musculo scale`, `ik`, `id`, `rra`, `so`, `cmc`, `jr`, `muscles`, `forward`: a step of the pipeline each, from flags.

They use the exact methods and write the files that OpenSim's tools would; `--like-opensim` uses OpenSim's methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from musculo.cli.commands.step_flags import (
    ControlFlags,
    EffortFlags,
    EmgFlags,
    ForwardFlags,
    MotionFlags,
    MuscleFlags,
    PoseFlags,
    ReactionFlags,
    ResidualFlags,
    ScaleFlags,
)
from musculo.cli.exit_codes import EXIT_CODES
from musculo.cli.making_commands import step

if TYPE_CHECKING:
    from musculo.io.setup import Setup
else:
    Setup = object  # nothing slow is imported before a command runs


@step
def ik(flags: PoseFlags) -> Setup:
    """Inverse kinematics: the motion that fits recorded markers best."""
    from musculo.cli.flag_tasks import kinematics_task

    return kinematics_task(flags)


@step
def id_(
    flags: MotionFlags,
    check: Annotated[
        bool, typer.Option("--check", help="Compute all loads a second time, in absolute coordinates, and compare.")
    ] = False,
) -> Setup:
    """Inverse dynamics: the joint moments that a motion needs."""
    from musculo.cli.flag_tasks import inverse_dynamics_task

    return inverse_dynamics_task(flags, check)


@step
def so(flags: MotionFlags, effort: EffortFlags, emg: EmgFlags) -> Setup:
    """Static optimization: the muscle forces that produce a motion with the least effort."""
    from musculo.cli.flag_tasks import effort_task

    return effort_task(flags, effort, emg)


@step
def jr(flags: MotionFlags, reactions: ReactionFlags) -> Setup:
    """Joint reactions: the loads of joints, with or without muscle forces."""
    from musculo.cli.flag_tasks import reaction_task

    return reaction_task(flags, reactions)


@step
def muscles(flags: MuscleFlags) -> Setup:
    """Muscle analysis: lengths, speeds, moment arms, fiber states and powers along a motion."""
    from musculo.cli.flag_tasks import muscle_task

    return muscle_task(flags)


@step
def forward(flags: ForwardFlags) -> Setup:
    """Forward dynamics: the motion that muscles and actuators make under controls."""
    from musculo.cli.flag_tasks import forward_task

    return forward_task(flags)


@step
def rra(flags: ResidualFlags) -> Setup:
    """Residual reduction: a motion near the recorded one that small residual forces explain."""
    from musculo.cli.flag_tasks import residual_reduction_setup

    return residual_reduction_setup(flags)


@step
def cmc(flags: ControlFlags) -> Setup:
    """Computed muscle control: excitations under which muscles follow a motion."""
    from musculo.cli.flag_tasks import muscle_control_task

    return muscle_control_task(flags)


@step
def scale(flags: ScaleFlags) -> Setup:
    """Scale a model to a subject: by measured distances or manual factors, and place markers by a static trial."""
    from musculo.cli.scaling_task import scale_task

    return scale_task(flags)


def add_commands(app: typer.Typer) -> None:
    """Put the commands into the shell's list, in the order of the work."""
    for name, command in (
        ("scale", scale),
        ("ik", ik),
        ("id", id_),
        ("rra", rra),
        ("so", so),
        ("cmc", cmc),
        ("jr", jr),
        ("muscles", muscles),
        ("forward", forward),
    ):
        app.command(name, epilog=EXIT_CODES)(command)
