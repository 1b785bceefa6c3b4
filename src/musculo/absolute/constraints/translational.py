"""A slider."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, along, frames_align
from musculo.model.joints.joint import Y_AXIS, Z_AXIS


@dataclass(frozen=True, eq=False)
class Translational(Constraint):
    """Axes stay parallel and the second origin is on x of the first frame: five equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((along(first, Y_AXIS, second),), (along(first, Z_AXIS, second),), *frames_align(first, second))
