"""`<JointReaction>`: what joints carry."""

from __future__ import annotations

import posixpath
from pathlib import Path

import numpy as np

from musculo.analyses.applied_forces import all_tensions, given_forces
from musculo.analyses.joint_loads import JointLoads, function_paths_in_words, joint_loads
from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.arrays import FloatArray
from musculo.dynamics.loads.load_choice import SIDES
from musculo.errors import InvalidInput, UnknownName
from musculo.io.setup import JointReactionAnalysis
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.muscle.path_loads.path_wrenches import path_wrenches
from musculo.opensim_tools.analyze_tool.analysis_study import Study
from musculo.opensim_tools.forces.force_state import accelerations, own_forces
from musculo.opensim_tools.listed import ALL, everything, known_places, once
from musculo.opensim_tools.records.descriptions import JOINT_REACTION
from musculo.opensim_tools.records.record import filters_of
from musculo.opensim_tools.tasks import LoadsOfGivenForces
from musculo.opensim_tools.work import Work, largest
from musculo.results.table import Table

_TITLE_OF_ACTIVATIONS = "Static Optimization"  # OpenSim's and ours
# Muscles that can pull so hard do not give one newton at most in a whole motion [N].
_MUCH_STRONGER = 100.0


def joint_reaction(study: Study, analysis: JointReactionAnalysis) -> None:
    """Write the loads that joints transmit.

    As OpenSim, with the accelerations that the forces give to the model; where exact, with those of the motion.
    """
    model, motion, work = study.model, study.motion, study.work
    wanted = _known_joints(study, analysis)
    if wanted is None:
        return
    forces = _given(study, analysis)
    muscles = {name: forces[name] for name in model.muscle_names}
    motors = {motor.name: forces[motor.name] for motor in actuators_of(model)}
    paths = path_wrenches(model, motion.q, motion.u, wrapping=work.wrapping, threads=work.threads)
    study.tell_paths(paths, model.muscle_names, analysis.name)
    loads = [*study.loads, *study.simbody]
    udot = motion.udot
    if not work.exact:
        given = given_forces(model, motion.q, muscles, motors, None)
        tension = all_tensions(model, given, paths, work.threads)
        tau = given.on_speeds + (tension[:, None] @ paths.moment_arm)[:, 0] + own_forces(model, motion, work)
        udot = accelerations(model, motion, tau, [*loads, *given.on_bodies], work.threads)
    options = {
        "muscle_forces": muscles,
        "actuator_forces": motors,
        **wanted,
        "geometry": paths,
        "method": "exact" if work.exact else "opensim",
        "time": motion.time,
        "threads": work.threads,
    }
    found = joint_loads(model, motion.q, motion.u, udot, loads=loads, **options)  # type: ignore[arg-type]
    if found.left_out:
        work.trouble(f"{analysis.name} lacks forces that are not computed: {', '.join(found.left_out)}")
    for text in function_paths_in_words(model):
        work.note(f"{analysis.name}: {text}")
    table = found.to_table(study.time)
    work.write(study.file(analysis, "ReactionLoads"), table.name, study.time, table.names, table.values, JOINT_REACTION)
    if study.compared:
        with work.beside(f"{analysis.name} with the exact method"):
            still = study.exact_motion
            exact = joint_loads(model, motion.q, motion.u, still.udot, loads=study.exact_loads, **options)  # type: ignore[arg-type]
            _say_apart(analysis.name, found, exact, work)


def _say_apart(name: str, found: JointLoads, exact: JointLoads, work: Work) -> None:
    """By how much loads with the accelerations of the motion are others."""
    names = [f"{load}_{axis}" for load in found.names for axis in "xyz"]
    parts = []
    for what, unit, ours, theirs in (
        ("forces", "N", exact.force, found.force),
        ("moments", "N m", exact.moment, found.moment),
    ):
        apart, worst = largest(names, ours.reshape(len(ours), -1), theirs.reshape(len(ours), -1))
        parts.append(f"{what} differ by up to {apart:.3g} {unit} ({worst})")
    work.note(
        f"{name}: loads go with the accelerations that the forces give, as in OpenSim; with those of the motion "
        f"{' and '.join(parts)} (--exact)"
    )


