"""What joints transmit, over frames: the recursion, and its wrenches turned to ground, in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.tree.nodes import FORCE, MOMENT, NODE_ROWS, WORLD, Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take
from musculo.kernels.tree.tree_frames import work_rows

# Rows of a node's pose in the result: R_WM row-major (9), p_WM (3).
PLACE_ROWS = 12


class OutboardFrames(NamedTuple):
    """Where the joints of a model end."""

    node: IntArray  # (joints,) that is outboard of each
    offset: FloatArray  # (joints, 3) r, from M's origin to the outboard joint frame


class TransmittedFrames(NamedTuple):
    """What is found, the frame first."""

    tau: FloatArray  # (frames, n_u)
    force: FloatArray  # (frames, 3 joints)
    moment: FloatArray  # (frames, 3 joints)
    point: FloatArray  # (frames, 3 joints)
    places: FloatArray  # (frames, PLACE_ROWS n)


@driver
def transmitted_frames(tree, table, motion, loads, joints, found, start, stop):
    """Loads of joints on what is outboard of them, of frames start .. stop - 1, in ground.

        f = R_WM f_M,   point = p_WM + R_WM r,   t = R_WM t_M - (R_WM r) x f

    Args:
        tree, table, motion, loads: as `rnea_frames`.
        joints: `OutboardFrames`. found: `TransmittedFrames`, written.
    """
    q, u, udot, node, offset = motion.q, motion.u, motion.udot, joints.node, joints.offset
    tau, force, moment, point, places = found.tau, found.force, found.moment, found.point, found.places
    n, n_u = tree.parent.size, u.shape[1]
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U, A = np.empty((q.shape[1], WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH))
    E, T = np.zeros((6 * n, WIDTH)), np.empty((n_u, WIDTH))
    # poses in ground come with external wrenches, so there always are some; no literal, which would compile once more
    always = n > 0
    for block in range(start, stop, WIDTH):
        take(q, block, stop, Q)
        take(u, block, stop, U)
        take(udot, block, stop, A)
        if loads.acting:
            take(loads.wrench, block, stop, E)
        given = Motion(lanes(Q), lanes(U), lanes(A))
        rnea(tree, table, lanes(W), given, Loads(lanes(E), always), lanes(T), 0)
        give(T, 0, n_u, tau, block, stop)
        for lane in range(min(WIDTH, stop - block)):
            frame = block + lane
            for i in range(n):
                for k in range(PLACE_ROWS):
                    places[frame, PLACE_ROWS * i + k] = W[i * NODE_ROWS + WORLD + k, lane]
            for j in range(node.size):
                b, o, out = node[j] * NODE_ROWS, PLACE_ROWS * node[j], 3 * j
                for k in range(3):
                    x, y, z = places[frame, o + 3 * k], places[frame, o + 3 * k + 1], places[frame, o + 3 * k + 2]
                    push = x * W[b + FORCE, lane] + y * W[b + FORCE + 1, lane] + z * W[b + FORCE + 2, lane]
                    turn = x * W[b + MOMENT, lane] + y * W[b + MOMENT + 1, lane] + z * W[b + MOMENT + 2, lane]
                    force[frame, out + k] = push
                    moment[frame, out + k] = turn
                    point[frame, out + k] = x * offset[j, 0] + y * offset[j, 1] + z * offset[j, 2]
                a, c, e = point[frame, out], point[frame, out + 1], point[frame, out + 2]
                f, g, h = force[frame, out], force[frame, out + 1], force[frame, out + 2]
                moment[frame, out] -= c * h - e * g
                moment[frame, out + 1] -= e * f - a * h
                moment[frame, out + 2] -= a * g - c * f
                for k in range(3):
                    point[frame, out + k] += places[frame, o + 9 + k]


@driver
def pulled_frames(tension, wrench, row_path, row_node, total, start, stop):
    """Add what paths do to the wrenches on nodes, force before moment, of frames start .. stop - 1.

    Args:
        tension: (frames, paths). wrench: (frames, rows, 6) moment and force of unit tension.
        row_path, row_node: (rows,) whose and on what. total: (frames, 6 nodes), added to.
    """
    for frame in range(start, stop):
        for r in range(row_path.size):
            pull, o = tension[frame, row_path[r]], 6 * row_node[r]
            if pull != 0.0:
                for k in range(3):
                    total[frame, o + k] += pull * wrench[frame, r, 3 + k]
                    total[frame, o + 3 + k] += pull * wrench[frame, r, k]
