"""Which columns of a motion are angles: OpenSim goes by the motion type of a coordinate, not by its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from musculo.functions.elementary import Linear
from musculo.model.joints.base import BallMotion, EllipsoidMotion, FreeMotion, FunctionMotion

if TYPE_CHECKING:
    from musculo.model.joints.base import Joint
    from musculo.model.model import Model


def rotational_coordinates(model: Model) -> frozenset[str]:
    """Names of the coordinates that a file in degrees holds in degrees.

    A coordinate is rotational if a rotation of its joint equals it, up to sign; one that drives rotations only through
    curves is "coupled" and stays as it is, as `knee_angle_r_beta` of Rajagopal's model. Where it equals a rotation and
    a translation, the translation counts. This is OpenSim's rule (`CustomJoint`, `Coordinate::getMotionType`).
    """
    return model.derived("rotational_coordinates", lambda: _find(model))


def _find(model: Model) -> frozenset[str]:
    rotational: set[str] = set()
    for joint in model.joints:
        for motion in joint.motions():
            if isinstance(motion, FunctionMotion):
                for axes, kind in ((motion.rotations, True), (motion.translations, False)):
                    for axis in axes:
                        if isinstance(axis.function, Linear) and abs(axis.function.slope) == 1.0:
                            (rotational.update if kind else rotational.difference_update)(axis.coordinates)
            elif isinstance(motion, EllipsoidMotion) or (
                isinstance(motion, BallMotion | FreeMotion) and not motion.quaternion
            ):
                rotational.update(motion.coordinates[:3])
    return frozenset(rotational)


def coordinate_units(model: Model) -> dict[str, str]:
    """The unit of every coordinate: "rad" where it turns anything, "m" where it only slides."""
    turning = set(rotational_coordinates(model))
    for joint in model.joints:
        for motion in joint.motions():
            if isinstance(motion, FunctionMotion):
                turning.update(name for axis in motion.rotations for name in axis.coordinates)
    return {name: "rad" if name in turning else "m" for name in model.coordinate_names}


def shown_units(model: Model) -> dict[str, str]:
    """The unit in which pages show every coordinate: "°", "m", or "rad" where it turns bodies through curves only.

    Of the last kind, as `knee_angle_r_beta` of Rajagopal's model, files hold radians even where they are in degrees.
    """
    turning = rotational_coordinates(model)
    return {name: "°" if name in turning else unit for name, unit in coordinate_units(model).items()}


def sliding_coordinates(joint: Joint) -> frozenset[str]:
    """Coordinates of a joint that are distances: a translation of it equals them, up to sign."""
    found: set[str] = set()
    for motion in joint.motions():
        if isinstance(motion, FunctionMotion):
            for axis in motion.translations:
                if isinstance(axis.function, Linear) and abs(axis.function.slope) == 1.0:
                    found.update(axis.coordinates)
        elif isinstance(motion, FreeMotion):
            found.update(motion.coordinates[-3:])
    return frozenset(found)


def angle_columns(names: Iterable[str], model: Model) -> list[int]:
    """Columns that hold angles or their rates: named by a rotational coordinate, or by a path whose last or
    second-to-last part is one (`/jointset/knee_r/knee_angle_r/value`)."""
    rotational = rotational_coordinates(model)
    found = []
    for k, name in enumerate(names):
        parts = name.split("/")
        if name in rotational or parts[-1] in rotational or (len(parts) > 1 and parts[-2] in rotational):
            found.append(k)
    return found
