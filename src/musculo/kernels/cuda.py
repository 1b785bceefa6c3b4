"""The same kernels on a GPU: one thread a lane, neighbouring threads at neighbouring addresses.

A kernel's Python source is compiled again as a CUDA device function. Its helpers are swapped for their own device
forms by giving each function a copy of its globals, so that no kernel knows that this happens.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numba import config

if not hasattr(np, "row_stack"):  # some releases of numba-cuda look for it; NumPy 2.5 dropped the name
    np.row_stack = np.vstack  # noqa: NPY201

from musculo.errors import MusculoError
from musculo.kernels.aba import ARTICULATED_ROWS, PIVOT, SLOT_ROWS, aba
from musculo.kernels.crba import COMPOSITE_ROWS, crba
from musculo.kernels.frames import work_rows
from musculo.kernels.rnea import rnea

_THREADS = 128
# So many registers a thread let four blocks of 128 threads share a multiprocessor (measured on an H200, 37-dof tree:
# 200 million frames a second, against 158 with the 132 the compiler would take and 177 with 64).
_REGISTERS = 128
# The part of the free memory a batch may take; the rest is for what else lives on the device.
_SHARE = 0.6
# More lanes than this at once fill the device no better.
_BATCH = 1 << 18


class NoDevice(MusculoError):
    """There is no CUDA device, or the packages for it are missing."""


@cache
def _cuda() -> Any:
    try:
        from numba import cuda
    except ImportError as error:
        raise NoDevice(f"CUDA for Numba is not installed ({error}); pip install 'musculo[gpu]'") from None
    if not cuda.is_available():
        raise NoDevice("no CUDA device is available; use device='cpu'")
    return cuda


def _names(code: types.CodeType) -> set[str]:
    """Every global name a function's code can look up, nested code included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _device_function(function: Any, done: dict[Any, Any]) -> Any:
    """A kernel, or part of one, as a CUDA device function; `done` keeps those already made."""
    source = getattr(function, "py_func", function)
    if source not in done:
        done[source] = None
        names = dict(source.__globals__)
        for name in _names(source.__code__):
            part = names.get(name)
            origin = getattr(part, "py_func", part)
            if isinstance(origin, types.FunctionType) and origin.__module__.startswith("musculo.kernels"):
                names[name] = _device_function(part, done)
        copy = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
        done[source] = _cuda().jit(device=True)(copy)
    return done[source]


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


def _aba_lanes(tree, table, q, u, tau, given, prescribed, external, loaded, W, A, out):
    lane = cuda.grid(1)  # noqa: F821
    if lane < out.shape[1]:
        n = given.shape[0]
        for k in range(n):
            out[k, lane] = given[k, lane]
        run(tree, table, q, u, tau, out, prescribed, external, loaded, W, A, lane)  # noqa: F821
        # beside the accelerations, how far each elimination was from singular
        for k in range(n):
            out[n + k, lane] = A[ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * k + PIVOT, lane]


_LANES = {rnea: _rnea_lanes, crba: _crba_lanes, aba: _aba_lanes}


@cache
def launcher(kernel: Any) -> Any:
    """The CUDA kernel that runs `rnea`, `crba` or `aba` for every lane."""
    lanes = _LANES[kernel]
    names = {**lanes.__globals__, "cuda": _cuda(), "run": _device_function(kernel, {})}
    # Numba's simulator, which tests use in place of a device, knows no registers
    options = {} if getattr(config, "ENABLE_CUDASIM", 0) else {"max_registers": _REGISTERS}
    return _cuda().jit(types.FunctionType(lanes.__code__, names, lanes.__name__), **options)


def _turn(source, target):
    # frames first on one side, lanes last on the other
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < target.shape[1] and row < target.shape[0]:
        target[row, lane] = source[lane, row]


def _turn_back(source, target):
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < source.shape[1] and row < source.shape[0]:
        target[lane, row] = source[row, lane]


@cache
def _turners() -> tuple[Any, Any]:
    """Transposes on the device: the host takes longer to turn an array than the device to use it."""
    names = {"cuda": _cuda()}
    there, back = (types.FunctionType(f.__code__, names, f.__name__) for f in (_turn, _turn_back))
    return _cuda().jit(there), _cuda().jit(back)


def to_device(named: Any) -> Any:
    """A named tuple of arrays with every array on the device."""
    cuda = _cuda()
    return type(named)(*(cuda.to_device(np.ascontiguousarray(array)) for array in named))


