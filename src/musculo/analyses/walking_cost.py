"""What a trial costs: metabolic power over the frames that can be judged, and the cost of transport of a walk."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.gait import feet_events, spatiotemporal
from musculo.arrays import FloatArray
from musculo.diagnostics.actuators import judged_frames
from musculo.dynamics.energy import total_mass
from musculo.results.table import Table
from musculo.results.trial import BASAL, BODY, Trial

_MARGIN = 1e-6  # [s]


class TrialCost(NamedTuple):
    """Metabolic power of a trial, as means over the frames that count."""

    muscles: dict[str, float]  # [W]
    basal: float  # of the body at rest [W]
    mass: float  # of the body [kg]
    frames: NDArray[np.bool_]  # (frames of the table,) over which means are taken; none where nothing can be said
    judged: NDArray[np.bool_]  # (frames of the table,) in which all that carries the body is measured
    over: str  # what these frames are, in words
    speed: float | None  # of the walk over ground or belt [m/s]; None where nobody walks a whole cycle
    reasons: tuple[str, ...]  # why other frames do not count

    @property
    def known(self) -> bool:
        return bool(self.frames.any())

    @property
    def muscle_power(self) -> float:
        """Of all muscles [W]."""
        return sum(self.muscles.values())

    @property
    def body_power(self) -> float:
        """Of all muscles and at rest [W]."""
        return self.muscle_power + self.basal

    @property
    def cost_of_transport(self) -> float | None:
        """Energy of the body over its mass and the way [J/(kg m)]."""
        return self.body_power / (self.mass * self.speed) if self.speed and self.mass > 0.0 else None

    @property
    def muscles_cost_of_transport(self) -> float | None:
        """Of muscles alone: what walking takes beside rest [J/(kg m)]."""
        return self.muscle_power / (self.mass * self.speed) if self.speed and self.mass > 0.0 else None


def trial_cost(trial: Trial) -> TrialCost | None:
    """Means of the metabolic power that static optimization wrote; None where there is none.

    Of a walk, whole gait cycles count in which each foot is on a plate or off the ground: muscles under a foot whose
    force nobody measured carry nothing. Where there is no such cycle, the frames that can be judged, without a speed.
    """
    table, model = trial.metabolic, trial.model
    if table is None or model is None or len(table) < 2 or table.find(BODY) is None or table.find(BASAL) is None:
        return None
    judged, reasons = judged_frames(table, trial)
    judged &= np.isfinite(table.column(BODY))
    feet = feet_events(trial)
    whole = np.zeros(len(table), dtype=bool)
    count = 0
    for side in ("r", "l"):  # cycles of one foot: those of both would count times twice
        if side in feet.events and not count:
            for start, end in pairwise(feet.events[side].strikes):
                inside = (table.time >= start - _MARGIN) & (table.time <= end + _MARGIN)
                reaches = table.time[0] <= start + _step(table) and table.time[-1] >= end - _step(table)
                if reaches and inside.any() and judged[inside].all():
                    whole |= inside
                    count += 1
    speeds = [one for one in spatiotemporal(trial, feet) if one.name == "speed"] if count else []
    speed = float(np.concatenate(list(speeds[0].values.values())).mean()) if speeds else None
    frames = whole if count else judged
    if count:
        over = "one gait cycle" if count == 1 else f"{count} gait cycles"
    elif judged.all():
        over = "the whole trial"
    else:
        over = f"{int(judged.sum())} of {len(table)} frames"
    names = [name for name in table.names if name in model.muscle_names]
    means = {name: _mean(table, name, frames) for name in names}
    basal = float(table.column(BASAL)[0])
    return TrialCost(means, basal, total_mass(model), frames, judged, over, speed, reasons)


def _step(table: Table) -> float:
    return float(np.median(np.diff(table.time)))


def _mean(table: Table, name: str, frames: NDArray[np.bool_]) -> float:
    """Over frames, each for as long as it stands for: the ends of a span count half."""
    if not frames.any():
        return 0.0
    weights: FloatArray = np.zeros(len(table))
    for a, b in pairwise(range(len(table))):
        if frames[a] and frames[b]:
            weights[[a, b]] += 0.5 * (table.time[b] - table.time[a])
    if not weights.any():
        weights = frames.astype(float)
    return float(np.average(table.column(name), weights=weights))
