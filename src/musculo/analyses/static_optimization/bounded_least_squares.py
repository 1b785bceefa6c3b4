"""Least squares with bounds: what comes nearest where equations cannot be met."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray

# Slopes below this part of |A_i| |r| are rounding.
_SLOPE = 1e-14
_ROUNDS_PER_VARIABLE = 10


def bounded_least_squares(A: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """An x (n,) that minimizes |A x - b| within lower < upper; the one A x that does is unique, x need not be.

    Some variables stand at bounds, the rest solve the free problem. As long as a variable at a bound would lessen the
    residual by leaving it, the one that does so most is freed; whatever then meets a bound on the way stays there.

    Source: Stark & Parker 1995, Comput Stat 10:129 (BVLS); the start is the free answer, moved to its bounds.

    Args: A: (k, n). b: (k,). lower, upper: (n,), infinite where there is no bound.
    """
    x = np.clip(np.linalg.lstsq(A, b, rcond=None)[0], lower, upper)
    free = (x > lower) & (x < upper)
    size = np.linalg.norm(A, axis=0)
    _settle(A, b, x, free, lower, upper)
    best = np.linalg.norm(A @ x - b)
    for _ in range(_ROUNDS_PER_VARIABLE * len(x)):
        r = b - A @ x
        # how much the residual falls with a step from the bound into the range
        slope = A.T @ r
        gain = np.where(free, 0.0, np.where(x <= lower, slope, -slope))
        gain[gain <= _SLOPE * size * np.linalg.norm(r)] = 0.0
        if not gain.any():
            break
        tried, open_ = x.copy(), free.copy()
        open_[np.argmax(gain)] = True
        _settle(A, b, tried, open_, lower, upper)
        left = np.linalg.norm(A @ tried - b)
        if left >= best:
            break
        x, free, best = tried, open_, left
    return x


def _settle(
    A: FloatArray, b: FloatArray, x: FloatArray, free: NDArray[np.bool_], lower: FloatArray, upper: FloatArray
) -> None:
    """Move the free variables to their answer, those that meet a bound only as far as there; x and free change."""
    while free.any():
        step = np.linalg.lstsq(A[:, free], b - A @ x, rcond=None)[0]
        at, low, high = x[free], lower[free], upper[free]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0.0, (high - at) / step, np.where(step < 0.0, (low - at) / step, np.inf))
        part = min(1.0, float(room.min()))
        x[free] = np.clip(at + part * step, low, high)
        if part == 1.0 and (room > 1.0).all():
            return
        stopped = room <= part
        x[np.flatnonzero(free)[stopped]] = np.where(step > 0.0, high, low)[stopped]
        free[np.flatnonzero(free)[stopped]] = False
