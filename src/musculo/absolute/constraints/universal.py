"""A cardan joint."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, dot, points_coincide
from musculo.model.joints.joint import X_AXIS, Y_AXIS


@dataclass(frozen=True, eq=False)
class Universal(Constraint):
    """Origins coincide, and x of the first frame is across y of the second: four equations.

    It turns about these two axes: x of the first frame, then y of the second.
    """

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return (*points_coincide(first, second), (dot(first, X_AXIS, second, Y_AXIS),))
