"""Was it good? Marker and tracking errors, residuals, reserves and unsolved frames against what the field accepts.

Limits: OpenSim's "Getting Started with Inverse Kinematics" for markers (root mean square below 2 cm, largest below
4 cm); `musculo.diagnostics.actuators` has those of residuals and reserves, `musculo.diagnostics.subject` those of
scaling, `musculo.diagnostics.tracking_errors` those of motions that follow others.
Twice a limit is bad; between is worth a look. Only what was run is judged, and nothing is good where numbers are not
finite or the step left frames unsolved. What checks of the input found while a step ran is judged by how much it
matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from musculo.diagnostics.actuators import (
    Residuals,
    actuators,
    checks_of_moments,
    residual_actuators,
    residuals_of_moments,
)
from musculo.diagnostics.finding import Finding, Severity, graded
from musculo.diagnostics.implausible_angles import OUT_OF_RANGE, angles_far_outside, in_words, leaping_angles
from musculo.diagnostics.loads import FEET, free_base, misplaced_in_words, misplaced_loads
from musculo.diagnostics.subject import Scaling, checks_of_scaling
from musculo.diagnostics.tracking_errors import tracking_findings
from musculo.dynamics.energy import total_mass
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.errors import MusculoError
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.results.trial import Trial

MARKER_RMS, MARKER_LARGEST = 0.02, 0.04  # [m]
UNSOLVED = "Not everything was solved"
FULL = 0.99  # an activation that has nothing left
FIBERS = (0.44, 1.81)  # of the optimum: the ends of Millard's default curve of active force
HALF_TURN = np.pi  # an angle so far outside its range is of no joint [rad]
_SOLVERS = ("InverseKinematicsTool", "IMUInverseKinematicsTool")
_FROM_TABLES = {OUT_OF_RANGE, FEET}  # findings that are judged from tables, where they are known
_OFTEN = 0.1  # the part of the frames in which a muscle may be at its limit before it is bad


class Judgement(NamedTuple):
    """What was found of a trial, and what it was found from where a page shows that, too."""

    findings: tuple[Finding, ...]
    residuals: Residuals | None  # of inverse dynamics, else of static optimization


def judge(trial: Trial) -> Judgement:
    """The lines of the summary: what was looked at, what was found, and what to do about it."""
    of_moments, of_actuators = residuals_of_moments(trial), residual_actuators(trial)
    shown = of_moments if of_moments is not None and not of_moments.empty else None
    if shown is None and trial.loads is not None and of_actuators is not None and not of_actuators.empty:
        shown = of_actuators
    return Judgement(tuple(_findings_of(trial, of_moments, of_actuators)), shown)


def _findings_of(trial: Trial, of_moments: Residuals | None, of_actuators: Residuals | None) -> list[Finding]:
    checks = [*_troubles(trial), *_numbers(trial)]
    model = trial.model
    if trial.angles is not None and model is not None and len(trial.angles):
        checks += _about(trial.angles, _angles(trial.angles, model), trial)
        checks += _feet(trial.angles, model, trial)
    for table, look in (
        (trial.marker_errors, _markers),
        (trial.sensor_errors, _sensors),
        (trial.tracking_errors, tracking_findings if model is not None else None),
        (trial.moments, partial(checks_of_moments, residuals=of_moments) if model is not None else None),
        (trial.activations, _activations),
        (
            trial.forces,
            partial(actuators, residuals=of_actuators, of_moments=of_moments) if model is not None else None,
        ),
        (trial.muscles.get("NormalizedFiberLength"), _fibers),
        (next(iter(trial.muscles.values()), None), _penalties),
    ):
        if table is not None and look is not None and len(table):
            checks += _about(table, look(table, trial=trial), trial)
    checks += _reactions(trial.reactions, model)
    checks += _of_unsolved(checks_of_scaling(trial), trial)
    # what tables tell of the same comes first: it is about what is shown
    checks += [check for check in _findings(trial) if check.title not in _FROM_TABLES & {c.title for c in checks}]
    if trial.more:
        many = "s are" if trial.more[1:] else " is"
        text = f"{len(trial.more)} more of the same kind{many} not shown: {_some(trial.more)}"
        checks.append(
            Finding(text, Severity.DOUBTFUL, "Several trials", "Keep one trial a folder, and make a page of each")
        )
    if trial.older:
        text = f"{len(trial.older)} older tables of the same kinds are not shown: {_some(trial.older)}"
        checks.append(Finding(text, Severity.DOUBTFUL, "Several results", "Keep one analysis of a trial a folder"))
    if trial.unread:
        results = {Path(name).name for record in trial.records for name in record.get("results", {})}
        lost = any(text.partition(":")[0] in results for text in trial.unread)
        text = f"{len(trial.unread)} could not be read: {'; '.join(trial.unread[:3])}"
        checks.append(Finding(text, Severity.WRONG if lost else Severity.DOUBTFUL, "Files"))
    return checks


def _about(table: Table, checks: list[Finding], trial: Trial) -> list[Finding]:
    """Checks of a table. None of them is good where numbers of it are not finite, or its step left frames unsolved."""
    checks = [check._replace(source=table.source) for check in checks]
    if np.isfinite(table.values).all():
        return _of_unsolved(checks, trial)
    return [_not_good(check, "some of its numbers are not finite") for check in checks]


def _of_unsolved(checks: list[Finding], trial: Trial) -> list[Finding]:
    unsolved = {
        str(Path(name).resolve())
        for record in trial.records
        if record.get("troubles")
        for name in record.get("results", {})
    }
    return [
        _not_good(check, "its step left frames or parts unsolved")
        if check.source and str(Path(check.source).resolve()) in unsolved
        else check
        for check in checks
    ]


def _not_good(check: Finding, why: str) -> Finding:
    if check.severity is not Severity.GOOD:
        return check
    return check._replace(severity=Severity.UNJUDGED, text=f"{check.text}; not judged as good, since {why}")


def _troubles(trial: Trial) -> list[Finding]:
    told = [str(text) for record in trial.records for text in record.get("troubles", ())]
    if told:
        return [Finding(text, Severity.WRONG, UNSOLVED, "Look at this before the numbers are used") for text in told]
    solved = [record for record in trial.records if _solves(record)]
    checks = []
    if solved:
        still = all(record.get("tool") == "ScaleTool" for record in solved)
        what = "the static pose is solved" if still else "all frames solved"
        checks.append(Finding(f"{what} ({_tools(solved)})", Severity.GOOD, "Runs"))
    rest = [record for record in trial.records if not _solves(record)]
    if rest:
        checks.append(Finding(f"done ({_tools(rest)})", title="Runs" if not solved else "Other runs"))
    return checks


def _solves(record: Mapping[str, Any]) -> bool:
    """Whether a run had anything to solve, frame by frame, that could have failed."""
    if record.get("tool") == "ScaleTool":
        return Scaling(record).markers != {}
    return record.get("tool") in _SOLVERS or "StaticOptimization" in str(record.get("analyses", ""))


def _tools(records: Sequence[Mapping[str, Any]]) -> str:
    """Tools, and of the analyze tool its analyses."""
    names = [
        str(name)
        for record in records
        for name in (record.get("analyses") if isinstance(record.get("analyses"), list) else None)
        or [record.get("tool", "?")]
    ]
    return ", ".join(dict.fromkeys(names))


def _findings(trial: Trial) -> list[Finding]:
    """What the steps had to say of their input: units, axes, loads, and bodies that they act on."""
    told: dict[tuple[str, str], Finding] = {}  # two steps with one input say the same
    for record in trial.records:
        source = next(iter(record.get("results", {})), "")
        for one in record.get("findings", ()):
            title, text, severity = (str(one.get(key, "")) for key in ("title", "text", "severity"))
            if severity in Severity.__members__:
                told.setdefault((title, text), Finding(text, Severity[severity], title, source=source))
    return list(told.values())


def _numbers(trial: Trial) -> list[Finding]:
    """Tables without a frame, and numbers that are not finite: what came of them means nothing."""
    checks = []
    for table in trial.tables:
        name = Path(table.source).name or table.name
        # a sensor that was not seen has no error
        odd = np.isinf(table.values) if table is trial.sensor_errors else ~np.isfinite(table.values)
        if not len(table):
            text, advice = f"{name} holds no frame", "Look at its step: nothing was computed"
        elif odd.any():
            columns = [table.names[k] for k in np.flatnonzero(odd.any(axis=0))]
            first = int(odd.any(axis=1).argmax())
            text = (
                f"{name}: {int(odd.sum())} numbers are not finite, in {int(odd.any(axis=1).sum())} of {len(table)} "
                f"frames, the first at {table.time[first]:.4g} s: {_some(columns)}"
            )
            advice = "Look at what went into its step at that time: a marker far off, a gap, a column that is empty"
        else:
            continue
        checks.append(Finding(text, Severity.WRONG, "Numbers that mean nothing", advice, table.source))
    return checks


def _angles(angles: Table, model: Model) -> list[Finding]:
    """Angles that jump from one frame to the next, or are far outside the ranges of the model."""
    try:
        q = angles.coordinates(model, missing="default")
    except MusculoError:
        return []  # a motion of another model: a page without the card is better than none
    leaping, outside = leaping_angles(model, angles.time, q), angles_far_outside(model, q)
    checks = []
    if leaping:
        advice = "Look for swapped labels, outliers and gaps of markers at that time"
        text = f"angles jump from one frame to the next: {in_words(leaping, angles.time)}"
        checks.append(Finding(text, Severity.WRONG, "Angles that jump", advice))
    if outside:
        advice = "Look at markers and labels; is a range of the model too narrow, or in the wrong unit?"
        severity = Severity.WRONG if outside[0].most > HALF_TURN else Severity.DOUBTFUL
        text = f"far outside the model's range: {in_words(outside, angles.time)}"
        checks.append(Finding(text, severity, OUT_OF_RANGE, advice))
    return checks


def _feet(angles: Table, model: Model, trial: Trial) -> list[Finding]:
    """External loads that seem to act on the wrong foot."""
    if trial.loads is None:
        return []
    time = trial.loads.table.time
    rows = (angles.time >= time[0]) & (angles.time <= time[-1]) if len(time) > 1 else np.ones(len(angles), dtype=bool)
    try:
        q = angles.coordinates(model, missing="default")[rows]
        acting = [ExternalLoad(*series) for series in trial.loads.at(angles.time[rows])]
        misplaced = misplaced_loads(model, q, acting)
    except MusculoError:
        return []
    advice = "Look at applied_to_body of the external loads"
    # a step that told of it did so of its own frames, and one number is enough
    told = [check._replace(advice=advice) for check in _findings(trial) if check.title == FEET]
    return told or [Finding(misplaced_in_words(one), Severity.WRONG, FEET, advice) for one in misplaced]


def _markers(errors: Table, trial: Trial) -> list[Finding]:
    if not {"marker_error_RMS", "marker_error_max"} <= set(errors.names):
        return []
    rms, largest = errors.column("marker_error_RMS"), errors.column("marker_error_max")
    worst_rms, worst = int(rms.argmax()), int(largest.argmax())
    advice = "Look for swapped or misplaced markers, a wrong unit, a badly scaled segment, or a bad static pose"
    checks = []
    marker = _worst_marker(float(errors.time[worst]), float(largest[worst]), trial)
    for title, value, at, limit, which in (
        ("Marker errors, root mean square", rms[worst_rms], errors.time[worst_rms], MARKER_RMS, ""),
        ("Marker errors, largest", largest[worst], errors.time[worst], MARKER_LARGEST, marker and f"{marker}, "),
    ):
        severity = graded(float(value), limit)
        text = f"{1e3 * value:.1f} mm at most, {which}at {at:.4g} s (limit {1e3 * limit:.0f} mm)"
        checks.append(Finding(text, severity, title, "" if severity is Severity.GOOD else advice))
    return checks


def _sensors(errors: Table, trial: Trial) -> list[Finding]:
    """How far sensors are from their frames; a fact, since the field agrees on no limit."""
    degrees = np.degrees(errors.values)
    seen = np.isfinite(degrees)
    if not seen.any():
        return []
    frame, k = np.unravel_index(int(np.where(seen, degrees, -1.0).argmax()), degrees.shape)
    text = (
        f"root mean square {np.sqrt(np.mean(degrees[seen] ** 2)):.3g}°, largest {degrees[frame, k]:.3g}° "
        f"({errors.names[int(k)]} at {errors.time[frame]:.4g} s); no limit is agreed on, so it is not judged"
    )
    return [Finding(text, title="Sensor errors")]


def _worst_marker(time: float, error: float, trial: Trial) -> str:
    """The marker that is as far off as the table of errors says; empty where model, motion and recording are not known.

    The table has one largest error a frame and not whose it is. Markers that inverse kinematics did not follow may be
    further off, so the marker is the one whose distance is nearest to the error, within a tenth of it.
    """
    model, angles, markers = trial.model, trial.angles, trial.markers
    if model is None or angles is None or markers is None or not len(markers.time):
        return ""
    markers = markers.named_like(model.marker_names)
    names = [name for name in markers.names if name in model.marker_names]
    frame, row = int(np.abs(angles.time - time).argmin()), int(np.abs(markers.time - time).argmin())
    near = 1e-3  # [s]: files round their times
    if not names or abs(angles.time[frame] - time) > near or abs(markers.time[row] - time) > near:
        return ""
    try:
        q = angles.coordinates(model, missing="default")[frame : frame + 1]
        placed = kinematics(model, q).markers(names)[0]
    except MusculoError:
        return ""  # a card without the name is better than no page
    measured = np.stack([markers.marker(name)[row] for name in names])
    off = np.abs(np.linalg.norm(placed - measured, axis=-1) - error)
    if not np.isfinite(off).any():
        return ""
    k = int(np.nanargmin(off))
    return names[k] if off[k] <= 0.1 * error else ""


def _muscles(table: Table, model: Model | None) -> list[int]:
    known = set(model.muscle_names) if model is not None else set(table.names)
    return [k for k, name in enumerate(table.names) if name in known]


def _activations(activations: Table, trial: Trial) -> list[Finding]:
    columns = _muscles(activations, trial.model)
    if not columns:
        return []
    full = (activations.values[:, columns] >= FULL).mean(axis=0)
    busy = [activations.names[columns[k]] for k in np.argsort(-full) if full[k] > 0.0]
    if not busy:
        peak = float(activations.values[:, columns].max())
        return [Finding(f"none; the largest activation is {peak:.2f}", Severity.GOOD, "Muscles at their limit")]
    severity = Severity.DOUBTFUL if float(full.max()) <= _OFTEN else Severity.WRONG
    text = f"{len(busy)} of {len(columns)} are fully active at some time: {_some(busy)}"
    advice = "Check strength, the filter of the motion, and loads; a reserve may be too weak"
    return [Finding(text, severity, "Muscles at their limit", advice)]


def _fibers(lengths: Table, trial: Trial) -> list[Finding]:
    """Fibers that are so short or so long that activation gives nothing; half or twice of that no fiber has."""
    if not lengths.names:
        return []
    least, most = lengths.values.min(axis=0), lengths.values.max(axis=0)
    odd = [name for name, a, b in zip(lengths.names, least, most, strict=True) if a < FIBERS[0] or b > FIBERS[1]]
    text = f"{least.min():.2f} to {most.max():.2f} of the optimum (limits {FIBERS[0]:g} and {FIBERS[1]:g})"
    if not odd:
        return [Finding(text, Severity.GOOD, "Fiber lengths")]
    advice = "Check the motion, and the scaling of fibers and tendons; fibers of such lengths give no active force"
    severity = Severity.WRONG if least.min() < FIBERS[0] / 2.0 or most.max() > 2.0 * FIBERS[1] else Severity.DOUBTFUL
    return [Finding(f"{text}: {_some(odd)}", severity, "Fiber lengths", advice)]


def _penalties(table: Table, trial: Trial) -> list[Finding]:
    """Lengths that are longer than their paths, which change moment arms."""
    penalties = {name: float(size) for record in trial.records for name, size in record.get("penalties", {}).items()}
    if not penalties:
        return []
    order = sorted(penalties, key=lambda name: -penalties[name])
    told = [f"{name} {1e3 * penalties[name]:.3g} mm" for name in order]
    text = f"{len(order)} muscle{'s' if order[1:] else ''}: {_some(told)}"
    advice = (
        "Paths break a rule of the model there, such as the side of a quadrant (see the notes); moment arms include "
        "the slope of the penalty and may be far too large"
    )
    return [Finding(text, Severity.DOUBTFUL, "Lengths with a penalty", advice)]


def _reactions(tables: Sequence[Table], model: Model | None) -> list[Finding]:
    peaks: list[tuple[float, str]] = []
    for table in tables:
        for name in table.names:
            if name.endswith("_fx"):
                parts = np.stack([table.column(f"{name[:-1]}{axis}") for axis in "xyz"])
                force = np.linalg.norm(parts, axis=0)
                if np.isfinite(force).any():
                    peaks.append((float(force[np.isfinite(force)].max()), name.partition("_on_")[0]))
    if not peaks:
        return []
    peak, joint = max(peaks)
    whole = model is not None and bool(free_base(model))  # a limb has no weight to compare with
    weight = total_mass(model) * 9.80665 if model is not None and whole else 0.0
    times = f", {peak / weight:.1f} times the body's weight" if weight > 0.0 else ""
    return [Finding(f"{joint}: {peak:.4g} N{times}", title="Largest joint load")]


def _some(names: Sequence[str], most: int = 4) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
