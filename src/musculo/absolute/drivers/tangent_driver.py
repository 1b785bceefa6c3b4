"""Rotation prescribed by Euler parameters, each along the rotation that it drives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.absolute.drivers.driver import FrameDriver, directions
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, euler_parameter
from musculo.arrays import FloatArray
from musculo.model.body import Vec3


@dataclass(frozen=True, eq=False)
class TangentDriver(FrameDriver):
    """v(t) . p_AB = 0 with v along dp*/dphi: one equation an axis, regular at every angle.

    v(t) = p*(t) (0, a) is the tangent of p* under a rotation about a, and across p* itself. It equals the component
    along a of the Euler parameters relative to a frame that moves as prescribed: the vector part of p*^-1 p_AB, whose
    gradient is 1/2 wherever p* is.

    Source:  Antunes2025 eq. 19 with v a function of time.
    Departs: table 1 has a constant v, which loses the motion at half a turn.
    """

    guides: ClassVar[bool] = True

    axes: tuple[Vec3, ...] | str = "xyz"

    @property
    def numbers(self) -> tuple[str, ...]:
        return ()

    def rows(self) -> tuple[Row, ...]:
        around = directions(self.axes, self.name)
        return tuple((euler_parameter(self.guided, (0.0, *axis), self.frames[1]),) for axis in around)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        return self._pose(self._orientation(given))