def _known_joints(study: Study, analysis: JointReactionAnalysis) -> dict[str, tuple[str, ...] | None] | None:
    """Joints, sides and frames that are asked for, less joints that the model lacks; None where none is left."""
    names, work = analysis.joint_names or (ALL,), study.work
    sides = tuple(side.lower() for side in analysis.apply_on_bodies) or ("child",)
    frames = tuple(_frame(study.model, stated) for stated in analysis.express_in_frame) or (GROUND,)
    if everything(names):
        return {"joints": None, "on": sides, "frame": frames}
    kept = known_places("joint", analysis.name, names, study.model.joint_names, work)
    if not kept:
        work.trouble(f"analysis {analysis.name!r} was ignored: its <joint_names> has no joint of the model")
        return None

    def some(words: tuple[str, ...]) -> tuple[str, ...]:
        """Of the joints that are left; a list that fits neither one nor all of them is refused later."""
        return tuple(words[k] for k in kept) if len(words) == len(names) else words

    joints, sides, frames = some(names), some(sides), some(frames)
    if len(set(joints)) == len(joints):
        return {"joints": joints, "on": sides, "frame": frames}
    count = len(joints)
    asked = zip(joints, sides * (count // len(sides)), frames * (count // len(frames)), strict=True)
    apart = list(dict.fromkeys(asked))
    if len(apart) < count:
        once(joints, analysis.name, work)
    one, on, where = zip(*apart, strict=True)
    return {"joints": one, "on": on, "frame": where}


def _frame(model: Model, stated: str) -> str:
    """A frame as OpenSim finds it: by its name or path, or by its path from the model, its bodies or its joints on."""
    if stated in SIDES:
        return stated
    path = posixpath.normpath(f"/{stated}")
    for known in (stated, path, f"/bodyset{path}", f"/jointset{path}"):
        try:
            model.placement(known)
        except UnknownName:
            continue
        return known
    return stated


def _given(study: Study, analysis: JointReactionAnalysis) -> dict[str, FloatArray]:
    """Forces of all muscles and actuators, from the file by name, or from the states of muscles."""
    model, work = study.model, study.work
    actuators = [*model.muscle_names, *(motor.name for motor in actuators_of(model))]
    only_given = work.exact and isinstance(analysis, LoadsOfGivenForces)
    idle = {name: np.zeros(len(study.time)) for name in actuators}
    if analysis.forces_file is None:
        if only_given:
            return idle
        work.note(
            f"{analysis.name}: no forces_file: muscles at their states and actuators at their controls, which may not "
            "fit the motion"
        )
        return _states(study)
    table = work.table(analysis.forces_file, "forces_file")
    _say_origin(study, analysis.name, analysis.forces_file, table)
    if only_given:  # columns may go by the paths of muscles and actuators, which OpenSim would not find
        path = "/forceset/"
        table = table.rename({n: n.removeprefix(path) for n in table.names if n.removeprefix(path) in actuators})
    missing = [name for name in actuators if name not in table.names]
    if missing and only_given:
        work.trouble(
            f"{analysis.name}: {analysis.forces_file} has no column for {', '.join(missing[:6])}"
            f"{' and more' if len(missing) > 6 else ''}; they give nothing here"
        )
        actuators = [name for name in actuators if name in table.names]
    elif missing:
        work.trouble(
            f"{analysis.name}: {analysis.forces_file} has no column for {', '.join(missing[:6])}; OpenSim then ignores "
            "the file, and so does this: loads are those of muscles at their states"
        )
        return _states(study)
    places = [table.names.index(name) for name in actuators]
    _say_pushing(study, analysis.name, analysis.forces_file, table)
    _refuse_activations(study, analysis.name, analysis.forces_file, table)
    if max(places, default=0) >= len(actuators) and not only_given:
        work.note(
            f"{analysis.name}: forces are looked up by name; OpenSim looks only at the first {len(actuators)} columns "
            f"of {analysis.forces_file} and reads other memory for the rest"
        )
    return idle | {name: _linear(table, place, study.time) for name, place in zip(actuators, places, strict=True)}


def _say_origin(study: Study, name: str, file: Path, table: Table) -> None:
    """Whether the forces were found with loads, or with a filter, that are not those of this run."""
    ends = ("_Fx", "_Fy", "_Fz", "_Tx", "_Ty", "_Tz")  # as `force_columns` writes external forces
    bodies = tuple(f"{body}_" for body in study.model.body_names)
    external = [
        n for k, n in enumerate(table.names) if n.endswith(ends) and n.startswith(bodies) and table.values[:, k].any()
    ]
    if external and study.external is None:
        which = ", ".join(dict.fromkeys(column[:-3] for column in external))
        study.work.trouble(
            f"{name}: {file} holds forces that were found with external loads ({which}), and no loads are given here: "
            "the loads of joints lack them; give the same loads (--loads, or external_loads_file)"
        )
    first, last = float(table.time[0]), float(table.time[-1])
    outside = int(((study.time < first - 1e-6) | (study.time > last + 1e-6)).sum())
    if outside == len(study.time):
        study.work.nothing_shared(
            f"{name}: all {len(study.time)} frames, {study.time[0]:g} to {study.time[-1]:g} s, lie outside {file}, "
            f"which lasts from {first:g} to {last:g} s"
        )
    elif outside:
        span = study.work.advised_span(max(first, float(study.time[0])), min(last, float(study.time[-1])))
        study.work.trouble(
            f"{name}: {outside} of {len(study.time)} frames lie outside {file}, which lasts from {first:g} to "
            f"{last:g} s and whose ends they get: {span}"
        )
    then, now = filters_of(file), (max(study.cutoff, -1.0), study.loads_cutoff)
    kinds = ("coordinates", "external loads") if study.external is not None else ("coordinates",)
    for what, before, here in zip(kinds, then or now, now, strict=False):
        if before != here:
            told = ["not filtered" if c < 0.0 else f"filtered at {c:g} Hz" for c in (before, here)]
            study.work.note(
                f"{name}: the {what} were {told[0]} where {file} was made, and are {told[1]} here; forces and motion "
                "fit each other only with the same filter"
            )


def _say_pushing(study: Study, name: str, file: Path, table: Table) -> None:
    """Muscles whose forces are negative by more than rounding."""
    low = {m: float(table.column(m).min(initial=0.0)) for m in study.model.muscle_names if m in table.names}
    largest = float(np.abs(table.values).max(initial=0.0))
    pushing = {m: value for m, value in low.items() if value < -1e-6 * largest}
    if pushing:
        worst = min(pushing, key=lambda m: pushing[m])
        study.work.note(
            f"{name}: {len(pushing)} muscles push in {file}, {worst} with {-pushing[worst]:.4g} N at most; muscles "
            "only pull: look at the signs of its columns"
        )


def _refuse_activations(study: Study, name: str, file: Path, table: Table) -> None:
    """A file of activations, which static optimization leaves beside that of forces: 0 to 1, of muscles far stronger.

    What says of itself that it is one is refused, but for a set-up file that is run as OpenSim runs it.
    """
    model, work = study.model, study.work
    muscles = [m for m in model.muscles if m.name in table.names]
    values = np.stack([table.column(m.name) for m in muscles], axis=1) if muscles else np.zeros((0, 0))
    strongest = max((m.max_isometric_force for m in muscles), default=0.0)
    if not (values.any() and values.min() >= 0.0 and values.max() <= 1.0 + 1e-6 and strongest > _MUCH_STRONGER):
        return
    said = (
        f"{name}: {file} has nothing but 0 to {values.max():.3g} for muscles of up to {strongest:.4g} N, which are "
        "activations and no forces"
    )
    if (table.name == _TITLE_OF_ACTIVATIONS or "activation" in file.name.lower()) and (work.exact or not work.of_file):
        raise InvalidInput(f"{said}; give the file of forces (..._force.sto)")
    work.trouble(f"{said}, and are read as newtons: the loads of joints lack the muscles; give the file of forces")


def _linear(table: Table, column: int, time: FloatArray) -> FloatArray:
    """A column at other times, by lines; beyond the ends it keeps its value."""
    return np.interp(time, table.time, table.values[:, column])


def _states(study: Study) -> dict[str, FloatArray]:
    return dict(zip(study.muscles.names, study.muscles.tension.T, strict=True)) | study.actuators
