"""The bytes of a C3D file: header, parameters, points and analog samples, as the file states them.

Written here instead of taken from ezc3d, which ends the whole process on damaged files (a segmentation fault in 3 of 60
files with a few changed bytes, ezc3d 1.7.2). Every offset and size is checked against the length of the file, so
nothing is read outside of it and no more memory is taken than it has bytes. The tests compare both readers.

Source: the C3D file format, https://www.c3d.org/docs/C3D_User_Guide.pdf.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.errors import InvalidFile
from musculo.io.text import PathLike, checked_path, read_bytes

KIND = "a motion capture file (.c3d)"
BLOCK = 512
_POSE = 17  # floats of a pose: a matrix and a residual
MARK = 0x50  # the second byte of every C3D file
INTEL, DEC, SGI = 84, 85, 86


class Parameter(NamedTuple):
    """A parameter: text as a list of strings, numbers as an array whose first axis is the first dimension."""

    values: Any
    dimensions: tuple[int, ...]


class C3DFile(NamedTuple):
    """A C3D file in its own units."""

    where: str
    parameters: dict[str, dict[str, Parameter]]  # by group and name, both in capitals
    first_frame: int
    point_rate: float
    points: NDArray[np.float64]  # (frames, points, 3)
    seen: NDArray[np.bool_]  # (frames, points)
    analog: NDArray[np.float64]  # (frames * samples, channels), scaled
    analog_rate: float
    notes: tuple[str, ...]
    poses: NDArray[np.float64] = np.zeros((0, 0, 4, 4))  # (frames * poses a frame, segments, 4, 4), NaN where unknown
    pose_rate: float = 0.0

    def numbers(self, group: str, name: str) -> NDArray[np.float64] | None:
        """The numbers of a parameter, or None where it is absent, empty or text."""
        found = self.parameters.get(group, {}).get(name)
        if found is None or isinstance(found.values, list) or not np.size(found.values):
            return None
        return np.asarray(found.values, dtype=float)

    def texts(self, group: str, name: str) -> list[str]:
        """The strings of a parameter; those of its continuations (LABELS2, LABELS3, ...) follow."""
        group_found = self.parameters.get(group, {})
        strings: list[str] = []
        k = 1
        while (found := group_found.get(name if k == 1 else f"{name}{k}")) is not None:
            strings += found.values if isinstance(found.values, list) else []
            k += 1
        return strings


class _Bytes:
    """The content with its byte order; refuses to look outside."""

    def __init__(self, content: bytes, where: str, processor: int) -> None:
        self.content, self.where, self.processor = content, where, processor
        self.order = ">" if processor == SGI else "<"

    def take(self, at: int, size: int, what: str) -> bytes:
        if at < 0 or size < 0 or at + size > len(self.content):
            raise InvalidFile(
                f"{self.where}: byte {at}: {what} needs {size} bytes, the file has {len(self.content)}; "
                "is it cut off or damaged?"
            )
        return self.content[at : at + size]

    def word(self, at: int, what: str, signed: bool = False) -> int:
        return int(struct.unpack(self.order + ("h" if signed else "H"), self.take(at, 2, what))[0])

    def signed_byte(self, at: int, what: str) -> int:
        return int(struct.unpack("b", self.take(at, 1, what))[0])

    def floats(self, at: int, count: int, what: str) -> NDArray[np.float64]:
        raw = self.take(at, 4 * count, what)
        if self.processor == DEC:
            words = np.frombuffer(raw, dtype="<u2").reshape(-1, 2)[:, ::-1].copy()
            # A VAX exponent counts from 128 with the point before the leading one: four times IEEE's value.
            with np.errstate(all="ignore"):
                return words.view("<f4").reshape(-1).astype(float) / 4.0
        with np.errstate(all="ignore"):
            return np.frombuffer(raw, dtype=self.order + "f4").astype(float)

    def integers(self, at: int, count: int, what: str, signed: bool = True) -> NDArray[np.float64]:
        raw = self.take(at, 2 * count, what)
        return np.frombuffer(raw, dtype=self.order + ("i2" if signed else "u2")).astype(float)


def read_file(path: PathLike) -> C3DFile:
    """Read a C3D file as it is."""
    content = read_bytes(path, KIND)
    where = checked_path(path, KIND)
    if len(content) < BLOCK or content[1] != MARK or content[0] < 1:
        raise InvalidFile(f"{where}: does not begin like a C3D file; it should be {KIND}")
    start = (content[0] - 1) * BLOCK
    if start + 4 > len(content):
        raise InvalidFile(f"{where}: its parameters should begin at byte {start}, where the file has ended")
    processor = content[start + 3]
    if processor not in (INTEL, DEC, SGI):
        raise InvalidFile(f"{where}: processor type {processor} is unknown; known: 84 (Intel), 85 (DEC), 86 (SGI)")
    data = _Bytes(content, where, processor)
    parameters = _parameters(data, start + 4)
    return _samples(data, parameters)


# --- parameters -----------------------------------------------------------------------------------------------------
def _parameters(data: _Bytes, at: int) -> dict[str, dict[str, Parameter]]:
    names: dict[int, str] = {}
    found: dict[int, dict[str, Parameter]] = {}
    # Each entry is at least five bytes long, so that the walk ends with the file.
    while at + 2 <= len(data.content):
        length = abs(data.signed_byte(at, "the length of a parameter's name"))
        group = data.signed_byte(at + 1, "the group of a parameter")
        if length == 0 or group == 0:
            break
        name = _text(data.take(at + 2, length, "the name of a parameter")).upper()
        at += 2 + length
        following = data.word(at, f"the offset after parameter {name!r}")
        if group < 0:
            names[-group] = name
        else:
            found.setdefault(group, {})[name] = _parameter(data, at + 2, name)
        if following == 0:
            break
        if following < 2:
            raise InvalidFile(f"{data.where}: byte {at}: parameter {name!r} is followed by offset {following}")
        at += following
    result: dict[str, dict[str, Parameter]] = {}
    for group, members in found.items():
        result.setdefault(names.get(group, f"GROUP_{group}"), {}).update(members)
    return result


def _parameter(data: _Bytes, at: int, name: str) -> Parameter:
    what = f"parameter {name!r}"
    kind = data.signed_byte(at, what)
    count = data.take(at + 1, 1, what)[0]
    if count > 7:
        raise InvalidFile(f"{data.where}: byte {at + 1}: {what} has {count} dimensions; there are at most 7")
    dimensions = tuple(data.take(at + 2, count, what))
    size = math.prod(dimensions)
    at += 2 + count
    if kind == -1:
        return Parameter(_strings(data.take(at, size, what), dimensions), dimensions)
    if kind == 1:
        values = np.frombuffer(data.take(at, size, what), dtype="u1").astype(float)
    elif kind == 2:
        values = data.integers(at, size, what)
    elif kind == 4:
        values = data.floats(at, size, what)
    else:
        raise InvalidFile(f"{data.where}: byte {at}: {what} has type {kind}; known: -1, 1, 2, 4")
    return Parameter(values.reshape(dimensions or (1,), order="F"), dimensions)


def _strings(raw: bytes, dimensions: tuple[int, ...]) -> list[str]:
    width = dimensions[0] if dimensions else 1
    if width == 0 or not raw:
        return []
    return [_text(raw[k : k + width]) for k in range(0, len(raw), width)]


def _text(raw: bytes) -> str:
    try:
        words = raw.decode("utf-8")
    except UnicodeDecodeError:
        words = raw.decode("latin-1")
    return "".join(c if c.isprintable() else " " for c in words).strip()


# --- samples --------------------------------------------------------------------------------------------------------
class _Layout(NamedTuple):
    """What a frame holds: four values a point, then the analog samples, all floats or all 16-bit integers."""

    points: int
    channels: int
    samples: int  # of each channel per frame
    scale: float  # of integer points; negative where everything is floats

    @property
    def as_floats(self) -> bool:
        return self.scale < 0.0

    @property
    def values(self) -> int:
        return 4 * self.points + self.channels * self.samples

    @property
    def size(self) -> int:
        """Bytes of a frame."""
        return self.values * (4 if self.as_floats else 2)


class _Stated:
    """Single numbers of parameters, with the header's in their place where they are missing."""

    def __init__(self, parameters: dict[str, dict[str, Parameter]]) -> None:
        self.parameters = parameters

    def array(self, group: str, name: str) -> NDArray[np.float64]:
        found = self.parameters.get(group, {}).get(name)
        if found is None or isinstance(found.values, list):
            return np.empty(0)
        return np.asarray(found.values, dtype=float).ravel(order="F")

    def number(self, group: str, name: str, otherwise: float) -> float:
        values = self.array(group, name)
        return float(values[0]) if values.size and math.isfinite(values[0]) else otherwise

    def count(self, group: str, name: str, otherwise: int) -> int:
        # Counts above 32767 are stored in signed words.
        return int(self.number(group, name, float(otherwise))) % 65536

    def field(self, name: str) -> int | None:
        """A frame number in two words, the lower first."""
        words = self.array("TRIAL", name)
        if words.size < 2 or not np.isfinite(words[:2]).all():
            return None
        return int(words[0]) % 65536 + 65536 * (int(words[1]) % 65536)


