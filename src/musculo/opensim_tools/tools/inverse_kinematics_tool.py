"""`<InverseKinematicsTool>`: a motion file, and files of marker errors and places."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from musculo.analyses.inverse_kinematics.follow_recording import InverseKinematics, Status, inverse_kinematics
from musculo.analyses.inverse_kinematics.follow_segments import follow_segments
from musculo.analyses.inverse_kinematics.setup_tasks import tasks_of_setup
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import listed_frames
from musculo.diagnostics.recording_doubts import marker_hole_findings, partner_findings
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput
from musculo.io.c3d import read_c3d
from musculo.io.setup import MarkerTask
from musculo.model.model import Model
from musculo.opensim_tools.records.descriptions import UNITS
from musculo.opensim_tools.tasks import InverseKinematicsTask
from musculo.opensim_tools.work import Work
from musculo.results.angle_columns import angle_columns
from musculo.results.markers import Markers


def run_inverse_kinematics(task: InverseKinematicsTask, work: Work) -> None:
    """Solve every frame and write OpenSim's files.

    OpenSim stops within about 0.1 degrees of the minimum; every frame here is at it, with `--exact` or without.
    """
    model = work.model(task.model_file)
    markers = work.markers(task.marker_file, prepare=task.preparation, model=model)
    if not markers.names and not work.of_file and task.marker_file is not None:
        return _follow_segments(task, work, model, task.marker_file)
    recording = markers.source or str(task.marker_file)
    span = work.asked_span(task, markers.time, recording)
    work.check_span(span, markers.time, recording, opensim_refuses=True)
    markers = _between(markers, span)
    work.tell(marker_hole_findings(markers))
    file = work.table(task.coordinate_file, "coordinate_file") if task.coordinate_file is not None else None
    weights, targets, notes, followed = tasks_of_setup(task.tasks, model, markers, file)
    work.notes += notes
    # where tasks choose the markers, those that are lost are told with the tasks, and set-up files leave out others
    tasked = any(isinstance(one, MarkerTask) and one.apply for one in task.tasks)
    seeking = [name for name, weight in weights.items() if weight > 0.0]
    work.tell(partner_findings(model, markers, seeking, lost=not tasked, strangers=not (tasked and work.of_file)))
    work.report("inverse kinematics", 0.1)
    found = inverse_kinematics(model, markers, weights=weights, tasks=targets, threads=work.threads)
    say_status(found, work)
    say_undetermined(found, work, "marker")
    work.tell(found.findings)
    _say_fit(found, followed, work)
    work.report("writing", 0.9)
    if task.output_motion_file is not None:
        write_motion(work, task.output_motion_file, model, found.time, found.q)
    if task.report_errors:
        _errors(task, work, found, followed)
        if work.exact:
            name, title = f"{task.name}_ik_marker_distances.sto", "Distances of Markers from IK"
            work.write(name, title, found.time, found.marker_names, found.marker_errors)
    if task.report_marker_locations:
        names = [name for name in markers.names if name in followed]
        columns = [f"{name}_{axis}" for name in names for axis in ("tx", "ty", "tz")]
        at = kinematics(model, found.q, threads=work.threads).markers(names)
        work.write(
            f"{task.name}_ik_model_marker_locations.sto", "Model Marker Locations from IK", found.time, columns, at
        )


def _follow_segments(task: InverseKinematicsTask, work: Work, model: Model, path: Path) -> None:
    """A recording of a markerless system, which has poses of segments in the place of markers."""
    recording = read_c3d(path, task.preparation.up)
    if recording.segments is None:
        raise InvalidInput(f"{path} holds neither markers nor poses of segments; is it the right file?")
    segments = recording.segments
    work.check_span(task.time_range, segments.time, str(path), opensim_refuses=True)
    work.report("inverse kinematics", 0.1)
    found = follow_segments(model, segments.between(*task.time_range), threads=work.threads)
    say_status(found, work)
    say_undetermined(found, work, "segment")
    work.tell(found.findings)
    off = np.degrees(np.sqrt(np.nanmean(found.orientation_errors**2)))
    work.note(f"segments followed: {', '.join(found.sensor_names)}; angles to them {off:.3g} degrees (RMS)")
    if found.marker_names:
        apart = 1e3 * np.sqrt(np.nanmean(found.marker_errors**2))
        work.note(f"joint centers are {apart:.3g} mm off (RMS); scale the model to the subject where that is much")
    work.report("writing", 0.9)
    if task.output_motion_file is not None:
        write_motion(work, task.output_motion_file, model, found.time, found.q)
    if task.report_errors:
        names = (*found.sensor_names, *(f"{name}_distance" for name in found.marker_names))
        errors = np.hstack((found.orientation_errors, found.marker_errors))
        work.write(f"{task.name}_ik_segment_errors.sto", "Segment Errors from IK", found.time, names, errors)


def write_motion(work: Work, path: Path, model: Model, time: FloatArray, q: FloatArray) -> None:
    """All coordinates in the order of the model, angles in degrees."""
    factor = np.ones(len(model.coordinates))
    factor[angle_columns(model.coordinate_names, model)] = 180.0 / np.pi
    work.write(path, "Coordinates", time, model.coordinate_names, q * factor, UNITS, degrees=True)


def _between(markers: Markers, time_range: tuple[float, float]) -> Markers:
    """The frames nearest to the ends of the range, of two as near the later one, and all between them."""
    start, end = time_range
    if not start <= end:
        raise InvalidInput(f"the time range is {start:g} to {end:g} s; its end must not come before its start")
    ends = np.clip((start, end), markers.time[0], markers.time[-1])
    last_frame = len(markers.time) - 1
    first, last = (last_frame - int(np.abs(markers.time - t)[::-1].argmin()) for t in ends)
    return markers.between(markers.time[first], markers.time[last])


def say_status(found: InverseKinematics, work: Work) -> None:
    """Frames without a minimum, and those whose pose is not determined."""
    for status, what in (
        (Status.SLOW, "did not converge"),
        (Status.UNSEEN, "show no marker with a weight"),
        (Status.UNDETERMINED, "do not determine every coordinate"),
    ):
        frames = np.flatnonzero(found.status == status).tolist()
        if frames:
            work.trouble(f"inverse kinematics: {len(frames)} frames {what}, at {listed_frames(frames, found.time)}")


def say_undetermined(found: InverseKinematics, work: Work, what: str, but: Collection[str] = ()) -> None:
    """Coordinates that nothing followed depends on, and what they are instead.

    Those of which something was followed in other frames are lost there, and what they have means nothing.
    """
    open_: list[str] = []
    lost: dict[str, list[str]] = {}  # coordinates by where they are lost
    seen = int((found.status != Status.UNSEEN).sum())
    for name, where in found.undetermined.items():
        if name not in but and where.sum() < seen:
            frames = f"in {int(where.sum())} of {len(found)} frames, from {found.time[where][0]:g} s"
            lost.setdefault(frames, []).append(name)
        elif name not in but:
            open_.append(name)
    none = f"no visible {what} moves"
    if open_:
        work.note(
            f"{none} {', '.join(open_)}: undetermined, kept at the value of the frame before, or at the default; lock "
            "them in the model, or give them a task"
        )
    if lost:
        told = ", ".join(f"{', '.join(names)} ({frames})" for frames, names in lost.items())
        work.trouble(
            f"{none} {told}: undetermined there, kept at the value of the frame before; choose a span "
            f"without these frames, or fill the gaps of the {what}s"
        )


def _say_fit(found: InverseKinematics, followed: Collection[str], work: Work) -> None:
    """How far the markers that were followed are from where they were recorded."""
    columns = [k for k, name in enumerate(found.marker_names) if name in followed]
    distance = found.marker_errors[:, columns]
    seen = ~np.isnan(distance)  # infinite ones count, and show
    if not seen.any():
        return
    frame, k = np.unravel_index(int(np.nanargmax(distance)), distance.shape)
    work.note(
        f"markers: RMS error {1e3 * np.sqrt(np.mean(distance[seen] ** 2)):.3g} mm over {len(found)} frames, the "
        f"largest {1e3 * distance[frame, k]:.3g} mm ({found.marker_names[columns[int(k)]]} at {found.time[frame]:g} s)"
    )


def _errors(task: InverseKinematicsTask, work: Work, found: InverseKinematics, followed: Collection[str]) -> None:
    """Squares, root mean square and largest of the distances, every marker with a task alike; unseen ones count as 0.

    OpenSim's RMS therefore is too small where markers are unseen; with `exact` they are not counted.
    """
    columns = [k for k, name in enumerate(found.marker_names) if name in followed]
    distance = found.marker_errors[:, columns]
    seen = ~np.isnan(distance)  # infinite ones count, and show
    squares = np.where(seen, distance, 0.0) ** 2
    total = squares.sum(axis=1)
    count = np.maximum(seen.sum(axis=1), 1) if work.exact else max(len(columns), 1)
    if not seen.all() and not work.exact:
        honest = np.sqrt(total / np.maximum(seen.sum(axis=1), 1))
        work.note(
            "marker_error_RMS counts missing markers as fitted, as OpenSim does; over visible markers it is up to "
            f"{1e3 * np.abs(honest - np.sqrt(total / count)).max():.3g} mm larger (--exact)"
        )
    values = np.column_stack((total, np.sqrt(total / count), np.sqrt(squares.max(axis=1, initial=0.0))))
    names = ("total_squared_error", "marker_error_RMS", "marker_error_max")
    work.write(f"{task.name}_ik_marker_errors.sto", "Model Marker Errors from IK", found.time, names, values)
