"""Paths that are functions of coordinates over all frames on the CPU, eight frames at once."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.paths.fitted_path import BLOCK, LENGTH, fitted_paths, function_paths, polynomial_paths
from musculo.kernels.scalar.packed import WIDTH, lanes


@driver
def fitted_path_pose(fitted, table, q, n_u, length, arms):
    """One pose q (n,): lengths (paths,) and moment arms (paths, n_u) of these paths; other rows stay as they are."""
    M = np.empty((fitted.rows[0], 1))
    n = length.size
    fitted_paths(fitted, table, q.reshape((q.size, 1)), n_u, M, length.reshape((n, 1)), arms.reshape((n * n_u, 1)), 0)


@driver
def fitted_path_frames(fitted, table, q, length, arms, start, stop):
    """Frames start .. stop - 1 of q (frames, n): rows of these paths in length (frames, paths) and arms (frames,
    paths n_u); moment arms of coordinates that a path does not have are set to zero."""
    paths = length.shape[1]
    n_u = arms.shape[1] // paths
    M = np.empty((fitted.rows[0], WIDTH))
    W = np.empty((fitted.rows[0], 1))
    Q, L, R = np.empty((q.shape[1], WIDTH)), np.empty((paths, WIDTH)), np.zeros((paths * n_u, WIDTH))
    for block in range(start, stop, WIDTH):
        for lane in range(WIDTH):
            frame = min(block + lane, stop - 1)
            for column in range(q.shape[1]):
                Q[column, lane] = q[frame, column]
        polynomial_paths(fitted, lanes(Q), n_u, lanes(M), lanes(L), lanes(R), 0)
        for lane in range(min(WIDTH, stop - block)):
            frame = block + lane
            for i in range(fitted.path.size):
                for j in range(fitted.path[i] * n_u, (fitted.path[i] + 1) * n_u):
                    arms[frame, j] = 0.0
            for column in range(fitted.column_path.size):
                path, speed = fitted.column_path[column], fitted.column_speed[column]
                if speed >= 0:
                    arms[frame, path * n_u + speed] = R[path * n_u + speed, lane]
                elif speed == LENGTH:
                    length[frame, path] = L[path, lane]
            if fitted.function.size > 0:
                x, l, r = q[frame : frame + 1].T, length[frame : frame + 1].T, arms[frame : frame + 1].T
                function_paths(fitted, table, x, n_u, W, l, r, 0)
