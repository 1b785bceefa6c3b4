"""Loads of joints and their slopes over frames, with those of generalized forces beside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.scalar.choices import turn_block
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.derivatives.joint_slopes import own_slope_rows
from musculo.kernels.tree.derivatives.reaction_slopes import reaction_slopes
from musculo.kernels.tree.derivatives.torque_slope_frames import general_joints, slope_space, slopes_of_block
from musculo.kernels.tree.derivatives.torque_slopes import SlopeParts, slope_rows
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import work_rows


class ReactionFrames(NamedTuple):
    """Where loads of joints and their slopes go; frames first, all written."""

    load: FloatArray  # (frames, 6 loads) force, moment
    by_q: FloatArray  # (frames, 6 n_q loads)
    by_u: FloatArray  # (frames, 6 n_u loads)
    by_udot: FloatArray  # (frames, 6 n_u loads)


@kernel
def _turned(block, first, count, target, column, start, stop):
    """Rows first .. first + count - 1 of a block into columns of eight frames of target, eight by eight."""
    whole = count // WIDTH * WIDTH if stop - start >= WIDTH else 0
    for r in range(0, whole, WIDTH):
        turn_block(block, first + r, 0, target, start, column + r)
    for lane in range(min(WIDTH, stop - start)):
        for r in range(whole, count):
            target[start + lane, column + r] = block[first + r, lane]


@driver
def reaction_slope_frames(tree, table, x, loaded, wanted, found, start, stop):
    """d(tau)/d(q, u, udot) into a `SlopeFrames` x, and what `Sections` ask for, of frames start .. stop - 1."""
    n_q, n_u = x.q.shape[1], x.u.shape[1]
    w = slope_space(tree.parent.size, n_q, n_u, work_rows(tree), own_slope_rows(tree), slope_rows(tree))
    value, slopes = np.empty((6, WIDTH)), np.empty((6 * (n_q + 2 * n_u), WIDTH))
    general = general_joints(tree)
    for block in range(start, stop, WIDTH):
        slopes_of_block(tree, table, x, loaded, general, w, block, stop)
        give(w.out, 0, n_u * n_q, x.by_q, block, stop)
        give(w.out, n_u * n_q, n_u * n_u, x.by_u, block, stop)
        give(w.out, n_u * n_q + n_u * n_u, n_u * n_u, x.by_udot, block, stop)
        for j in range(wanted.node.size):
            parts = SlopeParts(lanes(w.K), lanes(w.S), lanes(w.own), lanes(w.C))
            reaction_slopes(tree, j, wanted, parts, loaded, lanes(value), lanes(slopes), 0)
            for lane in range(min(WIDTH, stop - block)):
                for r in range(6):
                    found.load[block + lane, 6 * j + r] = value[r, lane]
            _turned(slopes, 0, 6 * n_q, found.by_q, 6 * n_q * j, block, stop)
            _turned(slopes, 6 * n_q, 6 * n_u, found.by_u, 6 * n_u * j, block, stop)
            _turned(slopes, 6 * (n_q + n_u), 6 * n_u, found.by_udot, 6 * n_u * j, block, stop)
