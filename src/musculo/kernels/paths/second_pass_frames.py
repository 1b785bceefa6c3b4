"""The paths that `geodesic_path_frames` leaves unfinished: compiled where a model first comes to one."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.paths.path_arms import arms_of_path
from musculo.kernels.paths.path_frames import keep_path
from musculo.kernels.paths.path_points import (
    ENTRY_ROWS,
    TAG_ROWS,
    CurrentPaths,
    PosedPaths,
    first_entry,
    list_points,
    path_length,
)
from musculo.kernels.wrapping.geodesic.obstacle_workspace import OBSTACLE_TAGS, Segment, geodesic_rows
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.kernels.wrapping.polyline.polyline_second_pass import finish_path
from musculo.kernels.wrapping.polyline.polyline_segment import polyline_work
from musculo.kernels.wrapping.rules.wrap_geodesic import Wrapped, most_wraps


@driver
def second_pass_frames(paths, table, poses, found, frames, start, stop):
    """Paths whose status is UNFINISHED in frames[start] .. frames[stop - 1]; arrays as of `geodesic_path_frames`."""
    entries = found.owners.shape[1]
    most = most_wraps(paths)
    C = np.zeros((ENTRY_ROWS * entries + geodesic_rows(most), 1))
    I = np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64)
    S = np.zeros((6 * paths.slot_node.size, 1))
    segment, polylines = Segment(C, I, ENTRY_ROWS * entries, TAG_ROWS * entries, most), polyline_work(most)
    for i in range(start, stop):
        f = frames[i]
        Q, K, T = poses.q[f : f + 1].T, poses.motion[f : f + 1].T, poses.columns[f : f + 1].T
        N, state = found.counts[f : f + 1].T, found.status[f : f + 1].T
        L, R = found.length[f : f + 1].T, found.arms[f : f + 1].T
        x, now, out = PosedPaths(paths, table, Q, K), CurrentPaths(C, I, N, S), Wrapped(S, state)
        for k in range(found.status.shape[1]):
            if state[k, 0] != UNFINISHED:
                continue
            N[k, 0] = list_points(x, now, k, False, 0)
            S[6 * paths.first_slot[k] : 6 * paths.first_slot[k + 1]] = 0.0
            finish_path(paths, k, K, segment, N, out, polylines, 0)
            L[k, 0] = path_length(paths, first_entry(paths, k), N[k, 0], False, C, I, 0)
            arms_of_path(x, now, k, T, False, R, 0)
            keep_path(paths, k, now, found, f)
