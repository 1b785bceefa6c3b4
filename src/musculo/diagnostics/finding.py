"""What a check has to say, how much it matters, and how Python users hear of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.errors import warn


class Severity(IntEnum):
    """How much a finding matters."""

    NOTE = 0
    """Worth knowing; the result is what was asked for."""
    DOUBTFUL = 1
    """The input is unusual, and perhaps not what was meant; the result then means something else."""
    WRONG = 2
    """The input cannot be what it is called: another unit, sign, axis or body. The result means something else."""
    TROUBLE = 3
    """Part of the result means nothing."""


class Finding(NamedTuple):
    """One sentence of a check."""

    text: str
    severity: Severity = Severity.NOTE
    title: str = "Input"  # what it is about, as the line of a report has it


def texts(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The sentences, each once: what results carry as `notes`."""
    return tuple(dict.fromkeys(one.text for one in findings))


def warn_of(findings: Iterable[Finding]) -> None:
    """A `MusculoWarning` for each that is more than a note, at the line outside musculo that called."""
    for text in texts(one for one in findings if one.severity > Severity.NOTE):
        warn(text)


def listed_frames(frames: Sequence[int], time: FloatArray, most: int = 5) -> str:
    """Frames by their times, for a sentence."""
    shown = ", ".join(f"{time[k]:g}" for k in frames[:most])
    return f"{shown} s" + (f" and {len(frames) - most} more" if len(frames) > most else "")


def listed_names(names: Sequence[str], most: int = 12) -> str:
    """Names, for a sentence."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
