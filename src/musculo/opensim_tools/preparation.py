"""What is done to recordings before a tool uses them, which no set-up file of OpenSim can ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers
from musculo.results.table import Table
from musculo.signals.named_arrays import even_parts, holes, sampling_rate
from musculo.signals.residual import residual_cutoff

# A coordinate that moves less has nothing but noise [rad, m].
_STILL = 1e-3
# How far above its noise a coordinate must move to say how fast it moves.
_ABOVE_NOISE = 5.0
# Frames that a cutoff is sought in: more tell nothing new, and take long.
_MOST, _LEAST = 2000, 32
S = TypeVar("S", Table, Markers)


@dataclass(frozen=True)
class Preparation:
    """How markers are read, gaps that are filled, the rate of a motion, and the filter of external loads."""

    fill_gaps: float | None = None  # the longest gap that is filled [s]
    loads_cutoff: float | None = None  # [Hz]
    resample: float | None = None  # frames a second of a motion
    up: str | None = None  # the upward axis of a recording, where it is not what the file says
    zeros_as_gaps: bool = False  # points exactly at the origin were not seen
    feet: tuple[str, ...] = ()  # bodies that may stand on plates; those named like feet where none is stated
    plates: tuple[tuple[str, str], ...] = ()  # the body on a plate, by the plate's name
    renames: tuple[tuple[str, str], ...] = ()  # recorded markers and what the model calls them

    def filled(self, series: S) -> S:
        """Gaps up to the length that was asked for, filled by splines."""
        if self.fill_gaps is None or len(series) < 2:
            return series
        step = float(np.median(np.diff(series.time)))
        return series.fill(max(int(np.floor(self.fill_gaps / step + 1e-6)), 1))

    def markers(self, recorded: Markers) -> Markers:
        """Markers with their gaps filled, zeros among them if they are such, by the names that were stated."""
        return self.filled(self.as_stated(recorded))

    def as_stated(self, recorded: Markers) -> Markers:
        """Markers by the names that were stated, zeros as gaps if they are such; a subject before a name is ignored."""
        recorded = recorded.zeros_as_gaps() if self.zeros_as_gaps else recorded
        if not self.renames:
            return recorded
        own = {name.rpartition(":")[2]: name for name in recorded.names} | {name: name for name in recorded.names}
        found = {own[old]: new for old, new in self.renames if old in own}
        if not found:
            raise UnknownName("marker", self.renames[0][0], recorded.names, recorded.source or "the recording")
        return recorded.rename(found)

    def motion(self, table: Table) -> Table:
        """A motion with its gaps filled, on even frames."""
        table = self.filled(table)
        if self.resample is None:
            return table
        lost = float(np.diff(table.time)[holes(table.time)].sum())
        made = f"; {lost:.3g} s between frames that are missing are guesses" if lost else ""
        note = f"brought to {self.resample:g} frames a second by splines{made}"
        try:
            return replace(table.resample(self.resample), notes=(*table.notes, note))
        except InvalidInput as error:
            raise InvalidInput(f"{table.source}: {error}") from None

    def acting(self, loads: ExternalLoads) -> ExternalLoads:
        """Loads with their gaps filled and filtered."""
        loads = loads.with_table(self.filled(loads.table))
        return loads if self.loads_cutoff is None else loads.lowpass(self.loads_cutoff)


NOTHING: Preparation = Preparation()  # typed: mypy reads it in a circle of imports


@dataclass(frozen=True)
class SuggestedCutoff:
    """A cutoff for all coordinates [Hz]: the median of what residual analysis finds for those that clearly move."""

    cutoff: float
    least: tuple[float, str]  # the lowest of all, and its coordinate
    most: tuple[float, str]

    def __str__(self) -> str:
        (low, slow), (high, fast) = self.least, self.most
        span = f"{low:.1f} Hz for {slow} to {high:.1f} Hz for {fast}" if slow != fast else slow
        return f"{self.cutoff:g} Hz ({span})"


def suggested_cutoff(table: Table, model: Model) -> SuggestedCutoff | None:
    """Which cutoff suits the coordinates of a motion; None where nothing moves, or frames are few or uneven.

    Where frames are missing it is the longest part that tells.
    """
    motion = table.in_radians(model)
    try:
        _, parts = even_parts(motion.time)
        part = max(parts, key=lambda one: one.stop - one.start)
        motion = replace(motion, time=motion.time[part][:_MOST], values=motion.values[part][:_MOST])
        rate = sampling_rate(motion.time)
    except InvalidInput:
        return None
    time = motion.time
    if len(time) < _LEAST:
        return None
    # times that a file rounds are of even frames
    time = time[0] + np.arange(len(time)) / rate
    columns: dict[str, FloatArray] = {}
    for name in model.coordinate_names:
        k = motion.find(name)
        values = motion.values[:, k] if k is not None else np.zeros(0)
        if values.size and np.isfinite(values).all() and np.ptp(values) > _STILL:
            columns[name] = values
    if not columns:
        return None
    values = np.stack(list(columns.values()), axis=1)
    found = residual_cutoff(time, values)
    # what holds still but for noise would want no signal at all
    tells = np.flatnonzero(values.std(axis=0) > _ABOVE_NOISE * found.noise)
    if not tells.size:
        return None
    cutoff, names = found.cutoff[tells], [list(columns)[k] for k in tells]
    low, high = int(cutoff.argmin()), int(cutoff.argmax())
    ends = ((float(cutoff[low]), names[low]), (float(cutoff[high]), names[high]))
    return SuggestedCutoff(round(float(np.median(cutoff)), 1), *ends)
