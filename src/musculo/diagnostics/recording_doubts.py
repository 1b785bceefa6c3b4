"""What in a recording is unlikely, and where it may come from: units, holes in its times, markers without a partner.

Nothing is changed by it: a sentence names what was found, and what to look at.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity, listed_names
from musculo.model.model import Model
from musculo.results.angle_columns import coordinate_units, rotational_coordinates, small_for_degrees
from musculo.results.markers import Markers
from musculo.results.strangers import IGNORED, NO_COORDINATES, strange_coordinates
from musculo.results.table import Table
from musculo.signals.named_arrays import HOLE, holes

FAR = 100.0
"""Nobody is recorded so far from the origin of a laboratory [m]; a height in millimeters is beyond it."""
LONG_STEP = 2.5
"""A step of so many usual ones is a hole that splines notice: two frames at least are missing."""
_UNITS = "Units of the motion"
_SAME_TIME = 1e-6  # [s]
# Nobody records so few frames [s], of at least so many: 250 a second, counted in milliseconds, are 4 apart.
_SLOW, _SERIES = 4.0, 10


def motion_findings(table: Table, model: Model, cutoff: float | None, *, opensim: bool = False) -> list[Finding]:
    """Columns of another model, numbers that only another unit explains, and times that a spline passes over.

    With `opensim` the filter is OpenSim's, which ignores holes too.
    """
    far, source = [], table.source or "the table"
    for name, unit in coordinate_units(model).items():
        k = table.find(name) if unit == "m" else None
        largest = 0.0 if k is None else float(np.nan_to_num(np.abs(table.values[:, k])).max(initial=0.0))
        if largest > FAR:
            far.append(f"{name} {largest:.4g} m")
    found = [*angle_unit_findings(table, model), *_stranger_findings(table, model)]
    if far:
        text = f"{source}: {', '.join(far)} from the origin; lengths are in meters: is it in millimeters?"
        found.append(Finding(text, Severity.WRONG, _UNITS))
    over = "splines pass over it, and speeds and accelerations near it are guesses"
    if cutoff is None or cutoff < 0.0:
        return [*found, *hole_findings(table.time, source, LONG_STEP, over)]
    how = f"OpenSim's filter takes splines there; {over}" if opensim else f"each part is filtered by itself, {over}"
    return [*found, *hole_findings(table.time, source, HOLE, how)]


def angle_unit_findings(table: Table, model: Model) -> list[Finding]:
    """Angles that look as if the header said the wrong unit.

    In radians, they go beyond two turns where the coordinate has less than one; in degrees, see `small_for_degrees`.
    """
    turning = rotational_coordinates(model)
    found = [(c, k) for c in model.coordinates if c.name in turning and (k := table.find(c.name)) is not None]
    if not found or not len(table):
        return []
    angles = np.nan_to_num(table.values[:, [k for _, k in found]])
    most, source = np.abs(angles).max(axis=0), table.source or "the table"
    if table.degrees:
        small = small_for_degrees(angles)
        if small is None:
            return []
        text = (
            f"{source}: its angles are read as degrees, but the largest of all is {small:.3g}: are they "
            "radians? Then write inDegrees=no into its header"
        )
        return [Finding(text, Severity.DOUBTFUL, _UNITS)]
    odd = [
        f"{c.name} reaches {value:.4g} rad"
        for (c, _), value in zip(found, most, strict=True)
        if value > 4.0 * np.pi and max(map(abs, c.range)) <= 2.0 * np.pi + 1e-6
    ]
    if not odd:
        return []
    text = (
        f"{source}: its angles are read as radians, but {', '.join(odd)}: are they degrees? "
        "Then write inDegrees=yes into its header"
    )
    return [Finding(text, Severity.WRONG, _UNITS)]


def _stranger_findings(table: Table, model: Model) -> list[Finding]:
    """A motion that is of another model by some of its columns: coordinates without one, and columns without any.

    Where all coordinates have a column, only those of others are told that look like coordinates.
    """
    free = set(model.free_coordinate_names)
    found = {name: table.find(name) for name in model.coordinate_names}
    absent = [name for name, k in found.items() if k is None and name in free]
    speeds = {f"{name}_u" for name in found}
    strangers = [
        name
        for k, name in enumerate(table.names)
        if k not in found.values() and name not in speeds and not name.endswith(NO_COORDINATES)
    ]
    if not absent:
        more = strange_coordinates(table, model)
        text = f"{table.source or 'the table'}: the model has no coordinate for {listed_names(more, 16)}: {IGNORED}"
        return [Finding(text)] if more else []
    if not strangers:
        return []
    text = (
        f"{table.source or 'the table'} may be the motion of another model: it has no column for "
        f"{listed_names(absent)}, and the model has no coordinate for its columns {listed_names(strangers)}, which are "
        "ignored"
    )
    return [Finding(text, Severity.TROUBLE)]


def marker_hole_findings(markers: Markers) -> list[Finding]:
    """Times without a frame in a recording whose frames are taken one by one."""
    then = "nothing is made up there, and what is computed from the motion near it will be a guess"
    return hole_findings(markers.time, markers.source or "the recording", LONG_STEP, then)


def hole_findings(time: FloatArray, source: str, least: float, then: str) -> list[Finding]:
    """Steps of at least so many usual ones, and what becomes of them; and times that are none of seconds."""
    after, step = holes(time, least), np.diff(time)
    usual = float(np.median(step)) if len(step) else 0.0
    if len(time) >= _SERIES and usual >= _SLOW:
        text = f"{source}: frames come every {usual:.3g} s: are times in milliseconds? They must be in seconds"
        return [Finding(text, Severity.WRONG, _UNITS)]
    if not after.size:
        return []
    k = int(after[step[after].argmax()])
    count = "" if after.size == 1 else f"{after.size} holes, the longest "
    text = (
        f"{source}: {count}{step[k]:.3g} s without a frame after {time[k]:g} s, where frames usually come every "
        f"{float(np.median(step)):.3g} s; {then}"
    )
    return [Finding(text)]


def partner_findings(
    model: Model, markers: Markers, followed: Collection[str], *, lost: bool = True, strangers: bool = True
) -> list[Finding]:
    """Markers that only the model (`lost`) or only the recording (`strangers`) has, and those never visible."""
    absent = [name for name in model.marker_names if name not in markers.names] if lost else []
    extra = [name for name in markers.names if name not in model.marker_names] if strangers else []
    never = [name for name in followed if np.isnan(markers.marker(name)).all()]
    whats = (
        (absent, "markers of the model that the recording lacks, so not followed"),
        (extra, "recorded markers that the model lacks, so not followed"),
        (never, "markers that are not visible in any frame in use"),
    )
    return [Finding(f"{what} ({len(names)}): {listed_names(names)}") for names, what in whats if names]


def padding_findings(recording: FloatArray, time: FloatArray) -> list[Finding]:
    """Rows beyond the times (frames,) of a recording, which OpenSim's filter adds."""
    outside = int(((time < recording[0] - _SAME_TIME) | (time > recording[-1] + _SAME_TIME)).sum())
    if not outside:
        return []
    return [Finding(f"{outside} of {len(time)} rows lie outside the recording, in what OpenSim's filter reflects")]
