"""What muscles and other controlled forces along paths do at one state, and the rates of their own states.

A force of one state as `musculo.kernels.integrate.force_calls` has them; activations and fiber lengths are states that
are integrated beside those of the tree (`states_beside`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.functions.function_values import evaluate
from musculo.kernels.hill.activation_rate import FIRST_ORDER, activation_rate
from musculo.kernels.hill.muscle_force import rigid_forces, state_forces
from musculo.kernels.hill.muscle_table import FIBER_VELOCITY, TENDON_FORCE, MuscleTable
from musculo.kernels.integrate.force_calls import call_force
from musculo.kernels.paths.path_tension import PathForces, PathStates, path_tensions
from musculo.kernels.scalar.packed import WIDTH
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.tree_frames import work_rows

# What `MuscleRoom.calls` holds: words of functions (`force_calls`), 0 for none.
FIRST_PASS, SECOND_PASS, CONTROLLER, FUNCTION_PATHS = 0, 1, 2, 3
# What `MuscleRoom.turn` holds: which of eight states comes next, or ALONE; and whether a path waits for a second pass
# that nobody gave.
NEXT, LEFT = 0, 1
ALONE = -1
# A fiber's equation is solved to this part of the error that a step may have, and to this part of its length at best.
_SOLVED, _LEAST, _MOST_TRIALS = 1e-2, 1e-12, 60


class MuscleDrive(NamedTuple):
    """Muscles and controlled forces along paths, of a tree. Controls are in the order of the model's actuators."""

    tree: Any
    table: Any
    muscles: MuscleTable
    curves: FloatArray
    activation_state: IntArray  # (muscles,) which state is the activation; -1: the control is
    fiber_state: IntArray  # (muscles,) which state is the fiber's length; -1: the tendon is rigid
    pulls: IntArray  # (muscles,) 1 where the tension acts
    muscle_control: IntArray  # (muscles,) which control is the excitation
    lines: PathForces  # the other paths, which come after those of the muscles
    line_table: Any
    programs: Any
    line_control: IntArray  # (lines,) which control; -1: none
    slow_state: IntArray  # (slow actuators,) which state is the activation of an ActivationCoordinateActuator
    slow_control: IntArray  # which control it follows
    slow_time: FloatArray  # its time constant [s]
    controls: Any  # table of functions of time, one for each control
    like_opensim: bool  # whether states of muscles are OpenSim's


class MuscleRoom(NamedTuple):
    """Where one state is worked on; `Y` and `F` hold eight, or one in the first column."""

    Y: FloatArray  # (states, WIDTH) activations and fiber lengths
    F: FloatArray  # (states, WIDTH) their rates
    weight: FloatArray  # (2,) h g of a stage that is implicit in the fibers, or 0: Y are the states; and rtol
    slopes: FloatArray  # (states,) of rates by their own states, as they were last
    before: FloatArray  # (states, 2) rates and slopes as they were before the last trial of a step
    turn: IntArray  # (2,) NEXT and LEFT
    calls: IntArray  # (4,) FIRST_PASS, SECOND_PASS, CONTROLLER, FUNCTION_PATHS
    Q: FloatArray  # (n, 1)
    U: FloatArray  # (n_u, 1)
    W: FloatArray  # work of the tree
    motion: FloatArray  # (MOTION_ROWS nodes, 1)
    columns: FloatArray  # (6 n_u, 1)
    length: FloatArray  # (paths, 1) [m]
    speed: FloatArray  # (paths, 1) [m/s]
    arms: FloatArray  # (paths n_u, 1)
    status: Any  # (paths, 1)
    control: FloatArray  # (controls,)
    applied: FloatArray  # (controls,) as actuators take them: of those that are slow their activation
    tension: FloatArray  # (paths, 1) [N]
    line_control: FloatArray  # (lines, 1)
    stretch: FloatArray  # (lines, 1)
    stack: FloatArray  # of expressions
    known: FloatArray  # (n + 3 muscles,) what a controller is shown: q, activation, fiber length, path length
    known_rates: FloatArray  # (n_u + muscles,) u, lengthening speed


