"""Two rotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import X_AXIS, Y_AXIS, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class UniversalJoint(Joint):
    """Rotations about x, then y."""

    kind: ClassVar[str] = "UniversalJoint"

    def motions(self) -> tuple[Motion, ...]:
        rx, ry = self.coordinate_names
        return (FunctionMotion(rotations=(along(X_AXIS, rx), along(Y_AXIS, ry))),)
