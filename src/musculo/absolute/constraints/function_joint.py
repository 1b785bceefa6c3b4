"""A joint whose pose is a function of coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.terms import Row, frames_align, points_coincide


@dataclass(frozen=True, eq=False)
class FunctionJoint(Constraint):
    """The second frame coincides with the first, which moves on its body by functions of coordinates.

    Six equations and one more unknown for each coordinate: X_FM = X(q), q unknown. Nothing is projected, so that a
    joint that grants two coordinates and one that grants five are the same code, and so that couplers, locks and
    drivers find the coordinates as unknowns.

    Source: Seth2010 eq. 18-35 for X(q), [R1 R2 R3 | A p].
    """

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return points_coincide(first, second) + frames_align(first, second)
