"""What the tables of a trial tell together: joint powers, cycles of a walk, loads in body weights. Pages draw it."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from musculo.analyses.gait import POSES, feet_events, stance_shares
from musculo.arrays import FloatArray
from musculo.diagnostics.loads import free_base
from musculo.dynamics.energy import total_mass
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, MusculoError
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.model.named_sides import side_of
from musculo.results.angle_columns import rotational_coordinates
from musculo.results.table import Table
from musculo.results.trial import Trial
from musculo.signals.natural_smoothing import NaturalSpline


def joint_powers(trial: Trial) -> Table | None:
    """Moment times the rate of the coordinate [W], where both are known; angles are filtered as for the moments.

    Hips, knees and ankles with several coordinates have their sum, too. The free base of a body has no joint's power.
    """
    angles, moments, model = trial.angles, trial.moments, trial.model
    if angles is None or moments is None or model is None or len(angles) < 4:
        return None
    angles = angles.in_radians(model)
    time = moments.time
    inside = (time >= angles.time[0] - 1e-9) & (time <= angles.time[-1] + 1e-9)
    if inside.sum() < 2:
        return None
    cutoff = _cutoff(trial)
    if cutoff is not None:  # moments of filtered angles go with rates of filtered angles
        try:
            angles = angles.lowpass(cutoff)
        except InvalidInput:  # uneven frames, which the run brought to even ones first
            angles = angles.resample(time=time[inside]).lowpass(cutoff)
    names, powers = [], []
    held = _held(model)
    for name in model.coordinate_names:
        if name in held:
            continue
        k = angles.find(name)
        moment = next((f"{name}{e}" for e in ("_moment", "_force") if f"{name}{e}" in moments.names), None)
        if k is None or moment is None or np.ptp(angles.values[:, k]) <= 1e-9:
            continue
        rate = NaturalSpline(angles.time, angles.values[:, k])(time[inside], 1)
        names.append(name)
        powers.append(moments.column(moment)[inside] * rate)
    for label, parts in _whole_joints(model, names):
        at = [names.index(name) for name in parts]
        names.insert(max(at) + 1, label)
        powers.insert(max(at) + 1, np.sum([powers[k] for k in at], axis=0))
    return Table(time[inside], tuple(names), np.stack(powers, axis=1)) if names else None


def _held(model: Model) -> frozenset[str]:
    """Coordinates of the free base, where residuals act: they have no joint's power."""
    base = free_base(model)
    turning = rotational_coordinates(model)
    return frozenset(base) if any(name not in turning for name in base) else frozenset()


def _whole_joints(model: Model, names: list[str]) -> list[tuple[str, list[str]]]:
    """Hips, knees and ankles with several of the coordinates: what their sum is called, and these coordinates."""
    found = []
    for joint in model.joints:
        own = [coordinate.name for coordinate in joint.coordinates if coordinate.name in names]
        part = next((one for one in ("hip", "knee", "ankle") if one in joint.name.lower()), "")
        side = side_of(joint.name) or side_of(own[0]) if own else ""
        if len(own) > 1 and part and side:
            found.append((f"{part}_total_{side}", own))
    return found


def filtered_angles(trial: Trial) -> tuple[Table | None, float | None]:
    """Angles as the moments saw them, and the frequency of the filter [Hz]; as they are where no moments are known."""
    cutoff = _cutoff(trial) if trial.angles is not None else None
    if trial.angles is None or cutoff is None:
        return trial.angles, None
    try:
        return trial.angles.lowpass(cutoff), cutoff
    except InvalidInput:  # uneven frames, or gaps
        return trial.angles, None


