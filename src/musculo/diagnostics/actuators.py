"""Reserves and residual actuators: what drives a model where its muscles or its external loads do not.

Limits: Hicks et al. 2015 (J Biomech Eng 137:020905): residual forces within 5 % of the largest external force, residual
moments within 1 % of it times the height of the mass center, reserves within 5 % of the largest net moment. They are
for simulations, in which residuals were reduced; recorded walks leave more, so residuals are bad only beyond
`BAD_FORCE` and `BAD_MOMENT`, our own. Residuals are judged in frames in which all that carries the body is measured
(`musculo.diagnostics.support`), and in all frames against the weight where loads never carry the body.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.diagnostics.finding import Finding, Severity, graded
from musculo.diagnostics.load_units import carry_nothing
from musculo.diagnostics.loads import free_base, unknown_loads
from musculo.diagnostics.support import known_support
from musculo.dynamics.energy import total_mass
from musculo.errors import MusculoError
from musculo.model.model import Model
from musculo.results.angle_columns import rotational_coordinates
from musculo.results.table import Table
from musculo.results.trial import Trial

RESIDUAL_FORCE, RESIDUAL_MOMENT = 0.05, 0.01
BAD_FORCE, BAD_MOMENT = 0.2, 0.1
RESERVE = 0.05
_LITTLE = 0.05  # of the largest joint moment of all: a reserve that gives no more is not bad
_LEAST = 0.01  # of the largest joint moment of all: what a reserve is compared with at least, since toes need little
HEIGHT = 1.0  # [m] the height of a body's mass center, where moments of residuals are judged
_GRAVITY = 9.80665
_AGAIN = 0.1  # of the limit: residual actuators that differ less from the residuals of moments are the same thing
_RESIDUAL = re.compile(r"(?:^|_)([FM])[XYZ](?:_|$)")  # OpenSim's names of what holds a free body
_OF_MOMENTS, _OF_ACTUATORS = "Residual", "Residual actuators:"
_NOT_JUDGED = {_OF_MOMENTS: "Residuals, not judged", _OF_ACTUATORS: "Residual actuators, not judged"}
_ASKED = re.compile(r"reserve|residual", re.IGNORECASE)


class Peak(NamedTuple):
    """The largest value of a column."""

    value: float
    name: str
    time: float
    owner: str = ""  # its coordinate, where it has one


def crossed_coordinates(model: Model) -> frozenset[str]:
    """Coordinates of joints with a muscle's points on both sides."""
    below: dict[str, set[str]] = {}

    def beyond(body: str) -> set[str]:
        if body not in below:
            below[body] = {body}  # which also ends the walk round a loop
            for joint in model.joints:
                if joint.parent.body == body:
                    below[body] |= beyond(joint.child.body)
        return below[body]

    paths = [
        {model.placement(point.frame).body for point in muscle.path.points}
        for muscle in model.muscles
        if muscle.path is not None
    ]
    return frozenset(
        coordinate.name
        for joint in model.joints
        if any(0 < len(bodies & beyond(joint.child.body)) < len(bodies) for bodies in paths)
        for coordinate in joint.coordinates
    )


@dataclass(frozen=True, eq=False)
class Residuals:
    """Columns of a table that hold the free base where nothing else does, and in which frames they can be judged."""

    title: str
    table: Table
    columns: dict[str, list[tuple[str, str]]]  # columns and their coordinates, by unit
    frames: NDArray[np.bool_]  # (frames,) in which all that carries the body is measured
    reasons: tuple[str, ...]  # why others are not judged
    scale: float  # what they are compared with [N], or 0 where there is nothing
    scale_in_words: str

    @property
    def empty(self) -> bool:
        return not any(self.columns.values())

    def limit(self, unit: str) -> float:
        """Up to where residuals of a unit are good, N or N m."""
        return RESIDUAL_FORCE * self.scale if unit == "N" else RESIDUAL_MOMENT * self.scale * HEIGHT


