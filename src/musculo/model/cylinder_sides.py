"""Which way round a cylinder with a quadrant OpenSim takes, and where ours does not keep to the quadrant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from musculo.errors import MusculoError
from musculo.functions.plain import plain_value
from musculo.kernels.geodesic_round import principal
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.model.path import ConditionalPathPoint, MovingPathPoint, PathPoint, PathWrap
from musculo.model.plain_poses import Poses, plain_poses, sampled_coordinates
from musculo.model.wrap import WrapCylinder
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import FloatArray

# Poses beside the default one in which a side is looked at: a fixed sequence that fills the coordinates' ranges.
_POSES = 64
# What is wrong with a model is said where its poses and paths are computed, and no note is worth more than a model; a
# joint may need its kernel.
_LEFT_OUT = (MusculoError, KeyError, IndexError, ValueError)


def unheld_quadrants(model: Model) -> Iterator[tuple[Force, PathWrap, int, int]]:
    """Each force and wrap over a cylinder to whose quadrant, +-x or +-y, geodesics do not keep in some pose.

    Geodesics hold the turn about the axis that OpenSim's path has in the default pose, for half a turn either way
    (`kernels.wrap_obstacles`). Where OpenSim does not wrap the cylinder there, that is the turn of the straight line:
    the shorter way, on whichever side it is, and a path that later has further to go on the quadrant's side goes round
    the other. Looked at are the default pose and _POSES others.

    Yields: force, wrap, the number of poses in which the way on the quadrant's side would touch the cylinder and
        another is held, and the number of poses.
    """
    cylinders = [s for s in model.wrap_objects if isinstance(s, WrapCylinder) and s.active and s.radius > 0.0]
    surfaces = {s.name: s for s in cylinders if _side(s)[1]}
    forces = [f for f in model.forces if f.path is not None and any(w.wrap_object in surfaces for w in f.path.wraps)]
    if not forces:
        return
    try:
        q = sampled_coordinates(model, _POSES)
        bodies = plain_poses(model, q)
    except _LEFT_OUT:
        return
    for force in forces:
        for wrap in force.path.wraps if force.path else ():
            if wrap.wrap_object in surfaces:
                try:
                    with np.errstate(all="ignore"):  # of points too far away for numbers
                        count = _lost(model, force, wrap, surfaces[wrap.wrap_object], q, bodies)
                except _LEFT_OUT:
                    continue
                if count:
                    yield force, wrap, count, _POSES + 1


def _side(surface: WrapCylinder) -> tuple[int, float]:
    """Axis and sign of a quadrant across a cylinder's axis; sign 0 for none."""
    axis = "xyz".find(surface.quadrant[-1:]) if surface.quadrant != "all" else -1
    return axis, 0.0 if axis not in (0, 1) else -1.0 if surface.quadrant.startswith("-") else 1.0


def _seen(model: Model, point: PathPoint, q: dict[str, FloatArray], bodies: dict[str, Poses]) -> FloatArray:
    """(poses, 3) a point in ground."""
    at = model.placement(point.frame)
    location = np.asarray(point.location, dtype=float)[None]
    if isinstance(point, MovingPathPoint):
        ends = ((point.x, point.x_coordinate), (point.y, point.y_coordinate), (point.z, point.z_coordinate))
        columns = []
        for function, name in ends:
            x = np.clip(q[name], *model.coordinate(name).range) if name else np.zeros(_POSES + 1)
            columns.append(plain_value(function, x))
        location = np.stack(columns, axis=-1)
    X = Pose.from_xyz(at.orientation, at.translation)
    R, p = bodies[at.body]
    return np.asarray(p + (R @ (X.p + location @ X.R.T)[..., None])[..., 0])


