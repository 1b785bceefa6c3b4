"""From recorded coordinates to the motion of a model: coordinates, speeds and accelerations of all frames."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.inverse_kinematics.opensim_assembly import assembled
from musculo.arrays import FloatArray
from musculo.compile.compiled import check_model
from musculo.diagnostics.finding import texts, warn_of
from musculo.diagnostics.recording_doubts import motion_findings
from musculo.embedding.embedding import embedding_of, times_of
from musculo.embedding.speed_rates import (
    angle_rates_inverse,
    angle_rates_inverse_dot,
    speeds_from_rates,
    turning_joints,
)
from musculo.errors import InvalidInput, unwarned
from musculo.like import Like, like_opensim
from musculo.model.coordinate import coordinate_path
from musculo.model.model import Model
from musculo.results.made_once import made_once
from musculo.results.notebook_figures import series_html
from musculo.results.result_base import Result, Series, also
from musculo.results.table import Table
from musculo.results.tables_of_others import TableLike, checked_table
from musculo.signals.natural_smoothing import NaturalSpline

_Way = Literal["exact", "opensim id", "opensim analyze"]
Tool = Literal["id", "analyze"]
TOOLS: tuple[Tool, ...] = ("id", "analyze")
# Below so many frames no quintic spline passes through.
_FEWEST = 6
# What rounding of printed times moves a frame by at most [s].
_SAME_TIME = 1e-6
# What rounding of printed numbers moves a locked coordinate by at most [rad, m].
_AT_LOCK = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Motion(Result):
    """Coordinates, speeds and accelerations of all of a model over time; `notes` say what was assumed."""

    made_by: ClassVar[str] = "motion_of"

    time: FloatArray = field(repr=False)  # (frames,) [s]
    q: FloatArray = field(repr=False)  # (frames, n) [rad, m]
    u: FloatArray = field(repr=False)  # (frames, n_u) [rad/s, m/s]
    udot: FloatArray = field(repr=False)  # (frames, n_u) [rad/s^2, m/s^2]
    notes: tuple[str, ...] = ()
    coordinate_names: tuple[str, ...] = ()  # the columns of `q`, where they are known
    speed_names: tuple[str, ...] = ()  # those of `u` and `udot`, likewise

    names = also("coordinate_names")

    def _series(self) -> Iterable[Series]:
        coordinates = self.coordinate_names or tuple(f"q{k}" for k in range(self.q.shape[1]))
        speeds = self.speed_names or tuple(f"u{k}" for k in range(self.u.shape[1]))
        yield Series("q", self.q, {"coordinate": coordinates}, "rad or m")
        yield Series("u", self.u, {"speed": speeds}, "rad/s or m/s")
        yield Series("udot", self.udot, {"speed": speeds}, "rad/s^2 or m/s^2")

    def _repr_html_(self) -> str:
        names = self.coordinate_names or tuple(f"q{k}" for k in range(self.q.shape[1]))
        facts = [("note", note) for note in self.notes]
        return series_html("Motion: coordinates [rad, m]", self.time, names, self.q, facts=facts)

    def __len__(self) -> int:
        return len(self.time)

    def rows(self, which: slice | NDArray[np.int64]) -> Motion:
        """Some of the frames."""
        return replace(self, time=self.time[which], q=self.q[which], u=self.u[which], udot=self.udot[which])

    def between(self, start: float, end: float) -> Motion:
        """The frames that OpenSim's tools take: from the last at or before `start` to the last at or before `end`.

        Raises:
            InvalidInput: the end comes before the start, or the motion has no frame from the one to the other.
        """
        rows = opensim_rows(self.time, start, end)
        if len(self) and (start > self.time[-1] + _SAME_TIME or end < self.time[0] - _SAME_TIME):
            span = f"{self.time[0]:g} to {self.time[-1]:g} s"
            raise InvalidInput(f"the motion: no frame lies between {start:g} and {end:g} s; it spans {span}")
        return self.rows(rows)


def opensim_rows(time: FloatArray, start: float, end: float) -> slice:
    """From the last frame at or before `start` to the last at or before `end`, both first moved into the recording."""
    if not start <= end:
        raise InvalidInput(f"the time range is {start:g} to {end:g} s; its end must not come before its start")
    first, last = (
        max(int(np.searchsorted(time, min(max(t, time[0]), time[-1]), side="right")) - 1, 0) for t in (start, end)
    )
    return slice(first, last + 1)


def motion_of(
    model: Model,
    table: TableLike,
    cutoff: float | None = None,
    *,
    like: Like | None = None,
    tool: Tool = "id",
    speeds: TableLike | None = None,
    few_at_rest: bool = False,
    span: tuple[float, float] | None = None,
) -> Motion:
    """The motion that a table of coordinates records, low-pass filtered, with speeds and accelerations.

    Quintic natural splines through the coordinates give rates. Three ways:

    - by default, exactly: the frames of the file; a Butterworth filter of both passes together at the cutoff; coupled,
      locked and prescribed coordinates follow the independent ones, with their rates; u and udot are the joints' own
      speeds. An independent coordinate without a column keeps its default value.
    - `like="opensim"`: as OpenSim's inverse dynamics does. Its filter (`opensim_lowpass`), whose frames reach half a
      recording beyond both ends; coupled and locked coordinates as the file has them, else at their default; u and
      udot are q' and q'' even where a joint's speeds are no derivatives.
    - `like="opensim", tool="analyze"`: as OpenSim's analyses do. The same filter; a coordinate without a column is
      zero; q follows couplers and locks, but the speed of a coupled coordinate is that of its own column, or zero;
      udot are slopes of quintic splines through the speeds (not second derivatives of q), of coupled coordinates as
      they follow. In a model with constraints clamped coordinates stay in their range, closed loops are closed by the
      pose nearest to the file's (`musculo.analyses.inverse_kinematics.opensim_assembly`), and locked coordinates
      keep the speeds of their columns.

    Source: OpenSim 4.6, `InverseDynamicsTool`, `SimbodyEngine::formCompleteStorages`, `Model::assemble`,
    `StaticOptimization`.

    Args:
        model: the model.
        table: coordinates over time, angles in degrees or radians as `table.degrees` says.
        cutoff: [Hz]; None or a negative number filters nothing.
        like: "opensim" for one of OpenSim's ways.
        tool: which of them: "id", or "analyze" for static optimization, joint reactions and muscle analysis.
        speeds: speeds by column [rad/s, m/s] at the same times, in place of derivatives; with `tool="analyze"` only.
        few_at_rest: take fewer than six frames, which have no rates, as poses at rest, with a note; not with `like`.
        span: the times that notes about poses speak of [s], as far as the table has them: those that are looked at.
    """
    check_model(model)
    table = checked_table("the table of coordinates", table)
    speeds = checked_table("speeds", speeds) if speeds is not None else None
    way = _way(like, tool)
    if speeds is not None and way != "opensim analyze":
        raise InvalidInput("speeds from a table are used with like='opensim', tool='analyze' only")
    _check_columns(table, model.coordinate_names)
    findings = motion_findings(table, model, cutoff, opensim=way != "exact")
    warn_of(findings)
    notes = (*texts(findings), *_notes(model, table, way))
    start, end = span or (-np.inf, np.inf)
    if len(table):
        start, end = max(start, table.time[0]), min(end, table.time[-1])
    # forces and markers of a model change nothing, so that steps which leave some out share the motion
    moved = (model.bodies, model.joints, model.constraints, model.frames)
    options = ("motion", model.source, cutoff, way, few_at_rest, start, end)
    with unwarned():
        motion = made_once(
            options,
            (*moved, table, speeds),
            lambda: _motion(model, table, cutoff, way, speeds, few_at_rest, (), (start, end)),
        )
    return replace(motion, notes=(*notes, *motion.notes))


def _way(like: Like | None, tool: Tool) -> _Way:
    if tool not in TOOLS:
        raise InvalidInput(f"tool={tool!r}; known: {', '.join(TOOLS)}")
    if not like_opensim(like):
        return "exact"
    return "opensim id" if tool == "id" else "opensim analyze"


def _motion(
    model: Model,
    table: Table,
    cutoff: float | None,
    way: _Way,
    speeds: Table | None,
    few_at_rest: bool,
    notes: tuple[str, ...],
    span: tuple[float, float],
) -> Motion:
    """What `motion_of` gives, its arguments checked."""
    if cutoff is not None and cutoff >= 0.0:
        table = filtered_motion(table, cutoff, None if way == "exact" else "opensim")
    few = len(table) < _FEWEST
    count = f"{len(table)} frame{'s' if len(table) != 1 else ''}"
    short = f"{table.source or 'the table of coordinates'} has {count}; rates need {_FEWEST} or more"
    if few and not (few_at_rest and way == "exact" and len(table)):
        raise InvalidInput(short)
    table.check_finite(k for c in model.coordinates if (k := table.find(c.name)) is not None)
    values = table.coordinates(model, missing="zero" if way == "opensim analyze" else "default")
    if few:
        still = np.zeros_like(values)
        return motion_of_rates(
            model, table.time, values, still, still, (*notes, f"{short}: they are treated as poses at rest")
        )
    spline = NaturalSpline(table.time, values)
    q, qdot, qddot = (spline(table.time, order) for order in range(3))
    if way == "exact":
        return motion_of_rates(model, table.time, q, qdot, qddot, notes)
    pick = _speed_columns(model)
    u, udot = qdot[:, pick], qddot[:, pick]
    if way == "opensim id":
        return Motion(table.time, q, u, udot, notes, model.coordinate_names, model.speed_names)
    if speeds is not None:
        u, told = _speeds(model, speeds, table.time)
        notes = (*notes, *told)
    return _analyzed(model, table.time, q, u, notes, span)


def filtered_motion(table: Table, cutoff: float, like: Like | None = None) -> Table:
    """The table, low-pass filtered; two steps that ask for the same share it."""
    return made_once(("filtered", cutoff, like), (table,), lambda: table.lowpass(cutoff, like=like))


def motion_of_states(model: Model, table: Table, span: tuple[float, float] = (-np.inf, np.inf)) -> Motion:
    """The motion that a table of states records, as OpenSim's analyses take it: speeds as they stand, udot by splines.

    Columns go by `/jointset/<joint>/<coordinate>/value` and `/speed`, or by the older names that `Table.find` knows.
    Notes about poses speak of those in the span [s].
    """
    check_model(model)
    table = checked_table("the table of states", table)
    if table.degrees:
        raise InvalidInput(
            f"{table.source}: states must be in radians, and the file says inDegrees=yes; simulations write states as "
            "..._states.sto, in radians, beside ..._states_degrees.mot"
        )
    _check_columns(table, [f"{coordinate_path(j.name, c.name)}/value" for j in model.joints for c in j.coordinates])
    q, u, missing = np.zeros((len(table), len(model.coordinates))), np.zeros((len(table), len(model.speed_names))), []
    rows = {name: k for k, name in enumerate(model.speed_names)}
    for joint in model.joints:
        for coordinate in joint.coordinates:
            path = coordinate_path(joint.name, coordinate.name)
            value, speed = table.find(f"{path}/value"), table.find(f"{path}/speed")
            k = model.coordinate_index(coordinate.name)
            q[:, k] = coordinate.default_value if value is None else table.values[:, value]
            if coordinate.name in rows and speed is not None:
                u[:, rows[coordinate.name]] = table.values[:, speed]
            if value is None or speed is None:
                missing.append(coordinate.name)
    notes = (f"{table.source} has no value or no speed of {', '.join(missing)}: set to the default",) if missing else ()
    return _analyzed(model, table.time, q, u, notes, span)


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def _check_columns(table: Table, names: Sequence[str]) -> None:
    """Refuse a table of another model, whose results would be those of the default pose.

    OpenSim's tools go on with that pose.
    """
    if names and all(table.find(name) is None for name in names):
        raise InvalidInput(
            f"{table.source or 'the table'} has no column of a coordinate of the model; its columns: "
            f"{_some(table.names)}; those of the model: {_some(names)}; is it the motion of another model?"
        )


def _notes(model: Model, table: Table, way: _Way) -> tuple[str, ...]:
    free = set(model.free_coordinate_names)
    absent = [c.name for c in model.coordinates if table.find(c.name) is None and (c.name in free or way != "exact")]
    # "opensim id" takes locked coordinates as the file has them
    notes = _overruled(model, table) if way != "opensim id" else ()
    if not absent:
        return notes
    how = "zero, as OpenSim's analyses take them" if way == "opensim analyze" else "their default values"
    # columns of muscles and other states are no misspelt coordinates: only near ones are named
    used = {table.find(name) for name in model.coordinate_names}
    unused = {name.lower(): name for k, name in enumerate(table.names) if k not in used}
    near = {name: difflib.get_close_matches(name.lower(), unused, n=1, cutoff=0.75) for name in absent}
    guesses = [f"{unused[found[0]]!r} for {name!r}" for name, found in near.items() if found]
    hint = f"; did you mean the column {', '.join(guesses)}?" if guesses else ""
    return (*notes, f"{table.source or 'the table'} has no column for {', '.join(absent)}: set to {how}{hint}")


def _overruled(model: Model, table: Table) -> tuple[str, ...]:
    """Columns of locked coordinates that hold other values than the lock, which is what counts."""
    radians, told = table.in_radians(model), []
    for c in model.coordinates:
        k = table.find(c.name) if c.locked else None
        if k is not None and len(table):
            apart = np.abs(np.nan_to_num(radians.values[:, k] - c.default_value)).max()
            if apart > _AT_LOCK:
                told.append(f"{c.name} (locked at {c.default_value:.6g}, the column is up to {apart:.3g} away)")
    if not told:
        return ()
    return (
        f"{table.source or 'the table'}: columns of locked coordinates are not used [rad, m]: {', '.join(told)}; "
        "unlock them in the model if they move",
    )


def _speed_columns(model: Model) -> list[int]:
    """The coordinate whose derivative OpenSim takes for each speed: the one of the same name."""
    for name in model.speed_names:
        if name not in model.coordinate_names:
            raise InvalidInput(f"speed {name!r} has no coordinate of its name (quaternions); omit like")
    return [model.coordinate_index(name) for name in model.speed_names]


def motion_of_rates(
    model: Model, time: FloatArray, q: FloatArray, qdot: FloatArray, qddot: FloatArray, notes: tuple[str, ...] = ()
) -> Motion:
    """The motion of coordinates (frames, n) and their two derivatives; what follows others follows with its rates."""
    u = speeds_from_rates(model, q, qdot)
    columns = {name: k for k, name in enumerate(model.coordinate_names)}
    udot = np.zeros_like(u)
    for k, name in enumerate(model.speed_names):
        if name in columns:
            udot[:, k] = qddot[:, columns[name]]
    for joint in turning_joints(model):
        at, rows = list(joint.q), list(joint.u)
        if len(at) == 4 and not qdot.any():
            continue  # poses at rest, of which there may be too few for a spline
        if len(at) == 4:
            udot[:, rows] = NaturalSpline(time, u[:, rows])(time, 1)
        else:
            own = np.einsum("fij,fj->fi", angle_rates_inverse(q[:, at]), qddot[:, at])
            turn = np.einsum("fij,fj->fi", angle_rates_inverse_dot(q[:, at], qdot[:, at]), qdot[:, at])
            udot[:, rows] = own + turn
    e = embedding_of(model)
    if not e.rules:
        return Motion(time, q, u, udot, notes, model.coordinate_names, model.speed_names)
    m = e.motion(e.independent(q), e.independent_speeds(q, u), e.independent_accelerations(q, udot), time)
    return Motion(time, m.q, m.u, m.udot, notes, model.coordinate_names, model.speed_names)


def _speeds(model: Model, table: Table, time: FloatArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Speeds (frames, n_u) by column, and which there are none of."""
    if len(table) != len(time) or np.abs(table.time - time).max() > 1e-9:
        raise InvalidInput(
            f"{table.source or 'the table of speeds'} has other times than the coordinates; both need the same frames"
        )
    u = np.zeros((len(time), len(model.speed_names)))
    absent = []
    for joint in model.joints:
        for name in joint.speed_names:
            # a column by the bare name of a coordinate is no speed to OpenSim
            column = table.find(f"/jointset/{joint.name}/{name}/speed")
            if column is None:
                absent.append(name)
            else:
                u[:, model.speed_index(name)] = table.values[:, column]
    if not absent:
        return u, ()
    said = f"{table.source or 'the table of speeds'} has no speed of {', '.join(absent)}: set to zero, as OpenSim does"
    return u, (f"{said}; it looks for columns such as {absent[0]}_u",)


