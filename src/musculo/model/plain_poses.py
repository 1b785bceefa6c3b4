"""Poses of bodies in NumPy, without kernels: for what is said of a file while it is read."""

from __future__ import annotations

import numpy as np

from musculo.errors import Unsupported
from musculo.functions.plain import plain_value
from musculo.model.body import GROUND, Placement
from musculo.model.constraint import CoordinateCoupler
from musculo.model.joints.base import Axis, BallMotion, EllipsoidMotion, FixedPose, FreeMotion, FunctionMotion, Joint
from musculo.model.model import Model
from musculo.model.tree import tree_order
from musculo.spatial.rotation import FloatArray, from_xyz

# A coordinate without a finite range is moved so far either way [rad or m].
_REACH, _FAR = 1.0, 50.0

Poses = tuple[FloatArray, FloatArray]  # R (poses, 3, 3) and p (poses, 3) of a frame in ground


def sampled_coordinates(model: Model, count: int) -> dict[str, FloatArray]:
    """Each coordinate in 1 + count poses: the default one, then some that fill the ranges evenly.

    Locked and coupled coordinates follow; prescribed ones stay at their default, and loops may be open.

    Raises:
        Unsupported: a coupler whose function has no value without a kernel.
    """
    q: dict[str, FloatArray] = {}
    for k, c in enumerate(model.coordinates):
        # multiples of irrational steps, one a coordinate, fill the unit cube evenly
        share = (np.arange(1, count + 1) * (np.sqrt(k + 2.0 + np.sqrt(2.0)) % 1.0)) % 1.0
        low, high = c.range
        if not (abs(low) < _FAR and abs(high) < _FAR):
            low, high = c.default_value - _REACH, c.default_value + _REACH
        held = c.locked or c.prescribed
        q[c.name] = np.r_[c.default_value, np.full(count, c.default_value) if held else low + (high - low) * share]
    couplers = [one for one in model.constraints if isinstance(one, CoordinateCoupler) and one.enforced]
    for _ in couplers[:2]:  # twice, for those that hang on others
        for one in couplers:
            if len(one.independents) != 1 or one.function is None:
                raise Unsupported(f"coupler {one.name!r} is a function of {len(one.independents)} coordinates")
            q[one.dependent] = one.scale * plain_value(one.function, q[one.independents[0]])
    return q


def plain_poses(model: Model, q: dict[str, FloatArray]) -> dict[str, Poses]:
    """Every body in ground, in the poses of `q`: an array (poses,) for each coordinate.

    Raises:
        Unsupported: a joint without motion, of quaternions, or whose functions need a kernel.
        InvalidModel: bodies that no joint connects to ground.
    """
    count = len(next(iter(q.values()))) if q else 1
    ground = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))
    found: dict[str, Poses] = {GROUND: ground}
    for edge in tree_order(model.joints, model.body_names):
        joint = model.joints[edge.joint_index]
        across = _moved(joint, q, ground)
        if edge.reversed:
            found[joint.parent.body] = _times(found[joint.child.body], _inverse(across))
        else:
            found[joint.child.body] = _times(found[joint.parent.body], across)
    return found


def _moved(joint: Joint, q: dict[str, FloatArray], still: Poses) -> Poses:
    """The child body in the parent body."""
    X = _times(still, _fixed(joint.parent))
    for motion in joint.motions():
        if isinstance(motion, FixedPose):
            X = _times(X, (from_xyz(motion.orientation)[None], np.asarray(motion.translation, dtype=float)[None]))
        elif isinstance(motion, FunctionMotion):
            R, p = still
            for axis in motion.rotations:
                R = R @ _turn(axis, q)
            for axis in motion.translations:
                p = p + _amount(axis, q)[:, None] * _unit(axis)
            X = _times(X, (R, p))
        elif isinstance(motion, BallMotion | FreeMotion) and not motion.quaternion:
            names = motion.coordinates
            R = np.array([from_xyz(angles) for angles in zip(*(q[n] for n in names[:3]), strict=True)])
            p = still[1] if isinstance(motion, BallMotion) else np.stack([q[n] for n in names[3:6]], axis=-1)
            X = _times(X, (R, p))
        elif isinstance(motion, EllipsoidMotion):
            R = np.array([from_xyz(angles) for angles in zip(*(q[n] for n in motion.coordinates), strict=True)])
            X = _times(X, (R, R[:, :, 2] * np.asarray(motion.radii, dtype=float)))
        else:
            raise Unsupported(f"joint {joint.name!r} has no pose without a kernel")
    return _times(X, _inverse(_fixed(joint.child)))


def _fixed(placement: Placement) -> Poses:
    return from_xyz(placement.orientation)[None], np.asarray(placement.translation, dtype=float)[None]


def _times(X: Poses, Y: Poses) -> Poses:
    return X[0] @ Y[0], X[1] + (X[0] @ Y[1][..., None])[..., 0]


def _inverse(X: Poses) -> Poses:
    R = X[0].swapaxes(-1, -2)
    return R, -(R @ X[1][..., None])[..., 0]


def _amount(axis: Axis, q: dict[str, FloatArray]) -> FloatArray:
    if len(axis.coordinates) > 1:
        raise Unsupported("a motion of several coordinates has no value without a kernel")
    at = q[axis.coordinates[0]] if axis.coordinates else np.zeros(len(next(iter(q.values()))) if q else 1)
    return plain_value(axis.function, at)


def _unit(axis: Axis) -> FloatArray:
    direction = np.asarray(axis.direction, dtype=float)
    return direction / np.linalg.norm(direction)


def _turn(axis: Axis, q: dict[str, FloatArray]) -> FloatArray:
    """Rodrigues' formula, (poses, 3, 3)."""
    x, y, z = _unit(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = _amount(axis, q)[:, None, None]
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)
