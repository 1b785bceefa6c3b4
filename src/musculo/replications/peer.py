"""OpenSim's side of a replication: its tools on set-up files, in a process of its own where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from musculo.errors import InvalidInput, MusculoError

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
# Numbers of each question, and of each answer, have its number in front of their names.
_QUESTIONS = """
import os, sys, traceback
import numpy as np
import opensim
opensim.Logger.setLevelString("off")
everything, answers = dict(np.load("given.npz")), {}
try:
    for k in range(int(everything["count"])):
        given = {name.split(" ", 1)[1]: one for name, one in everything.items() if name.startswith(f"{k} ")}
        answer = {}
        exec(str(everything[f"script {k}"]), {"opensim": opensim, "np": np, "given": given, "answer": answer})
        answers |= {f"{k} {name}": one for name, one in answer.items()}
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
np.savez("answer.npz", **answers)
os._exit(0)
"""


# The environment variable that names another Python, which has OpenSim.
PYTHON = "MUSCULO_OPENSIM_PYTHON"


def _python() -> str:
    """The interpreter that OpenSim runs in: the one that the environment names, else this one."""
    return os.environ.get(PYTHON) or sys.executable


def opensim_version() -> str:
    """The version of the installed OpenSim, or nothing.

    Raises:
        InvalidInput: the environment names an interpreter, and it has no OpenSim.
    """
    named = os.environ.get(PYTHON)
    if named:
        return _version_in(named)
    try:
        return version("opensim")
    except PackageNotFoundError:
        return ""


@cache
def _version_in(python: str) -> str:
    script = "import os, sys, opensim; print(opensim.__version__); sys.stdout.flush(); os._exit(0)"
    try:
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
    except OSError as error:
        raise InvalidInput(f"{PYTHON}={python} does not run ({error.strerror}); name a Python with OpenSim") from None
    if done.returncode or not done.stdout.strip():
        told = " ".join(done.stderr.split())[-200:]
        raise InvalidInput(f"{PYTHON}={python} has no OpenSim ({told or 'no message'}); name a Python that has it")
    return done.stdout.split()[-1]


def run_opensim(tools: Sequence[tuple[str, Path]], folder: Path) -> None:
    """Let OpenSim run tools, each a class and its set-up file: `("InverseDynamicsTool", setup)`.

    Raises:
        MusculoError: a tool failed; the message has the last lines it printed.
    """
    jobs = json.dumps([[tool, str(file)] for tool, file in tools])
    done = subprocess.run([_python(), "-c", _SCRIPT, jobs], cwd=folder, capture_output=True, text=True, check=False)
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
    (found,) = ask_opensim_all([(script, given)])
    return found


def ask_opensim_all(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, np.ndarray]]:
    """The same for several scripts, one after the other in one process, since OpenSim takes long to import.

    Args:
        questions: scripts, and what is given to each.
    """
    arrays: dict[str, Any] = {"count": np.asarray(len(questions))}
    for k, (script, given) in enumerate(questions):
        arrays |= {f"script {k}": np.asarray(script), **{f"{k} {name}": np.asarray(one) for name, one in given.items()}}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "given.npz", **arrays)
        command = [_python(), "-c", _QUESTIONS]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            told = " ".join((done.stderr or done.stdout).split())[-500:]
            raise MusculoError(f"OpenSim did not answer: {told or f'it ended with {done.returncode}'}")
        with np.load(Path(folder) / "answer.npz") as answers:
            found = dict(answers)
    return [
        {name.split(" ", 1)[1]: one for name, one in found.items() if name.startswith(f"{k} ")}
        for k in range(len(questions))
    ]
