"""Inverse kinematics: the poses nearest to recorded markers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.frames import FloatArray, frames_of
from musculo.compile.nodes import placed
from musculo.embedding.tables import EmbeddingTables, embedding_tables
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels import inverse_kinematics as kernels
from musculo.kernels.inverse_kinematics import Unknowns, track_frames
from musculo.kernels.marker_fit import Targets
from musculo.kernels.tree import ELLIPSOID, FUNCTION
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angles import angle_columns
from musculo.results.labelled import labelled
from musculo.results.markers import Markers
from musculo.results.provenance import Provenance
from musculo.results.table import Table
from musculo.spatial.pose import Pose

if TYPE_CHECKING:
    import xarray

Ranges = Literal["clamped", "all", "none"]

# Frames in a row that start from one another. Fixed, so that the number of threads changes nothing.
_SEGMENT = 256
# The first frames of segments are reached from the first frame of all in strides of this many frames.
_STRIDE = 8
# Iterations after which a frame is given up.
_MOST_ITERATIONS = 200
# Other poses from which the first frame is tried, and how far they are from the first one [rad, m].
_OTHER_STARTS, _SPREAD = 24, 0.5
# A range narrower than this [rad, m] says where a coordinate is.
_NARROW = 2.0 * np.pi
# Poses closer than this [rad, m] are the same minimum.
_SAME_POSE = 1e-6


class Status(IntEnum):
    """How the search for the pose of a frame ended."""

    CONVERGED = kernels.CONVERGED
    """At a minimum, to the accuracy asked for."""
    UNDETERMINED = kernels.UNDETERMINED
    """The slope is zero, but the markers seen do not determine every coordinate: others fit as well."""
    SLOW = kernels.SLOW
    """The search was given up; the pose is the best it came by."""
    UNSEEN = kernels.UNSEEN
    """No marker with a weight was seen and no task was given: the pose is that of the frame before."""


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Poses over time, and how well they fit. Ask `status` before use, or `converged` for all frames at once."""

    model: Model = field(repr=False)
    time: FloatArray = field(repr=False)  # (frames,) [s]
    q: FloatArray = field(repr=False)  # (frames, n) all coordinates, in the order of the model [rad, m]
    z: FloatArray = field(repr=False)  # (frames, n_z) the independent ones
    marker_names: tuple[str, ...] = field(repr=False)  # in the model and in the recording
    marker_errors: FloatArray = field(repr=False)  # (frames, markers) distances [m]; NaN where not seen
    objective: FloatArray = field(repr=False)  # (frames,) as OpenSim's; see `inverse_kinematics`
    status: NDArray[np.int64] = field(repr=False)  # (frames,) see `Status`
    iterations: NDArray[np.int64] = field(repr=False)  # (frames,)
    provenance: Provenance = field(repr=False)

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        bad = len(self) - int((self.status == Status.CONVERGED).sum())
        rms = 1e3 * float(np.sqrt(np.nanmean(self.marker_errors**2))) if np.isfinite(self.marker_errors).any() else 0.0
        trouble = f", {bad} frames not converged" if bad else ""
        return (
            f"InverseKinematics({len(self)} frames, {len(self.marker_names)} markers, RMS error {rms:.1f} mm{trouble})"
        )

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The columns of `q`."""
        return self.model.coordinate_names

    @property
    def converged(self) -> bool:
        """Whether every frame is at a minimum."""
        return bool((self.status == Status.CONVERGED).all())

    @property
    def rms(self) -> FloatArray:
        """(frames,) root mean square distance of the markers seen, unweighted [m]; NaN where none was seen."""
        seen = np.isfinite(self.marker_errors)
        squares = np.where(seen, self.marker_errors, 0.0) ** 2
        with np.errstate(invalid="ignore"):
            return np.sqrt(squares.sum(axis=1) / seen.sum(axis=1))

    def to_table(self) -> Table:
        """All coordinates [rad, m]; `.in_degrees(model)` is what OpenSim's .mot files hold."""
        return Table(
            self.time, self.coordinate_names, self.q, units=self._units, name="Coordinates", provenance=self.provenance
        )

    def error_table(self) -> Table:
        """The distance of every marker [m]."""
        units = ("m",) * len(self.marker_names)
        return Table(
            self.time,
            self.marker_names,
            self.marker_errors,
            units=units,
            name="marker errors",
            provenance=self.provenance,
        )

    @property
    def _units(self) -> tuple[str, ...]:
        angles = set(angle_columns(self.coordinate_names, self.model))
        return tuple("rad" if k in angles else "" for k in range(len(self.coordinate_names)))

    def to_xarray(self) -> xarray.Dataset:
        """`q` (time, coordinate), `marker_error` (time, marker), `objective`, `status` and `iterations` (time)."""
        import xarray

        time = {"time": self.time}
        parts = {
            "q": labelled("q", self.q, {**time, "coordinate": self.coordinate_names}),
            "marker_error": labelled("marker_error", self.marker_errors, {**time, "marker": self.marker_names}, "m"),
            "objective": labelled("objective", self.objective, time),
            "status": labelled("status", self.status, time),
            "iterations": labelled("iterations", self.iterations, time),
        }
        parts["status"].attrs["flag_values"] = [int(s) for s in Status]
        parts["status"].attrs["flag_meanings"] = " ".join(s.name.lower() for s in Status)
        return xarray.Dataset(parts, attrs=self.provenance.attributes())


