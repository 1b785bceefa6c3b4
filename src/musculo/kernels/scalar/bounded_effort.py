"""Least squares of bounded unknowns that serve linear equations, of one lane: the program of static optimization.

    minimize sum_i w_i (x_i - t_i)^2   subject to   A x = b,   lower <= x <= upper

Each equation has a multiplier, and x follows from the multipliers y one by one:

    x_i = clip(t_i + A_i' y / w_i)

The dual function of y is concave and quadratic piece by piece; its slope is b - A x. Newton's method with the free
unknowns F of the piece, (A_F W_F^-1 A_F') d = b - A x, and a search along d for where the slope ends, meets the piece
of the answer after a few steps, and there one step is exact (Li & Swetits 1997, SIAM J Optim 7:312).

The start is fixed, so that a frame's answer depends on nothing but its own numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, kernel, room

# Outcomes: the equations hold, or another method has to look at the frame.
SERVED, UNSERVED = 0, 1
# Newton's steps. Recorded walks need 3 to 12.
MOST_STEPS = 40
# What is left of an equation, of the largest number in it, for an answer to count: see `least_effort`.
_BALANCED = 1e-11
# A pivot below this part of its diagonal element is zero to rounding; it is raised to that part of the largest.
_SMALLEST_PIVOT, _RAISED = 1e-13, 1e-9
# Along a step the slope need only fall to this part of what it was; rounds of the search for it.
_FALLEN, _ROUNDS = 0.1, 40


class EffortRoom(NamedTuple):
    """What a lane of k equations and n unknowns writes on: every array is (rows, lanes)."""

    first: IntArray  # (n + 1,) where the entries of an unknown begin
    row: IntArray  # (k n,) equation of an entry that is not zero
    entry: FloatArray  # (k n,) its value
    sway: FloatArray  # (n,) A_i' y / w_i
    turn: FloatArray  # (n,) A_i' d / w_i
    side: IntArray  # (n,) -1 and 1 where a bound holds the unknown, else 0
    y: FloatArray  # (k,) multipliers
    d: FloatArray  # (k,) step
    left: FloatArray  # (k,) b - A x
    size: FloatArray  # (k,) of the terms of an equation; of diagonal elements
    factor: FloatArray  # (k k,)


@room
def effort_room(k, n):
    """A workspace of one lane."""
    return EffortRoom(
        np.zeros((n + 1, 1), dtype=np.int64),
        np.zeros((k * n, 1), dtype=np.int64),
        np.zeros((k * n, 1)),
        np.zeros((n, 1)),
        np.zeros((n, 1)),
        np.zeros((n, 1), dtype=np.int64),
        np.zeros((k, 1)),
        np.zeros((k, 1)),
        np.zeros((k, 1)),
        np.zeros((k, 1)),
        np.zeros((k * k, 1)),
    )


@kernel
def _list_entries(A, n, s, lane):
    """The entries of A (k n, lanes) that are not zero, unknown by unknown."""
    k, count = s.y.shape[0], 0
    for i in range(n):
        s.first[i, lane] = count
        for r in range(k):
            value = A[r * n + i, lane]
            if value != 0.0:
                s.row[count, lane] = r
                s.entry[count, lane] = value
                count += 1
    s.first[n, lane] = count


@kernel
def _place(b, bounds, near, x, s, lane):
    """x of the sways, which bound holds each unknown, and what is left of the equations."""
    lower, upper, _ = bounds
    k, n = s.y.shape[0], s.sway.shape[0]
    for r in range(k):
        s.left[r, lane] = b[r, lane]
    for i in range(n):
        value = near[i, lane] + s.sway[i, lane]
        side = -1 if value < lower[i] else (1 if value > upper[i] else 0)
        value = min(max(value, lower[i]), upper[i])
        s.side[i, lane] = side
        x[i, lane] = value
        for e in range(s.first[i, lane], s.first[i + 1, lane]):
            s.left[s.row[e, lane], lane] -= s.entry[e, lane] * value


@kernel
def _newton(bounds, x, s, lane):
    """d = (A_F W_F^-1 A_F')^-1 left, by L' L from the last equation to the first, so that zeros between legs stay."""
    weight = bounds[2]
    k, n, F = s.y.shape[0], s.sway.shape[0], s.factor
    for j in range(k * k):
        F[j, lane] = 0.0
    for i in range(n):
        if s.side[i, lane] == 0:
            for e in range(s.first[i, lane], s.first[i + 1, lane]):
                value = s.entry[e, lane] / weight[i]
                row = s.row[e, lane] * k
                for f in range(s.first[i, lane], e + 1):
                    F[row + s.row[f, lane], lane] += value * s.entry[f, lane]
    largest = 0.0
    for r in range(k):
        largest = max(largest, F[r * k + r, lane])
        s.d[r, lane] = s.left[r, lane]
        s.size[r, lane] = F[r * k + r, lane]
    if largest == 0.0:
        largest = 1.0
    for r in range(k - 1, -1, -1):
        pivot = F[r * k + r, lane]
        if not pivot > _SMALLEST_PIVOT * s.size[r, lane]:
            pivot = _RAISED * largest
        root = math.sqrt(pivot)
        F[r * k + r, lane] = root
        for i in range(r):
            F[r * k + i, lane] /= root
        for i in range(r):
            value = F[r * k + i, lane]
            if value != 0.0:
                for j in range(i + 1):
                    F[i * k + j, lane] -= value * F[r * k + j, lane]
    for r in range(k - 1, -1, -1):
        s.d[r, lane] /= F[r * k + r, lane]
        for i in range(r):
            s.d[i, lane] -= F[r * k + i, lane] * s.d[r, lane]
    for r in range(k):
        value = s.d[r, lane]
        for i in range(r):
            value -= F[r * k + i, lane] * s.d[i, lane]
        s.d[r, lane] = value / F[r * k + r, lane]


@kernel
def _slope(b_d, bounds, near, t, s, lane):
    """d' (b - A x) at the part t of the step: it falls with t."""
    lower, upper, weight = bounds
    total = b_d
    for i in range(s.sway.shape[0]):
        turn = s.turn[i, lane]
        if turn != 0.0:
            value = near[i, lane] + s.sway[i, lane] + t * turn
            total -= weight[i] * turn * min(max(value, lower[i]), upper[i])
    return total


@kernel
def _part(b, bounds, near, s, lane):
    """How much of the step to take: all of it if the slope is still upward there, else to about where it ends."""
    b_d, start = 0.0, 0.0
    for r in range(s.y.shape[0]):
        b_d += b[r, lane] * s.d[r, lane]
        start += s.left[r, lane] * s.d[r, lane]
    end = _slope(b_d, bounds, near, 1.0, s, lane)
    if end >= -_FALLEN * start:
        return 1.0
    low, high, at_low, at_high, t = 0.0, 1.0, start, end, 1.0
    for _ in range(_ROUNDS):
        t = (low * at_high - high * at_low) / (at_high - at_low)
        value = _slope(b_d, bounds, near, t, s, lane)
        if abs(value) <= _FALLEN * start:
            break
        # the end that stays counts half, so that both ends close in (the Illinois rule)
        if value > 0.0:
            low, at_low, at_high = t, value, 0.5 * at_high
        else:
            high, at_high, at_low = t, value, 0.5 * at_low
    return t


@kernel
def _off(b, x, s, lane):
    """What is left of the equation that is worst off (NaN where any is no number), and the largest sum of terms."""
    worst, scale, lost = 0.0, 0.0, 0.0
    for r in range(s.y.shape[0]):
        worst = max(worst, abs(s.left[r, lane]))
        lost += 0.0 * s.left[r, lane]  # a maximum may pass over what is no number
        s.size[r, lane] = abs(b[r, lane])
    for i in range(s.sway.shape[0]):
        for e in range(s.first[i, lane], s.first[i + 1, lane]):
            s.size[s.row[e, lane], lane] += abs(s.entry[e, lane] * x[i, lane])
    for r in range(s.y.shape[0]):
        scale = max(scale, s.size[r, lane])
    return worst + lost, scale


@kernel
def bounded_effort(A, b, bounds, near, x, s, lane):
    """x (n, lanes) of least effort; returns (outcome, steps). UNSERVED: x means nothing.

    Args:
        A: (k n, lanes) row by row. b: (k, lanes).
        bounds: lower, upper and weights (n,), the same for all lanes.
        near: (n, lanes) targets. s: `EffortRoom`.
    """
    _, _, weight = bounds
    k, n = s.y.shape[0], s.sway.shape[0]
    _list_entries(A, n, s, lane)
    for r in range(k):
        s.y[r, lane] = 0.0
    for i in range(n):
        s.sway[i, lane] = 0.0
    _place(b, bounds, near, x, s, lane)
    for i in range(n):
        # what rests at a bound may leave it: the first step is that without bounds
        s.side[i, lane] = 0
    before, steps = np.inf, 0
    for _ in range(MOST_STEPS):
        worst, scale = _off(b, x, s, lane)
        if not worst < np.inf:
            return UNSERVED, steps
        # x is always that of the multipliers: the equations alone say whether it is the answer
        if worst == 0.0 or (worst <= _BALANCED * scale and not worst < 0.5 * before):
            return SERVED, steps
        before = worst
        _newton(bounds, x, s, lane)
        for i in range(n):
            total = 0.0
            for e in range(s.first[i, lane], s.first[i + 1, lane]):
                total += s.entry[e, lane] * s.d[s.row[e, lane], lane]
            s.turn[i, lane] = total / weight[i]
        part = _part(b, bounds, near, s, lane)
        for r in range(k):
            s.y[r, lane] += part * s.d[r, lane]
        for i in range(n):
            # anew from the multipliers, so that rounding of steps does not gather
            total = 0.0
            for e in range(s.first[i, lane], s.first[i + 1, lane]):
                total += s.entry[e, lane] * s.y[s.row[e, lane], lane]
            s.sway[i, lane] = total / weight[i]
        _place(b, bounds, near, x, s, lane)
        steps += 1
    return UNSERVED, steps


class EffortFrames(NamedTuple):
    """Programs of all frames, and what is found, the frame first."""

    A: FloatArray  # (frames, k n) row by row
    b: FloatArray  # (frames, k)
    near: FloatArray  # (frames, n) targets
    x: FloatArray  # (frames, n) written
    status: IntArray  # (frames,) written
    steps: IntArray  # (frames,) written


@driver
def effort_frames(frames, lower, upper, weight, start, stop):
    """Programs of frames start .. stop - 1."""
    k, n = frames.b.shape[1], frames.x.shape[1]
    s = effort_room(k, n)
    bounds = (lower, upper, weight)
    for f in range(start, stop):
        frames.status[f], frames.steps[f] = bounded_effort(
            frames.A[f : f + 1].T,
            frames.b[f : f + 1].T,
            bounds,
            frames.near[f : f + 1].T,
            frames.x[f : f + 1].T,
            s,
            0,
        )
