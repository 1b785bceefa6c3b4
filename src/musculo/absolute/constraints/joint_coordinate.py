"""Coordinates of joints whose own equations have none: an angle about an axis, a distance along one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.frame import Frame, framed
from musculo.absolute.terms import Row, along, dot, function_of
from musculo.functions.elementary_functions import Linear
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, FunctionMotion
from musculo.model.joints.joint import along as turning_by


@dataclass(frozen=True, eq=False)
class AngleCoordinate(Constraint):
    """`coordinate` is the angle about z: one equation, the sine of what is left of the angle."""

    coordinate: str = ""

    @cached_property
    def frames(self) -> tuple[Frame, Frame]:
        turned = FunctionMotion((turning_by(Z_AXIS, self.coordinate),))
        return Frame(framed(self.first).place, turned), framed(self.second)

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return ((dot(first, X_AXIS, second, Y_AXIS),),)


@dataclass(frozen=True, eq=False)
class SlideCoordinate(Constraint):
    """`coordinate` is how far the second origin is along an axis of the first frame: one equation."""

    coordinate: str = ""
    axis: Vec3 = X_AXIS

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        own = function_of(Linear(1.0, 0.0), (self.coordinate,))
        return ((along(first, self.axis, second), -own),)
