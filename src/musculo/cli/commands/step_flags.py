"""Flags of each step as a class; `shared_flags` has those of several. `musculo.cli.flag_tasks` makes tasks of them.

The order of the fields is that of the help. Nothing slow may be imported here: all commands begin with this file.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from musculo.cli.commands.shared_flags import (
    RESULTS,
    Feet,
    FillGaps,
    FilterLoads,
    Folder,
    Force,
    Json,
    Limits,
    Loads,
    Lowpass,
    ModelFile,
    MotionFile,
    Names,
    Opensim,
    PlateLoads,
    Plates,
    Quiet,
    Renames,
    Report,
    Resample,
    Reserve,
    Strict,
    Threads,
    Time,
    Up,
    Zeros,
)


class StepFlags(NamedTuple):
    """The flags of every step, in the order of its help."""

    output: Folder = RESULTS
    opensim: Opensim = False
    report: Report = True
    force: Force = False
    jobs: Threads = None
    quiet: Quiet = False
    as_json: Json = False
    strict: Strict = False


class PoseFlags(NamedTuple):
    """Of `musculo ik`."""

    model: ModelFile
    markers: Annotated[Path, typer.Argument(metavar="MARKERS", help="A recording: .trc or .c3d.")]
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="TASKS.xml", help="An IKTaskSet, or a set-up that holds one.")
    ] = None
    weight: Annotated[
        Names | None, typer.Option("--weight", "-w", metavar="MARKER=W", help="The weight of a marker; 0 ignores it.")
    ] = None
    time: Time = ""
    up: Up = ""
    zeros_as_gaps: Zeros = False
    rename: Renames = None
    fill_gaps: FillGaps = None
    places: Annotated[
        bool, typer.Option("--marker-locations", help="Also write the positions of the model's markers.")
    ] = False


class MotionFlags(NamedTuple):
    """Of every step that analyzes a motion with loads."""

    model: ModelFile
    motion: MotionFile
    loads: PlateLoads = None
    foot: Feet = None
    plate: Plates = None
    filter_loads: FilterLoads = None
    lowpass: Lowpass = ""
    fill_gaps: FillGaps = None
    resample: Resample = None
    time: Time = ""


class EffortFlags(NamedTuple):
    """Of `musculo so`, beside those of a motion."""

    forces: Annotated[
        list[Path] | None,
        typer.Option("--forces", metavar="FORCES.xml", help="Force sets to add, for instance reserves; repeatable."),
    ] = None
    replace: Annotated[
        bool, typer.Option("--replace-forces", help="Use the forces of --forces only, not the model's.")
    ] = False
    reserve: Reserve = None
    power: Annotated[float, typer.Option("--power", metavar="P", help="The power of the activations in the sum.")] = 2.0
    weight: Annotated[
        Names | None,
        typer.Option(
            "--weight", "-w", metavar="NAME=W", help="The weight of a muscle, actuator or reserve. Default: 1."
        ),
    ] = None
    strength: Annotated[
        bool, typer.Option("--physiology/--no-physiology", help="Whether muscle force depends on length and speed.")
    ] = True
    passive: Annotated[
        bool, typer.Option("--passive/--no-passive", help="Whether passive fiber forces act; in OpenSim they do not.")
    ] = False
    tendon: Annotated[
        str, typer.Option("--tendon", metavar="rigid|elastic", help="Whether tendons are rigid or elastic.")
    ] = "rigid"
    opensim: Opensim = False


class EmgFlags(NamedTuple):
    """Electromyograms, of `musculo so` and `musculo walk`."""

    emg: Annotated[
        Path | None,
        typer.Option(
            "--emg",
            metavar="EMG",
            help="Electromyograms, raw or envelopes (.c3d, .sto, .mot, .csv), shown behind activations. "
            "Default: those of a C3D recording.",
        ),
    ] = None
    emg_channel: Annotated[
        list[str] | None,
        typer.Option("--emg-channel", metavar="CHANNEL=MUSCLE", help="The muscle of a channel; repeatable."),
    ] = None
    emg_side: Annotated[
        str, typer.Option("--emg-side", metavar="r|l", help="The side of channels whose names do not tell theirs.")
    ] = ""
    emg_max: Annotated[
        list[str] | None,
        typer.Option(
            "--emg-max",
            metavar="[CHANNEL=]VALUE",
            help="What a maximal contraction gives, in the unit of the signal; repeatable. Default: 1.",
        ),
    ] = None
    follow_emg: Annotated[
        float | None,
        typer.Option(
            "--follow-emg",
            metavar="W",
            help="Keep activations near the electromyograms, with this weight beside 1 of the least effort.",
        ),
    ] = None


class TrialFlags(NamedTuple):
    """Of `musculo walk`, beside those of electromyograms."""

    model: ModelFile
    trial: Annotated[
        Path, typer.Argument(metavar="TRIAL", help="A recording: a .c3d with markers and plates, or a .trc.")
    ]
    loads: PlateLoads = None
    foot: Feet = None
    plate: Plates = None
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="TASKS.xml", help="An IKTaskSet, or a set-up that holds one.")
    ] = None
    weight: Annotated[
        Names | None, typer.Option("--weight", "-w", metavar="MARKER=W", help="The weight of a marker; 0 ignores it.")
    ] = None
    steps: Annotated[
        str | None,
        typer.Option(
            "--steps",
            metavar="STEPS",
            help="Some of ik,id,so,jr. Default: all, or ik where nothing measures the forces under a walker.",
        ),
    ] = None
    lowpass: Annotated[
        float,
        typer.Option("--lowpass", metavar="HZ", help="Filter coordinates at this frequency; 0 for no filter."),
    ] = 6.0
    filter_loads: FilterLoads = None
    fill_gaps: FillGaps = None
    reserve: Annotated[
        float,
        typer.Option("--reserve", metavar="N", help="Reserves of this strength help the muscles [N m, N]; 0 for none."),
    ] = 1.0
    forces: Annotated[
        list[Path] | None,
        typer.Option("--forces", metavar="FORCES.xml", help="Force sets to add, for instance reserves; repeatable."),
    ] = None
    time: Time = ""
    up: Up = ""
    zeros_as_gaps: Zeros = False
    rename: Renames = None
    output: Folder = RESULTS


class ReactionFlags(NamedTuple):
    """Of `musculo jr`, beside those of a motion."""

    muscle_forces: Annotated[
        Path | None,
        typer.Option(
            "--muscle-forces", "-m", metavar="FORCES.sto", help="Muscle forces of `musculo so`. Default: none."
        ),
    ] = None
    forces: Annotated[
        list[Path] | None,
        typer.Option("--forces", metavar="FORCES.xml", help="The force sets that you added for `so`."),
    ] = None
    joint: Annotated[
        Names | None, typer.Option("--joint", metavar="JOINT", help="A joint; repeatable. Default: all.")
    ] = None
    on: Annotated[str, typer.Option("--on", metavar="child|parent", help="The body that the load acts on.")] = "child"
    frame: Annotated[
        str,
        typer.Option("--frame", metavar="ground|child|parent|BODY", help="The frame in which the load is expressed."),
    ] = "ground"


class MuscleFlags(NamedTuple):
    """Of `musculo muscles`."""

    model: ModelFile
    motion: MotionFile
    lowpass: Lowpass = ""
    fill_gaps: FillGaps = None
    resample: Resample = None
    muscle: Annotated[
        Names | None, typer.Option("--muscle", metavar="MUSCLE", help="A muscle; repeatable. Default: all.")
    ] = None
    coordinate: Annotated[
        Names | None,
        typer.Option(
            "--coordinate", metavar="COORDINATE", help="A coordinate for moment arms; repeatable. Default: all."
        ),
    ] = None
    activation: Annotated[
        Path | None,
        typer.Option(
            "--activation", "-a", metavar="FILE.sto", help="Activations of `musculo so`. Default: the model's."
        ),
    ] = None
    time: Time = ""


class ForwardFlags(NamedTuple):
    """Of `musculo forward`."""

    model: ModelFile
    controls: Annotated[
        Path | None,
        typer.Option(
            "--controls", "-c", metavar="FILE", help="Controls of muscles and actuators (.sto, .xml). Default: none."
        ),
    ] = None
    states: Annotated[
        Path | None,
        typer.Option("--states", "-s", metavar="FILE.sto", help="States to begin with. Default: the model's."),
    ] = None
    equilibrium: Annotated[
        bool | None,
        typer.Option(
            "--equilibrium/--no-equilibrium",
            help="Whether fibers begin in equilibrium with their tendons. Default: without --states only.",
        ),
    ] = None
    loads: Loads = None
    forces: Annotated[
        list[Path] | None, typer.Option("--forces", metavar="FORCES.xml", help="Force sets to add; repeatable.")
    ] = None
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="E", help="As OpenSim's integrator_error_tolerance.")
    ] = 1e-5
    time: Annotated[str, typer.Option("--time", metavar="START:END", help="Start and end in seconds.")] = "0:1"


class ResidualFlags(NamedTuple):
    """Of `musculo rra`."""

    model: ModelFile
    motion: MotionFile
    tasks: Annotated[
        Path, typer.Option("--tasks", metavar="TASKS.xml", help="A CMC_TaskSet: coordinates, weights and gains.")
    ]
    actuators: Annotated[
        list[Path],
        typer.Option(
            "--actuators", metavar="FORCES.xml", help="Residual and joint actuators in place of muscles; repeatable."
        ),
    ]
    loads: Loads = None
    limits: Limits = None
    body: Annotated[
        str,
        typer.Option(
            "--adjust", metavar="BODY", help="Move the mass center of this body so that mean residual moments shrink."
        ),
    ] = ""
    lowpass: Lowpass = ""
    time: Time = ""


class ControlFlags(NamedTuple):
    """Of `musculo cmc`."""

    model: ModelFile
    motion: MotionFile
    tasks: Annotated[
        Path | None,
        typer.Option(
            "--tasks",
            metavar="TASKS.xml",
            help="A CMC_TaskSet: coordinates, weights and gains. All free coordinates if it is not given.",
        ),
    ] = None
    actuators: Annotated[
        list[Path] | None,
        typer.Option("--actuators", metavar="FORCES.xml", help="Residual and reserve actuators to add; repeatable."),
    ] = None
    reserve: Reserve = None
    loads: Loads = None
    limits: Limits = None
    window: Annotated[
        float,
        typer.Option(
            "--window",
            metavar="SECONDS",
            help="The time between nodes; with --like-opensim, in which forces are reached.",
        ),
    ] = 0.01
    slow: Annotated[
        bool,
        typer.Option(
            "--slow", help="OpenSim's slow target, which trades accelerations for effort (with --like-opensim)."
        ),
    ] = False
    lowpass: Lowpass = ""
    time: Time = ""


class ScaleFlags(NamedTuple):
    """Of `musculo scale`."""

    model: ModelFile
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT.osim", help="The scaled model.")]
    setup: Annotated[
        Path | None,
        typer.Option(
            "--setup", metavar="SETUP.xml", help="A set-up of OpenSim's ScaleTool, for its measurements and tasks."
        ),
    ] = None
    factors: Annotated[
        Names | None,
        typer.Option("--factors", metavar="BODY=X,Y,Z", help="Manual factors; one number for all axes. Repeatable."),
    ] = None
    mass: Annotated[float | None, typer.Option("--mass", metavar="KG", help="The mass of the subject.")] = None
    keep_mass: Annotated[
        bool, typer.Option("--keep-mass-distribution", help="Keep the ratios of the masses of bodies.")
    ] = False
    static: Annotated[
        Path | None,
        typer.Option("--static", metavar="TRIAL.trc", help="A static trial, to measure and to place markers."),
    ] = None
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="TASKS.xml", help="Weights of markers in the static pose.")
    ] = None
    markers: Annotated[
        Path | None, typer.Option("--markers", metavar="MARKERS.xml", help="A marker set to add to the model.")
    ] = None
    time: Time = ""
    up: Up = ""
    zeros_as_gaps: Zeros = False
    rename: Renames = None
    fill_gaps: FillGaps = None
