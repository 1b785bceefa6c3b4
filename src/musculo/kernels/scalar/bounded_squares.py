"""Least squares with bounds, of one small dense problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, room

# Slopes below this part of the largest that they could be are rounding.
_SLOPE = 1e-12
_ROUNDS_PER_VARIABLE = 10


class SquaresRoom(NamedTuple):
    """What a problem of m equations and n unknowns needs."""

    R: FloatArray  # (m, n)
    r: FloatArray  # (m,)
    y: FloatArray  # (n,)
    free: IntArray  # (n,) 1 where an unknown is not at a bound
    at: IntArray  # (n,) the unknowns that are free


@room
def squares_room(m, n):
    """Room for m equations in n unknowns."""
    return SquaresRoom(
        np.zeros((m, n)), np.zeros(m), np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    )


@kernel
def _solve_free(A, b, x, s):
    """s.y: what the free unknowns would be, the others as in x, found by Householder's reflections; how many they are.

    Guarantees: columns that depend on those before them get zero.
    """
    m, n, count = A.shape[0], A.shape[1], 0
    for j in range(n):
        if s.free[j] == 1:
            s.at[count] = j
            count += 1
    for i in range(m):
        total = b[i]
        for j in range(n):
            if s.free[j] == 0:
                total -= A[i, j] * x[j]
            s.R[i, j] = A[i, s.at[j]] if j < count else 0.0
        s.r[i] = total
    largest = 0.0
    for k in range(count):
        square = 0.0
        for i in range(k, m):
            square += s.R[i, k] ** 2
        length = np.sqrt(square)
        largest = max(largest, length)
        if length == 0.0:
            continue
        alpha = -length if s.R[k, k] > 0.0 else length
        # the reflection's vector lies in column k, scaled so that its square is 2
        head = s.R[k, k] - alpha
        scale = 1.0 / np.sqrt(-alpha * head)
        s.R[k, k] = head
        for i in range(k, m):
            s.R[i, k] *= scale
        for j in range(k + 1, count):
            dot = 0.0
            for i in range(k, m):
                dot += s.R[i, k] * s.R[i, j]
            for i in range(k, m):
                s.R[i, j] -= dot * s.R[i, k]
        dot = 0.0
        for i in range(k, m):
            dot += s.R[i, k] * s.r[i]
        for i in range(k, m):
            s.r[i] -= dot * s.R[i, k]
        s.R[k, k] = alpha
    for k in range(count - 1, -1, -1):
        total = s.r[k]
        for j in range(k + 1, count):
            total -= s.R[k, j] * s.y[j]
        s.y[k] = total / s.R[k, k] if abs(s.R[k, k]) > _SLOPE * largest else 0.0
    return count


@kernel
def bounded_squares(A, b, lower, upper, x, s):
    """x that minimizes |A x - b| within lower <= x <= upper; whether the search ended.

    Where the answer without bounds is within them it is that. Otherwise some unknowns stand at bounds and the rest
    solve the free problem, each going only as far as the first bound on the way; as long as one at a bound would lessen
    the residual by leaving it, the one that does so most is freed.

    Source: Stark & Parker 1995, Comput Stat 10:129 (BVLS), by Householder's reflections.

    Args: A: (m, n). b: (m,). lower, upper, x: (n,). s: `SquaresRoom`.
    """
    m, n = A.shape
    for j in range(n):
        s.free[j] = 1
    _solve_free(A, b, x, s)
    inside = True
    for j in range(n):
        inside = inside and lower[j] <= s.y[j] <= upper[j]
    if inside:
        for j in range(n):
            x[j] = s.y[j]
        return True
    for j in range(n):
        x[j] = min(max(s.y[j], lower[j]), upper[j])
        s.free[j] = 1 if lower[j] < x[j] < upper[j] else 0
    for _ in range(_ROUNDS_PER_VARIABLE * n):
        # the free ones to their answer, stopping at the first bound on the way
        going = True
        while going:
            count = _solve_free(A, b, x, s)
            part, going = 1.0, False
            for k in range(count):
                j = s.at[k]
                step = s.y[k] - x[j]
                if s.y[k] < lower[j]:
                    part = min(part, (lower[j] - x[j]) / step)
                elif s.y[k] > upper[j]:
                    part = min(part, (upper[j] - x[j]) / step)
            for k in range(count):
                j = s.at[k]
                y = s.y[k]
                beyond = y < lower[j] or y > upper[j]
                reach = 1.0
                if y < lower[j]:
                    reach = (lower[j] - x[j]) / (y - x[j])
                elif y > upper[j]:
                    reach = (upper[j] - x[j]) / (y - x[j])
                if beyond and reach <= part:
                    x[j] = lower[j] if y < lower[j] else upper[j]
                    s.free[j], going = 0, True
                else:
                    x[j] += part * (y - x[j])
        # how much the residual falls with a step from a bound into the range
        size = 0.0
        for i in range(m):
            total = b[i]
            for j in range(n):
                total -= A[i, j] * x[j]
            s.r[i] = total
            size += total * total
        best, gain_best = -1, 0.0
        for j in range(n):
            if s.free[j] == 0 and lower[j] < upper[j]:
                slope, square = 0.0, 0.0
                for i in range(m):
                    slope += A[i, j] * s.r[i]
                    square += A[i, j] ** 2
                gain = slope if x[j] <= lower[j] else -slope
                least = _SLOPE * np.sqrt(square * size)
                if gain > least and gain / max(np.sqrt(square), 1e-300) > gain_best:
                    best, gain_best = j, gain / max(np.sqrt(square), 1e-300)
        if best < 0:
            return True
        s.free[best] = 1
    return False
