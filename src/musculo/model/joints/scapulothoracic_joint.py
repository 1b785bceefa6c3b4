"""OpenSim's scapula: gliding on the thoracic ellipsoid, then winging about an axis in its tangent plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from musculo.model.body import Vec3
from musculo.model.joints.joint import EllipsoidMotion, FixedPose, FunctionMotion, Joint, Motion, along


@dataclass(frozen=True)
class ScapulothoracicJoint(Joint):
    """X_FM = A E(q0..q2) A^-1 T(w) R(d, q3) T(-w), A = R(z, 90 deg), d = (-sin, cos, 0) of `winging_direction`.

    E is the ellipsoid mobilizer with radii (r_y, r_x, r_z). Coordinates: abduction, elevation, upward rotation,
    winging. The first three speeds are the angular velocity across E in its own F; the fourth is a derivative.
    """

    radii: Vec3 = (1.0, 1.0, 1.0)
    winging_origin: tuple[float, float] = (0.0, 0.0)
    winging_direction: float = 0.0

    kind: ClassVar[str] = "ScapulothoracicJoint"

    def motions(self) -> tuple[Motion, ...]:
        *glide, winging = self.coordinate_names
        w_x, w_y = self.winging_origin
        direction = (-math.sin(self.winging_direction), math.cos(self.winging_direction), 0.0)
        r_x, r_y, r_z = self.radii
        return (
            FixedPose(orientation=(0.0, 0.0, math.pi / 2)),
            EllipsoidMotion(tuple(glide), (r_y, r_x, r_z)),
            FixedPose(orientation=(0.0, 0.0, -math.pi / 2)),
            FixedPose(translation=(w_x, w_y, 0.0)),
            FunctionMotion(rotations=(along(direction, winging),)),
            FixedPose(translation=(-w_x, -w_y, 0.0)),
        )

    def scaled(self, parent: Vec3, child: Vec3) -> ScapulothoracicJoint:
        """The ellipsoid is the thorax, on the parent; the winging axis is on the child."""
        (x, y, z), (w_x, w_y) = self.radii, self.winging_origin
        return replace(
            self,
            radii=(x * parent[0], y * parent[1], z * parent[2]),
            winging_origin=(w_x * child[0], w_y * child[1]),
        )