def residuals_of_moments(trial: Trial) -> Residuals | None:
    """What inverse dynamics leaves at the joint that sets the body free, where the loads under it are known."""
    moments = trial.moments
    if moments is None or trial.model is None or trial.loads is None:
        return None
    angles = rotational_coordinates(trial.model)
    columns: dict[str, list[tuple[str, str]]] = {"N": [], "N m": []}
    for name in free_base(trial.model):
        column = f"{name}_moment" if name in angles else f"{name}_force"
        if moments.find(column) is not None:
            columns["N m" if name in angles else "N"].append((column, name))
    return Residuals(_OF_MOMENTS, moments, columns, *judged_frames(moments, trial), *_scale(moments, trial))


def checks_of_moments(moments: Table, residuals: Residuals | None, trial: Trial) -> list[Finding]:
    """Residuals of inverse dynamics; where no external loads are known, whether the body hangs in the air."""
    assert trial.model is not None
    if trial.loads is None:
        base, angles = free_base(trial.model), rotational_coordinates(trial.model)
        columns = [(f"{name}_force", name) for name in base if name not in angles]
        return _unsupported([_peak(moments, *one) for one in columns if moments.find(one[0]) is not None], trial)
    return _residuals(residuals) if residuals is not None else []


def judged_frames(table: Table, trial: Trial) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """(frames,) in which each foot is on a plate or off the ground, and why others are not judged."""
    every = np.ones(len(table), dtype=bool)
    if trial.loads is None or trial.model is None or not len(table):
        return every, ()
    if trial.angles is None or not len(trial.angles):
        return ~every, ("the motion is not known, and so is which feet stand on what",)
    try:
        q = trial.angles.coordinates(trial.model, missing="default")
        time = trial.angles.time
        moving = (table.time >= time[0] - 1e-6) & (table.time <= time[-1] + 1e-6)
        rows = np.stack([np.interp(table.time[moving], time, column) for column in q.T], axis=1)
        support = known_support(trial.model, table.time[moving], rows, trial.loads)
    except MusculoError as error:
        return ~every, (f"which feet stand on what is not known: {error}",)
    known = moving.copy()
    if not support.carried and _carry_nothing(table, trial):
        known[moving] = ~support.unmeasured  # nobody stands on nothing: residuals tell
        return known, ()
    known[moving] = support.known
    still = int((~moving).sum())
    which = "1 frame lies" if still == 1 else f"{still} frames lie"
    beyond = (f"{which} outside the motion that is known",) if still else ()
    return known, (*support.reasons, *beyond)


def _unsupported(peaks: list[Peak], trial: Trial) -> list[Finding]:
    """A body that is free in space and of which no external loads are known."""
    assert trial.model is not None
    weight = total_mass(trial.model) * _GRAVITY
    if not peaks or weight <= 0.0:
        return []
    worst = _worst(peaks)
    text = (
        f"none are known: {worst.name} is {worst.value:.4g} N at most, {100 * worst.value / weight:.0f} % of the "
        "body's weight, and moments are those of a body that hangs there"
    )
    return [Finding(text, Severity.DOUBTFUL, "External loads", "Give external loads, if it stands on anything")]


def residual_actuators(trial: Trial) -> Residuals | None:
    """Actuators that hold the free base: FX to MZ as OpenSim calls them, and those of its coordinates."""
    model, forces = trial.model, trial.forces
    if model is None or forces is None:
        return None
    base, angles, muscles = free_base(model), rotational_coordinates(model), set(model.muscle_names)
    columns: dict[str, list[tuple[str, str]]] = {"N": [], "N m": []}
    for name in forces.names:
        letters, owner = _RESIDUAL.search(name), _owner(name, model)
        if name in muscles:
            continue
        if letters and not owner:
            columns["N" if letters.group(1) == "F" else "N m"].append((name, owner))
        elif owner in base and (trial.loads is not None or owner.startswith("pelvis_") or _ASKED.search(name)):
            columns["N m" if owner in angles else "N"].append((name, owner))
    return Residuals(_OF_ACTUATORS, forces, columns, *judged_frames(forces, trial), *_scale(forces, trial))


