"""Kernels over all frames on the CPU: eight frames a pack, blocks of frames over threads.

Public arrays have the frame first; a block of eight is turned so that the lane comes last, worked on, and turned back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.compiler.parts import driver, inline
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.aba import ARTICULATED_ROWS, PIVOT, SLOT_ROWS, ArticulatedSpace, aba, slot_row
from musculo.kernels.tree.crba import COMPOSITE_ROWS, crba
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.nodes import FORCE, MOMENT, NODE_ROWS, Loads, Motion
from musculo.kernels.tree.rnea import rnea

# Below this many frames a second thread costs more than it saves.
_FRAMES_PER_THREAD = 256
# Rows for a function of up to six coordinates: value, gradient, Hessian.
_SCRATCH_ROWS = 1 + 6 + 36


class MotionFrames(NamedTuple):
    """A motion of all coordinates, the frame first."""

    q: FloatArray  # (frames, n_q)
    u: FloatArray  # (frames, n_u)
    udot: FloatArray  # (frames, n_u)


class LoadFrames(NamedTuple):
    """`Loads` of all frames, the frame first."""

    wrench: FloatArray  # (frames, 6 n)
    acting: bool


class TorqueFrames(NamedTuple):
    """What `rnea_frames` finds, the frame first."""

    tau: FloatArray  # (frames, n_u)
    wrench: FloatArray  # (frames, 6 n) moment and force through each joint, in its node; or no rows


class ForwardFrames(NamedTuple):
    """What accelerations follow from, and where they go, the frame first."""

    q: FloatArray  # (frames, n_q)
    u: FloatArray  # (frames, n_u)
    tau: FloatArray  # (frames, n_u)
    udot: FloatArray  # (frames, n_u) read where it is prescribed, else written
    pivot: FloatArray  # (frames, n_u) how far from singular each slot is; written


@inline
def _take(source, start, stop, block):
    """Eight frames of source (frames, columns) into block (columns, WIDTH); the last frame fills what is over."""
    for lane in range(WIDTH):
        frame = min(start + lane, stop - 1)
        for column in range(source.shape[1]):
            block[column, lane] = source[frame, column]


@inline
def _give(block, first, columns, target, start, stop):
    """Rows of block from `first` on into target (frames, columns)."""
    for lane in range(min(WIDTH, stop - start)):
        for column in range(columns):
            target[start + lane, column] = block[first + column, lane]


@inline
def work_rows(tree):
    """Rows of the workspace that all kernels share."""
    return NODE_ROWS * tree.parent.size + 6 * tree.u_rows.size + _SCRATCH_ROWS


@driver
def rnea_frames(tree, table, motion, loads, found, start, stop):
    """Inverse dynamics of frames start .. stop - 1: `MotionFrames` and `LoadFrames` into `TorqueFrames`."""
    q, u, udot, n = motion.q, motion.u, motion.udot, tree.parent.size
    external, tau, wrench = loads.wrench, found.tau, found.wrench
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U, A = np.empty((q.shape[1], WIDTH)), np.empty((u.shape[1], WIDTH)), np.empty((u.shape[1], WIDTH))
    E, T = np.empty((external.shape[1], WIDTH)), np.empty((u.shape[1], WIDTH))
    for block in range(start, stop, WIDTH):
        _take(q, block, stop, Q)
        _take(u, block, stop, U)
        _take(udot, block, stop, A)
        if loads.acting:
            _take(external, block, stop, E)
        given = Motion(lanes(Q), lanes(U), lanes(A))
        rnea(tree, table, lanes(W), given, Loads(lanes(E), loads.acting), lanes(T), 0)
        _give(T, 0, u.shape[1], tau, block, stop)
        if wrench.shape[0] > 0:
            for lane in range(min(WIDTH, stop - block)):
                for i in range(n):
                    for k in range(3):
                        wrench[block + lane, 6 * i + k] = W[i * NODE_ROWS + MOMENT + k, lane]
                        wrench[block + lane, 6 * i + 3 + k] = W[i * NODE_ROWS + FORCE + k, lane]


@driver
def crba_frames(tree, table, q, mass, start, stop):
    """Mass matrices (frames, n_u n_u) of frames start .. stop - 1."""
    n_u = tree.u_rows.size
    W = np.zeros((work_rows(tree), WIDTH))
    Q = np.empty((q.shape[1], WIDTH))
    C = np.empty((COMPOSITE_ROWS * tree.parent.size, WIDTH))
    # unrelated speeds keep the zeros they start with
    M = np.zeros((n_u * n_u, WIDTH))
    for block in range(start, stop, WIDTH):
        _take(q, block, stop, Q)
        crba(tree, table, lanes(Q), lanes(W), lanes(C), lanes(M), 0)
        _give(M, 0, n_u * n_u, mass, block, stop)


@driver
def aba_frames(tree, table, frames, prescribed, loads, start, stop):
    """Forward dynamics of frames start .. stop - 1 of `ForwardFrames` under `LoadFrames`."""
    q, u, tau, udot, pivot = frames.q, frames.u, frames.tau, frames.udot, frames.pivot
    external = loads.wrench
    n_u = tree.u_rows.size
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U = np.empty((q.shape[1], WIDTH)), np.empty((n_u, WIDTH))
    T, D, E = np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH)), np.empty((external.shape[1], WIDTH))
    A = np.ones((ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * n_u, WIDTH))
    for block in range(start, stop, WIDTH):
        _take(q, block, stop, Q)
        _take(u, block, stop, U)
        _take(tau, block, stop, T)
        _take(udot, block, stop, D)
        if loads.acting:
            _take(external, block, stop, E)
        space, given = ArticulatedSpace(lanes(W), lanes(A)), Motion(lanes(Q), lanes(U), lanes(D))
        aba(tree, table, space, given, lanes(T), prescribed, Loads(lanes(E), loads.acting), 0)
        _give(D, 0, n_u, udot, block, stop)
        for lane in range(min(WIDTH, stop - block)):
            for slot in range(n_u):
                pivot[block + lane, slot] = A[slot_row(tree, slot) + PIVOT, lane]


@driver
def kinematics_frames(tree, table, given, moving, motion, columns, start, stop):
    """Motion (frames, MOTION_ROWS n) of all nodes and, unless empty, twist columns (frames, 6 n_u).

    given: `MotionFrames`; speeds and their derivatives are read only if `moving`.
    """
    q, u, udot = given.q, given.u, given.udot
    n_u = tree.u_rows.size
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U, A = np.empty((q.shape[1], WIDTH)), np.zeros((n_u, WIDTH)), np.zeros((n_u, WIDTH))
    K, S = np.empty((MOTION_ROWS * tree.parent.size, WIDTH)), np.zeros((6 * n_u, WIDTH))
    for block in range(start, stop, WIDTH):
        _take(q, block, stop, Q)
        if moving:
            _take(u, block, stop, U)
            _take(udot, block, stop, A)
        kinematics(tree, table, lanes(W), Motion(lanes(Q), lanes(U), lanes(A)), moving, lanes(K), 0)
        _give(K, 0, K.shape[0], motion, block, stop)
        if columns.shape[0] > 0:
            twists(tree, lanes(W), lanes(K), lanes(S), 0)
            _give(S, 0, 6 * n_u, columns, block, stop)


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # a pool's threads do not survive a fork, so each process has its own
    return ThreadPoolExecutor(threads, thread_name_prefix=f"musculo-{process}")


_cores = cache(os.cpu_count)


def over_frames(run: Callable[..., Any], arguments: tuple[Any, ...], frames: int, threads: int | None = None) -> None:
    """Call `run(*arguments, start, stop)` over all frames, in as many threads as pay (at most `threads`)."""
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of 1 or more, or None for all cores")
    limit = threads if threads is not None else (_cores() or 1)
    n = max(1, min(limit, frames // _FRAMES_PER_THREAD))
    if n == 1:
        run(*arguments, 0, frames)
        return
    edges = [frames * k // n // WIDTH * WIDTH for k in range(n)] + [frames]
    list(_pool(n, os.getpid()).map(lambda k: run(*arguments, edges[k], edges[k + 1]), range(n)))
