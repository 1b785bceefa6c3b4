"""OpenSim's side of a replication: its tools on set-up files, in a process of its own where it is installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from musculo.errors import MusculoError

# OpenSim keeps the state of a model's <defaults> from file to file and may crash when it ends, so it gets a process
# of its own, and leaves it without taking itself apart.
_SCRIPT = """
import json, os, sys
import opensim
opensim.Logger.setLevelString("off")
for tool, file in json.loads(sys.argv[1]):
    if not getattr(opensim, tool)(file).run():
        os._exit(1)
os._exit(0)
"""
_QUESTION = """
import os, sys, traceback
import numpy as np
import opensim
opensim.Logger.setLevelString("off")
given, answer = dict(np.load("given.npz")), {{}}
try:
{}
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
np.savez("answer.npz", **answer)
os._exit(0)
"""


def opensim_version() -> str:
    """The version of the installed OpenSim, or nothing."""
    try:
        return version("opensim")
    except PackageNotFoundError:
        return ""


def run_opensim(tools: Sequence[tuple[str, Path]], folder: Path) -> None:
    """Let OpenSim run tools, each a class and its set-up file: `("InverseDynamicsTool", setup)`.

    Raises:
        MusculoError: a tool failed; the message has the last lines it printed.
    """
    jobs = json.dumps([[tool, str(file)] for tool, file in tools])
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, jobs], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        told = " ".join((done.stderr or done.stdout).split())[-500:]
        raise MusculoError(
            f"OpenSim's {', '.join(tool for tool, _ in tools)} failed in {folder}: {told or 'no message'}"
        )


def ask_opensim(script: str, given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Let a script ask OpenSim for numbers, in a process of its own.

    Args:
        script: Python source. It finds what is given in the dict `given` (arrays by name), has `opensim` and `np`
            imported and OpenSim's log off, and leaves its answers in the dict `answer`.
        given: numbers, texts and arrays by name.

    Raises:
        MusculoError: the script failed; the message has the last lines it printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in given.items()}
        np.savez(Path(folder) / "given.npz", **arrays)
        source = _QUESTION.format(textwrap.indent(script, "    "))
        done = subprocess.run([sys.executable, "-c", source], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            told = " ".join((done.stderr or done.stdout).split())[-500:]
            raise MusculoError(f"OpenSim did not answer: {told or f'it ended with {done.returncode}'}")
        with np.load(Path(folder) / "answer.npz") as found:
            return dict(found)