def _over_batches(
    inputs: Sequence[np.ndarray],
    workspaces: Sequence[int | tuple[int, Any]],
    n_out: int,
    launch: Callable[[Any, list[Any], list[Any], Any], None],
) -> np.ndarray:
    """Run a kernel over all frames in batches that fit the free memory; returns (frames, n_out).

    Args:
        inputs: arrays with the frame first. workspaces: how many rows each workspace has, and its type if not float64.
        launch: called with (blocks and threads, inputs and workspaces with the lane last, output (n_out, lanes)).
    """
    cuda = _cuda()
    turn, turn_back = _turners()
    frames = len(inputs[0])
    result = np.empty((frames, n_out))
    if frames == 0:
        return result
    sized = [w if isinstance(w, tuple) else (w, np.float64) for w in workspaces]
    rows = sum(n for n, _ in sized) + 2 * n_out + 2 * sum(x.shape[1] for x in inputs)
    free = cuda.current_context().get_memory_info()[0]
    batch = int(min(frames, _BATCH, max(_THREADS, _SHARE * free // (8 * rows))))
    work = [cuda.device_array((n, batch), dtype=dtype) for n, dtype in sized]
    staged = [(cuda.device_array((batch, x.shape[1])), cuda.device_array((x.shape[1], batch))) for x in inputs]
    # zeros: entries of unrelated speeds in a mass matrix are never written
    out, turned_out = cuda.to_device(np.zeros((n_out, batch))), cuda.device_array((batch, n_out))

    def grid(n: int) -> tuple[tuple[int, int], tuple[int, int]]:
        return ((batch + 31) // 32, (n + 7) // 8), (32, 8)

    for start in range(0, frames, batch):
        # the last batch is padded with frames that were done before: one shape, one workspace
        first = max(0, min(start, frames - batch))
        for x, (flat, turned) in zip(inputs, staged, strict=True):
            flat.copy_to_device(np.ascontiguousarray(x[first : first + batch]))
            turn[grid(x.shape[1])](flat, turned)
        blocks = ((batch + _THREADS - 1) // _THREADS, _THREADS)
        launch(blocks, [turned for _, turned in staged], work, out)
        turn_back[grid(n_out)](out, turned_out)
        turned_out.copy_to_host(result[first : first + batch])
    return result


def rnea_on_gpu(
    tree: Any, table: Any, q: np.ndarray, u: np.ndarray, udot: np.ndarray, external: np.ndarray, loaded: bool
) -> np.ndarray:
    """Inverse dynamics of all frames on the GPU; arrays as `rnea_frames` takes them. Returns tau (frames, n_u)."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(rnea)

    def launch(blocks: Any, x: list[Any], work: list[Any], out: Any) -> None:
        run[blocks](tree_d, table_d, x[0], x[1], x[2], x[3] if loaded else x[0], loaded, work[0], out)

    inputs = [q, u, udot, external] if loaded else [q, u, udot]
    return _over_batches(inputs, [work_rows.py_func(tree)], u.shape[1], launch)


def crba_on_gpu(tree: Any, table: Any, q: np.ndarray) -> np.ndarray:
    """Mass matrices (frames, n_u n_u) of all frames on the GPU."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(crba)

    def launch(blocks: Any, x: list[Any], work: list[Any], out: Any) -> None:
        run[blocks](tree_d, table_d, x[0], work[0], work[1], out)

    workspaces = [work_rows.py_func(tree), COMPOSITE_ROWS * tree.parent.size]
    return _over_batches([q], workspaces, tree.u_rows.size**2, launch)


def aba_on_gpu(
    tree: Any,
    table: Any,
    q: np.ndarray,
    u: np.ndarray,
    tau: np.ndarray,
    udot: np.ndarray,
    prescribed: np.ndarray,
    external: np.ndarray,
    loaded: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Forward dynamics of all frames on the GPU: udot (frames, n_u), and how far from singular (frames, slots)."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(aba)
    given = _cuda().to_device(prescribed)
    n_u = u.shape[1]

    def launch(blocks: Any, x: list[Any], work: list[Any], out: Any) -> None:
        run[blocks](
            tree_d, table_d, x[0], x[1], x[2], x[3], given, x[4] if loaded else x[0], loaded, work[0], work[1], out
        )

    workspaces = [work_rows.py_func(tree), ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * n_u]
    inputs = [q, u, tau, udot, external] if loaded else [q, u, tau, udot]
    both = _over_batches(inputs, workspaces, 2 * n_u, launch)
    return np.ascontiguousarray(both[:, :n_u]), both[:, n_u:]
