"""Forward dynamics of a model whose only rule is a closed loop: branch, derivatives and solution in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, kernel, room
from musculo.kernels.constraints.embedded_acceleration import MassEquations, solve_embedded
from musculo.kernels.constraints.loop_branch import follow_branches
from musculo.kernels.constraints.loop_solution import anchor, copy_lanes, derive
from musculo.kernels.constraints.loop_space import BranchSpace, LoopSpace, branch_space, loop_space
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.nodes import Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.state_lanes import state_lanes
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
def close_lanes(system, s, real, Q, U):
    """Coordinates Q and speeds U of eight states from their independent rows, on the branches anchored in s.branch.a.

    Leaves slopes in s.gradient and accelerations at zero free ones in s.bias.
    """
    loop, w = system.loop, s.w
    n_x, n_d = loop.n_x, loop.y.size - loop.n_x
    copy_lanes(Q, w.Q)
    follow_branches(system, s.branch, w, real, s.done)
    for k in range(n_x):
        for lane in range(WIDTH):
            s.rate[k, lane] = U[loop.speed_of[loop.y[k]], lane]
    derive(system, w, s.gradient, s.rate, True, s.bend)
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
def closed_lanes(system, followers, s, x, loaded):
    """x.D of states that `close_lanes` completed, under generalized forces x.T and loads x.E."""
    tree, W, n_u = system.tree, s.w.W, x.D.shape[0]
    motion = Motion(lanes(x.Q), lanes(x.U), lanes(s.bias))
    rnea(tree, system.table, lanes(W), motion, Loads(lanes(x.E), loaded), lanes(s.force), 0)
    s.M[:] = 0.0
    placed_mass_matrix(tree, lanes(W), lanes(s.C), lanes(s.M), 0)
    for i in range(n_u):
        for lane in range(WIDTH):
            s.force[i, lane] = x.T[i, lane] - s.force[i, lane]
            x.D[i, lane] = s.bias[i, lane]
    equations = MassEquations(n_u, lanes(s.M), lanes(s.force), lanes(s.bias), lanes(s.pivot))
    solve_embedded(followers, lanes(s.gradient), equations, lanes(x.D), 0)


class ClosedFrames(NamedTuple):
    """Frames of a tree with one closed loop."""

    guess: FloatArray  # (frames, n) poses whose branch is meant
    q: FloatArray  # (frames, n) completed from its independent columns
    u: FloatArray  # (frames, n_u) likewise
    tau: FloatArray  # (frames, n_u)
    external: FloatArray  # (frames, 6 nodes) loads, or none
    udot: FloatArray  # (frames, n_u)
    pivot: FloatArray  # (frames, n_u) see `solve_embedded`
    done: FloatArray  # (frames,) the part of the way from the guess that was done: 1 where the loop closes
    margin: FloatArray  # (frames,) how far from singular the loop is there


@driver
def closed_frames(system, followers, frames, loaded, start, stop):
    """Accelerations of frames start .. stop - 1 of `ClosedFrames`; `system` is a `LoopSystem`."""
    n, n_u = frames.q.shape[1], system.tree.u_rows.size
    s, x = closed_space(system.tree, system.loop, n), state_lanes(0, n, n_u, frames.external.shape[1])
    for block in range(start, stop, WIDTH):
        real = min(WIDTH, stop - block)
        take(frames.guess, block, stop, s.branch.a.Q)
        anchor(system, s.branch.a)
        take(frames.q, block, stop, x.Q)
        take(frames.u, block, stop, x.U)
        take(frames.tau, block, stop, x.T)
        if loaded:
            take(frames.external, block, stop, x.E)
        close_lanes(system, s, real, x.Q, x.U)
        closed_lanes(system, followers, s, x, loaded)
        give(x.Q, 0, n, frames.q, block, stop)
        give(x.U, 0, n_u, frames.u, block, stop)
        give(x.D, 0, n_u, frames.udot, block, stop)
        give(s.pivot, 0, n_u, frames.pivot, block, stop)
        for lane in range(real):
            frames.done[block + lane] = s.done[lane]
            frames.margin[block + lane] = s.w.margin[0, lane] if s.done[lane] == 1.0 else 0.0
