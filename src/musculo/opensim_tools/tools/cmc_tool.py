"""`<CMCTool>`: excitations of muscles under which a model follows a motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from musculo.analyses.recorded_motion import Motion
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.analyses.tracking.acceleration_targets import tracking_targets
from musculo.analyses.tracking.computed_muscle_control import computed_muscle_control
from musculo.analyses.tracking.desired_motion import desired_motion
from musculo.analyses.tracking.muscle_control import MuscleControl
from musculo.analyses.tracking.muscle_controller import START_WINDOW
from musculo.diagnostics.finding import listed_names
from musculo.diagnostics.recording_doubts import motion_findings
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.forces.compiled_forces import told
from musculo.io.controls.control_limits import ControlLimits
from musculo.io.controls.controllers import controllers_of_model
from musculo.io.setup import CMCSetup
from musculo.io.setup.tracking_tasks import CoordinateTracking, OtherTracking, TrackingTasks, read_tracking_tasks
from musculo.model.model import Model
from musculo.opensim_tools.analyze_tool.analysis_study import model_of
from musculo.opensim_tools.forces.coordinate_motors import with_reserves
from musculo.opensim_tools.forces.simbody_departures import departs, simbody_loads
from musculo.opensim_tools.said_of_inputs import say_span
from musculo.opensim_tools.tasks import MuscleControlTask
from musculo.opensim_tools.tools.tracking_files import (
    ControlNodes,
    FollowedStudy,
    clipped_span,
    limits_of,
    run_analyses,
    say_errors,
    write_control_files,
    write_errors,
    write_states,
)
from musculo.opensim_tools.work import Work
from musculo.results.external_loads import ExternalLoads

# Of the accuracy that a set-up asks of the integrator, what speeds at nodes may change in the last round.
_ROUND = 0.1
_LONGEST_ROUND = 1e-6


def run_cmc(task: CMCSetup, work: Work) -> None:
    """Follow the motion that the set-up names, and write what OpenSim writes."""
    work.precision = task.output_precision
    model = _model(task, work)
    tasks = _tasks(task, model, work)
    limits = _limits(task, model, work)
    work.report("filter and splines", 0.05)
    if not task.cmc_time_window > 0.0:
        raise InvalidInput(f"{task.source}: <cmc_time_window> is {task.cmc_time_window:g}; give seconds, such as 0.01")
    table = work.table(task.desired_kinematics_file, "desired_kinematics_file")
    work.tell(motion_findings(table, model, task.lowpass_cutoff_frequency, opensim=not work.exact))
    desired = desired_motion(model, table, task.lowpass_cutoff_frequency, like=work.like)
    work.notes += desired.notes
    start, end = clipped_span(task, table.time, table.source, work)
    loads = work.loads(task.external_loads_file, model)
    say_span(loads, np.arange(start, end, task.cmc_time_window), table.time, work)
    departures = (lambda q, u: simbody_loads(model, q, u)) if not work.exact and departs(model) else None

    def tell(part: float) -> None:
        work.report("computed muscle control", 0.1 + 0.8 * part)

    found = computed_muscle_control(
        desired,
        tracking_targets(model, replace(tasks, tasks=tasks.coordinates)),
        (start, end),
        loads=loads,
        window=task.cmc_time_window,
        target="fast" if task.use_fast_optimization_target else "slow",
        limits=limits,
        excluded=_excluded(task, model, work),
        departures=departures,
        like=work.like,
        tolerance=min(_ROUND * task.integrator_error_tolerance, _LONGEST_ROUND),
        progress=tell,
    )
    followed = [one.coordinate for one in tasks.coordinates]
    if work.exact:
        _say_exact(found, followed, work)
    else:
        _say(found, followed, work)
    _say_help(found, work)
    work.report("write results", 0.9)
    _write(task, found, loads, work)


# --- what is read -----------------------------------------------------------------------------------------------------
def _model(task: CMCSetup, work: Work) -> Model:
    model = model_of(task, work)
    if isinstance(task, MuscleControlTask) and task.reserve is not None:
        model = with_reserves(model, task.reserve)
    lost = told(model)
    if lost:
        work.trouble(f"forces that are not computed, and do nothing here: {lost}")
    others = [
        one.name for one in (*task.controllers, *controllers_of_model(model, Path(work.source).parent)) if one.enabled
    ]
    if others:
        work.trouble(
            f"controllers besides computed muscle control are not used: {listed_names(others)}; what they would add to "
            "controls is missing"
        )
    slow = [one.name for one in actuators_of(model) if one.force and one.force.kind == "ActivationCoordinateActuator"]
    if slow:
        work.note(
            f"actuators whose activation dynamics is not followed, their control acts at once: {listed_names(slow)}"
        )
    return model


def _tasks(task: CMCSetup, model: Model, work: Work) -> TrackingTasks:
    file = task.task_set_file
    if file is None and work.of_file:
        raise InvalidInput(f"{task.source}: the set-up names no <task_set_file>; add it")
    if file is None:
        return TrackingTasks(tuple(_followed(name) for name in embedding_of(model).speed_names))
    work.needed(file, "task_set_file")
    tasks = read_tracking_tasks(file)
    work.notes += [f"{file}: {note}" for note in tasks.notes]
    points = [one.name for one in tasks.points]
    points += [one.name for one in tasks.tasks if isinstance(one, OtherTracking) and one.on]
    if points:
        work.trouble(f"{file}: tasks that do not follow coordinates are ignored: {listed_names(points)}")
    if task.desired_points_file is not None and not points:
        work.note(f"desired_points_file {task.desired_points_file} is not used: no task follows a point")
    if task.rra_controls_file is not None:
        work.trouble(
            f"rra_controls_file {task.rra_controls_file} is not used; OpenSim 4.6 refuses set-ups that name it"
        )
    return tasks


def _followed(name: str) -> CoordinateTracking:
    """A task with the gains of OpenSim's examples: errors decay in a tenth of a second, without swinging."""
    return CoordinateTracking(name, active=(True, False, False), kp=(100.0,) * 3, kv=(20.0,) * 3, coordinate=name)


