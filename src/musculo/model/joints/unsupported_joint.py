"""A joint of a kind that musculo reads and writes but cannot compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.errors import Unsupported
from musculo.model.joints.joint import Joint, Motion


@dataclass(frozen=True)
class UnsupportedJoint(Joint):
    """Keeps its place in the tree and its XML; asking for its motion says why there is none."""

    element: str = ""
    reason: str = ""

    kind: ClassVar[str] = "UnsupportedJoint"

    def motions(self) -> tuple[Motion, ...]:
        raise Unsupported(
            f"joint {self.name!r} is a {self.element}, which musculo cannot compute ({self.reason}); "
            "replace it by a CustomJoint or another supported kind"
        )
