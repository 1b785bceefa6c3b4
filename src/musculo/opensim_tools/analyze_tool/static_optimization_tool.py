"""`<StaticOptimization>`: activations, forces and controls of least effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from musculo.analyses.emg_targets import assigned_channels, emg_targets
from musculo.analyses.static_optimization.least_effort import Status
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.analyses.static_optimization.share_load import static_optimization as shared_load
from musculo.analyses.static_optimization.static_optimum import TOO_FAR, StaticOptimum
from musculo.arrays import FloatArray
from musculo.diagnostics.doubtful_paths import largest_penalties, penalty_findings
from musculo.diagnostics.finding import listed_frames
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput, MusculoError
from musculo.io.setup import StaticOptimizationAnalysis
from musculo.io.tool_results import write_controls
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from musculo.muscle.fibers.metabolic_cost import metabolic_rate
from musculo.muscle.paths.geometry import PathGeometry, muscle_geometry, path_geometry
from musculo.opensim_tools.analyze_tool.analysis_study import Study
from musculo.opensim_tools.analyze_tool.force_tool import force_columns
from musculo.opensim_tools.forces.coordinate_motors import driven_model, with_reserves
from musculo.opensim_tools.records.descriptions import FORCES, METABOLIC_POWER, STATIC_OPTIMIZATION
from musculo.opensim_tools.tasks import LeastEffort
from musculo.opensim_tools.work import Work, largest
from musculo.results.trial import BASAL, BODY, METABOLIC

# Where OpenSim stops later, its activations of the arm that ships are within 5e-4 of the optimum (0.14 where it stops
# at its default, 1e-4).
_LOOSE = 1e-6
_FEW = 50  # iterations; OpenSim's default is 100
# Powers beyond this make the cost so small that OpenSim stops early at any criterion: at 1e-8 its cost is 1.005 times
# ours with a power of 4, 11 times with 6.
_STEEP = 4.0
_NO_SIGNAL = 0.01  # of a maximal contraction


def static_optimization(study: Study, analysis: StaticOptimizationAnalysis) -> None:
    """Write what OpenSim's static optimization writes.

    OpenSim's own method by default: targets are slopes of splines through the speeds, muscles have OpenSim's capacity
    (wrong pennation of Millard's, none of De Groote's), tendons are rigid and fibers resist nothing when stretched.
    """
    work = study.work
    if isinstance(analysis, LeastEffort) and analysis.reserve is not None:
        study = replace(study, model=with_reserves(study.model, analysis.reserve))
    if isinstance(analysis, LeastEffort) and analysis.emg is not None:  # for the page, too: what is wrong is said now
        emg = analysis.emg
        assigned_channels(work.signals(emg.file), study.model, emg.channels, emg.side)
    if not analysis.use_model_force_set:
        work.note(f"{analysis.name}: actuators replace the model's forces; OpenSim 4.6 crashes on this")
        study = replace(study, model=driven_model(study.model))
    stop, most = analysis.optimizer_convergence_criterion, analysis.optimizer_max_iterations
    power = analysis.activation_exponent
    if (stop > _LOOSE or most < _FEW or power > _STEEP) and not isinstance(analysis, LeastEffort):
        work.note(
            f"{analysis.name}: OpenSim stops at optimizer_convergence_criterion {stop:g} or after {most} iterations, "
            f"which with an activation_exponent of {power:g} can leave activations a tenth from the optimum or "
            "further; these are the optimum to rounding"
        )
    # flags ask for more than OpenSim's tool gives, and have the exact method for it
    own = analysis if work.exact and isinstance(analysis, LeastEffort) else None
    g = _geometry(study) if own is not None else None
    optimum = _solve(study, analysis, work.exact, g)
    _say(optimum, study, work)
    _say_stretched(optimum, study, work)
    _say_reserves(optimum, study.model, work)
    work.tell(penalty_findings(optimum.muscles, optimum.penalty, study.time, analysis.name))
    work.penalties |= largest_penalties(optimum.muscles, optimum.penalty)
    needed = np.abs(optimum.muscle_moment + optimum.reserve + optimum.balance_residual).max(axis=0, initial=0.0)
    work.moments |= dict(zip(optimum.coordinates, np.nan_to_num(needed).tolist(), strict=True))
    names, values = _in_order(study.model, optimum)
    time = study.time
    work.write(study.file(analysis, "activation"), "Static Optimization", time, names, values, STATIC_OPTIMIZATION)
    forces = dict(zip(optimum.muscles, optimum.force.T, strict=True))
    strength = {motor.name: motor.optimal_force for motor in actuators_of(study.model)}
    forces |= {name: strength[name] * optimum.control[:, k] for k, name in enumerate(optimum.actuators)}
    labels, table = force_columns(study, forces)
    work.write(study.file(analysis, "force"), "ModelForces", time, labels, table, FORCES)
    controls = work.target(f"{study.name}_{analysis.name}_controls.xml")
    write_controls(controls, time, names, values)
    work.wrote(controls)
    if own is not None and optimum.muscles:
        _write_power(study, own, optimum, g)
    if study.compared:
        with work.beside(f"{analysis.name} with the exact method"):
            _compare(study, analysis, optimum, work)


def _geometry(study: Study) -> PathGeometry:
    """Of all that pulls along a path."""
    motion = study.exact_motion
    paths = len(study.model.muscles) < sum(force.path is not None for force in study.model.forces)
    return (path_geometry if paths else muscle_geometry)(study.model, motion.q, motion.u, threads=study.work.threads)


def _write_power(study: Study, analysis: LeastEffort, optimum: StaticOptimum, g: PathGeometry | None) -> None:
    """Metabolic power of each muscle, of the body at rest and of both, for walks and studies of effort."""
    motion, model = study.exact_motion, study.model
    known = g if g is not None and g.names == model.muscle_names else None  # springs have paths, too
    try:
        found = metabolic_rate(model, motion.q, motion.u, optimum, geometry=known, threads=study.work.threads)
    except MusculoError as error:  # muscle forces do not depend on it
        study.work.note(f"{analysis.name}: the metabolic power is not known: {error}")
        return
    names = (*found.muscles, BASAL, BODY)
    values = np.column_stack([found.rate, np.full(len(study.time), found.basal), found.body])
    target = study.file(analysis, METABOLIC)
    study.work.write(target, "Metabolic power", study.time, names, values + 0.0, METABOLIC_POWER)  # no -0


def _near(study: Study, asked: LeastEffort) -> tuple[dict[str, FloatArray] | None, dict[str, float]]:
    """Measured activations to stay near, and the weights of their muscles."""
    weights = dict(asked.weights)
    if asked.emg is None or not asked.emg.weight:
        return None, weights
    work, emg = study.work, asked.emg
    try:
        targets = emg_targets(
            work.signals(emg.file), study.model, study.time, emg.channels, emg.side, dict(emg.largest)
        )
    except InvalidInput as error:
        advice = (
            "--emg-max CHANNEL=VALUE, --emg-channel CHANNEL=MUSCLE, --emg-side and --time START:END say such things"
        )
        raise InvalidInput(f"{error} ({advice})") from None
    low = [name for name, one in targets.items() if one.max(initial=0.0) < _NO_SIGNAL]
    text = (
        f"static optimization stays near the electromyograms of {', '.join(targets)}, with a weight of {emg.weight:g} "
        "beside 1; nothing is shifted by an electromechanical delay"
    )
    work.note(text + (f"; {', '.join(low)} hardly have a signal" if low else ""))
    return targets, dict.fromkeys(targets, emg.weight) | weights


def _solve(
    study: Study, analysis: StaticOptimizationAnalysis, exact: bool, g: PathGeometry | None = None
) -> StaticOptimum:
    model, threads = study.model, study.work.threads
    motion = study.exact_motion if exact else study.motion
    loads = study.exact_loads if exact else [*study.loads, *study.simbody]
    chosen = analysis if exact and isinstance(analysis, LeastEffort) else LeastEffort()
    targets, weights = _near(study, chosen)
    return shared_load(
        model,
        motion.q,
        motion.u,
        tau=inverse_dynamics(model, motion.q, motion.u, motion.udot, loads, threads=threads),
        power=analysis.activation_exponent,
        force_length_velocity=analysis.use_muscle_physiology,
        passive=chosen.passive,
        weights=weights,
        targets=targets,
        tendon=chosen.tendon,  # type: ignore[arg-type]
        geometry=g,
        time=motion.time,
        method="exact" if exact else "opensim",
        wrapping="geodesic" if exact else "opensim",
        threads=threads,
    )


def _in_order(model: Model, optimum: StaticOptimum) -> tuple[list[str], FloatArray]:
    """Activations and controls in the order of the model's forces."""
    found = dict(zip(optimum.muscles, optimum.activation.T, strict=True))
    found |= dict(zip(optimum.actuators, optimum.control.T, strict=True))
    names = [force.name for force in model.forces if force.applies_force and force.name in found]
    return names, np.stack([found[name] for name in names], axis=1) if names else np.zeros((len(optimum.status), 0))


