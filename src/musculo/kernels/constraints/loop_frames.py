"""Closed loops over frames: dependents, their derivatives, and steps along branches, eight frames at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver
from musculo.kernels.constraints.loop_branch import follow_branches, proceed
from musculo.kernels.constraints.loop_solution import (
    anchor,
    copy_lanes,
    derive,
    factor_loop,
    solve_loop,
    used_rows,
)
from musculo.kernels.constraints.loop_space import Way, branch_space, loop_space
from musculo.kernels.scalar.packed import WIDTH
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take


class LoopFrames(NamedTuple):
    """Frames of a loop, with one row where something is not asked for."""

    q: FloatArray  # (frames, n) guesses, or poses that close the loop
    x: FloatArray  # (frames, n_x) inputs
    xdot: FloatArray  # (frames, n_x)
    d: FloatArray  # (frames, n_d) dependents
    done: FloatArray  # (frames,) the part of the way that was done; where not all, d is of the last pose that closed
    gradient: FloatArray  # (frames, n_d n_x)
    bend: FloatArray  # (frames, n_d) second derivatives along xdot
    margin: FloatArray  # (frames,) how far from singular


@driver
def loop_frames(s, frames, followed, derived, bent, start, stop):
    """A loop over frames start .. stop - 1: dependents if `followed`, gradients if `derived`, also bent ones if `bent`.

    Args: s: `LoopSystem`. frames: `LoopFrames`; q are guesses if `followed`, and done is -1 where they do not close.
    """
    loop, n = s.loop, frames.q.shape[1]
    n_x, n_d = loop.n_x, loop.y.size - loop.n_x
    w, b = loop_space(s.tree, loop, n), branch_space(s.tree, loop, n)
    X, rate, parts = np.zeros((n_x, WIDTH)), np.zeros((n_x, WIDTH)), np.zeros(WIDTH)
    slope, curve = np.zeros((n_d * n_x, WIDTH)), np.zeros((n_d, WIDTH))
    for block in range(start, stop, WIDTH):
        real = min(WIDTH, stop - block)
        take(frames.q, block, stop, w.Q)
        if followed:
            copy_lanes(w.Q, b.a.Q)
            take(frames.x, block, stop, X)
            for k in range(n_x):
                for lane in range(WIDTH):
                    w.Q[loop.y[k], lane] = X[k, lane]
            anchor(s, b.a)
            follow_branches(s, b, w, real, parts)
            for lane in range(real):
                frames.done[block + lane] = parts[lane]
                for j in range(n_d):
                    frames.d[block + lane, j] = w.Q[loop.y[n_x + j], lane]
        if derived:
            if not followed:
                anchor(s, w)
            if bent:
                take(frames.xdot, block, stop, rate)
            derive(s, w, slope, rate, bent, curve)
            give(slope, 0, n_d * n_x, frames.gradient, block, stop)
            for lane in range(real):
                frames.margin[block + lane] = w.margin[0, lane]
            if bent:
                give(curve, 0, n_d, frames.bend, block, stop)


class WayFrames(NamedTuple):
    """Frames on their way whose equations were evaluated in Python."""

    frame: IntArray  # (k,) which of all
    going: IntArray  # (k,) 1 where they are wanted again, written
    g: FloatArray  # (k, m)
    A: FloatArray  # (k, m n_y)
    y: FloatArray  # (frames, n_y) where they were evaluated, then where they are wanted


@driver
def way_frames(s, ways, some, n, start, stop):
    """`proceed` for frames start .. stop - 1 of `some`, a `WayFrames`.

    Args: s: `LoopSystem`. ways: `Way` with one row a frame. n: coordinates of the model.
    """
    loop = s.loop
    w = loop_space(s.tree, loop, n)
    for i in range(start, stop):
        f = some.frame[i]
        for k in range(loop.y.size):
            w.Q[loop.y[k]] = some.y[f, k]
        for r in range(w.g.shape[0]):
            w.g[r] = some.g[i, r]
        for r in range(w.A.shape[0]):
            w.A[r] = some.A[i, r]
        used_rows(loop, w)
        way = Way(
            ways.start[f],
            ways.target[f],
            ways.here[f],
            ways.tangent[f],
            ways.kept[f],
            ways.done[f],
            ways.stride[f],
            ways.tried[f],
            ways.speed[f],
            ways.before[f],
            ways.ease[f],
            ways.phase[f],
            ways.rounds[f],
            ways.strides[f],
        )
        some.going[i] = 1 if proceed(loop, s.search, w, way) else 0
        for k in range(loop.y.size):
            some.y[f, k] = w.Q[loop.y[k], 0]


@driver
def least_squares_frames(s, A, b, x, margin, n, start, stop):
    """x = A_d^+ b of frames start .. stop - 1, and how far from singular A_d is.

    Args: s: `LoopSystem`. A: (frames, m n_y). b: (columns, frames, m). x: (columns, frames, n_d). n: coordinates.
    """
    loop = s.loop
    w = loop_space(s.tree, loop, n)
    for block in range(start, stop, WIDTH):
        take(A, block, stop, w.A)
        used_rows(loop, w)
        factor_loop(loop, w)
        for c in range(b.shape[0]):
            take(b[c], block, stop, w.left)
            solve_loop(loop, w, w.x)
            give(w.x, 0, w.x.shape[0], x[c], block, stop)
        for lane in range(min(WIDTH, stop - block)):
            margin[block + lane] = w.margin[0, lane]
