"""Loads of joints and their slopes over frames, with those of generalized forces beside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.derivatives.joint_slopes import complex_joint, joint_slopes, own_slope_rows
from musculo.kernels.tree.derivatives.reaction_slopes import reaction_slopes
from musculo.kernels.tree.derivatives.torque_slope_frames import _general as general_joints
from musculo.kernels.tree.derivatives.torque_slopes import slope_rows, torque_slopes
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take
from musculo.kernels.tree.tree_frames import work_rows


class ReactionFrames(NamedTuple):
    """Where loads of joints and their slopes go; frames first, all written."""

    load: FloatArray  # (frames, 6 loads) force, moment
    by_q: FloatArray  # (frames, 6 n_q loads)
    by_u: FloatArray  # (frames, 6 n_u loads)
    by_udot: FloatArray  # (frames, 6 n_u loads)


@driver
def reaction_slope_frames(tree, table, x, loaded, wanted, found, start, stop):
    """d(tau)/d(q, u, udot) into a `SlopeFrames` x, and what `Sections` ask for, of frames start .. stop - 1."""
    n, n_q, n_u = tree.parent.size, x.q.shape[1], x.u.shape[1]
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U, A = np.empty((n_q, WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH))
    E, K, S = np.zeros((6 * n, WIDTH)), np.empty((MOTION_ROWS * n, WIDTH)), np.zeros((6 * n_u, WIDTH))
    own, C = np.zeros((own_slope_rows(tree), WIDTH)), np.zeros((slope_rows(tree), WIDTH))
    out = np.zeros((n_u * n_q + 2 * n_u * n_u, WIDTH))
    value, slopes = np.empty((6, WIDTH)), np.empty((6 * (n_q + 2 * n_u), WIDTH))
    general, moving = general_joints(tree), n > 0
    state = complex_joint(n_q, n_u, work_rows(tree))
    for block in range(start, stop, WIDTH):
        take(x.q, block, stop, Q)
        take(x.u, block, stop, U)
        take(x.udot, block, stop, A)
        if loaded:
            take(x.external, block, stop, E)
        kinematics(tree, table, lanes(Q), lanes(U), lanes(A), moving, lanes(W), lanes(K), 0)
        twists(tree, lanes(W), lanes(K), lanes(S), 0)
        if general:
            for lane in range(min(WIDTH, stop - block)):
                joint_slopes(tree, table, Q, U, A, state, own, lane)
        torque_slopes(tree, lanes(K), lanes(S), lanes(own), lanes(E), loaded, lanes(C), lanes(out), 0)
        give(out, 0, n_u * n_q, x.by_q, block, stop)
        give(out, n_u * n_q, n_u * n_u, x.by_u, block, stop)
        give(out, n_u * n_q + n_u * n_u, n_u * n_u, x.by_udot, block, stop)
        for j in range(wanted.node.size):
            reaction_slopes(tree, j, wanted, lanes(K), lanes(S), lanes(C), loaded, lanes(value), lanes(slopes), 0)
            for lane in range(min(WIDTH, stop - block)):
                frame = block + lane
                for r in range(6):
                    found.load[frame, 6 * j + r] = value[r, lane]
                for r in range(6 * n_q):
                    found.by_q[frame, 6 * n_q * j + r] = slopes[r, lane]
                for r in range(6 * n_u):
                    found.by_u[frame, 6 * n_u * j + r] = slopes[6 * n_q + r, lane]
                    found.by_udot[frame, 6 * n_u * j + r] = slopes[6 * (n_q + n_u) + r, lane]
