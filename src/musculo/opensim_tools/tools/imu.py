"""`<IMUPlacer>` and `<IMUInverseKinematicsTool>`: a model with its sensors, and a motion from their orientations."""

from __future__ import annotations

import numpy as np

from musculo.analyses.inverse_kinematics.follow_recording import InverseKinematics, inverse_kinematics
from musculo.analyses.scaling.sensor_placement import PlacedSensors, place_sensors
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, MusculoError
from musculo.io.osim import write_osim
from musculo.io.setup import IMUInverseKinematicsSetup, IMUPlacerSetup
from musculo.io.tool_results import write_table
from musculo.model.model import Model
from musculo.opensim_tools.tasks import SensorTask
from musculo.opensim_tools.tools.inverse_kinematics_tool import say_status, say_undetermined
from musculo.opensim_tools.work import Work
from musculo.results.angle_columns import angle_columns, rotational_coordinates
from musculo.results.orientations import Orientations
from musculo.spatial.rotation import axis_rotation

# Headings nearer than this to each other are the same [rad].
_SAME_HEADING = 1e-6


def run_imu_placer(setup: IMUPlacerSetup, work: Work) -> None:
    """Write the model with a frame for each sensor, turned as it was in the first frame of the calibration.

    OpenSim's heading is the angle of two axes in space and too large where one is not level; with `exact` it is the
    angle seen from above.
    """
    model = work.model(setup.model_file)
    still = work.orientations(
        setup.orientation_file_for_calibration,
        "orientation_file_for_calibration",
        setup.sensor_to_opensim_rotations,
    )
    based = bool(setup.base_imu_label and setup.base_heading_axis)
    if setup.base_imu_label and not based:
        work.note("base_imu_label is stated without base_heading_axis: no heading is corrected, as in OpenSim")
    base = {"base": setup.base_imu_label, "heading_axis": setup.base_heading_axis} if based else {}
    work.report("placing sensors", 0.3)
    placed = place_sensors(model, still, **base, like=work.like)  # type: ignore[arg-type]
    if placed.unplaced:
        work.note(f"no body of the model is named for {', '.join(placed.unplaced)}: these sensors are ignored")
    if based:
        work.note(
            f"heading: measurements are turned by {np.degrees(placed.heading):.4f} deg about y, so that "
            f"{setup.base_heading_axis} of {setup.base_imu_label} points ahead; turn trials by as much "
            "(imu-ik --heading)"
        )
        if not work.exact and work.compare:
            _say_heading(model, still, setup, placed, work)
    if setup.output_model_file is None:
        work.note("no output_model_file is stated: the model with its sensors is not written, as in OpenSim")
        return
    target = work.target(setup.output_model_file)
    write_osim(placed.model, target)
    work.wrote(target)


def _say_heading(model: Model, still: Orientations, setup: IMUPlacerSetup, placed: PlacedSensors, work: Work) -> None:
    """By how much OpenSim's heading is off."""
    try:
        level = place_sensors(model, still, base=setup.base_imu_label, heading_axis=setup.base_heading_axis)
    except MusculoError as error:
        work.note(f"OpenSim's heading means nothing here: {error}")
        return
    off = np.remainder(placed.heading - level.heading + np.pi, 2.0 * np.pi) - np.pi
    if abs(off) > _SAME_HEADING:
        work.note(
            "OpenSim takes the heading as the angle of two axes in space; in the horizontal plane it is "
            f"{np.degrees(level.heading):.4f} deg, so that every sensor is twisted on its body by "
            f"{np.degrees(off):.4f} deg (--exact)"
        )