@room
def muscle_room(p, states, controls, depth):
    """Room for one state of a `MuscleDrive` with so many states of muscles and controls, and stacks of this depth."""
    n, n_u, muscles, lines = p.tree.q_rows.size, p.tree.u_rows.size, p.muscles.kind.size, p.lines.kind.size
    paths = muscles + lines
    return MuscleRoom(
        np.zeros((states, WIDTH)),
        np.zeros((states, WIDTH)),
        np.zeros(2),
        np.zeros(states),
        np.zeros((states, 2)),
        np.array([ALONE, 0]),
        np.zeros(4, dtype=np.int64),
        np.zeros((n, 1)),
        np.zeros((n_u, 1)),
        np.zeros((work_rows(p.tree), 1)),
        np.zeros((MOTION_ROWS * p.tree.parent.size, 1)),
        np.zeros((6 * n_u, 1)),
        np.zeros((paths, 1)),
        np.zeros((paths, 1)),
        np.zeros((paths * n_u, 1)),
        np.zeros((paths, 1), dtype=np.int8),
        np.zeros(controls),
        np.zeros(controls),
        np.zeros((paths, 1)),
        np.zeros((lines, 1)),
        np.zeros((lines, 1)),
        np.zeros((depth, 1)),
        np.zeros(n + 3 * muscles),
        np.zeros(n_u + muscles),
    )


@kernel
def _measure_paths(t, q, u, p, r):
    """Lengths, lengthening speeds and moment arms of all paths in r."""
    for i in range(q.size):
        r.Q[i, 0] = q[i]
    for i in range(u.size):
        r.U[i, 0] = u[i]
    if r.calls[FIRST_PASS] != 0:  # functions of coordinates need no poses of nodes
        kinematics(p.tree, p.table, r.W, Motion(r.Q, r.U, r.U), False, r.motion, 0)
        twists(p.tree, r.W, r.motion, r.columns, 0)
        call_force(r.calls[FIRST_PASS], t, q, u, r.control)
    if r.calls[SECOND_PASS] != 0:
        call_force(r.calls[SECOND_PASS], t, q, u, r.control)
    if r.calls[FUNCTION_PATHS] != 0:
        call_force(r.calls[FUNCTION_PATHS], t, q, u, r.control)


@kernel
def _control(t, q, u, p, r, lane):
    """Controls of this state: functions of time, to which a controller adds."""
    for k in range(r.control.size):
        value, _, _, _ = evaluate(p.controls, k, t)
        r.control[k] = value
    if r.calls[CONTROLLER] != 0:
        n, n_u, m = q.size, u.size, p.muscles.kind.size
        for i in range(n):
            r.known[i] = q[i]
        for i in range(n_u):
            r.known_rates[i] = u[i]
        for i in range(m):
            a, f = p.activation_state[i], p.fiber_state[i]
            r.known[n + i] = r.Y[a, lane] if a >= 0 else np.nan
            r.known[n + m + i] = r.Y[f, lane] if f >= 0 else np.nan
            r.known[n + 2 * m + i] = r.length[i, 0]
            r.known_rates[n_u + i] = r.speed[i, 0]
        call_force(r.calls[CONTROLLER], t, r.known, r.known_rates, r.control)
    for k in range(r.control.size):
        r.applied[k] = r.control[k]
    for k in range(p.slow_state.size):
        row, x = p.slow_state[k], p.slow_control[k]
        r.F[row, lane] = (r.control[x] - r.Y[row, lane]) / p.slow_time[k]
        r.applied[x] = r.Y[row, lane]


@kernel
def _excitation(p, i, x):
    """The control of muscle i as its activation follows it.

    That of the first-order model is from the least activation to one. OpenSim 4.6 takes it as it is: activations under
    a control below the least one fall without end, and count as the least one.
    """
    m = p.muscles
    if m.activation_model[i] == FIRST_ORDER and not p.like_opensim:
        return min(max(x, m.least_activation[i]), 1.0)
    return x


