"""A whole pose prescribed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.given_motion import Given, GivenPose
from musculo.absolute.terms import Row, frames_align, points_coincide
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class PoseDriver(FrameDriver):
    """The second frame coincides with the first as told: three equations of orientation, three of position.

    Args:
        turns: whether the orientation is driven.
        moves: whether the position is driven.
    """

    guides: ClassVar[bool] = True

    turns: bool = True
    moves: bool = True

    @property
    def numbers(self) -> tuple[str, ...]:
        return ()

    def rows(self) -> tuple[Row, ...]:
        second = self.frames[1]
        moved = points_coincide(self.guided, second) if self.moves else ()
        return moved + (frames_align(self.guided, second) if self.turns else ())

    def signals(self, given: Given) -> dict[str, FloatArray]:
        if not isinstance(given, GivenPose):
            raise InvalidInput(f"driver {self.name!r} is told a pose: GivenPose(orientation, place)")
        return self._pose(given.orientation, given.place)
