"""Rates of a tree with one closed loop in its independent coordinates; the loop is closed at every evaluation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import IntArray
from musculo.kernels.compiler.parts import apart, driver, kernel, room, spliced
from musculo.kernels.constraints.closed_acceleration import ClosedSpace, close_lanes, closed_lanes, closed_space
from musculo.kernels.constraints.embedded_acceleration import Followers
from musculo.kernels.constraints.loop_solution import anchor
from musculo.kernels.constraints.loop_space import LoopSystem
from musculo.kernels.integrate.force_calls import drive
from musculo.kernels.integrate.one_step_methods import explicit_or_implicit, land_as_found, serve
from musculo.kernels.scalar.packed import WIDTH
from musculo.kernels.tree.state_lanes import StateLanes, state_lanes, take_lane


class ClosedTree(NamedTuple):
    """A tree whose only rule is a loop."""

    system: LoopSystem
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
    x: StateLanes


@room
def closed_room(p):
    """Room for states of a closed loop."""
    n = p.speed_row.size
    return ClosedRoom(
        closed_space(p.system.tree, p.system.loop, n),
        state_lanes(p.z.size + p.zu.size, n, p.system.tree.u_rows.size, 0),
    )


@kernel
def hold(h, q):
    """Take the pose q (n,) for that whose branch is meant."""
    apart()
    p, r, _ = h
    for i in range(q.size):
        for lane in range(WIDTH):
            r.c.branch.a.Q[i, lane] = q[i]
    anchor(p.system, r.c.branch.a)


@kernel
def closed_rates(h, force, tau, t, real):
    """Rates x.F of the states x.Y, of which the first `real` count; whether they are there."""
    apart()
    p, r, _ = h
    c, x = r.c, r.x
    n_z, n_u = p.z.size, x.u.size
    for lane in range(WIDTH):
        for i in range(n_z):
            x.Q[p.z[i], lane] = x.Y[i, min(lane, real - 1)]
        for i in range(p.zu.size):
            x.U[p.zu[i], lane] = x.Y[n_z + i, min(lane, real - 1)]
    close_lanes(p.system, c, real, x.Q, x.U)
    fine = True
    for lane in range(real):
        fine = fine and c.done[lane] == 1.0 and c.w.margin[0, lane] > p.least_margin
    for lane in range(WIDTH):
        if lane < real:
            take_lane(x, lane)
            fine = drive(p, x, force if fine else 0, tau, t) and fine
        for i in range(n_z):
            x.F[i, lane] = x.qdot[p.z[i]]
        for i in range(n_u):
            x.T[i, lane] = x.tau[i]
    if not fine:
        return False
    closed_lanes(p.system, p.followers, c, x, False)
    for i in range(p.zu.size):
        for lane in range(real):
            x.F[n_z + i, lane] = x.D[p.zu[i], lane]
    for i in range(n_u):
        for lane in range(real):
            fine = fine and c.pivot[i, lane] > p.least_pivot and np.isfinite(x.D[i, lane])
    return fine


@spliced
def _land(h, force, a, t, k):
    fine = land_as_found(closed_rates, h, force, a, t, k)
    if fine:
        hold(h, h[1].x.q)
    return fine


@kernel
def _serve(h, what, force, a, end, guess):
    """`closed_state`, without references to arrays being counted."""
    hold(h, guess)
    return serve(closed_rates, _land, explicit_or_implicit, h, what, force, a, end)


@driver
def closed_state(h, what, force, end, a, guess):
    """As `open_state`; guess: (n,) a pose on the branch that is meant, for steps that of the first state.

    Args: h: holds `ClosedTree`, `ClosedRoom` and `StepRoom`. a: `Request`.
    """
    return _serve(h, what, force, a, end, guess)