@kernel
def _implicit_fiber(p, r, i, L, a, known, rate, slope):
    """(l, slope, found): the length of fiber i with l = known + h g v(a, l, L), and what the muscle is there.

    v falls as l grows, so l - known - h g v grows faster than l: there is one root, at most as far away as that
    difference is large. Chords come to it, or the middle of what is left where they lead outside.

    Args: rate, slope: of v, as they were in the last stage.
    """
    m, weight = p.muscles, r.weight[0]
    tolerance = max(_SOLVED * r.weight[1], _LEAST) * m.optimal_length[i]
    l = known + weight * rate
    low, high = -np.inf, np.inf
    before, v_before = l, rate
    for trial in range(_MOST_TRIALS):
        found, _ = state_forces(m, p.curves, i, L, a, l, p.like_opensim)
        v = found[FIBER_VELOCITY]
        if trial > 0 and l != before:
            slope = min((v - v_before) / (l - before), 0.0)
        gap = l - known - weight * v
        if gap > 0.0:
            low, high = max(low, l - gap), l
        else:
            low, high = l, min(high, l - gap)
        new = l - gap / (1.0 - weight * slope)
        if not (low <= new and new <= high):
            new = 0.5 * (low + high)
        before, v_before = l, v
        if abs(new - l) <= tolerance:
            return new, slope, found
        l = new
    return np.nan, 0.0, found


@kernel
def _muscles(p, r, lane):
    """Tensions of all muscles, and the rates of their states."""
    m, c = p.muscles, p.curves
    for i in range(m.kind.size):
        x = _excitation(p, i, r.control[p.muscle_control[i]])
        row, fiber = p.activation_state[i], p.fiber_state[i]
        a = min(max(x, 0.0), 1.0)
        if row >= 0:
            a = r.Y[row, lane]
            if p.like_opensim and m.activation_model[i] == FIRST_ORDER:
                a = min(a, 1.0)
            r.F[row, lane] = activation_rate(m, i, x, a)
        L, v = r.length[i, 0], r.speed[i, 0]
        if fiber < 0:
            found, _ = rigid_forces(m, c, i, L, v, a, p.like_opensim)
        elif r.weight[0] > 0.0:
            known = r.Y[fiber, lane]
            rate, slope = r.F[fiber, lane], r.slopes[fiber]
            l, r.slopes[fiber], found = _implicit_fiber(p, r, i, L, a, known, rate, slope)
            # what the equation says: differences of large stiff rates would lose digits
            r.F[fiber, lane] = (l - known) / r.weight[0]
        else:
            found, _ = state_forces(m, c, i, L, a, r.Y[fiber, lane], p.like_opensim)
            r.F[fiber, lane] = found[FIBER_VELOCITY]
        r.tension[i, 0] = found[TENDON_FORCE] if p.pulls[i] == 1 else 0.0


@kernel
def muscle_drive(t, q, u, tau, p, r):
    """Add forces of muscles and other paths to tau; rates of their states go to r.F, controls to r.control.

        tau_j += sum_k T_k r_kj,   ldot = v(a, l, L(q)),   adot = (x - a) / time(x, a)

    Source:     [Ehsani2023] eq. 174-195 for the moment arms r; the laws of muscles are in `kernels.hill`.
    Departs:    a path that needs a second pass while none is known leaves tau NaN, and says so in r.turn.

    Args: t: time [s]. q: (n,). u: (n_u,). tau: (n_u,). p: `MuscleDrive`. r: `MuscleRoom`.
    """
    lane = 0
    if r.turn[NEXT] != ALONE:
        lane = r.turn[NEXT]
        r.turn[NEXT] += 1
    paths, n_u = r.length.shape[0], u.size
    if paths > 0:
        _measure_paths(t, q, u, p, r)
        if r.turn[LEFT] != 0:
            tau[0] = np.nan
            return
    _control(t, q, u, p, r, lane)
    _muscles(p, r, lane)
    muscles, lines = p.muscles.kind.size, p.lines.kind.size
    if lines > 0:
        for i in range(lines):
            r.line_control[i, 0] = r.control[p.line_control[i]] if p.line_control[i] >= 0 else 0.0
        states = PathStates(r.length[muscles:], r.speed[muscles:], r.line_control, r.stretch)
        path_tensions(p.lines, p.line_table, p.programs, states, r.stack, r.tension[muscles:], 0)
    for k in range(paths):
        pull = r.tension[k, 0]
        if pull != 0.0:
            for j in range(n_u):
                tau[j] += pull * r.arms[k * n_u + j, 0]
