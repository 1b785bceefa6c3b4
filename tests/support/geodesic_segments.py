"""Loops over frames for segments whose obstacles and ends are given, for tests and benchmarks."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.wrapping.geodesic.taut_path import RESULT_ROWS, SegmentRows, geodesic_segment, work_rows


@driver
def segment_frames(surfaces, obstacles, starts, ends, X, G, length, status):
    """`geodesic_segment` for every frame over `obstacles` (n, 1).

    starts, ends (frames, 3); X (frames, 12 n, 1) poses; G (frames, RESULT_ROWS n, 1) in and out, as the kernel has
    them; length, status (frames,) out.
    """
    n = obstacles.shape[0]
    W = np.empty((work_rows(n), 1))
    for i in range(starts.shape[0]):
        P, Q = (starts[i, 0], starts[i, 1], starts[i, 2]), (ends[i, 0], ends[i, 1], ends[i, 2])
        length[i], status[i] = geodesic_segment(surfaces, SegmentRows(obstacles, 0, X[i], 0, G[i], 0, W, 0), n, P, Q, 0)


def solve_segments(surfaces, starts, ends, R, p):
    """All frames at once.

    surfaces: `Surfaces` in the path's order; starts, ends (frames, 3); R (frames, n, 3, 3), p (frames, n, 3).
    Returns length (frames,), status (frames,), G (frames, n, RESULT_ROWS).
    """
    frames, n = p.shape[:2]
    X = np.concatenate([R.reshape(frames, n, 9), p], axis=2).reshape(frames, 12 * n, 1)
    length, status = np.empty(frames), np.empty(frames, dtype=np.int64)
    rows = np.zeros((frames, n * RESULT_ROWS, 1))
    ends, starts = np.ascontiguousarray(ends, dtype=float), np.ascontiguousarray(starts, dtype=float)
    segment_frames(surfaces, np.arange(n).reshape(n, 1), starts, ends, np.ascontiguousarray(X), rows, length, status)
    return length, status, rows.reshape(frames, n, RESULT_ROWS)
