"""Eight states of a tree side by side, and one of them by itself: what is worked on, whatever the rules are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import inline, room
from musculo.kernels.scalar.packed import WIDTH


class StateLanes(NamedTuple):
    """Eight states in lanes, and one alone."""

    Y: FloatArray  # (n_y, WIDTH) states
    F: FloatArray  # (n_y, WIDTH) their rates
    Q: FloatArray  # (n, WIDTH) all coordinates
    U: FloatArray  # (n_u, WIDTH) all speeds
    T: FloatArray  # (n_u, WIDTH) generalized forces
    D: FloatArray  # (n_u, WIDTH) accelerations
    E: FloatArray  # (loads, WIDTH)
    q: FloatArray  # (n,) all of one state
    u: FloatArray  # (n_u,)
    tau: FloatArray  # (n_u,)
    qdot: FloatArray  # (n,)


@room
def state_lanes(n_y, n, n_u, loads):
    """Room for states of n_y numbers, of a tree with n coordinates and n_u speeds, and for numbers of loads."""
    return StateLanes(
        np.zeros((n_y, WIDTH)),
        np.zeros((n_y, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((max(loads, 1), WIDTH)),
        np.zeros(n),
        np.zeros(n_u),
        np.zeros(n_u),
        np.zeros(n),
    )


@inline
def take_lane(x, lane):
    """q and u of one lane by themselves."""
    for i in range(x.q.size):
        x.q[i] = x.Q[i, lane]
    for i in range(x.u.size):
        x.u[i] = x.U[i, lane]


@inline
def put_lane(x, lane):
    """The one state into a lane."""
    for i in range(x.q.size):
        x.Q[i, lane] = x.q[i]
    for i in range(x.u.size):
        x.U[i, lane] = x.u[i]
