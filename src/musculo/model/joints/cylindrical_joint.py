"""Rotation about an axis and translation along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import Z_AXIS, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class CylindricalJoint(Joint):
    """Rotation about z and translation along z; coordinates rz, tz. OpenSim has none: written as a CustomJoint."""

    kind: ClassVar[str] = "CylindricalJoint"

    def motions(self) -> tuple[Motion, ...]:
        rz, tz = self.coordinate_names
        return (FunctionMotion((along(Z_AXIS, rz),), (along(Z_AXIS, tz),)),)
