"""Position prescribed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, along, number
from musculo.arrays import FloatArray
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS


@dataclass(frozen=True, eq=False)
class PositionDriver(FrameDriver):
    """a . d - s(t): where the second origin is along directions of the first frame, one equation each.

    It is told one column of numbers for each direction [m]; each multiplier is a force along it.
    """

    axes: tuple[Vec3, ...] = (X_AXIS, Y_AXIS, Z_AXIS)

    @property
    def numbers(self) -> tuple[str, ...]:
        return tuple(f"{self.name}:{k}" for k in range(len(self.axes)))

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        told = zip(self.axes, self.numbers, strict=True)
        return tuple((along(first, axis, second), -number(name)) for axis, name in told)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        parts = np.stack(self._numbers(given, len(self.axes)), axis=2)
        return {name: parts[:, k] for k, name in enumerate(self.numbers)}
