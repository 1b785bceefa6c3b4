"""Numba's module for the device, and kernels as device functions."""

from __future__ import annotations

import types
from functools import cache
from typing import Any

import numpy as np

from musculo.errors import MusculoError

if not hasattr(np, "row_stack"):  # some releases of numba-cuda look for it; NumPy 2.5 dropped the name
    np.row_stack = np.vstack  # noqa: NPY201


class NoDevice(MusculoError):
    """There is no CUDA device, or the packages for it are missing."""


@cache
def cuda_module() -> Any:
    """`numba.cuda`, where there is a device."""
    try:
        from numba import cuda
    except ImportError as error:
        raise NoDevice(f"CUDA for Numba is not installed ({error}); pip install 'musculo[gpu]'") from None
    if not cuda.is_available():
        raise NoDevice("no CUDA device is available; use device='cpu'")
    return cuda


def simulated() -> bool:
    """Whether Numba's simulator, which tests use, stands in for a device."""
    from numba import config

    return bool(getattr(config, "ENABLE_CUDASIM", 0))


def _names(code: types.CodeType) -> set[str]:
    """Every global name a function's code can look up, nested code included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


# All of a process: a kernel that several CUDA kernels use is typed and lowered once.
_functions: dict[Any, Any] = {}


def device_function(function: Any) -> Any:
    """A kernel, or part of one, as a CUDA device function.

    Its helpers are swapped for their own device forms by giving each function a copy of its globals, so that no kernel
    knows that this happens.
    """
    source = getattr(function, "py_func", function)
    if source not in _functions:
        _functions[source] = None
        names = dict(source.__globals__)
        for name in _names(source.__code__):
            part = names.get(name)
            origin = getattr(part, "py_func", part)
            if isinstance(origin, types.FunctionType) and origin.__module__.startswith("musculo.kernels"):
                names[name] = device_function(part)
        copy = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
        _functions[source] = cuda_module().jit(device=True)(copy)
    return _functions[source]


def with_names(function: Any, **names: Any) -> types.FunctionType:
    """A copy of a function that finds these names among its globals; `cuda` is the device's module."""
    return types.FunctionType(
        function.__code__, {**function.__globals__, "cuda": cuda_module(), **names}, function.__name__
    )
