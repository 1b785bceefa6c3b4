"""What a joint grants: a row of elementary motions between a frame F on the parent and a frame M on the child.

A joint says only this; transforms, hinge matrices, their derivatives and reversal follow from it in `kernels`
(Seth2010 eq. 1-4, 15-35).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from musculo.functions.elementary_functions import Constant, Linear, times
from musculo.functions.function import Function
from musculo.model.body import Placement, Vec3
from musculo.model.coordinate import Coordinate

X_AXIS: Vec3 = (1.0, 0.0, 0.0)
Y_AXIS: Vec3 = (0.0, 1.0, 0.0)
Z_AXIS: Vec3 = (0.0, 0.0, 1.0)
UNSCALED: Vec3 = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Axis:
    """One elementary motion: `function` of the named coordinates, about or along `direction` (normalized on use).

    Without coordinates the motion is the constant `function` (a fixed rotation or offset).
    """

    direction: Vec3
    function: Function = field(default_factory=lambda: Constant(0.0))
    coordinates: tuple[str, ...] = ()

    def scaled(self, factors: Vec3) -> Axis:
        """A translation between bones that grow: f' = f (|a_x| s_x + |a_y| s_y + |a_z| s_z), as OpenSim has it.

        A translation that is the coordinate itself is free to be what it is, and stays.
        """
        if self.function == Linear(1.0, 0.0) or factors == UNSCALED:
            return self
        growth = math.fsum(abs(d) * s for d, s in zip(self.direction, factors, strict=True))
        return replace(self, function=times(self.function, growth))


def along(direction: Vec3, coordinate: str) -> Axis:
    """The motion that equals the coordinate itself."""
    return Axis(direction, Linear(1.0, 0.0), (coordinate,))


@dataclass(frozen=True)
class FixedPose:
    """A constant pose inside a joint: rotate by body-fixed xyz `orientation`, placed at `translation`."""

    translation: Vec3 = (0.0, 0.0, 0.0)
    orientation: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class FunctionMotion:
    """X_FM = [R(a1, f1) R(a2, f2) R(a3, f3) | sum f_i a_i], speeds are coordinate derivatives (Seth2010 eq. 18-35)."""

    rotations: tuple[Axis, ...] = ()
    translations: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class BallMotion:
    """Rotation by body-fixed xyz angles, or by a unit quaternion w, x, y, z; the speeds are w_FM in F."""

    coordinates: tuple[str, ...]
    quaternion: bool = False


@dataclass(frozen=True)
class FreeMotion:
    """A ball's rotation coordinates, then the translation in F; the speeds are (w_FM, v_FM) in F."""

    coordinates: tuple[str, ...]
    quaternion: bool = False


@dataclass(frozen=True)
class EllipsoidMotion:
    """p = diag(radii) R e_z with a ball's rotation and speeds (Seth2010 eq. 11-14).

    Departs: the paper calls n = R e_z the normal of the ellipsoid; it is so only for equal radii.
    """

    coordinates: tuple[str, ...]
    radii: Vec3


Motion = FixedPose | FunctionMotion | BallMotion | FreeMotion | EllipsoidMotion


@dataclass(frozen=True)
class Joint(ABC):
    """A joint from `parent` (frame F) to `child` (frame M); its coordinates in the order of its file.

    `carried` holds XML elements of the file that have no mechanics and are written back as they came.
    """

    name: str
    parent: Placement  # or the name of a body, for its own frame
    child: Placement
    coordinates: tuple[Coordinate, ...] = ()
    carried: tuple[str, ...] = ()

    kind: ClassVar[str] = "Joint"

    def __post_init__(self) -> None:
        # the name of a body stands for its own frame
        for side in ("parent", "child"):
            if isinstance(getattr(self, side), str):
                object.__setattr__(self, side, Placement(getattr(self, side)))

    @abstractmethod
    def motions(self) -> tuple[Motion, ...]:
        """The joint as a row of motions and fixed poses, from F to M."""

    def scaled(self, parent: Vec3, child: Vec3) -> Self:
        """The joint between bones of other sizes: its own lengths times the factors (x, y, z) of parent and child.

        A joint that has lengths of its own says here how they grow. Its placements are scaled with the bodies that
        they are on (`scale_model`).
        """
        return self

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the joint's coordinates."""
        return tuple(c.name for c in self.coordinates)

    @property
    def speed_names(self) -> tuple[str, ...]:
        """Names of the joint's speeds: those of its coordinates, unless it uses a quaternion."""
        return self.coordinate_names
