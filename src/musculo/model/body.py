"""What has mass: bodies, and the frames and markers fixed to them."""

from __future__ import annotations

from dataclasses import dataclass

Vec3 = tuple[float, float, float]
Vec6 = tuple[float, float, float, float, float, float]

GROUND = "ground"


@dataclass(frozen=True)
class Body:
    """A rigid body.

    `inertia` is (xx, yy, zz, xy, xz, yz) about the mass center in body axes [kg m^2].
    `carried` holds XML elements (appearance, geometry) that have no mechanics and are written back as they came.
    """

    name: str
    mass: float
    mass_center: Vec3 = (0.0, 0.0, 0.0)
    inertia: Vec6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placement:
    """Where something sits on a body: a frame F fixed to `body`, X_BF = (Rxyz(orientation), translation).

    Body-fixed x, y, z angles [rad]. `name` is the name of the offset frame in its file; an empty name with no offset
    means the body frame itself.
    """

    body: str
    translation: Vec3 = (0.0, 0.0, 0.0)
    orientation: Vec3 = (0.0, 0.0, 0.0)
    name: str = ""
    carried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frame:
    """A named frame of the file that belongs to no joint. `path` is its absolute path, X_BF = `placement`."""

    path: str
    placement: Placement


@dataclass(frozen=True)
class Marker:
    """A point fixed to a frame. `frame` is a body name, `ground`, or the path of an offset frame."""

    name: str
    frame: str
    location: Vec3
    fixed: bool = False
    carried: tuple[str, ...] = ()
