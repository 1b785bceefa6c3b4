"""Lengths and moment arms of all paths on a GPU: one thread a frame.

Four CUDA kernels follow each other and compile apart; what one leaves for the next stays in device memory. Only the one
that wraps differs between the two methods.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from musculo.kernels.cuda.cuda_batches import Frames, over_batches
from musculo.kernels.cuda.cuda_code import Limits, jit
from musculo.kernels.cuda.cuda_compile_beside import Recipe, compile_beside
from musculo.kernels.cuda.cuda_device import device_function, with_names
from musculo.kernels.cuda.cuda_tables import Layout, layout_of, table_on_device, view
from musculo.kernels.cuda.device_arrays import kept_on_device
from musculo.kernels.paths.path_arms import moment_arms
from musculo.kernels.paths.path_points import (
    ENTRY_ROWS,
    TAG_ROWS,
    CurrentPaths,
    Paths,
    PosedPaths,
    active_points,
    path_lengths,
)
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, PlacedNodes, kinematics, twists
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.tree_frames import work_rows
from musculo.kernels.wrapping.geodesic.obstacle_workspace import OBSTACLE_TAGS, geodesic_rows
from musculo.kernels.wrapping.opensim.opensim_wraps import WRAP_ROWS, wrap_opensim
from musculo.kernels.wrapping.rules.wrap_geodesic import most_wraps, wrap_geodesic

# Functions of the kernel that finds geodesics with more LLVM instructions than these stay functions. Without a limit
# NVVM and nvJitLink take 40 CPU seconds for it, with 1000 they take 11, with 500 six, with 250 five.
_LARGE = 500


# Names that are not in this module (`cuda`, the views of tables, and the device forms of kernels) are put into a copy
# of the globals by `path_kernels`.
def _pose_lanes(tree, functions, q, W, motion, columns):
    lane = cuda.grid(1)  # noqa: F821
    if lane < q.shape[1]:
        nodes = view_tree(tree)  # noqa: F821
        locate(nodes, view_functions(functions), W, Motion(q, q, q), False, motion, lane)  # noqa: F821
        turn(nodes, W, motion, columns, lane)  # noqa: F821


def _point_lanes(paths, table, literal, q, motion, current):
    lane = cuda.grid(1)  # noqa: F821
    if lane < q.shape[1]:
        x = PosedPaths(view_paths(paths), view_functions(table), q, motion)  # noqa: F821
        list_points(x, current, literal, lane)  # noqa: F821
        for j in range(current.S.shape[0]):
            current.S[j, lane] = 0.0


def _geodesic_lanes(paths, motion, current, status):
    lane = cuda.grid(1)  # noqa: F821
    if lane < status.shape[1]:
        for k in range(status.shape[0]):
            status[k, lane] = 0
        wrap(view_paths(paths), motion, current.C, current.I, current.counts, current.S, status, lane)  # noqa: F821


def _opensim_lanes(paths, motion, current, status):
    lane = cuda.grid(1)  # noqa: F821
    if lane < status.shape[1]:
        wrap(view_paths(paths), motion, current.C, current.I, current.counts, lane)  # noqa: F821
        for k in range(status.shape[0]):
            status[k, lane] = 0


def _arm_lanes(paths, table, literal, placed, current, status, found):
    lane = cuda.grid(1)  # noqa: F821
    if lane < placed.q.shape[1]:
        p = view_paths(paths)  # noqa: F821
        measure(p, literal, current.C, current.I, current.counts, found.length, lane)  # noqa: F821
        for k in range(status.shape[0]):
            found.flags[k, lane] = status[k, lane]
        x = PosedPaths(p, view_functions(table), placed.q, placed.nodes)  # noqa: F821
        pull(x, current, placed.columns, literal, found.arms, lane)  # noqa: F821


class PathsFound(NamedTuple):
    """Results of all paths, lanes last."""

    length: Any  # (paths, lanes)
    flags: Any  # (paths, lanes) statuses as numbers
    arms: Any  # (paths n_u, lanes)


class PathKernels(NamedTuple):
    """CUDA kernels in the order in which they run."""

    poses: Any  # (tree, functions, q, W, motion, columns)
    points: Any  # (paths, table, literal, q, motion, `CurrentPaths`)
    wrapping: Any  # (paths, motion, `CurrentPaths`, status)
    arms: Any  # (paths, table, literal, `PlacedNodes`, `CurrentPaths`, status, `PathsFound`)

    def launch(self, blocks: Any, tables: Any, literal: bool, q: Any, work: Any, found: PathsFound) -> None:
        """Run them all. `tables`: tree, functions, paths and table on the device; `work`: of `path_workspaces`."""
        tree, functions, paths, table = tables
        W, motion, columns, C, S, I, counts, status = work
        current = CurrentPaths(C, I, counts, S)
        self.poses[blocks](tree, functions, q, W, motion, columns)
        self.points[blocks](paths, table, literal, q, motion, current)
        self.wrapping[blocks](paths, motion, current, status)
        self.arms[blocks](paths, table, literal, PlacedNodes(q, motion, columns), current, status, found)


@cache
def _apart(name: str, tree: Layout, functions: Layout, paths: Layout) -> Any:
    """One of the CUDA kernels."""
    views = {"view_tree": view(tree), "view_functions": view(functions), "view_paths": view(paths)}
    lanes, parts = {
        "poses": (_pose_lanes, {"locate": kinematics, "turn": twists}),
        "points": (_point_lanes, {"list_points": active_points}),
        "geodesic": (_geodesic_lanes, {"wrap": wrap_geodesic}),
        "opensim": (_opensim_lanes, {"wrap": wrap_opensim}),
        "arms": (_arm_lanes, {"measure": path_lengths, "pull": moment_arms}),
    }[name]
    named = with_names(lanes, **views, **{part: device_function(kernel) for part, kernel in parts.items()})
    return jit(named, Limits(large=_LARGE) if name == "geodesic" else Limits())


def path_kernels(tree: Any, functions: Any, paths: Paths, literal: bool) -> PathKernels:
    """The CUDA kernels that compute all paths of every lane, as OpenSim does if `literal`."""
    layouts = layout_of(tree), layout_of(functions), layout_of(paths)
    names = ("poses", "points", "opensim" if literal else "geodesic", "arms")
    return PathKernels(*(_apart(name, *layouts) for name in names))


def path_recipes(tree: Layout, functions: Layout, paths: Layout, literal: bool) -> list[Recipe]:
    """The kernels of `path_kernels` and the types that they are launched with; first what takes longest to compile."""
    from numba.core import types

    f, i, w = (types.Array(t, d, "C") for t, d in ((types.float64, 2), (types.int64, 2), (types.int64, 1)))
    b, current = types.boolean, types.NamedTuple((f, i, i, f), CurrentPaths)
    placed, found = types.NamedUniTuple(f, 3, PlacedNodes), types.NamedUniTuple(f, 3, PathsFound)
    signatures = {
        "opensim" if literal else "geodesic": (w, f, current, i),
        "poses": (w, w, f, f, f, f),
        "points": (w, w, b, f, f, current),
        "arms": (w, w, b, placed, current, i, found),
    }
    return [Recipe(_apart, (name, tree, functions, paths), given) for name, given in signatures.items()]


@cache
def _compile(tree: Layout, functions: Layout, paths: Layout, literal: bool) -> None:
    compile_beside(path_recipes(tree, functions, paths, literal))


def path_workspaces(tree: Any, paths: Paths, literal: bool) -> list[tuple[int, Any]]:
    """Rows and types of the workspaces W, motion, columns, C, S, I, counts and status of `PathKernels`."""
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
    tree: Any, functions: Any, paths: Paths, table: Any, q: Frames, literal: bool, to_device: bool = False
) -> tuple[Any, np.ndarray, Any]:
    """Lengths and statuses (frames, paths) and moment arms (frames, paths, n_u) of all frames on the GPU.

    Args:
        tree, functions: the model and its functions. paths, table: its paths and theirs. q: (frames, n_q).
        literal: as OpenSim computes them; else by geodesics. to_device: leave lengths and moment arms there.
    """
    n, n_u = paths.first_point.size - 1, tree.u_rows.size
    _compile(layout_of(tree), layout_of(functions), layout_of(paths), literal)
    run = path_kernels(tree, functions, paths, literal)
    tables = [kept_on_device(named, table_on_device) for named in (tree, functions, paths, table)]
    words = [one.words for one in tables]

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        run.launch(blocks, words, literal, x[0], work, PathsFound(*out))

    outputs = [(n, to_device), (n, False), (n * n_u, to_device)]
    length, flags, arms = over_batches([q], path_workspaces(tree, paths, literal), outputs, launch)
    return length, flags.astype(np.int8), arms.reshape(len(length), n, n_u)
