"""What is uncertain about a subject and a trial, as distributions by name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName, warn

Names = str | Sequence[str] | None
MUSCLE_PARAMETERS = ("max_isometric_force", "optimal_fiber_length", "tendon_slack_length")


class Step(IntEnum):
    """The steps in their order."""

    KINEMATICS = 0
    MOMENTS = 1
    MUSCLES = 2
    LOADS = 3


class Varied(NamedTuple):
    """Names of what a trial has that may vary."""

    markers: tuple[str, ...]  # that are followed
    bodies: tuple[str, ...]
    muscles: tuple[str, ...]
    loads: tuple[str, ...]  # bodies that external loads act on, one for each load


class Changes(NamedTuple):
    """One draw of everything: shifts, zero by default, and factors, one by default."""

    marker_shift: FloatArray  # (markers, 3) in the frame of the marker [m]
    mass: FloatArray  # (bodies,) factor of mass and inertia
    center_shift: FloatArray  # (bodies, 3) of the mass center [m]
    muscle: FloatArray  # (parameters, muscles) factors, in the order of `MUSCLE_PARAMETERS`
    load: FloatArray  # (loads,) factor of force and moment
    point_shift: FloatArray  # (loads, 3) of the point of application, in ground [m]


def unchanged(varied: Varied) -> Changes:
    """No change at all."""
    markers, bodies, muscles, loads = (len(names) for names in varied)
    return Changes(
        np.zeros((markers, 3)),
        np.ones(bodies),
        np.zeros((bodies, 3)),
        np.ones((len(MUSCLE_PARAMETERS), muscles)),
        np.ones(loads),
        np.zeros((loads, 3)),
    )


# Nobody is so unsure: more is a number in another unit.
_WIDE = {
    "m": (0.2, "is this in millimeters? Give meters"),
    "1": (1.0, "is this in percent? Give a fraction, for instance 0.1 for 10 percent"),
}


class UncertainInput(ABC):
    """A group of numbers that vary independently of one another and of all else; the same over a whole trial."""

    reaches: ClassVar[Step] = Step.MOMENTS  # the first step that it changes anything of

    @property
    @abstractmethod
    def label(self) -> str:
        """What the group is called in results."""

    @abstractmethod
    def size(self, varied: Varied) -> int:
        """How many numbers are drawn; refuses names that the trial does not have."""

    @abstractmethod
    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        """Make one draw of standard normal numbers (size,) part of the changes."""


def _columns(kind: str, names: Names, known: tuple[str, ...]) -> list[int]:
    if names is None:
        return list(range(len(known)))
    asked = (names,) if isinstance(names, str) else tuple(names)
    for name in asked:
        if name not in known:
            raise UnknownName(kind, name, known, "an uncertain input")
    return [known.index(name) for name in dict.fromkeys(asked)]


def _spread(what: str, value: object, unit: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
        raise InvalidInput(f"{what} is {value!r}; give a number of zero or more [{unit}]")
    most, question = _WIDE[unit]
    if value > most:
        warn(f"{what} is {value:g} {unit if unit != '1' else ''}".rstrip() + f": {question}")
    return float(value)


def lognormal(draw: FloatArray, cv: float) -> FloatArray:
    """Positive factors of mean one: exp(s z - s^2 / 2), s^2 = ln(1 + cv^2); exactly one where cv is zero."""
    s = math.sqrt(math.log1p(cv * cv))
    return np.asarray(np.exp(s * draw - 0.5 * s * s))


@dataclass(frozen=True)
class MarkerPlacement(UncertainInput):
    """Where markers sit on their bodies: each is shifted along the three axes of its frame, by normal numbers.

    Args:
        sd: standard deviation along each axis [m]; palpation of landmarks: 0.005 to 0.02.
        markers: which, by name; all that are followed by default.
    """

    reaches: ClassVar[Step] = Step.KINEMATICS

    sd: float = 0.01
    markers: Names = None

    def __post_init__(self) -> None:
        _spread("MarkerPlacement: sd", self.sd, "m")

    @property
    def label(self) -> str:
        return "marker placement"

    def size(self, varied: Varied) -> int:
        return 3 * len(_columns("marker", self.markers, varied.markers))

    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        at = _columns("marker", self.markers, varied.markers)
        changes.marker_shift[at] += self.sd * draw.reshape(-1, 3)


@dataclass(frozen=True)
class SegmentMass(UncertainInput):
    """Masses of bodies, and with them their inertia: each times a factor of mean one (lognormal).

    Args:
        cv: standard deviation of the factor; tables of anthropometry: 0.05 to 0.1.
        bodies: which, by name; all by default.
    """

    cv: float = 0.05
    bodies: Names = None

    def __post_init__(self) -> None:
        _spread("SegmentMass: cv", self.cv, "1")

    @property
    def label(self) -> str:
        return "segment mass"

    def size(self, varied: Varied) -> int:
        return len(_columns("body", self.bodies, varied.bodies))

    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        changes.mass[_columns("body", self.bodies, varied.bodies)] *= lognormal(draw, self.cv)


@dataclass(frozen=True)
class SegmentMassCenter(UncertainInput):
    """Mass centers of bodies: each is shifted along the three axes of its body, by normal numbers.

    Args:
        sd: standard deviation along each axis [m].
        bodies: which, by name; all by default.
    """

    sd: float = 0.01
    bodies: Names = None

    def __post_init__(self) -> None:
        _spread("SegmentMassCenter: sd", self.sd, "m")

    @property
    def label(self) -> str:
        return "segment mass center"

    def size(self, varied: Varied) -> int:
        return 3 * len(_columns("body", self.bodies, varied.bodies))

    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        at = _columns("body", self.bodies, varied.bodies)
        changes.center_shift[at] += self.sd * draw.reshape(-1, 3)


@dataclass(frozen=True)
class MuscleParameter(UncertainInput):
    """A parameter of muscles: each times a factor of mean one (lognormal).

    Args:
        name: "max_isometric_force", "optimal_fiber_length" or "tendon_slack_length".
        cv: standard deviation of the factor.
        muscles: which, by name; all by default.
        together: one factor for all of them, as where all of a subject's muscles are strong or weak.
    """

    reaches: ClassVar[Step] = Step.MUSCLES

    name: str
    cv: float = 0.1
    muscles: Names = None
    together: bool = False

    def __post_init__(self) -> None:
        if self.name not in MUSCLE_PARAMETERS:
            raise UnknownName("parameter", self.name, MUSCLE_PARAMETERS, "MuscleParameter")
        _spread("MuscleParameter: cv", self.cv, "1")

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")

    def size(self, varied: Varied) -> int:
        count = len(_columns("muscle", self.muscles, varied.muscles))
        return min(count, 1) if self.together else count

    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        at = _columns("muscle", self.muscles, varied.muscles)
        changes.muscle[MUSCLE_PARAMETERS.index(self.name), at] *= lognormal(draw, self.cv)


@dataclass(frozen=True)
class CenterOfPressure(UncertainInput):
    """Where external forces act: each point is shifted along the three axes of ground, by normal numbers.

    A shift along the force does nothing, so that it does not matter which axis is up.

    Args:
        sd: standard deviation along each axis [m]; force plates: 0.002 to 0.01.
        bodies: on which the forces act, by name; all by default.
    """

    sd: float = 0.005
    bodies: Names = None

    def __post_init__(self) -> None:
        _spread("CenterOfPressure: sd", self.sd, "m")

    @property
    def label(self) -> str:
        return "center of pressure"

    def _at(self, varied: Varied) -> list[int]:
        some = {varied.loads[k] for k in _columns("body with a load", self.bodies, varied.loads)}
        return [k for k, body in enumerate(varied.loads) if body in some]

    def size(self, varied: Varied) -> int:
        return 3 * len(self._at(varied))

    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        changes.point_shift[self._at(varied)] += self.sd * draw.reshape(-1, 3)


@dataclass(frozen=True)
class LoadMagnitude(UncertainInput):
    """External forces and moments: each load times a factor of mean one (lognormal), the same over the trial.

    Args:
        cv: standard deviation of the factor; calibrated force plates: 0.005 to 0.02.
        bodies: on which the forces act, by name; all by default.
    """

    cv: float = 0.01
    bodies: Names = None

    def __post_init__(self) -> None:
        _spread("LoadMagnitude: cv", self.cv, "1")

    @property
    def label(self) -> str:
        return "load magnitude"

    def _at(self, varied: Varied) -> list[int]:
        some = {varied.loads[k] for k in _columns("body with a load", self.bodies, varied.loads)}
        return [k for k, body in enumerate(varied.loads) if body in some]

    def size(self, varied: Varied) -> int:
        return len(self._at(varied))

    def change(self, varied: Varied, draw: FloatArray, changes: Changes) -> None:
        changes.load[self._at(varied)] *= lognormal(draw, self.cv)
