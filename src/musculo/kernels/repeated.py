"""Multipliers where equations repeat each other: one frame at a time, with the most independent equation next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Repeated(NamedTuple):
    """Space for one frame with n speeds and m equations."""

    Y: FloatArray  # (m, n) rows L^-1 G^T
    R: FloatArray  # (m, m) factor of the equations, in the order they were taken
    S: FloatArray  # (m, m) R R^T and its factor
    b: FloatArray  # (m,)
    t: FloatArray  # (m,)
    asked: FloatArray  # (m,)
    order: IntArray  # (m,)
    norm: FloatArray  # (m,)


@kernel
def solve_repeated(w, n, m, M, G, f, right, rank, consistent, multipliers, lane):
    """f <- f - Y^T lambda = f - Q t with Y Y^T lambda = Y f - right, for the shortest lambda; how many count.

        Y = L^-1 G^T,   Y^T = Q R (longest rest first),   R^T t = Y f - right,   lambda = R^T (R R^T)^-1 t

    -1 where equations that repeat others ask for something else than these.

    Args:
        w: space. M: (n n, lanes) lower half L with 1/L_ii on the diagonal, as `factor_mass` leaves it.
        G: (m n, lanes). f: (n, lanes) L^-1 force. right, multipliers: (m, lanes).
        rank: what is left of an equation, squared, as a part of the longest, that counts as nothing.
        consistent: what repeated equations may leave of each other, as a part of the largest that is asked for.
    """
    longest, large, steep = 0.0, 0.0, 0.0
    for r in range(m):
        square, along = 0.0, 0.0
        for i in range(n):
            total = G[r * n + i, lane]
            steep = max(steep, abs(total))
            for k in range(i):
                total -= M[i * n + k, lane] * w.Y[r, k]
            w.Y[r, i] = total * M[i * n + i, lane]
            square += w.Y[r, i] ** 2
            along += w.Y[r, i] * f[i, lane]
        w.b[r], w.norm[r], w.order[r] = along - right[r, lane], square, r
        longest, large = max(longest, square), max(large, abs(right[r, lane]))
    taken = m
    for k in range(m):
        best = k
        for r in range(k + 1, m):
            if w.norm[w.order[r]] > w.norm[w.order[best]]:
                best = r
        w.order[k], w.order[best] = w.order[best], w.order[k]
        for r in range(k):
            w.R[r, k], w.R[r, best] = w.R[r, best], w.R[r, k]
        row = w.order[k]
        for r in range(k):  # once more, so that rows are orthogonal to rounding
            along, before = 0.0, w.order[r]
            for i in range(n):
                along += w.Y[before, i] * w.Y[row, i]
            w.R[r, k] += along
            for i in range(n):
                w.Y[row, i] -= along * w.Y[before, i]
        square = 0.0
        for i in range(n):
            square += w.Y[row, i] ** 2
        if not square > rank * longest:
            taken = k
            break
        size = np.sqrt(square)
        w.R[k, k] = size
        for i in range(n):
            w.Y[row, i] /= size
        for r in range(k + 1, m):
            other, along = w.order[r], 0.0
            for i in range(n):
                along += w.Y[row, i] * w.Y[other, i]
            w.R[k, r] = along
            w.norm[other] = 0.0
            for i in range(n):
                w.Y[other, i] -= along * w.Y[row, i]
                w.norm[other] += w.Y[other, i] ** 2
    # R^T t = b, and what the equations taken ask of the others
    for k in range(taken):
        total, asked = w.b[w.order[k]], right[w.order[k], lane]
        for r in range(k):
            total -= w.R[r, k] * w.t[r]
            asked -= w.R[r, k] * w.asked[r]
        w.t[k], w.asked[k] = total / w.R[k, k], asked / w.R[k, k]
    for k in range(taken, m):
        left = right[w.order[k], lane]
        for r in range(taken):
            left -= w.R[r, k] * w.asked[r]
        if not abs(left) <= consistent * max(large + 1e-9 * steep, 1e-12):
            return -1
    for k in range(taken):
        for i in range(n):
            f[i, lane] -= w.t[k] * w.Y[w.order[k], i]
    # lambda = R^T (R R^T)^-1 t, R being upper triangular to the left: R R^T = L L^T
    for i in range(taken):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, m):
                total += w.R[i, k] * w.R[j, k]
            for k in range(j):
                total -= w.S[i, k] * w.S[j, k]
            w.S[i, j] = np.sqrt(total) if i == j else total / w.S[j, j]
    for i in range(taken):
        for k in range(i):
            w.t[i] -= w.S[i, k] * w.t[k]
        w.t[i] /= w.S[i, i]
    for i in range(taken - 1, -1, -1):
        for k in range(i + 1, taken):
            w.t[i] -= w.S[k, i] * w.t[k]
        w.t[i] /= w.S[i, i]
    for k in range(m):
        total = 0.0
        for r in range(min(k + 1, taken)):
            total += w.R[r, k] * w.t[r]
        multipliers[w.order[k], lane] = total
    return taken
