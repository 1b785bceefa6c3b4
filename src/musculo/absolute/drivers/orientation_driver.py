"""Rotation prescribed by the angle left to a frame that moves as told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, dot
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS

_ACROSS = {"x": (Y_AXIS, Z_AXIS), "y": (Z_AXIS, X_AXIS), "z": (X_AXIS, Y_AXIS)}


@dataclass(frozen=True, eq=False)
class OrientationDriver(FrameDriver):
    """The sine of the angle between the second frame and the first as told: one equation an axis, regular everywhere.

    About z of a hinge it is sin(theta* - theta): the relative angle about the joint's axis, whatever the number of
    turns and however the bodies are oriented; its multiplier is the joint's torque.

    Source:  Ruggiero2020 eq. 6.
    Departs: eq. 6 takes differences of the bodies' absolute angle vectors, which in three dimensions are no functions
             of the orientation. This is the relative rotation.
    """

    guides: ClassVar[bool] = True

    axes: str = "xyz"

    def __post_init__(self) -> None:
        if not isinstance(self.axes, str) or not self.axes or any(axis not in _ACROSS for axis in self.axes):
            raise InvalidInput(f"driver {self.name!r}: axes is {self.axes!r}; give some of x, y, z, such as 'z'")

    @property
    def numbers(self) -> tuple[str, ...]:
        return ()

    def rows(self) -> tuple[Row, ...]:
        second = self.frames[1]
        return tuple((dot(self.guided, _ACROSS[axis][0], second, _ACROSS[axis][1]),) for axis in self.axes)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        return self._pose(self._orientation(given))
