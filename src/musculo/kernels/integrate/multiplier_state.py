"""One state after the other of a tree with constraints as equations: its rates, a step, and the way back onto them.

Locks, prescribed motions and couplers are equations here as those between bodies are, so that a simulation of either
kind stays compiled from one state to the next. All lanes hold the same state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, driver, inline, kernel, room, spliced
from musculo.kernels.constraints.body_loop_equations import BodyEquations, body_rows
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.multipliers import (
    SOLVED,
    ConstrainedSpace,
    Tolerances,
    allow,
    constrained_lanes,
    constrained_space,
    solve_constrained_lanes,
)
from musculo.kernels.functions.function_values import evaluate, evaluate_many
from musculo.kernels.integrate.force_calls import drive
from musculo.kernels.integrate.one_step_methods import ONWARD, RATES, keep_pose, onward, rates_of
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.crba import crba
from musculo.kernels.tree.node_kinematics import kinematics, twists
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

    tree: Any
    table: Any
    equations: BodyEquations
    rules: RuleRows
    functions: Any
    speed_row: IntArray  # (n,) row of u of each coordinate; -1 for parts of a quaternion
    turning_q: IntArray  # (j, 4) rows of angles and -1, or of quaternions
    turning_u: IntArray  # (j, 3)
    tolerances: Tolerances
    decay: float  # Baumgarte's rate [1/s]
    n_equations: int  # all of them


class StateRoom(NamedTuple):
    """Where one state is worked on."""

    w: ConstrainedSpace
    Y: FloatArray  # (n + n_u, WIDTH) states
    F: FloatArray  # (n + n_u, WIDTH) their rates
    Q: FloatArray  # (n, WIDTH)
    U: FloatArray  # (n_u, WIDTH)
    T: FloatArray  # (n_u, WIDTH)
    D: FloatArray  # (n_u, WIDTH)
    E: FloatArray
    rate: FloatArray  # (m, WIDTH) partial derivatives by time
    multipliers: FloatArray  # (m, WIDTH)
    slopes: FloatArray  # value, gradient and Hessian of one function
    q: FloatArray  # (n,)
    u: FloatArray  # (n_u,)
    tau: FloatArray  # (n_u,)
    qdot: FloatArray  # (n,)
    how: IntArray  # (WIDTH,)
    many: IntArray  # (WIDTH,)


@room
def constrained_room(p):
    """Room for states of a model."""
    tree, n, m, most = p.tree, p.speed_row.size, p.n_equations, 0
    for i in range(p.functions.n_arguments.size):
        most = max(most, p.functions.n_arguments[i])
    n_u = tree.u_rows.size
    return StateRoom(
        constrained_space(tree, m),
        np.zeros((n + n_u, WIDTH)),
        np.zeros((n + n_u, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((1, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((1 + most + most * most + 2, WIDTH)),
        np.zeros(n),
        np.zeros(n_u),
        np.zeros(n_u),
        np.zeros(n),
        np.zeros(WIDTH, dtype=np.int64),
        np.zeros(WIDTH, dtype=np.int64),
    )


@kernel
def _place(h, real):
    """Coordinates and speeds of the states in r.Y, quaternions with length one; r.q and r.u are those of the last."""
    p, r, _ = h
    n, n_u = r.q.size, r.u.size
    for lane in range(real):
        for i in range(n):
            r.q[i] = r.Y[i, lane]
        for i in range(n_u):
            r.u[i] = r.Y[n + i, lane]
        unit_quaternions(p.turning_q, r.q)
        for i in range(n):
            r.Q[i, lane] = r.q[i]
        for i in range(n_u):
            r.U[i, lane] = r.u[i]
    for lane in range(real, WIDTH):
        for i in range(n):
            r.Q[i, lane] = r.q[i]
        for i in range(n_u):
            r.U[i, lane] = r.u[i]


@kernel
def _rule_rows(h, t, real):
    """Rows of g, G, bias and rate that belong to rules.

    g = s f - q_k,   G = s df/dq_a e_a - e_k,   bias = s d2f/dq_a dq_b u_a u_b,   or of time: rate = s f', bias = s f''
    """
    p, r, _ = h
    w, rules, n = r.w, p.rules, r.u.size
    for k in range(rules.row.size):
        row, function, scale = rules.row[k], rules.function[k], rules.scale[k]
        first = rules.first_input[k]
        for lane in range(WIDTH):
            if lane >= real:
                # as the last one that counts
                w.g[row, lane], w.bias[row, lane] = w.g[row, real - 1], w.bias[row, real - 1]
                r.rate[row, lane] = r.rate[row, real - 1]
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
                evaluate_many(p.functions, function, r.Q, rules.input_q, first, lane, r.slopes, 0)
                value = scale * r.slopes[0, lane]
                for a in range(m):
                    u_a = rules.input_u[first + a]
                    w.G[row * n + u_a, lane] += scale * r.slopes[1 + a, lane]
                    for b in range(m):
                        bend = scale * r.slopes[1 + m + a * m + b, lane]
                        bias += bend * r.U[u_a, lane] * r.U[rules.input_u[first + b], lane]
            w.G[row * n + rules.follower[k, 1], lane] -= 1.0
            w.g[row, lane] = value - r.Q[rules.follower[k, 0], lane]
            w.bias[row, lane] = bias
            r.rate[row, lane] = rate


@kernel
def _rates(h, force, tau, t, real):
    """Rates r.F of the states r.Y, of which the first `real` count; whether they are there."""
    apart()
    p, r, _ = h
    w, n, n_u = r.w, r.q.size, r.u.size
    _place(h, real)
    _rule_rows(h, t, real)
    fine = True
    for lane in range(WIDTH):
        if lane < real:
            for i in range(n):
                r.q[i] = r.Q[i, lane]
            for i in range(n_u):
                r.u[i] = r.U[i, lane]
            fine = drive(p, r, force, tau, t) and fine
        for i in range(n):
            r.F[i, lane] = r.qdot[i]
        for i in range(n_u):
            r.T[i, lane] = r.tau[i]
    constrained_lanes(
        p.tree, p.table, p.equations, w, r.Q, r.U, r.T, r.E, False, r.rate, p.decay, p.tolerances, real, r.D,
        r.multipliers, r.how, r.many,
    )  # fmt: skip
    for lane in range(real):
        fine = fine and r.how[lane] == SOLVED
    for i in range(n_u):
        for lane in range(WIDTH):
            r.F[n + i, lane] = r.D[i, lane]
    for i in range(n + n_u):
        for lane in range(real):
            fine = fine and np.isfinite(r.F[i, lane])
    return fine


@kernel
def _correction(h):
    """The smallest r.D in the metric of the mass matrix with G D = w.right, at the pose in r.Q; whether it is there."""
    apart()
    p, r, _ = h
    w, n = r.w, r.u.size
    w.M[:] = 0.0
    w.force[:] = 0.0
    crba(p.tree, p.table, lanes(r.Q), lanes(w.W), lanes(w.C), lanes(w.M), 0)
    allow(n, w.g.shape[0], w, p.tolerances, 1.0, r.U, 0)
    solve_constrained_lanes(n, w.g.shape[0], w, p.tolerances, 1, r.D, r.multipliers, r.how, r.many)
    return r.how[0] == SOLVED


@kernel
def _project(h, t, y, x):
    """x: the state nearest to y on the constraints, by Newton's corrections in the metric of the mass matrix.

    As `project_position` and `project_velocity` of `musculo.simulation.constraint_projection`; whether they come to
    an end.
    """
    apart()
    p, r, _ = h
    w, n, n_u = r.w, r.q.size, r.u.size
    m = w.g.shape[0]
    for i in range(y.size):
        x[i] = y[i]
    closed = False
    before = np.inf
    for _round in range(ROUNDS):
        for i in range(n + n_u):
            for lane in range(WIDTH):
                r.Y[i, lane] = x[i]
        _place(h, np.int64(1))
        kinematics(p.tree, p.table, lanes(r.Q), lanes(r.U), lanes(w.rest), False, lanes(w.W), lanes(w.K), 0)
        twists(p.tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
        body_rows(p.equations, lanes(w.K), lanes(w.S), False, n_u, lanes(w.g), lanes(w.G), lanes(w.bias), 0)
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
            r.tau[i] = r.D[i, 0]
            long = max(long, abs(r.tau[i]))
        for i in range(n_u):
            r.tau[i] *= min(1.0, STRIDE / max(long, STRIDE))
        if not turn(p.speed_row, p.turning_q, p.turning_u, r.q, r.tau, r.qdot):
            return False
        for i in range(n):
            x[i] = r.q[i] + r.qdot[i]
    if not closed:
        return False
    for i in range(m):
        total = r.rate[i, 0]
        for k in range(n_u):
            total += w.G[i * n_u + k, 0] * r.u[k]
        for lane in range(WIDTH):
            w.right[i, lane] = -total
    if not _correction(h):
        return False
    for i in range(n):
        x[i] = r.q[i]
    for i in range(n_u):
        x[n + i] = r.u[i] + r.D[i, 0]
    return True


@inline
def _keep(q, u, G, out, k):
    """What is known of the state whose rates were found last into row k."""
    keep_pose(q, u, out, k)
    for i in range(out.G.shape[1]):
        out.G[k, i] = G[i, 0]


@spliced
def _land(h, Y, F, s, force, tau, t, c, out, k):
    x, fine = out.y[k], True
    if c.projects == 1:
        fine = _project(h, t, s.x, x)
    else:
        for i in range(x.size):
            x[i] = s.x[i]
    fine = fine and rates_of(_rates, h, Y, F, force, tau, t, x, out.f[k])
    r = h[1]
    _keep(r.q, r.u, r.w.G, out, k)
    return fine


@kernel
def _serve(h, what, force, tau, c, here, y, f, end, out, x, multipliers):
    """`constrained_state`, without references to arrays being counted."""
    _, r, s = h
    t = here[0]
    if what == ONWARD:
        return onward(_rates, _land, h, r.Y, r.F, s, force, tau, c, here, y, f, end, out)
    for i in range(y.size):
        x[i] = y[i]
    if what != RATES and not _project(h, t, y, x):
        return 0
    if what == PROJECT:
        return 1
    if not rates_of(_rates, h, r.Y, r.F, force, tau, t, x, f):
        return 0
    _keep(r.q, r.u, r.w.G, out, 0)
    for i in range(multipliers.size):
        multipliers[i] = r.multipliers[i, 0]
    return 1


@driver
def constrained_state(h, what, force, tau, c, here, y, f, end, out, x, multipliers):
    """What is asked for of states y = (q, u), and whether it was found.

    ONWARD: as `onward`, and how many steps there are. RATES: f of y at the time here[0]. PROJECT: x, the state nearest
    to y on the constraints. SETTLE: x and its rates f.

    Args:
        h: holds `ConstrainedTree`, `StateRoom` and `StepRoom`. what: as above. force: address as in
            `musculo.kernels.integrate.force_calls`, or 0. tau: (n_u,) constant forces.
        c, here, end, out: as in `onward`. G in the first row of `out` and multipliers (m,) are those of the state
            whose rates were found last.
    """
    return _serve(h, what, force, tau, c, here, y, f, end, out, x, multipliers)
