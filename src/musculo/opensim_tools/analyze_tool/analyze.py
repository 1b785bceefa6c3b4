"""`<AnalyzeTool>`: its analyses, one after the other, on one motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from musculo.analyses.muscle_analysis import moment_arms, muscle_analysis
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, Unsupported
from musculo.io.setup import (
    ActuationAnalysis,
    Analysis,
    BodyKinematicsAnalysis,
    ForceReporterAnalysis,
    JointReactionAnalysis,
    KinematicsAnalysis,
    MuscleAnalysis,
    OtherAnalysis,
    PointKinematicsAnalysis,
    StaticOptimizationAnalysis,
)
from musculo.model.force import Muscle
from musculo.muscle.fibers.compile_muscles import not_computed
from musculo.muscle.fibers.equilibrium import Status
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.opensim_tools.analyze_tool.analysis_study import Study, study_of
from musculo.opensim_tools.analyze_tool.body_motion import body_files, point_files
from musculo.opensim_tools.analyze_tool.force_tool import actuation, force_reporter
from musculo.opensim_tools.analyze_tool.joint_reaction import joint_reaction
from musculo.opensim_tools.analyze_tool.static_optimization_tool import static_optimization
from musculo.opensim_tools.forces.force_state import default_activation
from musculo.opensim_tools.listed import chosen
from musculo.opensim_tools.records.descriptions import MUSCLES, UNITS
from musculo.opensim_tools.tasks import AnalyzeTask, MusclesAtActivations
from musculo.opensim_tools.work import Work, largest
from musculo.results.angle_columns import angle_columns
from musculo.results.table import Table

# Recorded muscles exceed the activation of their test contraction, but never by so much.
_NO_ACTIVATION = 10.0


def run_analyze(task: AnalyzeTask, work: Work) -> None:
    """Every analysis that is on; one that is not known is named and the rest goes on."""
    work.precision = task.output_precision
    study = study_of(task, work)
    if not any(analysis.on for analysis in task.analyses):
        work.trouble("the set-up asks for no analysis that is on")
    run_analyses(task.analyses, study, 0.2)


def run_analyses(analyses: Sequence[Analysis], study: Study, done: float) -> None:
    """Every analysis that is on, where this part of all work is done already."""
    work = study.work
    wanted = _in_order([analysis for analysis in analyses if analysis.on], work)
    for k, analysis in enumerate(wanted):
        work.report(analysis.name, done + (1.0 - done) * k / len(wanted))
        run = next((RUNNERS[kind] for kind in type(analysis).__mro__ if kind in RUNNERS), None)
        if run is None:
            kind = analysis.element if isinstance(analysis, OtherAnalysis) else type(analysis).__name__
            work.trouble(f"analysis {analysis.name!r}: <{kind}> is not known and was ignored")
            continue
        try:
            run(study.recorded(analysis), analysis)
        except Unsupported as error:
            work.trouble(f"analysis {analysis.name!r} was ignored: {error}")


def _in_order(analyses: Sequence[Analysis], work: Work) -> list[Analysis]:
    """Analyses as listed, but for joint reactions whose forces the static optimization of the same set-up makes.

    OpenSim opens their file before anything runs, which then holds the forces of an earlier run, and stops where there
    is none. The exact method uses the forces of this run.
    """

    own = [one for one in analyses if isinstance(one, JointReactionAnalysis) and one.forces_file in work.results]
    others = [one for one in analyses if one not in own]
    earlier = [] if work.exact else [one for one in own if one.forces_file is not None and one.forces_file.exists()]
    for one in own:
        if one in earlier:
            work.trouble(
                f"{one.name}: {one.forces_file} is made by the static optimization of this set-up; as OpenSim, this "
                "used the forces that it held before, of an earlier run (--exact uses those of this one)"
            )
        elif not work.exact:
            work.note(f"{one.name}: forces are those of this run; OpenSim stops where there is no {one.forces_file}")
    return [*earlier, *others, *(one for one in own if one not in earlier)]


def kinematics_files(study: Study, analysis: KinematicsAnalysis) -> None:
    """Coordinates, speeds and accelerations. OpenSim's accelerations are those of the model under its own forces."""
    model, work = study.model, study.work
    names = model.coordinate_names
    if not any(word.lower() == "all" for word in analysis.coordinates):
        names = tuple(analysis.coordinates)
    columns = [model.coordinate_index(name) for name in names]
    rows = [model.speed_index(name) if name in model.speed_names else -1 for name in names]
    if -1 in rows:
        raise Unsupported("the rates of quaternion coordinates are not speeds; change the joint to angles")
    factor = np.ones(len(names))
    if analysis.in_degrees:
        factor[angle_columns(names, model)] = 180.0 / np.pi

    def write(what: str, title: str, values: FloatArray) -> None:
        file = study.file(analysis, what)
        work.write(file, title, study.time, names, values * factor, UNITS, analysis.in_degrees)

    write("q", "Coordinates", study.motion.q[:, columns])
    write("u", "Speeds", study.motion.u[:, rows])
    udot = study.accelerations
    write("dudt", "Accelerations", udot[:, rows])
    if study.compared:
        apart, worst = largest(names, study.exact_motion.udot[:, rows] * factor, udot[:, rows] * factor)
        work.note(
            f"{analysis.name}: dudt is how the model would fall under its own forces, as OpenSim writes it; the "
            f"accelerations of the motion differ by up to {apart:.3g} ({worst}) (--exact)"
        )