class _Problem(NamedTuple):
    """All that the kernel takes, and where it writes."""

    model: tuple[Any, ...]
    unknowns: Unknowns
    markers: FloatArray
    goals: FloatArray
    given: FloatArray
    starts: FloatArray
    tolerance: float
    q: FloatArray
    errors: FloatArray
    objective: FloatArray
    status: NDArray[np.int64]
    iterations: NDArray[np.int64]

    def track(self, start: int, stop: int, robust: bool = False, stride: int = 1) -> None:
        known = (self.model, self.unknowns, self.markers, self.goals, self.given, self.starts, self.tolerance)
        results = (self.q, self.errors, self.objective, self.status, self.iterations)
        track_frames(*known, _MOST_ITERATIONS, robust, stride, *results, start, stop)


def inverse_kinematics(
    model: Model,
    markers: Markers,
    *,
    weights: Mapping[str, float] | None = None,
    tasks: Mapping[str, tuple[float, ArrayLike]] | None = None,
    start: ArrayLike | None = None,
    respect_ranges: Ranges = "clamped",
    accuracy: float = 1e-9,
    threads: int | None = None,
) -> InverseKinematics:
    """The pose of every frame that minimises

        J = 1/2 sum_m w_m |x_m(q) - recorded_m|^2 / sum_m w_m  +  1/2 sum_c w_c (q_c - target_c)^2

    over the independent coordinates, with the sums over the markers seen in that frame.

    Source:     OpenSim's inverse kinematics tool, the same objective to the factor.
    Departs:    couplers, locks and prescribed motions are embedded, so they hold exactly and cost nothing; and each
                frame is at a minimum to `accuracy`, where OpenSim stops within about 0.1 degrees.
    Guarantees: the same answer to the last bit for any number of threads; a frame's pose depends on the frames before
                only by which minimum is found, not by where in it.

    Args:
        model: the model; markers are matched by name.
        markers: the recording; NaN where a marker was not seen, and then it has no weight in that frame.
        weights: of markers by name; those left out have none. All markers have weight 1 by default.
        tasks: coordinates to be kept near targets: name -> (weight, target), the target a number or one for each frame
            (NaN: none in that frame) [rad, m]. A task of a locked or prescribed coordinate changes nothing.
        start: (n,) coordinates from which the first frame is sought; the default pose if left out. Either way the
            frame is also tried from other poses, and the lowest minimum is taken.
        respect_ranges: "clamped" holds clamped coordinates in their range, as OpenSim does; "all" all; "none" none.
        accuracy: error of coordinates that the search may leave [rad, m].
        threads: at most so many; all cores by default.

    Raises:
        Unsupported: constraints of the model close loops.
        UnknownName: a weight or task names what neither model nor recording have.
        InvalidInput: no marker of the model was recorded, or an argument does not fit.
    """
    c, e = compiled(model), embedding_tables(model)
    if not isinstance(markers, Markers):
        raise InvalidInput(f"markers are {type(markers).__name__}; read them with read_markers(path)")
    if not (np.isfinite(accuracy) and accuracy > 0.0):
        raise InvalidInput(f"accuracy is {accuracy!r}; give a positive number of radians and metres")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of 1 or more, or None for all cores")
    names = tuple(name for name in model.marker_names if name in markers.names)
    frames = len(markers)
    task_names, task_weights, goals = _tasks(model, tasks or {}, frames)
    if not names and not task_names:
        raise InvalidInput(
            f"no marker of {model.name!r} ({', '.join(model.marker_names[:6]) or 'it has none'}) is in the recording "
            f"({', '.join(markers.names[:6]) or 'it has none'}); rename them with markers.rename"
        )
    targets = targets_of(model, c, names, _weights(model, markers, names, weights), task_names, task_weights)
    unknowns = unknowns_of(model, c, e, respect_ranges)
    starts = _starts(model, e, unknowns, start)
    # Newton's error is about the square of his last step; where slopes of an ellipsoid joint lack a term, steps
    # shrink only by a factor.
    curved = bool((c.tree.kind[targets.needed] == ELLIPSOID).any())
    tolerance = 0.01 * accuracy if curved else 0.1 * float(np.sqrt(accuracy))
    position = markers.pick(names).position.reshape(frames, -1)
    problem = _Problem(
        (c.tree, c.table, e.couplings, e.table, targets),
        unknowns,
        np.ascontiguousarray(position if names else np.full((frames, 3), np.nan)),
        goals,
        e.given(markers.time, frames),
        starts,
        tolerance,
        np.repeat(starts[:1], frames, axis=0),
        np.full((frames, max(len(names), 1)), np.nan),
        np.zeros(frames),
        np.zeros(frames, dtype=np.int64),
        np.zeros(frames, dtype=np.int64),
    )
    _solve(problem, frames, threads)
    options = {"respect_ranges": respect_ranges, "accuracy": accuracy}
    source = (markers.source,) if markers.source else ()
    results = problem.q, problem.errors[:, : len(names)], problem.objective, problem.status, problem.iterations
    for array in results:
        array.setflags(write=False)
    return InverseKinematics(
        model,
        markers.time,
        problem.q,
        e.embedding.independent(problem.q),
        names,
        *results[1:],
        Provenance.of("inverse_kinematics", model, source, **options),
    )


