"""All paths of a model over all frames on the CPU: one loop a wrapping method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, inline, kernel
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


class PoseFrames(NamedTuple):
    """Poses of a model, the frame first."""

    q: FloatArray  # (frames, n_q)
    motion: FloatArray  # (frames, MOTION_ROWS nodes) of `kinematics`
    columns: FloatArray  # (frames, 6 n_u) of `twists`


class PathFrames(NamedTuple):
    """What is found of all paths, the frame first."""

    length: FloatArray  # (frames, paths)
    arms: FloatArray  # (frames, paths n_u)
    places: FloatArray  # (frames, 3 entries) of the points of the paths
    owners: NDArray[np.int32]  # (frames, entries) wrap or -1
    penalty: FloatArray  # (frames, paths) part of the length that is a penalty
    counts: IntArray  # (frames, paths) entries that are used
    status: NDArray[np.int8]  # (frames, paths)


@inline
def keep_paths_of_frame(paths, C, I, N, found, f):
    """Copy the current paths into frame f."""
    keep_paths(paths, C, I, N, found.places[f : f + 1].T, found.owners[f : f + 1].T, found.penalty[f : f + 1].T, 0)


@driver
def opensim_path_frames(paths, table, poses, u, moving, found, speed, start, stop):
    """Frames start .. stop - 1 of arrays with the frame first, as OpenSim computes them.

    Args:
        poses: `PoseFrames`. found: `PathFrames`, written but for the status. u, speed: have one frame unless `moving`.
    """
    entries = found.owners.shape[1]
    C = np.zeros((ENTRY_ROWS * entries + WRAP_ROWS * paths.wrap_surface.size, 1))
    I = np.zeros((TAG_ROWS * entries, 1), dtype=np.int64)
    S = np.zeros((6 * paths.slot_node.size, 1))
    for f in range(start, stop):
        Q, K, T = poses.q[f : f + 1].T, poses.motion[f : f + 1].T, poses.columns[f : f + 1].T
        N = found.counts[f : f + 1].T
        active_points(paths, table, Q, K, True, C, I, N, 0)
        wrap_opensim(paths, K, C, I, N, 0)
        path_lengths(paths, True, C, I, N, found.length[f : f + 1].T, 0)
        S[:] = 0.0
        moment_arms(paths, table, Q, K, T, True, C, I, N, S, found.arms[f : f + 1].T, 0)
        if moving:
            path_speeds(paths, table, Q, u[f : f + 1].T, K, T, C, I, N, S, speed[f : f + 1].T, 0)
        keep_paths_of_frame(paths, C, I, N, found, f)


@driver
def geodesic_path_frames(paths, table, poses, found, start, stop):
    """Frames start .. stop - 1 of `PoseFrames`, into `PathFrames`, by exact geodesics.

    Paths whose status is UNFINISHED then are for `second_pass_frames`.
    """
    entries = found.owners.shape[1]
    most = most_wraps(paths)
    C = np.zeros((ENTRY_ROWS * entries + geodesic_rows(most), 1))
    I = np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64)
    S = np.zeros((6 * paths.slot_node.size, 1))
    for f in range(start, stop):
        Q, K, T = poses.q[f : f + 1].T, poses.motion[f : f + 1].T, poses.columns[f : f + 1].T
        N = found.counts[f : f + 1].T
        active_points(paths, table, Q, K, False, C, I, N, 0)
        S[:] = 0.0
        wrap_geodesic(paths, K, C, I, N, S, found.status[f : f + 1].T, 0)
        path_lengths(paths, False, C, I, N, found.length[f : f + 1].T, 0)
        moment_arms(paths, table, Q, K, T, False, C, I, N, S, found.arms[f : f + 1].T, 0)
        keep_paths_of_frame(paths, C, I, N, found, f)
