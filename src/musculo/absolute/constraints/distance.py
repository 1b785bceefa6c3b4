"""A rod between two points."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, constant, length


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """The origins stay at a distance: one equation, |d| - distance, whose multiplier is the force in the rod."""

    distance: float = 1.0

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((length(first, second), constant(-self.distance)),)
