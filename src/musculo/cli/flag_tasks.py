"""Tasks made from flags: what `musculo ik`, `id`, `rra`, `so`, `cmc`, `jr`, `muscles`, `forward` and others ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from musculo.cli.exit_codes import WrongUsage
from musculo.cli.flag_values import check_axis, check_word, numbers_of, pairs_of, renames_of, span_of, weights_of
from musculo.errors import InvalidInput, UnknownName
from musculo.io.controls.controllers import CONTROL_SET_CONTROLLER, Controller
from musculo.io.osim import read_osim
from musculo.io.setup import (
    ForwardSetup,
    JointReactionAnalysis,
    ManualScale,
    MarkerTask,
    MuscleAnalysis,
    RRASetup,
    ScaleSetup,
    StaticOptimizationAnalysis,
    read_setup,
    read_tasks,
)
from musculo.io.setup.analyses import Analysis
from musculo.io.setup.kinematics_setups import Task
from musculo.io.setup.scale_setup import GenericModel, MarkerPlacer
from musculo.io.storage import read_storage
from musculo.model.body import GROUND
from musculo.opensim_tools.listed import everything
from musculo.opensim_tools.preparation import NOTHING, Preparation, suggested_cutoff
from musculo.opensim_tools.tasks import (
    AnalyzeTask,
    Electromyograms,
    InverseDynamicsTask,
    InverseKinematicsTask,
    LeastEffort,
    LoadsOfGivenForces,
    MuscleControlTask,
    MusclesAtActivations,
    ScaleTask,
)
from musculo.opensim_tools.trial_tasks import MotionInputs, analysis_of, kinematics_of, moments_of

AUTO = "auto"  # a cutoff by residual analysis
TENDONS = ("rigid", "elastic")


def inverse_kinematics_task(
    model: Path,
    markers: Path,
    tasks: Path | None,
    weights: Sequence[str],
    time: str,
    places: bool,
    prepare: Preparation = NOTHING,
) -> InverseKinematicsTask:
    """Markers of a recording, all with weight 1 unless tasks or weights say otherwise."""
    listed: Sequence[Task] = read_tasks(tasks) if tasks is not None else ()
    known = read_osim(model).marker_names if weights else ()
    if weights and tasks is None:
        # markers that no task names would not be followed
        listed = [MarkerTask(name, weight=1.0) for name in known]
    stated = dict(weights_of(weights, "marker"))
    tasked = [task.name for task in listed if isinstance(task, MarkerTask)]
    for name in stated:
        if name not in known and name not in tasked:
            raise UnknownName("marker", name, known, str(model))
    given = {name: MarkerTask(name, weight=weight, apply=weight > 0.0) for name, weight in stated.items()}
    changed = [given.get(task.name, task) if isinstance(task, MarkerTask) else task for task in listed]
    added = [task for name, task in given.items() if name not in tasked]
    return kinematics_of(model, markers, (*changed, *added), span_of(time), places, prepare)


def preparation(
    fill_gaps: float | None,
    loads_cutoff: float | None = None,
    loads: Path | None = None,
    resample: float | None = None,
    up: str = "",
    zeros_as_gaps: bool = False,
    feet: Sequence[str] = (),
    plates: Sequence[str] = (),
    renames: Sequence[str] = (),
) -> Preparation:
    """What is done to recordings first."""
    if (feet or plates) and (loads is None or loads.suffix.lower() == ".xml"):
        what = "--foot" if feet else "--plate"
        raise WrongUsage(f"{what} says whose forces plates measured: give these with --loads, as a .c3d, .mot or .sto")
    if loads_cutoff is not None and loads is None:
        raise WrongUsage("--filter-loads: there are no loads to filter; give them with --loads, or omit it")
    for option, value, unit in (
        ("--fill-gaps", fill_gaps, "time"),
        ("--filter-loads", loads_cutoff, "frequency"),
        ("--resample", resample, "frequency"),
    ):
        if value is not None and not (math.isfinite(value) and value > 0.0):
            of = "s" if unit == "time" else "Hz"
            raise WrongUsage(f"{option} {value:g}: give a {unit} above zero [{of}], or omit it")
    if up:
        check_axis("--up", up)
    owners = tuple(pairs_of("--plate", plates))
    names = renames_of("--rename", renames)
    return Preparation(fill_gaps, loads_cutoff, resample, up or None, zeros_as_gaps, tuple(feet), owners, names)


class MotionFlags(NamedTuple):
    """Of every step that analyzes a motion."""

    model: Path
    motion: Path
    loads: Path | None
    lowpass: str
    time: str
    prepare: Preparation = NOTHING


def inverse_dynamics_task(given: MotionFlags, check: bool = False) -> InverseDynamicsTask:
    """Generalized forces of a motion; muscles do nothing. `check`: by a second formulation, too."""
    return moments_of(_inputs(given), check)


def analyze_task(
    command: str,
    analysis: Analysis,
    given: MotionFlags,
    force_sets: Sequence[Path] = (),
    replace_forces: bool = False,
) -> AnalyzeTask:
    """One analysis of a motion."""
    return analysis_of(command, analysis, _inputs(given), force_sets, replace_forces)


def _inputs(given: MotionFlags) -> MotionInputs:
    cutoff, notes = _cutoff(given)
    return MotionInputs(given.model, given.motion, given.loads, cutoff, span_of(given.time), given.prepare, notes)


def forward_task(
    model: Path,
    controls: Path | None,
    states: Path | None,
    equilibrium: bool | None,
    loads: Path | None,
    force_sets: Sequence[Path],
    tolerance: float,
    time: str,
) -> ForwardSetup:
    """A simulation under the controls of a file."""
    start, end = span_of(time)
    if not (math.isfinite(start) and math.isfinite(end) and start < end):
        raise WrongUsage(f"--time {time}: a simulation needs both times; write it as START:END, for instance 0:0.5")
    if not 1e-14 < tolerance < 1.0:
        raise WrongUsage(f"--tolerance {tolerance:g}: give an error of a step above 1e-14 and below 1")
    given = (Controller(CONTROL_SET_CONTROLLER, "controls", controls_file=controls),) if controls is not None else ()
    if controls is not None and not controls.exists():
        raise InvalidInput(f"there is no file {controls}; give a file of controls (.sto, .xml), or omit --controls")
    return ForwardSetup(
        _name(model),
        model_file=model,
        force_set_files=tuple(force_sets),
        initial_time=start,
        final_time=end,
        states_final_time=True,
        solve_for_equilibrium_for_auxiliary_states=states is None if equilibrium is None else equilibrium,
        integrator_error_tolerance=tolerance,
        controllers=given,
        external_loads_file=loads,
        states_file=states,
        source=f"forward_{_name(model)}",
    )


class TrackingFlags(NamedTuple):
    """What the tools that follow a motion share, beside it."""

    tasks: Path | None
    actuators: Sequence[Path]
    limits: Path | None


def _tracking(tool: str, flags: MotionFlags, tracked: TrackingFlags) -> dict[str, Any]:
    """Fields of set-ups of both tools."""
    start, end = span_of(flags.time)
    cutoff, notes = _cutoff(flags)
    return {
        "name": _name(flags.motion),
        "model_file": flags.model,
        "force_set_files": tuple(tracked.actuators),
        "initial_time": start,
        "final_time": end,
        "external_loads_file": flags.loads,
        "desired_kinematics_file": flags.motion,
        "task_set_file": tracked.tasks,
        "constraints_file": tracked.limits,
        "lowpass_cutoff_frequency": cutoff,
        "notes": notes,
        "source": f"{tool}_{_name(flags.motion)}",
    }


def residual_reduction_setup(flags: MotionFlags, tracked: TrackingFlags, body: str) -> RRASetup:
    """A motion that actuators follow in the place of muscles."""
    return RRASetup(
        **_tracking("rra", flags, tracked),
        replace_force_set=True,
        adjust_com_to_reduce_residuals=bool(body),
        adjusted_com_body=body,
        output_model_file=Path(f"{_name(flags.motion)}_adjusted.osim") if body else None,
    )


def muscle_control_task(
    flags: MotionFlags, tracked: TrackingFlags, window: float, slow: bool, reserve: float | None
) -> MuscleControlTask:
    """A motion that muscles follow, with the actuators of files and reserves beside them."""
    strength = _strength(reserve)
    if not (math.isfinite(window) and window > 0.0):
        raise WrongUsage(f"--window {window:g}: give seconds above zero, for instance 0.01")
    given = _tracking("cmc", flags, tracked)
    return MuscleControlTask(**given, cmc_time_window=window, use_fast_optimization_target=not slow, reserve=strength)


def _strength(reserve: float | None) -> float | None:
    """Of reserves [N m, N]; None for none, which 0 stands for."""
    if reserve is not None and not (math.isfinite(reserve) and reserve >= 0.0):
        raise WrongUsage(f"--reserve {reserve:g}: give a strength [N m, N], or 0 for no reserves")
    return reserve or None


def joint_reaction(
    model: Path, forces: Path | None, joints: Sequence[str], on: str, frame: str
) -> JointReactionAnalysis:
    """Loads of joints, with the muscle forces of a file; without one, muscles give nothing."""
    from musculo.dynamics.loads.load_choice import SIDES

    check_word("--on", on, SIDES)
    named = () if everything(joints) else joints
    if named or frame not in (GROUND, *SIDES):
        # before anything is compiled, which takes minutes
        known = read_osim(model)
        for name in named:
            known.joint(name)
        if frame not in SIDES:
            known.placement(frame)
    return LoadsOfGivenForces(
        name="JointReaction",
        forces_file=forces,
        joint_names=tuple(joints) or ("ALL",),
        apply_on_bodies=(on,),
        express_in_frame=(frame,),
    )


def muscle_files(muscles: Sequence[str], coordinates: Sequence[str], activation: Path | None) -> MuscleAnalysis:
    """Series of muscles, at the activations of a file."""
    return MusclesAtActivations(
        name="MuscleAnalysis",
        muscle_list=tuple(muscles) or ("all",),
        moment_arm_coordinate_list=tuple(coordinates) or ("all",),
        activation_file=activation,
    )


def least_effort(
    power: float,
    physiology: bool,
    passive: bool,
    tendon: str,
    reserve: float | None,
    weights: Sequence[str],
    opensim: bool,
    emg: Electromyograms | None = None,
) -> StaticOptimizationAnalysis:
    """Activations of least effort."""
    from musculo.analyses.static_optimization.least_effort import check_power

    check_word("--tendon", tendon, TENDONS)
    follows = emg is not None and emg.weight > 0.0
    if opensim and (passive or tendon != "rigid" or weights or follows):
        raise WrongUsage(
            "--like-opensim knows no --passive, --tendon, --weight or --follow-emg: OpenSim's tendons are rigid, its "
            "fibers resist nothing, and all muscles weigh the same"
        )
    if follows and power != 2.0:
        raise WrongUsage(f"--follow-emg goes with --power 2, not {power:g}: the effort is the square of the distance")
    strength = _strength(reserve)
    try:
        check_power(power)
    except InvalidInput as error:
        raise WrongUsage(f"--{error}") from None
    return LeastEffort(
        name="StaticOptimization",
        activation_exponent=power,
        use_muscle_physiology=physiology,
        passive=passive,
        tendon=tendon,
        reserve=strength,
        weights=tuple(weights_of(weights)),
        emg=emg,
    )


def electromyograms(
    file: Path | None,
    channels: Sequence[str],
    side: str,
    largest: Sequence[str],
    weight: float | None,
    recording: Path | None = None,
) -> Electromyograms | None:
    """Signals of a file, or of a recording that has analog channels; None where none are given."""
    given, more = file or recording, bool(channels or side or largest or weight is not None)
    if given is None and more:
        raise WrongUsage("--emg-channel, --emg-side, --emg-max and --follow-emg need electromyograms; give --emg")
    if given is None or (file is None and not more):  # pages show those of a recording unasked
        return None
    if side:
        check_word("--emg-side", side, ("r", "l"))
    if weight is not None and not (math.isfinite(weight) and weight > 0.0):
        raise WrongUsage(f"--follow-emg {weight:g}: give a weight above zero, or omit it")
    pairs = [("", text) if "=" not in text else pairs_of("--emg-max", [text])[0] for text in largest]
    most = []
    for name, text in pairs:
        (value,) = numbers_of(f"--emg-max {name}", text, 1)
        if not value > 0.0:
            raise WrongUsage(f"--emg-max {text}: give what a maximal contraction gives, above zero")
        most.append((name, value))
    return Electromyograms(given, tuple(pairs_of("--emg-channel", channels)), side, tuple(most), weight or 0.0)


def scale_task(
    model: Path,
    output: Path,
    *,
    setup: Path | None,
    factors: Sequence[str],
    mass: float | None,
    static: Path | None,
    tasks: Path | None,
    markers: Path | None,
    time: str,
    keep_mass: bool,
    prepare: Preparation = NOTHING,
) -> ScaleTask:
    """A subject's model: measurements and order of a set-up file, factors by hand, markers of a static trial."""
    if setup is None and static is None and mass is None and markers is None and not factors:
        raise WrongUsage(
            "nothing says how to scale; give --factors BODY=X,Y,Z, --setup with measurements, --static with a trial "
            "that places the markers, or --mass"
        )
    if mass is not None and not (math.isfinite(mass) and mass > 0.0):
        raise WrongUsage(f"--mass {mass:g}: give the mass of the whole subject, above zero [kg]")
    known = read_setup(setup) if setup is not None else ScaleSetup(output.stem, placer=MarkerPlacer(apply=False))
    if not isinstance(known, ScaleSetup):
        raise InvalidInput(f"{setup} is not a set-up of the ScaleTool; give one, or --factors")
    manual = tuple(_manual(name, text) for name, text in pairs_of("--factors", factors))
    span = span_of(time)
    scaler, placer = known.scaler, known.placer
    if manual:
        order = tuple(dict.fromkeys((*scaler.scaling_order, "manualScale")))
        kept = tuple(s for s in scaler.manual_scales if s.segment not in {m.segment for m in manual})
        scaler = replace(scaler, manual_scales=(*kept, *manual), scaling_order=order)
    if static is not None:
        # a range that no set-up states, and no flag, is the whole trial
        stated = [part.time_range if part.time_range[1] >= 0.0 and not time else span for part in (scaler, placer)]
        scaler = replace(scaler, marker_file=static, time_range=stated[0])
        placer = replace(placer, apply=True, marker_file=static, time_range=stated[1])
    if tasks is not None:
        placer = replace(placer, tasks=read_tasks(tasks))
    if keep_mass:
        scaler = replace(scaler, preserve_mass_distribution=True)
    placer = replace(placer, output_model_file=output if placer.apply else None)
    generic = known.generic_model
    own = {field.name: getattr(known, field.name) for field in fields(known)}
    return replace(
        ScaleTask(**own, preparation=prepare),
        mass=known.mass if mass is None else mass,
        generic_model=GenericModel(model, markers or generic.marker_set_file),
        scaler=replace(scaler, output_model_file=None if placer.apply else output),
        placer=placer,
        source=f"scale_{output.stem}",
    )


