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


class BranchSpace(NamedTuple):
    """What following a branch needs beside two spaces of eight frames: that of the guesses, and one lane of a third."""

    a: LoopSpace  # at the guesses
    alone: LoopSpace
    start: FloatArray  # (n_x,)
    target: FloatArray  # (n_x,)
    here: FloatArray  # (n_d,)
    tangent: FloatArray  # (n_d,)
    kept: FloatArray  # (m n_y, WIDTH)
    fine: FloatArray  # (WIDTH,)


@room
def branch_space(tree, loop, n):
    """Room for `follow_branches`."""
    n_d = loop.y.size - loop.n_x
    return BranchSpace(
        loop_space(tree, loop, n),
        loop_space(tree, loop, n),
        np.zeros(loop.n_x),
        np.zeros(loop.n_x),
        np.zeros(n_d),
        np.zeros(n_d),
        np.zeros((loop.row_scale.size * loop.y.size, WIDTH)),
        np.zeros(WIDTH),
    )
