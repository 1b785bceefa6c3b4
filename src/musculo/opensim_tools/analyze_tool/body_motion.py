"""`<BodyKinematics>` and `<PointKinematics>`: how bodies and points of them move."""

from __future__ import annotations

from musculo.analyses.body_kinematics import body_kinematics, point_kinematics
from musculo.io.setup import BodyKinematicsAnalysis, PointKinematicsAnalysis
from musculo.model.body import GROUND
from musculo.opensim_tools.analyze_tool.analysis_study import Study
from musculo.opensim_tools.listed import once
from musculo.opensim_tools.records.descriptions import POINT
from musculo.opensim_tools.records.descriptions import bodies as about_bodies

_WHOLE = "center_of_mass"


def body_files(study: Study, analysis: BodyKinematicsAnalysis) -> None:
    """Mass centers and orientations of bodies; accelerations are those of the model under its own forces."""
    model, work = study.model, study.work
    everything = any(word.lower() == "all" for word in analysis.bodies)
    listed = [name for name in analysis.bodies if name != _WHOLE]
    bodies = None if everything else once(listed, analysis.name, work)
    local = analysis.express_results_in_body_local_frame
    found = body_kinematics(
        model,
        study.motion.q,
        study.motion.u,
        study.accelerations,
        bodies=bodies,
        in_body_frame=local,
        threads=work.threads,
    )
    whole = everything or _WHOLE in analysis.bodies
    description = about_bodies(model.name, local)
    for what, table in found.tables(study.time, analysis.in_degrees, whole).items():
        name = f"{what}_{'bodyLocal' if local and what != 'pos' else 'global'}"
        file = study.file(analysis, name)
        work.write(file, table.name, study.time, table.names, table.values, description, analysis.in_degrees)


def point_files(study: Study, analysis: PointKinematicsAnalysis) -> None:
    """Position, velocity and acceleration of one point."""
    work = study.work
    other = analysis.relative_to_body_name
    if other.lower() not in ("none", "", GROUND, *(name.lower() for name in study.model.body_names)) and work.of_file:
        work.note(f"{analysis.name}: {other!r} of relative_to_body_name is not a body: ground is used, as OpenSim does")
        other = GROUND
    found = point_kinematics(
        study.model,
        study.motion.q,
        study.motion.u,
        study.accelerations,
        analysis.body_name,
        analysis.point,
        None if other.lower() in ("none", "", GROUND) else other,
        like=work.like,
        threads=work.threads,
    )
    for what, table in found.tables(study.time).items():
        file = study.file(analysis, f"{analysis.point_name}_{what}")
        work.write(file, table.name, study.time, table.names, table.values, POINT)
