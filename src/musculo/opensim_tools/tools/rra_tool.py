"""`<RRATool>`: a motion that its residual forces agree with, the forces, and a mass center that lessens them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from musculo.analyses.recorded_motion import Motion
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.analyses.tracking.acceleration_targets import AccelerationTargets, tracking_targets
from musculo.analyses.tracking.actuated_model import StateLoads
from musculo.analyses.tracking.desired_motion import DesiredMotion, desired_motion
from musculo.analyses.tracking.mass_center import (
    RESIDUALS,
    MassAdjustment,
    adjusted_mass_center,
    mean_over_time,
    mean_residuals,
    residual_columns,
    with_bodies,
    with_masses,
)
from musculo.analyses.tracking.residual_reduction import WINDOW, TrackedMotion, control_bounds, residual_reduction
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import listed_names
from musculo.diagnostics.loads import plate_findings
from musculo.diagnostics.recording_doubts import motion_findings
from musculo.errors import InvalidInput, SingularSystem, Unsupported
from musculo.forces.compiled_forces import compiled_forces
from musculo.io.controls.control_limits import ControlLimits
from musculo.io.controls.controllers import controllers_of_model
from musculo.io.osim import write_osim
from musculo.io.setup import RRASetup
from musculo.io.setup.tracking_tasks import read_tracking_tasks
from musculo.io.text import write_text
from musculo.model.model import Model
from musculo.opensim_tools.analyze_tool.analysis_study import model_of
from musculo.opensim_tools.forces.simbody_departures import departs, simbody_loads
from musculo.opensim_tools.said_of_inputs import say_span
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
from musculo.results.table import Table

# Of a window, where springs or contacts are stiff.
_MOST_STEPS = 32


def run_rra(task: RRASetup, work: Work) -> None:
    """Write what OpenSim's residual reduction writes."""
    work.precision = task.output_precision
    model = model_of(task, work)
    table = work.table(_needed(task, "desired_kinematics_file"), "desired_kinematics_file")
    tasks_file = _needed(task, "task_set_file")
    work.needed(tasks_file, "task_set_file")
    tasks = read_tracking_tasks(tasks_file)
    work.notes += tasks.notes
    targets = tracking_targets(model, tasks)
    limits = limits_of(task.constraints_file, [one.name for one in actuators_of(model)], work)
    loads = work.loads(task.external_loads_file, model)
    work.tell(plate_findings(loads))
    _refuse(task)
    others = [one.name for one in controllers_of_model(model, Path(work.source).parent) if one.enabled]
    if others:
        work.trouble(
            f"controllers of the model are not used: {listed_names(others)}; what they would add to controls is missing"
        )
    work.report("filter and splines", 0.1)
    work.tell(motion_findings(table, model, task.lowpass_cutoff_frequency, opensim=not work.exact))
    desired = desired_motion(model, table, task.lowpass_cutoff_frequency, like=work.like)
    work.notes += desired.notes
    span = clipped_span(task, table.time, table.source, work)
    say_span(loads, np.arange(*span, WINDOW), table.time, work)
    adjusted = None
    if task.adjust_com_to_reduce_residuals:
        work.report("mass center", 0.2)
        model, adjusted = _adjust(task, model, desired, loads, work)
        desired = replace(desired, model=model)
    work.report("tracking", 0.3)
    made = _tracked(task, desired, targets, span, loads, limits, work)
    if not work.exact and work.compare:
        with work.beside("residual reduction with the exact method"):
            _compare(task, model, table, targets, span, loads, limits, made, work)
    work.report("results", 0.7)
    _write(task, model, made, loads, limits, work)
    if adjusted is not None:
        _write_model(task, adjusted, work)