def actuators(
    forces: Table, residuals: Residuals | None, trial: Trial, of_moments: Residuals | None = None
) -> list[Finding]:
    """Reserves, residual actuators, and actuators of coordinates that no muscle crosses.

    Residual actuators that are the residuals of inverse dynamics, which are judged as such, are not told again.
    """
    model = trial.model
    assert model is not None
    own = {force.name for force in model.forces}  # motors that the model is meant to have
    muscles, base = set(model.muscle_names), free_base(model)
    crossed, angles = crossed_coordinates(model), rotational_coordinates(model)
    # residual reduction drives joints by actuators in the place of muscles, which are no reserves whatever their names
    without_muscles = trial.tool_of(forces) == "RRATool"
    reserves: list[Peak] = []
    motors: list[Peak] = []
    assert residuals is not None
    held = {column for columns in residuals.columns.values() for column, _ in columns}
    for name in forces.names:
        owner = _owner(name, model)
        if name in muscles or name in held or not owner or owner in base:
            continue
        if name in own and not _ASKED.search(name):
            continue
        (reserves if owner in crossed and not without_muscles else motors).append(_peak(forces, name, owner))
    title = "Joint actuators" if without_muscles else "Actuators where no muscle acts"
    again = of_moments is not None and _same(residuals, of_moments)
    return [*([] if again else _residuals(residuals)), *_reserves(reserves, trial), *_motors(motors, angles, title)]


def _same(one: Residuals, other: Residuals) -> bool:
    """Whether both tell the same forces and moments at every coordinate of the base, to a tenth of what is good."""
    for unit, columns in one.columns.items():
        known = {owner: column for column, owner in other.columns[unit]}
        for column, owner in columns:
            if owner not in known:
                return False
            at = np.interp(one.table.time, other.table.time, other.table.column(known[owner]))
            if not np.abs(one.table.column(column) - at).max(initial=0.0) <= _AGAIN * other.limit(unit):
                return False
    return not one.empty and not other.empty


def _owner(name: str, model: Model) -> str:
    """The coordinate that a column names as a whole word, the longest one; empty for none."""
    owners = [c for c in model.coordinate_names if re.search(rf"(?:^|_){re.escape(c)}(?:_|$)", name)]
    return max(owners, key=len, default="")


def _peak(table: Table, name: str, owner: str, frames: NDArray[np.bool_] | None = None) -> Peak:
    """The largest value in some frames, all by default; NaN where one of them is not a number."""
    values = np.abs(table.column(name))
    rows = np.arange(len(values)) if frames is None else np.flatnonzero(frames)
    at = int(rows[values[rows].argmax()])  # the first NaN, where there is one
    return Peak(float(values[at]), name, float(table.time[at]), owner)


def _worst(peaks: Sequence[Peak]) -> Peak:
    """The largest; what is not a number counts as larger than any."""
    return max(peaks, key=lambda peak: (np.isnan(peak.value), peak))


def _residuals(residuals: Residuals) -> list[Finding]:
    if residuals.empty:
        return []
    scale, of = residuals.scale, residuals.scale_in_words
    count, frames = int(residuals.frames.sum()), len(residuals.table)
    reasons = "; ".join(residuals.reasons)
    if scale <= 0.0 or not count:
        why = reasons or "no external force acts"
        return [Finding(f"in no frame: {why}", Severity.UNJUDGED, _NOT_JUDGED[residuals.title])]
    checks = []
    within = "" if count == frames else f" in {count} of {frames} frames"
    for what, unit, limit, bad, height in (
        ("forces", "N", RESIDUAL_FORCE, BAD_FORCE, 1.0),
        ("moments", "N m", RESIDUAL_MOMENT, BAD_MOMENT, HEIGHT),
    ):
        if not residuals.columns[unit]:
            continue
        worst = _worst([_peak(residuals.table, *one, residuals.frames) for one in residuals.columns[unit]])
        share = worst.value / (scale * height)
        severity = graded(share, limit, bad)
        advice = "Filter motion and loads alike, check plates and mass; is a foot half off its plate?"
        whole = of + (f" times {HEIGHT:g} m" if unit == "N m" else "")
        text = (
            f"{worst.value:.4g} {unit} at most{within}, {worst.name} at {worst.time:.4g} s: "
            f"{100 * share:.1f} % of {whole} (limit {100 * limit:.0f} %, bad beyond {100 * bad:.0f} %)"
        )
        checks.append(Finding(text, severity, f"{residuals.title} {what}", "" if severity is Severity.GOOD else advice))
    if count < frames:
        text = f"{frames - count} of {frames} frames: {reasons}"
        checks.append(Finding(text, Severity.UNJUDGED, _NOT_JUDGED[residuals.title]))
    return checks