def _samples(data: _Bytes, parameters: dict[str, dict[str, Parameter]]) -> C3DFile:
    stated, notes = _Stated(parameters), []
    points = stated.count("POINT", "USED", data.word(2, "the number of points"))
    if points != data.word(2, "the number of points"):
        notes.append(f"POINT:USED is {points}, the header has {data.word(2, 'points')} points; the parameter was used")
    samples = data.word(18, "the analog samples per frame")
    per_frame = data.word(4, "the analog values per frame")
    channels = stated.count("ANALOG", "USED", per_frame // samples if samples else 0)
    if channels and not samples:
        raise InvalidFile(f"{data.where}: {channels} analog channels without samples per frame; the header is damaged")
    rate = stated.number("POINT", "RATE", float(data.floats(20, 1, "the rate")[0]))
    scale = stated.number("POINT", "SCALE", float(data.floats(12, 1, "the scale")[0]))
    for what, value, good in (("rate", rate, 0.0 < rate < 1e6), ("scale of points", scale, scale != 0.0)):
        if not math.isfinite(value) or not good:
            raise InvalidFile(f"{data.where}: the {what} is {value:g}, which cannot be; the file is damaged")
    layout = _Layout(points, channels, samples, scale)
    first, frames = _frames(data, stated, layout)
    values = _values(data, layout, frames, stated)
    block = values[:, : 4 * points].reshape(frames, points, 4)
    with np.errstate(all="ignore"):
        position = block[:, :, :3] * (1.0 if layout.as_floats else scale)
        # The fourth word is negative where a point was not seen.
        seen = np.isfinite(position).all(axis=2) & (block[:, :, 3] >= 0.0)
    analog = _analog(layout, values[:, 4 * points :].reshape(frames * samples, channels), stated, parameters)
    poses, ratio = _poses(data, stated, frames)
    rates = (rate * max(samples, 1), tuple(notes), poses, rate * ratio)
    return C3DFile(data.where, parameters, first, rate, position, seen, analog, *rates)


def _poses(data: _Bytes, stated: _Stated, frames: int) -> tuple[NDArray[np.float64], int]:
    """(frames * poses a frame, segments, 4, 4) of the ROTATION group, and how many there are a frame of points.

    Each is a matrix of 16 floats, column by column, and a residual that is negative where the pose is not known.
    """
    segments = stated.count("ROTATION", "USED", 0)
    if not segments:
        return np.zeros((0, 0, 4, 4)), 1
    ratio = max(stated.count("ROTATION", "RATIO", 1), 1)
    block = stated.count("ROTATION", "DATA_START", 0)
    if block < 2:
        raise InvalidFile(f"{data.where}: poses of segments begin in block {block}, inside the header")
    count = frames * ratio * segments * _POSE
    # they are floats, whatever the points are
    numbers = data.floats((block - 1) * BLOCK, count, f"the poses of {segments} segments").reshape(-1, segments, _POSE)
    with np.errstate(all="ignore"):
        known = np.isfinite(numbers).all(axis=2) & (numbers[..., 16] >= 0.0)
    poses = np.swapaxes(numbers[..., :16].reshape(-1, segments, 4, 4), 2, 3)
    return np.where(known[..., None, None], poses, np.nan), ratio


def _frames(data: _Bytes, stated: _Stated, layout: _Layout) -> tuple[int, int]:
    """Number of the first frame, and how many there are."""
    first, last = data.word(6, "the first frame"), data.word(8, "the last frame")
    start, end = stated.field("ACTUAL_START_FIELD"), stated.field("ACTUAL_END_FIELD")
    if start is not None and end is not None and 0 < start <= end:
        first, last = start, end
    elif last - first + 1 >= 65535 or last == 65535:
        # Longer than the header can say; the count stands in a float.
        last = first - 1 + int(stated.number("POINT", "LONG_FRAMES", float(last - first + 1)))
    frames = last - first + 1
    if frames > 0 and layout.values == 0 and stated.count("ROTATION", "USED", 0):
        return first, frames  # poses of segments alone, as markerless systems write
    if frames < 1 or layout.values == 0:
        raise InvalidFile(f"{data.where}: holds no frames ({first} to {last}) or nothing in them; is it damaged?")
    at = _start(data, stated)
    have = (len(data.content) - at) // layout.size
    if frames > have:
        raise InvalidFile(
            f"{data.where}: byte {at}: {frames} frames of {layout.points} points and {layout.channels} channels are "
            f"promised, the file has room for {max(have, 0)}; it is cut off or damaged"
        )
    return first, frames


def _start(data: _Bytes, stated: _Stated) -> int:
    block = data.word(16, "where the samples begin") or stated.count("POINT", "DATA_START", 0)
    if block < 2:
        raise InvalidFile(f"{data.where}: the samples begin in block {block}, inside the header; the file is damaged")
    return (block - 1) * BLOCK


def _values(data: _Bytes, layout: _Layout, frames: int, stated: _Stated) -> NDArray[np.float64]:
    """Everything as it is stored (frames, values)."""
    read = data.floats if layout.as_floats else data.integers
    return read(_start(data, stated), frames * layout.values, "the samples").reshape(frames, layout.values)


def _analog(
    layout: _Layout,
    raw: NDArray[np.float64],
    stated: _Stated,
    parameters: dict[str, dict[str, Parameter]],
) -> NDArray[np.float64]:
    """(stored - offset) scale general scale."""
    form = parameters.get("ANALOG", {}).get("FORMAT")
    unsigned = form is not None and isinstance(form.values, list) and "".join(form.values).upper() == "UNSIGNED"
    scales, offsets = np.ones(layout.channels), np.zeros(layout.channels)
    for name, into in (("SCALE", scales), ("OFFSET", offsets)):
        found = stated.array("ANALOG", name)[: layout.channels]
        into[: len(found)] = found
    with np.errstate(all="ignore"):
        if unsigned:
            offsets = np.where(offsets < 0.0, offsets + 65536.0, offsets)
            raw = raw if layout.as_floats else np.where(raw < 0.0, raw + 65536.0, raw)
        return np.asarray((raw - offsets) * scales * stated.number("ANALOG", "GEN_SCALE", 1.0))
