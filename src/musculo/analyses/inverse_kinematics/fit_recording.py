"""The search of inverse kinematics: the pose of every frame nearest to markers, orientations and targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.analyses.inverse_kinematics.closed_loop_order import loop_equations, open_loops, track_closed
from musculo.analyses.inverse_kinematics.closed_poses import ClosedSearch
from musculo.analyses.inverse_kinematics.first_pose import Ranges, starts_of, unknowns_of
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
    refuse_nothing,
    targets_of,
)
from musculo.analyses.inverse_kinematics.tracked_poses import InverseKinematics
from musculo.analyses.inverse_kinematics.undetermined import Sought, blind_speeds
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.embedding_tables import EmbeddingTables, embedding_tables
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.tree.nodes import ELLIPSOID
from musculo.model.model import Model
from musculo.results.angle_columns import angle_columns
from musculo.results.markers import Markers
from musculo.results.orientations import Orientations
from musculo.results.provenance import Provenance

Progress = Callable[[int, int], None]
"""Called with the number of frames done and of all frames."""

# Frames in a row that start from one another. Fixed, so that the number of threads changes nothing.
_SEGMENT = 256
# The first frames of segments are reached from the first frame of all in strides of this many frames.
_STRIDE = 8
# Two recordings are of the same frames if their times differ by no more than this part of a step.
_SAME_TIME = 1e-3


CoordinateTasks = Mapping[str, tuple[float, ArrayLike]]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What poses are to be near to, as `inverse_kinematics` takes it."""

    markers: Markers | None = None
    weights: Mapping[str, float] | None = None
    orientations: Orientations | None = None
    orientation_weights: Mapping[str, float] | None = None
    sensor_frames: Mapping[str, str] | None = None
    tasks: CoordinateTasks | None = None

    def at(self, frame: int) -> Wanted:
        """One frame of it; a target for all frames is a number."""
        tasks = {
            name: (w, target if np.ndim(target) == 0 else np.asarray(target)[frame])
            for name, (w, target) in (self.tasks or {}).items()
        }
        markers, orientations = self.markers, self.orientations
        if markers is not None:
            markers = markers.between(*markers.time[[frame, frame]])
        if orientations is not None:
            orientations = orientations.between(*orientations.time[[frame, frame]])
        return replace(self, markers=markers, orientations=orientations, tasks=tasks)

    def with_tasks(self, more: CoordinateTasks) -> Wanted:
        """The same, and more tasks."""
        return replace(self, tasks={**(self.tasks or {}), **more}) if more else self


def fit_poses(
    model: Model,
    wanted: Wanted,
    *,
    start: ArrayLike | None = None,
    respect_ranges: Ranges = "clamped",
    accuracy: float = 1e-9,
    threads: int | None = None,
    progress: Progress | None = None,
) -> InverseKinematics:
    """`inverse_kinematics` without a look at whether its answer can be meant."""
    markers, orientations = wanted.markers, wanted.orientations
    opened = open_loops(model)
    c, e = compiled(opened), embedding_tables(opened)
    if not (np.isfinite(accuracy) and accuracy > 0.0):
        raise InvalidInput(f"accuracy is {accuracy!r}; give a positive number of radians and meters")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of 1 or more, or None for all cores")
    points = followed_markers(model, markers, wanted.weights)
    sensors = followed_sensors(model, orientations, wanted.orientation_weights, wanted.sensor_frames)
    time = _time_of(markers, orientations)
    frames = len(time)
    held = coordinate_tasks(model, wanted.tasks or {}, frames)
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
    named = points if wanted.weights is not None else Followed()
    asked = asked_for(named, sensors, wanted.orientation_weights, wanted.sensor_frames, held)
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
