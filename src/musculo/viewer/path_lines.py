"""Muscle paths as polylines with a fixed number of points each, for all frames at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics
from musculo.model.wrap import WrapObject
from musculo.muscle.paths.current_paths import PathPoints
from musculo.spatial.pose import Pose
from musculo.viewer.arcs import arc


class Polylines(NamedTuple):
    """Paths of all frames. Path k has the points first[k] .. first[k + 1] of the middle axis.

    Where a frame needs fewer, its last point is repeated. Frames of equal `layout` have matching points, so that
    what lies between two frames may be interpolated; where the layout changes, it may not.
    """

    names: tuple[str, ...]
    first: NDArray[np.int64]  # (paths + 1,)
    points: FloatArray  # (frames, points, 3) in ground [m]
    layout: NDArray[np.int64]  # (frames, paths)


def polylines(points: PathPoints, poses: Kinematics) -> Polylines:
    """The paths of all frames, with the arcs over surfaces filled in."""
    model = poses.model
    surfaces: dict[str, WrapObject] = {}
    for surface in model.wrap_objects:
        surfaces.setdefault(surface.name, surface)  # of several with one name the first counts
    parts: list[FloatArray] = []
    layout = np.zeros(points.count.shape, dtype=np.int64)
    for k in range(len(points.names)):
        drawn, layout[:, k] = _one(points, k, poses, surfaces)
        parts.append(drawn)
    first = np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])]).astype(np.int64)
    whole = np.concatenate(parts, axis=1) if parts else np.zeros((len(points.count), 0, 3))
    return Polylines(points.names, first, whole, layout)


def _one(
    points: PathPoints, k: int, poses: Kinematics, surfaces: dict[str, WrapObject]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Points (frames, most, 3) of one path, and which of its layouts each frame has."""
    entries = slice(points.first[k], points.first[k + 1])
    position, wrap, count = points.position[:, entries], points.wrap[:, entries], points.count[:, k]
    used = np.arange(wrap.shape[1]) < count[:, None]
    # A layout is the row of surfaces that the path meets; unused entries are marked apart.
    kinds, layout = _layouts(np.where(used, wrap, -2))
    rows = []
    for which, kind in enumerate(kinds):
        frames = np.flatnonzero(layout == which)
        n = int((kind != -2).sum())
        rows.append((frames, _filled(position[frames, :n], kind[:n], frames, points, poses, surfaces)))
    most = max(filled.shape[1] for _, filled in rows)
    drawn = np.empty((len(count), most, 3))
    for frames, filled in rows:
        n = filled.shape[1]
        drawn[frames, :n] = filled
        drawn[frames, n:] = filled[:, -1:]
    return drawn, layout


def _layouts(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The different rows, and which of them each row is; neighbors are mostly equal, so runs are compared."""
    starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    kinds, which = np.unique(rows[starts], axis=0, return_inverse=True)
    return kinds, np.repeat(np.ravel(which), np.diff(np.append(starts, len(rows))))


def _filled(
    position: FloatArray,
    kind: NDArray[np.int32],
    frames: NDArray[np.int64],
    points: PathPoints,
    poses: Kinematics,
    surfaces: dict[str, WrapObject],
) -> FloatArray:
    """One layout: the points (frames, n, 3) with arcs between the two contacts of each surface."""
    parts, i = [], 0
    while i < len(kind):
        parts.append(position[:, i : i + 1])
        if kind[i] >= 0 and i + 1 < len(kind) and kind[i + 1] == kind[i]:
            surface = surfaces[points.wrap_objects[kind[i]]]
            ends = [max(i - 1, 0), i, i + 1, min(i + 2, len(kind) - 1)]
            parts.append(_over(surface, position[:, ends], frames, poses))
            parts.append(position[:, i + 1 : i + 2])
            i += 1
        i += 1
    return np.concatenate(parts, axis=1)


def _over(surface: WrapObject, around: FloatArray, frames: NDArray, poses: Kinematics) -> FloatArray:
    """Samples (frames, n, 3) between two contacts, in ground; `around` has the point before, both, the point after."""
    R_WF, p_WF = (x[frames] for x in poses.batch_pose(surface.frame))
    X_FS = Pose.from_xyz(surface.orientation, surface.translation)
    R, p = R_WF @ X_FS.R, p_WF + R_WF @ X_FS.p
    before, a, b, after = np.einsum("fji,fnj->nfi", R, around - p[:, None])
    inside = arc(surface, a, b, a - before, after - b)
    return p[:, None] + np.einsum("fij,fnj->fni", R, inside)
