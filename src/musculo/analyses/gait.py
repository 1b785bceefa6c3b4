"""A walk in numbers: strikes and offs of both feet, spatiotemporal parameters, ground reactions of each foot."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from musculo.analyses.foot_loads import feet_of
from musculo.arrays import FloatArray
from musculo.dynamics.energy import total_mass
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, MusculoError
from musculo.model.model import Model
from musculo.model.named_sides import side_of
from musculo.results.table import Table
from musculo.results.trial import Trial
from musculo.signals.filters import lowpass
from musculo.signals.gait_events import VERTICAL, GaitEvents, events_from_force, events_from_markers

FORCE, POSES = "force", "poses"
_SMOOTH = 6.0  # of the points of feet [Hz]
_MIDDLE = (0.3, 0.7)  # of a stance: the foot stands still on the ground, or on the belt
_GRAVITY = 9.80665
_RUN = 45.0  # of the cycle: walkers stand for about 60 [%]
_BEYOND = 0.015  # as far beyond the poses a foot that strikes is where it was [s]
_FARTHER, _FASTER = 0.6, 0.3  # who goes farther [m] and faster [m/s] walks
_ASIDE = np.cos(np.radians(45.0))  # who looks farther than this from the way steps to a side
_SWING, _AGAINST = 0.35, -0.5  # on a treadmill heels go at least so far [m] below the pelvis, correlated like this


class Feet(NamedTuple):
    """Events of both feet, by "r" and "l"; a side may be absent."""

    events: dict[str, GaitEvents]
    source: dict[str, str]  # `force`, or `poses` where a foot missed the plates
    missing: dict[str, str]  # why a side has no cycle


class Parameter(NamedTuple):
    """One spatiotemporal parameter."""

    name: str
    unit: str
    values: dict[str, FloatArray]  # of every step or stride of a side


def feet_events(trial: Trial) -> Feet:
    """When each foot strikes and leaves the ground.

    From the forces under it; a foot whose force tells less than a cycle, from its poses: strike where the heel is
    farthest ahead of the pelvis, off where the toes are farthest behind (Zeni et al. 2008), which is within about
    0.03 s of a plate. Without any forces a body that goes
    somewhere walks, and one whose feet swing against each other, on a treadmill.
    """
    found: dict[str, GaitEvents] = {}
    source: dict[str, str] = {}
    known = trial.loads is not None
    missing = dict.fromkeys("rl", "no external force is on that foot" if known else "its poses tell no two strikes")
    for side, (time, force) in vertical_forces(trial).items():
        try:
            events = events_from_force(time, force)
        except InvalidInput:
            missing[side] = "its force tells no steps"
            continue
        if len(events.strikes) > 1:
            found[side], source[side] = events, FORCE
        missing[side] = f"a cycle needs two strikes of that foot, and its force has {len(events.strikes)}"
    if found or known or _walks(trial):  # somebody walks
        for side in [one for one in "rl" if one not in found]:
            posed = _from_poses(trial, side)
            if posed is not None and len(posed.strikes) > 1:
                found[side], source[side] = posed, POSES
    return Feet(found, source, {side: why for side, why in missing.items() if side not in found})


def vertical_forces(trial: Trial) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Times and vertical force under each foot whose name tells its side; a foot may stand on several plates [N]."""
    return {side: (time, force[:, VERTICAL]) for side, (time, force) in foot_forces(trial).items()}


