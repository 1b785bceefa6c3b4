"""Paths that are functions of coordinates over all frames on the CPU."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.paths.fitted_path import fitted_paths


@driver
def fitted_path_frames(fitted, table, q, length, arms, start, stop):
    """Frames start .. stop - 1 of q (frames, n): rows of these paths in length (frames, paths) and arms (frames,
    paths n_u); moment arms of coordinates that a path does not have are zero."""
    n_u = arms.shape[1] // length.shape[1]
    M = np.empty((fitted.rows[0], 1))
    for f in range(start, stop):
        for i in range(fitted.path.size):
            for j in range(fitted.path[i] * n_u, (fitted.path[i] + 1) * n_u):
                arms[f, j] = 0.0
        fitted_paths(fitted, table, q[f : f + 1].T, n_u, M, length[f : f + 1].T, arms[f : f + 1].T, 0)
