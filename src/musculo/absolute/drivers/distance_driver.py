"""Distance prescribed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, length, number
from musculo.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class DistanceDriver(FrameDriver):
    """|d| - s(t): the distance of two origins; its multiplier is the force between them. Told one number [m]."""

    @property
    def numbers(self) -> tuple[str, ...]:
        return (f"{self.name}:0",)

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((length(first, second), -number(self.numbers[0])),)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        return {self.numbers[0]: np.stack(self._numbers(given, 1), axis=2)[:, 0]}
