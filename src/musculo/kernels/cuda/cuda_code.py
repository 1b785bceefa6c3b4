"""CUDA kernels compiled in seconds, and kept on disk between processes.

Numba hands the code of a device function to NVVM once for every way that leads to it: of 2362 modules of the kernel
that wraps paths 256 were distinct. NVVM then copies large functions into one of five megabytes, over which the
assembler takes longest. Here each module goes in once, and large functions stay functions. Measured without a device,
for compute capability 9.0, in CPU seconds: `benchmarks/gpu_start.py --compile` prints them.

What comes out is kept as machine code in a folder named by a hash of all sources of kernels and of the compilers, one
file a kernel, signature and compute capability. A file that is damaged counts as missing.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from musculo.kernels.compiler.store import folder_of, warn_once
from musculo.kernels.cuda.cuda_device import cuda_module, simulated

_KERNELS = Path(__file__).parent.parent
_COMPILERS = ("numba", "numba-cuda", "llvmlite", "cuda-core", "cuda-bindings", "nvidia-nvvm", "nvidia-nvjitlink")
_DIGEST = 32  # bytes of a SHA-256


class Limits(NamedTuple):
    """What holds the compiler back."""

    max_registers: int | None = None  # a thread
    large: int | None = None  # functions of more LLVM instructions are never copied into those that call them


NO_LIMITS = Limits()


def jit(function: Callable[..., Any], limits: Limits = NO_LIMITS) -> Any:
    """A CUDA kernel whose machine code is kept on disk."""
    if simulated():  # knows no registers, and compiles nothing
        return cuda_module().jit(function)
    dispatcher = cuda_module().jit(function, max_registers=limits.max_registers)
    dispatcher._cache = KeptKernels(dispatcher.py_func, limits)
    return dispatcher


class KeptKernels:
    """What Numba asks for compiled forms of a kernel. Where ours cannot be made, Numba compiles by itself."""

    def __init__(self, function: Callable[..., Any], limits: Limits) -> None:
        self._function, self.limits = function, limits

    def load_overload(self, argument_types: Any, target_context: Any) -> Any:
        """The kernel for these types: from disk, else compiled and kept."""
        try:
            from numba.cuda.codegen import CUDACodeLibrary

            capability = CUDACodeLibrary(None, "")._ensure_cc(None)
            entry, cubin = kept_cubin(self._function, argument_types, capability, self.limits)
            return _launchable(entry, cubin, argument_types, capability)
        except Exception as error:  # the insides of Numba are not the same in all its releases
            name = self._function.__name__
            warn_once(f"{name} is compiled as Numba does it, which may take minutes and is not kept: {error}")
            return None

    def save_overload(self, argument_types: Any, kernel: Any) -> None:
        """What Numba compiled by itself is not kept."""


def kept_cubin(
    function: Callable[..., Any], argument_types: Any, capability: tuple, limits: Limits = NO_LIMITS
) -> tuple[str, bytes]:
    """Name of the entry and machine code of a kernel: from disk, else compiled and kept."""
    file = _file(function, argument_types, capability, limits)
    found = _read(file)
    if found is None:
        found = compiled_cubin(function, argument_types, capability, limits)
        _write(file, *found)
    return found


def is_kept(function: Callable[..., Any], argument_types: Any, capability: tuple, limits: Limits) -> bool:
    """Whether its machine code is on disk, undamaged."""
    return _read(_file(function, argument_types, capability, limits)) is not None


def _file(function: Callable[..., Any], argument_types: Any, capability: tuple, limits: Limits) -> Path:
    text = f"{function.__module__}.{function.__qualname__}{argument_types}{limits}"
    name = f"{function.__name__}-{hashlib.sha256(text.encode()).hexdigest()[:16]}-sm_{_letters(capability)}"
    return _folder() / name


def compiled_cubin(
    function: Callable[..., Any], argument_types: Any, capability: tuple, limits: Limits = NO_LIMITS
) -> tuple[str, bytes]:
    """Name of the entry and machine code of a kernel. A device is needed for its compute capability only."""
    with _no_collection():
        library = lowered(function, argument_types, capability, limits)
        return library._entry_name, bytes(_assembled(library, capability, limits))


def lowered(function: Callable[..., Any], argument_types: Any, capability: tuple, limits: Limits = NO_LIMITS) -> Any:
    """Numba's library of a kernel and all that it calls, each function once."""
    from numba.core import types
    from numba.cuda.compiler import compile_cuda, kernel_fixup  # type: ignore[attr-defined]

    options = {"fastmath": False, "opt": 3}
    result = compile_cuda(
        function,
        types.void,
        argument_types,
        nvvm_options=options,
        cc=capability[:2],
        max_registers=limits.max_registers,
    )
    library, name = result.library, result.fndesc.llvm_func_name
    entry = library.get_function(name)
    library._entry_name = name
    kernel_fixup(entry, False)
    modules = {id(module): module for module in library.modules}.values()
    held = [] if limits.large is None else [one for one in _large_functions(modules, limits.large) if one is not entry]
    for one in held:
        one.attributes.add("noinline")
    library._llvm_strs = list(dict.fromkeys(map(str, modules)))
    for one in held:  # other kernels, with other limits, use the same functions
        one.attributes.discard("noinline")
    return library


