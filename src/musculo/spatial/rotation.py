"""Rotation matrices, body-fixed xyz angles and quaternions (w, x, y, z)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray


def skew(a: ArrayLike) -> NDArray[Any]:
    """a~ (..., 3, 3) of vectors (..., 3), also complex ones: a~ b = a x b."""
    x, y, z = np.moveaxis(np.asarray(a), -1, 0)
    zero = np.zeros_like(x)
    rows = ((zero, -z, y), (z, zero, -x), (-y, x, zero))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def axis_rotation(axis: ArrayLike, angle: float) -> FloatArray:
    """R(e, angle), right-handed about the unit vector of `axis` (Rodrigues)."""
    e = np.asarray(axis, dtype=float)
    e = e / np.linalg.norm(e)
    K = np.array([[0.0, -e[2], e[1]], [e[2], 0.0, -e[0]], [-e[1], e[0], 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * (K @ K)


def from_xyz(angles: ArrayLike) -> FloatArray:
    """R(x, a) R(y, b) R(z, c): body-fixed x, y, z angles (..., 3) [rad] -> (..., 3, 3)."""
    a, b, c = np.moveaxis(np.asarray(angles, dtype=float), -1, 0)
    sa, ca, sb, cb, sc, cc = np.sin(a), np.cos(a), np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    rows = [
        [cb * cc, -cb * sc, sb],
        [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb],
        [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def to_xyz(R: ArrayLike) -> FloatArray:
    """Body-fixed x, y, z angles (..., 3) of rotation matrices; the second in [-pi/2, pi/2].

    At a second angle of +-90 degrees only the sum or difference of the others is known; the third is then zero.
    """
    R = np.asarray(R, dtype=float)
    sb = np.clip(R[..., 0, 2], -1.0, 1.0)
    cb = np.hypot(R[..., 0, 0], R[..., 0, 1])
    locked = cb < 1e-12
    a = np.where(locked, np.arctan2(R[..., 2, 1], R[..., 1, 1]), np.arctan2(-R[..., 1, 2], R[..., 2, 2]))
    c = np.where(locked, 0.0, np.arctan2(-R[..., 0, 1], R[..., 0, 0]))
    return np.stack([a, np.arctan2(sb, cb), c], -1)


def from_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4) in order w, x, y, z; normalized first."""
    q = np.asarray(quaternion, dtype=float)
    w, x, y, z = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def quaternion_from_xyz(angles: ArrayLike) -> FloatArray:
    """Unit quaternions (..., 4) in order w, x, y, z of body-fixed x, y, z angles (..., 3)."""
    a, b, c = np.moveaxis(np.asarray(angles, dtype=float) / 2, -1, 0)
    sa, ca, sb, cb, sc, cc = np.sin(a), np.cos(a), np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    return np.stack(
        [
            ca * cb * cc - sa * sb * sc,
            sa * cb * cc + ca * sb * sc,
            ca * sb * cc - sa * cb * sc,
            ca * cb * sc + sa * sb * cc,
        ],
        -1,
    )


def to_quaternion(R: ArrayLike) -> FloatArray:
    """Unit quaternions (..., 4) in order w, x, y, z of rotation matrices (..., 3, 3); w is not negative.

    The largest of the four is found first, from the diagonal, so that none is divided by a small number
    (Shepperd 1978, J. Guidance and Control 1, 223). Matrices that hold NaN give NaN.
    """
    R = np.asarray(R, dtype=float)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    wx, wy, wz = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    # 4 q q^T, row by row; the row with the largest diagonal is q up to its length
    rows = np.stack(
        [
            np.stack([1.0 + xx + yy + zz, wx, wy, wz], -1),
            np.stack([wx, 1.0 + xx - yy - zz, xy, xz], -1),
            np.stack([wy, xy, 1.0 - xx + yy - zz, yz], -1),
            np.stack([wz, xz, yz, 1.0 - xx - yy + zz], -1),
        ],
        -2,
    )
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0.0, -q, q)
