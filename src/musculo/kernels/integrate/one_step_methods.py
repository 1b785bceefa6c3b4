"""Runge-Kutta-Fehlberg, TR-BDF2 and an implicit-explicit method: steps with their errors kept, one after the other.

A system lends its equations as functions that are spliced in, so that these parts are compiled once for each kind of
system, not for each model; one kind calls Python (`called_state`), so that the methods are written here alone:

    rates(h, force, tau, t, real) -> whether there are rates x.F of the states x.Y, both (n_y, WIDTH), in the lanes
        before `real`; those after it are like the last of them
    land(h, force, a, t, k) -> whether a step may end at s.x: writes row k of a.out, `Steps`
    attempt(rates, h, force, a, t, step) -> how a trial step came out: s.x at its end, and its error s.error

where h = (p, r, s) holds the system, the room it works in and that of a step: r.x are `StateLanes`, with q and u of the
state whose rates came last, and s is `StepRoom`. What is asked for is a, a `Request`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, room, spliced
from musculo.kernels.integrate.step_coefficients import (
    BETWEEN,
    DIAGONAL,
    DIFFERENCE,
    FEHLBERG_ORDER,
    FIFTH,
    GAMMA,
    IMEX_DIAGONAL,
    IMEX_DIFFERENCE,
    IMEX_EXPLICIT,
    IMEX_IMPLICIT,
    IMEX_NODES,
    IMEX_ORDER,
    IMEX_WEIGHTS,
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
from musculo.kernels.scalar.linear_equations import factor_rows, solve_rows
from musculo.kernels.scalar.packed import WIDTH

# What a driver is asked for: steps, or the rates of one state; other systems know more.
ONWARD, RATES = 0, 1
# Methods.
FEHLBERG, TR_BDF2, IMEX = 0, 1, 2
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
    """What bounds a step: err_i <= rtol |y_i| + atol, in the root mean square over i; and its length [s]."""

    rtol: float
    atol: float
    longest: float
    method: int
    projects: int  # 1 where steps end on the constraints
    retries: int  # 1 where a trial without rates is tried again, shorter; else it ends what is done here
    judged: int  # 0 where one trial is wanted as it comes, its end in out.y and its error in out.f


class Request(NamedTuple):
    """What a driver is handed beside the model; the same arrays at every call."""

    tau: FloatArray  # (n_u,) constant forces
    control: StepControl
    here: FloatArray  # (2,) the time, and the length of the step to try first; as both are afterwards
    y: FloatArray  # (n_y,) the state
    f: FloatArray  # (n_y,) its rates
    out: Steps


class StepRoom(NamedTuple):
    """What a step of n_y states needs."""

    k: FloatArray  # (6, n_y) rates
    stage: FloatArray  # (n_y,)
    x: FloatArray  # (n_y,) the state that a trial leads to
    error: FloatArray  # (n_y,)
    known: FloatArray  # (n_y,)
    change: FloatArray  # (n_y, 1)
    matrix: FloatArray  # (n_y n_y, 1)
    order: IntArray  # (n_y,) rows of the matrix as they were exchanged
    calls: IntArray  # (1,)
    why: IntArray  # (1,) how the last trial came out that found nothing; FOUND where all did
    stop: IntArray  # (1,) 1 where rates ask to leave steps to whoever asked for them, before anything shorter is tried


@room
def step_room(n):
    """Room for steps of n states."""
    return StepRoom(
        np.zeros((6, n)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, 1)),
        np.zeros((n * n, 1)),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@inline
def _part(error, a, b, c):
    """The error of one number as a part of what is allowed where it is a and b."""
    return error / (c.atol + c.rtol * max(abs(a), abs(b)))


@inline
def _factor(size, order):
    """How many times as long the next step is."""
    return min(max(SAFETY * max(size, NO_ERROR) ** (-1.0 / (order + 1)), LEAST), MOST)


@spliced
def rates_of(rates, h, force, tau, t, y, f):
    """f of one state y; whether there is one."""
    x = h[1].x
    for i in range(y.size):
        for lane in range(WIDTH):
            x.Y[i, lane] = y[i]
    # a number and not a literal, for which `rates` would be compiled once more
    fine = rates(h, force, tau, t, np.int64(1))
    for i in range(y.size):
        f[i] = x.F[i, 0]
    return fine


@inline
def keep_pose(x, out, k):
    """All coordinates and speeds of the one state into row k."""
    for i in range(x.q.size):
        out.q[k, i] = x.q[i]
    for i in range(x.u.size):
        out.u[k, i] = x.u[i]


@spliced
def land_as_found(rates, h, force, a, t, k):
    """`land` of systems whose steps end where they lead to, if there are rates."""
    end = a.out.y[k]
    for i in range(end.size):
        end[i] = h[2].x[i]
    fine = rates_of(rates, h, force, a.tau, t, end, a.out.f[k])
    keep_pose(h[1].x, a.out, k)
    return fine


@spliced
def fehlberg(rates, h, force, a, t, step):
    """s.x of fifth order at t + step, and in s.error its difference from that of fourth order.

        k_i = f(t + c_i h, y + h sum_j a_ij k_j),   y+ = y + h sum_i b_i k_i

    Source:  Fehlberg 1969, NASA TR R-315, table III; as Ehsani2023 uses it.
    Departs: the result of higher order is kept (local extrapolation).
    """
    s = h[2]
    n = a.y.size
    for i in range(n):
        s.k[0, i] = a.f[i]
    found = True
    for m in range(1, 6):
        for i in range(n):
            total = 0.0
            for j in range(m):
                total += STAGES[m, j] * s.k[j, i]
            s.stage[i] = a.y[i] + step * total
        found = found and rates_of(rates, h, force, a.tau, t + NODES[m] * step, s.stage, s.k[m])
        if not found:
            break
    s.calls[0] += 5
    for i in range(n):
        total, other = 0.0, 0.0
        for m in range(6):
            total += FIFTH[m] * s.k[m, i]
            other += DIFFERENCE[m] * s.k[m, i]
        s.x[i], s.error[i] = a.y[i] + step * total, step * other
    return FOUND if found else NO_RATES


@spliced
def _newton_matrix(rates, h, force, a, t, step):
    """Factors of I - d step df/dy, the derivative by forward differences, the columns of eight states at once."""
    x, s = h[1].x, h[2]
    n, found = a.y.size, True
    for first in range(0, n, WIDTH):
        real = min(WIDTH, n - first)
        for lane in range(WIDTH):
            j = first + min(lane, real - 1)
            for i in range(n):
                x.Y[i, lane] = a.y[i]
            x.Y[j, lane] = a.y[j] + NUDGE * max(1.0, abs(a.y[j]))
        for lane in range(real):
            s.change[first + lane, 0] = x.Y[first + lane, lane] - a.y[first + lane]
        found = found and rates(h, force, a.tau, t, real)
        for lane in range(real):
            j = first + lane
            for i in range(n):
                slope = (x.F[i, lane] - a.f[i]) / s.change[j, 0]
                s.matrix[i * n + j, 0] = (1.0 if i == j else 0.0) - DIAGONAL * step * slope
    s.calls[0] += n
    factor_rows(s.matrix, s.order, 0)
    return found


@spliced
def _tr_bdf2(rates, h, force, a, t, step):
    """s.x of second order at t + step, and an estimate of its error in s.error.

        y_g = y + g h/2 (f + f_g),   y+ = (y_g - (1 - g)^2 y) / (g (2 - g)) + (1 - g) / (2 - g) h f+,   g = 2 - sqrt(2)

    L-stable. The error is the difference from an embedded result of third order, put through the matrix so that it
    stays small where the motion is stiff. Rates of a stage are what its equation says: differences of large stiff
    rates would lose digits.

    Source: Bank1985; Hosea1996 for the error.
    """
    s = h[2]
    n, d = a.y.size, DIAGONAL * step
    how = FOUND if _newton_matrix(rates, h, force, a, t, step) else NO_RATES
    for stage in range(2):
        # s.k holds the rates at the start, in the middle and at the end
        for i in range(n):
            s.k[0, i] = a.f[i]
            if stage == 0:
                s.known[i], s.x[i] = a.y[i] + d * a.f[i], a.y[i] + GAMMA * step * a.f[i]
            else:
                middle = s.x[i]
                s.known[i] = (middle - (1.0 - GAMMA) ** 2 * a.y[i]) / (GAMMA * (2.0 - GAMMA))
                s.x[i] = middle + (1.0 - GAMMA) * step * s.k[1, i]
        at = t + (GAMMA * step if stage == 0 else step)
        near = False
        for _ in range(ROUNDS):
            if how != FOUND or near:
                break
            s.calls[0] += 1
            if not rates_of(rates, h, force, a.tau, at, s.x, s.stage):
                how = NO_RATES
                break
            for i in range(n):
                s.change[i, 0] = s.known[i] + d * s.stage[i] - s.x[i]
            solve_rows(s.matrix, s.order, s.change, 0)
            size = 0.0
            for i in range(n):
                s.x[i] += s.change[i, 0]
                size += _part(s.change[i, 0], a.y[i], a.y[i], a.control) ** 2
            near = math.sqrt(size / max(n, 1)) < SMALL
        if how == FOUND and not near:
            how = UNSOLVED
        for i in range(n):
            s.k[1 + stage, i] = (s.x[i] - s.known[i]) / d
    for i in range(n):
        s.change[i, 0] = step * (BETWEEN[0] * s.k[0, i] + BETWEEN[1] * s.k[1, i] + BETWEEN[2] * s.k[2, i])
    solve_rows(s.matrix, s.order, s.change, 0)
    for i in range(n):
        s.error[i] = s.change[i, 0]
    return how


@spliced
def implicit_explicit(rates, p, weight, h, force, a, t, step):
    """s.x of fourth order at t + step, and in s.error its difference from that of third order.

        Y_i = y + h sum_j a_ij f(Y_j)                            of states whose rates others share
        Y_i = y + h sum_j b_ij f(Y_j) + h g f(Y_i),   g = 1/4    of those that are stiff by themselves, as fibers are

    The second equations are solved where the rates are worked out, one by one, since each is of one state alone. So a
    step costs little more than an explicit one, and its length is not bounded by the fibers.

    Source: Kennedy & Carpenter 2003, ARK4(3)6L[2]SA.
    Guarantees: fourth order in all states, for any division of them; L-stable in the second.

    Args: p: `p.implicit` (n_y,) is 1 for the second kind. weight: (2,) where rates find h g, and 0 else: they take what
        is known of such a state, and answer with the rate at the state that solves its equation; then rtol,
        since it need not be solved much better.
    """
    s = h[2]
    n = a.y.size
    for i in range(n):
        s.k[0, i] = a.f[i]
    found = True
    weight[0], weight[1] = IMEX_DIAGONAL * step, a.control.rtol
    for m in range(1, 6):
        for i in range(n):
            total = 0.0
            if p.implicit[i] == 1:
                for j in range(m):
                    total += IMEX_IMPLICIT[m, j] * s.k[j, i]
            else:
                for j in range(m):
                    total += IMEX_EXPLICIT[m, j] * s.k[j, i]
            s.stage[i] = a.y[i] + step * total
        found = found and rates_of(rates, h, force, a.tau, t + IMEX_NODES[m] * step, s.stage, s.k[m])
        if not found:
            break
    weight[0] = 0.0
    s.calls[0] += 5
    for i in range(n):
        total, other = 0.0, 0.0
        for m in range(6):
            total += IMEX_WEIGHTS[m] * s.k[m, i]
            other += IMEX_DIFFERENCE[m] * s.k[m, i]
        s.x[i], s.error[i] = a.y[i] + step * total, step * other
    return FOUND if found else NO_RATES


@spliced
def explicit_or_implicit(rates, h, force, a, t, step):
    """A trial by Runge-Kutta-Fehlberg or TR-BDF2, as `attempt` above."""
    if a.control.method == FEHLBERG:
        return fehlberg(rates, h, force, a, t, step)
    return _tr_bdf2(rates, h, force, a, t, step)


@spliced
def onward(rates, land, attempt, h, force, a, end):
    """Steps from the state a.y with rates a.f, until `end`, as many as a.out has room for; how many there were.

    Ends early where steps get too short, s.why says by what; and, if nothing is tried again, where a trial has no
    rates, or none are where a step would end.

    Args: force: as in `musculo.kernels.integrate.force_calls`.
    """
    s, c, here, out = h[2], a.control, a.here, a.out
    n, count, going = a.y.size, 0, True
    order = TR_BDF2_ORDER if c.method == TR_BDF2 else FEHLBERG_ORDER if c.method == FEHLBERG else IMEX_ORDER
    s.why[0], s.calls[0] = FOUND, 0
    length = min(here[1], c.longest)
    # one trial a round, whether it lands or not: lanes of a GPU that stay together try together
    while going and count < out.t.size and here[0] < end:
        t = here[0]
        left = end - t
        # two halves rather than a step and a splinter
        step = left if length >= left else (0.5 * left if 2.0 * length > left else length)
        if step <= SMALLEST * max(abs(t), abs(end)) and step < left:
            break
        how = attempt(rates, h, force, a, t, step)
        size = np.inf
        if how == FOUND:
            size = 0.0
            for i in range(n):
                size += _part(s.error[i], a.y[i], s.x[i], c) ** 2
            size = math.sqrt(size / max(n, 1))
        if c.judged == 0:
            for i in range(n):
                out.y[0, i], out.f[0, i] = s.x[i], s.error[i]
            s.why[0] = how
            return 1 if how == FOUND else 0
        landed = False
        arrival = end if step == left else t + step
        if size <= 1.0:
            landed = land(h, force, a, arrival, count)
            if not landed:
                how, size = NO_RATES, np.inf
        if landed:
            # a step cut short by the end says nothing against the length before it
            here[0], here[1] = arrival, max(step * _factor(size, order), length if step < length else 0.0)
            out.t[count], out.calls[count] = arrival, s.calls[0] + 1
            for i in range(n):
                a.y[i], a.f[i] = out.y[count, i], out.f[count, i]
            count += 1
            s.calls[0] = 0
            length = min(here[1], c.longest)
        else:
            if how != FOUND:
                s.why[0] = how
                going = s.stop[0] == 0 and (how != NO_RATES or c.retries == 1)
            length = step * (_factor(size, order) if math.isfinite(size) else LEAST)
    return count


@spliced
def serve(rates, land, attempt, h, what, force, a, end):
    """Steps as `onward` makes them; or rates a.f of the state a.y at the time a.here[0], and whether they are there.

    Then all coordinates and speeds of that state come in the first rows of a.out.
    """
    if what == ONWARD:
        return onward(rates, land, attempt, h, force, a, end)
    fine = rates_of(rates, h, force, a.tau, a.here[0], a.y, a.f)
    keep_pose(h[1].x, a.out, 0)
    return 1 if fine else 0
