"""A coordinate prescribed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.absolute.drivers.driver import Driver
from musculo.absolute.given_motion import Given
from musculo.absolute.terms import Row, function_of, number
from musculo.arrays import FloatArray
from musculo.functions.elementary_functions import Linear


@dataclass(frozen=True, eq=False)
class CoordinateDriver(Driver):
    """q - s(t) for a coordinate that is an unknown; its multiplier is minus the generalized force. Told one number."""

    coordinate: str = ""

    @property
    def numbers(self) -> tuple[str, ...]:
        return (f"{self.name}:0",)

    def rows(self) -> tuple[Row, ...]:
        return ((function_of(Linear(1.0, 0.0), (self.coordinate,)), -number(self.numbers[0])),)

    def signals(self, given: Given) -> dict[str, FloatArray]:
        return {self.numbers[0]: np.stack(self._numbers(given, 1), axis=2)[:, 0]}