def _say(optimum: StaticOptimum, study: Study, work: Work) -> None:
    if optimum.left_out:
        work.trouble(f"static optimization ignores forces that are not computed: {', '.join(optimum.left_out)}")
    for status, what in ((Status.INFEASIBLE, "cannot be served"), (Status.NOT_CONVERGED, "did not converge")):
        frames = np.flatnonzero(optimum.status == status).tolist()
        if frames:
            first = optimum.messages[frames[0]]
            work.trouble(
                f"static optimization: {len(frames)} of {len(study.time)} frames {what}, at "
                f"{listed_frames(frames, study.time)}; {first}"
            )


def _say_stretched(optimum: StaticOptimum, study: Study, work: Work, most: int = 3) -> None:
    """Muscles whose fibers are stretched so far that they pull harder than they ever could by activation."""
    model, motion = study.model, study.exact_motion if work.exact else study.motion
    peak = optimum.overstretched
    if not peak:
        return
    worst = [optimum.muscles.index(name) for name in peak]
    strength = np.array([model.muscles[k].max_isometric_force for k in worst])
    ratio = optimum.passive_force[:, worst] / strength
    elastic = optimum.options["tendon"] == "elastic"
    frames = ratio[:, :most].argmax(axis=0)
    g = muscle_geometry(
        model, motion.q[frames], motion.u[frames], wrapping=optimum.options["wrapping"], threads=work.threads
    )
    assert g.speed is not None
    still = muscle_equilibrium(
        model,
        g.length,
        g.speed,
        0.0,
        tendon="as stated" if elastic else "rigid",
        method=optimum.options["method"],
        threads=work.threads,
    )
    optimal = np.array([m.optimal_fiber_length for m in model.muscles])
    told = [
        f"{model.muscle_names[m]} (fiber {still.fiber_length[row, m] / optimal[m]:.2f} optimal lengths, passive force "
        f"{peak[model.muscle_names[m]]:.1f} times its maximal isometric force, at {study.time[frame]:g} s)"
        for row, (m, frame) in enumerate(zip(worst[:most], frames.tolist(), strict=True))
    ]
    count = int((ratio > TOO_FAR).any(axis=1).sum())
    joints = [
        f"{name} ({given:.3g}, of {needed:.3g} needed)" for name, (given, needed) in optimum.passive_excess.items()
    ]
    alone = (
        f" Alone they give more than the motion needs, at most [N m, N], at {', '.join(joints[:most])}."
        if joints
        else ""
    )
    remedy = "" if elastic else ", let tendons give (--tendon elastic)"
    work.note(
        f"{len(worst)} muscles are stretched too far in {count} of {len(study.time)} frames: {', '.join(told)}.{alone} "
        f"Their tendons may be too short for this motion: switch passive forces off (--no-passive){remedy}, or "
        "give them longer tendon slack lengths"
    )


