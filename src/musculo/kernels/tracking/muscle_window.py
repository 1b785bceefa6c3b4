"""Muscles alone over a window of time, while their paths move as polynomials say.

Muscles of a model know of each other by its motion only. Where that is given, each is a pair of equations of its own:

    da/dt = activation_rate(x, a),   dl/dt = v(L(t), a, l)

with a constant excitation x. Fibers are stiff where tendons are (their rates reach 10^4 /s), so steps are those of an
L-stable Rosenbrock method; the two equations are triangular, and each of its stages is two divisions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, inline, kernel, room
from musculo.kernels.hill.activation_rate import DIRECT, activation_rate
from musculo.kernels.hill.muscle_force import rigid_forces, state_forces
from musculo.kernels.hill.muscle_table import FIBER_LENGTH, FIBER_VELOCITY, TENDON_FORCE, MuscleTable

# RODAS: six stages, order 4 with an embedded result of order 3, L-stable, stiffly accurate. [HairerWanner1996],
# section IV.7, with the numbers of their code RODAS (set 1), in the
# variables u = sum gamma_ij k_j that spare products with the Jacobian. A row a stage.
_GAMMA = 0.25
_A = np.array([
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [1.544, 0.0, 0.0, 0.0, 0.0],
    [0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0],
    [3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0],
    [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 0.0],
    [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0],
])  # fmt: skip
_C = np.array([
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [-5.6688, 0.0, 0.0, 0.0, 0.0],
    [-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0],
    [-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0],
    [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0.0],
    [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054],
])  # fmt: skip
_AT = np.array([0.0, 0.386, 0.21, 0.63, 1.0, 1.0])
_BY_TIME = np.array([0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0])
_STAGES = 6
# Slopes are differences over such parts of an activation, of a fiber's optimal length and of the window.
_NUDGE = 1e-7
# Steps: how much of what the error allows is taken, the least and largest change, and the shortest part of a window.
_SAFETY, _LEAST, _MOST, _SHORTEST = 0.9, 0.2, 8.0, 1e-5
# A search for an excitation ends where the force is this near, over the maximum one, or the bracket so narrow.
_FORCE_FOUND, _BRACKET = 1e-7, 1e-10
_MOST_TRIALS, _HALVED_FROM = 60, 20


class Window(NamedTuple):
    """A window of time: what the paths of muscles do in it, and the muscles at its start."""

    duration: float  # [s]
    nodes: FloatArray  # (k,) where states are kept, in parts of the duration; increasing, the last is one
    length: FloatArray  # (terms, muscles) coefficients of the paths by powers of the part of the duration [m]
    activation: FloatArray  # (muscles,) at the start
    fiber: FloatArray  # (muscles,) fiber lengths there [m]
    tolerance: float  # of activation, and of fiber length over optimal or slack length, in a step


class WindowReach(NamedTuple):
    """What muscles can give at the end of a window, (muscles,) each."""

    low: FloatArray  # bounds of the excitations
    high: FloatArray
    low_force: FloatArray  # forces at the end under them [N]
    high_force: FloatArray


class Muscle(NamedTuple):
    """One muscle."""

    m: MuscleTable
    c: FloatArray  # curves
    i: int
    opensim: bool  # as in `state_forces`


class WindowRoom(NamedTuple):
    """Where one muscle is worked on."""

    stage: FloatArray  # (2, 6) increments of activation and fiber length
    end: FloatArray  # (2,) the state after a step; of the last accepted one between steps


@room
def window_room():
    """Room for one muscle."""
    return WindowRoom(np.zeros((2, _STAGES)), np.zeros(2))


@inline
def _path(w, i, s):
    """Length of path i and its rate [m/s] at a part of the window."""
    terms = w.length.shape[0]
    length, slope = w.length[terms - 1, i], 0.0
    for k in range(terms - 2, -1, -1):
        slope = slope * s + length
        length = length * s + w.length[k, i]
    return length, slope / w.duration


@inline
def _rate(muscle, w, s, a, fiber):
    """Fiber velocity [m/s] in a state."""
    m, c, i = muscle.m, muscle.c, muscle.i
    if m.rigid[i] == 1:
        return 0.0
    length, _ = _path(w, i, s)
    rows, _ = state_forces(m, c, i, length, a, fiber, muscle.opensim)
    return rows[FIBER_VELOCITY]


@kernel
def _step(muscle, w, x, s, h, r):
    """r.stage and the error of a step of h [s] from r.end at part s, over what the tolerance allows."""
    m, i = muscle.m, muscle.i
    a, fiber = r.end[0], r.end[1]
    u = r.stage
    part = h / w.duration
    of_activation, of_fiber = activation_rate(m, i, x, a), _rate(muscle, w, s, a, fiber)
    slope, by_activation, by_fiber, by_time = 0.0, 0.0, 0.0, 0.0
    if m.activation_model[i] != DIRECT:
        # towards the excitation: beyond it the other time constant holds
        nudge = _NUDGE if x > a else -_NUDGE
        slope = (activation_rate(m, i, x, a + nudge) - of_activation) / nudge
        if m.rigid[i] != 1:
            by_activation = (_rate(muscle, w, s, a + nudge, fiber) - of_fiber) / nudge
    if m.rigid[i] != 1:
        nudge = _NUDGE * m.optimal_length[i]
        by_fiber = (_rate(muscle, w, s, a, fiber + nudge) - of_fiber) / nudge
        back = -_NUDGE if s + _NUDGE > 1.0 else _NUDGE
        by_time = (_rate(muscle, w, s + back, a, fiber) - of_fiber) / (back * w.duration)
    for k in range(_STAGES):
        at_a, at_fiber, old_a, old_fiber = a, fiber, 0.0, 0.0
        for j in range(k):
            at_a += _A[k, j] * u[0, j]
            at_fiber += _A[k, j] * u[1, j]
            old_a += _C[k, j] * u[0, j]
            old_fiber += _C[k, j] * u[1, j]
        if k > 0:
            of_activation = activation_rate(m, i, x, at_a)
            of_fiber = _rate(muscle, w, s + _AT[k] * part, at_a, at_fiber)
        u[0, k] = (of_activation + old_a / h) / (1.0 / (_GAMMA * h) - slope)
        right = of_fiber + old_fiber / h + _BY_TIME[k] * h * by_time + by_activation * u[0, k]
        u[1, k] = right / (1.0 / (_GAMMA * h) - by_fiber)
    scale = m.optimal_length[i]
    if m.slack_length[i] > 0.0:
        scale = min(scale, m.slack_length[i])
    return max(abs(u[0, _STAGES - 1]), abs(u[1, _STAGES - 1]) / scale) / w.tolerance


@kernel
def _to_part(muscle, w, x, s, end, h, r):
    """r.end from part s to part `end` of the window; the length of the step to try next [s]."""
    m, i = muscle.m, muscle.i
    while s < end:
        left = (end - s) * w.duration
        step = min(h, left)
        last = step >= left
        error = _step(muscle, w, x, s, step, r)
        fine = error <= 1.0
        if fine or step <= _SHORTEST * w.duration:
            for k in range(2):
                total = r.end[k] + r.stage[k, _STAGES - 1]
                for j in range(_STAGES - 1):
                    total += _A[_STAGES - 1, j] * r.stage[k, j]
                r.end[k] = total
            if m.rigid[i] != 1 and r.end[1] < m.least_length[i]:
                r.end[1] = m.least_length[i]
            s = end if last else s + step / w.duration
        grown = _LEAST
        if math.isfinite(error):
            grown = min(max(_SAFETY * max(error, 1e-10) ** -0.25, _LEAST), _MOST)
        if not (fine and last and grown > 1.0 and step < h):
            h = max(step * grown, _SHORTEST * w.duration)
    return h


@inline
def _start(muscle, w, x, r):
    """The state at the start; an activation that is no state is the excitation."""
    m, i = muscle.m, muscle.i
    r.end[0] = x if m.activation_model[i] == DIRECT else w.activation[i]
    r.end[1] = w.fiber[i]


@inline
def _force(muscle, w, s, r):
    """(force of the tendon [N], fiber length [m]) in the state r.end."""
    m, c, i = muscle.m, muscle.c, muscle.i
    length, speed = _path(w, i, s)
    if m.rigid[i] == 1:
        rows, _ = rigid_forces(m, c, i, length, speed, r.end[0], muscle.opensim)
    else:
        rows, _ = state_forces(m, c, i, length, r.end[0], r.end[1], muscle.opensim)
    return rows[TENDON_FORCE], rows[FIBER_LENGTH]


@kernel
def end_force(muscle, w, x, r):
    """Force of a `Muscle` at the end of the window under excitation x [N]; r.end is its state there."""
    _start(muscle, w, x, r)
    _to_part(muscle, w, x, 0.0, 1.0, w.duration, r)
    force, _ = _force(muscle, w, 1.0, r)
    return force


@driver
def window_states(m, c, w, x, opensim, force, activation, fiber):
    """Muscles at the nodes of a window under excitations x (trials, muscles).

    Args:
        m, c: `MuscleTable` and curves. w: `Window`. opensim: as in `state_forces`.
        force, activation, fiber: (trials, k, muscles) take the force of the tendon [N], the activation and the fiber
            length [m].
    """
    r = window_room()
    for trial in range(x.shape[0]):
        for i in range(x.shape[1]):
            muscle = Muscle(m, c, i, opensim)
            _start(muscle, w, x[trial, i], r)
            s, h = 0.0, w.duration
            for k in range(w.nodes.size):
                h = _to_part(muscle, w, x[trial, i], s, w.nodes[k], h, r)
                s = w.nodes[k]
                force[trial, k, i], fiber[trial, k, i] = _force(muscle, w, s, r)
                activation[trial, k, i] = r.end[0]


@driver
def window_excitations(m, c, w, reach, force, opensim, x):
    """The constant excitations x (muscles,) under which muscles end a window with given forces.

    The force at the end grows with the excitation. The bracket low .. high shrinks from both sides by Anderson and
    Björck's rule of false position; a step that leaves the bracket, or no number, is halved. A force beyond those of
    the bracket takes the nearer end.

    Guarantees: the force is met to 1e-7 of the maximum isometric force, or the excitation to 1e-10.

    Args:
        reach: `WindowReach`. force: (muscles,) those wanted [N]. x: (muscles,) a guess on entry, tried first where it
            lies inside.
    """
    r = window_room()
    for i in range(x.size):
        muscle = Muscle(m, c, i, opensim)
        a, b = reach.low[i], reach.high[i]
        fa, fb = reach.low_force[i] - force[i], reach.high_force[i] - force[i]
        if not b > a or not fa < 0.0:
            x[i] = a
            continue
        if not fb > 0.0:
            x[i] = b
            continue
        if not (x[i] > a and x[i] < b):
            x[i] = a - fa * (b - a) / (fb - fa)
        side = 0
        for trial in range(_MOST_TRIALS):
            fx = end_force(muscle, w, x[i], r) - force[i]
            if abs(fx) <= _FORCE_FOUND * m.max_force[i]:
                break
            # an end that stays twice loses weight, so that it is not kept for ever
            if fx < 0.0:
                kept = 1.0 - fx / fa
                a, fa = x[i], fx
                if side < 0:
                    fb *= kept if kept > 0.0 else 0.5
                side = -1
            else:
                kept = 1.0 - fx / fb
                b, fb = x[i], fx
                if side > 0:
                    fa *= kept if kept > 0.0 else 0.5
                side = 1
            if b - a <= _BRACKET:
                break
            x[i] = a - fa * (b - a) / (fb - fa)
            if not (x[i] > a and x[i] < b) or trial > _HALVED_FROM:
                x[i] = 0.5 * (a + b)
