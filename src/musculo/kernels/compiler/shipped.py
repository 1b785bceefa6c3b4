"""Libraries of compiled code that the package carries, one for each level of processor.

They lie in `libraries/`, with `index.json`: the layout of every driver's arguments by the name of its code. A driver
whose sources were changed since has another name, is not found, and is compiled. `tools/build_kernels.py` makes them.
"""

from __future__ import annotations

import ctypes
import json
import os
from functools import cache
from pathlib import Path

from musculo.kernels.compiler.driver_code import Code, Layout
from musculo.kernels.compiler.options import levels_here

FOLDER = Path(__file__).with_name("libraries")
INDEX = "index.json"


def library_file(level: str) -> str:
    """The name of a level's library, on every system."""
    return f"musculo-{level}.so"


@cache
def _index() -> dict[str, Layout]:
    """Layouts by the names of codes; none where no library serves this machine."""
    if os.environ.get("MUSCULO_SHIPPED", "1") in ("", "0") or _library() is None:
        return {}
    try:
        content = json.loads((FOLDER / INDEX).read_text(encoding="utf-8"))
        return {name: Layout(size, tuple(offsets), *rest) for name, (size, offsets, *rest) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):  # damaged: then drivers are compiled
        return {}


@cache
def _library() -> ctypes.CDLL | None:
    """The best that this machine can run."""
    if not FOLDER.is_dir():
        return None
    for level in levels_here():
        file = FOLDER / library_file(level)
        if file.exists():
            try:
                return ctypes.CDLL(os.fspath(file))
            except OSError:  # of another system, or damaged
                continue
    return None


def level() -> str | None:
    """The level of the library that serves; None where none does."""
    library = _library() if _index() else None
    return None if library is None else next(name for name in levels_here() if library_file(name) in library._name)


def has(name: str) -> bool:
    """Whether code of this name is in the library."""
    return name in _index()


def find(name: str) -> Code | None:
    """Code of this name; None where it does not ship."""
    layout, library = _index().get(name), _library()
    if layout is None or library is None:
        return None
    try:
        fill, run = (ctypes.cast(library[f"{kind}_{name}"], ctypes.c_void_p).value for kind in ("fill", "run"))
    except AttributeError:  # a library of another version than the index
        return None
    assert fill is not None
    assert run is not None
    return Code(fill, run, layout, library)