def foot_forces(trial: Trial) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Times (frames,) and force (frames, 3) under each foot, in ground [N]."""
    if trial.loads is None:
        return {}
    time = np.asarray(trial.loads.table.time)
    found: dict[str, FloatArray] = {}
    for series in trial.loads.at(time):
        side = side_of(series.body)
        if side and series.force is not None and series.force_in == "ground":
            found[side] = found.get(side, 0.0) + np.asarray(series.force)
    return {side: (time, force) for side, force in found.items()}


def ground_reactions(trial: Trial) -> Table | None:
    """Ground reactions of each foot in body weights, in the direction of the walk: forward, up, outward; None without.

    Outward is to the right for the right foot and to the left for the left one.
    """
    forces = foot_forces(trial)
    if not forces or trial.model is None or not total_mass(trial.model) > 0.0:
        return None
    ahead = _direction(trial)
    weight = total_mass(trial.model) * _GRAVITY
    right = np.cross(ahead, (0.0, 1.0, 0.0))
    names, columns = [], []
    time = next(iter(forces.values()))[0]
    for side, (_, force) in forces.items():
        out = right if side == "r" else -right
        for name, axis in (("forward", ahead), ("vertical", np.array((0.0, 1.0, 0.0))), ("outward", out)):
            names.append(f"{name}_{side}")
            columns.append(force @ axis / weight)
    return Table(time, tuple(names), np.stack(columns, axis=1), units=("BW",) * len(names), name="ground_reactions")


def spatiotemporal(trial: Trial, feet: Feet) -> tuple[Parameter, ...]:
    """Speed, cadence, times and lengths of strides and steps; empty where too little is known.

    Lengths are between places of the heels at their strikes, along and across the way of the pelvis. On a treadmill
    the way of the belt under the standing foot counts.
    """
    if trial.model is None or trial.angles is None or not feet.events:
        return ()
    points = {side: p for side in feet.events if (p := _foot_points(trial, side)) is not None}
    stride_time: dict[str, FloatArray] = {}
    stance: dict[str, FloatArray] = {}
    stride: dict[str, FloatArray] = {}
    speed: dict[str, FloatArray] = {}
    cadence: dict[str, FloatArray] = {}
    ahead = _direction(trial)
    across = np.cross(ahead, (0.0, 1.0, 0.0))
    for side, events in feet.events.items():
        strikes = events.strikes
        if len(strikes) < 2:
            continue
        times = np.diff(strikes)
        stride_time[side] = times
        cadence[side] = 120.0 / times
        shares = _shares(events)
        if len(shares):
            stance[side] = shares
        if side in points:
            time, heel, _ = points[side]
            belt = _belt(time, heel, events)
            at = _at(time, heel, strikes)
            lengths = np.abs((np.diff(at, axis=0) - belt * times[:, None]) @ ahead)
            # plates may record for longer than the poses of a span
            known = (strikes >= time[0] - _BEYOND) & (strikes <= time[-1] + _BEYOND)
            both = known[:-1] & known[1:]
            if both.any():
                stride[side] = lengths[both]
                speed[side] = (lengths / times)[both]
    found = [
        Parameter("speed", "m/s", speed),
        Parameter("cadence", "steps/min", cadence),
        Parameter("stride time", "s", stride_time),
        Parameter("stance", "% of cycle", stance),
        Parameter("stride length", "m", stride),
        *_steps(feet, points, ahead, across),
    ]
    return tuple(one for one in found if one.values)


def _steps(
    feet: Feet, points: dict[str, tuple[FloatArray, FloatArray, FloatArray]], ahead: FloatArray, across: FloatArray
) -> list[Parameter]:
    """Length and width of steps: from the strike of the other foot to that of this one."""
    lengths: dict[str, FloatArray] = {}
    widths: dict[str, FloatArray] = {}
    if len(points) < 2:
        return []
    for side, other in (("r", "l"), ("l", "r")):
        strikes, before = feet.events[side].strikes, feet.events[other].strikes
        time, heel, _ = points[side]
        other_time, other_heel, _ = points[other]
        belt = _belt(other_time, other_heel, feet.events[other])
        long, wide = [], []
        for strike in strikes:
            earlier = before[(before < strike) & (before > strike - 1.0)]
            inside = time[0] <= strike <= time[-1] and earlier.size and earlier[-1] >= other_time[0]
            if inside:
                apart = _at(time, heel, np.array([strike]))[0] - _at(other_time, other_heel, earlier[-1:])[0]
                long.append(abs(float((apart - belt * (strike - earlier[-1])) @ ahead)))
                wide.append(abs(float(apart @ across)))
        if long:
            lengths[side], widths[side] = np.array(long), np.array(wide)
    return [Parameter("step length", "m", lengths), Parameter("step width", "m", widths)]


def is_running(feet: Feet) -> bool:
    """Whether feet stand for clearly less than half of their cycles, so that both are off the ground at times."""
    shares = stance_shares(feet)
    return bool(shares) and float(np.mean(list(shares.values()))) < _RUN


def stance_shares(feet: Feet) -> dict[str, float]:
    """Where in the cycle each foot leaves the ground, mean over its cycles [% of cycle]."""
    return {side: float(found.mean()) for side, events in feet.events.items() if len(found := _shares(events))}


def _shares(events: GaitEvents) -> FloatArray:
    """Of each cycle in which the foot leaves the ground [% of cycle]."""
    found = []
    for a, b in pairwise(events.strikes):
        off = events.offs[(events.offs > a) & (events.offs < b)]
        if len(off):
            found.append(100.0 * (off[0] - a) / (b - a))
    return np.array(found)


# --- feet -------------------------------------------------------------------------------------------------------------
def _from_poses(trial: Trial, side: str) -> GaitEvents | None:
    points = _foot_points(trial, side)
    if points is None:
        return None
    time, heel, toe = points
    pelvis = _base_points(trial)
    if pelvis is None:
        return None
    try:
        return events_from_markers(time, heel, toe, pelvis)
    except InvalidInput:
        return None


def _walks(trial: Trial) -> bool:
    """Whether the base of the model goes over ground as walkers do, or the feet swing against each other below it."""
    base = _base_points(trial) if trial.angles is not None and len(trial.angles) >= 12 else None
    if base is None or trial.angles is None:
        return False
    if _travels(base, trial.angles):
        return True
    heels = [
        np.delete(points[1] - base, VERTICAL, axis=1) for s in "rl" if (points := _foot_points(trial, s)) is not None
    ]
    if len(heels) < 2:
        return False
    apart = heels[0] - heels[1]
    ahead = np.linalg.eigh(np.cov(apart.T))[1][:, -1]
    right, left = (heel @ ahead for heel in heels)
    far = min(np.ptp(right), np.ptp(left)) > _SWING
    return bool(far and np.corrcoef(right, left)[0, 1] < _AGAINST)


def _travels(base: FloatArray, angles: Table) -> bool:
    """Whether the base goes over ground as far and as fast as walkers do."""
    way = np.delete(base[-1] - base[0], VERTICAL)
    return bool(np.linalg.norm(way) > max(_FARTHER, _FASTER * float(np.ptp(angles.time))))


def _foot_points(trial: Trial, side: str) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Times, heel and toe of a side (frames, 3), filtered [m]; None where the model does not tell."""
    model, table = trial.model, trial.angles
    if model is None or table is None or len(table) < 12:
        return None
    try:
        body = next((name for name in feet_of(model) if side_of(name) == side), None)
        if body is None:
            return None
        q = table.coordinates(model, missing="default")
        motion = kinematics(model, q)
        toes = next((j.child.body for j in model.joints if j.parent.body == body), None)
        heel = motion.position(body, (0.0, 0.0, 0.0))
        toe = motion.position(toes, (0.0, 0.0, 0.0)) if toes else motion.position(body, model.body(body).mass_center)
        time = np.asarray(table.time)
        return time, _smooth(time, heel), _smooth(time, toe)
    except MusculoError:
        return None


