"""What a model's own poses say about every wrap: in which order a path meets surfaces, which way round it goes.

These are facts of a model, so that lengths do not depend on the poses that came before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.functions.function import Function
from musculo.kernels.paths.path_points import (
    CONDITIONAL,
    CYLINDER,
    ELLIPSOID,
    FIXED,
    MOVING,
    RANGE_MARGIN,
    TORUS,
    Paths,
)
from musculo.model.model import Model
from musculo.muscle.wrapping.cylinder_sides import ConstrainedSide, constrained_side

_SAMPLES = 33
# Poses that tell the order of surfaces and the sides of cylinders, beside the default one: a fixed sequence that fills
# the coordinates' ranges.
_POSES = 64
# Steps from the default pose to each of these, on which the turn of a path about a cylinder is followed.
_STEPS = 16
# A coordinate with a wider range than this, as the one that a file need not state (-10 to 10) or a full turn, has none
# to speak of: no joint bends so far, and no path stays on one side of a cylinder so long. It is moved so far either way
# for that [rad or m].
_WIDEST, _REACH = 4.5, 1.5
# What a pose has to say about two surfaces counts so much less where the path misses one of them.
_MISSED = 1e-3
# A path comes near a surface up to this depth: 1 is on it.
_NEAR = 1.2


@dataclass(frozen=True)
class Poses:
    """Where points and surfaces of all paths are in some poses: the default one, then _STEPS towards every other."""

    points: FloatArray  # (rows, points, 3) in ground
    there: np.ndarray  # (points,) whether conditional points are there in the default pose
    R: FloatArray  # (rows, surfaces, 3, 3)
    p: FloatArray  # (rows, surfaces, 3)

    @property
    def count(self) -> int:
        """How many poses there are, steps towards them not counted."""
        return len(self.points[::_STEPS])

    def seen(self, points: np.ndarray, surface: int) -> FloatArray:
        """Points (poses, points, 3) in a surface's frame, the default pose first."""
        return (self.points[::_STEPS, points] - self.p[::_STEPS, surface, None]) @ self.R[::_STEPS, surface]

    def on_the_way(self, points: np.ndarray, surface: int) -> FloatArray:
        """The same (poses but the default one, 1 + _STEPS, points, 3) on the way from the default pose to each."""
        x = (self.points[:, points] - self.p[:, surface, None]) @ self.R[:, surface]
        steps = x[1:].reshape(-1, _STEPS, *x.shape[1:])
        return np.concatenate([np.broadcast_to(x[0], (len(steps), 1, *x.shape[1:])), steps], axis=1)


def sample_poses(model: Model, q: FloatArray, paths: Paths, functions: list[Function]) -> Poses:
    """Where points and surfaces are in poses q (rows, n); `functions`: those of moving points."""
    k = kinematics(model, q)
    R, p = k._R, k._motion[:, :, 0]
    location = np.repeat(paths.location[None], len(q), axis=0)
    there = np.ones(len(paths.location), dtype=bool)
    for i in np.flatnonzero(paths.point_kind == MOVING):
        moved = np.empty((len(q), 3))
        for axis in range(3):
            row, bounds = paths.moving_row[i, axis], paths.moving_range[i, axis]
            x = np.clip(q[:, row], *bounds) if row >= 0 else np.zeros(len(q))
            moved[:, axis] = functions[paths.moving_function[i, axis]](x)
        location[:, i] += moved @ paths.moving_R[i].reshape(3, 3).T
    for i in np.flatnonzero(paths.point_kind == CONDITIONAL):
        low, high = paths.condition_range[i]
        row = paths.condition_row[i]
        there[i] = row >= 0 and low - RANGE_MARGIN <= q[0, row] <= high + RANGE_MARGIN
    at, on = paths.point_node, paths.surface_node
    return Poses(
        np.einsum("fnij,fnj->fni", R[:, at], location) + p[:, at],
        there,
        R[:, on] @ paths.surface_R.reshape(-1, 3, 3),
        p[:, on] + np.einsum("fnij,nj->fni", R[:, on], paths.surface_p),
    )


def sample_coordinates(model: Model) -> FloatArray:
    """(rows, n) the default pose, then _STEPS from it to each of some that fill the ranges evenly; couplings hold,
    loops may be open."""
    e = embedding_of(model)
    q = e.default_pose() if e.branch is None else e.branch
    low, high = np.array([c.range for c in model.coordinates], dtype=float).reshape(-1, 2).T
    unbounded = ~(high - low <= _WIDEST)
    low, high = np.where(unbounded, q - _REACH, low), np.where(unbounded, q + _REACH, high)
    # multiples of irrational steps, one a coordinate, fill the unit cube evenly
    steps = np.sqrt(np.arange(2.0, len(q) + 2.0) + np.sqrt(2.0)) % 1.0
    spread = low + (high - low) * ((np.arange(1, _POSES + 1)[:, None] * steps) % 1.0)
    part = np.arange(1.0, _STEPS + 1.0)[:, None] / _STEPS
    spread = (q + part * (spread[:, None] - q)).reshape(-1, len(q))
    if not e.loops and not e.unsolved:
        spread = e.coordinates(e.independent(spread))
    return np.vstack([q, spread])


def _depth(paths: Paths, surface: int, x: FloatArray) -> FloatArray:
    """How far out points (..., 3) of the surface's frame lie: 1 on it, below inside."""
    kind, size = paths.surface_kind[surface], paths.surface_size[surface]
    if kind == CYLINDER:
        return np.hypot(x[..., 0], x[..., 1]) / size[0]
    if kind == TORUS:
        return np.hypot(np.hypot(x[..., 0], x[..., 1]) - size[1], x[..., 2]) / size[0]
    a = size if kind == ELLIPSOID else size[:1]
    return np.sqrt(((x / a) ** 2).sum(axis=-1))