def muscle_files(study: Study, analysis: MuscleAnalysis) -> None:
    """Lengths, states, forces, powers, moment arms and moments of muscles."""
    model, work = study.model, study.work
    if isinstance(analysis, MusclesAtActivations):
        if not model.muscles:
            raise InvalidInput(f"the model {model.name!r} has no muscles, so there is nothing to analyze")
        if analysis.activation_file is not None:
            table = work.table(analysis.activation_file, "activation_file")
            study = replace(study, activation=_activations(study, table))
    muscles = chosen("muscle", analysis.name, analysis.muscle_list, model.muscle_names, work, alone=True)
    if model.muscles and not muscles:
        work.trouble(f"analysis {analysis.name!r} was ignored: its <muscle_list> has no muscle of the model")
        return
    coordinates: tuple[str, ...] = ()
    if analysis.compute_moments:
        listed = analysis.moment_arm_coordinate_list
        coordinates = chosen("coordinate", analysis.name, listed, model.coordinate_names, work)
    lost = [why for m in model.muscles if (why := not_computed(m))]
    if lost:
        more = f" (and {len(lost) - 1} more)" if lost[1:] else ""
        work.trouble(f"analysis {analysis.name!r}: {lost[0]}{more}; only its length and moment arms are written")
        _path_files(study, analysis, muscles, coordinates)
        study = _computed(study)
        model, muscles = study.model, tuple(name for name in muscles if name in study.model.muscle_names)
        if not muscles:
            return
    state = study.muscles.forces
    on = np.array([m.applies_force for m in model.muscles], dtype=bool)
    balanced = work.exact or (study.equilibrium and on.all())
    fibers = None if balanced or state is None else state.fiber_length
    found = muscle_analysis(
        model,
        study.motion.q,
        study.motion.u,
        study.muscles.activation,
        fiber_length=fibers,
        coordinates=coordinates,
        method=work.method,
        wrapping=work.wrapping,
        threads=work.threads,
    )
    off = [m.name for m in model.muscles if not m.applies_force and m.name in muscles]
    if off:
        # what a muscle gives is nothing where it is switched off
        found = replace(found, tendon_force=found.tendon_force * on, moment=found.moment * on[:, None])
        left = "" if balanced else ", and their fibers are as long as at the start, in no equilibrium, as in OpenSim"
        more = f" and {len(off) - 3} more" if off[3:] else ""
        work.note(
            f"{analysis.name}: muscles that apply no force: {', '.join(off[:3])}{more}; their TendonForce and moments "
            f"are 0{left}"
        )
    over = (found.status == Status.OVERSTRETCHED).any(axis=0)
    names = [name for name, one in zip(found.muscles, over, strict=True) if one and name in muscles]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        work.note(
            f"{analysis.name}: at some frames a fiber or tendon is longer than any intact one ({shown}): do tendon "
            "slack lengths fit the model?"
        )
    if not lost:
        study.tell_paths(study.muscles.geometry, muscles, analysis.name)
    for what, table in found.tables(study.time, muscles).items():
        if not (lost and what.startswith(("Length", "MomentArm_"))):
            work.write(study.file(analysis, what), what, study.time, table.names, table.values, MUSCLES)


