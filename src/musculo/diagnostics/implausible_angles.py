"""Angles that no body has: leaps from one frame to the next, and values far outside what the model states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity, listed_frames
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angle_columns import rotational_coordinates

LEAP = np.radians(60.0)
"""No joint turns further from one frame to the next [rad], where frames are no further apart than `SLOWEST`."""
SLOWEST = 0.05  # [s]
OUT_OF_RANGE = "Angles out of range"  # the title of such a line
BEYOND = np.radians(45.0)
"""An angle so far outside the range of its coordinate is not a matter of a narrow range [rad]."""


class OddAngle(NamedTuple):
    """A coordinate, the frames in which it is odd, and by how much at most, in which of them."""

    name: str
    frames: NDArray[np.int64]
    most: float  # [rad]
    worst: int


def angle_findings(model: Model, time: FloatArray, q: FloatArray) -> list[Finding]:
    """Angles that jump, which leaves frames that mean nothing, and those far outside their range."""
    leaping, outside = leaping_angles(model, time, q), angles_far_outside(model, q)
    found = []
    if leaping:
        text = (
            f"inverse kinematics: angles jump from one frame to the next: {in_words(leaping, time)}; look for swapped "
            "labels, outliers and gaps there"
        )
        found.append(Finding(text, Severity.TROUBLE))
    if outside:
        text = (
            f"angles are far outside the ranges that the model states: {in_words(outside, time)}; look at markers and "
            "labels, or clamp the coordinates"
        )
        found.append(Finding(text, Severity.DOUBTFUL, OUT_OF_RANGE))
    return found


def in_words(odd: Sequence[OddAngle], time: FloatArray, most: int = 3) -> str:
    """Names, by how many degrees at most, and when."""
    parts = [
        f"{one.name} by {np.degrees(one.most):.0f} deg at {time[one.worst]:g} s"
        + (
            f" (in {len(one.frames)} frames, {listed_frames(one.frames.tolist(), time, 3)})"
            if len(one.frames) > 1
            else ""
        )
        for one in odd[:most]
    ]
    rest = f" and {len(odd) - most} more coordinates" if len(odd) > most else ""
    return ", ".join(parts) + rest


def leaping_angles(model: Model, time: FloatArray, q: FloatArray) -> list[OddAngle]:
    """Angles of q (frames, n) that leap; `frames` are those after a leap. The largest comes first."""
    columns = _angles(model)
    step = np.abs(np.diff(q[:, columns], axis=0)) * (np.diff(time) <= SLOWEST)[:, None]
    return _odd(model, columns, np.concatenate([np.zeros((min(len(q), 1), len(columns))), step]), LEAP)


def angles_far_outside(model: Model, q: FloatArray) -> list[OddAngle]:
    """Angles of q (frames, n) far outside the ranges that the model states, clamped or not. The furthest comes first.

    Those between ground and the bodies on it do not count: they tell which way a subject faces.
    """
    on_ground = {c.name for j in model.joints if GROUND in (j.parent.body, j.child.body) for c in j.coordinates}
    columns = [k for k in _angles(model) if model.coordinate_names[k] not in on_ground]
    ranges = np.array([model.coordinates[k].range for k in columns], dtype=float).reshape(-1, 2)
    low, high = ranges.min(axis=1), ranges.max(axis=1)
    return _odd(model, columns, np.maximum(low - q[:, columns], q[:, columns] - high), BEYOND)


def _angles(model: Model) -> list[int]:
    turning = rotational_coordinates(model)
    return [k for k, name in enumerate(model.coordinate_names) if name in turning]


def _odd(model: Model, columns: list[int], size: FloatArray, limit: float) -> list[OddAngle]:
    size = np.nan_to_num(size)
    found = []
    for k, column in enumerate(columns):
        frames = np.flatnonzero(size[:, k] > limit)
        if frames.size:
            worst = int(size[:, k].argmax())
            found.append(OddAngle(model.coordinate_names[column], frames, float(size[worst, k]), worst))
    return sorted(found, key=lambda one: -one.most)
