"""The motion that a model is to follow: coordinates, speeds and accelerations as functions of time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.analyses.recorded_motion import Motion, motion_of, motion_of_rates
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.like import Like, like_opensim
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.signals.filters import opensim_tracking_lowpass
from musculo.signals.natural_smoothing import NaturalSpline

# Rows so close, in median steps, are one: integrators that stop at a time write it twice, some rounding apart.
_ONE_ROW = 1e-6


@dataclass(frozen=True, eq=False)
class DesiredMotion:
    """Coordinates (times, n), speeds and accelerations (times, n_u) of all of a model at any time [rad, m, s].

    Made by `desired_motion`. Beyond the recording the splines go on as polynomials of second degree.
    """

    model: Model
    span: tuple[float, float]  # of the recording, without what was added to it [s]
    notes: tuple[str, ...]
    rows: Motion = field(repr=False)  # through which the splines pass, those that were added included
    _q: NaturalSpline = field(repr=False)  # of coordinates; where exact, before what follows others does
    _u: NaturalSpline | None = field(repr=False)  # None where speeds are exact
    _udot: NaturalSpline | None = field(repr=False)

    def q(self, time: ArrayLike) -> FloatArray:
        """Coordinates (times, n)."""
        return self._q(_times(time)) if self._u is not None else self.motion(time).q

    def qdot(self, time: ArrayLike) -> FloatArray:
        """Derivatives (times, n) of the splines of coordinates, which OpenSim takes for speeds where it predicts."""
        return self._q(_times(time), 1)

    def u(self, time: ArrayLike) -> FloatArray:
        """Speeds (times, n_u)."""
        return self._u(_times(time)) if self._u is not None else self.motion(time).u

    def udot(self, time: ArrayLike) -> FloatArray:
        """Accelerations (times, n_u)."""
        return self._udot(_times(time)) if self._udot is not None else self.motion(time).udot

    def motion(self, time: ArrayLike) -> Motion:
        """All three at once."""
        t = _times(time)
        if self._u is None or self._udot is None:
            return motion_of_rates(self.model, t, self._q(t), self._q(t, 1), self._q(t, 2))
        names = self.model.coordinate_names, self.model.speed_names
        return Motion(t, self._q(t), self._u(t), self._udot(t), (), *names)


def _times(time: ArrayLike) -> FloatArray:
    t = np.asarray(time, dtype=float)
    if t.ndim != 1:
        raise InvalidInput(f"time has shape {t.shape}; give the times at which the motion is wanted, (times,)")
    return t


def desired_motion(
    model: Model, table: Table, cutoff: float | None = None, *, like: Like | None = None
) -> DesiredMotion:
    """The motion to follow that a table of coordinates records, low-pass filtered.

    By default exactly: a zero-lag Butterworth filter, quintic natural splines of the coordinates, whose derivatives are
    speeds and accelerations at every time; what couplers, locks and prescribed motions determine follows the rest.

    With `like="opensim"` as its residual reduction and computed muscle control do: filtered as
    `opensim_tracking_lowpass` does; poses are assembled, coordinates without a column are zero; then three sets of
    splines that agree at the rows alone: one through coordinates, one through speeds (derivatives of the recorded
    columns at the rows), one through accelerations (derivatives of the second at the rows). Coupled coordinates keep
    the speeds of their own columns.

    Source:  OpenSim 4.6, `RRATool::run`, `CMCTool::run`, `SimbodyEngine::formCompleteStorages`.
    Departs: rows that are a rounding apart are one, where OpenSim resamples to such a step.

    Args:
        model: the model.
        table: coordinates over time, angles in degrees or radians as it says.
        cutoff: of the filter [Hz]; None or a negative number filters nothing.
        like: "opensim" for OpenSim's way.

    Raises:
        InvalidInput: no model or no table, a cutoff that is no number; a table of another model, of fewer than six
            rows, or with values that are not finite.
    """
    opensim = like_opensim(like)
    _check(model, table, cutoff)
    table = _apart(table)
    if len(table) < 6:
        where = table.source or "the table of coordinates"
        raise InvalidInput(f"{where} has {len(table)} rows; a motion to follow needs six or more")
    table.check_finite(k for c in model.coordinates if (k := table.find(c.name)) is not None)
    span = (float(table.time[0]), float(table.time[-1]))
    if not opensim:
        made = motion_of(model, table, cutoff)  # its checks and words; rows are looked at once more between them
        smooth = table if cutoff is None or cutoff < 0.0 else table.lowpass(cutoff)
        spline = NaturalSpline(smooth.time, smooth.coordinates(model, missing="default"))
        return DesiredMotion(model, span, made.notes, made, spline, None, None)
    known = [k for k in range(len(table.names)) if np.isfinite(table.values[:, k]).all()]
    filtered = opensim_tracking_lowpass(table.time, table.values[:, known], cutoff)
    names = tuple(table.names[k] for k in known)
    units = tuple(table.units[k] for k in known) if table.units else ()
    padded = replace(table, time=filtered.time, values=filtered.values, names=names, units=units)
    made = motion_of(model, padded, like="opensim", tool="analyze", span=span)
    q, u = NaturalSpline(made.time, made.q), NaturalSpline(made.time, made.u)
    return DesiredMotion(model, span, made.notes, made, q, u, NaturalSpline(made.time, u(made.time, 1)))


def _check(model: Model, table: Table, cutoff: float | None) -> None:
    """Refuse other kinds of arguments."""
    if not isinstance(model, Model):
        raise InvalidInput(f"model is a {type(model).__name__}; give a Model, as read_osim returns it")
    if not isinstance(table, Table):
        shown = repr(table) if isinstance(table, str) else f"a {type(table).__name__}"
        raise InvalidInput(f"table is {shown}; give a Table of coordinates, as read_storage(path) returns it")
    if cutoff is not None and (isinstance(cutoff, str) or np.ndim(cutoff) != 0 or not np.isfinite(cutoff)):
        raise InvalidInput(f"cutoff is {cutoff!r}; give a frequency in Hz, or None for no filter")


def _apart(table: Table) -> Table:
    """Without rows that the next one repeats."""
    if len(table) < 3:
        return table
    step = np.diff(table.time)
    kept = np.append(step > _ONE_ROW * np.median(step), True)
    return table if kept.all() else replace(table, time=table.time[kept], values=table.values[kept])