def _lost(
    model: Model,
    force: Force,
    wrap: PathWrap,
    surface: WrapCylinder,
    q: dict[str, FloatArray],
    bodies: dict[str, Poses],
) -> int:
    """In how many poses a path that keeps to the quadrant touches the cylinder, and is not the one that is held."""
    assert force.path is not None
    points = force.path.points
    first, last = (wrap.range[0] if wrap.range[0] >= 1 else 1), (wrap.range[1] if wrap.range[1] >= 1 else len(points))
    place = model.placement(surface.frame)
    X = Pose.from_xyz(place.orientation, place.translation)
    X = X @ Pose.from_xyz(surface.orientation, surface.translation)
    R, p = bodies[place.body]
    there, x = [], []
    for point in points[first - 1 : last]:
        if isinstance(point, ConditionalPathPoint) and not point.range[0] <= q[point.coordinate][0] <= point.range[1]:
            continue
        seen = _seen(model, point, q, bodies)
        x.append((((seen - p)[:, None] @ R)[:, 0] - X.p) @ X.R)
        fixed = model.placement(point.frame).body == place.body and not isinstance(point, MovingPathPoint)
        there.append(not (fixed and math.hypot(*x[-1][0, :2]) < surface.radius))
    axis, sign = _side(surface)
    pairs = [(a, b) for a, b in pairwise(range(len(x))) if there[a] and there[b]]
    if not pairs:
        return 0
    start = np.array([at[0] for at in x])
    a, b, _ = way_round(start, pairs, surface.radius, surface.length, axis, sign)
    lost = np.zeros(_POSES + 1, dtype=bool)
    for pair in pairs:
        if pair != (a, b):  # where the default pose tells the side
            lost |= _other_way(x[pair[0]], x[pair[1]], surface, axis, sign)
    return int(lost.sum())


def _other_way(P: FloatArray, Q: FloatArray, surface: WrapCylinder, axis: int, sign: float) -> FloatArray:
    """(poses,) whether the quadrant's way from P to Q touches the cylinder and is another than the one that is held."""
    front = math.atan2(sign, 0.0) if axis == 1 else math.atan2(0.0, sign)
    azimuth = [_principal(np.arctan2(x[:, 1], x[:, 0]) - front) for x in (P, Q)]
    turn = azimuth[1] - azimuth[0]  # that does not pass behind the axis
    reference = float(_principal(turn[:1])[0])
    held = reference + _principal(turn - reference)  # as `kernels.geodesic_price.turn_near`
    r, d_P, d_Q = surface.radius, np.hypot(P[:, 0], P[:, 1]), np.hypot(Q[:, 0], Q[:, 1])
    outside = np.minimum(d_P, d_Q) > r
    d_P, d_Q = np.maximum(d_P, r), np.maximum(d_Q, r)
    touches = np.abs(turn) > np.arccos(r / d_P) + np.arccos(r / d_Q)
    within = np.abs(P[:, 2] * d_Q + Q[:, 2] * d_P) < 0.5 * surface.length * (d_P + d_Q)
    return np.asarray(outside & touches & within & (np.abs(held - turn) > 1.0))


def _principal(angle: FloatArray) -> FloatArray:
    return np.asarray(angle - 2.0 * np.pi * np.ceil((angle - np.pi) / (2.0 * np.pi)))


def way_round(
    x: FloatArray, pairs: Sequence[tuple[int, int]], r: float, length: float, axis: int, sign: float
) -> tuple[int, int, int]:
    """The pair of points x (points, 3) between which OpenSim wraps a cylinder, and the full turns of its way there
    beyond the straight line's; (-1, -1, 0) where it does not.

    Source: OpenSim 4.6, observed behaviour of WrapCylinder and of the choice among segments: the first that must be
    wrapped, else the one that grows least.
    """
    best, least = (-1, -1, 0), math.inf
    for a, b in pairs:
        found = opensim_turns(x[a], x[b], r, length, axis, sign)
        if found is None:
            continue
        mandatory, turns, longer = found
        if mandatory:
            return a, b, turns
        if longer < least:
            best, least = (a, b, turns), longer
    return best


def opensim_turns(
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