def _scale(table: Table, trial: Trial) -> tuple[float, str]:
    """What residuals are compared with [N]: the largest external force, or the weight where loads are not known."""
    assert trial.model is not None
    if trial.loads is None:
        return total_mass(trial.model) * _GRAVITY, "the body's weight, since no external loads are known,"
    if _carry_nothing(table, trial):
        return total_mass(trial.model) * _GRAVITY, "the body's weight, since external loads never carry it,"
    time = table.time[~unknown_loads(trial.loads, table.time)]  # beyond its ends a spline may be anything
    peaks = [float(np.linalg.norm(series.force, axis=-1).max(initial=0.0)) for series in trial.loads.at(time)]
    return max(peaks, default=0.0), "the largest external force"


def _carry_nothing(table: Table, trial: Trial) -> bool:
    """Whether the loads at the frames of a table never carry the body: zeros, or numbers in kN."""
    assert trial.model is not None
    assert trial.loads is not None
    time = table.time[~unknown_loads(trial.loads, table.time)]
    forces = [series.force for series in trial.loads.at(time)]
    return bool(len(time)) and carry_nothing(trial.model, sum(forces, start=np.zeros((len(time), 3))))


def _reserves(used: list[Peak], trial: Trial) -> list[Finding]:
    """The worst one: the largest share of a moment, or the largest of all where moments are not known.

    One that gives little beside the largest joint moment of the motion is not bad: toes need little, and get it so.
    """
    if not used:
        return []
    assert trial.model is not None
    needed, most = _largest_moments(trial)
    judged: list[tuple[int, float, Peak]] = []  # how bad, the share, whose
    for one in used:
        share = one.value / (max(needed.get(one.owner, np.nan), _LEAST * most) or np.nan)
        if not np.isfinite(one.value):
            judged.append((2, float("inf"), one))
        elif np.isfinite(share):
            judged.append((int(one.value > _LITTLE * most and graded(share, RESERVE) is Severity.WRONG), share, one))
        else:
            judged.append((0, -1.0, one))
    worst, share, peak = max(judged)
    known = share >= 0.0
    severity = Severity.WRONG if worst else graded(share, RESERVE, np.inf) if known else Severity.NOTE
    unit = "N m" if peak.owner in rotational_coordinates(trial.model) else "N"
    part = (
        f": {100 * share:.1f} % of the largest moment there (limit {100 * RESERVE:.0f} %)"
        if known
        else "; joint moments are not known, so it is not judged"
    )
    if severity is Severity.DOUBTFUL and graded(share, RESERVE) is Severity.WRONG:
        part += f", which is little beside the {most:.3g} N m at most of all joints"
    advice = "Muscles cannot give this moment: check their strength, moment arms and the joint's range"
    text = f"{peak.name} gives {peak.value:.4g} {unit} at most, at {peak.time:.4g} s{part}"
    return [Finding(text, severity, "Reserves", "" if severity in (Severity.GOOD, Severity.NOTE) else advice)]


def _motors(used: list[Peak], angles: frozenset[str], title: str) -> list[Finding]:
    if not used:
        return []
    most = 4
    parts = [
        f"{peak.name} {peak.value:.4g} {'N m' if peak.owner in angles else 'N'}"
        for peak in sorted(used, reverse=True)[:most]
    ]
    rest = f" and {len(used) - most} more" if len(used) > most else ""
    return [Finding(f"at most {', '.join(parts)}{rest}", title=title)]


def _largest_moments(trial: Trial) -> tuple[dict[str, float], float]:
    """The largest moment about each coordinate, and the largest of all but those of the free base."""
    base = free_base(trial.model) if trial.model is not None else ()
    # static optimization tells what it had to serve, which counts where inverse dynamics was not run
    peaks = {name: float(peak) for record in trial.records for name, peak in record.get("moments", {}).items()}
    if trial.moments is not None:
        peaks = {
            name.rpartition("_")[0]: float(np.abs(trial.moments.values[:, k]).max())
            for k, name in enumerate(trial.moments.names)
        }
    # nothing is a share of what is not finite
    peaks = {name: peak for name, peak in peaks.items() if np.isfinite(peak)}
    inner = [peak for name, peak in peaks.items() if name not in base]
    return peaks, max(inner, default=0.0)
