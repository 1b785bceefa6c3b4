"""What a viewer is given, brought to the frames of one motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.compile.frame_arrays import columns_by_name
from musculo.diagnostics.finding import texts, warn_of
from musculo.diagnostics.recording_doubts import angle_unit_findings
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, MusculoError
from musculo.model.model import Model
from musculo.results.markers import Markers
from musculo.results.result_base import Result
from musculo.results.table import Table

# [1/s] Frames that come without times are played at this rate.
ASSUMED_RATE = 60.0


@dataclass(frozen=True, eq=False)
class Frames:
    """Times (frames,) [s] and all coordinates (frames, n) [rad, m]; notes say what was assumed.

    `good` (given frames,) says which of the frames that were given these are, where some had gaps.
    """

    time: FloatArray
    q: FloatArray
    notes: tuple[str, ...] = ()
    good: NDArray[np.bool_] | None = None

    def at(self, rows: NDArray[np.int64]) -> Frames:
        return Frames(self.time[rows], self.q[rows], self.notes)


def frames_in(model: Model, q: ArrayLike | Table | Result | None, time: ArrayLike | None) -> Frames:
    """The frames to draw: a table of coordinates, a result that holds a motion, an array with or without times, or the
    default pose."""
    if q is None:
        return Frames(np.zeros(1), default_pose(model)[None])
    if isinstance(q, Result):
        q, time = _of_result(model, q, time)
    if isinstance(q, Table):
        if not len(q):
            raise InvalidInput(f"{q.source or 'the motion'} holds no frames; there is nothing to draw")
        return _of_table(model, q)
    Q, _ = coordinates_of(model, q)
    if not len(Q):
        raise InvalidInput("q holds no frames; there is nothing to draw")
    if time is None:
        rate = f"{ASSUMED_RATE:g} frames a second are assumed, because no times were given"
        return Frames(np.arange(len(Q)) / ASSUMED_RATE, Q, (rate,) if len(Q) > 1 else ())
    t = np.atleast_1d(np.asarray(time, dtype=float))
    if t.shape != (len(Q),) or not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise InvalidInput(f"time has shape {t.shape}; it needs ({len(Q)},) finite, increasing times, one a frame")
    return Frames(t, Q)


def _of_result(model: Model, result: Result, time: ArrayLike | None) -> tuple[FloatArray | Table, ArrayLike | None]:
    """Poses and times of what a simulation, inverse kinematics or a prediction returned."""
    q, own = getattr(result, "q", None), getattr(result, "model", model)
    if q is None:
        table = _with_endings(result, model.coordinate_names, "value")
        if table is not None:
            return table, None
    kind = type(result).__name__
    if q is None or np.ndim(q) > 2:
        holds = "no poses" if q is None else f"poses of shape {np.shape(q)}; give those of one motion"
        raise InvalidInput(f"{kind} holds {holds}; view(model, q, time) draws coordinates (frames, coordinates)")
    if own.coordinate_names != model.coordinate_names:
        raise InvalidInput(f"{kind} is of {own.name!r}, whose coordinates are not those of {model.name!r}")
    return q, getattr(result, "time", None) if time is None else time


def of_result(model: Model, q: object, quantity: str, given: Table | ArrayLike | None) -> Table | ArrayLike | None:
    """What was given of the muscles, else what the result that is drawn holds."""
    if given is not None or not isinstance(q, Result):
        return given
    muscles = getattr(q, "muscles", None)
    found = getattr(q, quantity, None)
    if found is None and muscles is None:
        return _with_endings(q, model.muscle_names, quantity)
    return found if found is not None else getattr(muscles, quantity, None)


def _with_endings(result: Result, names: Sequence[str], ending: str) -> Table | None:
    """The table of a result that has columns `knee/value`, as predicted motions have; None where it has none."""
    known = getattr(result, "names", None)
    there = isinstance(known, tuple) and any(f"{name}/{ending}" in known for name in names)
    return result.to_table() if there else None


def default_pose(model: Model) -> FloatArray:
    """Default values of all coordinates (n,), those that depend on others following them where they can."""
    q = np.array([c.default_value for c in model.coordinates], dtype=float)
    try:
        embedding = embedding_of(model)
        return embedding.coordinates(embedding.independent(q)) if embedding.rules and len(q) else q
    except MusculoError:
        return q  # a loop that does not close at the defaults is still worth looking at


def _of_table(model: Model, table: Table) -> Frames:
    q = table.coordinates(model, missing="default")
    absent = [name for name in model.coordinate_names if table.find(name) is None]
    if len(absent) == len(model.coordinate_names) and absent:
        raise InvalidInput(
            f"{table.source or 'the motion'} has no column for any coordinate of {model.name!r}; its columns: "
            f"{', '.join(table.names[:8])}; the model's coordinates: {', '.join(model.coordinate_names[:8])}"
        )
    good: NDArray[np.bool_] = np.asarray(np.isfinite(q).all(axis=1))
    if not good.any():
        raise InvalidInput(
            f"{table.source or 'the motion'} has gaps in every frame; fill them first (table.fill in Python)"
        )
    doubts = angle_unit_findings(table, model)
    warn_of(doubts)
    notes = texts(doubts)
    time, q = np.array(table.time)[good], q[good]
    if not good.all():
        gaps = np.asarray(table.time)[~good]
        notes = (
            *notes,
            f"{len(gaps)} of {len(good)} frames have gaps and are not drawn, from {gaps[0]:g} s to {gaps[-1]:g} s; "
            "the frames beside them are joined.",
        )
    if absent:
        driven: list[str] = []
        try:
            embedding = embedding_of(model)
            follow = embedding.coordinates(embedding.independent(q), time)
            driven = [name for name in absent if name not in embedding.coordinate_names]
            columns = [model.coordinate_index(name) for name in driven]
            q[:, columns] = follow[:, columns]
        except MusculoError as error:
            notes = (
                *notes,
                f"Coordinates that the motion lacks do not follow the others: {error}",
            )
        still = [name for name in absent if name not in driven]
        if still:
            left = f"{len(still)} coordinates are not in the motion and stay at their defaults: {some(still)}"
            notes = (*notes, left)
    return Frames(time, q, notes, None if good.all() else good)


def of_muscles_at(
    model: Model, quantity: str, given: Table | ArrayLike | None, frames: Frames, rows: NDArray[np.int64]
) -> FloatArray:
    """Activations or forces (rows, muscles) at some frames; NaN where there is none."""
    shape = (len(rows), len(model.muscles))
    if given is None:
        return np.full(shape, np.nan)
    if not isinstance(given, Table):
        values = np.asarray(columns_by_name(quantity, given, model.muscle_names), dtype=float)
        full = (len(frames.time) if frames.good is None else len(frames.good), len(model.muscles))
        if values.shape != full:
            raise InvalidInput(f"{quantity} has shape {values.shape}; it needs {full}: frames, muscles")
        return values[rows] if frames.good is None else values[frames.good][rows]
    found = np.full(shape, np.nan)
    known = False
    for k, name in enumerate(model.muscle_names):
        for spelling in (name, f"{name}/{quantity}", f"/forceset/{name}/{quantity}"):
            column = given.find(spelling)
            if column is not None:
                known = True
                found[:, k] = sampled(given.time, given.values[:, column], frames.time[rows])
                break
    if not known and model.muscles:
        raise InvalidInput(
            f"{given.source or f'the table of {quantity}s'} has no column for any muscle of {model.name!r}; its "
            f"columns: {', '.join(given.names[:8])}; the muscles: {', '.join(model.muscle_names[:8])}"
        )
    return found


def sampled(time: FloatArray, values: FloatArray, wanted: FloatArray) -> FloatArray:
    """Values (n, ...) at other times by lines between samples; NaN outside, and beside samples that are NaN.

    Times that differ by rounding count as inside.
    """
    if not len(time):
        return np.full((len(wanted), *values.shape[1:]), np.nan)
    slack = 1e-6 + 1e-6 * abs(float(time[-1]))
    inside = (wanted >= time[0] - slack) & (wanted <= time[-1] + slack)
    if len(time) == 1:
        return np.where(inside.reshape(-1, *([1] * (values.ndim - 1))), values[0], np.nan)
    t = np.clip(wanted, time[0], time[-1])
    left = np.clip(np.searchsorted(time, t, side="right") - 1, 0, len(time) - 2)
    share = ((t - time[left]) / (time[left + 1] - time[left])).reshape(-1, *([1] * (values.ndim - 1)))
    # A sample that is met exactly does not ask for its neighbor.
    mixed = np.where(share <= 0.0, values[left], (1.0 - share) * values[left] + share * values[left + 1])
    mixed = np.where(share >= 1.0, values[left + 1], mixed)
    return np.where(inside.reshape(share.shape), mixed, np.nan)


def markers_at(markers: Markers, time: FloatArray) -> FloatArray:
    """Measured markers (frames, markers, 3) at other times [m]."""
    return sampled(markers.time, np.array(markers.position), time)


def some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
