"""`<Actuation>` and `<ForceReporter>`: what the forces of a model give in a motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from musculo.analyses.static_optimization.reserves import actuators_of, generalized_force_on_bodies, unit_loads
from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.forces.compiled_forces import IDLE
from musculo.forces.model_forces import model_forces
from musculo.io.setup import ActuationAnalysis, ForceReporterAnalysis
from musculo.model.body import GROUND
from musculo.model.force import Force, Muscle
from musculo.model.path_force import ClutchedPathSpring, PathActuator
from musculo.muscle.paths.geometry import path_geometry
from musculo.opensim_tools.analyze_tool.analysis_study import Study
from musculo.opensim_tools.records.descriptions import ACTUATION, FORCES
from musculo.results.external_loads import ExternalForce


def force_columns(study: Study, forces: Mapping[str, FloatArray]) -> tuple[list[str], FloatArray]:
    """OpenSim's columns of forces in the order of the model, then those of external loads.

    Args:
        study: model, motion and loads.
        forces: (frames,) of muscles and actuators by name.
    """
    labels: list[str] = []
    columns: list[FloatArray] = []
    own = _own(study)
    lost = []
    for force in study.model.forces:
        if not force.applies_force:
            continue
        if force.name in forces:
            labels.append(force.name)
            columns.append(forces[force.name])
        elif force.name in own:
            labels += [label for label, _ in own[force.name]]
            columns += [values for _, values in own[force.name]]
        elif force.kind not in IDLE:
            lost.append(force.name)
    if lost:
        study.work.note(f"no columns for forces that are not computed: {', '.join(lost)}")
    for label, column in _external(study):
        labels.append(label)
        columns.append(column)
    return labels, np.stack(columns, axis=1) if columns else np.zeros((len(study.time), 0))


def _own(study: Study) -> dict[str, list[tuple[str, FloatArray]]]:
    """Columns by force: of all that act by themselves, and of clutches, which nothing engages."""
    model, motion, work = study.model, study.motion, study.work
    found = model_forces(
        model, motion.q, motion.u, time=motion.time, wrapping=work.wrapping, method=work.method, threads=work.threads
    )
    columns: dict[str, list[tuple[str, FloatArray]]] = {name: [] for name in found.names}
    for name, label, values in found.reported:
        columns[name].append((label, values))
    idle = np.zeros(len(motion))
    clutches = [f.name for f in model.forces if isinstance(f, ClutchedPathSpring)]
    return columns | {name: [(f"{name}_tension", idle)] for name in clutches}


def _external(study: Study) -> list[tuple[str, FloatArray]]:
    """Force and torque in ground, and the point in the frame of the body, of every external load that applies."""
    if study.external is None:
        return []
    applied: list[ExternalForce] = [force for force in study.external.forces if force.applies]
    poses = kinematics(study.model, study.motion.q, threads=study.work.threads)
    found = []
    for force, load in zip(applied, study.external.at(study.time), strict=True):
        parts = []
        if force.force_identifier:
            parts.append(("F", load.force))
            if force.point_identifier:
                point = poses.position(load.point_in, load.point) if load.point_in != GROUND else load.point
                R, p = poses.batch_pose(force.body)
                parts.append(("p", np.einsum("fij,fi->fj", R, point - p)))
        if force.torque_identifier:
            parts.append(("T", load.moment))
        if load.force_in != GROUND:
            R, _ = poses.batch_pose(load.force_in)
            turn = {"F", "T"}
            parts = [(x, np.einsum("fij,fj->fi", R, v) if x in turn else v) for x, v in parts]
        for letter, values in parts:
            for k, axis in enumerate("xyz"):
                found.append((f"{force.body}_{force.name}_{letter}{axis}", values[:, k]))
    return found


def _acting(study: Study) -> dict[str, FloatArray]:
    """Forces of muscles that apply, as they are, and of actuators as controllers drive them."""
    on = {force.name for force in study.model.forces if force.applies_force}
    found = zip(study.muscles.names, study.muscles.tension.T, strict=True)
    return {name: force for name, force in found if name in on} | study.actuators


def _speed_of_point(study: Study, force: Force) -> FloatArray | None:
    """(frames,): what OpenSim calls the speed of an actuator at a point of a body; None of other kinds."""
    if force.kind != "PointActuator":
        return None
    (load,) = unit_loads(study.model, force, study.motion.q)
    motion = kinematics(study.model, study.motion.q, study.motion.u, threads=study.work.threads)
    return np.linalg.norm(motion.velocity(load.body, load.point), axis=1) if load.point_in != GROUND else None


def force_reporter(study: Study, analysis: ForceReporterAnalysis) -> None:
    """Forces of muscles at their states, springs, and external loads."""
    if analysis.include_constraint_forces and study.model.constraints:
        study.work.trouble(f"{analysis.name}: forces of constraints are not reported; couplings have none here")
    labels, values = force_columns(study, _acting(study))
    study.work.write(study.file(analysis, "forces"), "ModelForces", study.time, labels, values, FORCES)


def actuation(study: Study, analysis: ActuationAnalysis) -> None:
    """Force, speed and power of every actuator."""
    model, motion = study.model, study.motion
    motors = {motor.name: motor for motor in actuators_of(model)}
    forces = _acting(study)
    names = [force.name for force in model.forces if force.name in forces]
    muscles = {name: k for k, name in enumerate(study.muscles.names)}
    speed_of_path = study.muscles.geometry.speed
    assert speed_of_path is not None
    speed, power = np.zeros((len(motion), len(names))), np.zeros((len(motion), len(names)))
    along = None
    for k, name in enumerate(names):
        if name in muscles:
            speed[:, k] = speed_of_path[:, muscles[name]]
            power[:, k] = -forces[name] * speed[:, k]
            continue
        motor = motors[name]
        if motor.coordinate:
            speed[:, k] = motion.u[:, model.speed_index(motor.coordinate)]
        elif isinstance(motor.force, PathActuator):
            if along is None:
                along = path_geometry(
                    model, motion.q, motion.u, wrapping=study.muscles.geometry.wrapping, threads=study.work.threads
                )
            assert along.speed is not None
            speed[:, k] = along.speed[:, along.index(name)]
            power[:, k] = -forces[name] * speed[:, k]
            continue
        elif motor.force is not None and not isinstance(motor.force, Muscle):
            unit = generalized_force_on_bodies(model, motion.q, motor.force, study.work.threads)
            speed[:, k] = np.einsum("fu,fu->f", unit, motion.u)
            whole = None if study.work.exact else _speed_of_point(study, motor.force)
            if whole is not None:
                study.work.note(
                    f"{analysis.name}: the speed of {name} is that of its point in any direction, as in OpenSim, and "
                    "its power goes by that; --exact takes the speed along the force"
                )
                speed[:, k] = whole
        power[:, k] = forces[name] * speed[:, k]
    force = np.stack([forces[name] for name in names], axis=1) if names else np.zeros((len(motion), 0))
    for what, title, values in (
        ("force", "ActuatorForces", force),
        ("speed", "ActuatorSpeeds", speed),
        ("power", "ActuatorPowers", power),
    ):
        study.work.write(study.file(analysis, what), title, study.time, names, values, ACTUATION)
