"""Derivatives of moment arms of all paths over all frames on the CPU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import driver, room
from musculo.kernels.paths.moment_arm_slopes import arm_slopes, wrap_slopes
from musculo.kernels.paths.path_arms import moment_arms
from musculo.kernels.paths.path_points import ENTRY_ROWS, TAG_ROWS, active_points, first_entry
from musculo.kernels.tree.derivatives.pose_slopes import pose_slopes
from musculo.kernels.tree.tree_frames import work_rows
from musculo.kernels.wrapping.geodesic.taut_path_slopes import slope_rows
from musculo.kernels.wrapping.rules.obstacles import OBSTACLE_TAGS
from musculo.kernels.wrapping.rules.wrap_geodesic import geodesic_rows, most_wraps


class SlopeWork(NamedTuple):
    """Room to work in, as the kernels that are called with it say."""

    C: NDArray[np.float64]
    I: NDArray[np.int64]
    counts: NDArray[np.int64]
    S: NDArray[np.float64]
    V: NDArray[np.float64]
    D: NDArray[np.float64]
    T: NDArray[np.float64]
    column_slopes: NDArray[np.float64]
    X: NDArray[np.complex128]
    U: NDArray[np.complex128]
    W: NDArray[np.complex128]


@room
def slope_work(tree, paths, coordinates, n_q, n_u):
    """Room for one lane."""
    n_paths = paths.first_point.size - 1
    entries, most, widest = first_entry(paths, n_paths), most_wraps(paths), 0
    for k in range(n_paths):
        widest = max(widest, coordinates.first[k + 1] - coordinates.first[k])
    return SlopeWork(
        np.zeros((ENTRY_ROWS * entries + geodesic_rows(most), 1)),
        np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64),
        np.zeros((n_paths, 1), dtype=np.int64),
        np.zeros((6 * paths.slot_node.size, 1)),
        np.zeros((slope_rows(most, widest), 1)),
        np.zeros((6 * coordinates.moved.size, 1)),
        np.zeros((6 * n_q, 1)),
        np.zeros((6 * n_u * n_q, 1)),
        np.zeros((n_q, 1), dtype=np.complex128),
        np.zeros((n_u, 1), dtype=np.complex128),
        np.zeros((work_rows(tree), 1), dtype=np.complex128),
    )


@driver
def moment_arm_slope_frames(
    tree, table, paths, path_table, carriers, coordinates, q, motion, columns, arms, slopes, status, exact, start, stop
):
    """Frames start .. stop - 1 of arrays with the frame first.

    Paths whose status is UNFINISHED then are for `second_pass_slope_frames`.

    Args:
        table, path_table: functions of the joints, of the moving points. motion, columns: of `kinematics` and `twists`.
        arms: (frames, paths n_u), written. slopes: (frames, paths n_u n_q), zero at first. status, exact: written.
    """
    n_q, n_u = q.shape[1], columns.shape[1] // 6
    w = slope_work(tree, paths, coordinates, n_q, n_u)
    for f in range(start, stop):
        Q, K, Y = q[f : f + 1].T, motion[f : f + 1].T, columns[f : f + 1].T
        out, state, good = slopes[f : f + 1].T, status[f : f + 1].T, exact[f : f + 1].T
        pose_slopes(tree, table, carriers, Q, K, Y, w.X, w.U, w.W, w.T, w.column_slopes, 0)
        active_points(paths, path_table, Q, K, False, w.C, w.I, w.counts, 0)
        w.S[:] = 0.0
        wrap_slopes(
            paths, coordinates, path_table, Q, K, w.T, w.C, w.I, w.counts, w.S, state, w.V, w.D, out, n_u, good, 0
        )
        moment_arms(paths, path_table, Q, K, Y, False, w.C, w.I, w.counts, w.S, arms[f : f + 1].T, 0)
        arm_slopes(paths, coordinates, Y, w.column_slopes, w.S, w.D, out, n_q, 0)
