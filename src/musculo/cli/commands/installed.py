"""`musculo info` without a model: what is installed, and whose compiled code serves; for reports of bugs."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from musculo import __version__
from musculo.kernels.compiler import canonical, shipped, store
from musculo.kernels.compiler.names import code_name_at

_PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "typer", "rich")


class Compiled(NamedTuple):
    """Where the drivers of the list are found."""

    total: int
    shipped: int  # in the library that the package carries
    level: str | None  # the processor for which that was made
    cached: int  # in the user's cache, beside those
    folder: str  # of the cache
    size: int  # of what lies there [bytes]

    def __str__(self) -> str:
        parts = []
        if self.shipped:
            parts.append(f"{self.shipped} of {self.total} drivers ship with the package ({self.level})")
        if self.cached:
            parts.append(f"{self.cached} of {self.total} drivers are in {self.folder} ({self.size / 1e6:.1f} MB)")
        left = self.total - self.shipped - self.cached
        if left:
            kept = "" if self.cached else f" and kept in {self.folder}"
            parts.append(f"{left} of {self.total} are compiled when they are first called{kept} (`musculo warmup`)")
        return ", ".join(parts) or "no drivers are listed"

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return self._asdict()


def compiled_code() -> Compiled:
    """Which compiled code serves the drivers of the list."""
    names = [code_name_at(entry.where, entry.signature) for entry in canonical.listed()]
    carried = [name for name in names if shipped.has(name)]
    cached = [name for name in names if name not in carried and store.is_there(name)]
    folder = store.machine_folder()
    size = sum(file.stat().st_size for file in folder.glob("*.o")) if folder.is_dir() else 0
    return Compiled(len(names), len(carried), shipped.level(), len(cached), str(folder), size)


def print_installed(as_json: bool, quiet: bool = False) -> None:
    """Print versions, the machine, and whose compiled code serves."""
    found = compiled_code()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    packages = {name: _version(name) for name in _PACKAGES}
    if as_json:
        told = {"musculo": __version__, "python": python, "machine": machine, "packages": packages}
        print(json.dumps({**told, "compiled_code": found.to_json()}, indent=2, ensure_ascii=False))
    elif not quiet:
        print(f"musculo {__version__}")
        print(f"  {python}, {machine}")
        print(f"  {', '.join(f'{name} {text}' for name, text in packages.items())}")
        print(f"  compiled code: {found}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