def _solve(problem: _Problem, frames: int, threads: int | None) -> None:
    """All frames: the first from many poses, the others from those before; long recordings in segments."""
    if frames < 2 * _SEGMENT:
        if frames:
            problem.track(0, frames, robust=True)
        return
    edges = [*range(0, frames - _SEGMENT + 1, _SEGMENT), frames]
    problem.track(0, edges[-2] + 1, robust=True, stride=_STRIDE)
    workers = min(threads or os.cpu_count() or 1, len(edges) - 1)
    spans = list(pairwise(edges))
    if workers == 1:
        for span in spans:
            problem.track(*span)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda span: problem.track(*span), spans))
    for first, stop in spans[1:]:
        _mend(problem, first, stop)


def _mend(problem: _Problem, first: int, stop: int) -> None:
    """Make a segment go on from the one before, should its first frame have found another minimum that is no lower."""
    there = problem._replace(
        q=problem.q[first - 1 : first].copy(),
        markers=problem.markers[first : first + 1],
        goals=problem.goals[first : first + 1],
        given=problem.given[first : first + 1],
        errors=np.empty((1, problem.errors.shape[1])),
        objective=np.empty(1),
        status=np.empty(1, dtype=np.int64),
        iterations=np.empty(1, dtype=np.int64),
    )
    there.track(0, 1)
    apart = np.abs(there.q[0] - problem.q[first]).max()
    if apart > _SAME_POSE and there.objective[0] <= problem.objective[first] * (1.0 + _SAME_POSE):
        problem.q[first] = there.q[0]
        problem.track(first, stop)


def _weights(model: Model, markers: Markers, names: tuple[str, ...], weights: Mapping[str, float] | None) -> FloatArray:
    if weights is None:
        return np.ones(len(names))
    for name, weight in weights.items():
        if name not in model.marker_names and name not in markers.names:
            raise UnknownName("marker", name, dict.fromkeys((*model.marker_names, *markers.names)), "weights")
        if not (np.isfinite(weight) and weight >= 0.0):
            raise InvalidInput(f"the weight of marker {name!r} is {weight!r}; give zero or a positive number")
    return np.array([weights.get(name, 0.0) for name in names], dtype=float)


