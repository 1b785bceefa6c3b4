"""Euler parameters p = (e0, e1, e2, e3), the matrices G and L, and relative Euler parameters.

Source: Antunes2025, appendices A and B, after Nikravesh 1988. A unit p turns body axes into ground by A = G L^T.
All functions take (..., 4) and (..., 3) arrays, also complex ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.spatial.rotation import skew

Array = NDArray[Any]


def matrix_G(p: ArrayLike) -> Array:
    """G (..., 3, 4), with omega = 2 G pdot in ground (eq. 26, 31)."""
    e0, e1, e2, e3 = np.moveaxis(np.asarray(p), -1, 0)
    return _stacked([[-e1, e0, -e3, e2], [-e2, e3, e0, -e1], [-e3, -e2, e1, e0]])


def matrix_L(p: ArrayLike) -> Array:
    """L (..., 3, 4), with omega' = 2 L pdot in body axes (eq. 27, 31)."""
    e0, e1, e2, e3 = np.moveaxis(np.asarray(p), -1, 0)
    return _stacked([[-e1, e0, e3, -e2], [-e2, -e3, e0, e1], [-e3, e2, -e1, e0]])


def matrix_plus(a: ArrayLike) -> Array:
    """a+ (..., 4, 4) with G^T a = a+ p (eq. 29, 30)."""
    return _bordered(a, 1.0)


def matrix_minus(a: ArrayLike) -> Array:
    """a- (..., 4, 4) with L^T a = a- p (eq. 29, 30).

    Departs: eq. 9 prints the same matrix with +a~; the derivative of A a by p, 2 G a-, needs -a~.
    """
    return _bordered(a, -1.0)


def rotation_matrix(p: ArrayLike) -> Array:
    """A = G L^T (..., 3, 3) of unit Euler parameters."""
    return matrix_G(p) @ np.swapaxes(matrix_L(p), -1, -2)


def product(p: ArrayLike, q: ArrayLike) -> Array:
    """The orientation q on top of p: A(p q) = A(p) A(q)."""
    a, b = np.asarray(p), np.asarray(q)
    left = np.concatenate([a[..., None], np.swapaxes(matrix_L(a), -1, -2)], axis=-1)
    return np.einsum("...ij,...j->...i", left, b)


def relative_euler_parameters(p_i: ArrayLike, p_j: ArrayLike) -> Array:
    """p_ij = [p_j^T; L_j] p_i: the orientation of frame i relative to frame j (eq. 18).

    Of which frames is the caller's choice and should be in the name: the axis in p_ij has the same components in both
    frames, so that bodies' frames and joints' frames give different components.
    """
    a, b = np.asarray(p_i), np.asarray(p_j)
    stacked = np.concatenate([b[..., None, :], matrix_L(b)], axis=-2)
    return np.einsum("...ij,...j->...i", stacked, a)


def norm_constraint(p: ArrayLike, pdot: ArrayLike) -> tuple[Array, Array, Array, Array]:
    """p^T p - 1: residual, Jacobian by p (..., 4), and right-hand sides of velocities and accelerations.

    In the form of angular velocities it vanishes: L^T omega' is across p. The kernels keep the norm by making it one.
    """
    a, b = np.asarray(p), np.asarray(pdot)
    residual = np.sum(a * a, axis=-1) - 1.0
    return residual, 2.0 * a, np.zeros_like(residual), -2.0 * np.sum(b * b, axis=-1)


def continuous(p: ArrayLike) -> FloatArray:
    """Euler parameters (frames, 4) with signs such that none is closer to the negative of the one before it.

    p and -p are the same orientation, but a driver that prescribes components needs one that does not jump.
    """
    q = np.array(p, dtype=float)
    along = np.sum(q[1:] * q[:-1], axis=1)
    signs = np.concatenate([[1.0], np.cumprod(np.where(along < 0.0, -1.0, 1.0))])
    return np.asarray(q * signs[: len(q), None])


def _stacked(rows: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _bordered(a: ArrayLike, sign: float) -> Array:
    v = np.asarray(a)
    out = np.zeros((*v.shape[:-1], 4, 4), dtype=v.dtype)
    out[..., 0, 1:], out[..., 1:, 0] = -v, v
    out[..., 1:, 1:] = sign * skew(v)
    return out
