"""Least effort that serves linear equations, frame by frame: convex programs with bounds.

    minimize sum_i w_i |x_i|^p   subject to   A x = b,   lower <= x <= upper

It knows nothing of muscles.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.static_optimization.bounded_least_squares import bounded_least_squares
from musculo.analyses.static_optimization.least_effort_powers import GradedNewton
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.scalar.bounded_effort import SERVED, EffortFrames, effort_frames
from musculo.kernels.tree.tree_frames import over_frames

# Bounds hold to this in units of x; equations are in the working set from the start and hold to rounding.
PRIMAL_TOLERANCE = 1e-10
# What is left of an equation, against the largest number in it, before a frame counts as not served.
BALANCED = 1e-9
# Powers below two: the answer is this near, of the largest x.
KKT_TOLERANCE = 1e-9
MOST_STEPS = 500
# Curvature below this part of the largest is raised to it: a program needs some, and a steep one needs more.
_LEAST_CURVATURES = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1)
# Powers above two start from the answer of quadratic programs for a power up to this, found to so much of the largest
# gradient: they know best who is at a bound, and reach no further.
_PROGRAMS_REACH, _START_TOLERANCE = 8.0, 1e-6
# What pulls on the rest of equations that cannot be served by less than this part of its size does not.
_NO_PULL = 1e-9
# Frames in a row that hand on their working sets. Fixed, so that the number of threads changes nothing.
_SEGMENT = 32
_EQUALITY = 5


class EffortStatus(IntEnum):
    """How the search of a frame ended."""

    SOLVED = 0
    """The equations hold and no other answer costs less."""
    INFEASIBLE = 1
    """No answer within the bounds serves the equations; given is one of least effort among those that miss least."""
    NOT_CONVERGED = 2
    """The search did not end: the answer is one that was met on the way, and others may cost less."""


Status = EffortStatus


@dataclass(frozen=True, eq=False)
class Effort:
    """Answers of all frames."""

    x: FloatArray  # (frames, n)
    status: NDArray[np.int64]  # (frames,) `Status`


def least_effort(
    A: FloatArray,
    b: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    weights: FloatArray,
    power: float = 2.0,
    threads: int | None = None,
    targets: FloatArray | None = None,
) -> Effort:
    """The answers of least effort; see the module.

    Power 2 is a quadratic program: Newton's method on its dual (`kernels.scalar.bounded_effort`) and, where that does
    not serve the equations, DAQP's dual active sets. Powers above 2 are found by Newton's method in which every
    variable counts at its own size (`GradedNewton`), from a sequence of quadratic programs; powers between 1 and 2 by
    reweighted ones, since curvature has a pole at zero. Power 1 is a linear program (HiGHS). Working sets pass on from
    frame to frame within segments of fixed length; answers depend on it by rounding only.

    High powers make gradients of large and small x differ by any factor: at power 100, what is a tenth as large has a
    gradient of 1e-99 of the largest, and the sum does not know of it in double precision. The answer does: it is the
    limit of answers in more and more digits, for the smallest x as for the largest.

    Guarantees: the same answer to the last bit for any number of threads.
                Where the status is SOLVED, bounds hold, equations hold to 1e-9 of the largest term, and every x is
                within 1e-9 of the largest x from the only answer there is (power 1 has several; its sum is least).
                Above power 2 that is so down to 10^(-290/p) of the largest x that can change (1.3e-3 at power 100,
                1.6e-6 at 50); what is smaller is known to be that small. Decimal arithmetic in 420 digits agrees
                (tests: 1e-12 of the largest x, powers 3 to 100, on five recorded motions). Multipliers cannot be
                checked in double precision: those of high powers are sums of numbers that differ by 1e100, and
                rounding of an entry of A that ought to be zero, times the largest, hides all others. Therefore
                what is below 1e-11 of the largest entry of A_B^-1 A (see `GradedNewton`) does not count above power
                2: it comes from moment arms of muscles that do not cross a joint. The largest x falls with the power
                towards the least that serves the equations.

    Args:
        A: (frames, k, n). b: (frames, k).
        lower, upper: (n,); infinite where there is no bound.
        weights: (n,) above zero.
        power: 1 to 100.
        threads: the number of threads; all cores by default.
        targets: (frames, n) from which the distance counts in the place of that from zero: w_i (x_i - target_i)^2; with
            power 2 only.
    """
    frames, _, n = A.shape
    x, status = np.zeros((frames, n)), np.zeros(frames, dtype=np.int64)
    if not n or not frames:
        missing = np.abs(b).max(axis=1, initial=0.0) > 0.0
        return Effort(x, np.where(missing, int(Status.INFEASIBLE), 0) if frames else status)

    left = np.ones(frames, dtype=bool)
    if power == 2.0 and A.shape[1]:
        left = ~_served(A, b, (lower, upper, weights), targets, x, threads)
        if not left.any():
            return Effort(x, status)

    def run(start: int) -> None:
        one = _Frames(lower, upper, weights, power)
        for frame in start + np.flatnonzero(left[start : start + _SEGMENT]):
            x[frame], status[frame] = one.solve(A[frame], b[frame], None if targets is None else targets[frame])

    starts = [start for start in range(0, frames, _SEGMENT) if left[start : start + _SEGMENT].any()]
    workers = min(threads if threads is not None else (os.cpu_count() or 1), len(starts))
    if workers == 1:
        for start in starts:
            run(start)
    else:
        with ThreadPoolExecutor(workers) as pool:  # DAQP works without the interpreter's lock
            list(pool.map(run, starts))
    return Effort(x, status)


def _served(
    A: FloatArray,
    b: FloatArray,
    bounds: tuple[FloatArray, FloatArray, FloatArray],
    targets: FloatArray | None,
    x: FloatArray,
    threads: int | None,
) -> NDArray[np.bool_]:
    """(frames,) whether Newton's method serves the equations at power 2, with the answers in x."""
    frames, outcome = len(b), np.zeros(len(b), dtype=np.int64)
    near = np.zeros_like(x) if targets is None else np.ascontiguousarray(targets)
    programs = EffortFrames(
        np.ascontiguousarray(A).reshape(frames, -1), np.ascontiguousarray(b), near, x, outcome, np.empty_like(outcome)
    )
    over_frames(effort_frames, (programs, *(np.ascontiguousarray(one, dtype=float) for one in bounds)), frames, threads)
    return outcome == SERVED


