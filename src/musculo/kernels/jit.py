"""How kernels are compiled: once per machine, into a folder that knows the sources they came from.

Numba's own cache looks at the file of one function only; a kernel that calls functions of other files would go stale
in silence. Ours lives in a folder named by a hash of every source it is made of, so a change there starts it afresh.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.caching import CompileResultCacheImpl, _CacheLocator
from numba.extending import intrinsic

from musculo.kernels.cache_files import HealingCache, folder_of

# Products may fuse with sums, as on the GPU; no other liberty is taken with the order of operations.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
# Kernels own no memory, so they need no reference counts; counting the arrays of a model at every small call would
# cost more than the mechanics (measured: 2.7 against 0.6 us a frame).
_NO_COUNTS: dict[str, Any] = {"_nrt": False}


_FOLDER = Path(__file__).parent


@cache
def _sources(path: Path) -> tuple[Path, ...]:
    """The files that a kernel's code is made of: its own and all kernel modules it imports, directly or not."""
    found, waiting = {_FOLDER / "jit.py"}, {path}
    while waiting:
        file = waiting.pop()
        found.add(file)
        imported = re.findall(r"musculo\.kernels\.(\w+) import", file.read_text(encoding="utf-8"))
        waiting |= {_FOLDER / f"{name}.py" for name in imported} - found
    return tuple(sorted(found))


@cache
def _sources_hash(path: Path) -> str:
    """A fingerprint of the sources that a file's kernels are compiled from, and of the compiler."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in _sources(path):
        digest.update(file.name.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class _KernelLocator(_CacheLocator):
    """Tells Numba to keep a kernel in a folder named by its module and the hash of all sources it is made of."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._line = function.__code__.co_firstlineno
        self._file = Path(function.__code__.co_filename)

    def get_cache_path(self) -> str:
        return str(folder_of(f"{self._file.stem}-{self.get_source_stamp()}"))

    def get_source_stamp(self) -> str:
        return _sources_hash(self._file)

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], path: str) -> _KernelLocator:
        return cls(function)


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes: list[Any] = [_KernelLocator]  # noqa: RUF012 (Numba's own attribute)


class _KernelCache(HealingCache):
    _impl_class = _KernelCacheImpl


class _DriverCache(_KernelCache):
    """Says that somebody has to wait, where a driver is not compiled yet."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            compiling_begins()
        return found


def _unheard() -> None:
    """Nobody hears of it until `musculo.compile.waiting` listens."""


# Called wherever a driver has to be compiled.
compiling_begins: Callable[[], None] = _unheard


def _cached(function: Callable[..., Any], cache: type[_KernelCache], **options: Any) -> Any:
    dispatcher = numba.njit(**_OPTIONS, **options)(function)
    dispatcher._cache = cache(dispatcher.py_func)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel for the CPU on first use; the result is kept for the next process. It may not allocate."""
    return _cached(function, _KernelCache, **_NO_COUNTS)


@intrinsic
def apart(typingctx):
    """Called inside a kernel: its code is never copied into those that call it.

    For what is long and called from many places: LLVM would optimise every copy of it again.
    """

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.none(), codegen


def _anywhere() -> None:
    """What `apart` means on the GPU and in plain Python: nothing."""


apart.py_func = _anywhere  # type: ignore[attr-defined]


def driver(function: Callable[..., Any]) -> Any:
    """As `kernel`, for the loops over frames that allocate the workspaces kernels run in."""
    return _cached(function, _DriverCache)


def inline(function: Callable[..., Any]) -> Any:
    """A small part of kernels, always inlined into its caller; it has no compiled form of its own to keep."""
    return numba.njit(forceinline=True, **_OPTIONS, **_NO_COUNTS)(function)


def spliced(function: Callable[..., Any]) -> Any:
    """A part of kernels that is copied into its caller before that is compiled.

    For what takes the whole model or calls large functions: as a function of its own it would be compiled once for
    itself and once more inside every caller.
    """
    return numba.njit(inline="always", **_OPTIONS, **_NO_COUNTS)(function)
