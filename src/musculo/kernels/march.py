"""Steps of Runge-Kutta-Fehlberg and TR-BDF2 one after the other, nothing of them in Python.

The steps, their errors and their lengths are those of `musculo.simulation.steppers`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.kernels.jit import driver, inline, kernel, spliced
from musculo.kernels.loop_space import FloatArray, IntArray
from musculo.kernels.pack import WIDTH
from musculo.kernels.states import begin, project, rates, room_for, settle

RKF45, TR_BDF2 = 0, 1
# How a march ends: at its time; where there is no more room; at a step that has to be looked at.
ARRIVED, FULL, ODD = 0, 1, 2


class Stepping(NamedTuple):
    """How steps are made; numbers are those of `musculo.simulation`."""

    method: int
    projected: bool
    rtol: float
    atol: float
    max_step: float
    safety: float
    least: float
    most: float
    smallest: float
    nodes: FloatArray  # (6,) of Runge-Kutta-Fehlberg
    stages: FloatArray  # (6, 6)
    fifth: FloatArray  # (6,)
    fourth: FloatArray  # (6,)
    gamma: float  # of TR-BDF2
    second: FloatArray  # (3,)
    third: FloatArray  # (3,)
    rounds: int
    steep: float  # dependents that move so many times faster than the states are looked at
    jump: float  # and speeds that change so many times more than accelerations explain


class _Space(NamedTuple):
    k: FloatArray  # (6, n)
    Y: FloatArray  # (n, WIDTH)
    F: FloatArray  # (n, WIDTH)
    x: FloatArray  # (n,)
    f: FloatArray  # (n,)
    error: FloatArray  # (n,)
    J: FloatArray  # (n, n)
    lu: FloatArray  # (n, n)
    order: IntArray  # (n,)
    known: FloatArray  # (n,)
    change: FloatArray  # (n,)
    middle: FloatArray  # (n,)


@inline
def _size(s, error, a, b):
    """Error as a part of what is allowed, in the root mean square."""
    total = 0.0
    for i in range(error.size):
        part = error[i] / (s.atol + s.rtol * max(abs(a[i]), abs(b[i])))
        total += part * part
    return np.sqrt(total / error.size)


@spliced
def _rate(p, r, w, t, y, f):
    """f = dy/dt of one state."""
    for i in range(y.size):
        for lane in range(WIDTH):
            w.Y[i, lane] = y[i]
    fine = rates(p, r, t, w.Y, 1, w.F)
    for i in range(y.size):
        f[i] = w.F[i, 0]
    return fine


@spliced
def _rkf45(p, s, r, w, t, y, f, h):
    """w.x and w.error of a step; whether all rates were there."""
    n = y.size
    for i in range(n):
        w.k[0, i] = f[i]
    for stage in range(1, 6):
        for i in range(n):
            total = 0.0
            for j in range(stage):
                total += s.stages[stage, j] * w.k[j, i]
            w.x[i] = y[i] + h * total
        if not _rate(p, r, w, t + s.nodes[stage] * h, w.x, w.k[stage]):
            return False
    for i in range(n):
        total, other = 0.0, 0.0
        for j in range(6):
            total += s.fifth[j] * w.k[j, i]
            other += (s.fifth[j] - s.fourth[j]) * w.k[j, i]
        w.x[i], w.error[i] = y[i] + h * total, h * other
    return True


@spliced
def _jacobian(p, r, w, t, y, f):
    """w.J = df/dy by forward differences, eight columns at a time."""
    n = y.size
    for first in range(0, n, WIDTH):
        real = min(WIDTH, n - first)
        for lane in range(WIDTH):
            column = first + min(lane, real - 1)
            for i in range(n):
                w.Y[i, lane] = y[i]
            w.Y[column, lane] = y[column] + 1.4901161193847656e-08 * max(1.0, abs(y[column]))
        for lane in range(real):
            w.known[first + lane] = w.Y[first + lane, lane] - y[first + lane]
        if not rates(p, r, t, w.Y, real, w.F):
            return False
        for lane in range(real):
            for i in range(n):
                w.J[i, first + lane] = (w.F[i, lane] - f[i]) / w.known[first + lane]
    return True


@kernel
def _factor(w, d):
    """LU factors of 1 - d J, with the largest pivots; whether there are any."""
    n = w.J.shape[0]
    for i in range(n):
        w.order[i] = i
        for j in range(n):
            w.lu[i, j] = (1.0 if i == j else 0.0) - d * w.J[i, j]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(w.lu[i, k]) > abs(w.lu[best, k]):
                best = i
        if not abs(w.lu[best, k]) > 0.0:
            return False
        if best != k:
            w.order[k], w.order[best] = w.order[best], w.order[k]
            for j in range(n):
                w.lu[k, j], w.lu[best, j] = w.lu[best, j], w.lu[k, j]
        for i in range(k + 1, n):
            w.lu[i, k] /= w.lu[k, k]
            for j in range(k + 1, n):
                w.lu[i, j] -= w.lu[i, k] * w.lu[k, j]
    return True


@kernel
def _solve(w, b, x):
    """x = (1 - d J)^-1 b."""
    n = b.size
    for i in range(n):
        x[i] = b[w.order[i]]
        for j in range(i):
            x[i] -= w.lu[i, j] * x[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= w.lu[i, j] * x[j]
        x[i] /= w.lu[i, i]


@spliced
def _implicit(p, s, r, w, t, d, y, f):
    """w.x = w.known + d f(t, w.x) from the guess in w.x, and its f; whether Newton's iteration converges."""
    for _ in range(s.rounds):
        if not _rate(p, r, w, t, w.x, w.f):
            return False
        for i in range(y.size):
            w.error[i] = w.known[i] + d * w.f[i] - w.x[i]
        _solve(w, w.error, w.change)
        for i in range(y.size):
            w.x[i] += w.change[i]
        if _size(s, w.change, y, y) < 1e-3:
            for i in range(y.size):
                f[i] = (w.x[i] - w.known[i]) / d
            return True
    return False


