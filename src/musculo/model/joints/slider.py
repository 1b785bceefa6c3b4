"""One translation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import X_AXIS, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class SliderJoint(Joint):
    """Translation along x."""

    kind: ClassVar[str] = "SliderJoint"

    def motions(self) -> tuple[Motion, ...]:
        (x,) = self.coordinate_names
        return (FunctionMotion(translations=(along(X_AXIS, x),)),)