def run_imu_inverse_kinematics(setup: IMUInverseKinematicsSetup, work: Work) -> None:
    """Solve every frame and write OpenSim's files.

    OpenSim stops at an accuracy of 1e-4; every frame here is at the minimum, with `exact` or without.
    """
    model = work.model(setup.model_file)
    trial = work.orientations(setup.orientations_file, "orientations_file", setup.sensor_to_opensim_rotations)
    if isinstance(setup, SensorTask) and setup.heading:
        trial = trial.rotated(axis_rotation((0.0, 1.0, 0.0), setup.heading))
    start, end = work.asked_span(setup, trial.time, trial.source)
    if not start <= end:
        raise InvalidInput(f"the time range is {start:g} to {end:g} s; its end must not come before its start")
    inside = (trial.time >= start) & (trial.time <= end)
    if not inside.any():
        raise InvalidInput(
            f"{setup.source}: no frame of {trial.source}, {trial.time[0]:g} to {trial.time[-1]:g} s, lies in the time "
            f"range {start:g} to {end:g} s; OpenSim's ends at 2 s where the set-up states none"
        )
    trial = trial.between(trial.time[inside][0], trial.time[inside][-1])
    given = {one.name: one.weight for one in setup.weights}
    strangers = [name for name in given if name not in trial.names]
    if strangers:
        work.note(f"weights of sensors that were not recorded change nothing: {', '.join(strangers)}")
    weights = {name: given.get(name, 1.0) for name in trial.names}
    work.report("inverse kinematics", 0.1)
    found = inverse_kinematics(model, orientations=trial, orientation_weights=weights, threads=work.threads)
    say_status(found, work)
    # of translations the words on the fit tell
    turning = rotational_coordinates(model)
    say_undetermined(found, work, "sensor", [name for name in model.speed_names if name not in turning])
    work.tell(found.findings)
    _say_fit(found, weights, trial, work)
    work.report("writing", 0.9)
    _write_motion(setup, work, model, found)
    if setup.report_errors:
        order = sorted(range(len(found.sensor_names)), key=lambda k: _place(model, found.sensor_names[k]))
        target = work.target(setup.errors_name)
        names = [found.sensor_names[k] for k in order]
        write_table(target, "OrientationErrors", found.time, names, found.orientation_errors[:, order])
        work.wrote(target)


def _place(model: Model, sensor: str) -> tuple[int, int]:
    """Where OpenSim comes by the frame of a sensor: bodies in their order, then the frames on each."""
    bodies = model.body_names
    if sensor in bodies:
        return bodies.index(sensor), -1
    own = [k for k, frame in enumerate(model.frames) if frame.path.rsplit("/", 1)[-1] == sensor]
    body = model.frames[own[-1]].placement.body
    return (bodies.index(body) if body in bodies else -1), own[-1]


def _write_motion(setup: IMUInverseKinematicsSetup, work: Work, model: Model, found: InverseKinematics) -> None:
    target = work.target(setup.motion_name)
    factor: FloatArray = np.ones(len(model.coordinates))
    factor[angle_columns(model.coordinate_names, model)] = 180.0 / np.pi
    title = setup.motion_name if setup.output_motion_file else setup.motion_name.removesuffix(".mot")
    write_table(target, title, found.time, model.coordinate_names, found.q * factor, degrees=True)
    work.wrote(target)


def _say_fit(found: InverseKinematics, weights: dict[str, float], trial: Orientations, work: Work) -> None:
    lost = [name for name in trial.names if name not in found.sensor_names]
    if lost:
        work.note(f"the model has no frame for {', '.join(lost)}: these sensors are ignored")
    columns = [k for k, name in enumerate(found.sensor_names) if weights[name] > 0.0]
    angle = found.orientation_errors[:, columns]
    seen = np.isfinite(angle)
    if not seen.any():
        return
    frame, k = np.unravel_index(int(np.nanargmax(angle)), angle.shape)
    work.note(
        f"sensors: RMS error {np.degrees(np.sqrt(np.mean(angle[seen] ** 2))):.3g} deg over {len(found)} frames, the "
        f"largest {np.degrees(angle[frame, k]):.3g} deg ({found.sensor_names[columns[int(k)]]} at "
        f"{found.time[frame]:g} s); translations, which sensors do not measure, stay at their defaults"
    )
