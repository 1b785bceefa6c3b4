"""Multipliers where equations repeat each other: one frame at a time, with the most independent equation next.

How many equations are independent is a property of the mechanism on its constraints. A pose that is off them by d has
a matrix whose repeated rows are of the order of d and not of rounding: so the number is known beforehand (`usual`), and
what a pose shows is only compared with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel

# Answers instead of a number of equations.
CONTRADICT, DOUBTFUL = -1, -2
# Repeated equations keep at most so many times the error of a pose; others that keep less than the second may repeat
# others after all, up to the third.
LOOSE, CLOSE, HALF_GONE = 1e3, 1e2, 1e-3
# What an error of a pose may make repeated equations disagree, times that error.
DISAGREE = 3.0
# Rows that are left over are smoothed out where they are more than the first and no direction is below the second.
_ROUNDING, _FIRM = 1e-24, 1e-6
# What forces may be left unbalanced, as a part of them.
_BALANCED = 1e-6


class Repeated(NamedTuple):
    """Space for one frame with n speeds and m equations."""

    Y: FloatArray  # (m, n) rows L^-1 G^T
    W: FloatArray  # (m, n) the same, weighted, less what was taken
    Q: FloatArray  # (m, n) an orthonormal basis of the rows
    Z: FloatArray  # (m, n) the same, smoothed
    B: FloatArray  # (m, m) rows of Y in that basis, then orthonormal columns
    R: FloatArray  # (m, m) B before = B R
    t: FloatArray  # (m,)
    c: FloatArray  # (m,)
    order: IntArray  # (m,)
    norm: FloatArray  # (m,)


@kernel
def orthonormal_rows(Q, count, n):
    """Rows of Q orthonormal in place, twice so that they are to rounding; the least part that a row kept."""
    least = np.inf
    for k in range(count):
        before = 0.0
        for i in range(n):
            before += Q[k, i] ** 2
        for _ in range(2):
            for r in range(k):
                along = 0.0
                for i in range(n):
                    along += Q[r, i] * Q[k, i]
                for i in range(n):
                    Q[k, i] -= along * Q[r, i]
        square = 0.0
        for i in range(n):
            square += Q[k, i] ** 2
        least = min(least, square / before) if before > 0.0 else 0.0
        size = np.sqrt(square)
        for i in range(n):
            Q[k, i] /= size
    return least


@kernel
def take_rows(w, n, m, tolerances, far):
    """An orthonormal basis of the independent rows into w.Q; how many, or DOUBTFUL.

    The longest rest comes next, in units of what each equation usually is. Rounding ends it; so does, where as many as
    usual are taken, what the error of the pose explains. Anything between is a doubt.
    """
    longest, usual = 0.0, tolerances.usual
    for r in range(m):
        square, unit = 0.0, tolerances.weight[r]
        for i in range(n):
            w.W[r, i] = w.Y[r, i] * unit
            square += w.W[r, i] ** 2
        w.norm[r], w.order[r] = square, r
        longest = max(longest, square)
    loose, close = LOOSE * far, min(CLOSE * far, HALF_GONE)
    taken, weakest, over = min(m, n), np.inf, 0.0
    for k in range(min(m, n)):
        best = k
        for r in range(k + 1, m):
            if w.norm[w.order[r]] > w.norm[w.order[best]]:
                best = r
        w.order[k], w.order[best] = w.order[best], w.order[k]
        row = w.order[k]
        for r in range(k):  # once more, so that rows are orthogonal to rounding
            along = 0.0
            for i in range(n):
                along += w.Q[r, i] * w.W[row, i]
            for i in range(n):
                w.W[row, i] -= along * w.Q[r, i]
        square = 0.0
        for i in range(n):
            square += w.W[row, i] ** 2
        if not square > tolerances.rank * longest:
            taken, over = k, square
            break
        if k >= usual >= 0:
            if square <= loose * loose * longest:
                taken, over = k, square
                break
            return DOUBTFUL
        if square <= close * close * longest:
            return DOUBTFUL
        weakest = min(weakest, square)
        size = np.sqrt(square)
        for i in range(n):
            w.Q[k, i] = w.W[row, i] / size
        for r in range(k + 1, m):
            other, along = w.order[r], 0.0
            for i in range(n):
                along += w.Q[k, i] * w.W[other, i]
            w.norm[other] = 0.0
            for i in range(n):
                w.W[other, i] -= along * w.Q[k, i]
                w.norm[other] += w.W[other, i] ** 2
    if taken and over > _ROUNDING * longest and weakest > _FIRM * longest:
        # which rows were taken must not show: Q^T <- Y^T Y Q^T turns to the space that all rows are nearest to
        for k in range(taken):
            for i in range(n):
                w.Z[k, i] = 0.0
            for r in range(m):
                along = 0.0
                for i in range(n):
                    along += w.Y[r, i] * w.Q[k, i]
                along *= tolerances.weight[r] ** 2
                for i in range(n):
                    w.Z[k, i] += along * w.Y[r, i]
        if orthonormal_rows(w.Z, taken, n) > 1e-8:
            for k in range(taken):
                for i in range(n):
                    w.Q[k, i] = w.Z[k, i]
    return taken


@kernel
def solve_repeated(space, tolerances, lane):
    """f <- f - Y^T lambda with Y Y^T lambda = Y f - right, for the shortest lambda; how many equations count.

        Y = L^-1 G^T = B Q,   B c = right (least squares),   f <- f + Q^T (c - Q f),   B^T lambda = Q f - c

    CONTRADICT where equations that repeat others ask for something else than these, or forces do not balance;
    DOUBTFUL where it cannot be seen here which equations repeat others.

    Args: space: `ConstrainedSpace` with M, the factor as `factor_mass` leaves it, and f = L^-1 force in its force.
    """
    w, M, G, f, right, multipliers = space.lane, space.M, space.G, space.force, space.right, space.multipliers
    n, m, far, slack = f.shape[0], right.shape[0], space.far[lane], space.slack[lane]
    large = 0.0
    for r in range(m):
        for i in range(n):
            total = G[r * n + i, lane]
            for k in range(i):
                total -= M[i * n + k, lane] * w.Y[r, k]
            w.Y[r, i] = total * M[i * n + i, lane]
        large = max(large, abs(right[r, lane]) * tolerances.unit[r])
    taken = take_rows(w, n, m, tolerances, far)
    if taken < 0:
        return taken
    # columns of B as rows of an array, for `orthonormal_rows`
    for k in range(taken):
        for r in range(m):
            total = 0.0
            for i in range(n):
                total += w.Y[r, i] * w.Q[k, i]
            w.B[k, r] = total
            w.R[k, r] = total
    orthonormal_rows(w.B, taken, m)
    for j in range(taken):  # R = (orthonormal)^T B before, upper triangular
        for k in range(taken):
            w.norm[k] = 0.0
            if k <= j:
                for r in range(m):
                    w.norm[k] += w.B[k, r] * w.R[j, r]
        for k in range(taken):
            w.R[j, k] = w.norm[k]  # row j holds column j
    for k in range(taken):
        total = 0.0
        for r in range(m):
            total += w.B[k, r] * right[r, lane]
        w.c[k] = total
    for r in range(m):
        left = right[r, lane]
        for k in range(taken):
            left -= w.B[k, r] * w.c[k]
        if not abs(left) * tolerances.unit[r] <= (tolerances.consistent + DISAGREE * far) * large + slack:
            return CONTRADICT
    for k in range(taken - 1, -1, -1):
        for j in range(k + 1, taken):
            w.c[k] -= w.R[j, k] * w.c[j]
        w.c[k] /= w.R[k, k]
    size = 0.0
    for i in range(n):
        size += f[i, lane] ** 2
    for k in range(taken):
        total = -w.c[k]
        for i in range(n):
            total += w.Q[k, i] * f[i, lane]
        w.c[k] = w.t[k] = total
    for k in range(taken):
        for j in range(k):
            w.t[k] -= w.R[k, j] * w.t[j]
        w.t[k] /= w.R[k, k]
    for r in range(m):
        total = 0.0
        for k in range(taken):
            total += w.B[k, r] * w.t[k]
        multipliers[r, lane] = total
    open_, carried = 0.0, 0.0
    for i in range(n):
        change, total = 0.0, 0.0
        for k in range(taken):
            change += w.c[k] * w.Q[k, i]
        for r in range(m):
            total += w.Y[r, i] * multipliers[r, lane]
        f[i, lane] -= change
        size += f[i, lane] ** 2
        carried += change**2
        open_ += (total - change) ** 2
    allowed = _BALANCED + LOOSE * far
    if not open_ <= allowed * allowed * (size + carried + 1e-300):
        return CONTRADICT
    return taken
