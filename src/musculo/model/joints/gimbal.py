"""Three rotations whose speeds are the derivatives of the angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class GimbalJoint(Joint):
    """Body-fixed rotations about x, y, z; singular at ry = +-90 degrees."""

    kind: ClassVar[str] = "GimbalJoint"

    def motions(self) -> tuple[Motion, ...]:
        rx, ry, rz = self.coordinate_names
        return (FunctionMotion(rotations=(along(X_AXIS, rx), along(Y_AXIS, ry), along(Z_AXIS, rz))),)
