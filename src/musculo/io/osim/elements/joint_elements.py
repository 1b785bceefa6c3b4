"""How a file states each kind of joint that OpenSim has: a line a kind.

The reader, the writer and the table of known elements follow from it. A kind that is not here is one that OpenSim does
not have, and is written as the CustomJoint that it equals.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.model.joints import (
    BallJoint,
    EllipsoidJoint,
    FreeJoint,
    GimbalJoint,
    Joint,
    PinJoint,
    PlanarJoint,
    ScapulothoracicJoint,
    SliderJoint,
    UniversalJoint,
    WeldJoint,
)


class Numbers(NamedTuple):
    """Numbers of a joint's class, and the element that holds them."""

    field: str
    element: str
    size: int
    default: tuple[float, ...] | None = None  # None: a file has to state them


class JointElement(NamedTuple):
    """A joint's class, how many coordinates a file gives it, and the numbers that are its own."""

    joint: type[Joint]
    n_coordinates: int
    numbers: tuple[Numbers, ...] = ()


_SCAPULOTHORACIC = (
    Numbers("radii", "thoracic_ellipsoid_radii_x_y_z", 3),
    Numbers("winging_origin", "scapula_winging_axis_origin", 2, (0.0, 0.0)),
    Numbers("winging_direction", "scapula_winging_axis_direction", 1, (0.0,)),
)
JOINT_ELEMENTS: dict[str, JointElement] = {
    element.joint.kind: element
    for element in (
        JointElement(WeldJoint, 0),
        JointElement(PinJoint, 1),
        JointElement(SliderJoint, 1),
        JointElement(UniversalJoint, 2),
        JointElement(GimbalJoint, 3),
        JointElement(BallJoint, 3),
        JointElement(FreeJoint, 6),
        JointElement(PlanarJoint, 3),
        JointElement(EllipsoidJoint, 3, (Numbers("radii", "radii_x_y_z", 3),)),
        JointElement(ScapulothoracicJoint, 4, _SCAPULOTHORACIC),
    )
}
