"""A hinge."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, directions_align, points_coincide


@dataclass(frozen=True, eq=False)
class Revolute(Constraint):
    """Origins coincide and both z axes are one: five equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return points_coincide(first, second) + directions_align(first, second)
