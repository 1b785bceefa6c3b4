"""Inverse dynamics, mass matrix and forward dynamics on a GPU: one thread a frame."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from musculo.kernels.cuda.cuda_batches import Frames, over_batches
from musculo.kernels.cuda.cuda_code import Limits, jit
from musculo.kernels.cuda.cuda_device import cuda_module, device_function, with_names
from musculo.kernels.cuda.device_arrays import to_device
from musculo.kernels.tree.aba import ARTICULATED_ROWS, PIVOT, SLOT_ROWS, aba
from musculo.kernels.tree.crba import COMPOSITE_ROWS, crba
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import work_rows

# So many registers a thread let four blocks of 128 threads share a multiprocessor (measured on an H200, 37-dof tree:
# 200 million frames a second, against 158 with the 132 the compiler would take and 177 with 64).
_REGISTERS = 128


# The kernels that run on the device. `cuda` and `run` are put into copies of their globals by `launcher`: the device's
# module, and the device form of the kernel that does the work.
def _rnea_lanes(tree, table, q, u, udot, external, loaded, W, tau):
    lane = cuda.grid(1)  # noqa: F821
    if lane < tau.shape[1]:
        run(tree, table, q, u, udot, external, loaded, W, tau, lane)  # noqa: F821


def _crba_lanes(tree, table, q, W, C, M):
    lane = cuda.grid(1)  # noqa: F821
    if lane < M.shape[1]:
        run(tree, table, q, W, C, M, lane)  # noqa: F821


def _aba_lanes(tree, table, q, u, tau, given, prescribed, external, loaded, W, A, out, least):
    lane = cuda.grid(1)  # noqa: F821
    if lane < out.shape[1]:
        n = given.shape[0]
        for k in range(n):
            out[k, lane] = given[k, lane]
        run(tree, table, q, u, tau, out, prescribed, external, loaded, W, A, lane)  # noqa: F821
        # how far the worst elimination was from singular; what is no number counts as zero
        worst = 1.0
        for k in range(n):
            if prescribed[tree.u_rows[k]] == 0:
                pivot = A[ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * k + PIVOT, lane]
                if not pivot >= worst:
                    worst = pivot if pivot > 0.0 else 0.0
        least[0, lane] = worst


_LANES = {rnea: _rnea_lanes, crba: _crba_lanes, aba: _aba_lanes}


@cache
def launcher(kernel: Any) -> Any:
    """The CUDA kernel that runs `rnea`, `crba` or `aba` for every lane."""
    return jit(with_names(_LANES[kernel], run=device_function(kernel)), Limits(max_registers=_REGISTERS))


def rnea_on_gpu(
    tree: Any,
    table: Any,
    q: Frames,
    u: Frames,
    udot: Frames,
    external: np.ndarray,
    loaded: bool,
    stays: bool = False,
) -> Any:
    """Inverse dynamics of all frames on the GPU; arrays as `rnea_frames` takes them. Returns tau (frames, n_u), on the
    device if it `stays` there."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(rnea)

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        run[blocks](tree_d, table_d, x[0], x[1], x[2], x[3] if loaded else x[0], loaded, work[0], out[0])

    inputs = [q, u, udot, external] if loaded else [q, u, udot]
    workspaces = [(work_rows.py_func(tree), np.float64)]
    return over_batches(inputs, workspaces, [(u.shape[1], stays)], launch)[0]


def crba_on_gpu(tree: Any, table: Any, q: Frames, stays: bool = False) -> Any:
    """Mass matrices (frames, n_u n_u) of all frames on the GPU, which may stay there."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(crba)

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        run[blocks](tree_d, table_d, x[0], work[0], work[1], out[0])

    workspaces = [(work_rows.py_func(tree), np.float64), (COMPOSITE_ROWS * tree.parent.size, np.float64)]
    return over_batches([q], workspaces, [(tree.u_rows.size**2, stays)], launch)[0]


def aba_on_gpu(
    tree: Any,
    table: Any,
    q: Frames,
    u: Frames,
    tau: Frames,
    udot: np.ndarray | None,
    prescribed: np.ndarray,
    external: np.ndarray | None = None,
    stays: bool = False,
) -> tuple[Any, np.ndarray]:
    """Forward dynamics of all frames on the GPU: udot (frames, n_u), which may stay there, and of each frame how far
    from singular the worst elimination was (frames,). `udot` None: no speed is prescribed; `external`: no loads."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(aba)
    given = cuda_module().to_device(prescribed)
    n_u = u.shape[1]

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        known = x[1] if udot is None else x[3]  # of free speeds it is not read
        loaded = external is not None
        wrench = x[-1] if loaded else x[0]
        run[blocks](tree_d, table_d, *x[:3], known, given, wrench, loaded, work[0], work[1], out[0], out[1])

    rows = work_rows.py_func(tree), ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * n_u
    inputs = [q, u, tau, *([] if udot is None else [udot]), *([] if external is None else [external])]
    found, least = over_batches(inputs, [(n, np.float64) for n in rows], [(n_u, stays), (1, False)], launch)
    return found, least[:, 0]
