"""Motion in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class PlanarJoint(Joint):
    """Rotation about z and translations along x and y of the parent frame; coordinates rz, tx, ty."""

    kind: ClassVar[str] = "PlanarJoint"

    def motions(self) -> tuple[Motion, ...]:
        rz, tx, ty = self.coordinate_names
        return (FunctionMotion((along(Z_AXIS, rz),), (along(X_AXIS, tx), along(Y_AXIS, ty))),)
