"""Slopes of generalized forces over frames: eight frames a pack, joints of functions a lane at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, inline, room, spliced
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.derivatives.joint_slopes import (
    ComplexJoint,
    complex_joint,
    coordinates_end,
    joint_slopes,
    own_slope_rows,
)
from musculo.kernels.tree.derivatives.torque_slopes import SlopeParts, slope_rows, torque_slopes
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.nodes import PRISMATIC, REVOLUTE, Loads, Motion
from musculo.kernels.tree.tree_frames import _take as take
from musculo.kernels.tree.tree_frames import work_rows


class SlopeFrames(NamedTuple):
    """What slopes are asked at, and where they go; frames first."""

    q: FloatArray  # (frames, n_q)
    u: FloatArray  # (frames, n_u)
    udot: FloatArray  # (frames, n_u)
    external: FloatArray  # (frames, 6 n) as `rnea_frames` has it
    by_q: FloatArray  # (frames, n_u n_q) zero at first; of unrelated joints nothing is written
    by_u: FloatArray  # (frames, n_u n_u) likewise
    by_udot: FloatArray  # (frames, n_u n_u) likewise


@inline
def general_joints(tree):
    """Whether some joint has hinge columns that are not constant."""
    for i in range(1, tree.parent.size):
        if tree.n_u[i] > 0 and tree.kind[i] != REVOLUTE and tree.kind[i] != PRISMATIC:
            return True
    return False


@inline
def _mark_related(tree, marks):
    """Set marks (n_u, n_q + n_u) where joints share a path to ground: of speeds and coordinates, then of two speeds."""
    n_q = tree.q_rows.size
    for i in range(1, tree.parent.size):
        j = i
        while j > 0:
            for outer, inner in ((i, j), (j, i)):
                for a in range(tree.u_first[outer], tree.u_first[outer] + tree.n_u[outer]):
                    for k in range(tree.q_first[inner], coordinates_end(tree, inner)):
                        marks[tree.u_rows[a], tree.q_rows[k]] = 1
                    for b in range(tree.u_first[inner], tree.u_first[inner] + tree.n_u[inner]):
                        marks[tree.u_rows[a], n_q + tree.u_rows[b]] = 1
            j = tree.parent[j]


@inline
def _list_marks(marks, first, columns, found):
    """Where (row-major, of these columns) the marks are, into `found`; how many."""
    count = 0
    for a in range(marks.shape[0]):
        for k in range(columns):
            if marks[a, first + k] == 1:
                found[count] = a * columns + k
                count += 1
    return count


@inline
def _give_some(block, first, numbers, target, start, stop):
    """These rows of a block, counted from `first`, into the same columns of target."""
    for lane in range(min(WIDTH, stop - start)):
        for r in range(numbers.size):
            target[start + lane, numbers[r]] = block[first + numbers[r], lane]


class SlopeSpace(NamedTuple):
    """What eight frames of slopes are worked out in."""

    Q: FloatArray
    U: FloatArray
    A: FloatArray
    E: FloatArray  # external wrenches
    W: FloatArray  # of `place`
    K: FloatArray  # of `kinematics`
    S: FloatArray  # of `twists`
    own: FloatArray  # of `joint_slopes`
    C: FloatArray  # of `torque_slopes`, as is the next
    out: FloatArray
    state: ComplexJoint


@room
def slope_space(n, n_q, n_u, rows, own_rows, C_rows):
    """Room for a tree of n nodes; of unrelated joints `out` keeps its zeros."""
    return SlopeSpace(
        np.empty((n_q, WIDTH)),
        np.empty((n_u, WIDTH)),
        np.empty((n_u, WIDTH)),
        np.zeros((6 * n, WIDTH)),
        np.zeros((rows, WIDTH)),
        np.empty((MOTION_ROWS * n, WIDTH)),
        np.zeros((6 * n_u, WIDTH)),
        np.zeros((own_rows, WIDTH)),
        np.zeros((C_rows, WIDTH)),
        np.zeros((n_u * n_q + 2 * n_u * n_u, WIDTH)),
        complex_joint(n_q, n_u, rows),
    )


@spliced
def slopes_of_block(tree, table, x, loaded, general, w, block, stop):
    """d(tau)/d(q, u, udot) of eight frames into w.out, and what `torque_slopes` leaves into w.K, w.S and w.C."""
    moving = tree.parent.size > 0
    take(x.q, block, stop, w.Q)
    take(x.u, block, stop, w.U)
    take(x.udot, block, stop, w.A)
    if loaded:
        take(x.external, block, stop, w.E)
    kinematics(tree, table, lanes(w.W), Motion(lanes(w.Q), lanes(w.U), lanes(w.A)), moving, lanes(w.K), 0)
    twists(tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
    if general:
        for lane in range(min(WIDTH, stop - block)):
            joint_slopes(tree, table, Motion(w.Q, w.U, w.A), w.state, w.own, lane)
    parts = SlopeParts(lanes(w.K), lanes(w.S), lanes(w.own), lanes(w.C))
    torque_slopes(tree, parts, Loads(lanes(w.E), loaded), lanes(w.out), 0)


@driver
def own_slope_frames(tree, table, x, own, start, stop):
    """What `joint_slopes` gives for frames start .. stop - 1 of a `SlopeFrames`, into own (frames, `own_slope_rows`).

    The GPU, which has no complex lanes, is handed this where joints are general.
    """
    n_q, n_u = x.q.shape[1], x.u.shape[1]
    w = slope_space(tree.parent.size, n_q, n_u, work_rows(tree), own_slope_rows(tree), 0)
    for block in range(start, stop, WIDTH):
        take(x.q, block, stop, w.Q)
        take(x.u, block, stop, w.U)
        take(x.udot, block, stop, w.A)
        for lane in range(min(WIDTH, stop - block)):
            joint_slopes(tree, table, Motion(w.Q, w.U, w.A), w.state, w.own, lane)
            for k in range(own.shape[1]):
                own[block + lane, k] = w.own[k, lane]


@driver
def torque_slope_frames(tree, table, x, loaded, start, stop):
    """d(tau)/d(q, u, udot) of frames start .. stop - 1 of a `SlopeFrames`."""
    n_q, n_u = x.q.shape[1], x.u.shape[1]
    w = slope_space(tree.parent.size, n_q, n_u, work_rows(tree), own_slope_rows(tree), slope_rows(tree))
    general = general_joints(tree)
    marks = np.zeros((n_u, n_q + n_u), dtype=np.int64)
    _mark_related(tree, marks)
    by_q, by_u = np.empty(n_u * n_q, dtype=np.int64), np.empty(n_u * n_u, dtype=np.int64)
    by_q, by_u = by_q[: _list_marks(marks, 0, n_q, by_q)], by_u[: _list_marks(marks, n_q, n_u, by_u)]
    for block in range(start, stop, WIDTH):
        slopes_of_block(tree, table, x, loaded, general, w, block, stop)
        _give_some(w.out, 0, by_q, x.by_q, block, stop)
        _give_some(w.out, n_u * n_q, by_u, x.by_u, block, stop)
        _give_some(w.out, n_u * n_q + n_u * n_u, by_u, x.by_udot, block, stop)
