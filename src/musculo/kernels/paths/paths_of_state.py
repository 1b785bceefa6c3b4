"""Lengths, lengthening speeds and moment arms of all paths in one pose, for integrators.

Each is called as a force of one state is, (t, q, u, x, ...), with the room that holds the poses of the nodes and takes
what is found: so whoever needs it does not wait for the others to be compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel, room
from musculo.kernels.paths.fitted_path import fitted_paths, fitted_speeds
from musculo.kernels.paths.path_arms import arms_of_path, moment_arms, path_speeds
from musculo.kernels.paths.path_points import (
    ENTRY_ROWS,
    TAG_ROWS,
    CurrentPaths,
    PosedPaths,
    active_points,
    first_entry,
    list_points,
    path_length,
    path_lengths,
)
from musculo.kernels.wrapping.geodesic.obstacle_workspace import OBSTACLE_TAGS, geodesic_rows
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.kernels.wrapping.opensim.opensim_wraps import WRAP_ROWS, wrap_opensim
from musculo.kernels.wrapping.polyline.polyline_second_pass import finish_path
from musculo.kernels.wrapping.rules.wrap_geodesic import Wrapped, most_wraps, segment_room, wrap_geodesic


class PathRoom(NamedTuple):
    """Poses of the nodes, which are given, and what is found of the paths."""

    Q: FloatArray  # (n, 1)
    U: FloatArray  # (n_u, 1)
    motion: FloatArray  # (MOTION_ROWS nodes, 1)
    columns: FloatArray  # (6 n_u, 1) from the kernel `twists`
    length: FloatArray  # (paths, 1)
    speed: FloatArray  # (paths, 1)
    arms: FloatArray  # (paths n_u, 1)
    status: Any  # (paths, 1)
    left: IntArray  # its last entry is raised where a path is left to the second pass
    later: IntArray  # (paths,) 1 where a path begins in the second pass
    N: IntArray  # (paths, 1) entries of each current path
    C: FloatArray
    I: IntArray
    S: FloatArray


@room
def path_scratch(paths):
    """The last four arrays of a `PathRoom`, for every way of wrapping."""
    entries = paths.path_entry[paths.path_entry.size - 1]
    most = most_wraps(paths)
    rows = max(geodesic_rows(most), WRAP_ROWS * paths.wrap_surface.size)
    return (
        np.zeros((paths.first_point.size - 1, 1), dtype=np.int64),
        np.zeros((ENTRY_ROWS * entries + rows, 1)),
        np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64),
        np.zeros((6 * paths.slot_node.size, 1)),
    )


@kernel
def _speeds(r, u):
    """ldot = -sum_j r_j u_j of all paths."""
    n_u = u.size
    for k in range(r.length.shape[0]):
        total = 0.0
        for j in range(n_u):
            total -= r.arms[k * n_u + j, 0] * u[j]
        r.speed[k, 0] = total


@kernel
def geodesic_paths(t, q, u, x, paths, table, r, alone):
    """All paths by exact geodesics; r.left is raised where one needs the second pass, if this is `alone`."""
    for k in range(r.length.shape[0]):
        r.status[k, 0] = UNFINISHED if r.later[k] == 1 else 0
    posed, now = PosedPaths(paths, table, r.Q, r.motion), CurrentPaths(r.C, r.I, r.N, r.S)
    active_points(posed, now, False, 0)
    r.S[:] = 0.0
    wrap_geodesic(paths, r.motion, r.C, r.I, r.N, r.S, r.status, 0)
    path_lengths(paths, False, r.C, r.I, r.N, r.length, 0)
    moment_arms(posed, now, r.columns, False, r.arms, 0)
    _speeds(r, u)
    last = r.left.size - 1
    r.left[last] = 0
    if alone != 0:
        for k in range(r.length.shape[0]):
            if r.status[k, 0] == UNFINISHED:
                r.left[last] = 1


@kernel
def second_pass_paths(t, q, u, x, paths, table, r, polylines):
    """The paths that `geodesic_paths` leaves, in the same room. polylines: of `polyline_work(most_wraps(paths))`."""
    found, s, out = False, segment_room(paths, r.C, r.I), Wrapped(r.S, r.status)
    posed, now = PosedPaths(paths, table, r.Q, r.motion), CurrentPaths(r.C, r.I, r.N, r.S)
    for k in range(r.length.shape[0]):
        if r.status[k, 0] != UNFINISHED:
            continue
        found = True
        r.N[k, 0] = list_points(posed, now, k, False, 0)
        for i in range(6 * paths.first_slot[k], 6 * paths.first_slot[k + 1]):
            r.S[i, 0] = 0.0
        finish_path(paths, k, r.motion, s, r.N, out, polylines, 0)
        r.length[k, 0] = path_length(paths, first_entry(paths, k), r.N[k, 0], False, r.C, r.I, 0)
        arms_of_path(posed, now, k, r.columns, False, r.arms, 0)
    if found:
        _speeds(r, u)


@kernel
def opensim_paths(t, q, u, x, paths, table, r):
    """All paths as OpenSim lays them."""
    posed, now = PosedPaths(paths, table, r.Q, r.motion), CurrentPaths(r.C, r.I, r.N, r.S)
    active_points(posed, now, True, 0)
    wrap_opensim(paths, r.motion, r.C, r.I, r.N, 0)
    path_lengths(paths, True, r.C, r.I, r.N, r.length, 0)
    r.S[:] = 0.0
    moment_arms(posed, now, r.columns, True, r.arms, 0)
    path_speeds(posed, now, r.columns, r.U, r.speed, 0)
    r.left[r.left.size - 1] = 0


@kernel
def function_paths_of_state(t, q, u, x, fitted, table, r, work):
    """Those paths that are functions of coordinates, after the others; of the room Q, U, length, speed and arms.

    Args:
        work: (fitted.rows[0], 1).
    """
    fitted_paths(fitted, table, r.Q, u.size, work, r.length, r.arms, 0)
    fitted_speeds(fitted, u.size, r.U, r.arms, r.speed, 0)
