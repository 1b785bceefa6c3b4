"""Between speeds and coordinate derivatives: qdot = N(q) u."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.errors import SingularSystem
from musculo.model.joints.joint import BallMotion, EllipsoidMotion, FreeMotion
from musculo.model.model import Model

# Closer to 90 degrees than this (cosine of the second angle) N has few correct digits left, and soon none.
_LOCKED = 1e-12


class TurningJoint(NamedTuple):
    """Where a joint whose speeds are an angular velocity in F has its rotation: columns of q and of u."""

    joint: str
    q: tuple[int, ...]  # three angles, or four of a quaternion
    u: tuple[int, int, int]


def turning_joints(model: Model) -> tuple[TurningJoint, ...]:
    """The ball, free, ellipsoid and scapulothoracic joints: those with u other than qdot; looked for once."""
    return model.derived("turning joints", lambda: tuple(_turning(model)))


def _turning(model: Model) -> Iterator[TurningJoint]:
    for joint in model.joints:
        if joint.kind == "UnsupportedJoint":
            continue
        for motion in joint.motions():
            if isinstance(motion, BallMotion | FreeMotion | EllipsoidMotion):
                quaternion = not isinstance(motion, EllipsoidMotion) and motion.quaternion
                names = motion.coordinates[: 4 if quaternion else 3]
                speeds = joint.speed_names[:3] if quaternion else names
                q = tuple(model.coordinate_index(name) for name in names)
                u = tuple(model.speed_index(name) for name in speeds)
                yield TurningJoint(joint.name, q, (u[0], u[1], u[2]))


def angle_rates(q: FloatArray) -> FloatArray:
    """N (..., 3, 3) of body-fixed xyz angles q (..., 3): qdot = N w, with w in the parent frame.

        qdot2 = (-s0 wy + c0 wz) / c1,   qdot1 = c0 wy + s0 wz,   qdot0 = wx - s1 qdot2

    Source:  Seth2010 eq. 10.
    Departs: the printed N takes w in the body frame; the speeds of eq. 9, 13, 14, and OpenSim's, are in the parent.
    """
    s0, c0, s1, c1 = np.sin(q[..., 0]), np.cos(q[..., 0]), np.sin(q[..., 1]), np.cos(q[..., 1])
    one, zero = np.ones_like(s0), np.zeros_like(s0)
    rows = [[one, s0 * s1 / c1, -c0 * s1 / c1], [zero, c0, s0], [zero, -s0 / c1, c0 / c1]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def joint_rates(joint: TurningJoint, q: FloatArray) -> FloatArray:
    """N (frames, 3 or 4, 3) of one joint at all coordinates q (frames, n).

    Raises:
        SingularSystem: the joint's angles are in gimbal lock; names the joint and the frame.
    """
    own = q[:, list(joint.q)]
    if len(joint.q) == 4:
        return quaternion_rates(own)
    locked = np.flatnonzero(np.abs(np.cos(own[:, 1])) < _LOCKED)
    if locked.size:
        raise SingularSystem(
            f"joint {joint.joint!r} is in gimbal lock at frame {locked[0]}: its second angle is "
            f"{own[locked[0], 1]:.6g} and no rates of its angles give its angular velocity; use quaternion coordinates"
        )
    return angle_rates(own)


def angle_rates_inverse(q: FloatArray) -> FloatArray:
    """The inverse of `angle_rates`: w = N^-1 qdot; never singular."""
    s0, c0, s1, c1 = np.sin(q[..., 0]), np.cos(q[..., 0]), np.sin(q[..., 1]), np.cos(q[..., 1])
    one, zero = np.ones_like(s0), np.zeros_like(s0)
    rows = [[one, zero, s1], [zero, c0, -s0 * c1], [zero, s0, c0 * c1]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def angle_rates_inverse_dot(q: FloatArray, qdot: FloatArray) -> FloatArray:
    """Time derivative of `angle_rates_inverse`, so that wdot = N^-1 qddot + (N^-1)dot qdot."""
    s0, c0, s1, c1 = np.sin(q[..., 0]), np.cos(q[..., 0]), np.sin(q[..., 1]), np.cos(q[..., 1])
    d0, d1 = qdot[..., 0], qdot[..., 1]
    zero = np.zeros_like(s0)
    rows = [
        [zero, zero, c1 * d1],
        [zero, -s0 * d0, -c0 * c1 * d0 + s0 * s1 * d1],
        [zero, c0 * d0, -s0 * c1 * d0 - c0 * s1 * d1],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def quaternion_rates(q: FloatArray) -> FloatArray:
    """N (..., 4, 3) of quaternions w, x, y, z: qdot = N omega, with omega in the parent frame; keeps the length.

    qdot = 1/2 (0, omega) q (quaternion product).
    """
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]
    return 0.5 * np.stack([np.stack(row, -1) for row in rows], -2)


def coordinate_rates(model: Model, q: ArrayLike, u: ArrayLike) -> FloatArray:
    """qdot = N(q) u, (frames, n) or (n,); equal to u except for ball, free and ellipsoid joints.

    At a second angle of +-90 degrees N of a ball's angles is singular; use quaternion coordinates there.
    """
    Q, single = coordinates_of(model, q)
    U, _ = speeds_of(model, u)
    same_frames(q=Q, u=U)
    rates = np.zeros_like(Q)
    columns = {name: k for k, name in enumerate(model.speed_names)}
    for k, name in enumerate(model.coordinate_names):
        if name in columns:
            rates[:, k] = U[:, columns[name]]
    for joint in turning_joints(model):
        at, w = list(joint.q), U[:, list(joint.u)]
        rates[:, at] = np.einsum("fij,fj->fi", joint_rates(joint, Q), w)
    return rates[0] if single else rates


def rate_matrix(model: Model, q: FloatArray) -> FloatArray:
    """N (frames, n, n_u) of qdot = N u, at coordinates q (frames, n)."""
    N = np.zeros((len(q), len(model.coordinate_names), len(model.speed_names)))
    columns = {name: k for k, name in enumerate(model.speed_names)}
    for k, name in enumerate(model.coordinate_names):
        if name in columns:
            N[:, k, columns[name]] = 1.0
    for joint in turning_joints(model):
        at, own = np.array(joint.q), np.array(joint.u)
        N[:, at] = 0.0
        N[:, at[:, None], own] = joint_rates(joint, q)
    return N


def speed_matrix(model: Model, q: FloatArray) -> FloatArray:
    """B (frames, n_u, n) of u = B qdot, at coordinates q (frames, n): of the angular velocity, what turns a body."""
    B = np.zeros((len(q), len(model.speed_names), len(model.coordinate_names)))
    rows = {name: k for k, name in enumerate(model.coordinate_names)}
    for k, name in enumerate(model.speed_names):
        if name in rows:
            B[:, k, rows[name]] = 1.0
    for joint in turning_joints(model):
        B[:, joint.u] = 0.0
        B[:, np.array(joint.u)[:, None], joint.q] = _angular_velocity_matrix(q[:, joint.q])
    return B


def _angular_velocity_matrix(q: FloatArray) -> FloatArray:
    """(frames, 3, 3 or 4) of w = B qdot, of angles or a quaternion q."""
    if q.shape[1] == 4:
        squared = np.sum(q**2, axis=1)
        return 4.0 / squared[:, None, None] * np.swapaxes(quaternion_rates(q), 1, 2)
    return angle_rates_inverse(q)


def speeds_from_rates(model: Model, q: ArrayLike, qdot: ArrayLike) -> FloatArray:
    """u from qdot, the inverse of `coordinate_rates`: what differentiated coordinates must go through."""
    Q, single = coordinates_of(model, q)
    D, _ = speeds_of(model, qdot, "qdot", model.coordinate_names)
    same_frames(q=Q, qdot=D)
    compiled(model).check_coordinates(Q)
    u = np.zeros((len(Q), len(model.speed_names)))
    rows = {name: k for k, name in enumerate(model.coordinate_names)}
    for k, name in enumerate(model.speed_names):
        if name in rows:
            u[:, k] = D[:, rows[name]]
    for joint in turning_joints(model):
        u[:, joint.u] = np.einsum("fij,fj->fi", _angular_velocity_matrix(Q[:, joint.q]), D[:, joint.q])
    return u[0] if single else u
