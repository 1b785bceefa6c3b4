"""`musculo scale`, `ik`, `id`, `rra`, `so`, `cmc`, `jr`, `muscles`, `forward`: a step of the pipeline each, from flags.

They use the exact methods and write the files that OpenSim's tools would; `--like-opensim` uses OpenSim's methods.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from musculo.cli.commands.step_flags import (
    Emg,
    EmgChannels,
    EmgMost,
    EmgSide,
    FillGaps,
    FollowEmg,
    Loads,
    Lowpass,
    ModelFile,
    MotionFile,
    Names,
    Opensim,
    Renames,
    Resample,
    Reserve,
    Time,
    Up,
    Zeros,
    step,
    step_of_motion,
)
from musculo.cli.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from musculo.cli.flag_tasks import MotionFlags
    from musculo.io.setup import Setup
else:
    MotionFlags = Setup = object  # nothing slow is imported before a command runs


@step
def ik(
    model: ModelFile,
    markers: Annotated[Path, typer.Argument(metavar="MARKERS", help="A recording: .trc or .c3d.")],
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="TASKS.xml", help="An IKTaskSet, or a set-up that holds one.")
    ] = None,
    weight: Annotated[
        Names | None, typer.Option("--weight", "-w", metavar="MARKER=W", help="The weight of a marker; 0 ignores it.")
    ] = None,
    time: Time = "",
    up: Up = "",
    zeros_as_gaps: Zeros = False,
    rename: Renames = None,
    fill_gaps: FillGaps = None,
    places: Annotated[
        bool, typer.Option("--marker-locations", help="Also write the positions of the model's markers.")
    ] = False,
) -> Setup:
    """Inverse kinematics: the motion that fits recorded markers best."""
    from musculo.cli.flag_tasks import inverse_kinematics_task, preparation

    prepare = preparation(fill_gaps, up=up, zeros_as_gaps=zeros_as_gaps, renames=rename or ())
    return inverse_kinematics_task(model, markers, tasks, weight or [], time, places, prepare)


@step_of_motion
def id_(
    given: MotionFlags,
    check: Annotated[
        bool, typer.Option("--check", help="Compute all loads a second time, in absolute coordinates, and compare.")
    ] = False,
) -> Setup:
    """Inverse dynamics: the joint moments that a motion needs."""
    from musculo.cli.flag_tasks import inverse_dynamics_task

    return inverse_dynamics_task(given, check)


@step_of_motion
def so(
    given: MotionFlags,
    forces: Annotated[
        list[Path] | None,
        typer.Option("--forces", metavar="FORCES.xml", help="Force sets to add, for instance reserves; repeatable."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace-forces", help="Use the forces of --forces only, not the model's.")
    ] = False,
    reserve: Reserve = None,
    power: Annotated[
        float, typer.Option("--power", metavar="P", help="The power of the activations in the sum.")
    ] = 2.0,
    weight: Annotated[
        Names | None,
        typer.Option(
            "--weight", "-w", metavar="NAME=W", help="The weight of a muscle, actuator or reserve. Default: 1."
        ),
    ] = None,
    strength: Annotated[
        bool, typer.Option("--physiology/--no-physiology", help="Whether muscle force depends on length and speed.")
    ] = True,
    passive: Annotated[
        bool, typer.Option("--passive/--no-passive", help="Whether passive fiber forces act; in OpenSim they do not.")
    ] = False,
    tendon: Annotated[
        str, typer.Option("--tendon", metavar="rigid|elastic", help="Whether tendons are rigid or elastic.")
    ] = "rigid",
    emg: Emg = None,
    emg_channel: EmgChannels = None,
    emg_side: EmgSide = "",
    emg_max: EmgMost = None,
    follow_emg: FollowEmg = None,
    opensim: Opensim = False,
) -> Setup:
    """Static optimization: the muscle forces that produce a motion with the least effort."""
    from musculo.cli.flag_tasks import analyze_task, electromyograms, least_effort

    signals = electromyograms(emg, emg_channel or (), emg_side, emg_max or (), follow_emg)
    analysis = least_effort(power, strength, passive, tendon, reserve, weight or [], opensim, signals)
    return analyze_task("so", analysis, given, forces or [], replace)


@step_of_motion
def jr(
    given: MotionFlags,
    muscle_forces: Annotated[
        Path | None,
        typer.Option(
            "--muscle-forces", "-m", metavar="FORCES.sto", help="Muscle forces of `musculo so`. Default: none."
        ),
    ] = None,
    forces: Annotated[
        list[Path] | None,
        typer.Option("--forces", metavar="FORCES.xml", help="The force sets that you added for `so`."),
    ] = None,
    joint: Annotated[
        Names | None, typer.Option("--joint", metavar="JOINT", help="A joint; repeatable. Default: all.")
    ] = None,
    on: Annotated[str, typer.Option("--on", metavar="child|parent", help="The body that the load acts on.")] = "child",
    frame: Annotated[
        str,
        typer.Option("--frame", metavar="ground|child|parent|BODY", help="The frame in which the load is expressed."),
    ] = "ground",
) -> Setup:
    """Joint reactions: the loads of joints, with or without muscle forces."""
    from musculo.cli.flag_tasks import analyze_task, joint_reaction

    analysis = joint_reaction(given.model, muscle_forces, joint or [], on, frame)
    return analyze_task("jr", analysis, given, forces or [])


@step
def muscles(
    model: ModelFile,
    motion: MotionFile,
    lowpass: Lowpass = "",
    fill_gaps: FillGaps = None,
    resample: Resample = None,
    muscle: Annotated[
        Names | None, typer.Option("--muscle", metavar="MUSCLE", help="A muscle; repeatable. Default: all.")
    ] = None,
    coordinate: Annotated[
        Names | None,
        typer.Option(
            "--coordinate", metavar="COORDINATE", help="A coordinate for moment arms; repeatable. Default: all."
        ),
    ] = None,
    activation: Annotated[
        Path | None,
        typer.Option(
            "--activation", "-a", metavar="FILE.sto", help="Activations of `musculo so`. Default: the model's."
        ),
    ] = None,
    time: Time = "",
) -> Setup:
    """Muscle analysis: lengths, speeds, moment arms, fiber states and powers along a motion."""
    from musculo.cli.flag_tasks import MotionFlags, analyze_task, muscle_files, preparation

    analysis = muscle_files(muscle or [], coordinate or [], activation)
    prepare = preparation(fill_gaps, resample=resample)
    return analyze_task("muscles", analysis, MotionFlags(model, motion, None, lowpass, time, prepare))


@step
def forward(
    model: ModelFile,
    controls: Annotated[
        Path | None,
        typer.Option(
            "--controls", "-c", metavar="FILE", help="Controls of muscles and actuators (.sto, .xml). Default: none."
        ),
    ] = None,
    states: Annotated[
        Path | None,
        typer.Option("--states", "-s", metavar="FILE.sto", help="States to begin with. Default: the model's."),
    ] = None,
    equilibrium: Annotated[
        bool | None,
        typer.Option(
            "--equilibrium/--no-equilibrium",
            help="Whether fibers begin in equilibrium with their tendons. Default: without --states only.",
        ),
    ] = None,
    loads: Loads = None,
    forces: Annotated[
        list[Path] | None, typer.Option("--forces", metavar="FORCES.xml", help="Force sets to add; repeatable.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="E", help="As OpenSim's integrator_error_tolerance.")
    ] = 1e-5,
    time: Annotated[str, typer.Option("--time", metavar="START:END", help="Start and end in seconds.")] = "0:1",
) -> Setup:
    """Forward dynamics: the motion that muscles and actuators make under controls."""
    from musculo.cli.flag_tasks import forward_task

    return forward_task(model, controls, states, equilibrium, loads, forces or [], tolerance, time)


@step
def rra(
    model: ModelFile,
    motion: MotionFile,
    tasks: Annotated[
        Path, typer.Option("--tasks", metavar="TASKS.xml", help="A CMC_TaskSet: coordinates, weights and gains.")
    ],
    actuators: Annotated[
        list[Path],
        typer.Option(
            "--actuators", metavar="FORCES.xml", help="Residual and joint actuators in place of muscles; repeatable."
        ),
    ],
    loads: Loads = None,
    limits: Annotated[
        Path | None, typer.Option("--limits", metavar="CONTROLS.xml", help="A ControlSet with limits of controls.")
    ] = None,
    body: Annotated[
        str,
        typer.Option(
            "--adjust", metavar="BODY", help="Move the mass center of this body so that mean residual moments shrink."
        ),
    ] = "",
    lowpass: Lowpass = "",
    time: Time = "",
) -> Setup:
    """Residual reduction: a motion near the recorded one that small residual forces explain."""
    from musculo.cli.flag_tasks import MotionFlags, TrackingFlags, residual_reduction_setup

    given = MotionFlags(model, motion, loads, lowpass, time)
    return residual_reduction_setup(given, TrackingFlags(tasks, actuators, limits), body)


@step
def cmc(
    model: ModelFile,
    motion: MotionFile,
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--tasks",
            metavar="TASKS.xml",
            help="A CMC_TaskSet: coordinates, weights and gains. All free coordinates if it is not given.",
        ),
    ] = None,
    actuators: Annotated[
        list[Path] | None,
        typer.Option("--actuators", metavar="FORCES.xml", help="Residual and reserve actuators to add; repeatable."),
    ] = None,
    reserve: Reserve = None,
    loads: Loads = None,
    limits: Annotated[
        Path | None, typer.Option("--limits", metavar="CONTROLS.xml", help="A ControlSet with limits of controls.")
    ] = None,
    window: Annotated[
        float,
        typer.Option(
            "--window",
            metavar="SECONDS",
            help="The time between nodes; with --like-opensim, in which forces are reached.",
        ),
    ] = 0.01,
    slow: Annotated[
        bool,
        typer.Option(
            "--slow", help="OpenSim's slow target, which trades accelerations for effort (with --like-opensim)."
        ),
    ] = False,
    lowpass: Lowpass = "",
    time: Time = "",
) -> Setup:
    """Computed muscle control: excitations under which muscles follow a motion."""
    from musculo.cli.flag_tasks import MotionFlags, TrackingFlags, muscle_control_task

    given = MotionFlags(model, motion, loads, lowpass, time)
    return muscle_control_task(given, TrackingFlags(tasks, actuators or [], limits), window, slow, reserve)


@step
def scale(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.osim", help="The scaled model.")],
    setup: Annotated[
        Path | None,
        typer.Option(
            "--setup", metavar="SETUP.xml", help="A set-up of OpenSim's ScaleTool, for its measurements and tasks."
        ),
    ] = None,
    factors: Annotated[
        Names | None,
        typer.Option("--factors", metavar="BODY=X,Y,Z", help="Manual factors; one number for all axes. Repeatable."),
    ] = None,
    mass: Annotated[float | None, typer.Option("--mass", metavar="KG", help="The mass of the subject.")] = None,
    keep_mass: Annotated[
        bool, typer.Option("--keep-mass-distribution", help="Keep the ratios of the masses of bodies.")
    ] = False,
    static: Annotated[
        Path | None,
        typer.Option("--static", metavar="TRIAL.trc", help="A static trial, to measure and to place markers."),
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="TASKS.xml", help="Weights of markers in the static pose.")
    ] = None,
    markers: Annotated[
        Path | None, typer.Option("--markers", metavar="MARKERS.xml", help="A marker set to add to the model.")
    ] = None,
    time: Time = "",
    up: Up = "",
    zeros_as_gaps: Zeros = False,
    rename: Renames = None,
    fill_gaps: FillGaps = None,
) -> Setup:
    """Scale a model to a subject: by measured distances or manual factors, and place markers by a static trial."""
    from musculo.cli.flag_tasks import preparation, scale_task

    prepare = preparation(fill_gaps, up=up, zeros_as_gaps=zeros_as_gaps, renames=rename or ())
    return scale_task(
        model,
        output,
        setup=setup,
        factors=factors or [],
        mass=mass,
        static=static,
        tasks=tasks,
        markers=markers,
        time=time,
        keep_mass=keep_mass,
        prepare=prepare,
    )


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