def _base_points(trial: Trial) -> FloatArray | None:
    model, table = trial.model, trial.angles
    if model is None or table is None:
        return None
    base = next((joint.child.body for joint in model.joints if joint.parent.body == "ground"), None)
    if base is None:
        return None
    motion = kinematics(model, table.coordinates(model, missing="default"))
    return _smooth(np.asarray(table.time), motion.position(base, (0.0, 0.0, 0.0)))


def _smooth(time: FloatArray, values: FloatArray) -> FloatArray:
    try:
        return np.asarray(lowpass(time, values, _SMOOTH).values)
    except InvalidInput:  # uneven or few frames
        return values


def _direction(trial: Trial) -> FloatArray:
    """The horizontal unit vector of the walk: the way of the pelvis over ground, in the sense in which the feet look.

    On a treadmill, and for steps to a side, the direction from heels to toes; x where nothing tells. Feet alone tell it
    badly over ground: one foot often turns out more than the other.
    """
    total = np.zeros(3)
    for side in "rl":
        points = _foot_points(trial, side)
        if points is not None:
            _, heel, toe = points
            total += np.mean(toe - heel, axis=0)
    total[VERTICAL] = 0.0
    size = float(np.linalg.norm(total))
    feet = total / size if size > 1e-6 else np.array([1.0, 0.0, 0.0])
    base = _base_points(trial)
    if base is None or trial.angles is None or not _travels(base, trial.angles):
        return feet
    way = base[-1] - base[0]
    way[VERTICAL] = 0.0
    way /= np.linalg.norm(way)
    along = float(way @ feet) if size > 1e-6 else 1.0
    return way * np.sign(along) if abs(along) > _ASIDE else feet


