"""All paths of a model over all frames on the CPU: one loop a wrapping method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.paths.path_arms import moment_arms, path_speeds
from musculo.kernels.paths.path_points import (
    ENTRY_ROWS,
    OWNER,
    PAID,
    PLACE,
    TAG_ROWS,
    CurrentPaths,
    PosedPaths,
    active_points,
    first_entry,
    path_lengths,
)
from musculo.kernels.wrapping.geodesic.obstacle_workspace import OBSTACLE_TAGS, geodesic_rows
from musculo.kernels.wrapping.opensim.opensim_wraps import WRAP_ROWS, wrap_opensim
from musculo.kernels.wrapping.rules.wrap_geodesic import most_wraps, wrap_geodesic


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


class SpeedFrames(NamedTuple):
    """Speeds of a model and lengthening speeds, which are written; one frame of each unless they are asked for."""

    u: FloatArray  # (frames, n_u)
    asked: bool
    speed: FloatArray  # (frames, paths)


@kernel
def keep_path(paths, k, now, found, f):
    """Copy current path k into frame f: its points, which wraps own them, and what of its length is a penalty."""
    first = first_entry(paths, k)
    found.penalty[f, k] = 0.0
    for e in range(first, first + now.counts[k, 0]):
        found.penalty[f, k] += now.C[e * ENTRY_ROWS + PAID, 0]
        found.owners[f, e] = now.I[e * TAG_ROWS + OWNER, 0]
        for j in range(3):
            found.places[f, 3 * e + j] = now.C[e * ENTRY_ROWS + PLACE + j, 0]


@kernel
def _keep_paths(paths, now, found, f):
    """Copy all current paths into frame f."""
    for k in range(paths.first_point.size - 1):
        keep_path(paths, k, now, found, f)


@driver
def opensim_path_frames(paths, table, poses, speeds, found, start, stop):
    """Frames start .. stop - 1 of arrays with the frame first, as OpenSim computes them.

    Args:
        poses: `PoseFrames`. speeds: `SpeedFrames`. found: `PathFrames`, written but for the status.
    """
    entries = found.owners.shape[1]
    C = np.zeros((ENTRY_ROWS * entries + WRAP_ROWS * paths.wrap_surface.size, 1))
    I = np.zeros((TAG_ROWS * entries, 1), dtype=np.int64)
    S = np.zeros((6 * paths.slot_node.size, 1))
    for f in range(start, stop):
        Q, K, T = poses.q[f : f + 1].T, poses.motion[f : f + 1].T, poses.columns[f : f + 1].T
        N = found.counts[f : f + 1].T
        x, now = PosedPaths(paths, table, Q, K), CurrentPaths(C, I, N, S)
        active_points(x, now, True, 0)
        wrap_opensim(paths, K, C, I, N, 0)
        path_lengths(paths, True, C, I, N, found.length[f : f + 1].T, 0)
        S[:] = 0.0
        moment_arms(x, now, T, True, found.arms[f : f + 1].T, 0)
        if speeds.asked:
            path_speeds(x, now, T, speeds.u[f : f + 1].T, speeds.speed[f : f + 1].T, 0)
        _keep_paths(paths, now, found, f)


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
        x, now = PosedPaths(paths, table, Q, K), CurrentPaths(C, I, N, S)
        active_points(x, now, False, 0)
        S[:] = 0.0
        wrap_geodesic(paths, K, C, I, N, S, found.status[f : f + 1].T, 0)
        path_lengths(paths, False, C, I, N, found.length[f : f + 1].T, 0)
        moment_arms(x, now, T, False, found.arms[f : f + 1].T, 0)
        _keep_paths(paths, now, found, f)
