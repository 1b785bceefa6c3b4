"""Free rotation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from musculo.model.joints.joint import BallMotion, Joint, Motion
from musculo.model.joints.quaternion import quaternion_coordinates


@dataclass(frozen=True)
class BallJoint(Joint):
    """Body-fixed xyz angles with speeds w_FM in F (Seth2010 eq. 8-10, parent frame).

    With `quaternion` the coordinates are four (w, x, y, z) and nothing is singular; the speeds stay three.
    """

    quaternion: bool = False

    kind: ClassVar[str] = "BallJoint"

    def motions(self) -> tuple[Motion, ...]:
        return (BallMotion(self.coordinate_names, self.quaternion),)

    @property
    def speed_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_w{axis}" for axis in "xyz") if self.quaternion else self.coordinate_names

    def with_quaternion(self) -> BallJoint:
        """The same joint with quaternion coordinates; its defaults describe the same orientation."""
        if self.quaternion:
            return self
        return replace(self, quaternion=True, coordinates=quaternion_coordinates(self.name, self.coordinates[:3]))