class _Frames:
    """Frames one after the other, with the memory of the solver."""

    def __init__(self, lower: FloatArray, upper: FloatArray, weights: FloatArray, power: float) -> None:
        self.lower, self.upper, self.weights, self.power = lower, upper, weights, power
        self.identity, self.no_slope = np.eye(len(lower)), np.zeros(len(lower))
        self.memory: Any = None  # DAQP's, with the working set of the last answer
        self.rows = 0

    def solve(self, A: FloatArray, b: FloatArray, target: FloatArray | None = None) -> tuple[FloatArray, int]:
        slope = self.no_slope if target is None else -self.weights * target
        x = self._quadratic(A, b, self.weights, slope)
        if x is None:
            x = self._nearest(A, b)
            if not _balanced(A, b, x):
                return self._least_among_nearest(A, b, x, target)
            # Equations that repeat others.
            A, b = _independent(A, b)
            least = self._quadratic(A, b, self.weights, slope)
            if least is None:
                return x, int(Status.NOT_CONVERGED)
            x = least
        if self.power == 2.0:
            return x, int(Status.SOLVED)
        better = self._linear(A, b) if self.power == 1.0 else self._other_power(A, b, x)
        if better is None or not _balanced(A, b, better):
            return x, int(Status.NOT_CONVERGED)
        return better, int(Status.SOLVED)

    def _quadratic(self, A: FloatArray, b: FloatArray, h: FloatArray, f: FloatArray) -> FloatArray | None:
        """argmin sum(h x^2 / 2 + f x), or None where no answer is found."""
        if not len(b):
            return np.clip(-f / h, self.lower, self.upper)
        # Variables in units in which the curvature is one.
        s = np.sqrt(h)
        rows = np.ascontiguousarray(A / s)
        top, low = np.concatenate([self.upper * s, b]), np.concatenate([self.lower * s, b])
        slope = f / s
        if self.memory is not None and self.rows == len(b):
            flag = self.memory.update(f=slope, A=rows, bupper=top, blower=low)
            x = self._answer(A, b, s) if flag >= 0 else None
            if x is not None:
                return x
        # From nothing: the first frame, or one that the working set of the last does not lead to.
        import daqp

        self.memory, self.rows = daqp.Model(), len(b)
        self.memory.settings = {"primal_tol": PRIMAL_TOLERANCE}
        sense = np.zeros(len(top), dtype=np.int32)
        sense[len(s) :] = _EQUALITY
        flag = self.memory.setup(self.identity, slope, rows, top, low, sense)[0]
        x = self._answer(A, b, s) if flag >= 0 else None
        if x is None:
            self.memory = None
        return x

    def _answer(self, A: FloatArray, b: FloatArray, s: FloatArray) -> FloatArray | None:
        y, _, flag, _ = self.memory.solve()
        x = np.clip(y / s, self.lower, self.upper)
        return x if flag == 1 and _balanced(A, b, x) else None

    def _nearest(self, A: FloatArray, b: FloatArray) -> FloatArray:
        """An answer that misses least."""
        # Bounds that coincide leave nothing to choose.
        free = self.upper > self.lower
        x = np.clip(np.zeros(len(free)), self.lower, self.upper)
        if free.any() and A[:, free].any():
            rows, target = _independent(A[:, free], b - A[:, ~free] @ x[~free])
            x[free] = bounded_least_squares(rows, target, self.lower[free], self.upper[free])
        return x

    def _least_among_nearest(
        self, A: FloatArray, b: FloatArray, x: FloatArray, target: FloatArray | None
    ) -> tuple[FloatArray, int]:
        """The one of least effort among those that miss as little as x.

        They all miss by the same r = b - A x, since what a convex set has nearest to b is one point; and whatever could
        make r smaller, A_i' r other than zero, is at its bound in all of them.
        """
        r = b - A @ x
        pull = np.abs(A.T @ r) > _NO_PULL * np.linalg.norm(A, axis=0) * np.linalg.norm(r)
        rest = ~pull & (self.upper > self.lower)
        if not rest.any():
            return x, int(Status.INFEASIBLE)
        own = _Frames(self.lower[rest], self.upper[rest], self.weights[rest], self.power)
        y, status = own.solve(A[:, rest], A[:, rest] @ x[rest], None if target is None else target[rest])
        if status != Status.SOLVED:
            return x, int(Status.NOT_CONVERGED)
        x = x.copy()
        x[rest] = y
        return x, int(Status.INFEASIBLE)

    def _other_power(self, A: FloatArray, b: FloatArray, x: FloatArray) -> FloatArray | None:
        """From an answer x that serves the equations to the one of least effort."""
        if self.power < 2.0:
            return self._descend(A, b, x, self.power, KKT_TOLERANCE)
        if not np.isfinite(b).all() or not np.isfinite(A).all():
            return None
        start = self._descend(A, b, x, min(self.power, _PROGRAMS_REACH), _START_TOLERANCE)
        rows, goal = _independent(A, b)
        newton = GradedNewton(rows, goal, self.lower, self.upper, self.weights, self.power)
        return newton.solve(x if start is None else start)

    def _descend(self, A: FloatArray, b: FloatArray, x: FloatArray, p: float, tolerance: float) -> FloatArray | None:
        w = self.weights
        for _ in range(MOST_STEPS):
            # In units of the largest x: its powers would be beyond what a quadratic program's tolerances are made for.
            top = float(np.abs(x).max())
            if top == 0.0:
                return x

            def slope_at(v: FloatArray, top: float = top) -> FloatArray:
                return p * w * np.sign(v) * top * np.abs(v / top) ** (p - 1.0)

            slope = slope_at(x)
            for least in _LEAST_CURVATURES:
                h = self._curvature(x, p, least)
                y = self._quadratic(A, b, h, slope - h * x if p > 2.0 else self.no_slope)
                if y is not None:
                    break
            else:
                return None
            if p < 2.0:
                # Steps shrink by 2 - p, so this is how far the answer is; gradients are steep near zero and tell less.
                if np.abs(y - x).max() <= (p - 1.0) * tolerance * np.abs(y).max():
                    return y
                x = y
                continue
            # y is stationary for the program, so for the effort it is off by what the two gradients differ.
            there = slope_at(y)
            if np.abs(there - slope - h * (y - x)).max() <= tolerance * np.abs(there).max():
                return y
            x = _least_between(x, y, slope_at)
        return None

    def _curvature(self, x: FloatArray, p: float, least: float) -> FloatArray:
        """Of the parabola that stands for |x|^p; the smallest is at least so much of the largest."""
        size, w = np.abs(x), self.weights
        largest = size.max()
        if largest == 0.0:
            return w
        size = size / largest
        if p < 2.0:
            # It touches |x|^p from above and is centered at zero; Newton's would overshoot zero.
            return p * w * np.maximum(size, least ** (1.0 / (2.0 - p))) ** (p - 2.0)
        h = p * (p - 1.0) * w * size ** (p - 2.0)
        return np.maximum(h, least * h.max())

    def _linear(self, A: FloatArray, b: FloatArray) -> FloatArray | None:
        from scipy.optimize import linprog

        # |x| as the sum of two parts that are not negative, where x may be.
        two = np.flatnonzero(self.lower < 0.0)
        rows = np.concatenate([A, -A[:, two]], axis=1)
        cost = np.concatenate([self.weights, self.weights[two]])
        top = np.concatenate([np.maximum(self.upper, 0.0), -self.lower[two]])
        low = np.concatenate([np.maximum(self.lower, 0.0), np.maximum(-self.upper[two], 0.0)])
        tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = linprog(cost, A_eq=rows, b_eq=b, bounds=np.stack([low, top], axis=1), method="highs", options=tight)
        if found.x is None or found.status != 0:
            return None
        x = found.x[: A.shape[1]].copy()
        x[two] -= found.x[A.shape[1] :]
        return np.clip(x, self.lower, self.upper)


