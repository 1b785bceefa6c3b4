"""A frame that slides over an ellipsoid, as the scapula over the thorax."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from musculo.model.body import Vec3
from musculo.model.joints.joint import EllipsoidMotion, Joint, Motion


@dataclass(frozen=True)
class EllipsoidJoint(Joint):
    """Body-fixed xyz angles, p = diag(radii) R e_z, speeds w_FM in F (Seth2010 eq. 11-14)."""

    radii: Vec3 = (1.0, 1.0, 1.0)

    kind: ClassVar[str] = "EllipsoidJoint"

    def motions(self) -> tuple[Motion, ...]:
        return (EllipsoidMotion(self.coordinate_names, self.radii),)

    def scaled(self, parent: Vec3, child: Vec3) -> EllipsoidJoint:
        x, y, z = self.radii
        return replace(self, radii=(x * parent[0], y * parent[1], z * parent[2]))
