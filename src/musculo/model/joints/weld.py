"""No motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.joints.joint import Joint, Motion


@dataclass(frozen=True)
class WeldJoint(Joint):
    """F and M coincide."""

    kind: ClassVar[str] = "WeldJoint"

    def motions(self) -> tuple[Motion, ...]:
        return ()
