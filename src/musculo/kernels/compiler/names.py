"""What compiled code is named by: a hash of all that it is made of.

The compiler's version and the processor are not in it: libraries that ship serve whatever Numba a user has. The user's
own cache keeps code apart by both (`store`).
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_PACKAGE = Path(__file__).parents[2]
_HERE = Path(__file__).parent
# The files of the compiler that machine code is made by; the others only find, keep and call it.
_MAKERS = (*sorted(_HERE.glob("machine_code/[a-z]*.py")), _HERE / "options.py")
_IMPORT = re.compile(
    rb"^\s*(?:from\s+musculo\.(kernels[\w.]*)\s+import|import\s+musculo\.(kernels[\w.]*))", re.MULTILINE
)


@cache
def _read(file: Path) -> tuple[bytes, tuple[Path, ...]]:
    """A source's fingerprint, and the kernel modules that it imports."""
    content = file.read_bytes()
    found = (Path(_PACKAGE, *(a or b).decode().split(".")) for a, b in _IMPORT.findall(content))
    files = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py") for path in found)
    return hashlib.sha256(content).digest(), tuple(sorted(files))


@cache
def sources(file: Path) -> tuple[Path, ...]:
    """The files that a module's kernels are made of: its own and every kernel module it imports, directly or not.

    Imports between kernels are written `from musculo.kernels... import ...`; folders inside folders are followed.
    """
    found, waiting = set(), {file, *_MAKERS}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= {p for p in _read(path)[1] if not p.is_relative_to(_HERE)} - found
    return tuple(sorted(found))


@cache
def sources_hash(file: Path) -> str:
    """A fingerprint of these files."""
    digest = hashlib.sha256()
    for path in sources(file):
        inside = path.relative_to(_PACKAGE) if path.is_relative_to(_PACKAGE) else path.name
        digest.update(str(inside).encode())
        digest.update(_read(path)[0])
    return digest.hexdigest()


def code_name(function: str, file: Path, signature: str) -> str:
    """The name of a driver's code for certain arguments; it is also that of its functions in a library."""
    text = f"{sources_hash(file)} {function} {signature}"
    return f"{_letters(function)}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _letters(function: str) -> str:
    """What may stand in the name of a file and of a symbol."""
    return re.sub(r"\W", "_", function)


def code_name_at(where: str, signature: str) -> str:
    """The same for a driver `module:name` of the package, which need not be imported for it."""
    module, function = where.split(":")
    return code_name(function, Path(_PACKAGE.parent, *module.split(".")).with_suffix(".py"), signature)


def is_of_package(where: str) -> bool:
    """Whether a driver is the package's own, which another process can import."""
    return where.startswith("musculo.") and "<locals>" not in where and "<lambda>" not in where


def has_changed(where: str, signature: str, name: str) -> bool:
    """Whether the sources of a driver are others than those that its code was named by: somebody edits them now."""
    for known in (_read, sources, sources_hash):
        known.cache_clear()
    return is_of_package(where) and code_name_at(where, signature) != name


# --- functions that are not the package's -----------------------------------------------------------------------------
def script_name(part: Any, signature: str) -> str:
    """The name of the code of a driver that a script defines: by what it does, and all constants that it uses.

    Its file says too little: one line may define many functions, and constants may come from anywhere.
    """
    digest = hashlib.sha256(signature.encode())
    for text in _content(part.py_func, set()):
        digest.update(text)
    return f"{_letters(part.py_func.__name__)}_{digest.hexdigest()[:20]}"


def _content(value: Any, seen: set[int]) -> Iterator[bytes]:
    """What tells a value apart in compiled code; what cannot be told is apart from everything."""
    if id(value) in seen:
        return
    function = getattr(value, "py_func", value)
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None), np.generic)):
        yield f"{type(value).__name__} {value!r};".encode()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        yield f"{value.dtype.str} {value.shape};".encode() + value.tobytes()
    elif isinstance(value, (tuple, frozenset)):
        yield f"{type(value).__qualname__} {len(value)};".encode()
        for part in value if isinstance(value, tuple) else sorted(value, key=repr):
            yield from _content(part, seen)
    elif isinstance(value, CodeType):
        yield value.co_code
        for part in (value.co_names, value.co_varnames, value.co_freevars, value.co_consts):
            yield from _content(part, seen)
    elif isinstance(value, (type, ModuleType)):
        yield f"{value.__module__ if isinstance(value, type) else ''}:{value.__name__};".encode()
        yield repr(getattr(value, "_fields", "")).encode()
    elif isinstance(getattr(function, "__code__", None), CodeType):
        seen.add(id(value))
        module, code = function.__module__ or "", function.__code__
        yield f"{module}:{function.__qualname__} {getattr(value, 'targetoptions', '')};".encode()
        if is_of_package(f"{module}:{function.__qualname__}"):
            yield sources_hash(Path(code.co_filename)).encode()
            return
        yield from _makers()
        yield from _content(code, seen)
        yield from _content(function.__defaults__, seen)
        for cell in function.__closure__ or ():
            yield from _content(cell.cell_contents, seen)
        for name in sorted(_names(code)):
            if name in function.__globals__:
                yield name.encode()
                yield from _content(function.__globals__[name], seen)
    elif type(value).__name__ == "builtin_function_or_method" or isinstance(value, np.ufunc):
        yield value.__name__.encode()
    elif type(value).__module__.startswith("musculo.kernels.compiler."):
        yield f"{type(value).__qualname__} {value.__name__};".encode()
    else:
        yield os.urandom(16)


def _names(code: CodeType) -> set[str]:
    inner = (part for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _makers() -> Iterator[bytes]:
    return (_read(file)[0] for file in _MAKERS)
