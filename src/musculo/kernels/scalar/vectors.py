"""Small vectors and rotations as tuples of a lane's scalars: (3,) vectors, (9,) row-major rotations, symmetric (6,).

Symmetric tensors are (xx, yy, zz, xy, xz, yz).
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import inline, traced


@inline
def load3(W, row, lane):
    """Three rows from `row` on."""
    return W[row, lane], W[row + 1, lane], W[row + 2, lane]


@inline
def store3(W, row, lane, v):
    """Write a vector into three rows."""
    W[row, lane] = v[0]
    W[row + 1, lane] = v[1]
    W[row + 2, lane] = v[2]


@inline
def accumulate3(W, row, lane, v):
    """Add a vector to three rows."""
    W[row, lane] = W[row, lane] + v[0]
    W[row + 1, lane] = W[row + 1, lane] + v[1]
    W[row + 2, lane] = W[row + 2, lane] + v[2]


@traced
def add(a, b):
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@traced
def subtract(a, b):
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@traced
def scale(s, a):
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@traced
def add_scaled(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@traced
def dot(a, b):
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@traced
def cross(a, b):
    """a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@traced
def rotate(R, a):
    """R a."""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@traced
def rotate_back(R, a):
    """R^T a."""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@traced
def matmul(A, B):
    """A B of two row-major 3 x 3 matrices."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@traced
def transpose(R):
    """R^T."""
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@traced
def symmetric_times(S, a):
    """S a for a symmetric tensor (xx, yy, zz, xy, xz, yz)."""
    return (
        S[0] * a[0] + S[3] * a[1] + S[4] * a[2],
        S[3] * a[0] + S[1] * a[1] + S[5] * a[2],
        S[4] * a[0] + S[5] * a[1] + S[2] * a[2],
    )


@traced
def rotate_symmetric(R, S):
    """R S R^T for a symmetric tensor."""
    # rows of R S
    a0 = R[0] * S[0] + R[1] * S[3] + R[2] * S[4]
    a1 = R[0] * S[3] + R[1] * S[1] + R[2] * S[5]
    a2 = R[0] * S[4] + R[1] * S[5] + R[2] * S[2]
    b0 = R[3] * S[0] + R[4] * S[3] + R[5] * S[4]
    b1 = R[3] * S[3] + R[4] * S[1] + R[5] * S[5]
    b2 = R[3] * S[4] + R[4] * S[5] + R[5] * S[2]
    c0 = R[6] * S[0] + R[7] * S[3] + R[8] * S[4]
    c1 = R[6] * S[3] + R[7] * S[1] + R[8] * S[5]
    c2 = R[6] * S[4] + R[7] * S[5] + R[8] * S[2]
    return (
        a0 * R[0] + a1 * R[1] + a2 * R[2],
        b0 * R[3] + b1 * R[4] + b2 * R[5],
        c0 * R[6] + c1 * R[7] + c2 * R[8],
        a0 * R[3] + a1 * R[4] + a2 * R[5],
        a0 * R[6] + a1 * R[7] + a2 * R[8],
        b0 * R[6] + b1 * R[7] + b2 * R[8],
    )