def _belt(time: FloatArray, heel: FloatArray, events: GaitEvents) -> FloatArray:
    """(3,) how fast what is under a standing foot moves: zero overground, the belt on a treadmill [m/s]."""
    speeds = []
    rates = np.gradient(heel, time, axis=0)
    for strike in events.strikes:
        off = events.offs[events.offs > strike]
        if len(off):
            a, b = (strike + share * (off[0] - strike) for share in _MIDDLE)
            inside = (time >= a) & (time <= b)
            if inside.sum() > 2:
                speeds.append(np.median(rates[inside], axis=0))
    belt = np.median(speeds, axis=0) if speeds else np.zeros(3)
    belt[VERTICAL] = 0.0
    return np.asarray(belt) if np.linalg.norm(belt) > 0.2 else np.zeros(3)


def _at(time: FloatArray, points: FloatArray, wanted: FloatArray) -> FloatArray:
    return np.stack([np.interp(wanted, time, points[:, k]) for k in range(3)], axis=1)


def positive_words(model: Model) -> dict[str, str]:
    """What the positive direction of a coordinate is called, as the model moves: `knee_angle_r` is flexion, say.

    Told by small motions from the default pose, so that models whose knees bend the other way say so.
    """
    start = embedding_of(model).default_pose()
    found: dict[str, str] = {}
    step = 1e-3
    for k, name in enumerate(model.coordinate_names):
        rule = next((rule for stem, rule in _WORDS.items() if name.lower().startswith(stem)), None)
        if rule is None or name.endswith("_beta"):  # the other end of a coupled joint
            continue
        joint = next((j for j in model.joints if name in [c.name for c in j.coordinates]), None)
        if joint is None:
            continue
        seen = kinematics(model, np.stack([start, start + step * np.eye(len(start))[k]]))
        body, (reach, axis, plus, minus) = joint.child.body, rule
        moved = seen.position(body, reach)
        base = seen.pose(joint.parent.body if joint.parent.body != "ground" else body).R
        way = float((base[0].T @ (moved[1] - moved[0]))[axis])
        side = side_of(name)
        if axis == 2 and side == "l":
            way = -way
        if abs(way) > 1e-3 * step:
            found[name] = plus if way > 0.0 else minus
    return found


# By the beginning of the name: a point of the child body, and what it is called where that point moves along an axis
# of the parent (0 ahead, 1 up, 2 to the right, mirrored on the left).
_DOWN, _UP, _AHEAD = (0.0, -0.3, 0.0), (0.0, 0.4, 0.0), (0.3, 0.0, 0.0)
_WORDS: dict[str, tuple[tuple[float, float, float], int, str, str]] = {
    "hip_flexion": (_DOWN, 0, "flexion", "extension"),
    "hip_adduction": (_DOWN, 2, "abduction", "adduction"),
    "hip_rotation": (_AHEAD, 2, "external rotation", "internal rotation"),
    "knee_angle": (_DOWN, 0, "extension", "flexion"),
    "ankle_angle": (_AHEAD, 1, "dorsiflexion", "plantarflexion"),
    "pelvis_tilt": (_AHEAD, 1, "posterior tilt", "anterior tilt"),
    "pelvis_list": ((0.0, 0.0, 0.3), 1, "right side up", "right side down"),
    "pelvis_rotation": (_AHEAD, 2, "to the right", "to the left"),
    "subtalar_angle": (_DOWN, 2, "eversion", "inversion"),
    "lumbar_extension": (_UP, 0, "flexion", "extension"),
    "lumbar_bending": (_UP, 2, "to the right", "to the left"),
    "lumbar_rotation": (_AHEAD, 2, "to the right", "to the left"),
    "arm_flex": (_DOWN, 0, "flexion", "extension"),
    "arm_add": (_DOWN, 2, "abduction", "adduction"),
    "elbow_flex": (_DOWN, 0, "flexion", "extension"),
}
