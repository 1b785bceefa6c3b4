"""Marks Python functions as parts of compiled code; Numba is imported when something has to be compiled, not before.

kernel    one lane of work; it may not allocate
driver    a loop over frames, called from Python, that allocates the workspaces kernels run in
room      makes such a workspace; called from Python it is plain Python
inline    a small part of kernels, inlined by the compiler; called from Python it is plain Python
spliced   a part that is copied into its caller before that is compiled: for what takes many tuples
unfused   a kernel whose products are rounded before anything is added to them
traced    straight-line arithmetic on small tuples, written into its caller as that is compiled
lowered   an operation that a module of `compiler` writes as instructions
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from musculo.kernels.compiler.canonical import signatures
from musculo.kernels.compiler.driver_code import Bound, Code
from musculo.kernels.compiler.names import code_name, is_of_package, script_name
from musculo.kernels.compiler.signature import fits, parsed, signature_of

# Products may fuse with sums, as on the GPU; no other liberty is taken with the order of operations.
_FUSED: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
# fastmath is stated since a part of a kernel inherits what its caller has
_UNFUSED: dict[str, Any] = {**_FUSED, "fastmath": False}
# Kernels own no memory, so they need no reference counts; counting the arrays of a model at every small call would
# cost more than the mechanics (measured: 2.7 against 0.6 us a frame).
_NO_COUNTS: dict[str, Any] = {"_nrt": False}


class Part:
    """A function of compiled code. `py_func` is the function itself."""

    # what Numba reads to splice a part into its caller
    targetoptions: dict[str, Any]

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.targetoptions = function, options

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The function as Numba's, for code that is being compiled."""
        import numba

        importlib.import_module("musculo.kernels.compiler.machine_code.lowering")
        return numba.njit(**self.targetoptions)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """Numba asks for it where compiled code calls the part."""
        from numba import types

        return types.Dispatcher(self.dispatcher)

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


# Held while code is looked for. A process that is forked meanwhile has one of its own: nobody would open the other.
_finding = threading.RLock()


def _forked() -> None:
    global _finding
    _finding = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _aligned(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with arrays that begin between two words, as records and files have them, copied."""

    def whole(x: Any) -> Any:
        if isinstance(x, tuple):
            return type(x)(*map(whole, x)) if hasattr(x, "_fields") else tuple(map(whole, x))
        return x.copy() if isinstance(x, np.ndarray) and not x.flags.aligned else x

    return tuple(whole(x) for x in arguments)


class Kernel(Part):
    """A part that is compiled for itself where Python calls it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self._codes: tuple[Code, ...] = ()

    @property
    def file(self) -> Path:
        """Where it is written."""
        return Path(self.py_func.__code__.co_filename)

    @property
    def where(self) -> str:
        """module:name."""
        return f"{self.py_func.__module__}:{self.py_func.__qualname__}"

    def is_ready(self) -> bool:
        """Whether nobody has to wait for it, in the types with which the package calls it."""
        from musculo.kernels.compiler.known_code import has_code

        return bool(self._codes) or any(has_code(self.where, text) for text in signatures(self.where))

    def __call__(self, *arguments: Any) -> Any:
        for code in self._codes:
            memory = code.take(arguments)
            if memory is not None:
                return code.run(memory)
        arguments = _aligned(arguments)
        return self._code_for(arguments)(arguments)

    def bound(self, *arguments: Any) -> Bound:
        """These arguments taken apart once, for many calls."""
        for code in self._codes:
            memory = code.take(arguments)
            if memory is not None:
                return Bound(code, memory, arguments)
        return self._code_for(arguments).bound_to(arguments)

    def _code_for(self, arguments: tuple[Any, ...]) -> Code:
        with _finding:  # threads over frames ask at once
            for code in self._codes:
                memory = code.take(arguments)
                if memory is not None:
                    return code
            code = find_code(self, arguments)
            self._codes = (*self._codes, code)
        return code


def find_code(driver: Kernel, arguments: tuple[Any, ...]) -> Code:
    """The code of a driver for such arguments: shipped, kept from before, or compiled now."""
    from musculo.kernels.compiler.known_code import known_code

    where = driver.where
    signature = next((text for text in signatures(where) if fits(parsed(text), arguments)), signature_of(arguments))
    if is_of_package(where):
        name = code_name(where.split(":")[1], driver.file, signature)
    else:
        name = script_name(driver, signature)
    found = known_code(name)
    if found is None:
        from musculo.kernels.compiler.workers import compiled

        found = compiled(driver, where, name, signature)
    return found


class Lowered:
    """An operation whose instructions are written by a function of a module that is imported when code is compiled."""

    def __init__(self, module: str, name: str, plain: Callable[..., Any] | None = None) -> None:
        self._module, self._name = f"musculo.kernels.compiler.machine_code.{module}", name
        self.__name__, self.__doc__ = name, plain.__doc__ if plain is not None else None
        if plain is not None:
            self.py_func = plain  # what it means for one float64, as on the GPU

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        operation = getattr(importlib.import_module(self._module), self._name)
        context = cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(operation)

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


class Traced(Lowered):
    """Straight-line arithmetic: no loop and no branch, only sums, products and indexing of its tuples.

    On the CPU it is run once, in Python, with operands that emit instructions (`straight_line`); it never becomes a
    function that must be compiled, called and inlined again, which is what most of a kernel's compile time would go to.
    Its scalars may be float64, complex128 or packs; what it returns is made of one kind. On the GPU its source is
    compiled as it stands.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__("straight_line", function.__name__, function)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from musculo.kernels.compiler.machine_code.straight_line import operation

        made = operation(self.py_func)
        context = cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(made)


def kernel(function: Callable[..., Any]) -> Kernel:
    """One lane of work: it may not allocate."""
    return Kernel(function, {**_FUSED, **_NO_COUNTS})


def driver(function: Callable[..., Any]) -> Kernel:
    """As `kernel`, for the loops over frames that allocate the workspaces kernels run in."""
    return Kernel(function, dict(_FUSED))


def room(function: Callable[..., Any]) -> Part:
    """Makes a workspace, inside drivers and in Python."""
    return Part(function, dict(_FUSED))


def inline(function: Callable[..., Any]) -> Part:
    """A small part of kernels, always inlined into its caller."""
    return Part(function, {"forceinline": True, **_FUSED, **_NO_COUNTS})


def spliced(function: Callable[..., Any]) -> Part:
    """A part of kernels that is copied into its caller before that is compiled.

    For what takes the whole model or calls large functions: as a function of its own it would be one more to lower for
    every kind of argument.
    """
    return Part(function, {"inline": "always", **_FUSED, **_NO_COUNTS})


def unfused(function: Callable[..., Any]) -> Kernel:
    """As `kernel`, with nothing fused; vectors come from `opensim_geometry`, since `traced` ones fuse.

    Other kernels may fuse a product with a sum. Where another program's recipe asks on which side of zero such a sum
    lies, the answer hangs on the rounding of the product: with t = r / d, r - t d is mostly zero; fused, it is the
    rounding of t.
    """
    return Kernel(function, {**_UNFUSED, **_NO_COUNTS})


def traced(function: Callable[..., Any]) -> Traced:
    """Make a function of straight-line arithmetic part of the kernels that call it."""
    return Traced(function)


def _anywhere() -> None:
    """Called inside a kernel: its code is never copied into those that call it.

    For what is long and called from many places: LLVM would optimize every copy of it again. On the GPU and in plain
    Python it means nothing.
    """


apart = Lowered("lowering", "apart", _anywhere)
