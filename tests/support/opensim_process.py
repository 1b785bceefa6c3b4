"""Jobs for OpenSim, several in one process of their own.

A module of jobs has functions `_what(opensim, *arguments)`; jobs are a list of [what, arguments...], answers the list
of what they return, or of {"error": text}.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from support.opensim_server import in_opensim


def ask(module: str, jobs: list, folder: Path) -> list:
    """Let OpenSim do the jobs of a module of `support`."""
    return in_opensim(answers, module, jobs, folder=folder)


def answers(module: str, jobs: list) -> list:
    """In the other process: do the jobs by the functions of a module."""
    import opensim

    functions = vars(importlib.import_module(f"support.{module}"))
    found: list[Any] = []
    for what, *arguments in jobs:
        try:
            found.append(functions[f"_{what}"](opensim, *arguments))
        except RuntimeError as error:
            found.append({"error": str(error)})
    return found
