"""All paths of a model over all frames on the CPU: one loop a wrapping method."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.paths.path_arms import moment_arms, path_speeds
from musculo.kernels.paths.path_points import (
    ENTRY_ROWS,
    OWNER,
    PAID,
    PLACE,
    TAG_ROWS,
    active_points,
    first_entry,
    path_lengths,
)
from musculo.kernels.wrapping.opensim.opensim_wraps import WRAP_ROWS, wrap_opensim
from musculo.kernels.wrapping.rules.obstacles import OBSTACLE_TAGS
from musculo.kernels.wrapping.rules.wrap_geodesic import geodesic_rows, most_wraps, wrap_geodesic


@kernel
def keep_path(paths, k, C, I, counts, places, owners, penalty, lane):
    """Copy current path k out of the workspace: places (3 entries, lanes), owners (entries, lanes) wrap or -1, and what
    of its length is a penalty (paths, lanes)."""
    first = first_entry(paths, k)
    penalty[k, lane] = 0.0
    for e in range(first, first + counts[k, lane]):
        penalty[k, lane] += C[e * ENTRY_ROWS + PAID, lane]
        owners[e, lane] = I[e * TAG_ROWS + OWNER, lane]
        for j in range(3):
            places[3 * e + j, lane] = C[e * ENTRY_ROWS + PLACE + j, lane]


@kernel
def keep_paths(paths, C, I, counts, places, owners, penalty, lane):
    """Copy all current paths out of the workspace."""
    for k in range(paths.first_point.size - 1):
        keep_path(paths, k, C, I, counts, places, owners, penalty, lane)


@driver
def opensim_path_frames(
    paths, table, q, u, moving, motion, columns, length, speed, arms, places, owners, penalty, counts, start, stop
):
    """Frames start .. stop - 1 of arrays with the frame first, as OpenSim computes them.

    Args:
        u, speed: have one frame unless `moving`. motion, columns: of `kinematics` and `twists`.
    """
    entries = owners.shape[1]
    C = np.zeros((ENTRY_ROWS * entries + WRAP_ROWS * paths.wrap_surface.size, 1))
    I = np.zeros((TAG_ROWS * entries, 1), dtype=np.int64)
    S = np.zeros((6 * paths.slot_node.size, 1))
    for f in range(start, stop):
        Q, K, T, N = q[f : f + 1].T, motion[f : f + 1].T, columns[f : f + 1].T, counts[f : f + 1].T
        active_points(paths, table, Q, K, True, C, I, N, 0)
        wrap_opensim(paths, K, C, I, N, 0)
        path_lengths(paths, True, C, I, N, length[f : f + 1].T, 0)
        S[:] = 0.0
        moment_arms(paths, table, Q, K, T, True, C, I, N, S, arms[f : f + 1].T, 0)
        if moving:
            path_speeds(paths, table, Q, u[f : f + 1].T, K, T, C, I, N, S, speed[f : f + 1].T, 0)
        keep_paths(paths, C, I, N, places[f : f + 1].T, owners[f : f + 1].T, penalty[f : f + 1].T, 0)


@driver
def geodesic_path_frames(
    paths, table, q, motion, columns, length, arms, places, owners, penalty, counts, status, start, stop
):
    """Frames start .. stop - 1 of arrays with the frame first, by exact geodesics.

    Paths whose status is UNFINISHED then are for `second_pass_frames`.
    """
    entries = owners.shape[1]
    most = most_wraps(paths)
    C = np.zeros((ENTRY_ROWS * entries + geodesic_rows(most), 1))
    I = np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64)
    S = np.zeros((6 * paths.slot_node.size, 1))
    for f in range(start, stop):
        Q, K, T, N = q[f : f + 1].T, motion[f : f + 1].T, columns[f : f + 1].T, counts[f : f + 1].T
        active_points(paths, table, Q, K, False, C, I, N, 0)
        S[:] = 0.0
        wrap_geodesic(paths, K, C, I, N, S, status[f : f + 1].T, 0)
        path_lengths(paths, False, C, I, N, length[f : f + 1].T, 0)
        moment_arms(paths, table, Q, K, T, False, C, I, N, S, arms[f : f + 1].T, 0)
        keep_paths(paths, C, I, N, places[f : f + 1].T, owners[f : f + 1].T, penalty[f : f + 1].T, 0)