def _analyzed(
    model: Model, time: FloatArray, q: FloatArray, u: FloatArray, notes: tuple[str, ...], span: tuple[float, float]
) -> Motion:
    """Constraints and locks imposed as OpenSim's assembly imposes them: on coordinates, not on speeds.

    Speeds of locked and prescribed coordinates remain what their columns say. Only a model without constraints has them
    projected onto its locks.
    """
    e = embedding_of(model)
    udot = NaturalSpline(time, u)(time, 1)
    shown = (time >= span[0] - _SAME_TIME) & (time <= span[1] + _SAME_TIME)
    q, told = assembled(model, time, q, shown)
    notes += told
    if not e.rules:
        return Motion(time, q, u, udot, notes, model.coordinate_names, model.speed_names)
    zu, zudot = e.independent_speeds(q, u), e.independent_accelerations(q, udot)
    m = e.motion(e.independent(q), zu, zudot, times_of(time, len(time)), guess=q if e.loops else None)
    kept = u.copy()
    held = {rule.dependent for rule in e.rules if not rule.inputs}
    rows = [k for k, name in enumerate(model.speed_names) if name in held]
    if not model.constraints:
        kept[:, rows] = m.u[:, rows]
    else:
        notes += _speeds_of_held(model, rows, kept, m.u)
    return Motion(time, m.q, kept, m.udot, notes, model.coordinate_names, model.speed_names)


def _speeds_of_held(model: Model, rows: Sequence[int], kept: FloatArray, own: FloatArray) -> tuple[str, ...]:
    """Which locked and prescribed coordinates have speeds that they cannot have."""
    apart = np.abs(kept - own).max(axis=0, initial=0.0)
    told = [f"{model.speed_names[k]} (up to {apart[k]:.3g} off)" for k in rows if apart[k] > _AT_LOCK]
    if not told:
        return ()
    return (
        f"locked and prescribed coordinates keep the speeds of their columns [rad/s, m/s]: {', '.join(told)}; so does "
        "OpenSim in a model with constraints, although they move otherwise (--exact)",
    )
