"""Markers of a model put where those of the subject were in a static trial."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.analyses.inverse_kinematics.first_pose import Ranges
from musculo.analyses.inverse_kinematics.follow_recording import InverseKinematics, inverse_kinematics
from musculo.analyses.inverse_kinematics.setup_tasks import SetupTasks, tasks_of_setup
from musculo.analyses.inverse_kinematics.targets import recorded_for
from musculo.analyses.scaling.scale_factors import TimeRange, time_window
from musculo.arrays import FloatArray
from musculo.compile.compiled import check_model
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.diagnostics.finding import warn_of
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.io.setup.kinematics_setups import Task
from musculo.model.body import Marker
from musculo.model.model import Model
from musculo.results.markers import Markers
from musculo.results.table import Table


@dataclass(frozen=True, eq=False)
class MovedMarkers:
    """The model with its markers moved; `moved` is how far each went [m], `dropped` those that were not recorded."""

    model: Model
    moved: dict[str, float]
    dropped: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PlacedMarkers(MovedMarkers):
    """Markers placed by a static trial, and the pose in which they were.

    Args:
        pose: inverse kinematics of the averaged trial, one frame, with the markers where they were before: `pose.q[0]`
            are the coordinates, `pose.marker_errors[0]` how far each marker was off, `pose.to_table()` the motion.
        notes: tasks without effect.
        counted: markers that have a task, whatever its weight; OpenSim's RMS of errors is over them.
    """

    pose: InverseKinematics
    notes: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    @property
    def q(self) -> FloatArray:
        """(n,) the coordinates of the static pose [rad, m]."""
        return self.pose.q[0]

    @property
    def errors(self) -> dict[str, float]:
        """How far each marker was from the recorded one before it was moved [m]; NaN where it was not followed."""
        return dict(zip(self.pose.marker_names, self.pose.marker_errors[0].tolist(), strict=True))


def place_markers(
    model: Model,
    static_trial: Markers,
    tasks: Iterable[Task] | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    targets: Mapping[str, tuple[float, float]] | None = None,
    coordinates: Table | None = None,
    time_range: TimeRange | None = None,
    fixed: Iterable[str] = (),
    keep_unrecorded: bool = False,
    start: ArrayLike | None = None,
    respect_ranges: Ranges = "clamped",
) -> PlacedMarkers:
    """The model with its markers where the subject's were while it stood still.

    The pose is that of inverse kinematics on the markers' means over the time range; then every marker that is not
    fixed moves to where it was measured. A marker with a gap in that time does not count for the pose, for its mean is
    that of other frames than the rest's; it still moves, to the mean of the frames in which it is visible.

    Source:  OpenSim 4.6, `MarkerPlacer::processModel`.
    Departs: the pose is a minimum to 1e-9, which OpenSim leaves by about 0.1 degrees (accuracy 1e-4); it is sought from
             other poses than the default one, too.

    Args:
        model: the scaled model.
        static_trial: the recording.
        tasks: of a set-up file (`read_setup(path).placer.tasks`): which markers and coordinates the pose follows.
        weights: instead of tasks, the weights of markers, as for `inverse_kinematics`; all alike by default.
        targets: instead of tasks, coordinates to keep near values: name -> (weight, value) [rad, m].
        coordinates: the table that tasks take values from, at the beginning of the time range.
        time_range: which part of the trial [s]; all of it by default.
        fixed: markers that stay, besides those that the model calls so.
        keep_unrecorded: keep markers that the trial does not have; OpenSim drops them.
        start: (n,) a pose to begin with; by default the default pose.
        respect_ranges: as for `inverse_kinematics`.

    Raises:
        UnknownName: a fixed marker, task or weight of what is not there.
        InvalidInput: no frame lies in the time range, or the tasks follow nothing.
    """
    check_model(model)
    static_trial, renamed = recorded_for(model, static_trial)
    warn_of(renamed)
    still = _mean_frame(static_trial, time_range)
    if tasks is None:
        asked = SetupTasks(dict(weights or {}), dict(targets or {}), ())
        followed: Collection[str] = [name for name in still.names if asked.weights.get(name, 1.0) > 0.0]
    else:
        if weights is not None or targets is not None:
            raise InvalidInput("tasks are given, and weights or targets too; give either the one or the others")
        asked = tasks_of_setup(tasks, model, still, coordinates)
        followed = asked.followed
    pose = inverse_kinematics(
        model,
        still,
        weights=weights if tasks is None else asked.weights,
        tasks=asked.tasks,
        start=start,
        respect_ranges=respect_ranges,
        threads=1,
    )
    found = move_markers(model, pose.q[0], static_trial, fixed, time_range=time_range, keep_unrecorded=keep_unrecorded)
    counted = tuple(name for name in pose.marker_names if name in followed)
    return PlacedMarkers(found.model, found.moved, found.dropped, pose, asked.notes, counted)


def _mean_frame(trial: Markers, time_range: TimeRange | None) -> Markers:
    """One frame with the means of the markers, NaN where a marker has a gap; at the time of the first frame."""
    if not isinstance(trial, Markers):
        raise InvalidInput(f"the static trial is {type(trial).__name__}; read it with read_markers(path)")
    if not len(trial):
        raise InvalidInput(f"{trial.source or 'the static trial'} has no frame")
    if time_range is not None:
        start, end = time_range
        if not start <= end:
            raise InvalidInput(f"the time range is {start} to {end} s; its end must not come before its start")
        trial = trial.between(start, end)
    return replace(trial, time=trial.time[:1], position=trial.position.mean(axis=0)[None])


def move_markers(
    model: Model,
    q: ArrayLike,
    markers: Markers,
    fixed: Iterable[str] = (),
    *,
    time_range: TimeRange | None = None,
    keep_unrecorded: bool = False,
) -> MovedMarkers:
    """The model with its markers where the subject's were, in the pose q that the subject held.

        p_FoM_F = X_WF(q)^-1 mean(p_WoM_W)     over the frames in which the marker is visible

    Markers that the file calls fixed stay where they are, as do those named in `fixed`.

    Source: OpenSim 4.6, `MarkerPlacer::moveModelMarkersToPose`.

    Args:
        model: the scaled model.
        q: (n,) the pose of the static trial [rad, m].
        markers: the static trial.
        fixed: markers that stay, besides those that the model calls so.
        time_range: as for `scale_factors` [s].
        keep_unrecorded: keep markers that the trial does not have; OpenSim drops them.

    Raises:
        UnknownName: a fixed marker that the model does not have.
        InvalidInput: a marker of the trial that is not visible in that time.
    """
    Q, single = coordinates_of(model, q)
    if not single:
        raise InvalidInput(f"q has shape {Q.shape}; markers are placed in one pose, ({len(model.coordinate_names)},)")
    held = {fixed} if isinstance(fixed, str) else set(fixed)
    for name in held:
        if name not in model.marker_names:
            raise UnknownName("marker", name, model.marker_names, model.source or f"model {model.name!r}")
    motion = kinematics(model, Q[0])
    frames = time_window(markers, time_range)
    placed: list[Marker] = []
    moved: dict[str, float] = {}
    dropped: list[str] = []
    for marker in model.markers:
        if marker.name not in markers.names:
            if keep_unrecorded:
                placed.append(marker)
            else:
                dropped.append(marker.name)
            continue
        if marker.fixed or marker.name in held:
            placed.append(marker)
            continue
        seen = markers.marker(marker.name)[frames]
        seen = seen[np.isfinite(seen).all(axis=1)]
        if not len(seen):
            raise InvalidInput(
                f"marker {marker.name!r} is not visible in any frame of the placement; choose another time, or "
                "name it in fixed="
            )
        X_WF = motion.pose(marker.frame)
        x, y, z = (X_WF.R.T @ (seen.mean(axis=0) - X_WF.p)).tolist()
        placed.append(replace(marker, location=(x, y, z)))
        moved[marker.name] = float(np.linalg.norm(np.subtract((x, y, z), marker.location)))
    return MovedMarkers(model.replace(markers=tuple(placed)), moved, tuple(dropped))
