"""Many jobs for OpenSim, each in a process of its own that costs a fork only.

OpenSim keeps `<defaults>` from one model to the next and may crash or hang on an odd file. A server imports it once and
forks a child for every job; a child that crashes or takes too long is an answer, too.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_TESTS = str(Path(__file__).resolve().parents[1])


class OpenSimServer:
    """`ask(job, ...)` does `_job(opensim, ...)` of a module of `support`: its answer, or {"error": OpenSim's words}."""

    def __init__(self, module: str, patience: int = 60) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.opensim_server", module, str(patience)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.folder.name,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([_TESTS, *sys.path])},
        )

    def __enter__(self) -> OpenSimServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, job: str, *arguments: Any) -> Any:
        answer = Path(self.folder.name) / "answer.pickle"
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(answer), job, *arguments]) + "\n")
        self.process.stdin.flush()
        ended = self.process.stdout.readline().strip()
        if ended != "done":
            return {"error": f"OpenSim {ended or 'server ended'}", "crashed": True}
        return pickle.loads(answer.read_bytes())


def _serve(module: str, patience: float) -> None:
    import opensim

    opensim.Logger.setLevelString("off")
    functions = vars(importlib.import_module(f"support.{module}"))
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # OpenSim prints where it likes
    for line in sys.stdin:
        target, job, *arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                answer = functions[f"_{job}"](opensim, *arguments)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            Path(target).write_bytes(pickle.dumps(answer))
            os._exit(0)
        replies.write(_ended(child, patience) + "\n")
        replies.flush()


def _ended(child: int, patience: float) -> str:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "done" if status == 0 else f"crashed with {status}"
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"ran longer than {patience:g} s"


if __name__ == "__main__":
    _serve(sys.argv[1], float(sys.argv[2]))
