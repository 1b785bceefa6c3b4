"""What of a motion is to be seen: poses of bodies, and paths of muscles as they run over surfaces or straight.

Straight lines through the points of a path, past all surfaces, need no compiled path kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.errors import MusculoError, Unsupported
from musculo.kernels.paths.path_points import RANGE_MARGIN
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, UnsupportedPath
from musculo.muscle.paths.compile_paths import path_forces
from musculo.muscle.paths.geometry import PathPoints, muscle_geometry, path_geometry

Drawing = Literal["geodesic", "opensim", "straight"]
WRAPPINGS: tuple[Drawing, ...] = ("geodesic", "opensim", "straight")
_STRAIGHT = "Muscles are drawn straight through the points of their paths, not over the surfaces that they slide over."


@dataclass(frozen=True, eq=False)
class VisibleMotion:
    """Poses of all bodies, and what runs along paths; `notes` say what is left out."""

    poses: Kinematics
    points: PathPoints | None  # None: nothing has a path that is known
    lengths: FloatArray  # (frames, paths) [m]
    notes: tuple[str, ...]


def visible_motion(model: Model, q: FloatArray, wrapping: Drawing = "geodesic") -> VisibleMotion:
    """What is to be seen of a model at coordinates q (frames, n); muscles alone where another path has no mechanics.

    Args:
        model: the model.
        q: (frames, n) all coordinates [rad, m].
        wrapping: how paths run over surfaces, see `view`.
    """
    poses, nothing = kinematics(model, q), np.zeros((len(q), 0))
    if wrapping == "straight":
        try:
            points, lost = straight_paths(poses, q)
        except MusculoError as error:
            return VisibleMotion(poses, None, nothing, (f"Muscles are left out: {error}",))
        told: tuple[str, ...] = (_STRAIGHT,) if any(f.path is not None and f.path.wraps for f in model.forces) else ()
        functions = [f.name for f in model.forces if isinstance(f.path, FunctionPath)]
        told = (*told, *_no_points(functions))
        notes = (*told, *(f"The path of {name} is not known." for name in lost if name not in functions))
        return VisibleMotion(poses, points, lengths(points), notes)
    why = ""
    for geometry in (path_geometry, muscle_geometry):
        try:
            found = geometry(model, q, wrapping=wrapping)
        except MusculoError as error:
            why = str(error)
        else:
            told = (f"Some paths are left out: {why}",) if why else ()
            functions = [found.names[k] for k in found.function_paths]
            told = (*told, *_no_points(functions))
            drawn = [k for k in range(len(found.names)) if k not in found.function_paths]
            points = with_points(found.path_points) if functions else found.path_points
            return VisibleMotion(poses, points, np.atleast_2d(found.length)[:, drawn], told)
    return VisibleMotion(poses, None, nothing, (f"Muscles are left out: {why}",))


def straight_paths(poses: Kinematics, q: FloatArray) -> tuple[PathPoints, tuple[str, ...]]:
    """The points of every path, muscles first, and the names of other forces whose path is not known.

    Args:
        poses: of the model in these frames.
        q: (frames, n) all coordinates [rad, m].

    Raises:
        Unsupported: a muscle without a path, or with one of a kind that is carried only.
    """
    forces = path_forces(poses.model)
    lost = [force.name for force in forces if isinstance(force.path, UnsupportedPath | FunctionPath)]
    muscles = [muscle for muscle in poses.model.muscles if not isinstance(muscle.path, FunctionPath)]
    unknown = [muscle.name for muscle in muscles if muscle.name in lost or muscle.path is None]
    if unknown:
        raise Unsupported(f"muscle {unknown[0]!r} has no path that is known")
    paths = [(force.name, force.path) for force in forces if force.path is not None and force.name not in lost]
    first = np.concatenate([[0], np.cumsum([len(path.points) for _, path in paths])]).astype(np.int64)
    position = np.zeros((len(q), int(first[-1]), 3))
    count = np.zeros((len(q), len(paths)), dtype=np.int64)
    for k, (_, path) in enumerate(paths):
        position[:, first[k] : first[k + 1]], count[:, k] = _path(path, poses, q)
    wrap = np.full(position.shape[:2], -1, dtype=np.int32)
    return PathPoints(tuple(name for name, _ in paths), first, count, position, wrap, np.zeros(count.shape)), tuple(
        lost
    )


def with_points(points: PathPoints) -> PathPoints:
    """The same without paths that have no points in any frame."""
    kept = np.flatnonzero(np.diff(points.first) > 0)
    return replace(
        points,
        names=tuple(points.names[k] for k in kept),
        first=np.append(points.first[kept], points.first[-1]),
        count=points.count[:, kept],
        penalty=points.penalty[:, kept],
    )


def _no_points(names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    more = f" and {len(names) - 1} others" if names[1:] else ""
    return (f"The path of {names[0]}{more} is a function of coordinates, and has no points to draw.",)


def lengths(points: PathPoints) -> FloatArray:
    """(frames, paths) of the lines [m]."""
    steps = np.linalg.norm(np.diff(points.position, axis=1), axis=2)
    found = np.zeros(points.count.shape)
    for k in range(len(points.names)):
        between = np.arange(points.first[k], points.first[k + 1] - 1)
        used = np.arange(len(between)) < points.count[:, k, None] - 1
        found[:, k] = np.where(used, steps[:, between], 0.0).sum(axis=1)
    return found


def _path(path: Path, poses: Kinematics, q: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Points (frames, n, 3) in ground with those in use first, and how many they are (frames,)."""
    places = [np.broadcast_to(poses.position(p.frame, _location(p, poses, q)), (len(q), 3)) for p in path.points]
    used = np.stack([_in_use(p, poses, q) for p in path.points], axis=1)
    order = np.argsort(~used, axis=1, kind="stable")
    return np.take_along_axis(np.stack(places, axis=1), order[..., None], axis=1), used.sum(axis=1)


def _location(point: PathPoint, poses: Kinematics, q: FloatArray) -> FloatArray:
    if not isinstance(point, MovingPathPoint):
        return np.asarray(point.location, dtype=float)
    parts = ((point.x, point.x_coordinate), (point.y, point.y_coordinate), (point.z, point.z_coordinate))
    return np.stack([f(_held(name, poses, q)) for f, name in parts], axis=1)


def _held(coordinate: str, poses: Kinematics, q: FloatArray) -> FloatArray:
    """A coordinate over the frames; a moving point holds still outside its range."""
    if not coordinate:
        return np.zeros(len(q))
    k = poses.model.coordinate_index(coordinate)
    return np.clip(q[:, k], *poses.model.coordinates[k].range)


def _in_use(point: PathPoint, poses: Kinematics, q: FloatArray) -> NDArray[np.bool_]:
    if not isinstance(point, ConditionalPathPoint):
        return np.ones(len(q), dtype=bool)
    if not point.coordinate:
        return np.zeros(len(q), dtype=bool)
    value = q[:, poses.model.coordinate_index(point.coordinate)]
    low, high = point.range
    return np.asarray((value >= low - RANGE_MARGIN) & (value <= high + RANGE_MARGIN))
