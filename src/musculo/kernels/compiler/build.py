"""Compiles a driver into an object file."""

from __future__ import annotations

import importlib
from typing import Any

from musculo.kernels.compiler.entry import Lowered, lowered, object_of


def part_at(where: str) -> Any:
    """The driver `module:name`."""
    module, name = where.split(":")
    return getattr(importlib.import_module(module), name)
