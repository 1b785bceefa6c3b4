"""Paths of muscles whose lengths include a penalty, and those with a status."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding
from musculo.muscle.paths.current_paths import STATUSES
from musculo.muscle.paths.geometry import PathGeometry

_SMALL_PENALTY = 1e-3  # [m] what lines of their own are not worth
_MOST_LINES = 10


def path_findings(g: PathGeometry, muscles: Sequence[str], time: FloatArray, name: str) -> list[Finding]:
    """What the geometry (of frames) notes of its model, and which of these muscles have penalties and statuses.

    `name` is that of the analysis.
    """
    notes = [note for note in g.model_notes if any(repr(muscle) in note for muscle in muscles)]
    found = [Finding(f"{name}: {note}") for note in notes[:_MOST_LINES]]
    if len(notes) > _MOST_LINES:
        found.append(Finding(f"{name}: {len(notes) - _MOST_LINES} more of these (notes of musculo.muscle_geometry)"))
    columns = [k for k, path in enumerate(g.names) if path in muscles]
    names = [g.names[k] for k in columns]
    return [
        *found,
        *penalty_findings(names, g.penalty[:, columns], time, name),
        *_status_findings(names, g.status[:, columns], name),
    ]


def largest_penalties(names: Sequence[str], penalty: FloatArray) -> dict[str, float]:
    """Muscles whose lengths (frames, muscles) include a penalty, with the largest of each [m], the largest first."""
    most = penalty.max(axis=0, initial=0.0)
    return {names[k]: float(most[k]) for k in np.argsort(-most, kind="stable") if most[k] > 0.0}


def penalty_findings(names: Sequence[str], penalty: FloatArray, time: FloatArray, name: str) -> list[Finding]:
    """Which lengths (frames, muscles) include a penalty, where and how much."""
    most, found = largest_penalties(names, penalty), []
    if most:
        count = f"{len(most)} of {len(names)} muscles {'has' if len(most) == 1 else 'have'}"
        found.append(
            Finding(
                f"{name}: {count} lengths with a penalty, in {int(penalty.any(axis=1).sum())} of {len(time)} frames: a "
                "path that breaks a rule of the model, such as the side of a quadrant, gets extra length; "
                "moment arms there include the slope of the penalty and may be far too large"
            )
        )
    large = [muscle for muscle, size in most.items() if size > _SMALL_PENALTY]
    for muscle in large[:_MOST_LINES]:
        column = penalty[:, names.index(muscle)]
        frames = np.flatnonzero(column)
        found.append(
            Finding(
                f"{name}: penalty of {muscle!r}: in {len(frames)} of {len(time)} frames, frame {frames[0]} "
                f"({time[frames[0]]:g} s) the first of them, {1e3 * most[muscle]:.3g} mm at most (frame "
                f"{column.argmax()})"
            )
        )
    if len(large) > _MOST_LINES:
        more = len(large) - _MOST_LINES
        found.append(Finding(f"{name}: {more} more muscles have penalties above {1e3 * _SMALL_PENALTY:g} mm"))
    return found


def _status_findings(names: Sequence[str], status: NDArray[np.int8], name: str) -> list[Finding]:
    """Paths (frames, paths) that a rule had to step in for, by what it was, in one line."""
    parts = []
    for code, word in enumerate(STATUSES[1:], start=1):
        frames = (status == code).sum(axis=0)
        found = [f"{names[k]} {frames[k]}" for k in np.argsort(-frames, kind="stable") if frames[k]]
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            parts.append(f"{word}: {', '.join(found[:3])}{more}")
    if not parts:
        return []
    told = f"{name}: statuses of paths other than {STATUSES[0]}, frames of {len(status)}: {'; '.join(parts)}"
    return [Finding(told)]
