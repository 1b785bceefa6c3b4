"""Calculus of matrices that depend on a vector: definition 1 and theorems 1 to 4 of Ehsani2023.

The derivative of A (m, n) by q (r,) is a matrix again, (m r, n): each element gives way to the column of its slopes,

    dA/dq = sum_ik E_ik (x) dA_ik/dq,      (dA/dq)[i r + j, k] = dA_ik / dq_j

so that derivatives of products, and second derivatives, are products of matrices too. Here (x) is Kronecker's product
and E_ik the elementary matrix. All functions take matrices (..., m, n) with any axes in front, frames for instance,
real or complex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def elementary(m: int, n: int, i: int, k: int) -> Array:
    """E_ik (m, n): one at row i and column k, zero elsewhere; both count from zero."""
    E = np.zeros((m, n))
    E[i, k] = 1.0
    return E


def kronecker(A: Array, B: Array) -> Array:
    """A (x) B, (..., m s, n p) of (..., m, n) and (..., s, p)."""
    product = A[..., :, None, :, None] * B[..., None, :, None, :]
    m, s, n, p = product.shape[-4:]
    return product.reshape(*product.shape[:-4], m * s, n * p)


def permutation(m: int, n: int) -> Array:
    """U_mn (m n, m n), which swaps the factors of Kronecker's products.

        U_mn = sum_ik E_ik (x) E_ki,      U_mn (a (x) c) = c (x) a   with a (n,) and c (m,)

    Source:     [Ehsani2023], eq. 2.
    Departs:    the text says that it is m by m; it is m n by m n.
    Guarantees: U_mn^T = U_nm, its inverse.
    """
    U = np.zeros((m * n, m * n))
    i, k = np.divmod(np.arange(m * n), n)
    U[i * n + k, k * m + i] = 1.0
    return U


def vec(A: Array) -> Array:
    """The columns of A (..., m, n) below each other, (..., m n, 1)."""
    m, n = A.shape[-2:]
    return np.swapaxes(A, -1, -2).reshape(*A.shape[:-2], m * n, 1)


def derivative_of(slopes: Array) -> Array:
    """dA/dq (..., m r, n) from slopes (..., m, n, r), the gradient of each element.

        dA/dq = sum_ik E_ik (x) dA_ik/dq

    Source: [Ehsani2023], definition 1, eq. 3.
    """
    m, n, r = slopes.shape[-3:]
    return np.swapaxes(slopes, -1, -2).reshape(*slopes.shape[:-3], m * r, n)


def slopes_of(derivative: Array, r: int) -> Array:
    """Slopes (..., m, n, r) of a derivative (..., m r, n) by r coordinates: `derivative_of` undone."""
    rows, n = derivative.shape[-2:]
    return np.swapaxes(derivative.reshape(*derivative.shape[:-2], rows // r, r, n), -1, -2)


def product_derivative(A: Array, dA: Array, B: Array, dB: Array) -> Array:
    """d(A B)/dq from A (..., m, n), B (..., n, t) and their derivatives by q (r,).

        d(A B)/dq = dA/dq B + (A (x) I_r) dB/dq

    Source: [Ehsani2023], theorem 1, eq. 4.
    """
    return dA @ B + kronecker(A, np.eye(_count(dA, A))) @ dB


def scaled_derivative(a: Array, da: Array, A: Array, dA: Array) -> Array:
    """d(a A)/dq from a number a (...,) with its gradient da (..., r), and A (..., m, n) with its derivative.

        d(a A)/dq = A (x) da/dq + a dA/dq

    Source: [Ehsani2023], theorem 2, eq. 11.
    """
    return kronecker(A, da[..., None]) + np.asarray(a)[..., None, None] * dA


def kronecker_derivative(A: Array, dA: Array, C: Array, dC: Array) -> Array:
    """d(A (x) C)/dq from A (..., m, n), C (..., s, p) and their derivatives by q (r,).

        d(A (x) C)/dq = (I_m (x) U_sr) (dA/dq (x) C) + A (x) dC/dq

    Source: [Ehsani2023], theorem 3, eq. 14.
    """
    r = _count(dA, A)
    swap = kronecker(np.eye(A.shape[-2]), permutation(C.shape[-2], r))
    return swap @ kronecker(dA, C) + kronecker(A, dC)


def differential(dA: Array, dq: Array) -> Array:
    """The change (..., m, n) of A along dq (..., r); with qdot for dq its rate, with a virtual dq its variation.

        delta A = (I_m (x) dq^T) dA/dq

    Source: [Ehsani2023], theorem 4 a, eq. 27.
    """
    m = dA.shape[-2] // dq.shape[-1]
    return kronecker(np.eye(m), dq[..., None, :]) @ dA


def transposed_differential(dAT: Array, dq: Array) -> Array:
    """The change (..., m, n) of A along dq (..., r), from the derivative of its transpose (..., n r, m).

        delta A = (dA^T/dq)^T (I_n (x) dq)

    Source: [Ehsani2023], theorem 4 b, eq. 28.
    """
    n = dAT.shape[-2] // dq.shape[-1]
    return np.swapaxes(dAT, -1, -2) @ kronecker(np.eye(n), dq[..., :, None])


def _count(derivative: Array, A: Array) -> int:
    """How many coordinates a derivative of A is by."""
    return int(derivative.shape[-2] // A.shape[-2])
