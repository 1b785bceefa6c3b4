"""Paths as straight lines through their points, past all surfaces: a drawing that needs no compiled path kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics
from musculo.errors import Unsupported
from musculo.kernels.paths.path_points import RANGE_MARGIN
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, UnsupportedPath
from musculo.muscle.compile_paths import path_forces
from musculo.muscle.geometry import PathPoints


def straight_paths(poses: Kinematics, q: FloatArray) -> tuple[PathPoints, tuple[str, ...]]:
    """The points of every path, muscles first, and the names of other forces whose path is not known.

    Args:
        poses: of the model in these frames.
        q: (frames, n) all coordinates [rad, m].

    Raises:
        Unsupported: a muscle without a path, or with one of a kind that is carried only.
    """
    forces = path_forces(poses.model)
    lost = [force.name for force in forces if isinstance(force.path, UnsupportedPath)]
    unknown = [muscle.name for muscle in poses.model.muscles if muscle.name in lost or muscle.path is None]
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
