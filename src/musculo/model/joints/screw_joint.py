"""Rotation and translation coupled by a pitch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from musculo.functions.elementary_functions import Linear
from musculo.model.body import Vec3
from musculo.model.joints.joint import Z_AXIS, Axis, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class ScrewJoint(Joint):
    """Rotation about z by q and translation along z by `pitch` q [m/rad] (Seth2010 eq. 5-7).

    OpenSim has none: written as a CustomJoint. Its pitch grows with the parent's bone, as OpenSim scales that joint;
    a pitch of exactly 1 stays, because OpenSim takes such a translation for the coordinate itself.
    """

    pitch: float = 0.0

    kind: ClassVar[str] = "ScrewJoint"

    def motions(self) -> tuple[Motion, ...]:
        (angle,) = self.coordinate_names
        return (FunctionMotion((along(Z_AXIS, angle),), (Axis(Z_AXIS, Linear(self.pitch, 0.0), (angle,)),)),)

    def scaled(self, parent: Vec3, child: Vec3) -> ScrewJoint:
        return self if self.pitch == 1.0 else replace(self, pitch=self.pitch * parent[2])
