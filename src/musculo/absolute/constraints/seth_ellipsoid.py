"""A frame that slides over an ellipsoid with its own z axis as the parameter of the surface."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.constraints.constraint import Constraint
from musculo.absolute.constraints.point_on_ellipsoid import checked_radii
from musculo.absolute.terms import AXES, Row, along, dot
from musculo.model.body import Vec3
from musculo.model.joints.joint import Z_AXIS


@dataclass(frozen=True, eq=False)
class SethEllipsoid(Constraint):
    """p = diag(radii) R e_z: three equations a_k . d - r_k a_k . z.

    Source:  Seth2010 eq. 11-14.
    Departs: the paper calls R e_z the normal of the ellipsoid, which it is for equal radii only.

    OpenSim's scapulothoracic joint is this with a second frame that turns about the winging axis.
    """

    radii: Vec3 = (1.0, 1.0, 1.0)

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return tuple(
            (along(first, axis, second), dot(first, axis, second, Z_AXIS) * -r)
            for axis, r in zip(AXES, checked_radii(self.radii), strict=True)
        )
