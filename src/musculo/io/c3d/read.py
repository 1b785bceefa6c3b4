"""`read_c3d`: a recording in ground with y up, in SI units."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.io.axes import AXES, check_axis, to_ground
from musculo.io.c3d.file import C3DFile, read_file
from musculo.io.c3d.plates import read_plates
from musculo.io.text import PathLike
from musculo.io.trc import METRES
from musculo.results.markers import Markers
from musculo.results.recording import Event, Recording
from musculo.results.table import Table

FloatArray = NDArray[np.float64]


def read_c3d(path: PathLike, up: str | None = None, forward: str | None = None) -> Recording:
    """Read a C3D file; positions and forces are turned so that y is up and x is forward, as in OpenSim's models.

    Args:
        path: the file.
        up: the laboratory's upward axis: "x", "y" or "z", with a minus sign where it points down. By default what the
            file says (POINT:Y_SCREEN), else "z".
        forward: the laboratory's axis that becomes x. By default x, or y where x is up.

    Returns:
        markers [m] with NaN where a point was not seen; analog channels in their own units; force plates of types 1 to
        4 as forces on the subject [N], moments [N m] and centres of pressure [m]; events. Other plates, and what else
        was odd, are named in `notes`.
    """
    file = read_file(path)
    notes = list(file.notes)
    R = _rotation(file, up, forward, notes)
    length = _length(file, notes)
    frames, points = file.seen.shape
    names = _names(file.texts("POINT", "LABELS"), points, "marker", notes)
    position = np.where(file.seen[:, :, None], file.points, np.nan) * length
    start = (file.first_frame - 1) / file.point_rate
    time = start + np.arange(frames) / file.point_rate
    # Products with a signed permutation are exact.
    markers = Markers(time, names, position @ R.T, file.point_rate, tuple(notes), None, file.where)
    notes += markers.report()
    analog_time = start + np.arange(len(file.analog)) / file.analog_rate
    analog = None
    if file.analog.shape[1]:
        channels = _names(file.texts("ANALOG", "LABELS"), file.analog.shape[1], "channel", notes)
        units = tuple((file.texts("ANALOG", "UNITS") + [""] * len(channels))[: len(channels)])
        analog = Table(analog_time, channels, file.analog, units=units, name="analog", source=file.where)
    plates = read_plates(file, analog_time, R, length, notes)
    return Recording(markers, analog, plates, _events(file), tuple(notes), file.where)


def _rotation(file: C3DFile, up: str | None, forward: str | None, notes: list[str]) -> FloatArray:
    """(3, 3) laboratory to ground, by what the file says where nothing is stated."""
    check_axis("forward", forward)
    if up is None:
        screen = [text.lower() for text in file.texts("POINT", "Y_SCREEN")[:1]]
        if screen and screen[0] in AXES:
            up = screen[0]
        else:
            up = "z"
            notes.append("the file does not say which axis is up; z was taken (up= or --up says otherwise)")
    return to_ground(up, forward)


def _length(file: C3DFile, notes: list[str]) -> float:
    units = file.texts("POINT", "UNITS")
    unit = units[0].lower() if units else ""
    if unit in METRES:
        return METRES[unit]
    notes.append(f"the unit of points is {unit!r:.20}; millimetres were taken")
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