def _path_files(study: Study, analysis: MuscleAnalysis, muscles: Sequence[str], coordinates: tuple[str, ...]) -> None:
    """Lengths and moment arms, which muscles of every kind have."""
    g = muscle_geometry(
        study.model, study.motion.q, study.motion.u, wrapping=study.work.wrapping, threads=study.work.threads
    )
    study.tell_paths(g, muscles, analysis.name)
    columns = [g.index(name) for name in muscles]
    arms = moment_arms(study.model, g, study.motion.q, coordinates, study.work.method)
    parts = {"Length": g.length} | {f"MomentArm_{name}": arms[:, :, k] for k, name in enumerate(coordinates)}
    for what, values in parts.items():
        study.work.write(study.file(analysis, what), what, study.time, tuple(muscles), values[:, columns], MUSCLES)


def _computed(study: Study) -> Study:
    """The same study of a model without the muscles whose forces are not computed."""
    model = study.model
    kept = [k for k, m in enumerate(model.muscles) if not not_computed(m)]
    forces = tuple(f for f in model.forces if not (isinstance(f, Muscle) and not_computed(f)))
    return replace(
        study,
        model=model.replace(forces=forces),
        activation=None if study.activation is None else study.activation[:, kept],
        fiber_length=None if study.fiber_length is None else study.fiber_length[:, kept],
    )


def _activations(study: Study, table: Table) -> FloatArray:
    """(frames, muscles): columns by name or by state, between rows by lines; the default where there is none."""
    names = study.model.muscle_names
    found = [
        table.find(name) if table.find(name) is not None else table.find(f"/forceset/{name}/activation")
        for name in names
    ]
    missing = [name for name, k in zip(names, found, strict=True) if k is None]
    if len(missing) == len(names):
        raise InvalidInput(f"{table.source} has no column of a muscle; its columns: {', '.join(table.names[:12])}")
    if missing:
        study.work.trouble(f"{table.source} has no activation of {', '.join(missing)}: set to the default")
    if study.time[0] < table.time[0] - 1e-6 or study.time[-1] > table.time[-1] + 1e-6:
        study.work.trouble(
            f"{table.source} lasts from {table.time[0]:g} to {table.time[-1]:g} s; frames outside have the activations "
            "of its ends (--time)"
        )
    default = default_activation(study.model)
    columns = [
        np.full(len(study.time), default[m]) if k is None else np.interp(study.time, table.time, table.values[:, k])
        for m, k in enumerate(found)
    ]
    values = np.stack(columns, axis=1)
    highest = float(values.max(initial=0.0))
    if highest > _NO_ACTIVATION:
        raise InvalidInput(
            f"{table.source} has values up to {highest:.4g}, and activations are 0 to 1; is it the file of forces? "
            "Give that of activations (..._activation.sto)"
        )
    if highest > 1.0 + 1e-6 or float(values.min(initial=0.0)) < -1e-6:
        study.work.trouble(f"{table.source} has values beyond 0 to 1, up to {highest:.4g}: they are cut to that")
    return np.clip(values, 0.0, 1.0)


RUNNERS: dict[type[Analysis], Callable[[Study, Any], None]] = {
    StaticOptimizationAnalysis: static_optimization,
    MuscleAnalysis: muscle_files,
    KinematicsAnalysis: kinematics_files,
    JointReactionAnalysis: joint_reaction,
    BodyKinematicsAnalysis: body_files,
    PointKinematicsAnalysis: point_files,
    ActuationAnalysis: actuation,
    ForceReporterAnalysis: force_reporter,
}
