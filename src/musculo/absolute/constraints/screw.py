"""A nut on a bolt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.frame import Frame, framed
from musculo.absolute.terms import Row, frames_align, points_coincide
from musculo.functions.elementary_functions import Linear
from musculo.model.joints.joint import Z_AXIS, Axis, FunctionMotion, along


@dataclass(frozen=True, eq=False)
class Screw(Constraint):
    """Turns about z by `coordinate` and moves along it by `pitch` times that: six equations, one more unknown.

    The angle is an unknown since the frames alone do not say how many turns were made.
    """

    coordinate: str = "angle"
    pitch: float = 0.0  # [m/rad]

    @cached_property
    def frames(self) -> tuple[Frame, Frame]:
        slide = Axis(Z_AXIS, Linear(self.pitch, 0.0), (self.coordinate,))
        motion = FunctionMotion((along(Z_AXIS, self.coordinate),), (slide,))
        return Frame(framed(self.first).place, motion), framed(self.second)

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return points_coincide(first, second) + frames_align(first, second)
