"""A tree whose actuators follow a motion: forces of least squares at nodes of time, and steps between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, driver, kernel, room
from musculo.kernels.constraints.coupler_frames import frame_of_rules
from musculo.kernels.scalar.bounded_squares import SquaresRoom, bounded_squares, squares_room
from musculo.kernels.tracking.actuated_tree import (
    ActuatedRoom,
    acceleration_map,
    accelerations_of_state,
    actuated_room,
    put_actuated_state,
)

# How runs end: with all nodes; at a state whose mass matrix is singular, or is no number; where the search for forces
# did not end.
FINISHED, SINGULAR, UNSETTLED = 0, 1, 2
# OpenSim's first forces aim at so much after the start [s], and hold from the start on.
FIRST_AIM = 1e-8
# It takes no notice of where a force stands in a range below this [N, N m].
NARROW = 1.0


class TrackingLaw(NamedTuple):
    """What is asked of accelerations, and what of controls x.

    minimize  stress sum_i x_i^2 + sum_j w_j (a_j - a*_j)^2,   lower <= x <= upper
    a* = ka a_d + kv (u_d - u) + kp (q_d - q)
    """

    row: IntArray  # (tasks,) of q, and of u
    weight: FloatArray  # (tasks,)
    ka: FloatArray  # (tasks,)
    kv: FloatArray  # (tasks,) [1/s]
    kp: FloatArray  # (tasks,) [1/s^2]
    limit: FloatArray  # (tasks,) error near which forces begin to be for free [rad, m]; 0 for none
    stepped: IntArray  # (actuators,) 1 where a control keeps one value from a node to the next
    at_once: int  # 1 where forces follow the state at every instant, 0 where they are linear between nodes


class TrackingCourse(NamedTuple):
    """What is known beforehand of every node: N nodes, and P points of each step.

    The points of a step are its start, the middle and the end of every substep, and last the time that forces aim at.
    """

    time: FloatArray  # (N,)
    step: FloatArray  # (N,) to the next node
    window: FloatArray  # (N,) to the time that forces aim at
    q: FloatArray  # (N, P, n) to follow
    u: FloatArray  # (N, P, n_u)
    udot: FloatArray  # (N, P, n_u)
    rate: FloatArray  # (N, 2, n) derivatives of q at the node and at the time aimed at, of which speeds are predicted
    loads: FloatArray  # (N, P, carried, 9) force, point, torque of loads that are known along the motion to follow
    lower: FloatArray  # (N, actuators) bounds of x
    upper: FloatArray  # (N, actuators)
    start_u: FloatArray  # (n_u,) speeds to begin with, where forces at the start aim by others


class TrackedNodes(NamedTuple):
    """What becomes of it, at the nodes."""

    q: FloatArray  # (N, n)
    u: FloatArray  # (N, n_u)
    udot: FloatArray  # (N, n_u)
    control: FloatArray  # (N + 1, actuators) x at the nodes, and at the time that the last one aims at
    error: FloatArray  # (N, tasks) q_d - q
    stress: FloatArray  # (N,) the weight of forces


class TrackedRoom(NamedTuple):
    """Where nodes are worked on."""

    state: ActuatedRoom
    squares: SquaresRoom
    A: FloatArray  # (tasks + actuators, actuators)
    b: FloatArray
    q: FloatArray
    u: FloatArray
    x: FloatArray  # (actuators,)
    start_q: FloatArray
    start_u: FloatArray
    sum_q: FloatArray
    sum_u: FloatArray
    low: FloatArray  # (actuators,)
    high: FloatArray
    target: FloatArray  # (tasks,) accelerations that are wanted


@room
def tracked_room(p, law):
    """Room for nodes."""
    n, n_u, n_a = p.tree.q_rows.size, p.tree.u_rows.size, law.stepped.size
    m = law.row.size + n_a
    return TrackedRoom(
        actuated_room(p), squares_room(m, n_a), np.zeros((m, n_a)), np.zeros(m), np.zeros(n), np.zeros(n_u),
        np.zeros(n_a), np.zeros(n), np.zeros(n_u), np.zeros(n), np.zeros(n_u), np.zeros(n_a), np.zeros(n_a),
        np.zeros(law.row.size),
    )  # fmt: skip


@kernel
def _solve(p, law, stress, r):
    """r.x of the placed state, of which accelerations r.target are wanted; whether it was found."""
    s, n_a, target = r.state, law.stepped.size, r.target
    acceleration_map(p, s)
    for j in range(law.row.size):
        root = np.sqrt(law.weight[j])
        r.b[j] = root * (target[j] - s.D[law.row[j], 0])
        for i in range(n_a):
            r.A[j, i] = root * s.D[law.row[j], 1 + i]
    for i in range(n_a):
        k = law.row.size + i
        r.b[k] = 0.0
        for m in range(n_a):
            r.A[k, m] = np.sqrt(stress) if m == i else 0.0
    return bounded_squares(r.A, r.b, r.low, r.high, r.x, r.squares)


@kernel
def _bounds(law, course, k, r):
    """Bounds of x at node k."""
    for i in range(law.stepped.size):
        r.low[i], r.high[i] = course.lower[k, i], course.upper[k, i]


@kernel
def _give_up_narrow(p, law, r):
    """The least x of actuators whose forces range over less than a newton, whatever was found, as in OpenSim."""
    for i in range(law.stepped.size):
        if abs(p.strength[i]) * (r.high[i] - r.low[i]) < NARROW:
            r.x[i] = r.low[i]


@kernel
def _stress(law, error):
    """The weight of forces where the errors (tasks,) are these: less as one comes near its limit."""
    least = 1.0
    for j in range(law.row.size):
        if law.limit[j] > 0.0:
            least = min(least, 1.0 / (1.0 + np.exp((abs(error[j]) - law.limit[j]) / (0.1 * law.limit[j]))))
    return least


@kernel
def _aim(p, law, course, k, window, ahead, out, r):
    """r.x at the node's window: errors at its start, accelerations at its end, at the state that is predicted there.

    The state is that of the motion to follow, as far off as it is now.
    """
    for j in range(law.row.size):
        i = law.row[j]
        out.error[k, j] = course.q[k, 0, i] - out.q[k, i]
        slow = course.u[k, 0, i] - out.u[k, i]
        r.target[j] = law.ka[j] * course.udot[k, ahead, i] + law.kv[j] * slow + law.kp[j] * out.error[k, j]
    out.stress[k] = _stress(law, out.error[k])
    for i in range(r.q.size):
        r.q[i] = out.q[k, i] + course.q[k, ahead, i] - course.q[k, 0, i]
        far = course.rate[k, 1, i] - course.rate[k, 0, i]
        r.u[i] = out.u[k, i] + (far if ahead > 0 else 0.0)
    r.state.controls[:] = 0.0
    put_actuated_state(course.time[k] + window, r.q, r.u, course.loads[k, ahead], p, r.state)
    _bounds(law, course, k, r)
    found = _solve(p, law, out.stress[k], r)
    _give_up_narrow(p, law, r)
    return found


@kernel
def _forces_now(p, law, course, k, point, stress, r):
    """r.x of the placed state r.q, r.u at a point of step k: errors and accelerations of that instant."""
    for j in range(law.row.size):
        i = law.row[j]
        off, slow = course.q[k, point, i] - r.state.space.x[i, 0], course.u[k, point, i] - r.state.U[i, 0]
        r.target[j] = law.ka[j] * course.udot[k, point, i] + law.kv[j] * slow + law.kp[j] * off
    return _solve(p, law, stress, r)


@kernel
def _rates(p, law, course, k, point, part, out, r):
    """r.state.one_D: accelerations of r.q, r.u at a point of step k, `part` of its window on; how it went."""
    s, found = r.state, True
    for i in range(law.stepped.size):
        reach = 1.0 if law.stepped[i] == 1 else part
        x = out.control[k, i] + reach * (out.control[k + 1, i] - out.control[k, i])
        s.controls[i, 0] = 0.0 if law.at_once == 1 else x
    put_actuated_state(course.time[k] + part * course.window[k], r.q, r.u, course.loads[k, point], p, s)
    if law.at_once == 1:
        found = _forces_now(p, law, course, k, point, out.stress[k], r)
        # the map is there already
        for row in range(s.D.shape[0]):
            total = s.D[row, 0]
            for i in range(law.stepped.size):
                total += s.D[row, 1 + i] * r.x[i]
            s.one_D[row, 0] = total
    else:
        accelerations_of_state(p, s)
    if not found:
        return UNSETTLED
    for row in range(p.free.size):
        if not np.isfinite(r.state.one_D[p.free[row], 0]):
            return SINGULAR
    return FINISHED


@kernel
def _step(p, law, course, k, substeps, out, r):
    """From node k to the next by the Runge-Kutta method of order 4, `substeps` equal ones; how it went."""
    how, h = FINISHED, course.step[k] / substeps
    for i in range(r.q.size):
        r.start_q[i], r.start_u[i] = out.q[k, i], out.u[k, i]
    for one in range(substeps):
        for i in range(r.q.size):
            r.q[i], r.u[i], r.sum_q[i], r.sum_u[i] = r.start_q[i], r.start_u[i], 0.0, 0.0
        for stage in range(4):
            half = 0 if stage == 0 else (2 if stage == 3 else 1)
            part = (one + 0.5 * half) * h / course.window[k]
            came = _rates(p, law, course, k, 2 * one + half, part, out, r)
            if came != FINISHED:
                how = came
            if one == 0 and stage == 0:
                _keep(k, out, law, r)
            weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
            ahead = h if stage == 2 else 0.5 * h
            for row in range(p.free.size):
                i = p.free[row]
                speed, acceleration = r.u[i], r.state.one_D[i, 0]
                r.sum_q[i] += weight * speed
                r.sum_u[i] += weight * acceleration
                if stage < 3:
                    r.q[i] = r.start_q[i] + ahead * speed
                    r.u[i] = r.start_u[i] + ahead * acceleration
        for i in range(r.q.size):
            r.start_q[i] += r.sum_q[i]
            r.start_u[i] += r.sum_u[i]
    return how


@kernel
def _keep(k, out, law, r):
    """What is known of node k once its rates are."""
    for i in range(r.q.size):
        out.q[k, i], out.u[k, i], out.udot[k, i] = r.state.space.x[i, 0], r.state.U[i, 0], r.state.one_D[i, 0]
    if law.at_once == 1:
        for i in range(law.stepped.size):
            out.control[k, i] = r.x[i]


@kernel
def _follow(p, time, q, u, r):
    """q and u of a state, those that follow others made of the independent ones."""
    frame = r.state.frame
    for i in range(q.size):
        frame.given_q[0, i], frame.given_u[0, i] = q[i], u[i]
    frame_of_rules(p.rules, p.functions, time, frame, r.state.space, 0)
    for i in range(q.size):
        q[i], u[i] = frame.q[0, i], frame.u[0, i]


@kernel
def _errors(law, course, k, out):
    for j in range(law.row.size):
        out.error[k, j] = course.q[k, 0, law.row[j]] - out.q[k, law.row[j]]
    out.stress[k] = _stress(law, out.error[k])


@kernel
def _nodes(p, law, course, out, substeps, r):
    apart()
    nodes, last = course.time.size, course.q.shape[1] - 1
    _follow(p, course.time[0], out.q[0], out.u[0], r)
    if law.at_once == 0:
        if not _aim(p, law, course, 0, 0.0, 0, out, r):
            return UNSETTLED, 0
        for i in range(law.stepped.size):
            out.control[0, i] = r.x[i]
        for i in range(course.start_u.size):
            out.u[0, i] = course.start_u[i]
    for k in range(nodes):
        if law.at_once == 0:
            if not _aim(p, law, course, k, course.window[k], last, out, r):
                return UNSETTLED, k
            for i in range(law.stepped.size):
                out.control[k + 1, i] = r.x[i]
                if k == 0:
                    out.control[0, i] += FIRST_AIM / course.window[0] * (r.x[i] - out.control[0, i])
        else:
            _errors(law, course, k, out)
            _bounds(law, course, k, r)
        how = _step(p, law, course, k, substeps, out, r)
        if how != FINISHED:
            return how, k
        if k + 1 < nodes:
            for i in range(r.q.size):
                out.q[k + 1, i], out.u[k + 1, i] = r.start_q[i], r.start_u[i]
            _follow(p, course.time[k + 1], out.q[k + 1], out.u[k + 1], r)
    return FINISHED, nodes


@driver
def tracked_nodes(p, law, course, out, substeps):
    """Nodes one after the other from the state in the first row of out.q and out.u; how it ended, and at which node.

    Args: p: `ActuatedTree`. law: `TrackingLaw`. course: `TrackingCourse`. out: `TrackedNodes`, written.
    """
    r = tracked_room(p, law)
    return _nodes(p, law, course, out, substeps, r)
