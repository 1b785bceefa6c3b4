"""Was it good? Marker errors, residuals, reserves and unsolved frames against what the field accepts.

Limits: OpenSim's "Getting Started with Inverse Kinematics" for markers (root mean square below 2 cm, largest below
4 cm); `musculo.report.actuator_table` has those of residuals and reserves, `musculo.report.scaling_section` those of
scaling.
Twice a limit is bad; between is worth a look. Only what was run is judged, and nothing is good where numbers are not
finite or the step left frames unsolved. What checks of the input found while a step ran is judged by how much it
matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from musculo.diagnostics.finding import Severity
from musculo.diagnostics.implausible_angles import OUT_OF_RANGE, angles_far_outside, in_words, leaping_angles
from musculo.diagnostics.loads import FEET, free_base, misplaced_in_words, misplaced_loads
from musculo.dynamics.energy import total_mass
from musculo.dynamics.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.errors import MusculoError
from musculo.model.model import Model
from musculo.report.actuator_table import actuators, checks_of_moments
from musculo.report.contents import Check, Light
from musculo.report.grades import BY_SEVERITY, graded
from musculo.report.results import Results
from musculo.report.scaling_section import Scaling, checks_of_scaling
from musculo.results.table import Table

MARKER_RMS, MARKER_LARGEST = 0.02, 0.04  # [m]
UNSOLVED = "Not everything was solved"
FULL = 0.99  # an activation that has nothing left
FIBERS = (0.44, 1.81)  # of the optimum: the ends of Millard's default curve of active force
HALF_TURN = np.pi  # an angle so far outside its range is of no joint [rad]
_SOLVERS = ("InverseKinematicsTool", "IMUInverseKinematicsTool")
_FROM_TABLES = {OUT_OF_RANGE, FEET}  # findings that are judged from tables, where they are known
_OFTEN = 0.1  # the part of the frames in which a muscle may be at its limit before it is bad


def checks_of(found: Results) -> tuple[Check, ...]:
    """The lines of the summary."""
    checks = [*_troubles(found), *_numbers(found)]
    model = found.model
    if found.angles is not None and model is not None and len(found.angles):
        checks += _about(found.angles, _angles(found.angles, model), found)
        checks += _feet(found.angles, model, found)
    for table, judge in (
        (found.marker_errors, _markers),
        (found.sensor_errors, _sensors),
        (found.moments, checks_of_moments if model is not None else None),
        (found.activations, _activations),
        (found.forces, actuators if model is not None else None),
        (found.muscles.get("NormalizedFiberLength"), _fibers),
        (next(iter(found.muscles.values()), None), _prices),
    ):
        if table is not None and judge is not None and len(table):
            checks += _about(table, judge(table, found), found)
    checks += _reactions(found.reactions, model)
    checks += _of_unsolved(checks_of_scaling(found), found)
    # what tables tell of the same comes first: it is about what is shown
    checks += [check for check in _findings(found) if check.title not in _FROM_TABLES & {c.title for c in checks}]
    if found.more:
        many = "s are" if found.more[1:] else " is"
        text = f"{len(found.more)} more of the same kind{many} not shown: {_some(found.more)}"
        checks.append(Check("Several trials", text, Light.LOOK, "Keep one trial a folder, and make a page of each"))
    if found.older:
        text = f"{len(found.older)} older tables of the same kinds are not shown: {_some(found.older)}"
        checks.append(Check("Several results", text, Light.LOOK, "Keep one analysis of a trial a folder"))
    if found.unread:
        results = {Path(name).name for record in found.records for name in record.get("results", {})}
        lost = any(text.partition(":")[0] in results for text in found.unread)
        text = f"{len(found.unread)} could not be read: {'; '.join(found.unread[:3])}"
        checks.append(Check("Files", text, Light.BAD if lost else Light.LOOK))
    return tuple(checks)


def _about(table: Table, checks: list[Check], found: Results) -> list[Check]:
    """Checks of a table. None of them is good where numbers of it are not finite, or its step left frames unsolved."""
    checks = [replace(check, source=table.source) for check in checks]
    if np.isfinite(table.values).all():
        return _of_unsolved(checks, found)
    return [_not_good(check, "some of its numbers are not finite") for check in checks]


def _of_unsolved(checks: list[Check], found: Results) -> list[Check]:
    unsolved = {
        str(Path(name).resolve())
        for record in found.records
        if record.get("troubles")
        for name in record.get("results", {})
    }
    return [
        _not_good(check, "its step left frames or parts unsolved")
        if check.source and str(Path(check.source).resolve()) in unsolved
        else check
        for check in checks
    ]


def _not_good(check: Check, why: str) -> Check:
    if check.light is not Light.GOOD:
        return check
    return replace(check, light=Light.UNJUDGED, found=f"{check.found}; not judged as good, since {why}")


def _troubles(found: Results) -> list[Check]:
    told = [str(text) for record in found.records for text in record.get("troubles", ())]
    if told:
        return [Check(UNSOLVED, text, Light.BAD, "Look at this before the numbers are used") for text in told]
    solved = [record for record in found.records if _solves(record)]
    checks = []
    if solved:
        still = all(record.get("tool") == "ScaleTool" for record in solved)
        what = "the static pose is solved" if still else "all frames solved"
        checks.append(Check("Runs", f"{what} ({_tools(solved)})", Light.GOOD))
    rest = [record for record in found.records if not _solves(record)]
    if rest:
        checks.append(Check("Runs" if not solved else "Other runs", f"done ({_tools(rest)})"))
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


def _findings(found: Results) -> list[Check]:
    """What the steps had to say of their input: units, axes, loads, and bodies that they act on."""
    told: dict[tuple[str, str], Check] = {}  # two steps with one input say the same
    for record in found.records:
        source = next(iter(record.get("results", {})), "")
        for one in record.get("findings", ()):
            title, text, severity = (str(one.get(key, "")) for key in ("title", "text", "severity"))
            if severity in Severity.__members__:
                light = BY_SEVERITY[Severity[severity]]
                told.setdefault((title, text), Check(title, text, light, source=source))
    return list(told.values())


def _numbers(found: Results) -> list[Check]:
    """Tables without a frame, and numbers that are not finite: what came of them means nothing."""
    checks = []
    for table in found.tables:
        name = Path(table.source).name or table.name
        # a sensor that was not seen has no error
        odd = np.isinf(table.values) if table is found.sensor_errors else ~np.isfinite(table.values)
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
        checks.append(Check("Numbers that mean nothing", text, Light.BAD, advice, table.source))
    return checks


def _angles(angles: Table, model: Model) -> list[Check]:
    """Angles that leap from one frame to the next, or are far outside the ranges of the model."""
    try:
        q = angles.coordinates(model, missing="default")
    except MusculoError:
        return []  # a motion of another model: a page without the card is better than none
    leaping, outside = leaping_angles(model, angles.time, q), angles_far_outside(model, q)
    checks = []
    if leaping:
        advice = "Look for swapped labels, outliers and gaps of markers at that time"
        text = f"angles leap from one frame to the next: {in_words(leaping, angles.time)}"
        checks.append(Check("Angles that leap", text, Light.BAD, advice))
    if outside:
        advice = "Look at markers and labels; is a range of the model too narrow, or in the wrong unit?"
        light = Light.BAD if outside[0].most > HALF_TURN else Light.LOOK
        text = f"far outside the model's range: {in_words(outside, angles.time)}"
        checks.append(Check(OUT_OF_RANGE, text, light, advice))
    return checks


def _feet(angles: Table, model: Model, found: Results) -> list[Check]:
    """External loads that seem to act on the wrong foot."""
    if found.loads is None:
        return []
    time = found.loads.table.time
    rows = (angles.time >= time[0]) & (angles.time <= time[-1]) if len(time) > 1 else np.ones(len(angles), dtype=bool)
    try:
        q = angles.coordinates(model, missing="default")[rows]
        acting = [ExternalLoad(*series) for series in found.loads.at(angles.time[rows])]
        misplaced = misplaced_loads(model, q, acting)
    except MusculoError:
        return []
    advice = "Look at applied_to_body of the external loads"
    # a step that told of it did so of its own frames, and one number is enough
    told = [replace(check, advice=advice) for check in _findings(found) if check.title == FEET]
    return told or [Check(FEET, misplaced_in_words(one), Light.BAD, advice) for one in misplaced]


def _markers(errors: Table, found: Results) -> list[Check]:
    if not {"marker_error_RMS", "marker_error_max"} <= set(errors.names):
        return []
    rms, largest = errors.column("marker_error_RMS"), errors.column("marker_error_max")
    worst_rms, worst = int(rms.argmax()), int(largest.argmax())
    advice = "Look for swapped or misplaced markers, a wrong unit, a badly scaled segment, or a bad static pose"
    checks = []
    marker = _worst_marker(float(errors.time[worst]), float(largest[worst]), found)
    for title, value, at, limit, which in (
        ("Marker errors, root mean square", rms[worst_rms], errors.time[worst_rms], MARKER_RMS, ""),
        ("Marker errors, largest", largest[worst], errors.time[worst], MARKER_LARGEST, marker and f"{marker}, "),
    ):
        light = graded(float(value), limit)
        text = f"{1e3 * value:.1f} mm at most, {which}at {at:.4g} s (limit {1e3 * limit:.0f} mm)"
        checks.append(Check(title, text, light, "" if light is Light.GOOD else advice))
    return checks


def _sensors(errors: Table, found: Results) -> list[Check]:
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
    return [Check("Sensor errors", text)]


def _worst_marker(time: float, error: float, found: Results) -> str:
    """The marker that is as far off as the table of errors says; empty where model, motion and recording are not known.

    The table has one largest error a frame and not whose it is. Markers that inverse kinematics did not follow may be
    further off, so the marker is the one whose distance is nearest to the error, within a tenth of it.
    """
    model, angles, markers = found.model, found.angles, found.markers
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


def _activations(activations: Table, found: Results) -> list[Check]:
    columns = _muscles(activations, found.model)
    if not columns:
        return []
    full = (activations.values[:, columns] >= FULL).mean(axis=0)
    busy = [activations.names[columns[k]] for k in np.argsort(-full) if full[k] > 0.0]
    if not busy:
        peak = float(activations.values[:, columns].max())
        return [Check("Muscles at their limit", f"none; the largest activation is {peak:.2f}", Light.GOOD)]
    light = Light.LOOK if float(full.max()) <= _OFTEN else Light.BAD
    text = f"{len(busy)} of {len(columns)} are fully active at some time: {_some(busy)}"
    advice = "Check strength, the filter of the motion, and loads; a reserve may be too weak"
    return [Check("Muscles at their limit", text, light, advice)]


def _fibers(lengths: Table, found: Results) -> list[Check]:
    """Fibres that are so short or so long that activation gives nothing; half or twice of that no fibre has."""
    if not lengths.names:
        return []
    least, most = lengths.values.min(axis=0), lengths.values.max(axis=0)
    odd = [name for name, a, b in zip(lengths.names, least, most, strict=True) if a < FIBERS[0] or b > FIBERS[1]]
    text = f"{least.min():.2f} to {most.max():.2f} of the optimum (limits {FIBERS[0]:g} and {FIBERS[1]:g})"
    if not odd:
        return [Check("Fibre lengths", text, Light.GOOD)]
    advice = "Check the motion, and the scaling of fibres and tendons; fibres of such lengths give no active force"
    light = Light.BAD if least.min() < FIBERS[0] / 2.0 or most.max() > 2.0 * FIBERS[1] else Light.LOOK
    return [Check("Fibre lengths", f"{text}: {_some(odd)}", light, advice)]


def _prices(table: Table, found: Results) -> list[Check]:
    """Lengths that are longer than their paths, which change moment arms."""
    prices = {name: float(price) for record in found.records for name, price in record.get("prices", {}).items()}
    if not prices:
        return []
    order = sorted(prices, key=lambda name: -prices[name])
    told = [f"{name} {1e3 * prices[name]:.3g} mm" for name in order]
    text = f"{len(order)} muscle{'s' if order[1:] else ''}: {_some(told)}"
    advice = (
        "Paths break a rule of the model there, such as the side of a quadrant (see the notes); moment arms include "
        "the slope of the price and may be far too large"
    )
    return [Check("Lengths with a price", text, Light.LOOK, advice)]


def _reactions(tables: Sequence[Table], model: Model | None) -> list[Check]:
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
    return [Check("Largest joint load", f"{joint}: {peak:.4g} N{times}")]


def _some(names: Sequence[str], most: int = 4) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
