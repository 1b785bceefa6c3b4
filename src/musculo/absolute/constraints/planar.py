"""A plate on a table."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, along, directions_align
from musculo.model.joints.joint import Z_AXIS


@dataclass(frozen=True, eq=False)
class Planar(Constraint):
    """The second frame stays in the x-y plane of the first: three equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((along(first, Z_AXIS, second),), *directions_align(first, second))
