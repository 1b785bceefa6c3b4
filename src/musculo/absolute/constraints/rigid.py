"""A weld."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, frames_align, points_coincide


@dataclass(frozen=True, eq=False)
class Rigid(Constraint):
    """Both frames coincide: six equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return points_coincide(first, second) + frames_align(first, second)
