"""CUDA kernels that one call needs, compiled beside each other: one process each, whose machine code comes from disk.

Typing and lowering are Python, which threads of one process would only take turns at.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from musculo.kernels.cuda.cuda_code import is_kept, kept_cubin
from musculo.kernels.cuda.cuda_device import simulated


class Recipe(NamedTuple):
    """A CUDA kernel that another process can make: what makes it, with which arguments, and its argument types."""

    maker: Callable[..., Any]  # of a module's globals
    arguments: tuple[Any, ...]
    types: tuple[Any, ...]

    def compiled(self, capability: tuple) -> None:
        """Compile it, and keep it on disk."""
        kernel = self.maker(*self.arguments)
        kept_cubin(kernel.py_func, self.types, capability, kernel._cache.limits)

    def is_there(self, capability: tuple) -> bool:
        """Whether it is on disk."""
        kernel = self.maker(*self.arguments)
        return is_kept(kernel.py_func, self.types, capability, kernel._cache.limits)


def compile_beside(recipes: Sequence[Recipe]) -> None:
    """Compile what is not on disk: the first in this process, each other one in a process of its own.

    What cannot be compiled so is left to its first launch.
    """
    if simulated():
        return
    with contextlib.suppress(Exception):  # the insides of Numba are not the same in all its releases
        from numba.cuda.codegen import CUDACodeLibrary

        capability = CUDACodeLibrary(None, "")._ensure_cc(None)
        compile_missing(recipes, capability)


def compile_missing(recipes: Sequence[Recipe], capability: tuple) -> None:
    """`compile_beside`, for a device of which only the compute capability is known."""
    missing = [recipe for recipe in recipes if not recipe.is_there(capability)]
    with contextlib.ExitStack() as processes:
        for recipe in missing[1:]:
            processes.enter_context(_process(recipe, capability))
        for recipe in missing[:1]:
            recipe.compiled(capability)


@contextlib.contextmanager
def _process(recipe: Recipe, capability: tuple) -> Iterator[None]:
    """A process that compiles a kernel; waited for at the end, and stopped where this process is."""
    name = recipe.maker.__module__, recipe.maker.__qualname__
    given = pickle.dumps((name, recipe.arguments, recipe.types, capability))
    program = f"import sys; sys.path[:] = {list(map(str, sys.path))!r}; from {__name__} import main; main()"
    nothing = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=nothing, stderr=nothing)
    try:
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it died: the first launch compiles
            process.stdin.write(given)
            process.stdin.close()
        yield
        process.wait()
    finally:
        process.kill()
        process.wait()


def main() -> None:
    """Compile what standard input describes."""
    (module, name), arguments, types, capability = pickle.loads(sys.stdin.buffer.read())
    maker = getattr(importlib.import_module(module), name)
    Recipe(maker, arguments, types).compiled(capability)
    sys.stdout.flush()
    os._exit(0)  # nothing of the device is left to tidy
