"""What the tables of a trial tell together: joint powers, and the cycles of a walk. Pages draw it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.analyses.gait import POSES, Feet, feet_events, stance_shares
from musculo.errors import InvalidInput
from musculo.results.table import Table
from musculo.results.trial import Trial
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
    feet = feet_events(trial) if trial.loads is not None else Feet({}, {}, {})
    strikes = {side: [float(t) for t in events.strikes] for side, events in feet.events.items()}
    posed = tuple(side for side, source in feet.source.items() if source == POSES)
    return Cycles(strikes, feet.missing, stance_shares(feet), posed)