def _tracked(
    task: RRASetup,
    desired: DesiredMotion,
    targets: AccelerationTargets,
    span: tuple[float, float],
    loads: ExternalLoads | None,
    limits: Sequence[ControlLimits],
    work: Work,
) -> TrackedMotion:
    """The motion under actuators; where springs or contacts act, in steps that are as short as the tolerance asks for.

    Without them one step a window errs by 1e-7 rad at the end of a walk.
    """
    model = desired.model
    departures = None if work.exact else _departures(model)

    def run(substeps: int) -> TrackedMotion:
        return residual_reduction(
            desired, targets, span, loads=loads, limits=limits, departures=departures, like=work.like, substeps=substeps
        )

    if not compiled_forces(model).names:
        return run(1)
    before = made = None
    for substeps in (1, 2, 4, 8, 16, _MOST_STEPS):
        before = made
        try:
            made = run(substeps)
        except SingularSystem:
            if substeps == _MOST_STEPS:
                raise
            continue
        change = float(np.abs(made.q - before.q).max()) if before is not None else np.inf
        if change <= task.integrator_error_tolerance:
            return made
    work.trouble(
        f"springs, limits or contacts of the model are so stiff that {_MOST_STEPS} steps to a window of 1 ms "
        f"instead of half as many change coordinates by {change:.2g} rad or m"
    )
    assert made is not None
    return made


def _needed(task: RRASetup, what: str) -> Any:
    path = getattr(task, what)
    if path is None:
        raise InvalidInput(f"{task.source}: the set-up names no <{what}>; add it")
    return path


def _refuse(task: RRASetup) -> None:
    """What set-ups may ask for and this does not do."""
    if task.desired_points_file is not None:
        raise Unsupported(
            f"{task.source}: <desired_points_file> gives points to follow, and only coordinates are followed; leave it "
            "empty, and follow a motion of inverse kinematics (<desired_kinematics_file>)"
        )
    if task.controllers:
        names = ", ".join(repr(one.name) for one in task.controllers)
        raise Unsupported(
            f"{task.source}: <ControllerSet> has {names}; here the tool alone controls the actuators: leave it empty"
        )


# --- the mass center ------------------------------------------------------------------------------------------------
def _adjust(
    task: RRASetup, model: Model, desired: DesiredMotion, loads: ExternalLoads | None, work: Work
) -> tuple[Model, MassAdjustment]:
    if not task.adjusted_com_body:
        raise InvalidInput(
            f"{task.source}: <adjust_com_to_reduce_residuals> is true, and <adjusted_com_body> names no body; name a "
            "heavy one, such as the torso"
        )
    # from flags a span may be without ends, and OpenSim's filter adds rows beyond those of the recording
    asked = zip(task.com_adjustment_span, desired.span, strict=True)
    start, end = (known if np.isinf(stated) else stated for stated, known in asked)
    changed, found = adjusted_mass_center(
        model,
        task.adjusted_com_body,
        desired.rows,
        (start, end),
        loads=loads,
        departures=None if work.exact else _departures,
        threads=work.threads,
    )
    dx, dz = found.moved
    ends = "{:g} to {:g} s".format(*found.span)
    work.note(
        f"{found.body}: the mass center was moved by {-dx:.6g} m along x and {-dz:.6g} m along z, to "
        f"{' '.join(f'{x:.6g}' for x in found.mass_center)}; mean residuals from {ends}, {_in_words(found.before)} "
        f"before, {_in_words(found.after)} after"
    )
    more = ""
    if work.exact:
        lighter = mean_residuals(with_masses(changed, found.masses), desired.rows.between(*found.span), loads)
        more = f"; with it, and moments of inertia in proportion, mean residuals would be {_in_words(lighter)}"
    shown = ", ".join(f"{name} {old:.5g} to {new:.5g} kg" for name, (old, new) in found.masses.items())
    work.note(
        f"recommended change of mass, which is not made in the model, as in OpenSim: {found.mass_change:+.6g} kg in "
        f"all ({shown}){more}"
    )
    return changed, found


def _departures(model: Model) -> StateLoads | None:
    """What Simbody adds to our dynamics, where it adds anything."""
    return (lambda q, u: simbody_loads(model, q, u)) if departs(model) else None


