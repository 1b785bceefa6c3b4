"""Forward dynamics of a model whose only rule is a closed loop: branch, derivatives and solution in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, kernel, room
from musculo.kernels.constraints.embedded_acceleration import solve_embedded
from musculo.kernels.constraints.loop_branch import follow_branches
from musculo.kernels.constraints.loop_solution import anchor, copy_lanes, derive
from musculo.kernels.constraints.loop_space import BranchSpace, LoopSpace, branch_space, loop_space
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take


class ClosedSpace(NamedTuple):
    """What eight states of a closed loop need."""

    w: LoopSpace
    branch: BranchSpace
    rate: FloatArray  # (n_x,)
    gradient: FloatArray  # (n_d n_x,) or one row
    bend: FloatArray  # (n_d,)
    bias: FloatArray  # (n_u,)
    force: FloatArray  # (n_u,)
    C: FloatArray
    M: FloatArray
    pivot: FloatArray  # (n_u,) see `solve_embedded`
    done: FloatArray  # (WIDTH,) the part of the way from the guess that was done: 1 where the loop closes


@room
def closed_space(tree, loop, n):
    """Room for the work on eight states."""
    n_u, n_d = tree.u_rows.size, loop.y.size - loop.n_x
    return ClosedSpace(
        loop_space(tree, loop, n),
        branch_space(tree, loop, n),
        np.zeros((loop.n_x, WIDTH)),
        np.zeros((max(n_d * loop.n_x, 1), WIDTH)),
        np.zeros((n_d, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((COMPOSITE_ROWS * tree.parent.size, WIDTH)),
        np.zeros((n_u * n_u, WIDTH)),
        np.ones((n_u, WIDTH)),
        np.zeros(WIDTH),
    )


@kernel
def close_lanes(tree, table, loop, search, s, real, Q, U):
    """Coordinates Q and speeds U of eight states from their independent rows, on the branches anchored in s.branch.a.

    Leaves slopes in s.gradient and accelerations at zero free ones in s.bias.
    """
    n_x, n_d, w = loop.n_x, loop.y.size - loop.n_x, s.w
    copy_lanes(Q, w.Q)
    follow_branches(tree, table, loop, search, s.branch, w, real, s.done)
    for k in range(n_x):
        for lane in range(WIDTH):
            s.rate[k, lane] = U[loop.speed_of[loop.y[k]], lane]
    derive(tree, table, loop, w, s.gradient, s.rate, True, s.bend)
    for j in range(n_d):
        row = loop.speed_of[loop.y[n_x + j]]
        for lane in range(WIDTH):
            Q[loop.y[n_x + j], lane] = w.Q[loop.y[n_x + j], lane]
            U[row, lane] = 0.0
            s.bias[row, lane] = s.bend[j, lane]
        for k in range(n_x):
            for lane in range(WIDTH):
                U[row, lane] += s.gradient[j * n_x + k, lane] * s.rate[k, lane]


@kernel
def closed_lanes(tree, table, loop, followers, s, Q, U, T, E, loaded, udot):
    """udot (n_u, WIDTH) of states that `close_lanes` completed, under generalised forces T and loads E."""
    n_u, W = tree.u_rows.size, s.w.W
    rnea(tree, table, lanes(Q), lanes(U), lanes(s.bias), lanes(E), loaded, lanes(W), lanes(s.force), 0)
    s.M[:] = 0.0
    placed_mass_matrix(tree, lanes(W), lanes(s.C), lanes(s.M), 0)
    for i in range(n_u):
        for lane in range(WIDTH):
            s.force[i, lane] = T[i, lane] - s.force[i, lane]
            udot[i, lane] = s.bias[i, lane]
    solve_embedded(
        n_u, followers, lanes(s.gradient), lanes(s.M), lanes(s.force), lanes(udot), lanes(s.bias), lanes(s.pivot), 0
    )


@driver
def closed_frames(
    tree, table, loop, search, followers, guess, q, u, tau, external, loaded, udot, pivot, done, margin, start, stop
):
    """Accelerations of frames start .. stop - 1; q and u are completed from their independent columns.

    Args:
        guess: (frames, n) poses whose branch is meant. q: (frames, n), u: (frames, n_u): their dependents are written.
        udot, pivot: (frames, n_u), see `solve_embedded`. done: (frames,) the part of the way from the guess that was
        done: 1 where the loop closes. margin: (frames,) how far from singular it is there.
    """
    n, n_u = q.shape[1], tree.u_rows.size
    s = closed_space(tree, loop, n)
    Q, U, T, D = np.empty((n, WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH))
    E = np.empty((external.shape[1], WIDTH))
    for block in range(start, stop, WIDTH):
        real = min(WIDTH, stop - block)
        take(guess, block, stop, s.branch.a.Q)
        anchor(tree, table, loop, s.branch.a)
        take(q, block, stop, Q)
        take(u, block, stop, U)
        take(tau, block, stop, T)
        if loaded:
            take(external, block, stop, E)
        close_lanes(tree, table, loop, search, s, real, Q, U)
        closed_lanes(tree, table, loop, followers, s, Q, U, T, E, loaded, D)
        give(Q, 0, n, q, block, stop)
        give(U, 0, n_u, u, block, stop)
        give(D, 0, n_u, udot, block, stop)
        give(s.pivot, 0, n_u, pivot, block, stop)
        for lane in range(real):
            done[block + lane] = s.done[lane]
            margin[block + lane] = s.w.margin[0, lane] if s.done[lane] == 1.0 else 0.0
