"""Position prescribed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.absolute.drivers.driver import FrameDriver, directions
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, along, number
from musculo.arrays import FloatArray
from musculo.model.body import Vec3


@dataclass(frozen=True, eq=False)
class PositionDriver(FrameDriver):
    """a . d - s(t): where the second origin is along directions of the first frame, one equation each.

    It is told one column of numbers for each direction [m]; each multiplier is a force along it.
    """

    axes: tuple[Vec3, ...] | str = "xyz"

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(f"{self.name}:{k}" for k in range(len(directions(self.axes, self.name))))

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        told = zip(directions(self.axes, self.name), self.numbers, strict=True)
        return tuple((along(first, axis, second), -number(name)) for axis, name in told)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        parts = np.stack(self._numbers(given, len(self.numbers)), axis=2)
        return {name: parts[:, k] for k, name in enumerate(self.numbers)}