def _large_functions(modules: Iterable[Any], large: int) -> list[Any]:
    functions = (one for module in modules for one in module.functions if "noinline" not in one.attributes)
    return [one for one in functions if sum(len(block.instructions) for block in one.blocks) > large]


def _assembled(library: Any, capability: tuple, limits: Limits) -> bytes:
    """PTX of a library, assembled by as many threads as there are cores where the linker can."""
    (ptx,) = library.get_asm_strs(cc=capability)
    try:
        try:
            from cuda.core import Linker, LinkerOptions, ObjectCode
        except ImportError:  # of releases before 0.5
            from cuda.core.experimental import Linker, LinkerOptions, ObjectCode

        options = LinkerOptions(
            arch=f"sm_{_letters(capability)}",
            max_register_count=limits.max_registers,
            split_compile=os.cpu_count() or 1,
        )
        linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
        return linker.link("cubin").code
    except Exception:  # another release, or another linker: as Numba does it
        return library.get_cubin(cc=capability).code


def _launchable(entry: str, cubin: bytes, argument_types: Any, capability: tuple) -> Any:
    """Numba's kernel object of machine code."""
    from cuda.core import ObjectCode
    from numba.core import types
    from numba.cuda.codegen import CUDACodeLibrary
    from numba.cuda.dispatcher import _Kernel
    from numba.cuda.typing import signature

    library = CUDACodeLibrary(None, entry, entry_name=entry)
    library._cubin_cache[capability] = ObjectCode.from_cubin(cubin)
    library._finalized = True
    return _Kernel._rebuild(
        cooperative=False,
        name=entry,
        signature=signature(types.none, *argument_types),
        codelibrary=library,
        debug=False,
        lineinfo=False,
        call_helper=None,
        extensions=[],
    )


def _letters(capability: tuple) -> str:
    return "".join(map(str, capability))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Without the collector of cycles, which takes an eighth of the time among a compiler's many objects."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@cache
def stamp() -> str:
    """A hash of all that compiled code comes from: every source file of kernels, and the compilers' releases."""
    digest = hashlib.sha256()
    for name in _COMPILERS:
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{name} {version(name)} ".encode())
    for file in sorted(_KERNELS.rglob("*.py")):
        digest.update(str(file.relative_to(_KERNELS)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _folder() -> Path:
    return folder_of(f"cuda-{stamp()}")


def _read(file: Path) -> tuple[str, bytes] | None:
    """What was kept in a file; None where it is missing or damaged."""
    try:
        content = file.read_bytes()
        digest, data = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(data).digest() != digest:
            return None
        header, cubin = data.split(b"\n", 1)
        return str(json.loads(header)), cubin
    except (OSError, ValueError):
        return None


def _write(file: Path, entry: str, cubin: bytes) -> None:
    """Keep machine code, as far as it can be: beside, then renamed, so that no process sees half of it."""
    data = json.dumps(entry).encode() + b"\n" + cubin
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.", suffix=".part", delete=False) as part:
            try:
                part.write(hashlib.sha256(data).digest() + data)
                part.close()
                os.replace(part.name, file)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part.name)
                raise
    except OSError as error:
        warn_once(f"compiled kernels cannot be kept in {file.parent} ({error}): each process compiles them anew")
