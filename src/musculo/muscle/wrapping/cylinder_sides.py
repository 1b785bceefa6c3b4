"""The constrained side of a cylinder with a quadrant: centered on the turns of OpenSim's path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.wrapping.geodesic.round_obstacle import principal
from musculo.kernels.wrapping.rules.cylinder_penalty import TURN_REACH

# The constrained side reaches half a turn either way of its center; poses count that stay so far from its edges [rad].
_MARGIN = 0.15
# A pose in which OpenSim's path does not touch the cylinder counts so much less than one in which it does; and one that
# stays out of reach of the edges so much more, because no path can pass on the other side there.
_STRAIGHT, _COMFORT = 1e-3, 1e-5
_ROUNDING = 1e-9
# One side can contain turns that are followed from pose to pose if they differ by no more.
_FITS = 2.0 * (math.pi - TURN_REACH)


class ConstrainedSide(NamedTuple):
    """The constrained side of a cylinder, as an interval of turns about its axis."""

    # for each pair of points: the center of the side, less the turn of the default pose's line
    shift: dict[tuple[int, int], float]
    lost: int  # poses in which OpenSim's path goes round another way


def constrained_side(
    x: FloatArray,
    pairs: Sequence[tuple[int, int]],
    r: float,
    length: float,
    axis: int,
    sign: float,
    way: FloatArray | None = None,
) -> ConstrainedSide:
    """The constrained side between pairs of points x (poses, points, 3) in the cylinder's frame; default pose first.

    `way` (poses - 1, steps, points, 3) leads from the default pose to the others. The turns are followed along it: a
    real path does not hop over a cylinder as its joints bend, but OpenSim's may, if a quadrant turns with a body. If
    one side can contain all these turns, it does, with as many full turns as OpenSim's path has in most poses. Else,
    and without `way`, each pose is treated by itself.

    The turn of a pair is that of OpenSim's path where that path wraps the cylinder, else that of the straight line. A
    path may turn at most half a turn either way from the center of the constrained side. The center is the turn of the
    default pose. Another center is used if it loses fewer poses in which OpenSim's path wraps the cylinder, or brings
    fewer poses near the edges; it must contain the default pose. Then the center moves the way the path turns, until a
    pose comes near the other edge: joints may bend further than their ranges say. So the path obeys the quadrant
    wherever OpenSim's does, unless OpenSim's path flips from one side to the other.
    """
    turn = {(a, b): _turns(x[:, a], x[:, b]) for a, b in pairs}
    line = {pair: float(t[0]) for pair, t in turn.items()}
    wrapped = [way_round(at, pairs, r, length, axis, sign) for at in x]
    for pose, (a, b, turns) in enumerate(wrapped):
        if turns:
            turn[a, b][pose] += 2.0 * math.pi * turns
    weight = {pair: np.array([1.0 if (a, b) == pair else _STRAIGHT for a, b, _ in wrapped]) for pair in pairs}
    middle = {pair: _middle(t, weight[pair]) for pair, t in turn.items()}
    for a, b in pairs:
        if way is None:
            break
        wraps = np.array([pair[:2] == (a, b) for pair in wrapped])
        followed = _followed(way[:, :, a], way[:, :, b], turn[a, b], wraps)
        if followed is not None:
            middle[a, b] = _middle(followed, np.where(wraps, 1.0, _STRAIGHT))
    lost = 0
    for pose, (a, b, _) in enumerate(wrapped):
        lost += a >= 0 and abs(turn[a, b][pose] - middle[a, b]) > math.pi
    return ConstrainedSide({pair: middle[pair] - line[pair] for pair in turn}, lost)


def _turns(P: FloatArray, Q: FloatArray) -> FloatArray:
    """(poses,) the turn about z from P to Q by the shorter way, with the kernels' own rule for half a turn."""
    return np.array([principal.py_func(t) for t in np.arctan2(Q[:, 1], Q[:, 0]) - np.arctan2(P[:, 1], P[:, 0])])


def _followed(P: FloatArray, Q: FloatArray, turn: FloatArray, wraps: np.ndarray) -> FloatArray | None:
    """(poses,) turns from P to Q (poses - 1, steps, 3) that are followed from that of the default pose on; None where
    no side contains them all, or they are not those of OpenSim's path, `turn`, in most poses in which it `wraps`."""
    P_at, Q_at = (np.unwrap(np.arctan2(x[..., 1], x[..., 0]), axis=1) for x in (P, Q))
    turned = (Q_at - P_at)[:, -1] - (Q_at - P_at)[:, 0]
    followed = turn[0] + np.concatenate([[0.0], turned])
    same = np.abs(followed - turn)[wraps] < math.pi
    return followed if np.ptp(followed) <= _FITS and 2 * same.sum() > len(same) else None


def _middle(turn: FloatArray, weight: FloatArray) -> float:
    """The center of the constrained side: the first turn, or that of turns within one turn, the first among them, that
    weigh more than those within half a turn of the first; moved on as far as nothing is lost by that."""

    def weighs(middle: float) -> float:
        off = math.pi - np.abs(turn - middle)
        return float(weight[off >= _MARGIN].sum() + _COMFORT * weight[off >= TURN_REACH].sum())

    best, most = float(turn[0]), weighs(float(turn[0]))
    for reach in (2.0 * (math.pi - _MARGIN), 2.0 * (math.pi - TURN_REACH)):
        for low in np.unique(turn[(turn <= turn[0]) & (turn >= turn[0] - reach)]):
            middle = 0.5 * float(low + turn[(turn >= low) & (turn <= low + reach)].max())
            if weighs(middle) > most + 1e-9:
                best, most = middle, weighs(middle)
    easy = math.pi - np.abs(turn - best) >= TURN_REACH
    if easy.any():
        way = math.copysign(1.0, float(weight[easy] @ turn[easy]))
        room = float((way * (turn[easy] - best)).min()) + math.pi - TURN_REACH - _ROUNDING
        if weighs(best + way * room) >= most - 1e-9:
            best += way * room
    return best


def way_round(
    x: FloatArray, pairs: Sequence[tuple[int, int]], r: float, length: float, axis: int, sign: float
) -> tuple[int, int, int]:
    """The pair of points x (points, 3) between which OpenSim wraps a cylinder, and the full turns of its way there
    beyond the straight line's; (-1, -1, 0) where it does not.

    Source: OpenSim 4.6, observed behavior of WrapCylinder and of the choice among segments: the first that must be
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
