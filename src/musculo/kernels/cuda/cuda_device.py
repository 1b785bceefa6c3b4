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
Replaced = tuple[tuple[str, Any], ...]


def device_function(function: Any, replaced: Replaced = ()) -> Any:
    """A kernel, or part of one, as a CUDA device function.

    Its helpers are swapped for their own device forms by giving each function a copy of its globals, so that no kernel
    knows that this happens.

    Args:
        replaced: names, and the functions or numbers that stand for them here: what the CPU calls by address, say.
    """
    return _copied(function, replaced, "device")


def one_lane(function: Any, replaced: Replaced) -> Any:
    """What makes a room in which others stand for these names, in plain Python."""
    return _copied(function, replaced, "plain")


def _source(part: Any) -> Any:
    """The plain function of a kernel or of a part of one; None for anything else."""
    origin = getattr(part, "py_func", part)
    known = isinstance(origin, types.FunctionType) and origin.__module__.startswith("musculo.kernels")
    return origin if known else None


def _copied(function: Any, replaced: Replaced, how: str) -> Any:
    source = getattr(function, "py_func", function)
    if replaced and not _mentions(source, frozenset(name for name, _ in replaced)):
        replaced = ()
    key = source, replaced, how
    if key not in _functions:
        _functions[key] = None
        names, others = dict(source.__globals__), dict(replaced)
        for name in _names(source.__code__):
            part = others.get(name, names.get(name))
            inner = _source(part)
            if inner is not None:
                names[name] = _copied(inner, replaced, how)
            elif name in others:
                names[name] = part
        copy = types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, source.__closure__)
        _functions[key] = cuda_module().jit(device=True)(copy) if how == "device" else copy
    return _functions[key]


@cache
def _mentions(source: types.FunctionType, wanted: frozenset[str]) -> bool:
    """Whether a function, or one that it calls, looks one of these names up."""
    known = _names(source.__code__)
    if known & wanted:
        return True
    parts = (_source(source.__globals__.get(name)) for name in known)
    return any(part is not None and part is not source and _mentions(part, wanted) for part in parts)


def with_names(function: Any, **names: Any) -> types.FunctionType:
    """A copy of a function that finds these names among its globals; `cuda` is the device's module."""
    return types.FunctionType(
        function.__code__, {**function.__globals__, "cuda": cuda_module(), **names}, function.__name__
    )
