"""One state after the other of a tree with constraints as equations: its rates, a step, and the way back onto them.

Locks, prescribed motions and couplers are equations here as those between bodies are, so that a simulation of either
kind stays compiled from one state to the next. All lanes hold the same state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.constrained import (
    SOLVED,
    ConstrainedSpace,
    Tolerances,
    allow,
    constrained_lanes,
    constrained_space,
    solve_constrained_lanes,
)
from musculo.kernels.crba import crba
from musculo.kernels.driven import call_force
from musculo.kernels.function_table import evaluate, evaluate_many
from musculo.kernels.jit import apart, driver, kernel, spliced
from musculo.kernels.kinematics import kinematics, twists
from musculo.kernels.loop_equations import BodyEquations, body_rows
from musculo.kernels.pack import WIDTH, lanes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# What is asked for: rates; a step of Runge-Kutta-Fehlberg; the nearest state on the constraints; that and its rates.
RATES, STEP, PROJECT, SETTLE = 0, 1, 2, 3
# Positions closer to their constraints than this need no other correction [rad, m] ...
CLOSED = 1e-12
# ... of which there are at most so many, none longer than this: a longer one leads to another pose than the nearest.
ROUNDS, STRIDE = 30, 0.5


class RuleRows(NamedTuple):
    """Equations value - q[follower] = 0, k of them: scale f(q[inputs]), scale f(time), or a number."""

    row: IntArray  # (k,) among all equations
    follower: IntArray  # (k, 2) row of q and of u
    function: IntArray  # (k,) in the table of functions; -1 for a number
    timed: IntArray  # (k,) 1 where the function is one of time
    scale: FloatArray  # (k,)
    value: FloatArray  # (k,) the number
    first_input: IntArray  # (k + 1,)
    input_q: IntArray  # (inputs,) row of q
    input_u: IntArray  # (inputs,) row of u


class Fehlberg(NamedTuple):
    """Coefficients of `musculo.simulation.tableaus`."""

    nodes: FloatArray  # (6,)
    stages: FloatArray  # (6, 6)
    fifth: FloatArray  # (6,)
    difference: FloatArray  # (6,) fifth less fourth order


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
    fehlberg: Fehlberg


class StateRoom(NamedTuple):
    """Where one state is worked on."""

    w: ConstrainedSpace
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
    k: FloatArray  # (6, n + n_u) rates of a step
    stage: FloatArray  # (n + n_u,)


@driver
def _room(tree, n, m, most):
    """Room for states of n coordinates under m equations, whose functions have at most so many arguments."""
    n_u = tree.u_rows.size
    return StateRoom(
        constrained_space(tree, m),
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
        np.zeros((6, n + n_u)),
        np.zeros(n + n_u),
    )


@kernel
def _place(p, r, y):
    """Coordinates and speeds of y in all lanes, quaternions with length one."""
    n, n_u = r.q.size, r.u.size
    for i in range(n):
        r.q[i] = y[i]
    for i in range(n_u):
        r.u[i] = y[n + i]
    for j in range(p.turning_q.shape[0]):
        if p.turning_q[j, 3] >= 0:
            length = 0.0
            for i in range(4):
                length += r.q[p.turning_q[j, i]] ** 2
            for i in range(4):
                r.q[p.turning_q[j, i]] /= np.sqrt(length)
    for lane in range(WIDTH):
        for i in range(n):
            r.Q[i, lane] = r.q[i]
        for i in range(n_u):
            r.U[i, lane] = r.u[i]


@kernel
def _rule_rows(p, r, t):
    """Rows of g, G, bias and rate that belong to rules.

    g = s f - q_k,   G = s df/dq_a e_a - e_k,   bias = s d2f/dq_a dq_b u_a u_b,   or of time: rate = s f', bias = s f''
    """
    w, rules, n = r.w, p.rules, r.u.size
    for k in range(rules.row.size):
        row, function, scale = rules.row[k], rules.function[k], rules.scale[k]
        for i in range(n):
            r.tau[i] = 0.0
        value, rate, bias = rules.value[k], 0.0, 0.0
        if function >= 0 and rules.timed[k] == 1:
            f, f1, f2, _ = evaluate(p.functions, function, t)
            value, rate, bias = scale * f, scale * f1, scale * f2
        elif function >= 0:
            first, m = rules.first_input[k], p.functions.n_arguments[function]
            evaluate_many(p.functions, function, r.Q, rules.input_q, first, 0, r.slopes, 0)
            value = scale * r.slopes[0, 0]
            for a in range(m):
                u_a = rules.input_u[first + a]
                r.tau[u_a] += scale * r.slopes[1 + a, 0]
                for b in range(m):
                    bend = scale * r.slopes[1 + m + a * m + b, 0]
                    bias += bend * r.u[u_a] * r.u[rules.input_u[first + b]]
        r.tau[rules.follower[k, 1]] -= 1.0
        for lane in range(WIDTH):
            w.g[row, lane] = value - r.q[rules.follower[k, 0]]
            w.bias[row, lane] = bias
            r.rate[row, lane] = rate
            for i in range(n):
                w.G[row * n + i, lane] = r.tau[i]


@kernel
def _turn(p, r, u, qdot):
    """qdot = N(q) u at r.q, as `musculo.embedding.rates` has N; whether no angles are in gimbal lock."""
    for i in range(qdot.size):
        if p.speed_row[i] >= 0:
            qdot[i] = u[p.speed_row[i]]
    for j in range(p.turning_q.shape[0]):
        at, w = p.turning_q[j], p.turning_u[j]
        w_x, w_y, w_z = u[w[0]], u[w[1]], u[w[2]]
        if at[3] >= 0:
            e_0, e_1, e_2, e_3 = r.q[at[0]], r.q[at[1]], r.q[at[2]], r.q[at[3]]
            qdot[at[0]] = 0.5 * (-e_1 * w_x - e_2 * w_y - e_3 * w_z)
            qdot[at[1]] = 0.5 * (e_0 * w_x + e_3 * w_y - e_2 * w_z)
            qdot[at[2]] = 0.5 * (-e_3 * w_x + e_0 * w_y + e_1 * w_z)
            qdot[at[3]] = 0.5 * (e_2 * w_x - e_1 * w_y + e_0 * w_z)
        else:
            s_0, c_0 = np.sin(r.q[at[0]]), np.cos(r.q[at[0]])
            s_1, c_1 = np.sin(r.q[at[1]]), np.cos(r.q[at[1]])
            if abs(c_1) < 1e-12:
                return False
            third = (c_0 * w_z - s_0 * w_y) / c_1
            qdot[at[0]], qdot[at[1]], qdot[at[2]] = w_x - s_1 * third, c_0 * w_y + s_0 * w_z, third
    return True


@kernel
def _rates(p, r, force, tau, t, y, f):
    """f = dy/dt of one state; whether there is one."""
    apart()
    w, n, n_u = r.w, r.q.size, r.u.size
    _place(p, r, y)
    _rule_rows(p, r, t)
    for i in range(n_u):
        r.tau[i] = tau[i]
    if force != 0:
        call_force(force, t, r.q, r.u, r.tau)
    for lane in range(WIDTH):
        for i in range(n_u):
            r.T[i, lane] = r.tau[i]
    constrained_lanes(
        p.tree, p.table, p.equations, w, r.Q, r.U, r.T, r.E, False, r.rate, p.decay, p.tolerances, 1, r.D,
        r.multipliers, r.how, r.many,
    )  # fmt: skip
    if r.how[0] != SOLVED or not _turn(p, r, r.u, r.qdot):
        return False
    fine = True
    for i in range(n):
        f[i] = r.qdot[i]
        fine = fine and np.isfinite(f[i])
    for i in range(n_u):
        f[n + i] = r.D[i, 0]
        fine = fine and np.isfinite(f[n + i])
    return fine


@spliced
def _step(p, r, force, tau, t, y, f, h, x, error):
    """x and its error after a step of length h from y, whose rates are f; whether all stages have rates."""
    s, n = p.fehlberg, y.size
    for i in range(n):
        r.k[0, i] = f[i]
    for a in range(1, 6):
        for i in range(n):
            total = 0.0
            for b in range(a):
                total += s.stages[a, b] * r.k[b, i]
            r.stage[i] = y[i] + h * total
        if not _rates(p, r, force, tau, t + s.nodes[a] * h, r.stage, r.k[a]):
            return False
    for i in range(n):
        total, other = 0.0, 0.0
        for a in range(6):
            total += s.fifth[a] * r.k[a, i]
            other += s.difference[a] * r.k[a, i]
        x[i], error[i] = y[i] + h * total, h * other
    return True


@kernel
def _correction(p, r):
    """The smallest r.D in the metric of the mass matrix with G D = w.right, at the pose in r.Q; whether it is there."""
    apart()
    w, n = r.w, r.u.size
    w.M[:] = 0.0
    w.force[:] = 0.0
    crba(p.tree, p.table, lanes(r.Q), lanes(w.W), lanes(w.C), lanes(w.M), 0)
    allow(n, w.g.shape[0], w, p.tolerances, 1.0, r.U, 0)
    solve_constrained_lanes(n, w.g.shape[0], w, p.tolerances, 1, r.D, r.multipliers, r.how, r.many)
    return r.how[0] == SOLVED


@spliced
def _project(p, r, t, y, x):
    """x: the state nearest to y on the constraints, by Newton's corrections in the metric of the mass matrix.

    As `project_position` and `project_velocity` of `musculo.simulation.constrained`; whether they come to an end.
    """
    w, n, n_u = r.w, r.q.size, r.u.size
    m = w.g.shape[0]
    for i in range(y.size):
        x[i] = y[i]
    closed = False
    before = np.inf
    for _ in range(ROUNDS):
        _place(p, r, x)
        kinematics(p.tree, p.table, lanes(r.Q), lanes(r.U), lanes(w.rest), False, lanes(w.W), lanes(w.K), 0)
        twists(p.tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
        body_rows(p.equations, lanes(w.K), lanes(w.S), False, n_u, lanes(w.g), lanes(w.G), lanes(w.bias), 0)
        _rule_rows(p, r, t)
        # what is asked of the speeds is known only where the pose is
        far = 0.0
        for i in range(m):
            far = max(far, abs(w.g[i, 0]))
            for lane in range(WIDTH):
                w.right[i, lane] = -w.g[i, lane]
        closed = far <= CLOSED or (far <= 1e3 * CLOSED and far > 0.5 * before)
        before = far
        if closed or not np.isfinite(far):
            break
        if not _correction(p, r):
            return False
        long = 0.0
        for i in range(n_u):
            r.tau[i] = r.D[i, 0]
            long = max(long, abs(r.tau[i]))
        for i in range(n_u):
            r.tau[i] *= min(1.0, STRIDE / max(long, STRIDE))
        if not _turn(p, r, r.tau, r.qdot):
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
    if not _correction(p, r):
        return False
    for i in range(n):
        x[i] = r.q[i]
    for i in range(n_u):
        x[n + i] = r.u[i] + r.D[i, 0]
    return True


@driver
def constrained_state(p, what, force, tau, t, y, f, h, x, error, G, multipliers):
    """What is asked for of the state y = (q, u) at time t: f; or x and error; or x; or x and f. Whether it was found.

    Room is made here: to hand over so many arrays from Python would take longer.

    Args:
        p: the model. what: RATES, STEP, PROJECT or SETTLE. force: address as in `musculo.kernels.driven`, or 0.
        tau: (n_u,) constant forces. f: (n + n_u,) rates at y, which a step is given. h: its length [s].
        G, multipliers: (m n_u,) and (m,), those of the state whose rates were found last.
    """
    most = 0
    for i in range(p.functions.n_arguments.size):
        most = max(most, p.functions.n_arguments[i])
    r = _room(p.tree, p.speed_row.size, multipliers.size, most)
    if what == STEP:
        return _step(p, r, force, tau, t, y, f, h, x, error)
    state = y
    if what != RATES:
        if not _project(p, r, t, y, x):
            return False
        if what == PROJECT:
            return True
        state = x
    if not _rates(p, r, force, tau, t, state, f):
        return False
    for i in range(G.size):
        G[i] = r.w.G[i, 0]
    for i in range(multipliers.size):
        multipliers[i] = r.multipliers[i, 0]
    return True
