"""One rotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import Z_AXIS, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class PinJoint(Joint):
    """Rotation about z."""

    kind: ClassVar[str] = "PinJoint"

    def motions(self) -> tuple[Motion, ...]:
        (angle,) = self.coordinate_names
        return (FunctionMotion(rotations=(along(Z_AXIS, angle),)),)
