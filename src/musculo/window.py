"""Packages that show names of others: listed once in the stub `__init__.pyi`, imported when they are first used.

The stub is what type checkers and editors read, a line each: `from musculo.model.body import Body as Body`. So
`import musculo` takes no time, and no list has to agree with another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

_ROOT = Path(__file__).parent


def shown(package: str) -> dict[str, str]:
    """The names that the stub of a package of this one lists, and the modules that hold them."""
    stub = _ROOT.joinpath(*package.split(".")[1:], "__init__.pyi")
    text = stub.read_text(encoding="utf-8").replace("import (\n", "import ")  # a long line stands on three
    words = [line.split() for line in text.splitlines() if line.startswith("from ")]
    return {name: module for _, module, _, name, _, _ in words}


def at_the_top(name: str) -> str:
    """That a name is one of `musculo` itself, for a package below it."""
    return f"; it is musculo.{name}" if name in shown("musculo") else ""


def window(package: str, hint: Callable[[str], str] = at_the_top) -> tuple[list[str], Callable[[str], object]]:
    """The names that a package shows, and its `__getattr__`.

    Args:
        package: its name, `musculo.model`.
        hint: what to add to the error about an unknown name.
    """
    module_of = shown(package)

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint(name)}")
        module = module_of[name]
        # a folder of the root is shown as it is
        value = import_module(f"{module}.{name}") if module == "musculo" else getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(name for name, module in module_of.items() if module != "musculo"), get
