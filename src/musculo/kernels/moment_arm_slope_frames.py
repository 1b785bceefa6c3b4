"""Derivatives of moment arms of all paths over all frames on the CPU."""

from __future__ import annotations

import numpy as np

from musculo.kernels.frames import work_rows
from musculo.kernels.geodesic_slopes import slope_rows
from musculo.kernels.jit import driver
from musculo.kernels.moment_arm_slopes import arm_slopes, wrap_slopes
from musculo.kernels.path import ENTRY_ROWS, TAG_ROWS, active_points, first_entry
from musculo.kernels.path_arms import moment_arms
from musculo.kernels.pose_slopes import pose_slopes
from musculo.kernels.string_stretch import string_work
from musculo.kernels.wrap_geodesic import geodesic_rows, most_wraps
from musculo.kernels.wrap_obstacles import OBSTACLE_TAGS


@driver
def moment_arm_slope_frames(
    tree, table, paths, path_table, carriers, coordinates, q, motion, columns, arms, slopes, status, exact, start, stop
):
    """Frames start .. stop - 1 of arrays with the frame first.

    Args:
        table, path_table: functions of the joints, of the moving points. motion, columns: of `kinematics` and `twists`.
        arms: (frames, paths n_u), written. slopes: (frames, paths n_u n_q), zero at first. status, exact: written.
    """
    n_q, n_u, n_paths = q.shape[1], columns.shape[1] // 6, paths.first_point.size - 1
    entries, most, widest = first_entry(paths, n_paths), most_wraps(paths), 0
    for k in range(n_paths):
        widest = max(widest, coordinates.first[k + 1] - coordinates.first[k])
    C = np.zeros((ENTRY_ROWS * entries + geodesic_rows(most), 1))
    I = np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64)
    S, V = np.zeros((6 * paths.slot_node.size, 1)), np.zeros((slope_rows(most, widest), 1))
    D, T = np.zeros((6 * coordinates.moved.size, 1)), np.zeros((6 * n_q, 1))
    column_slopes = np.zeros((6 * n_u * n_q, 1))
    X, U = np.zeros((n_q, 1), dtype=np.complex128), np.zeros((n_u, 1), dtype=np.complex128)
    W = np.zeros((work_rows(tree), 1), dtype=np.complex128)
    counts = np.zeros((n_paths, 1), dtype=np.int64)
    strings = string_work(most)
    for f in range(start, stop):
        Q, K, Y = q[f : f + 1].T, motion[f : f + 1].T, columns[f : f + 1].T
        out, state, good = slopes[f : f + 1].T, status[f : f + 1].T, exact[f : f + 1].T
        pose_slopes(tree, table, carriers, Q, K, Y, X, U, W, T, column_slopes, 0)
        active_points(paths, path_table, Q, K, False, C, I, counts, 0)
        S[:] = 0.0
        wrap_slopes(paths, coordinates, path_table, Q, K, T, C, I, counts, S, state, V, D, out, n_u, good, strings, 0)
        moment_arms(paths, path_table, Q, K, Y, False, C, I, counts, S, arms[f : f + 1].T, 0)
        arm_slopes(paths, coordinates, Y, column_slopes, S, D, out, n_q, 0)
