"""The same kernels on a GPU: one thread a lane, neighbouring threads at neighbouring addresses.

A kernel's Python source is compiled again as a CUDA device function. Its helpers are swapped for their own device
forms by giving each function a copy of its globals, so that no kernel knows that this happens.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Any

import numpy as np
from numba import config

if not hasattr(np, "row_stack"):  # some releases of numba-cuda look for it; NumPy 2.5 dropped the name
    np.row_stack = np.vstack  # noqa: NPY201

from musculo.errors import MusculoError
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


def _launch(tree, table, q, u, udot, external, loaded, W, tau):
    # `cuda` and `device_rnea` are put into a copy of this function's globals by `rnea_launcher`
    lane = cuda.grid(1)  # noqa: F821
    if lane < tau.shape[1]:
        device_rnea(tree, table, q, u, udot, external, loaded, W, tau, lane)  # noqa: F821


@cache
def rnea_launcher() -> Any:
    """The CUDA kernel that runs `rnea` for every lane."""
    names = {"cuda": _cuda(), "device_rnea": _device_function(rnea, {})}
    # Numba's simulator, which tests use in place of a device, knows no registers
    options = {} if getattr(config, "ENABLE_CUDASIM", 0) else {"max_registers": _REGISTERS}
    return _cuda().jit(types.FunctionType(_launch.__code__, names, "rnea_lanes"), **options)


def _turn(source, target):
    # frames first on one side, lanes last on the other; `cuda` as in `_launch`
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


def lane_bytes(tree: Any, n_q: int, loaded: bool) -> int:
    """Device memory of one lane."""
    n_u = tree.u_rows.size
    return 8 * (work_rows.py_func(tree) + 2 * (n_q + 3 * n_u) + (12 * tree.parent.size if loaded else 0))


def rnea_on_gpu(
    tree: Any, table: Any, q: np.ndarray, u: np.ndarray, udot: np.ndarray, external: np.ndarray, loaded: bool
) -> np.ndarray:
    """Inverse dynamics of all frames on the GPU, in batches that fit its free memory.

    Args: arrays with the frame first, as `rnea_frames` takes them. Returns tau (frames, n_u).
    """
    cuda = _cuda()
    launch, (turn, turn_back) = rnea_launcher(), _turners()
    frames, n_u = u.shape
    free = cuda.current_context().get_memory_info()[0]
    batch = int(min(frames, _BATCH, max(_THREADS, _SHARE * free // lane_bytes(tree, q.shape[1], loaded))))
    tree_d, table_d = to_device(tree), to_device(table)
    W = cuda.device_array((work_rows.py_func(tree), batch))
    inputs = [q, u, udot, external] if loaded else [q, u, udot]
    staged = [(cuda.device_array((batch, x.shape[1])), cuda.device_array((x.shape[1], batch))) for x in inputs]
    tau_d, tau_out = cuda.device_array((n_u, batch)), cuda.device_array((batch, n_u))
    tau = np.empty((frames, n_u))

    def grid(rows: int) -> tuple[tuple[int, int], tuple[int, int]]:
        return ((batch + 31) // 32, (rows + 7) // 8), (32, 8)

    for start in range(0, frames, batch):
        # the last batch is padded with frames that were done before: one shape, one workspace
        first = max(0, min(start, frames - batch))
        for x, (flat, turned) in zip(inputs, staged, strict=True):
            flat.copy_to_device(x[first : first + batch])
            turn[grid(x.shape[1])](flat, turned)
        lanes = [turned for _, turned in staged]
        external_d = lanes[3] if loaded else lanes[0]
        launch[(batch + _THREADS - 1) // _THREADS, _THREADS](
            tree_d, table_d, lanes[0], lanes[1], lanes[2], external_d, loaded, W, tau_d
        )
        turn_back[grid(n_u)](tau_d, tau_out)
        tau_out.copy_to_host(tau[first : first + batch])
    return tau
