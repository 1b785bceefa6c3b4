"""A bead on a wire."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, along
from musculo.model.joints.joint import X_AXIS, Y_AXIS


@dataclass(frozen=True, eq=False)
class PointOnLine(Constraint):
    """The second origin is on the z axis of the first frame: two equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((along(first, X_AXIS, second),), (along(first, Y_AXIS, second),))