def _in_words(residuals: FloatArray) -> str:
    return ", ".join(f"{name} {value:.5g}" for name, value in zip(RESIDUALS, residuals, strict=True) if value != 0.0)


def _write_model(task: RRASetup, found: MassAdjustment, work: Work) -> None:
    """The model of the file, with its own forces, and another mass center of one body."""
    assert task.adjusted_model is not None
    whole = work.model(task.model_file)
    body = next(b for b in whole.bodies if b.name == found.body)
    target = work.target(task.adjusted_model)
    write_osim(with_bodies(whole, {body.name: replace(body, mass_center=found.mass_center)}), target)
    work.wrote(target)


# --- results --------------------------------------------------------------------------------------------------------
def _write(
    task: RRASetup,
    model: Model,
    made: TrackedMotion,
    loads: ExternalLoads | None,
    limits: Sequence[ControlLimits],
    work: Work,
) -> None:
    write_states(work, task.name, model, made.time, made.q, made.u)
    low, high, stepped = control_bounds(model, limits, made.time[:1])
    bounds = list(zip(low[0].tolist(), high[0].tolist(), strict=True))
    nodes = ControlNodes(made.actuator_names, made.control_time, made.control, bounds, stepped.astype(bool).tolist())
    write_control_files(work, task.name, model.name, made.time, made.control[: len(made.time)], nodes)
    write_errors(work, task.name, made.time, made.task_names, made.error)
    run_analyses(_study(task, model, made, loads, work), task.analyses)
    means = mean_over_time(made.time, residual_columns(made.actuator_names, made.force))
    target = work.target(f"{task.name}_avgResiduals.txt")
    lines = [f"{name} average = {value:g}" for name, value in zip(RESIDUALS, means.tolist(), strict=True)]
    write_text(target, ["Average Residuals:", "", *lines])
    work.wrote(target)
    say_errors(work, made.time, made.task_names, made.error, model)
    if means.any():
        work.note(f"mean residuals of the motion that was reached: {_in_words(means)}")


def _study(task: RRASetup, model: Model, made: TrackedMotion, loads: ExternalLoads | None, work: Work) -> FollowedStudy:
    motion = Motion(made.time, made.q, made.u, made.udot, (), model.coordinate_names, model.speed_names)
    driving = {name: made.force[:, k] for k, name in enumerate(made.actuator_names)}
    return FollowedStudy(
        task.name, model, motion, motion, False, loads, False, None, None, work, controlled=model, driving=driving
    )


def _compare(
    task: RRASetup,
    model: Model,
    table: Table,
    targets: AccelerationTargets,
    span: tuple[float, float],
    loads: ExternalLoads | None,
    limits: Sequence[ControlLimits],
    made: TrackedMotion,
    work: Work,
) -> None:
    """What the exact method gives for the same, in a note."""
    desired = desired_motion(model, table, task.lowpass_cutoff_frequency)
    exact = residual_reduction(desired, targets, span, loads=loads, limits=limits)

    def rms(values: FloatArray) -> FloatArray:
        return np.asarray(np.sqrt((values**2).mean(axis=0)))

    errors = (rms(one.error) for one in (made, exact))
    ours, theirs = (residual_columns(one.actuator_names, one.force) for one in (exact, made))
    (here, there), k = errors, int(np.argmax(np.abs(rms(ours) - rms(theirs))))
    j = int(np.argmax(np.abs(there - here)))
    residual = f"that of {RESIDUALS[k]} {rms(ours)[k]:.4g} instead of {rms(theirs)[k]:.4g} N or N m, "
    work.note(
        "targets take errors at the start of a window of 1 ms and accelerations at its end, as OpenSim does, and the "
        "filter is OpenSim's; with forces that follow the state at every instant, the root mean square of the error "
        f"of {made.task_names[j]} is {there[j]:.3g} instead of {here[j]:.3g} rad or m, "
        f"{residual if theirs.any() else ''}and nothing aims at the end of a window (--exact)"
    )