def _cutoff(trial: Trial) -> float | None:
    """The frequency at which the moments' angles were filtered, if that is stated and can be repeated."""
    stated = [record.get("stated", {}) for record in trial.records if record.get("tool") == "InverseDynamicsTool"]
    made = trial.moments.provenance if trial.moments is not None else None
    texts = [str(s.get("lowpass_cutoff_frequency_for_coordinates", "")) for s in stated if isinstance(s, dict)]
    texts += [made.options.get("cutoff", "")] if made is not None else []
    for text in texts:
        try:
            cutoff = float(text)
        except ValueError:
            continue  # nothing was stated there
        if trial.angles is not None and 0.0 < cutoff < 0.5 / float(np.diff(trial.angles.time).max()):
            return cutoff
    return None


class Cycles(NamedTuple):
    """Times [s] of the heel strikes of each side, by "r" and "l", why a side has none, and what of it is known."""

    strikes: dict[str, list[float]]
    missing: dict[str, str]
    stance: dict[str, float]  # where in the cycle the foot leaves the ground [% of cycle]
    by_poses: tuple[str, ...] = ()  # sides whose events come from poses, as they missed the plates


def gait_cycles(trial: Trial) -> Cycles:
    """Heel strikes of each side, from the forces under the feet or from their poses; and why a side has none."""
    feet = feet_events(trial)
    strikes = {side: [float(t) for t in events.strikes] for side, events in feet.events.items()}
    posed = tuple(side for side, source in feet.source.items() if source == POSES)
    return Cycles(strikes, feet.missing, stance_shares(feet), posed)


_GRAVITY = 9.80665
# `walker_knee_r_on_tibia_r_in_ground_fx`
_COLUMN = re.compile(r"^(?P<joint>.+)_on_(?P<body>.+)_in_(?P<frame>.+)_fx$")
_JOINTS = ("hip", "knee", "ankle")


def anatomical_loads(trial: Trial) -> Table | None:
    """Forces on the bodies beyond hips, knees and ankles, along these bodies' own axes [body weights]; None without.

    Compression is what presses the body away along its y axis, which is that of the bone in OpenSim's models; forward
    is along x, outward along z to the right, mirrored on the left.
    """
    model = trial.model
    if model is None or not total_mass(model) > 0.0:
        return None
    weight = total_mass(model) * _GRAVITY
    names: list[str] = []
    columns: list[FloatArray] = []
    time: FloatArray | None = None
    for table in trial.reactions:
        for name in table.names:
            match = _COLUMN.match(name)
            joint = next((one for one in _JOINTS if match and one in match["joint"].lower()), None)
            if match is None or joint is None or not side_of(match["joint"]) or "patell" in match["joint"].lower():
                continue
            own = _in_body(trial, model, table, match)
            if own is None or (time is not None and len(table.time) != len(time)):
                continue
            time, side = table.time, side_of(match["joint"])
            for what, values in (
                ("compression", -own[:, 1]),
                ("forward", own[:, 0]),
                ("outward", own[:, 2] if side == "r" else -own[:, 2]),
            ):
                label = f"{joint}_{what}_{side}"
                if label not in names:
                    names.append(label)
                    columns.append(values / weight)
    if time is None:
        return None
    return Table(time, tuple(names), np.stack(columns, axis=1), units=("BW",) * len(names), name="joint_loads")


def _in_body(trial: Trial, model: Model, table: Table, match: re.Match[str]) -> FloatArray | None:
    """(frames, 3) a force on a child body, along that body's axes [N]."""
    stem = match.group(0)[:-1]
    force = np.stack([table.column(f"{stem}{axis}") for axis in "xyz"], axis=1)
    body, frame = match["body"], match["frame"]
    if frame == body:
        return force
    joint = next((one for one in model.joints if one.child.body == body), None)
    if joint is None or frame != GROUND or trial.angles is None:
        return None
    try:
        angles = trial.angles.in_radians(model)
        at = np.stack([np.interp(table.time, angles.time, column) for column in angles.values.T], axis=1)
        q = Table(table.time, angles.names, at).coordinates(model, missing="default")
        R_WB = kinematics(model, q).pose(body).R
    except MusculoError:
        return None
    return np.asarray(np.einsum("fij,fi->fj", R_WB, force))
