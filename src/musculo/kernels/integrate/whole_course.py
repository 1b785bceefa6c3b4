"""A simulation from its start to its end in one call, with states at given times: for batches, one lane each.

What `musculo.simulation.integrators.steppers.OneStep` and `dense.Course` do from Python one simulation after the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, inline, kernel, room
from musculo.kernels.integrate.muscle_drive import LEFT
from musculo.kernels.integrate.one_step_methods import ONWARD, RATES
from musculo.kernels.integrate.states_beside import answer_driven

# Where a simulation stands: not begun; under way; at its end; no step leads on; too many steps; a path waits for the
# second pass, which is not here; no rates at the start.
BEGINS, UNDER_WAY, FINISHED, STUCK, TOO_MANY, FOR_SECOND_PASS, NO_START = range(7)
# What `WholeCourse.counts` holds: where it stands, steps, states that were given out, evaluations of the rates.
STATUS, STEPS, GIVEN, CALLS = range(4)
# Ends of steps that states between them are made of.
_NODES = 3


class WholeCourse(NamedTuple):
    """What is wanted of a simulation, and its last steps."""

    times: FloatArray  # (k,) increasing; the simulation goes from the first to the last [s]
    most_steps: int
    found: FloatArray  # (k, n_y) states at these times
    t: FloatArray  # (3,) ends of the last steps, the start among them
    y: FloatArray  # (3, n_y) states there
    f: FloatArray  # (3, n_y) their rates
    counts: IntArray  # (4,) STATUS, STEPS, GIVEN, CALLS


@room
def whole_course(times, states, most_steps):
    """Room for one simulation of so many states."""
    return WholeCourse(
        times,
        most_steps,
        np.full((times.size, states), np.nan),
        np.zeros(_NODES),
        np.zeros((_NODES, states)),
        np.zeros((_NODES, states)),
        np.zeros(4, dtype=np.int64),
    )


@inline
def first_length(y, f, c):
    """A hundredth of the time in which y changes by itself [Hairer1993, II.4], as long as a step may be.

    Args: y, f: (n_y,) a state and its rates. c: `StepControl`.
    """
    size, fast = 0.0, 0.0
    for i in range(y.size):
        allowed = c.atol + c.rtol * abs(y[i])
        size += (y[i] / allowed) ** 2
        fast += (f[i] / allowed) ** 2
    size, fast = math.sqrt(size / max(y.size, 1)), math.sqrt(fast / max(y.size, 1))
    return min(0.01 * size / fast if min(size, fast) > 1e-5 else 1e-6, c.longest)


@kernel
def between_steps(t, y, f, first, count, time, out):
    """out (n,): the polynomial through states and rates at `count` ends of steps from row `first` on, at a time.

        y(t) = sum_i B_i^2 ((1 - 2 (t - t_i) B_i'(t_i)) y_i + (t - t_i) f_i),   B_i = prod_j (t - t_j) / (t_i - t_j)

    Hermite's: of fifth degree of three ends, with an error of sixth order; cubic of two.

    Guarantees: at an end of a step exactly its state.

    Args: t: (rows,). y, f: (rows, n).
    """
    n = out.size
    # in units of all the steps, so that powers stay near one
    h = t[first + count - 1] - t[first]
    for i in range(n):
        out[i] = 0.0
    for i in range(first, first + count):
        if time == t[i]:
            for k in range(n):
                out[k] = y[i, k]
            return
        basis, slope = 1.0, 0.0
        for j in range(first, first + count):
            if j != i:
                basis *= (time - t[j]) / (t[i] - t[j])
                slope += h / (t[i] - t[j])
        away = (time - t[i]) / h
        of_state, of_rate = (1.0 - 2.0 * away * slope) * basis * basis, away * basis * basis * h
        for k in range(n):
            out[k] += of_state * y[i, k] + of_rate * f[i, k]


@driver
def states_between(t, y, f, times, out):
    """States out (times, n) between steps: of the three ends around each time, or of both where there are only two.

    Args: t: (steps + 1,) increasing. y, f: (steps + 1, n). times: (times,).
    """
    count = min(_NODES, t.size)
    for k in range(times.size):
        low, high = 0, t.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            if t[middle] <= times[k]:
                low = middle
            else:
                high = middle
        first = min(max(low - 1, 0), t.size - count)
        between_steps(t, y, f, first, count, times[k], out[k])


@kernel
def _keep(t, y, f, c, row):
    """A state at t with its rates, in row `row` of the last ones."""
    c.t[row] = t
    for i in range(y.size):
        c.y[row, i], c.f[row, i] = y[i], f[i]


@kernel
def _give(c, nodes):
    """States at the times up to the last of so many ends of steps."""
    k = c.counts[GIVEN]
    while k < c.times.size and c.times[k] <= c.t[nodes - 1]:
        between_steps(c.t, c.y, c.f, 0, nodes, c.times[k], c.found[k])
        k += 1
    c.counts[GIVEN] = k


@kernel
def _begin(h, force, a, c):
    """Rates at the start, and the length of the first step."""
    a.here[0] = c.times[0]
    fine = answer_driven(h, RATES, force, a, c.times[0])
    if h[1].drive.turn[LEFT] != 0:
        return FOR_SECOND_PASS
    c.counts[CALLS] = 1
    if fine == 0:
        return NO_START
    a.here[1] = first_length(a.y, a.f, a.control)
    _keep(a.here[0], a.y, a.f, c, 0)
    for i in range(a.y.size):
        c.found[0, i] = a.y[i]
    c.counts[GIVEN] = 1
    return UNDER_WAY


@kernel
def _take_step(out, k, c):
    """A step that landed: the last states, and those at times within it."""
    c.counts[STEPS] += 1
    c.counts[CALLS] += out.calls[k]
    if c.counts[STEPS] >= _NODES:
        for i in range(_NODES - 1):
            _keep(c.t[i + 1], c.y[i + 1], c.f[i + 1], c, i)
    nodes = min(c.counts[STEPS] + 1, _NODES)
    _keep(out.t[k], out.y[k], out.f[k], c, nodes - 1)
    # the first step waits for the second, whose end the states in it are made of, too
    if nodes == _NODES:
        _give(c, nodes)


@kernel
def course_of(h, force, a, c, rounds):
    """Steps of a simulation towards its end, `rounds` times as many as a.out has rows; c.counts say where it stands.

    Args: h, force, a: as in `driven_state`; a.y is the first state at first. c: `WholeCourse`.
    """
    if c.counts[STATUS] == BEGINS:
        c.counts[STATUS] = _begin(h, force, a, c)
    end = c.times[c.times.size - 1]
    for _ in range(rounds):
        if c.counts[STATUS] != UNDER_WAY:
            break
        landed = answer_driven(h, ONWARD, force, a, end)
        for k in range(landed):
            _take_step(a.out, k, c)
        if a.here[0] >= end:
            c.counts[STATUS] = FINISHED
        elif c.counts[STEPS] >= c.most_steps:
            c.counts[STATUS] = TOO_MANY
        elif landed < a.out.t.size:
            c.counts[STATUS] = FOR_SECOND_PASS if h[1].drive.turn[LEFT] != 0 else STUCK
        if c.counts[STATUS] != UNDER_WAY and c.counts[STEPS] == 1:
            _give(c, 2)
