"""Which columns of a motion are angles: OpenSim goes by the motion type of a coordinate, not by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from musculo.arrays import FloatArray
from musculo.functions.elementary_functions import Linear, slope_of
from musculo.functions.function import Function
from musculo.model.body import GROUND
from musculo.model.joints.joint import BallMotion, EllipsoidMotion, FreeMotion, FunctionMotion

if TYPE_CHECKING:
    from musculo.model.joints.joint import Joint
    from musculo.model.model import Model

_TURN = 2.0 * np.pi
# Ranges of distances that are judged are less than a room [m]. Odd is what is so many times the range outside it, at
# least a few meters, as ranges are stated carelessly; runners leave a laboratory, but not by more than this.
_ROOM, _TIMES, _NEAR, _FAR = 20.0, 20.0, 5.0, 100.0
# What angles in radians stay within, and by how much one of them changes in a motion that is worth looking at.
_HALF_TURN, _MOVES = 3.2, 0.2
# No joint is faster: the fastest that is measured, internal rotation of the shoulder in pitching, peaks below 160 rad/s
# (9000 deg/s), and a knee in walking at 7. In degrees a second the latter are 400.
FASTEST = 200.0  # [rad/s]
# Frames that a step between them is told from, how well steps and rates have to agree to tell it, and by how much what
# two rates tell may differ from a power of 180 / pi, in that power.
_FEWEST, _AGREE, _ALIKE = 8, 0.9, 0.1
# Frames from the middle of a motion that are looked at: a unit is the same in all of them.
_MOST = 200


def rotational_coordinates(model: Model) -> frozenset[str]:
    """Names of the coordinates that a file in degrees holds in degrees.

    A coordinate is rotational if a rotation of its joint equals it, up to sign; one that drives rotations only through
    curves is "coupled" and stays as it is, as `knee_angle_r_beta` of Rajagopal's model. Where it equals a rotation and
    a translation, the translation counts. This is OpenSim's rule (`CustomJoint`, `Coordinate::getMotionType`).
    """
    return model.derived("rotational_coordinates", lambda: _find(model))


def _find(model: Model) -> frozenset[str]:
    rotational: set[str] = set()
    for joint in model.joints:
        for motion in joint.motions():
            if isinstance(motion, FunctionMotion):
                for axes, kind in ((motion.rotations, True), (motion.translations, False)):
                    for axis in axes:
                        if is_coordinate(axis.function):
                            (rotational.update if kind else rotational.difference_update)(axis.coordinates)
            elif isinstance(motion, EllipsoidMotion) or (
                isinstance(motion, BallMotion | FreeMotion) and not motion.quaternion
            ):
                rotational.update(motion.coordinates[:3])
    return frozenset(rotational)


def coordinate_units(model: Model) -> dict[str, str]:
    """The unit of every coordinate: "m" where it only slides, or where a translation equals it; else "rad".

    A coordinate that a translation equals is a distance, whatever else it turns, as OpenSim's motion type has it.
    """
    turning = set(rotational_coordinates(model))
    distances: set[str] = set()
    for joint in model.joints:
        for motion in joint.motions():
            if isinstance(motion, FunctionMotion):
                turning.update(name for axis in motion.rotations for name in axis.coordinates)
        distances.update(translational_coordinates(joint))
    turning -= distances
    return {name: "rad" if name in turning else "m" for name in model.coordinate_names}


def shown_units(model: Model) -> dict[str, str]:
    """The unit in which pages show every coordinate: "°", "m", or "rad" where it turns bodies through curves only.

    Of the last kind, as `knee_angle_r_beta` of Rajagopal's model, files hold radians even where they are in degrees.
    """
    turning = rotational_coordinates(model)
    return {name: "°" if name in turning else unit for name, unit in coordinate_units(model).items()}


def is_coordinate(function: Function) -> bool:
    """Whether a rotation or translation equals its coordinate, up to sign, by OpenSim's rule: a bare line.

    One under a factor, as pelvis translations of gait2392 once it is scaled, makes a coordinate "coupled" to OpenSim,
    whatever the factor: that decides about degrees and about scaling. `sliding_coordinates` looks at the motion itself.
    """
    return isinstance(function, Linear) and abs(function.slope) == 1.0


def sliding_coordinates(joint: Joint) -> frozenset[str]:
    """Coordinates of a joint that are distances: a translation of it equals them, up to sign and an offset."""
    return _translations(joint, lambda function: abs(slope_of(function) or 0.0) == 1.0)


def translational_coordinates(joint: Joint) -> frozenset[str]:
    """Those of them that OpenSim calls translational (`is_coordinate`)."""
    return _translations(joint, is_coordinate)


def _translations(joint: Joint, equal: Callable[[Function], bool]) -> frozenset[str]:
    found: set[str] = set()
    for motion in joint.motions():
        if isinstance(motion, FunctionMotion):
            for axis in motion.translations:
                if equal(axis.function):
                    found.update(axis.coordinates)
        elif isinstance(motion, FreeMotion):
            found.update(motion.coordinates[-3:])
    return frozenset(found)


def angle_columns(names: Iterable[str], model: Model) -> list[int]:
    """Columns that hold angles or their rates: named by a rotational coordinate, or by a path whose last or
    second-to-last part is one (`/jointset/knee_r/knee_angle_r/value`)."""
    rotational = rotational_coordinates(model)
    found = []
    for k, name in enumerate(names):
        parts = name.split("/")
        ends = (name, parts[-1], "/".join(parts[-2:]), *parts[-2:-1], "/".join(parts[-3:-1]))
        if not rotational.isdisjoint(ends):
            found.append(k)
    return found


def far_beyond_ranges(
    model: Model, q: FloatArray, names: Sequence[str] | None = None
) -> list[tuple[str, float, float, float]]:
    """Coordinates of q (frames, n) [rad, m] that no joint has, as degrees and millimeters would be.

    The columns are all coordinates of the model, or those of these names.
    Angles more than a turn outside a range that is less than a turn; distances far outside one of a laboratory's size.
    With the value that is furthest out, and the range. Joints that turn on and on have wider ranges, or none; angles
    that set a subject free in space tell how often it has turned, and do not count.
    """
    low, high, away, near = model.derived("narrow ranges", lambda: _narrow(model))
    if not q.size or (q.max() <= near and q.min() >= -near):
        return []
    if names is None:
        names = model.coordinate_names
    else:
        columns = [model.coordinate_index(name) for name in names]
        low, high, away = low[columns], high[columns], away[columns]
    least, most = q.min(axis=0), q.max(axis=0)
    odd = np.flatnonzero((least < low - away) | (most > high + away)).tolist()
    return [
        (
            names[k],
            float(most[k] if most[k] - high[k] > low[k] - least[k] else least[k]),
            float(low[k]),
            float(high[k]),
        )
        for k in odd
    ]


def faster_than_joints(model: Model, u: FloatArray, names: Sequence[str]) -> list[tuple[str, float]]:
    """Rates in u (frames, n) [rad/s] that no joint has, and how large: of angles with a range of less than a turn."""
    if not u.size or (u.max() <= FASTEST and u.min() >= -FASTEST):
        return []
    low, *_ = model.derived("narrow ranges", lambda: _narrow(model))
    bounded = {name for name, least in zip(model.coordinate_names, low, strict=True) if np.isfinite(least)}
    narrow = bounded & rotational_coordinates(model)
    most = np.abs(u).max(axis=0)
    return [(name, float(most[k])) for k, name in enumerate(names) if name in narrow and most[k] > FASTEST]


def rates_in_degrees(model: Model, q: FloatArray, u: FloatArray, udot: FloatArray) -> tuple[str, ...]:
    """Which of u and udot (frames, n) look like degrees beside q [rad], where the frames follow one another.

    The time from frame to frame is told by the steps of q and u, and by those of u and udot. Both tell the same, unless
    one of them is in degrees: then they differ by 180 / pi, or its square. Frames in no order tell nothing.
    """
    if len(q) < _FEWEST:
        return ()
    at, rates = model.derived("columns of angles and their rates", lambda: _columns_of_angles(model))
    if not at:
        return ()
    middle = slice(max(0, (len(q) - _MOST) // 2), (len(q) + _MOST) // 2)
    q, u, udot = q[middle][:, at], u[middle][:, rates], udot[middle][:, rates]
    first, second = _step(q, u), _step(u, udot)
    if first is None or second is None:
        return ()
    turns = np.log(second / first) / np.log(180.0 / np.pi)
    for power, found in ((1, ("u", "udot")), (2, ("u",)), (-1, ("udot",))):
        if abs(turns - power) < _ALIKE:
            return found
    return ()


def _columns_of_angles(model: Model) -> tuple[list[int], list[int]]:
    """Where angles stand among coordinates, and their rates among speeds."""
    angles = [name for name in model.speed_names if name in rotational_coordinates(model)]
    return [model.coordinate_index(name) for name in angles], [model.speed_index(name) for name in angles]


def _step(x: FloatArray, rate: FloatArray) -> float | None:
    """The time between frames of x (frames, n) that their rates tell; None where they do not agree."""
    dx, mean = np.diff(x, axis=0).ravel(), (0.5 * (rate[1:] + rate[:-1])).ravel()
    along, size, speed = float(dx @ mean), float(np.linalg.norm(dx)), float(np.linalg.norm(mean))
    return along / speed**2 if size * speed > 0.0 and along > _AGREE * size * speed else None


def _narrow(model: Model) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """(n,) least and largest value of angles and distances with a narrow range, infinite for all other coordinates.

    And (n,) how far outside they are odd, and what no coordinate exceeds unless it may be odd.
    """
    turning, units = rotational_coordinates(model), coordinate_units(model)
    sliding = {name for j in model.joints for name in sliding_coordinates(j) if units[name] == "m"}
    free = {
        c.name
        for j in model.joints
        if GROUND in (j.parent.body, j.child.body) and len(j.coordinates) > 2
        for c in j.coordinates
    }
    low, high = np.full(len(model.coordinates), -np.inf), np.full(len(model.coordinates), np.inf)
    away = np.full(len(model.coordinates), _TURN)
    for k, coordinate in enumerate(model.coordinates):
        ends = sorted(coordinate.range)
        width = ends[1] - ends[0]
        if coordinate.name in turning - free and width < _TURN - 1e-6:
            low[k], high[k] = ends
        elif coordinate.name in sliding and width < _ROOM:
            (low[k], high[k]), away[k] = ends, min(max(_TIMES * width, _NEAR), _FAR)
    return low, high, away, float(min((high + away).min(initial=np.inf), (away - low).min(initial=np.inf)))


def small_for_degrees(angles: FloatArray) -> float | None:
    """The largest of angles (frames, angles) in degrees that look like radians, None where they do not.

    None of them all leaves half a turn in radians, and yet something moves: no joint would bend by more than three
    degrees.
    """
    angles = np.nan_to_num(angles)
    if not angles.size:
        return None
    most = float(np.abs(angles).max())
    return most if most <= _HALF_TURN and np.ptp(angles, axis=0).max() >= _MOVES else None
