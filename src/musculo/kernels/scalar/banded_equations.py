"""Linear equations whose matrix is zero but for a band about its diagonal, as splines have them."""

from __future__ import annotations

from musculo.kernels.compiler.parts import driver, unfused


@unfused
def _exchange(a, i, j):
    for k in range(a.shape[1]):
        a[i, k], a[j, k] = a[j, k], a[i, k]


@unfused
def _eliminate(rows, right, i, j):
    """Row j less so much of row i that its leading entry vanishes, one place to the left."""
    last = rows.shape[1] - 1
    part = rows[j, 0] / rows[i, 0]
    for k in range(last):
        rows[j, k] = rows[j, k + 1] - part * rows[i, k + 1]
    rows[j, last] = 0.0
    if part != 0.0:
        for c in range(right.shape[1]):
            right[j, c] -= part * right[i, c]


@unfused
def _substitute(rows, right, i):
    """Row i of the solution, where those after it are known."""
    for k in range(1, min(rows.shape[1], rows.shape[0] - i)):
        if rows[i, k] != 0.0:
            for c in range(right.shape[1]):
                right[i, c] -= rows[i, k] * right[i + k, c]
    for c in range(right.shape[1]):
        right[i, c] /= rows[i, 0]


@driver
def solve_banded(rows, below, right):
    """Solve A x = right by Gaussian elimination with partial pivoting; False where A is singular.

    Args:
        rows: (n, below + above + 1), overwritten: row i holds A's entries from column max(i - below, 0) on.
        below: entries of A below the diagonal, at most.
        right: (n, columns), overwritten with x.
    """
    n = rows.shape[0]
    for i in range(n):
        # rows i to i + below start at column i
        last = min(i + below, n - 1)
        best = i
        for j in range(i + 1, last + 1):
            if abs(rows[j, 0]) > abs(rows[best, 0]):
                best = j
        if rows[best, 0] == 0.0:
            return False
        if best != i:
            _exchange(rows, i, best)
            _exchange(right, i, best)
        for j in range(i + 1, last + 1):
            _eliminate(rows, right, i, j)
    for i in range(n - 1, -1, -1):
        _substitute(rows, right, i)
    return True
