"""One state after the other of a tree with constraints as equations: its rates, a step, and the way back onto them.

Locks, prescribed motions and couplers are equations here as those between bodies are, so that a simulation of either
kind stays compiled from one state to the next. All lanes hold the same state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, driver, inline, kernel, room, spliced
from musculo.kernels.constraints.body_loop_equations import BodyRows, body_rows
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.multipliers import (
    SOLVED,
    ConstrainedSpace,
    ConstrainedSystem,
    allow,
    constrained_lanes,
    constrained_space,
    solve_constrained_lanes,
)
from musculo.kernels.functions.function_values import evaluate, evaluate_many
from musculo.kernels.integrate.force_calls import drive
from musculo.kernels.integrate.one_step_methods import ONWARD, RATES, explicit_or_implicit, keep_pose, onward, rates_of
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.crba import crba
from musculo.kernels.tree.node_kinematics import kinematics, twists
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.state_lanes import StateLanes, put_lane, state_lanes, take_lane
from musculo.kernels.tree.turning_joints import turn, unit_quaternions

# What is asked for beside steps and rates: the nearest state on the constraints; that and its rates.
PROJECT, SETTLE = 2, 3
# Positions closer to their constraints than this need no other correction [rad, m]; one more, which costs little, takes
# them to rounding, where they count as shut ...
CLOSED, SHUT = 1e-12, 1e-15
# ... of which there are at most so many, none longer than this: a longer one leads to another pose than the nearest.
ROUNDS, STRIDE = 30, 0.5


class ConstrainedTree(NamedTuple):
    """A model whose constraints are between bodies, or rules of coordinates whose speeds are their derivatives."""

    system: ConstrainedSystem
    rules: RuleRows
    functions: Any
    speed_row: IntArray  # (n,) row of u of each coordinate; -1 for parts of a quaternion
    turning_q: IntArray  # (j, 4) rows of angles and -1, or of quaternions
    turning_u: IntArray  # (j, 3)
    n_equations: int  # all of them


class StateRoom(NamedTuple):
    """Where one state is worked on."""

    w: ConstrainedSpace
    x: StateLanes
    slopes: FloatArray  # value, gradient and Hessian of one function


@room
def constrained_room(p):
    """Room for states of a model."""
    tree, n, most = p.system.tree, p.speed_row.size, 0
    for i in range(p.functions.n_arguments.size):
        most = max(most, p.functions.n_arguments[i])
    n_u = tree.u_rows.size
    return StateRoom(
        constrained_space(tree, p.n_equations),
        state_lanes(n + n_u, n, n_u, 0),
        np.zeros((1 + most + most * most + 2, WIDTH)),
    )


@kernel
def _place(h, real):
    """Coordinates and speeds of the states in x.Y, quaternions with length one; x.q and x.u are those of the last."""
    p, r, _ = h
    x = r.x
    n, n_u = x.q.size, x.u.size
    for lane in range(real):
        for i in range(n):
            x.q[i] = x.Y[i, lane]
        for i in range(n_u):
            x.u[i] = x.Y[n + i, lane]
        unit_quaternions(p.turning_q, x.q)
        put_lane(x, lane)
    for lane in range(real, WIDTH):
        put_lane(x, lane)


@kernel
def _rule_rows(h, t, real):
    """Rows of g, G, bias and rate that belong to rules.

    g = s f - q_k,   G = s df/dq_a e_a - e_k,   bias = s d2f/dq_a dq_b u_a u_b,   or of time: rate = s f', bias = s f''
    """
    p, r, _ = h
    w, x, rules, n = r.w, r.x, p.rules, r.x.u.size
    for k in range(rules.row.size):
        row, function, scale = rules.row[k], rules.function[k], rules.scale[k]
        first = rules.first_input[k]
        for lane in range(WIDTH):
            if lane >= real:
                # as the last one that counts
                w.g[row, lane], w.bias[row, lane] = w.g[row, real - 1], w.bias[row, real - 1]
                w.rate[row, lane] = w.rate[row, real - 1]
                for i in range(n):
                    w.G[row * n + i, lane] = w.G[row * n + i, real - 1]
                continue
            for i in range(n):
                w.G[row * n + i, lane] = 0.0
            value, rate, bias = rules.value[k], 0.0, 0.0
            if function >= 0 and rules.timed[k] == 1:
                f, f1, f2, _third = evaluate(p.functions, function, t)
                value, rate, bias = scale * f, scale * f1, scale * f2
            elif function >= 0:
                m = p.functions.n_arguments[function]
                evaluate_many(p.functions, function, x.Q, rules.input_q, first, lane, r.slopes, 0)
                value = scale * r.slopes[0, lane]
                for a in range(m):
                    u_a = rules.input_u[first + a]
                    w.G[row * n + u_a, lane] += scale * r.slopes[1 + a, lane]
                    for b in range(m):
                        bend = scale * r.slopes[1 + m + a * m + b, lane]
                        bias += bend * x.U[u_a, lane] * x.U[rules.input_u[first + b], lane]
            w.G[row * n + rules.follower[k, 1], lane] -= 1.0
            w.g[row, lane] = value - x.Q[rules.follower[k, 0], lane]
            w.bias[row, lane] = bias
            w.rate[row, lane] = rate


@kernel
def _rates(h, force, tau, t, real):
    """Rates x.F of the states x.Y, of which the first `real` count; whether they are there."""
    apart()
    p, r, _ = h
    w, x = r.w, r.x
    n, n_u = x.q.size, x.u.size
    _place(h, real)
    _rule_rows(h, t, real)
    fine = True
    for lane in range(WIDTH):
        if lane < real:
            take_lane(x, lane)
            fine = drive(p, x, force, tau, t) and fine
        for i in range(n):
            x.F[i, lane] = x.qdot[i]
        for i in range(n_u):
            x.T[i, lane] = x.tau[i]
    constrained_lanes(p.system, w, x, False, real)
    for lane in range(real):
        fine = fine and w.status[lane] == SOLVED
    for i in range(n_u):
        for lane in range(WIDTH):
            x.F[n + i, lane] = x.D[i, lane]
    for i in range(n + n_u):
        for lane in range(real):
            fine = fine and np.isfinite(x.F[i, lane])
    return fine


@kernel
def _correction(h):
    """The smallest x.D in the metric of the mass matrix with G D = w.right, at the pose in x.Q; whether it is there."""
    apart()
    p, r, _ = h
    w, x = r.w, r.x
    w.M[:] = 0.0
    w.force[:] = 0.0
    crba(p.system.tree, p.system.table, lanes(x.Q), lanes(w.W), lanes(w.C), lanes(w.M), 0)
    allow(w, p.system.tolerances, 1.0, x.U, 0)
    solve_constrained_lanes(w, p.system.tolerances, 1, x.D)
    return w.status[0] == SOLVED


@kernel
def _project(h, t, y, z):
    """z: the state nearest to y on the constraints, by Newton's corrections in the metric of the mass matrix.

    As `project_position` and `project_velocity` of `musculo.simulation.equations.constraint_projection`; whether they
    come to an end.
    """
    apart()
    p, r, _ = h
    w, x = r.w, r.x
    n, n_u, m = x.q.size, x.u.size, w.g.shape[0]
    for i in range(y.size):
        z[i] = y[i]
    closed = False
    before = np.inf
    for _round in range(ROUNDS):
        for i in range(n + n_u):
            for lane in range(WIDTH):
                x.Y[i, lane] = z[i]
        _place(h, np.int64(1))
        motion = Motion(lanes(x.Q), lanes(x.U), lanes(w.rest))
        kinematics(p.system.tree, p.system.table, lanes(w.W), motion, False, lanes(w.K), 0)
        twists(p.system.tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
        rows = BodyRows(n_u, lanes(w.g), lanes(w.G), lanes(w.bias))
        body_rows(p.system.equations, lanes(w.K), lanes(w.S), False, rows, 0)
        _rule_rows(h, t, np.int64(1))
        # what is asked of the speeds is known only where the pose is
        far = 0.0
        for i in range(m):
            far = max(far, abs(w.g[i, 0]))
            for lane in range(WIDTH):
                w.right[i, lane] = -w.g[i, lane]
        closed = far <= SHUT or (far <= 1e3 * CLOSED and far > 0.5 * before)
        before = far
        if closed or not np.isfinite(far):
            break
        if not _correction(h):
            return False
        long = 0.0
        for i in range(n_u):
            x.tau[i] = x.D[i, 0]
            long = max(long, abs(x.tau[i]))
        for i in range(n_u):
            x.tau[i] *= min(1.0, STRIDE / max(long, STRIDE))
        if not turn(p.speed_row, p.turning_q, p.turning_u, x.q, x.tau, x.qdot):
            return False
        for i in range(n):
            z[i] = x.q[i] + x.qdot[i]
    if not closed:
        return False
    for i in range(m):
        total = w.rate[i, 0]
        for k in range(n_u):
            total += w.G[i * n_u + k, 0] * x.u[k]
        for lane in range(WIDTH):
            w.right[i, lane] = -total
    if not _correction(h):
        return False
    for i in range(n):
        z[i] = x.q[i]
    for i in range(n_u):
        z[n + i] = x.u[i] + x.D[i, 0]
    return True


@inline
def _keep(r, out, k):
    """What is known of the state whose rates were found last into row k."""
    keep_pose(r.x, out, k)
    for i in range(out.G.shape[1]):
        out.G[k, i] = r.w.G[i, 0]


@spliced
def _land(h, force, a, t, k):
    z, fine = a.out.y[k], True
    if a.control.projects == 1:
        fine = _project(h, t, h[2].x, z)
    else:
        for i in range(z.size):
            z[i] = h[2].x[i]
    fine = fine and rates_of(_rates, h, force, a.tau, t, z, a.out.f[k])
    _keep(h[1], a.out, k)
    return fine


@kernel
def _serve(h, what, force, a, end, z, multipliers):
    """`constrained_state`, without references to arrays being counted."""
    _, r, _ = h
    t = a.here[0]
    if what == ONWARD:
        return onward(_rates, _land, explicit_or_implicit, h, force, a, end)
    for i in range(z.size):
        z[i] = a.y[i]
    if what != RATES and not _project(h, t, a.y, z):
        return 0
    if what == PROJECT:
        return 1
    if not rates_of(_rates, h, force, a.tau, t, z, a.f):
        return 0
    _keep(r, a.out, 0)
    for i in range(multipliers.size):
        multipliers[i] = r.w.multipliers[i, 0]
    return 1


@driver
def constrained_state(h, what, force, end, a, z, multipliers):
    """What is asked for of states y = (q, u), and whether it was found.

    ONWARD: as `onward`, and how many steps there are. RATES: a.f of a.y at the time a.here[0]. PROJECT: z, the state
    nearest to y on the constraints. SETTLE: z and its rates a.f.

    Args:
        h: holds `ConstrainedTree`, `StateRoom` and `StepRoom`. what: as above. force: as in `force_calls`.
        a: `Request`. G in the first row of a.out and multipliers (m,) are those of the state whose rates were found
            last.
    """
    return _serve(h, what, force, a, end, z, multipliers)