def _say_reserves(optimum: StaticOptimum, model: Model, work: Work) -> None:
    """Coordinates that muscles cross, and that actuators serve more than muscles do."""
    anchored = any(
        model.placement(point.frame).body == GROUND
        for muscle in model.muscles
        for point in (muscle.path.points if muscle.path is not None else ())
    )
    # muscles within a body that moves freely cannot turn it; what OpenSim's wrapping leaves there says nothing
    base = {
        name
        for joint in model.joints
        if not anchored and joint.parent.body == GROUND
        for name in joint.coordinate_names
    }
    within = np.array([name not in base for name in optimum.coordinates], dtype=bool)
    actuators, muscles = (np.abs(x).max(axis=0, initial=0.0) for x in (optimum.reserve, optimum.muscle_moment))
    # what no muscle crosses, for instance the pelvis, is meant for actuators; a toe's small moments tell nothing
    small = 0.01 * muscles.max(initial=0.0)
    odd = np.flatnonzero((actuators > muscles) & (muscles > 1e-6 * actuators) & (actuators > small) & within)
    if odd.size:
        told = [f"{optimum.coordinates[k]} ({actuators[k]:.3g}, muscles {muscles[k]:.3g})" for k in odd.tolist()]
        work.note(
            f"actuators and reserves give more than muscles do, at most [N m, N], at {', '.join(told)}: the motion, "
            "its loads or the strength of muscles may not fit"
        )


def _compare(study: Study, analysis: StaticOptimizationAnalysis, theirs: StaticOptimum, work: Work) -> None:
    work.report("static optimization, the exact method", 0.6)
    exact = _solve(study, analysis, exact=True)
    good = (exact.status == Status.SOLVED) & (theirs.status == Status.SOLVED)
    parts = []
    for what, unit, names, ours, other in _quantities(exact, theirs):
        if names and good.any():
            apart, worst = largest(names, ours[good], other[good])
            parts.append(f"{what} by up to {apart:.3g}{unit} ({worst})")
    if parts:
        work.note(
            "OpenSim's static optimization was reproduced. The exact method (second derivatives of the coordinates, "
            "geodesic wrapping, right pennation) differs in " + ", in ".join(parts) + " (--exact)"
        )
    unsolved = int((~(exact.status == Status.SOLVED)).sum())
    if unsolved:
        work.note(f"the exact method has no solution in {unsolved} of {len(good)} frames")


def _quantities(
    ours: StaticOptimum, theirs: StaticOptimum
) -> Sequence[tuple[str, str, tuple[str, ...], FloatArray, FloatArray]]:
    return (
        ("activation", "", ours.muscles, ours.activation, theirs.activation),
        ("muscle force", " N", ours.muscles, ours.force, theirs.force),
        ("controls of actuators", "", ours.actuators, ours.control, theirs.control),
    )