@spliced
def _tr_bdf2(p, s, r, w, t, y, f, h):
    """w.x and w.error of a step; w.J is there. Whether it could be solved."""
    g, n = s.gamma, y.size
    d = 0.5 * g * h
    if not _factor(w, d):
        return False
    for i in range(n):
        w.known[i], w.x[i] = y[i] + d * f[i], y[i] + g * h * f[i]
    if not _implicit(p, s, r, w, t + g * h, d, y, w.k[0]):
        return False
    for i in range(n):
        w.middle[i] = w.x[i]
        w.known[i] = (w.x[i] - (1.0 - g) ** 2 * y[i]) / (g * (2.0 - g))
        w.x[i] += (1.0 - g) * h * w.k[0, i]
    if not _implicit(p, s, r, w, t + h, d, y, w.k[1]):
        return False
    for i in range(n):
        ahead = (s.second[0] - s.third[0]) * f[i] + (s.second[1] - s.third[1]) * w.k[0, i]
        w.known[i] = h * (ahead + (s.second[2] - s.third[2]) * w.k[1, i])
    _solve(w, w.known, w.error)
    return True


@inline
def _odd(p, s, r, y, u, udot, h):
    """Whether a step went where loops may have turned back: dependents far faster than states, or speeds that jump."""
    n_z = p.q_at.size
    most, before, states = 0.0, 0.0, 0.0
    for k in range(u.size):
        most, before = max(most, abs(r.U[k, 0])), max(before, abs(u[k]))
    for k in range(n_z):
        states = max(states, abs(y[n_z + k]))
    if most > s.steep * states:
        return True
    for k in range(u.size):
        jump = abs(r.U[k, 0] - u[k])
        explained = s.jump * h * max(abs(udot[k]), abs(r.D[k, 0]))
        if jump > 0.5 * max(most, before) and jump > explained:
            return True
    return False


@driver
def march(p, s, t, end, h, y, f, q, u, udot, times, states, slopes, poses):
    """From y at t towards `end`: (steps, how it ends, the next step's length, evaluations); each step is kept.

    Args:
        p, s: what moves, and how steps are made. h: length of the first step [s].
        y, f: (n,) state and rates. q, u, udot: coordinates, speeds and accelerations of all the tree there.
        times, states, slopes, poses: (room, ...) take t, y, f and q after every step.
    """
    n = y.size
    order = 4.0 if s.method == RKF45 else 2.0
    r = room_for(p, q.size)
    w = _Space(
        np.zeros((6, n)), np.zeros((n, WIDTH)), np.zeros((n, WIDTH)), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros((n, n)), np.zeros((n, n)), np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n), np.zeros(n),
    )  # fmt: skip
    begin(p, r, q)
    count, evaluations, fresh = 0, 0, True
    while t < end:
        if count == times.size:
            return count, FULL, h, evaluations
        if s.method == TR_BDF2 and fresh:
            evaluations += n
            if not _jacobian(p, r, w, t, y, f):
                return count, ODD, h, evaluations
            fresh = False
        h = min(h, s.max_step)
        left = end - t
        # two halves rather than a step and a splinter
        step = left if h >= left else (0.5 * left if 2.0 * h > left else h)
        if step <= s.smallest * max(abs(t), abs(end)) and step < left:
            return count, ODD, h, evaluations
        if s.method == RKF45:
            tried = _rkf45(p, s, r, w, t, y, f, step)
            evaluations += 5
        else:
            tried = _tr_bdf2(p, s, r, w, t, y, f, step)
            evaluations += 6
        size = _size(s, w.error, y, w.x) if tried else np.inf
        if size <= 1.0:
            later = end if step == left else t + step
            moved = True
            if s.projected:
                moved = project(p, r, w.x)
            if moved and _rate(p, r, w, later, w.x, w.f):
                evaluations += 1
                if p.embedded and _odd(p, s, r, w.x, u, udot, step):
                    return count, ODD, h, evaluations
                if p.embedded:
                    settle(p, r)
                t, fresh = later, True
                for i in range(n):
                    y[i], f[i] = w.x[i], w.f[i]
                    states[count, i], slopes[count, i] = y[i], f[i]
                for k in range(q.size):
                    poses[count, k] = q[k] = r.Q[k, 0]
                for k in range(u.size):
                    u[k], udot[k] = r.U[k, 0], r.D[k, 0]
                times[count] = t
                count += 1
                factor = min(max(s.safety * max(size, 1e-10) ** (-1.0 / (order + 1.0)), s.least), s.most)
                # a step cut short by the end says nothing against the length before it
                h = max(step * factor, h if step < h else 0.0)
                continue
            size = np.inf
        h = step * (min(max(s.safety * size ** (-1.0 / (order + 1.0)), s.least), s.most) if size < np.inf else s.least)
    return count, ARRIVED, h, evaluations