def _limits(task: CMCSetup, model: Model, work: Work) -> tuple[ControlLimits, ...]:
    file = task.constraints_file
    found = limits_of(file, {*model.muscle_names, *(one.name for one in actuators_of(model))}, work)
    lines = [one.name for one in found if one.name in model.muscle_names and not one.steps]
    if lines:
        work.note(
            f"{file}: excitations of {listed_names(lines)} are constant within windows, where the file lets OpenSim "
            "join their nodes by lines (use_steps false)"
        )
    return found


def _excluded(task: CMCSetup, model: Model, work: Work) -> tuple[str, ...]:
    names = {*model.muscle_names, *(one.name for one in actuators_of(model))}
    unknown = [name for name in task.actuators_to_exclude if name not in names]
    if unknown:
        work.trouble(f"actuators_to_exclude names what is no actuator, and is ignored: {listed_names(unknown)}")
    return tuple(name for name in task.actuators_to_exclude if name in names)


# --- what is said -----------------------------------------------------------------------------------------------------
def _say(found: MuscleControl, names: list[str], work: Work) -> None:
    """How well the motion is followed."""
    model = found.model
    free = [c for c in model.free_coordinate_names if c not in names]
    if free:
        work.note(f"coordinates without a task move as forces let them: {listed_names(free)}")
    if model.muscles:
        work.note(
            f"results begin at {found.time[0]:g} s: as in OpenSim, the first {START_WINDOW:g} s pass until muscles "
            f"have the states of the motion; they end at {found.time[-1]:g} s, a window before the end"
        )
        work.note(
            f"excitations meet forces at the ends of windows, which makes them alternate: in all they change by "
            f"{found.excitation_change:.3g}; --exact finds them node by node, without"
        )
    say_errors(work, found.error_time, found.task_names, found.error, model)


