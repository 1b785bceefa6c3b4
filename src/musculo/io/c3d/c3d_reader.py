"""`read_c3d`: a recording in ground with y up, in SI units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from musculo.arrays import FloatArray
from musculo.io.c3d.file import C3DFile, read_file
from musculo.io.c3d.plates import read_plates, say_pull
from musculo.io.c3d.upright import doubt, upward_axis
from musculo.io.file_axes import check_axis, to_ground
from musculo.io.lengths import METRES, unit_note
from musculo.io.text import PathLike
from musculo.results.markers import Markers
from musculo.results.recording import Event, Recording
from musculo.results.segment_poses import SegmentPoses
from musculo.results.table import Table

# Parameters of POINT that list points by what they are, and those that hold their units.
_OUTPUTS = {
    "ANGLES": "ANGLE_UNITS",
    "FORCES": "FORCE_UNITS",
    "MOMENTS": "MOMENT_UNITS",
    "POWERS": "POWER_UNITS",
    "SCALARS": "SCALAR_UNITS",
}


def read_c3d(path: PathLike, up: str | None = None, forward: str | None = None) -> Recording:
    """Read a C3D file; positions and forces are turned so that y is up and x is forward, as in OpenSim's models.

    Args:
        path: the file.
        up: the laboratory's upward axis: "x", "y" or "z", with a minus sign where it points down. By default what the
            file says (POINT:Y_SCREEN), unless its force plates, what they measure and the markers tell otherwise; else
            "z". `recording.up` is the axis that is used, and a note says what decided, if not the file alone.
        forward: the laboratory's axis that becomes x. By default x, or y where x is up.

    Returns:
        markers [m], NaN where a point was not visible; analog channels in their own units; force plates of types 1 to 4
        as forces on the subject [N], moments [N m] and centers of pressure [m]; events; and what the laboratory
        computed and stored as points (angles, moments, ...), in `outputs`; poses of segments that markerless systems
        write, in `segments`. Other plates, and what else was odd, are named in `notes`.
    """
    for what, axis in (("up", up), ("forward", forward)):
        check_axis(what, axis)
    file = read_file(path)
    notes = list(file.notes)
    length = _length(file, notes)
    frames, points = file.seen.shape
    names = _names(file.texts("POINT", "LABELS"), points, "marker", notes)
    values = np.where(file.seen[:, :, None], file.points, np.nan)
    computed = _computed(file, names)
    start = (file.first_frame - 1) / file.point_rate
    time = start + np.arange(frames) / file.point_rate
    outputs = _outputs(time, names, values, computed, file.where, notes)
    kept = [k for k, name in enumerate(names) if name not in computed]
    names, position = tuple(names[k] for k in kept), values[:, kept] * length
    analog_time = start + np.arange(len(file.analog)) / file.analog_rate
    plates = read_plates(file, analog_time, length, notes)
    segments = _segments(file, start, length, notes)
    bodies = (names, position) if segments is None or names else (segments.names, np.asarray(segments.origin))
    if up is None:
        up = upward_axis(file, bodies[1], bodies[0], plates, notes)
    else:
        doubt(up, bodies[1], bodies[0], plates, notes)
    R = to_ground(up, forward)
    segments = segments.rotated(R) if segments is not None else None
    plates = tuple(plate.rotated(R) for plate in plates)
    say_pull(plates, notes)
    # Products with a signed permutation are exact.
    markers = Markers(time, names, position @ R.T, file.point_rate, (), None, file.where)
    notes += (*markers.notes, *markers.report(), *unit_note(markers, "".join(file.texts("POINT", "UNITS")[:1]) or "mm"))
    markers = replace(markers, notes=tuple(notes))
    analog = None
    if file.analog.shape[1]:
        channels = _names(file.texts("ANALOG", "LABELS"), file.analog.shape[1], "channel", notes)
        units = tuple((file.texts("ANALOG", "UNITS") + [""] * len(channels))[: len(channels)])
        analog = Table(analog_time, channels, file.analog, units=units, name="analog", source=file.where)
    axis = up.lower().lstrip("+")
    return Recording(markers, analog, plates, _events(file), tuple(notes), file.where, axis, outputs, segments)


def _segments(file: C3DFile, start: float, length: float, notes: list[str]) -> SegmentPoses | None:
    """Poses of segments in the laboratory; None where there are none."""
    count = file.poses.shape[1]
    if not count:
        return None
    names = _names(file.texts("ROTATION", "LABELS"), count, "segment", notes)
    time = start + np.arange(len(file.poses)) / file.pose_rate
    return SegmentPoses(time, names, file.poses[..., :3, :3], file.poses[..., :3, 3] * length, source=file.where)


def _computed(file: C3DFile, names: Sequence[str]) -> dict[str, str]:
    """Points that are no places, and their units: laboratories write angles, forces, moments and powers as points."""
    found = {}
    for group, unit in _OUTPUTS.items():
        units = file.texts("POINT", unit)
        listed = set(file.texts("POINT", group))
        found.update({name: units[0] if units else "" for name in names if name in listed})
    return found


def _outputs(
    time: FloatArray, names: Sequence[str], values: FloatArray, computed: dict[str, str], where: str, notes: list[str]
) -> Table | None:
    """What is computed as a table in the units of the file, three columns each; None where there is nothing."""
    if not computed:
        return None
    notes.append(
        f"{len(computed)} points are angles, forces, moments or powers that the laboratory computed, and no markers; "
        "they are in recording.outputs"
    )
    columns = [names.index(name) for name in computed]
    labels = tuple(f"{name}_{axis}" for name in computed for axis in "xyz")
    units = tuple(unit for unit in computed.values() for _ in "xyz")
    return Table(time, labels, values[:, columns].reshape(len(time), -1), units=units, name="outputs", source=where)


def _length(file: C3DFile, notes: list[str]) -> float:
    units = file.texts("POINT", "UNITS")
    unit = units[0].lower() if units else ""
    if unit in METRES:
        return METRES[unit]
    notes.append(f"the unit of points is {unit!r:.20}; millimeters were assumed")
    return METRES["mm"]


def _names(labels: list[str], count: int, kind: str, notes: list[str]) -> tuple[str, ...]:
    """One name each: those without a label are numbered, repeated ones as well."""
    result: list[str] = []
    for k in range(count):
        stated = labels[k] if k < len(labels) else ""
        base = stated or f"{kind}_{k + 1}"
        new, number = base, 1
        while new in result:
            number += 1
            new = f"{base}_{number}"
        if stated and new != stated:
            notes.append(f"a second {kind} {stated!r} is called {new!r}")
        result.append(new)
    return tuple(result)


def _events(file: C3DFile) -> tuple[Event, ...]:
    times = file.numbers("EVENT", "TIMES")
    if times is None or times.ndim != 2 or times.shape[0] != 2:
        return ()
    labels, contexts = file.texts("EVENT", "LABELS"), file.texts("EVENT", "CONTEXTS")
    events = []
    for k in range(times.shape[1]):
        minutes, seconds = times[:, k]
        if np.isfinite(minutes + seconds):
            label = labels[k] if k < len(labels) else ""
            events.append(Event(60.0 * minutes + seconds, label, contexts[k] if k < len(contexts) else ""))
    return tuple(sorted(events))
