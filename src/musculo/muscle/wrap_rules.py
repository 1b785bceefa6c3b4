"""What a model's own poses say about every wrap: in which order a path meets surfaces, which way round it goes.

These are facts of a model, so that lengths do not depend on the poses that came before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.functions.base import Function
from musculo.kernels.geodesic_round import principal
from musculo.kernels.path import CONDITIONAL, CYLINDER, ELLIPSOID, FIXED, MOVING, RANGE_MARGIN, TORUS, Paths
from musculo.model.model import Model

_SAMPLES = 33
# Poses that tell the order of surfaces, beside the default one: a fixed sequence that fills the coordinates' ranges.
_POSES = 64
# A coordinate without a finite range is moved so far either way for that [rad or m].
_REACH = 1.0
# What a pose has to say about two surfaces counts so much less where the path misses one of them.
_MISSED = 1e-3
# A path comes near a surface up to this depth: 1 is on it.
_NEAR = 1.2


@dataclass(frozen=True)
class Poses:
    """Where points and surfaces of all paths are in some poses, the default one first."""

    points: FloatArray  # (poses, points, 3) in ground
    there: np.ndarray  # (points,) whether conditional points are there in the default pose
    R: FloatArray  # (poses, surfaces, 3, 3)
    p: FloatArray  # (poses, surfaces, 3)

    def seen(self, points: np.ndarray, surface: int) -> FloatArray:
        """Points (poses, points, 3) in a surface's frame."""
        return (self.points[:, points] - self.p[:, surface, None]) @ self.R[:, surface]


def sample_poses(model: Model, paths: Paths, functions: list[Function]) -> Poses:
    """The model's default pose and some over its coordinates' ranges; `functions`: those of its moving points."""
    q = _sample(model)
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


def _sample(model: Model) -> FloatArray:
    """(poses, n) the default pose, then poses that fill the ranges evenly; couplings hold, loops may be open."""
    e = embedding_of(model)
    q = e.default_pose() if e.branch is None else e.branch
    low, high = np.array([c.range for c in model.coordinates], dtype=float).reshape(-1, 2).T
    unbounded = ~(np.isfinite(low) & np.isfinite(high) & (np.abs(low) < 50.0) & (np.abs(high) < 50.0))
    low, high = np.where(unbounded, q - _REACH, low), np.where(unbounded, q + _REACH, high)
    # multiples of irrational steps, one a coordinate, fill the unit cube evenly
    steps = np.sqrt(np.arange(2.0, len(q) + 2.0) + np.sqrt(2.0)) % 1.0
    spread = low + (high - low) * ((np.arange(1, _POSES + 1)[:, None] * steps) % 1.0)
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


def wrap_rules(paths: Paths, poses: Poses) -> Paths:
    """The paths with what their poses say about their wraps filled in."""
    order: list[int] = []
    stretch: list[tuple[int, int]] = []
    turns: list[int] = []
    first: list[int] = []
    azimuth: list[float] = []
    inside: list[int] = []
    for k in range(paths.first_point.size - 1):
        points = np.arange(paths.first_point[k], paths.first_point[k + 1])
        wraps = list(range(paths.first_wrap[k], paths.first_wrap[k + 1]))
        there = [i for i, point in enumerate(points) if poses.there[point]]
        pairs = {}
        for wrap in wraps:
            surface = paths.wrap_surface[wrap]
            x = poses.seen(points, surface)[0]
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
            a, b, turn = _way_round(paths, surface, x, pairs[wrap])
            stretch.append((points[a], points[b]) if a >= 0 else (-1, -1))
            turns.append(turn)
        order += _in_order(paths, points, wraps, pairs, poses)
    return paths._replace(
        wrap_order=np.array(order, dtype=np.int64),
        wrap_stretch=np.array(stretch, dtype=np.int64).reshape(-1, 2),
        wrap_turns=np.array(turns, dtype=np.int64),
        first_seen=np.array(first, dtype=np.int64),
        seen_azimuth=np.array(azimuth, dtype=float),
        seen_inside=np.array(inside, dtype=np.int64),
    )


