"""A rod between two points."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, constant, length
from musculo.errors import InvalidModel


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """The origins stay at a distance: one equation, |d| - distance, whose multiplier is the force in the rod."""

    distance: float = 1.0

    def rows(self) -> tuple[Row, ...]:
        if not self.distance > 0.0:
            raise InvalidModel(f"the distance is {self.distance} m; give one above zero, or take Spherical")
        first, second = self.frames
        return ((length(first, second), constant(-self.distance)),)