def _manual(body: str, text: str) -> ManualScale:
    x, y, z = numbers_of(f"--factors {body}=", text, 3)
    if min(x, y, z) <= 0.0:
        raise WrongUsage(f"--factors {body}={text}: give numbers above zero")
    return ManualScale(body, (x, y, z))


def _cutoff(given: MotionFlags) -> tuple[float, tuple[str, ...]]:
    """The frequency that is meant [Hz], negative for none as OpenSim has it, and what is to be said about it."""
    text, motion = given.lowpass, given.motion
    if not text:
        return -1.0, ()
    if text.strip().lower() == AUTO:
        found = suggested_cutoff(given.prepare.motion(read_storage(motion)), read_osim(given.model))
        if found is None:
            raise InvalidInput(
                f"--lowpass {AUTO}: {motion} has no coordinate that moves, or few or uneven frames; give a frequency"
            )
        return found.cutoff, (f"--lowpass {AUTO} is {found}, by residual analysis",)
    try:
        cutoff = float(text)
    except ValueError:
        cutoff = math.nan
    if not (math.isfinite(cutoff) and cutoff > 0.0):
        raise WrongUsage(f"--lowpass {text}: give a frequency above zero [Hz] or {AUTO}, or omit it")
    return cutoff, ()


def _name(path: Path) -> str:
    """Results are called after the recording or motion they are made from."""
    return path.stem