def _in_order(
    paths: Paths, points: np.ndarray, wraps: list[int], pairs: dict[int, list[tuple[int, int]]], poses: Poses
) -> list[int]:
    """The wraps of a path in the order in which it meets them.

    Two wraps on one stretch are ordered by most poses, mainly those in which the path runs into both.
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
    """How deep a stretch dips into a surface, and the fraction of it at which the surface's centre stands beside it.

    Both (poses,). The centre of a cylinder is the point of its axis next to where the stretch dips deepest.
    """
    surface = paths.wrap_surface[wrap]
    x = poses.seen(points[list(pair)], surface)
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    along = x[:, 1] - x[:, 0]
    chord = x[:, :1] + t * along[:, None]
    far = _depth(paths, surface, chord)
    centre = np.zeros((len(x), 3))
    i = np.argmin(far, axis=1)
    if paths.surface_kind[surface] == CYLINDER:
        half = 0.5 * paths.surface_size[surface, 1]
        far = far + np.maximum(np.abs(chord[..., 2]) - half, 0.0) / paths.surface_size[surface, 0]
        i = np.argmin(far, axis=1)
        centre[:, 2] = np.clip(chord[np.arange(len(x)), i, 2], -half, half)
    whole = np.maximum((along**2).sum(axis=1), 1e-30)
    return far[np.arange(len(x)), i], ((centre - x[:, 0]) * along).sum(axis=1) / whole


def _way_round(paths: Paths, surface: int, x: FloatArray, pairs: list[tuple[int, int]]) -> tuple[int, int, int]:
    """The stretch on which OpenSim wraps a cylinder with a quadrant, and the full turns its way has beyond the line's.

    Source: OpenSim 4.6, observed behaviour of WrapCylinder and of the choice among segments: the first that must be
    wrapped, else the one that grows least.
    """
    axis, sign = int(paths.surface_axis[surface]), float(paths.surface_sign[surface])
    none = (-1, -1, 0)
    if paths.surface_kind[surface] != CYLINDER or sign == 0.0 or axis == 2:
        return none
    r, length = paths.surface_size[surface, :2]
    best, least = none, math.inf
    for a, b in pairs:
        found = _opensim_turns(x[a], x[b], r, length, axis, sign)
        if found is None:
            continue
        mandatory, turns, longer = found
        if mandatory:
            return a, b, turns
        if longer < least:
            best, least = (a, b, turns), longer
    return best


def _opensim_turns(
    P: FloatArray, Q: FloatArray, r: float, length: float, axis: int, sign: float
) -> tuple[bool, int, float] | None:
    """Whether OpenSim must wrap this segment, the turns its way has beyond the line's, by how much the path grows.

    None where it does not wrap it.
    """
    d_P, d_Q = math.hypot(P[0], P[1]), math.hypot(Q[0], Q[1])
    if min(d_P, d_Q) < r:
        return None
    chord = Q - P
    flat = chord[0] ** 2 + chord[1] ** 2
    if flat == 0.0:
        return None
    t = -(P[0] * chord[0] + P[1] * chord[1]) / flat
    nearest = P + t * chord
    hit = math.hypot(nearest[0], nearest[1]) < r and 0.0 < t < 1.0
    on_P, on_Q = P[axis] * sign > 0.0, Q[axis] * sign > 0.0
    mandatory = (on_P or on_Q) and hit
    if (on_P or on_Q) and not hit and (on_P == on_Q or nearest[axis] * sign > 0.0):
        return None
    way = _opensim_way(P, Q, d_P, d_Q, r, axis, sign)
    # with the kernels' own rule for half a turn, so that both mean the same
    turn = principal.py_func(math.atan2(Q[1], Q[0]) - math.atan2(P[1], P[0]))
    turns = 0 if turn * way > 0.0 else way
    whole = abs(turn + 2.0 * math.pi * turns)
    wrap = whole - math.acos(r / d_P) - math.acos(r / d_Q)
    if wrap <= 0.0:
        return None
    h_P, h_Q = math.sqrt(d_P**2 - r**2), math.sqrt(d_Q**2 - r**2)
    around = h_P + r * wrap + h_Q
    z_1, z_2 = P[2] + chord[2] * h_P / around, Q[2] - chord[2] * h_Q / around
    if min(abs(z_1), abs(z_2)) > 0.5 * length:
        return None
    return mandatory, turns, math.hypot(around, chord[2]) - float(np.linalg.norm(chord))


def _opensim_way(P: FloatArray, Q: FloatArray, d_P: float, d_Q: float, r: float, axis: int, sign: float) -> int:
    """+1 where OpenSim goes round a cylinder with a quadrant against the clock seen from z, else -1."""

    def tangent(x: FloatArray, d: float, side: float) -> FloatArray:
        """The point at which the line from x touches the circle, against the clock from x for side +1."""
        angle = math.atan2(x[1], x[0]) + side * math.acos(r / d)
        return np.array([math.cos(angle), math.sin(angle)])

    first, last = {s: tangent(P, d_P, s) for s in (1, -1)}, {s: tangent(Q, d_Q, s) for s in (1, -1)}

    def on(x: FloatArray) -> bool:
        return x[axis] * sign > 0.0

    # going +1 round, the path leaves P against the clock and reaches Q from before it
    if on(first[1]) and on(first[-1]):
        return -1 if on(last[1]) else 1
    if on(first[1]):
        return 1
    if on(first[-1]):
        return -1
    if on(last[1]):
        return -1
    if on(last[-1]):
        return 1
    alpha = math.acos(np.clip(first[1] @ last[-1], -1.0, 1.0))
    beta = math.acos(np.clip(first[-1] @ last[1], -1.0, 1.0))
    return 1 if alpha > beta else -1
