"""The same motion in angles and in quaternions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.speed_rates import TurningJoint, turning_joints
from musculo.errors import InvalidInput
from musculo.model.joints.ball import BallJoint
from musculo.model.joints.free_joint import FreeJoint
from musculo.model.model import Model
from musculo.spatial.rotation import from_quaternion, quaternion_from_xyz, to_xyz


def with_quaternions(model: Model) -> Model:
    """The model with quaternion coordinates in every ball and free joint: singular nowhere, with the same speeds.

    Use `change_coordinates` to bring motions across; speeds and forces stay as they are.
    """
    joints = tuple(j.with_quaternion() if isinstance(j, BallJoint | FreeJoint) else j for j in model.joints)
    return model.replace(joints=joints)


def change_coordinates(q: ArrayLike, of: Model, to: Model) -> FloatArray:
    """Coordinates of one model as those of another that differs in its quaternions alone, (frames, n) or (n,).

    Signs of successive quaternions are chosen so that they do not jump; so are angles by full turns.
    """
    Q, single = coordinates_of(of, q)
    result = np.full((len(Q), len(to.coordinate_names)), np.nan)
    known = {name: k for k, name in enumerate(of.coordinate_names)}
    for k, name in enumerate(to.coordinate_names):
        if name in known:
            result[:, k] = Q[:, known[name]]
    before = {joint.joint: joint for joint in turning_joints(of)}
    for joint in turning_joints(to):
        if joint.joint in before:
            _carry(Q, before[joint.joint], result, joint)
    if np.isnan(result).any():
        missing = to.coordinate_names[int(np.argwhere(np.isnan(result))[0, 1])]
        raise InvalidInput(f"the two models differ in more than quaternions: coordinate {missing!r} has no source")
    return result[0] if single else result


def _carry(Q: FloatArray, of: TurningJoint, result: FloatArray, to: TurningJoint) -> None:
    given = Q[:, list(of.q)]
    if len(of.q) == len(to.q):
        result[:, list(to.q)] = given
    elif len(to.q) == 4:
        quaternions = quaternion_from_xyz(given)
        turns = np.sign(np.sum(quaternions[1:] * quaternions[:-1], axis=1))
        quaternions[1:] *= np.cumprod(np.where(turns == 0, 1.0, turns))[:, None]
        result[:, list(to.q)] = quaternions
    else:
        result[:, list(to.q)] = np.unwrap(to_xyz(from_quaternion(given)), axis=0)
