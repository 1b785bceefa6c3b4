"""Surfaces that muscles slide over, fixed to a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from musculo.model.body import Vec3

# The sides of a wrap object that a path may be held to; `all` leaves the choice to the shortest way.
QUADRANTS = ("all", "x", "+x", "-x", "y", "+y", "-y", "z", "+z", "-z")


@dataclass(frozen=True)
class WrapObject:
    """A surface fixed to `frame` (a body name, `ground`, or the path of an offset frame).

    X_FW = (Rxyz(orientation), translation): body-fixed x, y, z angles [rad]. An object that is not `active` is never
    touched. `carried` holds XML without mechanics (appearance), written back as it came.
    """

    name: str
    frame: str
    translation: Vec3 = (0.0, 0.0, 0.0)
    orientation: Vec3 = (0.0, 0.0, 0.0)
    quadrant: str = "all"
    active: bool = True
    carried: tuple[str, ...] = ()

    kind: ClassVar[str] = "WrapObject"


@dataclass(frozen=True)
class WrapCylinder(WrapObject):
    """A cylinder about the frame's z axis, centerd on its origin [m]."""

    radius: float = 1.0
    length: float = 1.0

    kind: ClassVar[str] = "WrapCylinder"


@dataclass(frozen=True)
class WrapSphere(WrapObject):
    """A sphere about the frame's origin [m]."""

    radius: float = 0.05

    kind: ClassVar[str] = "WrapSphere"


@dataclass(frozen=True)
class WrapEllipsoid(WrapObject):
    """An ellipsoid with these semi-axes along x, y, z [m]."""

    semi_axes: Vec3 = (0.05, 0.05, 0.05)

    kind: ClassVar[str] = "WrapEllipsoid"


@dataclass(frozen=True)
class WrapTorus(WrapObject):
    """A ring about the z axis; the path passes through its hole [m].

    `inner_radius` is that of the tube, `outer_radius` that of the ring's center line, as in the file.
    """

    inner_radius: float = 0.01
    outer_radius: float = 0.05

    kind: ClassVar[str] = "WrapTorus"


@dataclass(frozen=True)
class UnsupportedWrapObject(WrapObject):
    """A wrap surface of a kind that is carried only; `element` is its kind and `carried` all its XML."""

    element: str = ""

    kind: ClassVar[str] = "UnsupportedWrapObject"
