"""What every driver states: rows of terms, and what of them is given over time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from musculo.absolute.constraints.constraint import Constraint, Equations
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS

_NAMED = {"x": X_AXIS, "y": Y_AXIS, "z": Z_AXIS}


def directions(axes: Sequence[Vec3] | str, name: str) -> tuple[Vec3, ...]:
    """Directions of a driver, also where letters name them: "xz" for the first and third axis."""
    if isinstance(axes, str) and axes and set(axes) <= set(_NAMED):
        return tuple(_NAMED[letter] for letter in axes)
    if isinstance(axes, str) or not len(axes) or any(np.shape(axis) != (3,) for axis in axes):
        raise InvalidInput(f"driver {name!r}: axes is {axes!r}; give letters such as 'xz', or vectors: ((0, 0, 1),)")
    return tuple(axes)


@dataclass(frozen=True, eq=False)
class Driver(Equations):
    """Equations that prescribe motion. What is given is one `Given` for each driver, by its name."""

    drives: ClassVar[bool] = True

    @property
    @abstractmethod
    def numbers(self) -> tuple[str, ...]:
        """Names of the numbers over time in its rows."""

    @abstractmethod
    def signals(self, given: Given) -> dict[str, FloatArray]:
        """From what is given: (frames, 3) value and derivatives of each of its numbers, and (frames, 19) of the pose
        of a frame that moves as it is told, under the driver's own name."""

    def _numbers(self, given: Given, columns: int) -> GivenNumbers:
        if not isinstance(given, GivenNumbers) or given.value.shape[1] != columns:
            what = f"{columns} columns" if columns > 1 else "one column"
            raise InvalidInput(f"driver {self.name!r} is told numbers of {what}: GivenNumbers.of(value, rate, ...)")
        return given

    def _orientation(self, given: Given) -> GivenOrientation:
        if not isinstance(given, GivenOrientation):
            raise InvalidInput(
                f"driver {self.name!r} is told an orientation: GivenOrientation.of(parameters, omega, alpha), or "
                "GivenOrientation.about(axis, angle, rate, acceleration)"
            )
        return given


@dataclass(frozen=True, eq=False)
class FrameDriver(Constraint, Driver):
    """A driver between two frames; a placement or the name of a body stands for a frame fixed there."""

    guides: ClassVar[bool] = False  # whether it is told an orientation or a pose, which `guided` follows

    @cached_property
    def guided(self) -> Frame:
        """The first frame, moved on its body as the second one is told to."""
        if not self.guides:
            raise InvalidInput(f"driver {self.name!r} is told numbers, which give no frame; guide by an orientation")
        return replace(self.frames[0], motion=self.name)

    def _pose(self, given: GivenOrientation, place: GivenNumbers | None = None) -> dict[str, FloatArray]:
        p, omega, alpha = given
        still = np.zeros((len(p), 3))
        r, v, a = (still, still, still) if place is None else place
        return {self.name: np.concatenate([p, r, omega, v, alpha, a], axis=1)}
