"""Tasks made from flags: what `musculo ik`, `id`, `rra`, `so`, `cmc`, `jr`, `muscles`, `forward` and others ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
)
from musculo.cli.exit_codes import WrongUsage
from musculo.cli.flag_values import check_axis, check_word, numbers_of, pairs_of, renames_of, span_of, weights_of
from musculo.errors import InvalidInput, UnknownName
from musculo.io.controls.controllers import CONTROL_SET_CONTROLLER, Controller
from musculo.io.osim import read_osim
from musculo.io.setup import (
    ForwardSetup,
    JointReactionAnalysis,
    MarkerTask,
    RRASetup,
    StaticOptimizationAnalysis,
    read_tasks,
)
from musculo.io.setup.kinematics_setups import Task
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


def kinematics_task(flags: PoseFlags) -> InverseKinematicsTask:
    """Of `musculo ik`."""
    prepare = preparation(flags.fill_gaps, up=flags.up, zeros_as_gaps=flags.zeros_as_gaps, renames=flags.rename or ())
    weights = flags.weight or ()
    return inverse_kinematics_task(flags.model, flags.markers, flags.tasks, weights, flags.time, flags.places, prepare)


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


def inverse_dynamics_task(flags: MotionFlags, check: bool = False) -> InverseDynamicsTask:
    """Generalized forces of a motion; muscles do nothing. `check`: by a second formulation, too."""
    return moments_of(_inputs(flags), check)


def effort_task(flags: MotionFlags, effort: EffortFlags, emg: EmgFlags) -> AnalyzeTask:
    """Activations of least effort along a motion."""
    return analysis_of(
        "so", _least_effort(effort, electromyograms(emg)), _inputs(flags), effort.forces or (), effort.replace
    )


def reaction_task(flags: MotionFlags, reactions: ReactionFlags) -> AnalyzeTask:
    """Loads of joints along a motion."""
    return analysis_of("jr", _joint_reaction(flags.model, reactions), _inputs(flags), reactions.forces or ())


def muscle_task(flags: MuscleFlags) -> AnalyzeTask:
    """Series of muscles along a motion, at the activations of a file."""
    analysis = MusclesAtActivations(
        name="MuscleAnalysis",
        muscle_list=tuple(flags.muscle or ("all",)),
        moment_arm_coordinate_list=tuple(flags.coordinate or ("all",)),
        activation_file=flags.activation,
    )
    motion = MotionFlags(
        flags.model,
        flags.motion,
        lowpass=flags.lowpass,
        fill_gaps=flags.fill_gaps,
        resample=flags.resample,
        time=flags.time,
    )
    return analysis_of("muscles", analysis, _inputs(motion))


def _inputs(flags: MotionFlags) -> MotionInputs:
    prepare = preparation(
        flags.fill_gaps,
        flags.filter_loads,
        flags.loads,
        flags.resample,
        feet=flags.foot or (),
        plates=flags.plate or (),
    )
    cutoff, notes = _cutoff(flags, prepare)
    return MotionInputs(flags.model, flags.motion, flags.loads, cutoff, span_of(flags.time), prepare, notes)


def forward_task(flags: ForwardFlags) -> ForwardSetup:
    """A simulation under the controls of a file."""
    start, end = span_of(flags.time)
    if not (math.isfinite(start) and math.isfinite(end) and start < end):
        raise WrongUsage(
            f"--time {flags.time}: a simulation needs both times; write it as START:END, for instance 0:0.5"
        )
    if not 1e-14 < flags.tolerance < 1.0:
        raise WrongUsage(f"--tolerance {flags.tolerance:g}: give an error of a step above 1e-14 and below 1")
    controls, states, equilibrium = flags.controls, flags.states, flags.equilibrium
    given = (Controller(CONTROL_SET_CONTROLLER, "controls", controls_file=controls),) if controls is not None else ()
    if controls is not None and not controls.exists():
        raise InvalidInput(f"there is no file {controls}; give a file of controls (.sto, .xml), or omit --controls")
    return ForwardSetup(
        flags.model.stem,
        model_file=flags.model,
        force_set_files=tuple(flags.forces or ()),
        initial_time=start,
        final_time=end,
        states_final_time=True,
        solve_for_equilibrium_for_auxiliary_states=states is None if equilibrium is None else equilibrium,
        integrator_error_tolerance=flags.tolerance,
        controllers=given,
        external_loads_file=flags.loads,
        states_file=states,
        source=f"forward_{flags.model.stem}",
    )


def _tracking(tool: str, flags: ResidualFlags | ControlFlags) -> dict[str, Any]:
    """Fields of set-ups of both tools that follow a motion."""
    start, end = span_of(flags.time)
    cutoff, notes = _cutoff(flags)
    return {
        "name": flags.motion.stem,
        "model_file": flags.model,
        "force_set_files": tuple(flags.actuators or ()),
        "initial_time": start,
        "final_time": end,
        "external_loads_file": flags.loads,
        "desired_kinematics_file": flags.motion,
        "task_set_file": flags.tasks,
        "constraints_file": flags.limits,
        "lowpass_cutoff_frequency": cutoff,
        "notes": notes,
        "source": f"{tool}_{flags.motion.stem}",
    }


def residual_reduction_setup(flags: ResidualFlags) -> RRASetup:
    """A motion that actuators follow in the place of muscles."""
    return RRASetup(
        **_tracking("rra", flags),
        replace_force_set=True,
        adjust_com_to_reduce_residuals=bool(flags.body),
        adjusted_com_body=flags.body,
        output_model_file=Path(f"{flags.motion.stem}_adjusted.osim") if flags.body else None,
    )


def muscle_control_task(flags: ControlFlags) -> MuscleControlTask:
    """A motion that muscles follow, with the actuators of files and reserves beside them."""
    strength = _strength(flags.reserve)
    if not (math.isfinite(flags.window) and flags.window > 0.0):
        raise WrongUsage(f"--window {flags.window:g}: give seconds above zero, for instance 0.01")
    return MuscleControlTask(
        **_tracking("cmc", flags),
        cmc_time_window=flags.window,
        use_fast_optimization_target=not flags.slow,
        reserve=strength,
    )


def _strength(reserve: float | None) -> float | None:
    """Of reserves [N m, N]; None for none, which 0 stands for."""
    if reserve is not None and not (math.isfinite(reserve) and reserve >= 0.0):
        raise WrongUsage(f"--reserve {reserve:g}: give a strength [N m, N], or 0 for no reserves")
    return reserve or None


def _joint_reaction(model: Path, flags: ReactionFlags) -> JointReactionAnalysis:
    """Loads of joints, with the muscle forces of a file; without one, muscles give nothing."""
    from musculo.dynamics.loads.load_choice import SIDES

    joints = flags.joint or ()
    check_word("--on", flags.on, SIDES)
    named = () if everything(joints) else joints
    if named or flags.frame not in (GROUND, *SIDES):
        # before anything is compiled, which takes minutes
        known = read_osim(model)
        for name in named:
            known.joint(name)
        if flags.frame not in SIDES:
            known.placement(flags.frame)
    return LoadsOfGivenForces(
        name="JointReaction",
        forces_file=flags.muscle_forces,
        joint_names=tuple(joints) or ("ALL",),
        apply_on_bodies=(flags.on,),
        express_in_frame=(flags.frame,),
    )


def _least_effort(flags: EffortFlags, emg: Electromyograms | None) -> StaticOptimizationAnalysis:
    """Activations of least effort."""
    from musculo.analyses.static_optimization.least_effort import check_power

    weights = flags.weight or ()
    check_word("--tendon", flags.tendon, TENDONS)
    follows = emg is not None and emg.weight > 0.0
    if flags.opensim and (flags.passive or flags.tendon != "rigid" or weights or follows):
        raise WrongUsage(
            "--like-opensim knows no --passive, --tendon, --weight or --follow-emg: OpenSim's tendons are rigid, its "
            "fibers resist nothing, and all muscles weigh the same"
        )
    if follows and flags.power != 2.0:
        raise WrongUsage(
            f"--follow-emg goes with --power 2, not {flags.power:g}: the effort is the square of the distance"
        )
    strength = _strength(flags.reserve)
    try:
        check_power(flags.power)
    except InvalidInput as error:
        raise WrongUsage(f"--{error}") from None
    return LeastEffort(
        name="StaticOptimization",
        activation_exponent=flags.power,
        use_muscle_physiology=flags.strength,
        passive=flags.passive,
        tendon=flags.tendon,
        reserve=strength,
        weights=tuple(weights_of(weights)),
        emg=emg,
    )


def electromyograms(flags: EmgFlags, recording: Path | None = None) -> Electromyograms | None:
    """Signals of a file, or of a recording that has analog channels; None where none are given."""
    channels, side, weight = flags.emg_channel or (), flags.emg_side, flags.follow_emg
    given, more = flags.emg or recording, bool(channels or side or flags.emg_max or weight is not None)
    if given is None and more:
        raise WrongUsage("--emg-channel, --emg-side, --emg-max and --follow-emg need electromyograms; give --emg")
    if given is None or (flags.emg is None and not more):  # pages show those of a recording unasked
        return None
    if side:
        check_word("--emg-side", side, ("r", "l"))
    if weight is not None and not (math.isfinite(weight) and weight > 0.0):
        raise WrongUsage(f"--follow-emg {weight:g}: give a weight above zero, or omit it")
    pairs = [("", text) if "=" not in text else pairs_of("--emg-max", [text])[0] for text in flags.emg_max or ()]
    most = []
    for name, text in pairs:
        (value,) = numbers_of(f"--emg-max {name}", text, 1)
        if not value > 0.0:
            raise WrongUsage(f"--emg-max {text}: give what a maximal contraction gives, above zero")
        most.append((name, value))
    return Electromyograms(given, tuple(pairs_of("--emg-channel", channels)), side, tuple(most), weight or 0.0)


def _cutoff(
    flags: MotionFlags | ResidualFlags | ControlFlags, prepare: Preparation = NOTHING
) -> tuple[float, tuple[str, ...]]:
    """The frequency that is meant [Hz], negative for none as OpenSim has it, and what is to be said about it."""
    text, motion = flags.lowpass, flags.motion
    if not text:
        return -1.0, ()
    if text.strip().lower() == AUTO:
        found = suggested_cutoff(prepare.motion(read_storage(motion)), read_osim(flags.model))
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
