"""A joint of a model as constraints and drivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from musculo.absolute.constraints.constraint import Constraint, Equations
from musculo.absolute.constraints.cylindrical import Cylindrical
from musculo.absolute.constraints.free import Free
from musculo.absolute.constraints.function_joint import FunctionJoint
from musculo.absolute.constraints.joint_coordinate import AngleCoordinate, SlideCoordinate
from musculo.absolute.constraints.planar import Planar
from musculo.absolute.constraints.revolute import Revolute
from musculo.absolute.constraints.rigid import Rigid
from musculo.absolute.constraints.seth_ellipsoid import SethEllipsoid
from musculo.absolute.constraints.spherical import Spherical
from musculo.absolute.constraints.translational import Translational
from musculo.absolute.drivers.pose_driver import PoseDriver
from musculo.absolute.frame import Frame
from musculo.absolute.terms import Row, frames_align
from musculo.errors import InvalidModel, Unsupported
from musculo.functions.elementary_functions import times
from musculo.model.body import Vec3
from musculo.model.joints.cylindrical_joint import CylindricalJoint
from musculo.model.joints.joint import (
    X_AXIS,
    Y_AXIS,
    Z_AXIS,
    BallMotion,
    EllipsoidMotion,
    FixedPose,
    FreeMotion,
    FunctionMotion,
    Joint,
    Motion,
    along,
)
from musculo.model.joints.pin import PinJoint
from musculo.model.joints.planar_joint import PlanarJoint
from musculo.model.joints.slider import SliderJoint
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import to_xyz

# Joints of the textbook, and which of a joint's coordinates are an angle about z (None) or a distance along an axis.
_TEXTBOOK: dict[type[Joint], tuple[type[Constraint], tuple[Vec3 | None, ...]]] = {
    PinJoint: (Revolute, (None,)),
    SliderJoint: (Translational, (X_AXIS,)),
    CylindricalJoint: (Cylindrical, (None, Z_AXIS)),
    PlanarJoint: (Planar, (None, X_AXIS, Y_AXIS)),
}


class JointEquations(NamedTuple):
    """What a joint becomes."""

    constraints: tuple[Equations, ...]
    driver: PoseDriver | None  # of joints whose speeds are angular velocities
    motion: BallMotion | FreeMotion | EllipsoidMotion | None  # that this driver drives
    inside: Frame  # on the parent, to coincide with `outside` in an assembled mechanism
    outside: Frame

    def released(self) -> JointEquations:
        """The same with a driver that says where the joint was assembled, and drives nothing."""
        if self.driver is None:
            return self
        driver = replace(self.driver, turns=False, moves=False)
        return self._replace(driver=driver, inside=driver.guided)


@dataclass(frozen=True, eq=False)
class Aligned(Constraint):
    """Axes stay parallel: three equations."""

    def rows(self) -> tuple[Row, ...]:
        first, second = self.frames
        return frames_align(first, second)


def joint_equations(joint: Joint, textbook: bool, by_angles: bool) -> JointEquations:
    """The constraints of a joint from its parent to its child.

    Args:
        joint: the joint.
        textbook: hinges, sliders, cylindrical and planar joints as equations of their own, with their coordinates
            measured beside; by default they are functions of coordinates, as all others are.
        by_angles: ball, free and ellipsoid joints by their angles as unknowns, not by a driver of the whole pose.

    Raises:
        Unsupported: a row of motions that is none of these.
    """
    before, motion, turn, after = _parts(joint)
    if isinstance(motion, FunctionMotion):
        if textbook and type(joint) in _TEXTBOOK:
            return _textbook(joint)
        inside = Frame(joint.parent, motion, turn.after, before)
        outside = Frame(joint.child)
        return JointEquations((FunctionJoint(joint.name, inside, outside),), None, None, inside, outside)
    inside, outside = Frame(joint.parent, before=before), Frame(joint.child, turn.motion, after, turn.before)
    if motion is None or isinstance(motion, FixedPose):
        return JointEquations((Rigid(joint.name, inside, outside),), None, None, inside, outside)
    free = isinstance(motion, FreeMotion)
    if by_angles and not isinstance(motion, EllipsoidMotion) and motion.quaternion:
        raise InvalidModel(
            f"joint {joint.name!r} has quaternion coordinates, of which one is locked, prescribed or coupled; "
            "use its angles instead"
        )
    driver = PoseDriver(f"drive {joint.name}", inside, outside, not by_angles, free and not by_angles)
    constraints: list[Equations] = []
    if isinstance(motion, EllipsoidMotion):
        constraints.append(SethEllipsoid(joint.name, inside, outside, motion.radii))
    elif isinstance(motion, BallMotion):
        constraints.append(Spherical(joint.name, inside, outside))
    elif not by_angles:
        constraints.append(Free(joint.name, inside, outside))
    if by_angles:
        rx, ry, rz = motion.coordinates[:3]
        turns = (along(X_AXIS, rx), along(Y_AXIS, ry), along(Z_AXIS, rz))
        slides = tuple(
            along(a, name) for a, name in zip((X_AXIS, Y_AXIS, Z_AXIS), motion.coordinates[3:], strict=False)
        )
        moved = Frame(joint.parent, FunctionMotion(turns, slides), before=before)
        if free:
            constraints.append(FunctionJoint(joint.name, moved, outside))
        else:
            constraints.append(Aligned(f"{joint.name} angles", moved, outside))
    return JointEquations(tuple(constraints), driver, motion, driver.guided, outside)


class _Turn(NamedTuple):
    """What follows the motion of a joint, as the child has it."""

    motion: FunctionMotion | None = None
    before: FixedPose = FixedPose()
    after: FixedPose = FixedPose()


def _parts(joint: Joint) -> tuple[FixedPose, Motion | None, _Turn, FixedPose]:
    """A fixed pose, the motion, and what is behind it: a rotation seen from the child, and a fixed pose behind that.

    Raises:
        Unsupported: more than one motion before the last, or one that moves beside its turn.
    """
    motions = joint.motions()
    moving = [k for k, m in enumerate(motions) if not isinstance(m, FixedPose)]
    if not moving:
        return _joined(motions), None, _Turn(), FixedPose()
    first = moving[0]
    before, motion, rest = _joined(motions[:first]), motions[first], motions[first + 1 :]
    if isinstance(motion, FunctionMotion):
        if len(moving) > 1:
            raise _unsupported(joint)
        return before, motion, _Turn(after=_joined(rest)), FixedPose()
    if len(moving) == 1:
        # seen from the child, what is behind comes first and backwards
        return before, motion, _Turn(before=_backwards(rest)), FixedPose()
    behind = motions[moving[1]]
    if len(moving) > 2 or not isinstance(behind, FunctionMotion) or behind.translations or len(behind.rotations) != 1:
        raise _unsupported(joint)
    (axis,) = behind.rotations
    back = FunctionMotion((replace(axis, function=times(axis.function, -1.0)),))
    return before, motion, _Turn(back, _backwards(motions[moving[1] + 1 :])), _backwards(motions[first + 1 : moving[1]])


def _unsupported(joint: Joint) -> Unsupported:
    return Unsupported(
        f"joint {joint.name!r} ({joint.kind}) has motions in a row that absolute coordinates have no equations for; "
        "split it into joints with a body between them"
    )


def _joined(motions: Sequence[Motion]) -> FixedPose:
    """Fixed poses in a row as one; a single one as it is."""
    fixed = [m for m in motions if isinstance(m, FixedPose)]
    if len(fixed) == 1:
        return fixed[0]
    X = Pose.identity()
    for m in fixed:
        X = X @ Pose.from_xyz(m.orientation, m.translation)
    return _fixed(X)


def _backwards(motions: Sequence[Motion]) -> FixedPose:
    joined = _joined(motions)
    return _fixed(Pose.from_xyz(joined.orientation, joined.translation).inverse())


def _fixed(X: Pose) -> FixedPose:
    x, y, z = to_xyz(X.R).tolist()
    a, b, c = X.p.tolist()
    return FixedPose((a, b, c), (x, y, z))


def _textbook(joint: Joint) -> JointEquations:
    kind, measured = _TEXTBOOK[type(joint)]
    inside, outside = Frame(joint.parent), Frame(joint.child)
    constraints: list[Equations] = [kind(joint.name, inside, outside)]
    for name, what in zip(joint.coordinate_names, measured, strict=True):
        label = f"{joint.name} {name}"
        if what is None:
            constraints.append(AngleCoordinate(label, inside, outside, name))
        else:
            constraints.append(SlideCoordinate(label, inside, outside, name, what))
    (motion,) = joint.motions()
    assert isinstance(motion, FunctionMotion)
    return JointEquations(tuple(constraints), None, None, Frame(joint.parent, motion), outside)
