"""Muscles in equilibrium on a GPU: one thread a muscle and frame, neighboring threads at neighboring frames.

Threads of a block share their muscle, so that they take the same branches on its kind and read the same row of it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from musculo.kernels.cuda.cuda_batches import over_batches
from musculo.kernels.cuda.cuda_code import jit
from musculo.kernels.cuda.cuda_device import cuda_module, device_function, with_names
from musculo.kernels.cuda.cuda_tables import Layout, layout_of, table_on_device, view
from musculo.kernels.cuda.device_arrays import kept_on_device
from musculo.kernels.hill.muscle_force import equilibrium, opensim_equilibrium, rigid_forces
from musculo.kernels.hill.muscle_table import (
    ACTIVE_FORCE,
    FIBER_LENGTH,
    FIBER_VELOCITY,
    FORCE_ALONG_TENDON,
    OUTPUTS,
    PASSIVE_FORCE,
    PENNATION,
    STATUS,
    STIFFNESS,
    TENDON_FORCE,
    TENDON_LENGTH,
    MuscleTable,
)

# Threads a block: frames of one muscle.
_THREADS = 128


# `cuda`, `view_muscles`, `elastic` and `stiff` are put into a copy of the globals by `equilibrium_launcher`: the module
# of the device, the view of the table, and the device forms of the kernels for elastic and for rigid tendons.
def _equilibrium_lanes(muscles, c, length, speed, activation, rigid, opensim, out):
    lane, i = cuda.grid(2)  # noqa: F821
    m = view_muscles(muscles)  # noqa: F821
    n = m.kind.size
    if lane < length.shape[1] and i < n:
        L, v, a = length[i, lane], speed[i, lane], activation[i, lane]
        if rigid or m.rigid[i] == 1:
            rows, found = stiff(m, c, i, L, v, a, opensim)  # noqa: F821
        else:
            rows, found = elastic(m, c, i, L, v, a)  # noqa: F821
        # one by one: a tuple is indexed by constants alone without a table of branches
        out[FIBER_LENGTH * n + i, lane] = rows[FIBER_LENGTH]
        out[FIBER_VELOCITY * n + i, lane] = rows[FIBER_VELOCITY]
        out[PENNATION * n + i, lane] = rows[PENNATION]
        out[TENDON_LENGTH * n + i, lane] = rows[TENDON_LENGTH]
        out[TENDON_FORCE * n + i, lane] = rows[TENDON_FORCE]
        out[ACTIVE_FORCE * n + i, lane] = rows[ACTIVE_FORCE]
        out[PASSIVE_FORCE * n + i, lane] = rows[PASSIVE_FORCE]
        out[FORCE_ALONG_TENDON * n + i, lane] = rows[FORCE_ALONG_TENDON]
        out[STIFFNESS * n + i, lane] = rows[STIFFNESS]
        out[STATUS * n + i, lane] = found


@cache
def equilibrium_launcher(opensim: bool, muscles: Layout) -> Any:
    """The CUDA kernel that runs `equilibrium`, or `opensim_equilibrium`, for every muscle and frame.

    Its arguments: the MuscleTable by address and the curves; lengths, speeds and activations (muscles, lanes); whether
    all tendons are rigid; whether as in OpenSim; out (OUTPUTS muscles, lanes). Launch it with `equilibrium_grid`.
    """
    elastic = device_function(opensim_equilibrium if opensim else equilibrium)
    parts = {"elastic": elastic, "stiff": device_function(rigid_forces), "view_muscles": view(muscles)}
    return jit(with_names(_equilibrium_lanes, **parts))


def equilibrium_grid(muscles: int, lanes: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Blocks and threads of a launch."""
    return (max(1, (lanes + _THREADS - 1) // _THREADS), max(1, muscles)), (_THREADS, 1)


def equilibrium_on_gpu(
    muscles: MuscleTable,
    curves: np.ndarray,
    length: np.ndarray,
    speed: np.ndarray,
    activation: np.ndarray,
    rigid: bool,
    opensim: bool,
) -> np.ndarray:
    """Equilibria of all frames on the GPU; arrays (frames, muscles). Returns (OUTPUTS, frames, muscles)."""
    frames, n = length.shape
    if frames == 0 or n == 0:
        return np.empty((OUTPUTS, frames, n))
    run = equilibrium_launcher(opensim, layout_of(muscles))
    table, c = kept_on_device(muscles, table_on_device), cuda_module().to_device(np.ascontiguousarray(curves))

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        grid = *equilibrium_grid(n, out[0].shape[1]), blocks[2]
        run[grid](table.words, c, x[0], x[1], x[2], rigid, opensim, out[0])

    (both,) = over_batches([length, speed, activation], [], [(OUTPUTS * n, False)], launch)
    return np.ascontiguousarray(both.reshape(frames, OUTPUTS, n).swapaxes(0, 1))
