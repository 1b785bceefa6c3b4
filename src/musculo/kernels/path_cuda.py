"""Lengths and moment arms of all paths on a GPU: one thread a frame."""

from __future__ import annotations

import types
from functools import cache
from typing import Any

import numpy as np

from musculo.kernels.cuda import _cuda, _device_function, _over_batches, to_device
from musculo.kernels.frames import work_rows
from musculo.kernels.kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.path import ENTRY_ROWS, TAG_ROWS, Paths, active_points, path_lengths
from musculo.kernels.path_arms import moment_arms
from musculo.kernels.wrap_geodesic import geodesic_rows, most_wraps, wrap_geodesic
from musculo.kernels.wrap_obstacles import OBSTACLE_TAGS
from musculo.kernels.wrap_opensim import WRAP_ROWS, wrap_opensim


# Names that are not in this module (`cuda`, and the device forms of kernels) are put into a copy of the globals by
# `path_launcher`. The two methods are two CUDA kernels: each compiles for minutes.
def _geodesic_lanes(tree, functions, paths, table, q, W, motion, columns, C, S, I, counts, status, length, flags, arms):
    lane = cuda.grid(1)  # noqa: F821
    if lane < length.shape[1]:
        locate(tree, functions, q, q, q, False, W, motion, lane)  # noqa: F821
        turn(tree, W, motion, columns, lane)  # noqa: F821
        list_points(paths, table, q, motion, False, C, I, counts, lane)  # noqa: F821
        for j in range(S.shape[0]):
            S[j, lane] = 0.0
        for k in range(status.shape[0]):
            status[k, lane] = 0
        wrap(paths, motion, C, I, counts, S, status, lane)  # noqa: F821
        for k in range(status.shape[0]):
            flags[k, lane] = status[k, lane]
        measure(paths, False, C, I, counts, length, lane)  # noqa: F821
        pull(paths, table, q, motion, columns, False, C, I, counts, S, arms, lane)  # noqa: F821


def _opensim_lanes(tree, functions, paths, table, q, W, motion, columns, C, S, I, counts, status, length, flags, arms):
    lane = cuda.grid(1)  # noqa: F821
    if lane < length.shape[1]:
        locate(tree, functions, q, q, q, False, W, motion, lane)  # noqa: F821
        turn(tree, W, motion, columns, lane)  # noqa: F821
        list_points(paths, table, q, motion, True, C, I, counts, lane)  # noqa: F821
        for j in range(S.shape[0]):
            S[j, lane] = 0.0
        wrap(paths, motion, C, I, counts, lane)  # noqa: F821
        for k in range(status.shape[0]):
            flags[k, lane] = 0.0
        measure(paths, True, C, I, counts, length, lane)  # noqa: F821
        pull(paths, table, q, motion, columns, True, C, I, counts, S, arms, lane)  # noqa: F821


@cache
def path_launcher(literal: bool) -> Any:
    """The CUDA kernel that computes all paths of every lane, as OpenSim does if `literal`."""
    done: dict[Any, Any] = {}
    lanes = _opensim_lanes if literal else _geodesic_lanes
    kernels = {
        "locate": kinematics,
        "turn": twists,
        "list_points": active_points,
        "wrap": wrap_opensim if literal else wrap_geodesic,
        "measure": path_lengths,
        "pull": moment_arms,
    }
    names = {name: _device_function(kernel, done) for name, kernel in kernels.items()}
    names |= {**lanes.__globals__, "cuda": _cuda()}
    return _cuda().jit(types.FunctionType(lanes.__code__, names, lanes.__name__))


def path_workspaces(tree: Any, paths: Paths, literal: bool) -> list[tuple[int, Any]]:
    """Rows and types of the workspaces W, motion, columns, C, S, I, counts and status of `path_launcher`."""
    n, entries = paths.first_point.size - 1, int(paths.path_entry[-1])
    most = int(most_wraps.py_func(paths))
    scratch = WRAP_ROWS * paths.wrap_surface.size if literal else geodesic_rows(most)
    return [
        (work_rows.py_func(tree), np.float64),
        (MOTION_ROWS * tree.parent.size, np.float64),
        (6 * tree.u_rows.size, np.float64),
        (ENTRY_ROWS * entries + int(scratch), np.float64),
        (6 * paths.slot_node.size, np.float64),
        (TAG_ROWS * entries + OBSTACLE_TAGS * most, np.int64),
        (n, np.int64),
        (n, np.int64),
    ]


def paths_on_gpu(
    tree: Any, functions: Any, paths: Paths, table: Any, q: np.ndarray, literal: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths and statuses (frames, paths) and moment arms (frames, paths, n_u) of all frames on the GPU.

    Args:
        tree, functions: the model and its functions. paths, table: its paths and theirs. q: (frames, n_q).
        literal: as OpenSim computes them; else by geodesics.
    """
    n, n_u = paths.first_point.size - 1, tree.u_rows.size
    run = path_launcher(literal)
    given = [to_device(named) for named in (tree, functions, paths, table)]

    def launch(blocks: Any, x: list[Any], work: list[Any], out: Any) -> None:
        run[blocks](*given, x[0], *work, out[:n], out[n : 2 * n], out[2 * n :])

    both = _over_batches([q], path_workspaces(tree, paths, literal), 2 * n + n * n_u, launch)
    status = both[:, n : 2 * n].astype(np.int8)
    return np.ascontiguousarray(both[:, :n]), status, both[:, 2 * n :].reshape(-1, n, n_u)
