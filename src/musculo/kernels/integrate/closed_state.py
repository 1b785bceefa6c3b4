"""Rates of a tree with one closed loop in its independent coordinates; the loop is closed at every evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, driver, kernel, room, spliced
from musculo.kernels.constraints.closed_acceleration import ClosedSpace, close_lanes, closed_lanes, closed_space
from musculo.kernels.constraints.embedded_acceleration import Followers
from musculo.kernels.constraints.loop_solution import anchor
from musculo.kernels.constraints.loop_space import LoopTable, Search
from musculo.kernels.integrate.force_calls import drive
from musculo.kernels.integrate.one_step_methods import ONWARD, keep_pose, land_as_found, onward, rates_of
from musculo.kernels.scalar.packed import WIDTH


class ClosedTree(NamedTuple):
    """A tree whose only rule is a loop."""

    tree: Any
    table: Any
    loop: LoopTable
    search: Search
    followers: Followers
    z: IntArray  # (n_z,) rows of q that are independent
    zu: IntArray  # (n_zu,) rows of u that are
    speed_row: IntArray  # (n,) row of u of each coordinate
    turning_q: IntArray  # (j, 4) rows of angles, and -1
    turning_u: IntArray  # (j, 3)
    least_pivot: float  # of hinges that are not singular
    least_margin: float  # of loops that are not singular


class ClosedRoom(NamedTuple):
    """Where eight states are worked on; `c.branch.a` holds the pose whose branch is meant."""

    c: ClosedSpace
    Y: FloatArray  # (n_z + n_zu, WIDTH) states
    F: FloatArray  # (n_z + n_zu, WIDTH) their rates
    Q: FloatArray  # (n, WIDTH)
    U: FloatArray  # (n_u, WIDTH)
    T: FloatArray  # (n_u, WIDTH)
    D: FloatArray  # (n_u, WIDTH)
    E: FloatArray
    q: FloatArray  # (n,)
    u: FloatArray  # (n_u,)
    tau: FloatArray  # (n_u,)
    qdot: FloatArray  # (n,)


@room
def closed_room(p):
    """Room for states of a closed loop."""
    n, n_u, n_y = p.speed_row.size, p.tree.u_rows.size, p.z.size + p.zu.size
    return ClosedRoom(
        closed_space(p.tree, p.loop, n),
        np.zeros((n_y, WIDTH)),
        np.zeros((n_y, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((1, WIDTH)),
        np.zeros(n),
        np.zeros(n_u),
        np.zeros(n_u),
        np.zeros(n),
    )


@kernel
def hold(h, q):
    """Take the pose q (n,) for that whose branch is meant."""
    apart()
    p, r, _ = h
    for i in range(q.size):
        for lane in range(WIDTH):
            r.c.branch.a.Q[i, lane] = q[i]
    anchor(p.tree, p.table, p.loop, r.c.branch.a)


@kernel
def closed_rates(h, force, tau, t, real):
    """Rates r.F of the states r.Y, of which the first `real` count; whether they are there."""
    apart()
    p, r, _ = h
    n, n_u, n_z = r.q.size, r.u.size, p.z.size
    for lane in range(WIDTH):
        for i in range(n_z):
            r.Q[p.z[i], lane] = r.Y[i, min(lane, real - 1)]
        for i in range(p.zu.size):
            r.U[p.zu[i], lane] = r.Y[n_z + i, min(lane, real - 1)]
    close_lanes(p.tree, p.table, p.loop, p.search, r.c, real, r.Q, r.U)
    fine = True
    for lane in range(real):
        fine = fine and r.c.done[lane] == 1.0 and r.c.w.margin[0, lane] > p.least_margin
    for lane in range(WIDTH):
        if lane < real:
            for i in range(n):
                r.q[i] = r.Q[i, lane]
            for i in range(n_u):
                r.u[i] = r.U[i, lane]
            fine = drive(p, r, force if fine else 0, tau, t) and fine
        for i in range(n_z):
            r.F[i, lane] = r.qdot[p.z[i]]
        for i in range(n_u):
            r.T[i, lane] = r.tau[i]
    if not fine:
        return False
    closed_lanes(p.tree, p.table, p.loop, p.followers, r.c, r.Q, r.U, r.T, r.E, False, r.D)
    for i in range(p.zu.size):
        for lane in range(real):
            r.F[n_z + i, lane] = r.D[p.zu[i], lane]
    for i in range(n_u):
        for lane in range(real):
            fine = fine and r.c.pivot[i, lane] > p.least_pivot and np.isfinite(r.D[i, lane])
    return fine


@spliced
def _land(h, Y, F, s, force, tau, t, c, out, k):
    fine = land_as_found(closed_rates, h, Y, F, s, force, tau, t, out, k)
    if fine:
        hold(h, h[1].q)
    return fine


@kernel
def _serve(h, what, force, tau, c, here, y, f, end, out, guess):
    """`closed_state`, without references to arrays being counted."""
    _, r, s = h
    hold(h, guess)
    if what == ONWARD:
        return onward(closed_rates, _land, h, r.Y, r.F, s, force, tau, c, here, y, f, end, out)
    fine = rates_of(closed_rates, h, r.Y, r.F, force, tau, here[0], y, f)
    keep_pose(r.q, r.u, out, 0)
    return 1 if fine else 0


@driver
def closed_state(h, what, force, tau, c, here, y, f, end, out, guess):
    """As `open_state`; guess: (n,) a pose on the branch that is meant, for steps that of the first state.

    Args: h: holds `ClosedTree`, `ClosedRoom` and `StepRoom`.
    """
    return _serve(h, what, force, tau, c, here, y, f, end, out, guess)