def _say_exact(found: MuscleControl, names: list[str], work: Work) -> None:
    """What the exact method assumes, and how well it holds."""
    model = found.model
    free = [c for c in model.free_coordinate_names if c not in names]
    if free:
        work.trouble(
            f"coordinates without a task move as recorded, and forces there need not fit: {listed_names(free)}; give "
            "them a task"
        )
    unused = "gains, the optimization target and the tracking of OpenSim are not used"
    if found.failures:
        missed: dict[str, float] = {}
        for one in found.failures:
            for name, value in one.missing.items():
                missed[name] = max(missed.get(name, 0.0), abs(value))
        most = ", ".join(f"{name} {missed[name]:.3g}" for name in sorted(missed, key=lambda name: -missed[name])[:3])
        work.note(
            f"coordinates and speeds are those of the motion at every node, but at {len(found.failures)} of "
            f"{len(found.time)} nodes forces do not give its accelerations; these miss at most [rad/s^2, m/s^2] "
            f"{most or 'little'}. _Kinematics_dudt.sto has the accelerations under the forces, _pErr.sto is zero as "
            f"nothing is simulated, and a simulation under these controls leaves the motion there; {unused}"
        )
    else:
        work.note(f"the motion is followed exactly: forces give its accelerations at every node; {unused}")
    if model.muscles:
        errors = found.integration_error
        assert errors is not None
        off, worst = float(errors.max()), found.muscle_names[int(errors.argmax())]
        work.note(
            f"excitations change by {found.excitation_change:.3g} in all. Muscles that are integrated under them along "
            f"the motion end with forces that differ by {100.0 * off:.2g} % of the largest (root mean square, "
            f"{worst}); "
            "shorter windows (<cmc_time_window>) bring them nearer"
        )


def _say_help(found: MuscleControl, work: Work) -> None:
    """Forces of actuators that are no muscles, and accelerations that were out of reach."""
    model = found.model
    others = found.actuator_names[len(model.muscles) :]
    if others:
        peak = np.abs(found.force[:, len(model.muscles) :]).max(axis=0)
        order = np.argsort(-peak)[:3]
        largest = ", ".join(f"{others[k]} {peak[k]:.3g}" for k in order.tolist())
        work.note(f"actuators that are no muscles give at most [N, N m]: {largest}")
    if found.failures:
        first, count, nodes = found.failures[0], len(found.failures), len(found.control_time)
        where = f"at {count} of {nodes} nodes" if work.exact else f"in {count} of {nodes - 1} windows"
        missing = ", ".join(f"{name} by {value:.3g}" for name, value in list(first.missing.items())[:3])
        stuck = f"; at a bound are {listed_names(first.at_bound)}" if first.at_bound else ""
        work.trouble(
            f"{where} {first.why}, the first at "
            f"{first.time:g} s: accelerations miss [rad/s^2, m/s^2] {missing or 'little'}{stuck}. The nearest ones "
            "were taken, where OpenSim ends; give reserve actuators to these coordinates, more strength to the "
            "muscles, or a longer window"
        )
    if found.stopped:
        work.trouble(f"{found.stopped}; results end there")


# --- what is written --------------------------------------------------------------------------------------------------
def _write(task: CMCSetup, found: MuscleControl, loads: ExternalLoads | None, work: Work) -> None:
    model = found.model
    motion = Motion(found.time, found.q, found.u, found.udot, (), model.coordinate_names, model.speed_names)
    driving = dict(zip(found.actuator_names, found.force.T, strict=True))
    study = FollowedStudy(
        task.name, model, motion, motion, False, loads, False, found.activation, found.fiber_length, work,
        driving=driving,
    )  # fmt: skip
    write_states(work, task.name, model, found.time, found.q, found.u, found.activation, found.fiber_length)
    order = [
        found.actuator_names.index(force.name)
        for force in model.forces
        if force.name in found.actuator_names and force.applies_force
    ]
    low, high = found.limits
    nodes = ControlNodes(
        tuple(found.actuator_names[k] for k in order),
        found.control_time,
        found.control[:, order],
        list(zip(low[order].tolist(), high[order].tolist(), strict=True)),
        found.steps[order].tolist(),
    )
    write_control_files(work, task.name, model.name, found.time, found.control_at(found.time)[:, order], nodes)
    write_errors(work, task.name, found.error_time, found.task_names, found.error)
    run_analyses(study, task.analyses)
