"""A package `musculo` with small drivers of its own in a nested folder of kernels: what compiles them is ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import musculo

_PACKAGE = Path(musculo.__file__).resolve().parent
_DRIVERS = """
from typing import NamedTuple

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.small.inner.steps import step


class Pair(NamedTuple):
    first: float
    second: float


@driver
def total(x, n):
    s = 0.0
    for k in range(n):
        s += step(x[k])
    return s


@driver
def weighted(pair, n):
    return n * (pair.first + 10.0 * pair.second)


@driver
def greedy(x, n):
    room = np.empty(n)
    room[0] = x[0]
    return room[0]
"""
_MORE = """
@driver
def power{k}(x, n):
    s = {k}.0
    for j in range(n):
        s *= step(x[j]) + {k}.0
    return s
"""
STEP = """
from musculo.kernels.compiler.parts import kernel


@kernel
def step(x):
    return {formula}
"""
POWERS = 4


def make_package(folder: Path) -> Path:
    """The folder that Python is to look into: the package by links, with `kernels/small` of its own."""
    package = folder / "musculo"
    for there, here in ((_PACKAGE, package), (_PACKAGE / "kernels", package / "kernels")):
        here.mkdir(parents=True)
        for entry in there.iterdir():
            if entry.name not in ("kernels", "__pycache__"):
                (here / entry.name).symlink_to(entry)
    inner = package / "kernels" / "small" / "inner"
    inner.mkdir(parents=True)
    for place in (inner, inner.parent):
        (place / "__init__.py").write_text("")
    text = _DRIVERS + "".join(_MORE.format(k=k) for k in range(1, POWERS + 1))
    (inner.parent / "drivers.py").write_text(text)
    set_step(folder, "2.0 * x")
    return folder


def set_step(folder: Path, formula: str) -> None:
    """What the nested kernel does."""
    (folder / "musculo" / "kernels" / "small" / "inner" / "steps.py").write_text(STEP.format(formula=formula))


def environment(package: Path, cache: Path, **env: str | None) -> dict[str, str]:
    """Of a process that uses the package with a cache; None takes a variable away."""
    known = {**os.environ, "PYTHONPATH": str(package), "MUSCULO_CACHE_DIR": str(cache), "MUSCULO_QUIET": "1", **env}
    return {name: value for name, value in known.items() if value is not None}


def started(script: str, package: Path, cache: Path, **env: str | None) -> subprocess.Popen[str]:
    """A process with the package."""
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    return subprocess.Popen(command, env=environment(package, cache, **env), stdout=pipe, stderr=pipe, text=True)


def printed(process: subprocess.Popen[str]) -> str:
    """What it printed; it must end well, with no word on stderr."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert err == "", err
    return out
