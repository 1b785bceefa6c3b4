"""`<InverseDynamicsTool>`: generalized forces, and body forces at joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from musculo.analyses.recorded_motion import Motion, filtered_motion, motion_of, opensim_rows
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.diagnostics.loads import foot_findings, plate_findings
from musculo.diagnostics.recording_doubts import motion_findings, padding_findings
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.forces.compiled_forces import told
from musculo.forces.model_forces import passive_forces
from musculo.model.body import GROUND
from musculo.model.joints.joint import Joint
from musculo.model.model import Model
from musculo.muscle.path_loads.path_forces import path_generalized_forces
from musculo.opensim_tools.forces.control_tool import actuator_forces, controls_at, direct_activation, is_direct
from musculo.opensim_tools.forces.force_state import (
    actuators_in_motion,
    default_activation,
    muscle_forces,
    own_forces,
    say_powerless,
    springs_in_motion,
)
from musculo.opensim_tools.forces.simbody_departures import simbody_loads
from musculo.opensim_tools.listed import known_places
from musculo.opensim_tools.said_of_inputs import say_span, suggest_cutoff
from musculo.opensim_tools.tasks import InverseDynamicsTask
from musculo.opensim_tools.work import Work, by_name, largest, loads_at
from musculo.results.angle_columns import rotational_coordinates
from musculo.results.external_loads import ExternalLoads
from musculo.results.table import Table


def run_inverse_dynamics(task: InverseDynamicsTask, work: Work) -> None:
    """The generalized forces of a recorded motion."""
    complete = work.model(task.model_file)
    model = without(complete, task.forces_to_exclude, work)
    say_powerless(model, work)
    table = work.table(task.coordinates_file, "coordinates_file", task.preparation)
    loads = work.loads(task.external_loads_file, model, task.preparation, table)
    cutoff = task.lowpass_cutoff_frequency_for_coordinates
    suggest_cutoff(table, model, cutoff, work)
    work.tell(motion_findings(table, model, cutoff, opensim=not work.exact))
    work.tell(plate_findings(loads))
    work.report("filter and splines", 0.1)
    whole = motion_of(model, table, cutoff, like=work.like)
    work.notes += whole.notes
    work.check_span(task.time_range, table.time, table.source)
    rows = opensim_rows(whole.time, *task.time_range)
    motion = whole.rows(rows)
    say_span(loads, motion.time, table.time, work)
    external = loads_at(loads, motion.time)
    work.report("inverse dynamics", 0.4)
    controls = controls_at(motion.time, complete, work) if _is_controlled(model) else {}
    tau = _forces(model, motion, external, work, controls)
    if not work.exact and work.compare:
        with work.beside("OpenSim's inverse dynamics with the exact one"):
            filtered = table if cutoff < 0.0 else filtered_motion(table, cutoff, "opensim")
            _compare(model, motion_of(model, filtered).rows(rows), external, tau, work)
        with work.beside("columns of external loads in their order with those by their names"):
            _compare_columns(model, motion, loads, external, work)
    if not work.exact:
        _say_paths(model, table, cutoff, rows, external, tau, work, controls)
    if task.check:
        with work.beside("both formulations"):
            work.looked_at(_agreement(model, motion, external, work))
    work.tell(padding_findings(table.time, motion.time))
    work.tell(foot_findings(model, motion.q, external, loads))
    work.report("writing", 0.9)
    names, columns = moment_columns(model)
    _say_names(task, work)
    work.write(task.forces_name, "Inverse Dynamics Generalized Forces", motion.time, names, tau[:, columns])
    joints = _joints(model, task.joints_to_report_body_forces, work)
    if joints:
        labels, values = _body_forces(model, motion, tau, joints)
        title = "Inverse Dynamics Body Forces at Specified Joints"
        work.write(task.body_forces_name, title, motion.time, labels, values)


def _say_names(task: InverseDynamicsTask, work: Work) -> None:
    """Names of results that are not those that the set-up states."""
    for what, stated, name in (
        ("output_gen_force_file", task.output_gen_force_file, task.forces_name),
        ("output_body_forces_file", task.output_body_forces_file, task.body_forces_name),
    ):
        if not stated:
            work.note(f"{what} has no name: it is {name} (OpenSim writes a file that is called .sto)")
        elif "/" in stated or "\\" in stated:
            work.note(f"{what} is {stated!r}: its folder is ignored, as in OpenSim, for results_directory")


def without(model: Model, excluded: Sequence[str], work: Work) -> Model:
    """The model without forces that a set-up excludes: All, actuators, muscles, or names; case does not matter."""
    words = {word.lower() for word in excluded}
    muscles = {m.name for m in model.muscles}
    kept = []
    for force in model.forces:
        actuator = force.name in muscles or "actuator" in force.kind.lower()
        gone = "all" in words or ("actuators" in words and actuator) or ("muscles" in words and force.name in muscles)
        if not gone and force.name not in excluded:
            kept.append(force)
    known = {"all", "actuators", "muscles", *(force.name.lower() for force in model.forces)}
    unknown = [word for word in excluded if word.lower() not in known]
    if unknown:
        work.note(f"forces_to_exclude names what the model does not have, groups included: {', '.join(unknown)}")
    return model.replace(forces=tuple(kept))


def _is_controlled(model: Model) -> bool:
    """Whether controls make a difference: to actuators, and to muscles without activation dynamics."""
    return bool(actuators_of(model)) or any(is_direct(m) for m in model.muscles)


def _forces(
    model: Model, motion: Motion, external: list[ExternalLoad], work: Work, controls: Mapping[str, FloatArray]
) -> FloatArray:
    """Of all speeds: what the motion needs less what forces of the model give."""
    added = [] if work.exact else simbody_loads(model, motion.q, motion.u)
    driven = actuator_forces(model, len(motion), controls)
    given, acting = actuators_in_motion(model, motion, driven, work.wrapping, work.threads)
    loads = [*external, *added, *acting]
    tau = inverse_dynamics(model, motion.q, motion.u, motion.udot, loads, threads=work.threads) - given
    if any(force.applies_force and force.path is not None for force in model.forces):
        activation = None
        if any(is_direct(m) for m in model.muscles):
            start = np.broadcast_to(default_activation(model), (len(motion), len(model.muscles)))
            activation = direct_activation(model, start, controls, work)
        state = muscle_forces(model, motion, work, False, activation)
        tau = tau - path_generalized_forces(state.geometry, state.tension, state.names)
        tau = tau - springs_in_motion(model, motion, work.wrapping, work.threads)
    tau = tau - own_forces(model, motion, work)
    lost = told(model)
    if lost:
        work.trouble(f"forces that are not computed and do not act: {lost}; exclude them, or do without")
    return tau


def _agreement(model: Model, motion: Motion, external: list[ExternalLoad], work: Work) -> Finding:
    """Whether absolute coordinates give the same loads of all joints."""
    from musculo.absolute.two_formulations import agreement

    found = agreement(model, motion.q, motion.u, motion.udot, external, threads=work.threads)
    severity = Severity.GOOD if found.agree else Severity.WRONG
    return Finding(str(found), severity, "Two formulations", "" if found.agree else "report it, with the model")


def _compare(model: Model, motion: Motion, external: list[ExternalLoad], theirs: FloatArray, work: Work) -> None:
    exact = inverse_dynamics(model, motion.q, motion.u, motion.udot, external, threads=work.threads)
    if any(force.applies_force and force.path is not None for force in model.forces):
        return
    exact = exact - passive_forces(model, motion.q, motion.u, motion.time, threads=work.threads)[0]
    apart, worst = largest(model.speed_names, exact, theirs)
    scale = float(np.abs(theirs).max(initial=0.0))
    if apart > 1e-9 * scale:
        work.note(
            f"OpenSim's inverse dynamics (couplings not imposed, Simbody's velocity term of custom joints) differs "
            f"from the exact one by up to {apart:.3g} at {worst!r}, with forces up to {scale:.4g} (--exact)"
        )
    e = embedding_of(model)
    if e.rules and not e.unsolved:
        followed = [rule.dependent for rule in e.rules]
        work.note(
            f"forces at {', '.join(followed)} stand for themselves, as OpenSim prints them; what drives the "
            "independent coordinates is embedding_of(model).pull_back(q, tau)"
        )


def _compare_columns(
    model: Model, motion: Motion, loads: ExternalLoads | None, external: list[ExternalLoad], work: Work
) -> None:
    """What it makes of the forces that columns of loads are used by their order."""
    named = by_name(loads)
    if named is loads:
        return
    ours, theirs = (
        inverse_dynamics(model, motion.q, motion.u, motion.udot, acting, threads=work.threads)
        for acting in (loads_at(named, motion.time), external)
    )
    apart, worst = largest(model.speed_names, ours, theirs)
    work.note(
        f"with the columns of the external loads by their names the forces differ by up to {apart:.3g} at {worst!r} "
        "(--exact)"
    )


def _say_paths(
    model: Model,
    table: Table,
    cutoff: float,
    rows: slice,
    external: list[ExternalLoad],
    ours: FloatArray,
    work: Work,
    controls: Mapping[str, FloatArray],
) -> None:
    """Coordinates whose columns go by paths, which OpenSim's inverse dynamics does not find; its analyses do."""
    found = {name: k for name in model.coordinate_names if (k := table.find(name)) is not None}
    paths = [name for name, k in found.items() if table.names[k] != name]
    if not paths:
        return
    differ = ""
    if work.compare:
        with work.beside("these forces with OpenSim's"):
            values, angles = np.array(table.values), rotational_coordinates(model)
            for name in paths:
                value = model.coordinate(name).default_value
                values[:, found[name]] = np.degrees(value) if table.degrees and name in angles else value
            still = motion_of(model, replace(table, values=values), cutoff, like="opensim").rows(rows)
            apart, worst = largest(model.speed_names, ours, _forces(model, still, external, work, controls))
            differ = f" by up to {apart:.4g} ({worst})"
    shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    work.note(
        f"{table.source}: columns go by paths ({table.names[found[paths[0]]]}), and are read; OpenSim's inverse "
        f"dynamics finds coordinates by their bare names only, and takes {shown} at their default values: its forces "
        f"differ from these{differ}"
    )


