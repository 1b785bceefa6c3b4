"""A wheel that carries compiled code is for one kind of machine, and says so in its name; without it, it is for all.

`tools/build_kernels.py` makes the libraries; this hook only looks whether they are there.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARIES = Path("src", "musculo", "kernels", "compiler", "libraries")


class CompiledCode(BuildHookInterface):
    """Names the wheel for this machine where libraries are in it: any Python 3, no binary interface of Python's."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not any(Path(self.root, LIBRARIES).glob("*.so")):
            return
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{machine}"
        build_data["artifacts"] += [f"{LIBRARIES.as_posix()}/*"]
