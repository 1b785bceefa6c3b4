"""Rates of trees in their independent coordinates, where others follow by couplers, locks and prescribed motions.

What `musculo.simulation.equations.systems.EmbeddedSystem` does one state after the other, eight states in one pass.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, driver, kernel, room, spliced
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.constraints.embedded_acceleration import Followers, MassEquations, solve_embedded
from musculo.kernels.functions.function_values import evaluate, evaluate_many
from musculo.kernels.functions.shared_waves import evaluate_together
from musculo.kernels.integrate.force_calls import drive
from musculo.kernels.integrate.one_step_methods import explicit_or_implicit, land_as_found, serve
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.aba import ARTICULATED_ROWS, PIVOT, SLOT_ROWS, ArticulatedSpace, aba, slot_row
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.state_lanes import StateLanes, put_lane, state_lanes, take_lane
from musculo.kernels.tree.tree_frames import work_rows
from musculo.kernels.tree.turning_joints import unit_quaternions


class OpenTree(NamedTuple):
    """A tree without loops, and the rules by which some of its coordinates follow others, inputs first."""

    tree: Any
    table: Any
    rules: RuleRows
    functions: Any
    growth: FloatArray  # (rules,) of a follower with its input, beside the function of its rule
    waves_until: IntArray  # (rules,) where rules end that share their input and the waves of a series; 0 for no series
    followers: Followers
    z: IntArray  # (n_z,) rows of q that are independent
    zu: IntArray  # (n_zu,) rows of u that are
    speed_row: IntArray  # (n,) row of u of each coordinate; -1 for parts of a quaternion
    turning_q: IntArray  # (j, 4) rows of angles and -1, or of quaternions
    turning_u: IntArray  # (j, 3)
    least_pivot: float  # of hinges that are not singular


class OpenRoom(NamedTuple):
    """Where eight states are worked on."""

    W: FloatArray
    A: FloatArray  # articulated bodies
    C: FloatArray  # composite bodies
    M: FloatArray  # (n_u n_u, WIDTH)
    x: StateLanes
    B: FloatArray  # (n_u, WIDTH) accelerations at zero independent ones
    P: FloatArray  # (n_u, WIDTH) pivots
    S: FloatArray  # (inputs, WIDTH) slopes of rules
    slopes: FloatArray  # value, gradient and Hessian of one function
    waves: FloatArray  # (3 rules,) value and derivatives of series that share their waves
    free: IntArray  # (n_u,) zeros: no acceleration is prescribed


@room
def open_room(p):
    """Room for states of a tree."""
    tree, n, most = p.tree, p.speed_row.size, 0
    for i in range(p.functions.n_arguments.size):
        most = max(most, p.functions.n_arguments[i])
    n_u = tree.u_rows.size
    return OpenRoom(
        np.zeros((work_rows(tree), WIDTH)),
        np.ones((ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * n_u, WIDTH)),
        np.zeros((COMPOSITE_ROWS * tree.parent.size, WIDTH)),
        np.zeros((n_u * n_u, WIDTH)),
        state_lanes(p.z.size + p.zu.size, n, n_u, 0),
        np.zeros((n_u, WIDTH)),
        np.ones((n_u, WIDTH)),
        np.zeros((max(p.followers.inputs.size, 1), WIDTH)),
        np.zeros((1 + most + most * most + 2, WIDTH)),
        np.zeros(3 * p.growth.size),
        np.zeros(n_u, dtype=np.int64),
    )


@kernel
def _follow_rules(h, t, lane):
    """Coordinates, speeds and biases of one lane that follow others, and the slopes with which they do.

    q_k = s f,   u_k = s f_a u_a (+ s f'),   bias_k = s f_a bias_a + s f_ab u_a u_b (+ s f''), in brackets those of time

    What goes round with its input follows s f + growth q_a: a series of waves alone comes back after a turn.
    """
    p, r, _ = h
    x, rules, at, known = r.x, p.rules, 0, 0
    for k in range(rules.function.size):
        own, own_u = rules.follower[k, 0], rules.follower[k, 1]
        function, scale, first = rules.function[k], rules.scale[k], rules.first_input[k]
        for a in range(rules.first_input[k + 1] - first):
            r.S[at + a, lane] = 0.0  # as it stays for a constant
        value, rate, bias = rules.value[k], 0.0, 0.0
        if function >= 0 and rules.timed[k] == 1:
            f, f1, f2, _third = evaluate(p.functions, function, t)
            value, rate, bias = scale * f, scale * f1, scale * f2
        elif function >= 0:
            m = p.functions.n_arguments[function]
            if p.waves_until[k] > 0:
                if k >= known:
                    known = p.waves_until[k]
                    evaluate_together(p.functions, rules.function, k, known, x.Q[rules.input_q[first], lane], r.waves)
                for i in range(3):
                    r.slopes[i, lane] = r.waves[3 * k + i]
            else:
                evaluate_many(p.functions, function, x.Q, rules.input_q, first, lane, r.slopes, 0)
            value = scale * r.slopes[0, lane]
            for a in range(m):
                u_a, slope = rules.input_u[first + a], scale * r.slopes[1 + a, lane] + p.growth[k]
                value += p.growth[k] * x.Q[rules.input_q[first + a], lane]
                rate += slope * x.U[u_a, lane]
                bias += slope * r.B[u_a, lane]
                r.S[at + a, lane] = slope
                for b in range(m):
                    bend = scale * r.slopes[1 + m + a * m + b, lane]
                    bias += bend * x.U[u_a, lane] * x.U[rules.input_u[first + b], lane]
        at += rules.first_input[k + 1] - first
        x.Q[own, lane], x.U[own_u, lane], r.B[own_u, lane] = value, rate, bias


@kernel
def _place(h, t, lane):
    """All coordinates and speeds of the state in one lane of x.Y, also by themselves."""
    p, r, _ = h
    x = r.x
    n_z = p.z.size
    if p.turning_q.shape[0] > 0:
        for i in range(n_z):
            x.q[p.z[i]] = x.Y[i, lane]
        unit_quaternions(p.turning_q, x.q)
        for i in range(x.q.size):
            x.Q[i, lane] = x.q[i]
    else:
        for i in range(n_z):
            x.Q[p.z[i], lane] = x.Y[i, lane]
    for i in range(p.zu.size):
        x.U[p.zu[i], lane] = x.Y[n_z + i, lane]
        r.B[p.zu[i], lane] = 0.0
    if p.rules.function.size > 0:
        _follow_rules(h, t, lane)
    take_lane(x, lane)


@kernel
def _accelerations(h):
    """x.D and pivots r.P of the states in x.Q and x.U under forces x.T."""
    p, r, _ = h
    x = r.x
    n_u = x.u.size
    if p.rules.function.size == 0:
        space, motion = ArticulatedSpace(lanes(r.W), lanes(r.A)), Motion(lanes(x.Q), lanes(x.U), lanes(x.D))
        aba(p.tree, p.table, space, motion, lanes(x.T), r.free, None, 0)
        for i in range(n_u):
            for lane in range(WIDTH):
                r.P[i, lane] = r.A[slot_row(p.tree, i) + PIVOT, lane]
        return
    motion = Motion(lanes(x.Q), lanes(x.U), lanes(r.B))
    rnea(p.tree, p.table, lanes(r.W), motion, None, lanes(x.D), 0)
    r.M[:] = 0.0
    placed_mass_matrix(p.tree, lanes(r.W), lanes(r.C), lanes(r.M), 0)
    for i in range(n_u):
        for lane in range(WIDTH):
            x.T[i, lane] -= x.D[i, lane]
            x.D[i, lane] = r.B[i, lane]
    equations = MassEquations(n_u, lanes(r.M), lanes(x.T), lanes(r.B), lanes(r.P))
    solve_embedded(p.followers, lanes(r.S), equations, lanes(x.D), 0)


@kernel
def open_rates(h, force, tau, t, real):
    """Rates x.F of the states x.Y, of which the first `real` count; whether they are there."""
    apart()
    p, r, _ = h
    x = r.x
    n_z, n_u = p.z.size, x.u.size
    fine = True
    for lane in range(WIDTH):
        if lane < real:
            _place(h, t, lane)
            fine = drive(p, x, force, tau, t) and fine
        else:
            put_lane(x, lane)
            for i in range(n_u):
                r.B[i, lane] = r.B[i, real - 1]
            for i in range(r.S.shape[0]):
                r.S[i, lane] = r.S[i, real - 1]
        for i in range(n_z):
            x.F[i, lane] = x.qdot[p.z[i]]
        for i in range(n_u):
            x.T[i, lane] = x.tau[i]
    _accelerations(h)
    for i in range(p.zu.size):
        for lane in range(real):
            x.F[n_z + i, lane] = x.D[p.zu[i], lane]
    for i in range(n_u):
        for lane in range(real):
            fine = fine and r.P[i, lane] > p.least_pivot
    for i in range(n_z + p.zu.size):
        for lane in range(real):
            fine = fine and math.isfinite(x.F[i, lane])
    return fine


@spliced
def _land(h, force, a, t, k):
    return land_as_found(open_rates, h, force, a, t, k)


@kernel
def _serve(h, what, force, a, end):
    """`open_state`, without references to arrays being counted."""
    return serve(open_rates, _land, explicit_or_implicit, h, what, force, a, end)


@driver
def open_state(h, what, force, end, a):
    """What is asked for of states y = (z, zu), as `serve` answers it.

    Args: h: holds `OpenTree`, `OpenRoom` and `StepRoom`. force: as in `force_calls`. a: `Request`.
    """
    return _serve(h, what, force, a, end)