def tree_order(model: Model) -> tuple[Joint, ...]:
    """Joints level by level from ground, in file order within a level: how Simbody numbers its mobilized bodies."""
    level, left, found = {GROUND}, list(model.joints), []
    while left and level:
        now = [j for j in left if (j.parent.body in level) != (j.child.body in level)]
        level = {j.child.body if j.parent.body in level else j.parent.body for j in now}
        found += now
        left = [j for j in left if j not in now]
    return (*found, *left)


def moment_columns(model: Model) -> tuple[list[str], list[int]]:
    """OpenSim's names of generalized forces in its order, and the speeds they belong to."""
    angles = rotational_coordinates(model)
    speeds = [name for joint in tree_order(model) for name in joint.speed_names]
    names = [f"{name}_{'moment' if name in angles else 'force'}" for name in speeds]
    return names, [model.speed_index(name) for name in speeds]


def _joints(model: Model, wanted: Sequence[str], work: Work) -> tuple[Joint, ...]:
    if any(word.lower() == "all" for word in wanted):
        return model.joints
    places = known_places("joint", "joints_to_report_body_forces", wanted, model.joint_names, work)
    return tuple(model.joint(wanted[k]) for k in places)


def _body_forces(
    model: Model, motion: Motion, tau: FloatArray, joints: Sequence[Joint]
) -> tuple[list[str], FloatArray]:
    """Force and moment of least size, in ground, that give the generalized forces of a joint.

        M = pinv(H_w^T) tau  of the speeds that turn more than they move the child frame's origin (rad against m),
        F = pinv(H_v^T) tau  of the others,   H the twist of the child frame by the joint's speeds

    Source: OpenSim 4.6's InverseDynamicsTool, observed: a patella changes from moment to force where |h_w| < |h_v|.
    """
    poses = kinematics(model, motion.q)
    labels, values = [], np.zeros((len(motion), len(joints), 6))
    for k, joint in enumerate(joints):
        frame = joint.child.name or joint.child.body
        labels += [f"{joint.name}_{frame}_{axis}" for axis in ("FX", "FY", "FZ", "MX", "MY", "MZ")]
        speeds = [model.speed_index(name) for name in joint.speed_names]
        if not speeds:
            continue
        path = f"/jointset/{joint.name}/{joint.child.name}" if joint.child.name else joint.child.body
        H = poses.frame_jacobian(path)[:, :, speeds]
        Hw, Hv, t = H[:, :3], H[:, 3:], tau[:, speeds]
        turns = np.linalg.norm(Hw, axis=1) >= np.linalg.norm(Hv, axis=1)  # (frames, speeds)
        M = _least(np.where(turns[:, None], Hw, 0.0), t)
        F = _least(np.where(turns[:, None], 0.0, Hv), t)
        values[:, k, :3], values[:, k, 3:] = F, M
    return labels, values.reshape(len(motion), -1)


def _least(H: FloatArray, tau: FloatArray) -> FloatArray:
    """(frames, 3): the shortest x with H^T x = tau, in the speeds whose columns are not zero."""
    return np.einsum("fij,fj->fi", np.linalg.pinv(np.swapaxes(H, 1, 2), rcond=1e-10), tau)