def _least_between(x: FloatArray, y: FloatArray, slope_at: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Where the effort is least on the way from x to y: its slope changes sign once, and is not positive at x."""
    d = y - x
    if slope_at(y) @ d <= 0.0:
        return y
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if slope_at(x + middle * d) @ d > 0.0:
            high = middle
        else:
            low = middle
    return x + (low + high) / 2 * d


def _independent(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Equations A x = b, which have a solution, without those that repeat others."""
    U, size, _ = np.linalg.svd(A, full_matrices=False)
    rank = int((size > size[0] * 1e-10).sum()) if size.size and size[0] > 0.0 else 0
    if rank == len(A):
        return A, b
    basis = U[:, :rank].T
    return basis @ A, basis @ b


def _balanced(A: FloatArray, b: FloatArray, x: FloatArray) -> bool:
    terms = np.abs(A) @ np.abs(x)
    scale = max(float(np.abs(b).max(initial=0.0)), float(terms.max(initial=0.0)))
    return bool((np.abs(A @ x - b) <= BALANCED * scale).all())


def check_power(power: float) -> float:
    """A power from 1 to 100 as a number."""
    if not isinstance(power, int | float) or not 1.0 <= power <= 100.0:
        raise InvalidInput(f"power is {power!r}; give a number from 1 to 100 (2 is the usual one)")
    return float(power)
