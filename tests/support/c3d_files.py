"""C3D files made for tests: all three byte orders, floats and integers, any plates."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INTEL, DEC, SGI = 84, 85, 86


@dataclass
class C3DMaker:
    """What goes into a file; `bytes()` is the file."""

    points: np.ndarray  # (frames, points, 3); NaN where not seen
    labels: list[str]
    rate: float = 100.0
    units: str = "mm"
    first_frame: int = 1
    analog: np.ndarray | None = None  # (frames * samples, channels)
    analog_labels: list[str] = field(default_factory=list)
    analog_units: list[str] = field(default_factory=list)
    analog_scale: list[float] = field(default_factory=list)
    analog_offset: list[int] = field(default_factory=list)
    gen_scale: float = 1.0
    extra: dict[str, dict[str, Any]] = field(default_factory=dict)
    processor: int = INTEL
    scale: float = -1.0  # positive: integers in units of it

    @property
    def order(self) -> str:
        return ">" if self.processor == SGI else "<"

    def floats(self, values) -> bytes:
        array = np.asarray(values, dtype=float).ravel(order="F")
        if self.processor != DEC:
            return array.astype(self.order + "f4").tobytes()
        words = (array * 4.0).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1]
        return words.tobytes()

    def ints(self, values) -> bytes:
        array = np.asarray(np.round(np.asarray(values, dtype=float)), dtype=np.int64).ravel(order="F") & 0xFFFF
        return array.astype(self.order + "u2").tobytes()

    def word(self, value: int) -> bytes:
        return struct.pack(self.order + "H", value & 0xFFFF)

    def bytes(self) -> bytes:
        frames, points, _ = self.points.shape
        channels = 0 if self.analog is None else self.analog.shape[1]
        samples = 0 if not channels else len(self.analog) // frames
        parameters = self._parameters(frames, points, channels, samples)
        blocks = -(-(len(parameters) + 4) // 512)
        data_start = 2 + blocks
        parameters = self._parameters(frames, points, channels, samples, data_start)
        header = bytes([2, 0x50]) + b"".join(
            map(self.word, (points, channels * samples, self.first_frame, self.first_frame + frames - 1, 10))
        )
        header += self.floats([self.scale]) + self.word(data_start) + self.word(samples) + self.floats([self.rate])
        section = bytes([1, 0x50, blocks, self.processor]) + parameters
        return header.ljust(512, b"\0") + section.ljust(512 * blocks, b"\0") + self._data(frames, points)

    def _data(self, frames: int, points: int) -> bytes:
        seen = np.isfinite(self.points).all(axis=2)
        factor = 1.0 if self.scale < 0.0 else self.scale
        block = np.zeros((frames, points, 4))
        block[:, :, :3] = np.where(seen[:, :, None], np.nan_to_num(self.points), 0.0) / factor
        block[:, :, 3] = np.where(seen, 0.0, -1.0)
        rows = block.reshape(frames, -1)
        if self.analog is not None:
            scale = np.array(self.analog_scale or [1.0] * self.analog.shape[1]) * self.gen_scale
            offset = np.array(self.analog_offset or [0] * self.analog.shape[1])
            rows = np.hstack((rows, (self.analog / scale + offset).reshape(frames, -1)))
        return (self.floats if self.scale < 0.0 else self.ints)(rows.ravel())

    def _parameters(self, frames: int, points: int, channels: int, samples: int, data_start: int = 2) -> bytes:
        groups: dict[str, dict[str, Any]] = {
            "POINT": {
                "USED": points,
                "FRAMES": frames & 0xFFFF,
                "DATA_START": data_start,
                "SCALE": float(self.scale),
                "RATE": float(self.rate),
                "LABELS": self.labels,
                "UNITS": [self.units],
            },
            "ANALOG": {
                "USED": channels,
                "GEN_SCALE": float(self.gen_scale),
                "RATE": float(self.rate * samples),
                "LABELS": self.analog_labels,
                "UNITS": self.analog_units,
                "SCALE": np.array(self.analog_scale or [1.0] * channels),
                "OFFSET": np.array(self.analog_offset or [0] * channels, dtype=int),
            },
        }
        for group, members in self.extra.items():
            groups.setdefault(group, {}).update(members)
        out = b""
        for k, (group, members) in enumerate(groups.items()):
            out += struct.pack("bb", len(group), -(k + 1)) + group.encode() + self.word(3) + b"\0"
            for name, value in members.items():
                body = self._value(value) + b"\0"
                out += struct.pack("bb", len(name), k + 1) + name.encode() + self.word(len(body) + 2) + body
        return out + b"\0\0"

    def _value(self, value: Any) -> bytes:
        if isinstance(value, list):
            width = max([len(v) for v in value] or [0])
            text = "".join(v.ljust(width) for v in value).encode("latin-1")
            return struct.pack("b", -1) + bytes([2, width, len(value)]) + text
        array = np.asarray(value)
        dims = bytes([array.ndim, *array.shape])
        if array.dtype.kind == "f":
            return struct.pack("b", 4) + dims + self.floats(array)
        return struct.pack("b", 2) + dims + self.ints(array)


def plate_group(kinds, corners, origins, channels, calibration=None) -> dict[str, Any]:
    """The FORCE_PLATFORM group: corners (plates, 4, 3), origins (plates, 3), channels (plates, c) from 1 on."""
    group: dict[str, Any] = {
        "USED": len(kinds),
        "TYPE": np.array(kinds, dtype=int),
        "ZERO": np.array([1, 0], dtype=int),
        "CORNERS": np.transpose(np.asarray(corners, dtype=float), (2, 1, 0)),
        "ORIGIN": np.asarray(origins, dtype=float).T,
        "CHANNEL": np.asarray(channels, dtype=int).T,
    }
    if calibration is not None:
        group["CAL_MATRIX"] = np.transpose(np.asarray(calibration, dtype=float), (1, 2, 0))
    return group


def with_poses(content: bytes, poses: np.ndarray) -> bytes:
    """A file whose ROTATION group, with DATA_START 0, gets its section: poses (frames, segments, 4, 4), NaN unknown."""
    padded = content.ljust(-(-len(content) // 512) * 512, b"\0")
    block = len(padded) // 512 + 1
    place = padded.index(b"DATA_START", padded.index(b"ROTATION")) + len(b"DATA_START") + 4
    numbers = np.zeros((*poses.shape[:2], 17))
    numbers[..., :16] = np.swapaxes(poses, 2, 3).reshape(*poses.shape[:2], 16)
    numbers[..., 16] = np.where(np.isfinite(poses).all(axis=(2, 3)), 0.0, -1.0)
    section = np.nan_to_num(numbers).astype("<f4").tobytes()
    return padded[:place] + struct.pack("<H", block) + padded[place + 2 :] + section
