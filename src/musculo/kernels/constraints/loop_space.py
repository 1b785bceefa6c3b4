"""A closed loop as arrays, and room for the work on eight frames of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import room
from musculo.kernels.constraints.body_loop_equations import BodyEquations
from musculo.kernels.constraints.coupling import Couplings
from musculo.kernels.scalar.packed import WIDTH
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import work_rows


class LoopTable(NamedTuple):
    """A loop as arrays: its equations, its coordinates y (inputs, then dependents), and what follows them."""

    equations: BodyEquations
    couplings: Couplings
    functions: Any  # the table of functions that couplers use
    y: IntArray  # (n_y,) columns of q
    n_x: int
    speed_of: IntArray  # (n,) column of u of each column of q; -1 for parts of quaternions
    turn_q: IntArray  # (turning, 3) angles of joints that turn freely
    turn_u: IntArray  # (turning, 3)
    scale: FloatArray  # (n_y,)
    row_scale: FloatArray  # (m,)


class LoopSpace(NamedTuple):
    """What eight frames of a loop need; the lane comes last everywhere."""

    W: FloatArray
    K: FloatArray
    S: FloatArray
    Q: FloatArray
    qdot: FloatArray
    qddot: FloatArray
    U: FloatArray
    udot: FloatArray
    slopes: FloatArray
    g: FloatArray  # (m,)
    G: FloatArray  # (m n_u,)
    bias: FloatArray  # (m,)
    row: FloatArray  # (n,) one row by coordinates
    A: FloatArray  # (m n_y,)
    basis: FloatArray  # (m n_d,) orthogonal columns, of the rows that are not zero
    factor: FloatArray  # (n_d n_d,) upper triangular, ones on the diagonal
    inverse: FloatArray  # (n_d,) of the columns' squared lengths
    margin: FloatArray  # (1,) how far from singular A_d is
    x: FloatArray  # (n_d,)
    left: FloatArray  # (m,)
    square: FloatArray  # (n_d n_d,)
    size: FloatArray  # (4,) measures of each lane
    order: IntArray  # (n_d,) rows of `square` as they were exchanged
    used: IntArray  # (m,) rows of A_d that are not zero
    count: IntArray  # type: ignore[assignment]  # (1,) how many


@room
def loop_space(tree, loop, n):
    """Room for the work on eight frames."""
    n_u, n_y = tree.u_rows.size, loop.y.size
    n_d, m = n_y - loop.n_x, loop.row_scale.size
    return LoopSpace(
        np.zeros((work_rows(tree), WIDTH)),
        np.zeros((MOTION_ROWS * tree.parent.size, WIDTH)),
        np.zeros((6 * n_u, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((loop.couplings.first_slope[-1] + 1, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m * n_u, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((m * n_y, WIDTH)),
        np.zeros((m * n_d, WIDTH)),
        np.zeros((n_d * n_d, WIDTH)),
        np.zeros((n_d, WIDTH)),
        np.zeros((1, WIDTH)),
        np.zeros((n_d, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((max(n_d * n_d, 1), WIDTH)),
        np.zeros((4, WIDTH)),
        np.zeros(n_d, dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


class Search(NamedTuple):
    """How branches are followed; the numbers are those of `musculo.embedding.loops.closed_loop`."""

    quadratic: float
    closed: float
    shut: float
    contraction: float
    stride: float
    shortest: float
    rounds: int
    gentle_rounds: int
    far_rounds: int
    near: float
    settled: float


class LoopSystem(NamedTuple):
    """A tree with a closed loop, and how its branches are followed."""

    tree: Any
    table: Any
    loop: LoopTable
    search: Search


class Way(NamedTuple):
    """Where one frame is on its way along a branch, see `proceed`; over frames, each of these has one more axis."""

    start: FloatArray  # (n_x,) inputs of the guess
    target: FloatArray  # (n_x,) where they shall be
    here: FloatArray  # (n_d,) dependents of the last pose that closed
    tangent: FloatArray  # (n_d,) the branch's direction there
    kept: FloatArray  # (m n_y, 1) A there
    done: FloatArray  # (1,) the part of the way that is done; -1 where the guess does not close
    stride: FloatArray  # (1,) the next part to try
    tried: FloatArray  # (1,) the part that is being tried
    speed: FloatArray  # (1,) of the fastest coordinate, in units of `scale`
    before: FloatArray  # (1,) length of the last correction
    ease: FloatArray  # (1,) the first contraction
    phase: IntArray  # (1,) what g and A are wanted for
    rounds: IntArray  # (1,) corrections so far
    strides: IntArray  # (1,) so far


@room
def way_space(loop):
    """Room for one frame."""
    n_x, n_d = loop.n_x, loop.y.size - loop.n_x
    return Way(
        np.zeros(n_x),
        np.zeros(n_x),
        np.zeros(n_d),
        np.zeros(n_d),
        np.zeros((loop.row_scale.size * loop.y.size, 1)),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


class BranchSpace(NamedTuple):
    """What following a branch needs beside the space of eight frames: that of their guesses, and of one that strays."""

    a: LoopSpace  # at the guesses
    alone: LoopSpace
    way: Way
    fine: FloatArray  # (WIDTH,)


@room
def branch_space(tree, loop, n):
    """Room for `follow_branches`."""
    return BranchSpace(loop_space(tree, loop, n), loop_space(tree, loop, n), way_space(loop), np.zeros(WIDTH))
