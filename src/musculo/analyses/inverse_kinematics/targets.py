"""What inverse kinematics follows: markers, sensors and coordinate tasks, checked and as arrays."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel
from musculo.compile.joint_nodes import placed
from musculo.diagnostics.finding import Finding, Severity
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.fit.pose_fit import Targets
from musculo.kernels.tree.nodes import FUNCTION
from musculo.model.model import Model
from musculo.results.markers import Markers, markers_of
from musculo.results.orientations import Orientations
from musculo.spatial.pose import Pose

M = TypeVar("M", Markers, Markers | None)
# A subject is not so many times as large as its model, or as small; units are. Markers of one body leave less room;
# those of several bodies may also be apart by how these stand, so that less than certain is told only.
_TOO_LARGE, _LARGE, _TOO_FAR_APART = 50.0, 5.0, 4.0
# So many pairs of markers of one body tell their scale, if they are not closer than this [m].
_PAIRS, _CLOSE = 3, 0.01
# What positions are in that are so many powers of ten too large for meters.
_SEEM = {
    3: "millimeters, not meters",
    2: "centimeters, not meters",
    1: "another unit than the file says, for instance millimeters under the name cm",
    -1: "another unit than the file says, for instance centimeters under the name mm",
    -2: "another unit than the file says, or divided by 100 too much",
    -3: "meters under the name mm, or kilometers",
}
# Names that are shown in a message.
_SHOWN = 6


class Followed(NamedTuple):
    """Things to follow: their names, weights, and the frame of the model that each belongs to."""

    names: tuple[str, ...] = ()
    weights: FloatArray = np.zeros(0)
    frames: tuple[str, ...] = ()


class Tasks(NamedTuple):
    """Coordinates to keep near goals (frames, tasks)."""

    names: tuple[str, ...]
    weights: FloatArray
    goals: FloatArray


def recorded_for(model: Model, markers: M) -> tuple[M, list[Finding]]:
    """Markers by the names of the model: a subject's name before them (`Subj1:RASI`) is dropped, with a warning.

    A data frame or a labeled array of markers will do.
    """
    markers = markers_of(markers)
    if not isinstance(markers, Markers):
        return markers, []
    found = markers.named_like(model.marker_names)
    if found is markers:
        return markers, []
    said = f"{markers.source or 'the recording'}: {found.notes[-1]}"
    return cast(M, found), [Finding(said, Severity.DOUBTFUL)]


def followed_markers(model: Model, markers: Markers | None, weights: Mapping[str, float] | None) -> Followed:
    """The markers that model and recording share, in the model's order.

    Raises:
        UnknownName: a weight of what neither has.
        InvalidInput: they share none, or the recording is in other units than meters.
    """
    if markers is None:
        if weights is not None:
            raise InvalidInput("weights are given without markers; pass markers=, or orientation_weights for sensors")
        return Followed()
    if not isinstance(markers, Markers):
        raise InvalidInput(f"markers are {type(markers).__name__}; read them with read_markers(path)")
    names = tuple(name for name in model.marker_names if name in markers.names)
    found = _weights("marker", names, (*model.marker_names, *markers.names), weights)
    if not names and markers.names:
        how = "markers.rename in Python, or --rename RECORDED=MODEL in the shell,"
        raise InvalidInput(_nothing_in_common("marker", model, model.marker_names, markers.names, how))
    unit_findings(model, markers)
    frames = {marker.name: marker.frame for marker in model.markers}
    return Followed(names, found, tuple(frames[name] for name in names))


def followed_sensors(
    model: Model,
    orientations: Orientations | None,
    weights: Mapping[str, float] | None,
    frames: Mapping[str, str] | None,
) -> Followed:
    """The sensors that have a frame in the model, in the order of the recording.

    Raises:
        UnknownName: a weight or frame of a sensor that was not recorded, or a frame that the model does not have.
        InvalidInput: no sensor has a frame in the model.
    """
    if orientations is None:
        if weights is not None or frames is not None:
            raise InvalidInput("weights or frames of sensors are given without orientations; pass orientations=")
        return Followed()
    if not isinstance(orientations, Orientations):
        raise InvalidInput(f"orientations are {type(orientations).__name__}; read them with read_orientations(path)")
    own = frames_by_name(model)
    for name, frame in (frames or {}).items():
        if name not in orientations.names:
            raise UnknownName("sensor", name, orientations.names, orientations.source or "the orientations")
        model.placement(frame)
        own[name] = frame
    names = tuple(name for name in orientations.names if name in own)
    if not names and orientations.names:
        how = "place_sensors puts them on it, or orientations.rename"
        raise InvalidInput(_nothing_in_common("frame", model, tuple(own), orientations.names, how))
    found = _weights("sensor", names, orientations.names, weights)
    return Followed(names, found, tuple(own[name] for name in names))


def frames_by_name(model: Model) -> dict[str, str]:
    """Frames of a model by the last part of their path; bodies come first where a name is taken twice."""
    found = {frame.path.rsplit("/", 1)[-1]: frame.path for frame in reversed(model.frames)}
    return found | {name: name for name in model.body_names}


def _weights(kind: str, names: Sequence[str], known: Sequence[str], weights: Mapping[str, float] | None) -> FloatArray:
    if weights is None:
        return np.ones(len(names))
    for name, weight in weights.items():
        if name not in known:
            raise UnknownName(kind, name, dict.fromkeys(known), "weights")
        if not (np.isfinite(weight) and weight >= 0.0):
            raise InvalidInput(f"the weight of {kind} {name!r} is {weight!r}; give zero or a positive number")
    return np.array([weights.get(name, 1.0) for name in names], dtype=float)


def _nothing_in_common(kind: str, model: Model, known: Sequence[str], recorded: Sequence[str], how: str) -> str:
    """A sentence that says so, and which names are nearest."""
    lower = {name.lower(): name for name in known}
    pairs = []
    for name in recorded:
        near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
        if near:
            pairs.append(f"{name!r} is near {lower[near[0]]!r}")
    shown = "; ".join(pairs[:_SHOWN]) if pairs else "no name is near another"
    return (
        f"no {kind} of {model.name!r} ({', '.join(known[:_SHOWN]) or 'it has none'}) is in the recording "
        f"({', '.join(recorded[:_SHOWN])}); {shown}; {how} gives them other names"
    )


def unit_findings(model: Model, markers: Markers) -> list[Finding]:
    """Markers that are much further apart, or much nearer, than those of the model.

    Markers of one body tell it, whatever the pose; where they are few, the spread of all of them at the default pose.

    Raises:
        InvalidInput: nothing but another unit explains it.
    """
    names = tuple(name for name in model.marker_names if name in markers.names)
    if not len(markers) or len(names) < 2:
        return []
    columns = [markers.names.index(name) for name in names]
    missing = markers.missing[:, columns]
    frame = int(np.argmin(missing.sum(axis=1)))
    there = np.flatnonzero(~missing[frame])
    if len(there) < 2:
        return []
    at = model.derived("markers at the default pose", lambda: _default_markers(model))
    recorded = markers.position[frame, columns][there]
    model_at = np.array([at[names[k]] for k in there])
    frames = {marker.name: marker.frame for marker in model.markers}
    ratio = _apart(recorded, model_at, [model.placement(frames[names[k]]).body for k in there])
    if ratio is not None:
        how = f"are {ratio:.3g} times as far apart as those of {model.name!r}"
        certain = unlikely = not 1.0 / _TOO_FAR_APART < ratio < _TOO_FAR_APART
    else:
        spread, expected = (float(np.linalg.norm(x - x.mean(axis=0), axis=1).max()) for x in (recorded, model_at))
        if expected == 0.0 or spread == 0.0:
            return []
        ratio = spread / expected
        how = f"spread {ratio:.3g} times as far as those of {model.name!r}"
        unlikely = not 1.0 / _LARGE < ratio < _LARGE
        certain = not 1.0 / _TOO_LARGE < ratio < _TOO_LARGE
    if not unlikely:
        return []
    power = round(np.log10(ratio))
    seem = _SEEM.get(power, "another unit" if power else "the frame of another model")
    advice = f"state the unit in the file, or multiply positions by 1e{-power}" if power else "look at their names"
    said = f"the markers of {markers.source or 'the recording'} {how}: they seem to be in {seem}; {advice}"
    if certain:
        raise InvalidInput(said)
    return [Finding(said, Severity.DOUBTFUL)]


def _apart(recorded: FloatArray, model_at: FloatArray, bodies: Sequence[str]) -> float | None:
    """How many times as far apart as in the model markers of one body are (the median); None where pairs are few."""
    _, body = np.unique(np.array(bodies), return_inverse=True)
    i, j = np.triu_indices(len(bodies), 1)
    i, j = i[body[i] == body[j]], j[body[i] == body[j]]
    distance = np.linalg.norm(model_at[i] - model_at[j], axis=1)
    apart = distance > _CLOSE
    ratios = np.linalg.norm(recorded[i] - recorded[j], axis=1)[apart] / distance[apart]
    ratio = float(np.median(ratios)) if len(ratios) >= _PAIRS else 0.0
    return ratio if ratio > 0.0 else None


def _default_markers(model: Model) -> dict[str, FloatArray]:
    at = kinematics(model, embedding_of(model).default_pose()).markers()
    return dict(zip(model.marker_names, at, strict=True))


def coordinate_tasks(model: Model, tasks: Mapping[str, tuple[float, ArrayLike]], frames: int) -> Tasks:
    """Tasks with a goal for each frame."""
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
    return Tasks(tuple(tasks), np.array(weights, dtype=float), goals)


def asked_for(
    markers: Followed,
    sensors: Followed,
    sensor_weights: Mapping[str, float] | None,
    sensor_frames: Mapping[str, str] | None,
    tasks: Tasks,
) -> dict[str, dict[str, Any]]:
    """What was asked for by name, for the provenance of results; nothing where it was left to be the usual."""

    def weights(of: Followed) -> dict[str, float]:
        return dict(zip(of.names, of.weights.tolist(), strict=True))

    goals = [tasks.goals[:, k] for k in range(len(tasks.names))]
    found: dict[str, dict[str, Any]] = {
        "weights": weights(markers),
        "orientation_weights": {} if sensor_weights is None else weights(sensors),
        "sensor_frames": dict(sensor_frames or {}),
        "tasks": {
            name: [float(weight), float(goal[0]) if len(goal) and (goal == goal[0]).all() else "by frame"]
            for name, weight, goal in zip(tasks.names, tasks.weights, goals, strict=True)
        },
    }
    return {name: given for name, given in found.items() if given}


def refuse_nothing(markers: Followed, sensors: Followed, tasks: Tasks) -> None:
    """Raise InvalidInput where no weight is left to follow anything by."""
    if any(weights.any() for weights in (markers.weights, sensors.weights, tasks.weights)):
        return
    counts = ((markers.names, "marker"), (sensors.names, "sensor"), (tasks.names, "task"))
    listed = " and ".join(f"{len(names)} {kind}{'s'[: len(names) - 1]}" for names, kind in counts if names)
    if listed:
        raise InvalidInput(
            f"all weights are zero: nothing of {listed} would be followed; give those to follow weights above zero, or "
            "leave weights out to follow all alike"
        )
    raise InvalidInput(
        "the recording has no markers and no sensors, and there are no tasks; there is nothing to follow"
    )


def targets_of(model: Model, c: CompiledModel, markers: Followed, sensors: Followed, tasks: Tasks) -> Targets:
    """All of it as arrays for the kernel, and the nodes that move any of it."""
    poses: dict[str, tuple[int, Pose]] = {}
    for frame in (*markers.frames, *sensors.frames):
        if frame not in poses:
            place = model.placement(frame)
            poses[frame] = c.body_node[place.body], c.body_pose[place.body] @ placed(place)
    node, location = np.zeros(len(markers.names), dtype=np.int64), np.zeros((len(markers.names), 3))
    by_name = {marker.name: marker.location for marker in model.markers}
    for k, (name, frame) in enumerate(zip(markers.names, markers.frames, strict=True)):
        node[k], X = poses[frame]
        location[k] = X.p + X.R @ np.asarray(by_name[name], dtype=float)
    sensor_node = np.array([poses[frame][0] for frame in sensors.frames], dtype=np.int64)
    rotation = np.array([poses[frame][1].R for frame in sensors.frames]).reshape(-1, 1)
    tree = c.tree
    needed: set[int] = set()
    for i in (*node.tolist(), *sensor_node.tolist()):
        while i > 0:
            needed.add(i)
            i = int(tree.parent[i])
    pairs = np.where(tree.kind == FUNCTION, tree.n_u**2, 0)
    return Targets(
        node,
        location,
        markers.weights,
        sensor_node,
        rotation if len(rotation) else np.zeros((9, 1)),
        sensors.weights,
        np.array([model.coordinate_index(name) for name in tasks.names], dtype=np.int64),
        tasks.weights,
        np.array(sorted(needed), dtype=np.int64),
        np.concatenate([[0], np.cumsum(pairs)[:-1]]).astype(np.int64),
    )
