"""Loops over frames for polylines over solids that are given, for tests and benchmarks."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.wrapping.geodesic.obstacle_workspace import OBSTACLE_ROWS
from musculo.kernels.wrapping.geodesic.surface_shape import shape_of
from musculo.kernels.wrapping.polyline.polyline_search import SHORTEST, shortest_polyline
from musculo.kernels.wrapping.polyline.polyline_segment import polyline_work


@driver
def polyline_frames(surfaces, starts, ends, X, hold, known, length, pull, solid):
    """`shortest_polyline` for every frame over all surfaces: starts, ends (frames, 3); X (frames, n, 12) poses; hold
    (n, 2) how sides are constrained, and turns; known (frames,) lengths to be less than, zero for any. Out: length
    (frames,), pull (frames, 2, 3) and solid (frames, n, OBSTACLE_ROWS)."""
    n = X.shape[1]
    w = polyline_work(max(n, 2))
    for i in range(starts.shape[0]):
        for k in range(n):
            shape = shape_of(surfaces, k, 1.0)
            w.form[k, 0], w.form[k, 1], w.form[k, 2] = shape[0], shape[1], shape[2]
            w.form[k, 3], w.form[k, 4], w.form[k, 5] = shape[3], shape[4], shape[5]
            w.pose[k] = X[i, k]
            w.hold[k] = hold[k]
        P, Q = (starts[i, 0], starts[i, 1], starts[i, 2]), (ends[i, 0], ends[i, 1], ends[i, 2])
        length[i] = shortest_polyline(w, n, P, Q, 0, known[i], 1e300, 0.0)
        for end in range(2):
            for j in range(3):
                pull[i, end, j] = w.pull[SHORTEST, end, j]
        for k in range(n):
            for r in range(OBSTACLE_ROWS):
                solid[i, k, r] = w.solid[SHORTEST, k, r]


def solve_polylines(surfaces, starts, ends, R, p, hold=None, known=None):
    """All frames at once.

    surfaces: `Surfaces`; starts, ends (frames, 3); R (frames, n, 3, 3), p (frames, n, 3); hold (n, 2), open by default;
    known (frames,): lengths of paths that are known, zero where none is shorter.
    Returns length (frames,), the forces on both ends (frames, 2, 3), rows (frames, n, OBSTACLE_ROWS) of every solid.
    """
    frames, n = p.shape[:2]
    X = np.ascontiguousarray(np.concatenate([R.reshape(frames, n, 9), p], axis=2))
    hold = np.tile([1.0, 0.0], (n, 1)) if hold is None else np.ascontiguousarray(hold, dtype=float)
    length, pull, solid = np.empty(frames), np.empty((frames, 2, 3)), np.empty((frames, n, OBSTACLE_ROWS))
    starts, ends = np.ascontiguousarray(starts, dtype=float), np.ascontiguousarray(ends, dtype=float)
    known = np.zeros(frames) if known is None else np.ascontiguousarray(known, dtype=float)
    polyline_frames(surfaces, starts, ends, X, hold, known, length, pull, solid)
    return length, pull, solid
