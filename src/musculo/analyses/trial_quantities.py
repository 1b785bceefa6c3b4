"""What the tables of a trial tell together: joint powers, and the cycles of a walk. Pages draw it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.named_sides import side_of
from musculo.results.table import Table
from musculo.results.trial import Trial
from musculo.signals.gait_events import VERTICAL, events_from_force
from musculo.signals.natural_smoothing import NaturalSpline


def joint_powers(trial: Trial) -> Table | None:
    """Moment times the rate of the coordinate [W], where both are known; angles are filtered as for the moments."""
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
    for name in model.coordinate_names:
        k = angles.find(name)
        moment = next((f"{name}{e}" for e in ("_moment", "_force") if f"{name}{e}" in moments.names), None)
        if k is None or moment is None or np.ptp(angles.values[:, k]) <= 1e-9:
            continue
        rate = NaturalSpline(angles.time, angles.values[:, k])(time[inside], 1)
        names.append(name)
        powers.append(moments.column(moment)[inside] * rate)
    return Table(time[inside], tuple(names), np.stack(powers, axis=1)) if names else None


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
    """Times [s] of the heel strikes of each side, by "r" and "l", and why a side has none."""

    strikes: dict[str, list[float]]
    missing: dict[str, str]


def gait_cycles(trial: Trial) -> Cycles:
    """Heel strikes of each side, from the forces under feet whose names tell their side; and why a side has none."""
    if trial.loads is None:
        return Cycles({}, {})
    time = trial.loads.table.time
    strikes: dict[str, list[float]] = {}
    missing = dict.fromkeys("rl", "no external force is on that foot")
    vertical: dict[str, FloatArray] = {}
    for series in trial.loads.at(time):
        side = side_of(series.body)
        if side and series.force is not None:  # a foot may stand on several plates
            vertical[side] = vertical.get(side, 0.0) + np.asarray(series.force)[:, VERTICAL]
    for side, force in vertical.items():
        try:
            marks = events_from_force(time, force).strikes
        except InvalidInput:
            missing[side] = "its force tells no steps"
            continue
        if len(marks) > 1:
            strikes[side] = [float(t) for t in marks]
        missing[side] = f"a cycle needs two strikes of that foot, and its force has {len(marks)}"
    return Cycles(strikes, {side: why for side, why in missing.items() if side not in strikes})