def _tasks(
    model: Model, tasks: Mapping[str, tuple[float, ArrayLike]], frames: int
) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Names, weights (tasks,) and targets (frames, tasks) of the coordinate tasks."""
    goals, weights = np.full((frames, max(len(tasks), 1)), np.nan), []
    for k, (name, task) in enumerate(tasks.items()):
        model.coordinate(name)
        if name not in model.speed_names:
            raise InvalidInput(f"coordinate {name!r} is part of a quaternion and cannot be a task; use angles instead")
        try:
            weight, target = task
            weights.append(float(weight))
            goals[:, k] = np.broadcast_to(np.asarray(target, dtype=float), (frames,))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"the task of {name!r} is not (weight, target), the target a number or ({frames},): {error}"
            ) from None
        if not (np.isfinite(weights[-1]) and weights[-1] >= 0.0):
            raise InvalidInput(f"the weight of the task of {name!r} is {weight!r}; give zero or a positive number")
    return tuple(tasks), np.array(weights, dtype=float), goals


def targets_of(
    model: Model,
    c: CompiledModel,
    names: tuple[str, ...],
    weights: FloatArray,
    task_names: tuple[str, ...],
    task_weights: FloatArray,
) -> Targets:
    """Markers and tasks as arrays, and the nodes that move any of the markers."""
    node, location = np.zeros(len(names), dtype=np.int64), np.zeros((len(names), 3))
    poses: dict[str, Pose] = {}
    for k, marker in enumerate(marker for marker in model.markers if marker.name in names):
        place = model.placement(marker.frame)
        if marker.frame not in poses:
            poses[marker.frame] = c.body_pose[place.body] @ placed(place)
        X = poses[marker.frame]
        node[k], location[k] = c.body_node[place.body], X.p + X.R @ np.asarray(marker.location, dtype=float)
    tree = c.tree
    needed: set[int] = set()
    for i in node.tolist():
        while i > 0:
            needed.add(i)
            i = int(tree.parent[i])
    pairs = np.where(tree.kind == FUNCTION, tree.n_u**2, 0)
    return Targets(
        node,
        location,
        weights,
        np.array([model.coordinate_index(name) for name in task_names], dtype=np.int64),
        task_weights,
        np.array(sorted(needed), dtype=np.int64),
        np.concatenate([[0], np.cumsum(pairs)[:-1]]).astype(np.int64),
    )


def unknowns_of(model: Model, c: CompiledModel, e: EmbeddingTables, ranges: Ranges) -> Unknowns:
    """The independent speeds with the bounds of their coordinates."""
    if ranges not in ("clamped", "all", "none"):
        raise InvalidInput(f"respect_ranges={ranges!r}; known: clamped, all, none")
    rows = {name: k for k, name in enumerate(model.coordinate_names)}
    free = e.free_speeds
    coordinate = np.array([rows.get(model.speed_names[k], -1) for k in free], dtype=np.int64)
    lower, upper = np.full(len(free), -np.inf), np.full(len(free), np.inf)
    usual = np.zeros((len(free), 2))
    for k, row in enumerate(coordinate):
        one = model.coordinates[row] if row >= 0 else None
        if one is not None:
            usual[k] = min(one.range), max(one.range)
        if one is not None and (ranges == "all" or (ranges == "clamped" and one.clamped)):
            lower[k], upper[k] = min(one.range), max(one.range)
    tree, quaternions = c.tree, []
    for i in np.flatnonzero(tree.quaternion):
        q = tree.q_rows[tree.q_first[i] : tree.q_first[i] + 4]
        u = tree.u_rows[tree.u_first[i] : tree.u_first[i] + 3]
        quaternions.append([*q, *(free.index(int(k)) for k in u)])
    return Unknowns(
        np.array(free, dtype=np.int64),
        coordinate,
        lower,
        upper,
        usual,
        np.array(quaternions, dtype=np.int64).reshape(-1, 7),
    )


def _starts(model: Model, e: EmbeddingTables, unknowns: Unknowns, start: ArrayLike | None) -> FloatArray:
    """(starts, n) poses to begin with: the given one if any, the default one, then others about that, always the same.

    Bounded coordinates are drawn from the middle half of their range, so that a search does not begin at an edge where
    a wrong minimum may hold it. Angles between ground and the bodies on it are spread over full turns, as nothing says
    which way a subject faces; but the first few stay near, as most face along the x axis.
    """
    first = e.embedding.default_pose()
    rng = np.random.default_rng(0)
    starts = np.repeat(first[None], 1 + _OTHER_STARTS, axis=0)
    angles = set(angle_columns(model.coordinate_names, model))
    on_ground = {c.name for j in model.joints if GROUND in (j.parent.body, j.child.body) for c in j.coordinates}
    turned = np.where(np.arange(_OTHER_STARTS) < _OTHER_STARTS // 4, _SPREAD, np.pi)
    for k, row in enumerate(unknowns.coordinate):
        if row < 0:
            continue
        low, high = unknowns.lower[k], unknowns.upper[k]
        draw = rng.uniform(-1.0, 1.0, _OTHER_STARTS)
        if model.coordinate_names[row] in on_ground:
            moved = first[row] + draw * (turned if row in angles else _SPREAD)
        elif high - low < _NARROW:
            moved = 0.5 * (low + high) + 0.25 * (high - low) * draw
        else:
            moved = first[row] + _SPREAD * draw
        starts[1:, row] = np.clip(moved, low, high)
    for rows in unknowns.quaternion:
        starts[1:, rows[:4]] += rng.normal(size=(_OTHER_STARTS, 4)) * turned[:, None]
    if start is None:
        return starts
    given = frames_of("start", start, model.coordinate_names)[0]
    if len(given) != 1:
        raise InvalidInput(f"start has {len(given)} frames; give the coordinates of the first one alone")
    compiled(model).check_coordinates(given)
    return np.concatenate([given, starts])
