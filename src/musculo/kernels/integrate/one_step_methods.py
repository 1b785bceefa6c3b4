"""Steps of Runge-Kutta-Fehlberg and of TR-BDF2 with their errors kept, one after the other without Python between them.

What `musculo.simulation.steppers` does step by step, to rounding. A system lends its equations as functions that are
spliced in, so that these parts are compiled once for each kind of system, not for each model:

    rates(h, force, tau, t, real) -> whether there are rates F of the states Y, both (n_y, WIDTH), in the lanes before
        `real`; those after it are like the last of them
    land(h, Y, F, s, force, tau, t, c, out, k) -> whether a step may end at s.x: writes row k of `out`, a `Steps`

where h holds the system and the room it works in, with Y and F, and with q and u of the state whose rates came last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel, room, spliced
from musculo.kernels.integrate.step_coefficients import (
    BETWEEN,
    DIAGONAL,
    DIFFERENCE,
    FEHLBERG_ORDER,
    FIFTH,
    GAMMA,
    LEAST,
    MOST,
    NO_ERROR,
    NODES,
    NUDGE,
    ROUNDS,
    SAFETY,
    SMALL,
    SMALLEST,
    STAGES,
    TR_BDF2_ORDER,
)
from musculo.kernels.scalar.packed import WIDTH

# What a driver is asked for: steps, or the rates of one state; other systems know more.
ONWARD, RATES = 0, 1
# Methods.
FEHLBERG, TR_BDF2 = 0, 1
# How a trial came out: a state; equations that Newton's method does not solve; a state without rates.
FOUND, UNSOLVED, NO_RATES = 0, 1, 2


class Steps(NamedTuple):
    """Room for the ends of steps, k of them."""

    t: FloatArray  # (k,)
    y: FloatArray  # (k, n_y) states
    f: FloatArray  # (k, n_y) their rates
    q: FloatArray  # (k, n) all coordinates
    u: FloatArray  # (k, n_u) all speeds
    G: FloatArray  # (k, m n_u) matrix of constraints, where they are equations
    calls: IntArray  # (k,) evaluations of the rates


class StepControl(NamedTuple):
    """What bounds a step, see `musculo.simulation.steppers.Control`."""

    rtol: float
    atol: float
    longest: float
    method: int
    projects: int  # 1 where steps end on the constraints


class StepRoom(NamedTuple):
    """What a step of n_y states needs."""

    k: FloatArray  # (6, n_y) rates
    stage: FloatArray  # (n_y,)
    x: FloatArray  # (n_y,) the state that a trial leads to
    error: FloatArray  # (n_y,)
    known: FloatArray  # (n_y,)
    change: FloatArray  # (n_y,)
    matrix: FloatArray  # (n_y, n_y)
    order: IntArray  # (n_y,) rows of the matrix as they were exchanged
    calls: IntArray  # (1,)


@room
def step_room(n):
    """Room for steps of n states."""
    return StepRoom(
        np.zeros((6, n)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@inline
def _size(error, a, b, rtol, atol):
    """`Control.size`: the error as a part of what is allowed at states a and b."""
    total = 0.0
    for i in range(error.size):
        part = error[i] / (atol + rtol * max(abs(a[i]), abs(b[i])))
        total += part * part
    return np.sqrt(total / max(error.size, 1))


@inline
def _factor(size, order):
    """How many times as long the next step is."""
    return min(max(SAFETY * max(size, NO_ERROR) ** (-1.0 / (order + 1)), LEAST), MOST)


@kernel
def factor_rows(A, order):
    """A = P L U in place, rows exchanged for the largest pivots; `order` takes the row that came to each place."""
    n = order.size
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        order[k] = best
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


@kernel
def solve_rows(A, order, b):
    """b <- A^-1 b by the factors of `factor_rows`."""
    n = order.size
    for k in range(n):
        b[k], b[order[k]] = b[order[k]], b[k]
    for i in range(n):
        for j in range(i):
            b[i] -= A[i, j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= A[i, j] * b[j]
        b[i] /= A[i, i]


@spliced
def rates_of(rates, h, Y, F, force, tau, t, y, f):
    """f of one state y; whether there is one."""
    for i in range(y.size):
        for lane in range(WIDTH):
            Y[i, lane] = y[i]
    # a number and not a literal, for which `rates` would be compiled once more
    fine = rates(h, force, tau, t, np.int64(1))
    for i in range(y.size):
        f[i] = F[i, 0]
    return fine


@inline
def keep_pose(q, u, out, k):
    """All coordinates and speeds of a state into row k."""
    for i in range(q.size):
        out.q[k, i] = q[i]
    for i in range(u.size):
        out.u[k, i] = u[i]


@spliced
def land_as_found(rates, h, Y, F, s, force, tau, t, out, k):
    """`land` of systems whose steps end where they lead to, if there are rates."""
    x = out.y[k]
    for i in range(x.size):
        x[i] = s.x[i]
    fine = rates_of(rates, h, Y, F, force, tau, t, x, out.f[k])
    r = h[1]
    keep_pose(r.q, r.u, out, k)
    return fine


@spliced
def _fehlberg(rates, h, Y, F, s, force, tau, t, y, f, step):
    """s.x and s.error as `rkf45_step` has them."""
    n = y.size
    for i in range(n):
        s.k[0, i] = f[i]
    found = True
    for a in range(1, 6):
        for i in range(n):
            total = 0.0
            for b in range(a):
                total += STAGES[a, b] * s.k[b, i]
            s.stage[i] = y[i] + step * total
        found = found and rates_of(rates, h, Y, F, force, tau, t + NODES[a] * step, s.stage, s.k[a])
        if not found:
            break
    s.calls[0] += 5
    for i in range(n):
        total, other = 0.0, 0.0
        for a in range(6):
            total += FIFTH[a] * s.k[a, i]
            other += DIFFERENCE[a] * s.k[a, i]
        s.x[i], s.error[i] = y[i] + step * total, step * other
    return FOUND if found else NO_RATES


@spliced
def _newton_matrix(rates, h, Y, F, s, force, tau, t, y, f, step):
    """Factors of I - d step df/dy as `newton_matrix` has them, the columns of eight states at once."""
    n, found = y.size, True
    for first in range(0, n, WIDTH):
        real = min(WIDTH, n - first)
        for lane in range(WIDTH):
            j = first + min(lane, real - 1)
            for i in range(n):
                Y[i, lane] = y[i]
            Y[j, lane] = y[j] + NUDGE * max(1.0, abs(y[j]))
        for lane in range(real):
            s.change[first + lane] = Y[first + lane, lane] - y[first + lane]
        found = found and rates(h, force, tau, t, real)
        for lane in range(real):
            j = first + lane
            for i in range(n):
                slope = (F[i, lane] - f[i]) / s.change[j]
                s.matrix[i, j] = (1.0 if i == j else 0.0) - DIAGONAL * step * slope
    s.calls[0] += n
    factor_rows(s.matrix, s.order)
    return found


@spliced
def _tr_bdf2(rates, h, Y, F, s, force, tau, t, y, f, step, rtol, atol):
    """s.x and s.error as `tr_bdf2_step` has them."""
    n, d = y.size, DIAGONAL * step
    how = FOUND if _newton_matrix(rates, h, Y, F, s, force, tau, t, y, f, step) else NO_RATES
    for stage in range(2):
        # s.k holds the rates at the start, in the middle and at the end
        for i in range(n):
            s.k[0, i] = f[i]
            if stage == 0:
                s.known[i], s.x[i] = y[i] + d * f[i], y[i] + GAMMA * step * f[i]
            else:
                middle = s.x[i]
                s.known[i] = (middle - (1.0 - GAMMA) ** 2 * y[i]) / (GAMMA * (2.0 - GAMMA))
                s.x[i] = middle + (1.0 - GAMMA) * step * s.k[1, i]
        at = t + (GAMMA * step if stage == 0 else step)
        near = False
        for _ in range(ROUNDS):
            if how != FOUND or near:
                break
            s.calls[0] += 1
            if not rates_of(rates, h, Y, F, force, tau, at, s.x, s.stage):
                how = NO_RATES
                break
            for i in range(n):
                s.change[i] = s.known[i] + d * s.stage[i] - s.x[i]
            solve_rows(s.matrix, s.order, s.change)
            for i in range(n):
                s.x[i] += s.change[i]
            near = _size(s.change, y, y, rtol, atol) < SMALL
        if how == FOUND and not near:
            how = UNSOLVED
        for i in range(n):
            s.k[1 + stage, i] = (s.x[i] - s.known[i]) / d
    for i in range(n):
        s.error[i] = step * (BETWEEN[0] * s.k[0, i] + BETWEEN[1] * s.k[1, i] + BETWEEN[2] * s.k[2, i])
    solve_rows(s.matrix, s.order, s.error)
    return how


@spliced
def onward(rates, land, h, Y, F, s, force, tau, c, here, y, f, end, out):
    """Steps from the state y with rates f, until `end`, as many as `out` has room for; how many there were.

    Ends early where a trial has no rates or steps get too short: what follows is left to `steppers`, which says why.

    Args:
        h, Y, F: the system and where it works. s: room of a step. force, tau: as in
        `musculo.kernels.integrate.force_calls`.
        c: what bounds a step. here: (2,) the time and the length of the step to try first; as both are afterwards.
    """
    n, count, going = y.size, 0, True
    order = FEHLBERG_ORDER if c.method == FEHLBERG else TR_BDF2_ORDER
    while going and count < out.t.size and here[0] < end:
        t, length, landed = here[0], min(here[1], c.longest), False
        s.calls[0] = 0
        while going and not landed:
            left = end - t
            # two halves rather than a step and a splinter
            step = left if length >= left else (0.5 * left if 2.0 * length > left else length)
            if step <= SMALLEST * max(abs(t), abs(end)) and step < left:
                going = False
                break
            if c.method == FEHLBERG:
                how = _fehlberg(rates, h, Y, F, s, force, tau, t, y, f, step)
            else:
                how = _tr_bdf2(rates, h, Y, F, s, force, tau, t, y, f, step, c.rtol, c.atol)
            size = np.inf
            if how == FOUND:
                size = _size(s.error, y, s.x, c.rtol, c.atol)
            if how == NO_RATES:
                going = False
            elif size <= 1.0:
                t = end if step == left else t + step
                landed = going = land(h, Y, F, s, force, tau, t, c, out, count)
                if landed:
                    # a step cut short by the end says nothing against the length before it
                    here[0], here[1] = t, max(step * _factor(size, order), length if step < length else 0.0)
            length = step * (_factor(size, order) if np.isfinite(size) else LEAST)
        if landed:
            out.t[count], out.calls[count] = t, s.calls[0] + 1
            for i in range(n):
                y[i], f[i] = out.y[count, i], out.f[count, i]
            count += 1
    return count
