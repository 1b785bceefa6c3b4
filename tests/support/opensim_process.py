"""OpenSim in a process of its own: it may crash while it takes itself apart, and it changes folders and precision.

A module of jobs runs as `python -m support.MODULE JOBS.json OUT.pickle`. JOBS is a list of [what, arguments...], where
`what` is the name of one of its functions without its underscore; OUT is the list of answers, or of {"error": text}.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TESTS = str(Path(__file__).resolve().parents[1])


def ask(module: str, jobs: list, folder: Path) -> list:
    """Let OpenSim do the jobs of a module of `support`."""
    wanted, answer = folder / "jobs.json", folder / "answers.pickle"
    wanted.write_text(json.dumps(jobs))
    done = subprocess.run(
        [sys.executable, "-m", f"support.{module}", str(wanted), str(answer)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([_TESTS, *sys.path])},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return pickle.loads(answer.read_bytes())


def answer(functions: Mapping[str, Any], jobs: str, target: str) -> None:
    """In the other process: do the jobs by the functions of a module, and end before OpenSim takes itself apart."""
    import opensim

    opensim.Logger.setLevelString("off")
    answers = []
    for what, *arguments in json.loads(Path(jobs).read_text()):
        try:
            answers.append(functions[f"_{what}"](opensim, *arguments))
        except RuntimeError as error:
            answers.append({"error": str(error)})
    Path(target).write_bytes(pickle.dumps(answers))
    os._exit(0)
