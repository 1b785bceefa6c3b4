"""A hinge that slides along its axis."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, along, directions_align
from musculo.model.joints.joint import X_AXIS, Y_AXIS


@dataclass(frozen=True, eq=False)
class Cylindrical(Constraint):
    """Both z axes are one: four equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((along(first, X_AXIS, second),), (along(first, Y_AXIS, second),), *directions_align(first, second))
