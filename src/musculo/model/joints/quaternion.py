"""Quaternion coordinates in place of three angles."""

from __future__ import annotations

from collections.abc import Sequence

from musculo.errors import InvalidModel
from musculo.model.coordinate import Coordinate
from musculo.spatial.rotation import quaternion_from_xyz


def quaternion_coordinates(joint: str, angles: Sequence[Coordinate]) -> tuple[Coordinate, ...]:
    """Coordinates w, x, y, z named after the joint, with the orientation of the angles' defaults.

    Raises:
        InvalidModel: an angle is locked or prescribed, which a quaternion cannot express.
    """
    for angle in angles:
        if angle.locked or angle.prescribed:
            raise InvalidModel(
                f"coordinate {angle.name!r} of joint {joint!r} is locked or prescribed; "
                "quaternion coordinates depend on each other, so unlock it first or keep the angles"
            )
    values = quaternion_from_xyz([angle.default_value for angle in angles])
    return tuple(
        Coordinate(f"{joint}_q{part}", default_value=float(value), range=(-1.0, 1.0))
        for part, value in zip("wxyz", values, strict=True)
    )
