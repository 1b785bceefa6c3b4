"""Files to models and results and back; the only place with foreign units and formats."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from musculo.io.osim import read_osim, write_osim

__all__ = ["read_osim", "write_osim"]


def __getattr__(name: str) -> Any:
    # Tables and markers are read without what models need.
    if name in __all__:
        return getattr(import_module("musculo.io.osim"), name)
    raise AttributeError(f"module 'musculo.io' has no attribute {name!r}")
