"""A ball in its socket."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, points_coincide


@dataclass(frozen=True, eq=False)
class Spherical(Constraint):
    """Origins coincide: three equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return points_coincide(first, second)
