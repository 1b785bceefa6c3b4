"""All six motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from musculo.model.joints.joint import FreeMotion, Joint, Motion
from musculo.model.joints.quaternion import quaternion_coordinates


@dataclass(frozen=True)
class FreeJoint(Joint):
    """Coordinates rx, ry, rz, tx, ty, tz with speeds (w_FM, v_FM) in F.

    With `quaternion` the first coordinates are four (w, x, y, z) and nothing is singular; the speeds stay six.
    """

    quaternion: bool = False

    kind: ClassVar[str] = "FreeJoint"

    def motions(self) -> tuple[Motion, ...]:
        return (FreeMotion(self.coordinate_names, self.quaternion),)

    @property
    def speed_names(self) -> tuple[str, ...]:
        if not self.quaternion:
            return self.coordinate_names
        return tuple(f"{self.name}_w{axis}" for axis in "xyz") + self.coordinate_names[4:]

    def with_quaternion(self) -> FreeJoint:
        """The same joint with quaternion coordinates; its defaults describe the same pose."""
        if self.quaternion:
            return self
        turned = quaternion_coordinates(self.name, self.coordinates[:3])
        return replace(self, quaternion=True, coordinates=turned + self.coordinates[3:])
