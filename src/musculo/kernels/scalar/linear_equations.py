"""Small dense linear equations of one lane, in place: matrices lie row by row, the lane comes last."""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel


@kernel
def factor_rows(A, order, lane):
    """A = P L U, rows exchanged for the largest pivots; `order` takes the row that came to each place.

    Guarantees: nothing is asked of A. A pivot that is zero stays where it is, and what follows it means nothing.

    Args: A: (n n, lanes). order: (n,).
    """
    n = order.size
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i * n + k, lane]) > abs(A[best * n + k, lane]):
                best = i
        order[k] = best
        if best != k:
            for j in range(n):
                A[k * n + j, lane], A[best * n + j, lane] = A[best * n + j, lane], A[k * n + j, lane]
        for i in range(k + 1, n):
            A[i * n + k, lane] /= A[k * n + k, lane]
            for j in range(k + 1, n):
                A[i * n + j, lane] -= A[i * n + k, lane] * A[k * n + j, lane]


@kernel
def solve_rows(A, order, b, lane):
    """b (n, lanes) <- A^-1 b by the factors of `factor_rows`."""
    n = order.size
    for k in range(n):
        b[k, lane], b[order[k], lane] = b[order[k], lane], b[k, lane]
    for i in range(n):
        for j in range(i):
            b[i, lane] -= A[i * n + j, lane] * b[j, lane]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i, lane] -= A[i * n + j, lane] * b[j, lane]
        b[i, lane] /= A[i * n + i, lane]


@kernel
def orientation(A, order, lane):
    """The sign of det A by the factors of `factor_rows`: 1, -1, or 0."""
    sign, n = 1.0, order.size
    for k in range(n):
        pivot = A[k * n + k, lane]
        if pivot == 0.0:
            return 0.0
        if (order[k] != k) != (pivot < 0.0):
            sign = -sign
    return sign
