"""Relative motion of frames: composed of rotations about known axes, and as an analysis found it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis
from musculo.absolute.euler_parameters import product, relative_euler_parameters, rotation_matrix
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation, GivenPose
from musculo.arrays import FloatArray
from musculo.model.body import GROUND


def mapped(given: Given, change: Callable[[FloatArray], FloatArray]) -> Given:
    """What a driver is told, with each of its arrays changed: fewer frames of it, or more."""
    return type(given)(*(mapped(x, change) if isinstance(x, tuple) else change(x) for x in given))  # type: ignore[arg-type]


def composed(first: GivenOrientation, second: GivenOrientation) -> GivenOrientation:
    """The orientation of a third frame in the first, where `second` is that of the third in the second.

    p = p1 p2,   omega = omega1 + R1 omega2,   alpha = alpha1 + R1 alpha2 + omega1 x R1 omega2
    """
    R = rotation_matrix(first.parameters)
    omega, alpha = (np.einsum("fij,fj->fi", R, x) for x in (second.omega, second.alpha))
    return GivenOrientation.of(
        product(first.parameters, second.parameters),
        first.omega + omega,
        first.alpha + alpha + np.cross(first.omega, omega),
    )


def about_axes(order: str, angles: Sequence[GivenNumbers]) -> GivenOrientation:
    """Body-fixed rotations about x, y or z, one after the other, by angles over time."""
    found: GivenOrientation | None = None
    for axis, angle in zip(order, angles, strict=True):
        one = GivenOrientation.about(np.eye(3)["xyz".index(axis)], *(x[:, 0] for x in angle))
        found = one if found is None else composed(found, one)
    assert found is not None
    return found


def body_fixed_angles(order: str, parameters: FloatArray) -> FloatArray:
    """(frames, 3) body-fixed angles of orientations, unwrapped over frames; orders such as zxy, yxz and yxy.

    The second angle of yxy is chosen negative, as the ISB has elevations of the arm.
    """
    R = rotation_matrix(parameters)
    i, j, k = ("xyz".index(axis) for axis in order)
    if i == k:
        m = 3 - i - j
        even = 1.0 if (j - i) % 3 == 1 else -1.0
        second = -np.arccos(np.clip(R[:, i, i], -1.0, 1.0))
        first = np.arctan2(-R[:, j, i], even * R[:, m, i])
        third = np.arctan2(-R[:, i, j], -even * R[:, i, m])
    else:
        even = 1.0 if (j - i) % 3 == 1 else -1.0
        second = np.arcsin(np.clip(even * R[:, i, k], -1.0, 1.0))
        first = np.arctan2(-even * R[:, j, k], R[:, k, k])
        third = np.arctan2(-even * R[:, i, j], R[:, i, i])
    return np.unwrap(np.stack([first, second, third], axis=1), axis=0)


def _in_ground(motion: AbsoluteAnalysis, frame: Frame) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Euler parameters, angular velocity and angular acceleration of a frame fixed to its body, in ground."""
    frames, own = len(motion.x), frame.base[0]
    if frame.body == GROUND:
        still = np.zeros((frames, 3))
        return np.broadcast_to(own, (frames, 4)), still, still
    k = 6 * [b.name for b in motion.mechanism.bodies].index(frame.body) + 3
    p, R = motion.parameters(frame.body), motion.rotation(frame.body)
    omega, alpha = (np.einsum("fij,fj->fi", R, x[:, k : k + 3]) for x in (motion.v, motion.a))
    return np.asarray(product(p, np.broadcast_to(own, (frames, 4)))), omega, alpha


def relative_motion(motion: AbsoluteAnalysis, first: Frame, second: Frame) -> GivenOrientation:
    """The orientation of a second frame in a first one, both fixed to bodies, as an analysis found it.

    Derivatives are those of components in the first frame:

        omega = R_1^T (omega_2 - omega_1),   alpha = R_1^T (alpha_2 - alpha_1) - (R_1^T omega_1) x omega
    """
    (p1, omega1, alpha1), (p2, omega2, alpha2) = _in_ground(motion, first), _in_ground(motion, second)
    R = rotation_matrix(p1)
    own, omega, alpha = (np.einsum("fji,fj->fi", R, x) for x in (omega1, omega2 - omega1, alpha2 - alpha1))
    return GivenOrientation.of(relative_euler_parameters(p2, p1), omega, alpha - np.cross(own, omega))


def relative_place(motion: AbsoluteAnalysis, ground: Frame, second: Frame) -> GivenPose:
    """The pose in ground of a body's own frame, as an analysis found it."""
    k = 6 * [b.name for b in motion.mechanism.bodies].index(second.body)
    _, omega, alpha = _in_ground(motion, second)
    center = np.asarray(motion.mechanism.bodies[k // 6].mass_center, dtype=float)
    arm = motion.rotation(second.body) @ -center
    rate = np.cross(omega, arm)
    place = GivenNumbers.of(
        motion.place(second.body),
        motion.v[:, k : k + 3] + rate,
        motion.a[:, k : k + 3] + np.cross(alpha, arm) + np.cross(omega, rate),
    )
    return GivenPose(relative_motion(motion, ground, second), place)