def wrap_rules(paths: Paths, poses: Poses) -> tuple[Paths, tuple[int, ...]]:
    """The paths with what their poses say about their wraps filled in, and in how many of the poses each wrap of a
    cylinder does not keep to its quadrant as OpenSim's path does."""
    order: list[int] = []
    first: list[int] = []
    azimuth: list[float] = []
    following: list[int] = []
    shift: list[float] = []
    lost: list[int] = []
    inside: list[int] = []
    for k in range(paths.first_point.size - 1):
        points = np.arange(paths.first_point[k], paths.first_point[k + 1])
        wraps = list(range(paths.first_wrap[k], paths.first_wrap[k + 1]))
        there = [i for i, point in enumerate(points) if poses.there[point]]
        pairs = {}
        for wrap in wraps:
            surface = paths.wrap_surface[wrap]
            seen = poses.seen(points, surface)
            x = seen[0]
            fixed = (paths.point_kind[points] == FIXED) | (paths.point_kind[points] == CONDITIONAL)
            rigid = fixed & (paths.point_node[points] == paths.surface_node[surface])
            within = rigid & (_depth(paths, surface, x) < 1.0)
            first.append(len(azimuth))
            azimuth += list(np.arctan2(x[:, 1], x[:, 0]))
            inside += [int(w) for w in within]
            low, high = paths.wrap_range[wrap] - points[0]
            pairs[wrap] = [
                (a, b) for a, b in pairwise(there) if low <= a and b <= high and not within[a] and not within[b]
            ]
            side = _side(paths, surface, points, poses, pairs[wrap])
            after = dict(side.shift.keys())
            following += [int(points[after[i]]) if i in after else -1 for i in range(len(points))]
            shift += [side.shift[i, after[i]] if i in after else 0.0 for i in range(len(points))]
            lost.append(side.lost)
        order += _in_order(paths, points, wraps, pairs, poses)
    filled = paths._replace(
        wrap_order=np.array(order, dtype=np.int64),
        first_seen=np.array(first, dtype=np.int64),
        seen_azimuth=np.array(azimuth, dtype=float),
        seen_next=np.array(following, dtype=np.int64),
        seen_shift=np.array(shift, dtype=float),
        seen_inside=np.array(inside, dtype=np.int64),
    )
    return filled, tuple(lost)


def _in_order(
    paths: Paths, points: np.ndarray, wraps: list[int], pairs: dict[int, list[tuple[int, int]]], poses: Poses
) -> list[int]:
    """The wraps of a path in the order in which it meets them.

    Two wraps on one path segment are ordered by most poses, mainly those in which the path runs into both.
    """
    votes = dict.fromkeys(wraps, 0.0)
    where = {
        wrap: {pair: _beside(paths, wrap, points, pair, poses) for pair in pairs[wrap]}
        for wrap in (wraps if len(wraps) > 1 else ())
    }
    for one, other in combinations(wraps, 2):
        later = 0.0
        for pair in set(pairs[one]) & set(pairs[other]):
            (deep_1, at_1), (deep_2, at_2) = where[one][pair], where[other][pair]
            weight = np.where((deep_1 < _NEAR) & (deep_2 < _NEAR), 1.0, _MISSED)
            later += float((weight * np.sign(at_1 - at_2)).sum())
        votes[one] += np.sign(later)
        votes[other] -= np.sign(later)
    return sorted(wraps, key=lambda wrap: votes[wrap])


def _beside(
    paths: Paths, wrap: int, points: np.ndarray, pair: tuple[int, int], poses: Poses
) -> tuple[FloatArray, FloatArray]:
    """How deep a path segment lies inside a surface, and the fraction of it that is nearest the surface's center.

    Both (poses,). The center of a cylinder is the point of its axis next to where the segment is deepest inside.
    """
    surface = paths.wrap_surface[wrap]
    x = poses.seen(points[list(pair)], surface)
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    along = x[:, 1] - x[:, 0]
    chord = x[:, :1] + t * along[:, None]
    far = _depth(paths, surface, chord)
    center = np.zeros((len(x), 3))
    i = np.argmin(far, axis=1)
    if paths.surface_kind[surface] == CYLINDER:
        half = 0.5 * paths.surface_size[surface, 1]
        far = far + np.maximum(np.abs(chord[..., 2]) - half, 0.0) / paths.surface_size[surface, 0]
        i = np.argmin(far, axis=1)
        center[:, 2] = np.clip(chord[np.arange(len(x)), i, 2], -half, half)
    whole = np.maximum((along**2).sum(axis=1), 1e-30)
    return far[np.arange(len(x)), i], ((center - x[:, 0]) * along).sum(axis=1) / whole


def _side(
    paths: Paths, surface: int, points: np.ndarray, poses: Poses, pairs: list[tuple[int, int]]
) -> ConstrainedSide:
    """The constrained side of a cylinder with a quadrant across its axis; other surfaces have none."""
    axis, sign = int(paths.surface_axis[surface]), float(paths.surface_sign[surface])
    if paths.surface_kind[surface] != CYLINDER or sign == 0.0 or axis == 2:
        return ConstrainedSide({}, 0)
    r, length = paths.surface_size[surface, :2]
    way = poses.on_the_way(points, surface)
    return constrained_side(poses.seen(points, surface), pairs, r, length, axis, sign, way)
