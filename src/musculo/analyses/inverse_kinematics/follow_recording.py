"""Inverse kinematics: the poses nearest to recorded markers and to measured orientations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.analyses.inverse_kinematics.closed_loop_order import loop_equations, open_loops, track_closed
from musculo.analyses.inverse_kinematics.closed_poses import ClosedSearch
from musculo.analyses.inverse_kinematics.first_pose import Ranges, starts_of, unknowns_of
from musculo.analyses.inverse_kinematics.near_default import Pull, near_poses
from musculo.analyses.inverse_kinematics.pose_breaks import (
    MOST_ITERATIONS,
    SAME_POSE,
    Problem,
    keep_undetermined,
    mend_breaks,
    take_back_turns,
)
from musculo.analyses.inverse_kinematics.targets import (
    Followed,
    Tasks,
    asked_for,
    coordinate_tasks,
    followed_markers,
    followed_sensors,
    recorded_for,
    refuse_nothing,
    targets_of,
    unit_findings,
)
from musculo.analyses.inverse_kinematics.tracked_poses import InverseKinematics, Status
from musculo.analyses.inverse_kinematics.undetermined import Sought, blind_speeds
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import warn_of_odd_units
from musculo.diagnostics.finding import Finding, warn_of
from musculo.diagnostics.implausible_angles import angle_findings
from musculo.diagnostics.recording_axes import axis_findings
from musculo.diagnostics.recording_doubts import marker_hole_findings, partner_findings
from musculo.embedding.couplers.embedding_tables import EmbeddingTables, embedding_tables
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, unwarned
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.tree.nodes import ELLIPSOID
from musculo.model.model import Model
from musculo.results.angle_columns import angle_columns
from musculo.results.markers import Markers
from musculo.results.orientations import Orientations
from musculo.results.provenance import Provenance

__all__ = ["InverseKinematics", "Progress", "Ranges", "Status", "fit_poses", "inverse_kinematics"]

Progress = Callable[[int, int], None]
"""Called with the number of frames done and of all frames."""

# Frames in a row that start from one another. Fixed, so that the number of threads changes nothing.
_SEGMENT = 256
# The first frames of segments are reached from the first frame of all in strides of this many frames.
_STRIDE = 8
# Fewer markers do not tell which axis is up.
_FEWEST = 3
# Two recordings are of the same frames if their times differ by no more than this part of a step.
_SAME_TIME = 1e-3


def inverse_kinematics(
    model: Model,
    markers: Markers | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    orientations: Orientations | None = None,
    orientation_weights: Mapping[str, float] | None = None,
    sensor_frames: Mapping[str, str] | None = None,
    tasks: Mapping[str, tuple[float, ArrayLike]] | None = None,
    start: ArrayLike | None = None,
    respect_ranges: Ranges = "clamped",
    accuracy: float = 1e-9,
    threads: int | None = None,
    progress: Progress | None = None,
) -> InverseKinematics:
    """The pose of every frame that minimizes

        J = 1/2 sum_m w_m |x_m(q) - recorded_m|^2 / sum_m w_m  +  1/2 sum_s w_s theta_s(q)^2 / sum_s w_s
            + 1/2 sum_c w_c (q_c - target_c)^2

    over the independent coordinates, with the sums over the markers and sensors that are visible in that frame;
    theta_s is the angle of the rotation from the measured orientation of a sensor to that of its frame in the model.

    Source:     OpenSim's inverse kinematics tools, for markers and for IMUs; the same objective to the factor.
    Departs:    couplers, locks and prescribed motions are embedded, so they hold exactly and cost nothing; closed
                loops hold to rounding (`closure_error`), by Newton's method on the poses that close them
                (`musculo.analyses.inverse_kinematics.closed_poses`); and each
                frame is at a minimum to `accuracy`, where OpenSim stops within about 0.1 degrees. Coordinates that
                nothing recorded depends on (translations, if there are only sensors) keep their values at the start,
                without being locked as OpenSim's tool for IMUs locks them; `undetermined` of the result names them.
                Angles of joints that end half a turn from their default, or far outside their range, though hardly
                anything recorded tells them, are kept near the default by a weak task, where the error grows by less
                than 0.1 mm (`musculo.analyses.inverse_kinematics.near_default`); a note names them.
    Guarantees: the same answer to the last bit for any number of threads; a frame's pose depends on the frames before
                only by which minimum is found, not by where in it.

    Angles that jump from one frame to the next or are far outside their ranges, and a recording in which another axis
    than y seems to point up, or that is mirrored or turned around, give a `MusculoWarning`; `notes` of the result have
    these and lesser findings.

    Args:
        model: the model; markers are matched by name. The name of a subject before them (`Subj1:RASI`) is dropped,
            with a warning, where the model has no such names.
        markers: the recording; NaN where a marker was not visible, and then it has no weight in that frame.
        weights: of markers by name; those not named have weight 1, as in the shell. Zero leaves a marker out.
        orientations: of sensors, alone or for the same frames as the markers; NaN where there was no measurement.
        orientation_weights: of sensors by name, likewise.
        sensor_frames: the frame of the model that each sensor measures, by the sensor's name: a body, or the path of an
            offset frame. By default the frame of the same name; `place_sensors` makes such frames.
        tasks: coordinates to be kept near targets: name -> (weight, target), the target a number or one for each frame
            (NaN: none in that frame) [rad, m]. A task of a locked or prescribed coordinate changes nothing.
            `tasks_of_setup` makes them from the tasks of a set-up file.
        start: (n,) coordinates from which the first frame is sought, by default the default pose. Either way the
            frame is also tried from other poses, and the lowest minimum is used.
        respect_ranges: "clamped" holds clamped coordinates in their range, as OpenSim does; "all" all; "none" none.
        accuracy: error of coordinates that the search may leave [rad, m].
        threads: the number of threads; all cores by default.
        progress: called now and then with the number of frames done and of all frames.

    Raises:
        Unsupported: a constraint that musculo cannot compute.
        UnknownName: a weight, task or frame names what neither model nor recording have.
        InvalidInput: nothing of the model was recorded, all weights are zero, markers are not in meters, markers and
            orientations are of different frames, or an argument does not fit.
    """

    def turned(other: Markers) -> InverseKinematics:
        return fit_poses(model, other, weights=weights, respect_ranges=respect_ranges, threads=threads)

    def fitted(frame: int | None, more: Pull, progress: Progress | None = None) -> InverseKinematics:
        """One frame or all, with more tasks."""
        return fit_poses(
            model,
            markers if markers is None or frame is None else markers.between(*markers.time[[frame, frame]]),
            weights=weights,
            orientations=orientations
            if orientations is None or frame is None
            else orientations.between(*orientations.time[[frame, frame]]),
            orientation_weights=orientation_weights,
            sensor_frames=sensor_frames,
            tasks={**_at(frame, tasks), **more} if more else tasks,
            start=start,
            respect_ranges=respect_ranges,
            accuracy=accuracy,
            threads=threads,
            progress=progress,
        )

    markers, renamed = recorded_for(model, markers)
    with unwarned():  # of angles on the way
        found, far = near_poses(fitted(None, {}, progress), tasks or {}, fitted)
        findings = _findings(found, markers, weights, turned, alone=orientations is None, threads=threads)
    findings = [*renamed, *far, *findings]
    _warn_of_odd_targets(model, tasks or {})
    warn_of(findings)
    return replace(found, findings=tuple(findings))


def _warn_of_odd_targets(model: Model, tasks: Mapping[str, tuple[float, ArrayLike]]) -> None:
    """Say that targets are far beyond what their joints can do, by the rule of coordinates."""
    targets = {name: np.asarray(target, dtype=float) for name, (_, target) in tasks.items()}
    known = {name: target[np.isfinite(target)] for name, target in targets.items() if np.isfinite(target).any()}
    if known:
        ends = np.array([(target.min(), target.max()) for target in known.values()])
        warn_of_odd_units("tasks", ends.T, model, tuple(known))


def _at(frame: int | None, tasks: Mapping[str, tuple[float, ArrayLike]] | None) -> dict[str, tuple[float, ArrayLike]]:
    """Tasks of one frame, or of all; a target for all frames is a number."""
    if tasks is None or frame is None:
        return dict(tasks or {})
    return {
        name: (w, target if np.ndim(target) == 0 else np.asarray(target)[frame]) for name, (w, target) in tasks.items()
    }


def _findings(
    found: InverseKinematics,
    markers: Markers | None,
    weights: Mapping[str, float] | None,
    refit: Callable[[Markers], InverseKinematics],
    alone: bool,
    threads: int | None,
) -> list[Finding]:
    """What speaks against the recording, and against the poses: holes, partners, leaps, ranges, and axes."""
    angles = angle_findings(found.model, found.time, found.q)
    if markers is None or not len(markers):
        return angles
    followed = [name for name in found.marker_names if (weights or {}).get(name, 1.0) > 0.0]
    columns = [found.marker_names.index(name) for name in followed]
    everyone = weights is None
    recording = [
        *marker_hole_findings(markers),
        *unit_findings(found.model, markers),
        *partner_findings(found.model, markers, followed, lost=everyone, strangers=everyone),
    ]
    if not alone or len(columns) < _FEWEST:
        return [*recording, *angles]
    distance = found.marker_errors[:, columns]

    def fit(other: Markers) -> tuple[FloatArray, FloatArray]:
        again = refit(other)
        return again.q, again.marker_errors[:, columns]

    axes = axis_findings(found.model, markers, found.q, distance, fit, threads)
    return [*recording, *angles, *axes]


def fit_poses(
    model: Model,
    markers: Markers | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    orientations: Orientations | None = None,
    orientation_weights: Mapping[str, float] | None = None,
    sensor_frames: Mapping[str, str] | None = None,
    tasks: Mapping[str, tuple[float, ArrayLike]] | None = None,
    start: ArrayLike | None = None,
    respect_ranges: Ranges = "clamped",
    accuracy: float = 1e-9,
    threads: int | None = None,
    progress: Progress | None = None,
) -> InverseKinematics:
    """`inverse_kinematics` without a look at whether its answer can be meant."""
    opened = open_loops(model)
    c, e = compiled(opened), embedding_tables(opened)
    if not (np.isfinite(accuracy) and accuracy > 0.0):
        raise InvalidInput(f"accuracy is {accuracy!r}; give a positive number of radians and meters")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of 1 or more, or None for all cores")
    points = followed_markers(model, markers, weights)
    sensors = followed_sensors(model, orientations, orientation_weights, sensor_frames)
    time = _time_of(markers, orientations)
    frames = len(time)
    held = coordinate_tasks(model, tasks or {}, frames)
    refuse_nothing(points, sensors, held)
    targets = targets_of(model, c, points, sensors, held)
    unknowns = unknowns_of(model, c, e, respect_ranges)
    starts = starts_of(model, e, unknowns, start)
    # Newton's error is about the square of his last step; where slopes of an ellipsoid joint lack a term, steps
    # shrink only by a factor.
    curved = bool((c.tree.kind[targets.needed] == ELLIPSOID).any())
    problem = Problem(
        (c.tree, c.table, e.couplings, e.table, targets),
        unknowns,
        Recorded(
            _flat(markers.pick(points.names).position if markers is not None else None, frames, 3),
            _flat(orientations.pick(sensors.names).rotation if orientations is not None else None, frames, 9),
            held.goals,
        ),
        e.given(time, frames),
        starts,
        0.01 * accuracy if curved else 0.1 * float(np.sqrt(accuracy)),
        np.repeat(starts[:1], frames, axis=0),
        Misfit(*(np.full((frames, max(len(one.names), 1)), np.nan) for one in (points, sensors))),
        np.zeros(frames),
        np.zeros(frames, dtype=np.int64),
        np.zeros(frames, dtype=np.int64),
    )
    closure = np.zeros(frames)
    sought = _sought(problem.recorded, points, sensors, held)
    rows = angle_columns(model.coordinate_names, model)
    angles = np.intersect1d(np.array(rows, dtype=np.int64), unknowns.coordinate)
    if opened is model:
        _solve(problem, frames, _edges_of_sight(model, starts[:1], sought), threads, progress or _say_nothing)
        keep_undetermined(problem)
        mend_breaks(problem, angles)
    else:
        closure = _solve_closed(problem, model, e, accuracy, threads, progress or _say_nothing)
    tasked = np.array([model.coordinate_index(name) for name in held.names], dtype=np.int64)
    take_back_turns(opened, problem, angles, tasked, places=bool(points.names))
    distance, angle = problem.misfit.distance[:, : len(points.names)], problem.misfit.angle[:, : len(sensors.names)]
    for array in (problem.q, distance, angle, problem.objective, problem.status, problem.iterations, closure):
        array.setflags(write=False)
    asked = asked_for(points if weights is not None else Followed(), sensors, orientation_weights, sensor_frames, held)
    if start is not None:
        asked["start"] = dict(zip(model.coordinate_names, starts[0].tolist(), strict=True))
    sources = tuple(one.source for one in (markers, orientations) if one is not None and one.source)
    return InverseKinematics(
        model,
        time,
        problem.q,
        embedding_of(model).independent(problem.q),
        points.names,
        distance,
        sensors.names,
        angle,
        problem.objective,
        problem.status,
        problem.iterations,
        closure,
        Provenance.of("inverse_kinematics", model, sources, respect_ranges=respect_ranges, accuracy=accuracy, **asked),
        sought,
    )


def _say_nothing(done: int, total: int) -> None:
    pass


def _flat(values: FloatArray | None, frames: int, width: int) -> FloatArray:
    """(frames, width things), a row of NaN where there are none: kernels want an array in any case."""
    if values is None or not values.size:
        return np.full((frames, width), np.nan)
    return np.ascontiguousarray(values.reshape(frames, -1))


def _time_of(markers: Markers | None, orientations: Orientations | None) -> FloatArray:
    """The times of the frames, which must be those of both recordings."""
    one = markers if markers is not None else orientations
    if one is None:
        raise InvalidInput("there is nothing to follow; pass markers=, orientations= or both")
    if markers is not None and orientations is not None:
        step = float(np.median(np.diff(markers.time))) if len(markers) > 1 else 1.0
        if len(markers) != len(orientations) or (
            np.abs(markers.time - orientations.time).max(initial=0.0) > _SAME_TIME * step
        ):
            raise InvalidInput(
                f"the markers have {len(markers)} frames and the orientations {len(orientations)}, or their times "
                "differ; bring both to the same frames first, with between and markers.resample(rate)"
            )
    return one.time


def _solve_closed(
    problem: Problem, model: Model, e: EmbeddingTables, accuracy: float, threads: int | None, progress: Progress
) -> FloatArray:
    """All frames of a model with loops; returns what is left of their equations (frames,)."""
    branch = embedding_of(model).branch
    starts = problem.starts if branch is None else np.concatenate([branch[None], problem.starts])
    search = ClosedSearch(
        problem.model,
        problem.unknowns,
        e,
        loop_equations(model),
        problem.recorded,
        problem.given,
        accuracy,
        MOST_ITERATIONS,
        threads,
    )
    frames = len(problem.q)
    found, left = track_closed(search, starts, frames, progress)
    *_, misfit = search.at(np.arange(frames), found.q)
    for target, values in zip(problem.misfit, misfit, strict=True):
        target[:] = values
    for name in ("q", "objective", "status", "iterations"):
        getattr(problem, name)[:] = getattr(found, name)
    return left


def _sought(recorded: Recorded, points: Followed, sensors: Followed, held: Tasks) -> Sought:
    """What is followed, and in which frames it is there."""

    def there(values: FloatArray, width: int, weights: FloatArray) -> NDArray[np.bool_]:
        first = np.isfinite(values[:, ::width])[:, : len(weights)]
        return first & (weights > 0.0)

    return Sought(
        points.names,
        there(recorded.markers, 3, points.weights),
        sensors.frames,
        there(recorded.sensors, 9, sensors.weights),
        held.names,
        there(recorded.goals, 1, held.weights),
    )


def _edges_of_sight(model: Model, poses: FloatArray, sought: Sought) -> list[int]:
    """Frames at which coordinates come into sight or go out of it: they do not start from where those before lead to.

    What nothing sees would go on at the speed that it had; so it stays where it was last seen.
    """
    if (sought.there == sought.there[:1]).all():
        return []
    blind = np.array(list(blind_speeds(model, poses, sought).values()))
    if not blind.size:
        return []
    return (np.flatnonzero((blind[:, 1:] != blind[:, :-1]).any(axis=0)) + 1).tolist()


def _solve(problem: Problem, frames: int, cuts: list[int], threads: int | None, progress: Progress) -> None:
    """All frames: the first from many poses, the others from those before; long recordings in segments.

    At the frames `cuts` the search starts from the pose before, in one row.
    """
    if cuts:
        for first, stop in pairwise([0, *cuts, frames]):
            if first:
                problem.q[first] = problem.q[first - 1]
            problem.track(first, stop, robust=first == 0)
            progress(stop, frames)
        return
    if frames < 2 * _SEGMENT:
        if frames:
            problem.track(0, frames, robust=True)
            progress(frames, frames)
        return
    edges = [*range(0, frames - _SEGMENT + 1, _SEGMENT), frames]
    problem.track(0, edges[-2] + 1, robust=True, stride=_STRIDE)
    spans = list(pairwise(edges))
    workers = min(threads or os.cpu_count() or 1, len(spans))
    if workers == 1:
        for span in spans:
            problem.track(*span)
            progress(span[1], frames)
    else:
        with ThreadPoolExecutor(workers) as pool:
            # in their order, so that the number of frames done is that of the frames before the end of the span
            for span, _ in zip(spans, pool.map(lambda span: problem.track(*span), spans), strict=True):
                progress(span[1], frames)
    for first, stop in spans[1:]:
        _mend(problem, first, stop)


def _mend(problem: Problem, first: int, stop: int) -> None:
    """Make a segment go on from the one before, should its first frame have found another minimum that is not lower."""
    there = problem.alone(first, problem.q[first - 1])
    apart = np.abs(there.q[0] - problem.q[first]).max()
    if apart > SAME_POSE and there.objective[0] <= problem.objective[first] * (1.0 + SAME_POSE):
        problem.q[first] = there.q[0]
        problem.track(first, stop)
