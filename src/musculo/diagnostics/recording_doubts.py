"""What in a recording is unlikely, and where it may come from: units, holes in its times, lone markers, other axes.

Nothing is changed by it: a sentence names what was found, and what to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity, listed_names
from musculo.dynamics.poses import kinematics
from musculo.io.file_axes import TAKEN_UP, to_ground
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angle_columns import (
    coordinate_units,
    rotational_coordinates,
    sliding_coordinates,
    small_for_degrees,
)
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


# Markers so far off on average have another reason than a bad fit; a mirrored subject may fit better than that [m].
_BAD_FIT, _POOR_FIT = 0.15, 0.05
# The least cosine of a direction that is taken to be along an axis, and of a base that stands.
_ALONG, _STANDS = 0.85, 0.5
_UPS = ("y", "z", "x", "-y", "-z", "-x")
_HEADINGS = (0, 180, 90, -90)  # about the vertical [deg]: of models that cannot turn about it
_MIRROR = np.diag((1.0, 1.0, -1.0))  # left and right of a subject that walks along x

# Fits so many times worse than the best are as good, and those that are a millimeter worse [m].
_NEAR, _CLOSE = 1.2, 1e-3

Turn = tuple[str, int]  # the axis that points up, and a heading
_AS_IT_IS: Turn = ("y", 0)
Fit = Callable[[Markers], tuple[FloatArray, FloatArray]]


def axis_findings(
    model: Model, markers: Markers, q: FloatArray, distance: FloatArray, fit: Fit, threads: int | None = None
) -> list[Finding]:
    """Whether another axis than y points up in the recording, or the subject is turned around or mirrored.

    Where markers fit badly one frame may fit far better when it is turned; only turns with which the base stands as in
    the default pose count. Where a base that turns freely lets markers fit all the same, the base lies on its side.

    Args:
        model: the model.
        markers: the recording.
        q: (frames, n) the poses that were found [rad, m].
        distance: (frames, followed) of the markers that were followed [m]; NaN where one was not visible.
        fit: poses and distances of another recording.
        threads: at most so many.
    """
    source = markers.source or "the recording"
    mean = _mean(distance)
    frame = int(np.isfinite(distance).sum(axis=1).argmax())
    as_is = _mean(distance[frame : frame + 1])
    one = markers.between(markers.time[frame], markers.time[frame])
    asked = any(TAKEN_UP in note for note in markers.notes)
    where = f"{source}: at {markers.time[frame]:g} s the markers fit with"
    if mean >= _POOR_FIT and as_is >= _POOR_FIT:
        mirrored = min(_mean(fit(one.rotated(_about_y(heading) @ _MIRROR))[1]) for heading in (0, 180))
        turn, turned = _turned(model, one, fit, threads) if as_is >= _BAD_FIT else (_AS_IT_IS, as_is)
        enough = min(0.5 * as_is, _BAD_FIT)  # far better, and not merely nearer by chance
        means = f", and with {1e3 * as_is:.3g} mm as the file has them"
        if mirrored < min(0.5 * turned, enough):
            text = (
                f"{where} {1e3 * mirrored:.3g} mm where they are mirrored{means}: are labels of left and right "
                "exchanged, or is the sign of one axis wrong?"
            )
            return [Finding(text, Severity.DOUBTFUL)]
        if turn != _AS_IT_IS and turned < enough:
            how, advice = _in_words(*turn, asked)
            return [Finding(f"{where} {1e3 * turned:.3g} mm where {how}{means}; {advice}", Severity.DOUBTFUL)]
    return _lying(model, q, source, asked, threads) if mean < _BAD_FIT else []


def _turned(model: Model, one: Markers, fit: Fit, threads: int | None) -> tuple[Turn, float]:
    """The turn with which one frame fits best while the base stands, and how well."""
    fits: dict[Turn, float] = {}
    for up in _UPS:
        for heading in _HEADINGS:
            q, distance = fit(one.rotated(_about_y(heading) @ to_ground(up)))
            upward = _upward(model, q, threads)
            if upward is None or upward[1] > _STANDS:
                fits[up, heading] = _mean(distance)
    if not fits:
        return _AS_IT_IS, np.inf
    good = _NEAR * min(fits.values()) + _CLOSE
    # most models turn about the vertical by themselves: without a heading is as good
    best = next(turn for heading in _HEADINGS for turn in fits if turn[1] == heading and fits[turn] <= good)
    return best, fits[best]


def _advice(up: str, asked: bool) -> str:
    """How to turn markers; where the recording was turned already, that is in doubt."""
    if asked:
        return "the axis that was assumed to point up may be the wrong one (--up in the shell)"
    return f"OpenSim takes y to point up: turn the markers (--up {up} in the shell, markers.rotated in Python)"


def _in_words(up: str, heading: int, asked: bool) -> tuple[str, str]:
    """A turn, and how to make it."""
    if not heading:
        return f"{up} is assumed to point up", _advice(up, asked)
    R = (_about_y(heading) @ to_ground(up)).astype(int).tolist()
    how = f"they are turned by {heading} degrees about the vertical"
    if up != "y":
        how = f"{up} is assumed to point up and {how}"
    return how, f"the model does not turn so by itself: turn the recording (markers.rotated({R}) in Python)"


def _about_y(degrees: int) -> FloatArray:
    c, s = {0: (1, 0), 90: (0, 1), 180: (-1, 0), -90: (0, -1)}[degrees]
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]], dtype=float)


def _upward(model: Model, q: FloatArray, threads: int | None) -> FloatArray | None:
    """(3,) where what points up of the base by default points to, in the mean of all frames; None without a base."""
    base = _base(model)
    if base is None or not len(q):
        return None
    R, _ = kinematics(model, q, threads=threads).batch_pose(base)
    still = np.array([[c.default_value for c in model.coordinates]])
    R_default, _ = kinematics(model, still, threads=threads).batch_pose(base)
    upward: FloatArray = (R @ R_default[0].T)[:, :, 1].mean(axis=0)
    return upward


def _base(model: Model) -> str | None:
    """The body that moves freely in ground."""
    return next((j.child.body for j in model.joints if j.parent.body == GROUND and sliding_coordinates(j)), None)


def _lying(model: Model, q: FloatArray, source: str, asked: bool, threads: int | None) -> list[Finding]:
    """A base that moves freely and does not stand as in the default pose, in the mean of all frames."""
    up = _upward(model, q, threads)
    if up is None:
        return []
    axis = int(np.abs(up).argmax())
    if not (abs(up[axis]) > _ALONG and (axis != 1 or up[axis] < 0.0)):
        return []
    name = ("" if up[axis] > 0.0 else "-") + "xyz"[axis]
    text = (
        f"{source}: what points up of {_base(model)!r} by default points along {name} here; if the subject stands, "
        f"the file has {name} up, and {_advice(name, asked)}"
    )
    return [Finding(text, Severity.DOUBTFUL)]


def _mean(distance: FloatArray) -> float:
    """The root mean square of the distances that are known."""
    seen = distance[np.isfinite(distance)]
    return float(np.sqrt(np.mean(seen**2))) if seen.size else 0.0
