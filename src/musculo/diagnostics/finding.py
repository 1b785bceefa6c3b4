"""What a check has to say, how much it matters, and how users hear of it: in Python, in the shell and on pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum
from typing import NamedTuple

from musculo.arrays import FloatArray
from musculo.errors import warn


class Light(Enum):
    """How a summary shows a finding."""

    GOOD = "good"
    LOOK = "look"
    """Worth a look before the numbers are used."""
    BAD = "bad"
    UNJUDGED = "unjudged"
    """It could not be judged, and the line says why."""
    INFO = "info"
    """A fact, neither good nor bad."""


class Severity(IntEnum):
    """How much a finding matters."""

    GOOD = -2
    """It was looked at and is within its limit."""
    UNJUDGED = -1
    """It could not be judged, and the text says why."""
    NOTE = 0
    """Worth knowing; the result is what was asked for."""
    DOUBTFUL = 1
    """The input is unusual, and perhaps not what was meant; the result then means something else."""
    WRONG = 2
    """The input cannot be what it is called: another unit, sign, axis or body. The result means something else."""
    TROUBLE = 3
    """Part of the result means nothing."""


_LIGHTS = {
    Severity.GOOD: Light.GOOD,
    Severity.UNJUDGED: Light.UNJUDGED,
    Severity.NOTE: Light.INFO,
    Severity.DOUBTFUL: Light.LOOK,
    Severity.WRONG: Light.BAD,
    Severity.TROUBLE: Light.BAD,
}


class Finding(NamedTuple):
    """What was found of one thing that was looked at."""

    text: str
    severity: Severity = Severity.NOTE
    title: str = "Input"  # what was looked at, as the line of a summary has it
    advice: str = ""  # what to do about it
    source: str = ""  # the table it is about, where it is about one

    @property
    def light(self) -> Light:
        """How a summary shows it."""
        return _LIGHTS[self.severity]

    @property
    def found(self) -> str:
        """The text, as lines of a report call it."""
        return self.text


def graded(value: float, limit: float, bad: float | None = None) -> Severity:
    """GOOD up to the limit, WRONG beyond another one, which is twice the first unless given, DOUBTFUL between."""
    if value <= limit:
        return Severity.GOOD
    return Severity.DOUBTFUL if value <= (2.0 * limit if bad is None else bad) else Severity.WRONG


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
