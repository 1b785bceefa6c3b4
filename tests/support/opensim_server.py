"""OpenSim in processes of their own that cost a fork only.

OpenSim keeps `<defaults>` from one model to the next, changes folders and the precision of numbers, may crash or hang
on an odd file, and may crash while it takes itself apart. So a server imports it, loads no model, and forks a child for
every job; a child that crashes or takes too long is an answer, too.
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
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_TESTS = str(Path(__file__).resolve().parents[1])


class Ended(NamedTuple):
    """What a child returned, why it failed ("" where it did not), and all that it printed."""

    answer: Any
    failure: str
    log: str

    def checked(self) -> Any:
        """The answer of a child that must not fail."""
        assert not self.failure, f"{self.failure}\n{self.log[-2000:]}"
        return self.answer


class OpenSimServer:
    """Calls functions of modules of tests, each in a child of its own; ends with the process that made it."""

    def __init__(self, module: str = "", patience: float = 300.0) -> None:
        self.module, self.patience = module, patience
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.opensim_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([_TESTS, *sys.path])},
        )

    def call(self, function: Callable[..., Any], *arguments: Any, folder: Path | str | None = None) -> Ended:
        """`function(*arguments)` in a child that stands in `folder`; the arguments must fit into JSON."""
        where = str(Path(folder).absolute()) if folder is not None else ""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.lock:
            job = [function.__module__, function.__name__, arguments, where, self.patience]
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            told = self.process.stdout.readline()
            if not told:
                return Ended(None, "server ended", "")
            failure, answer, log = json.loads(told)
            printed = Path(log).read_text(encoding="utf-8", errors="replace")
            return Ended(None if failure else pickle.loads(Path(answer).read_bytes()), failure, printed)

    def ask(self, job: str, *arguments: Any) -> Any:
        """`_job(opensim, *arguments)` of the module of `support`: its answer, or {"error": OpenSim's words}."""
        ended = self.call(answer_of, self.module, job, *arguments)
        return {"error": f"OpenSim {ended.failure}", "crashed": True} if ended.failure else ended.answer


# One of a kind for all tests of a process.
the_server = cache(OpenSimServer)


def in_opensim(function: Callable[..., Any], *arguments: Any, folder: Path | str | None = None) -> Any:
    """What a function that uses OpenSim returns, from a process of its own; it must not fail."""
    return the_server().call(function, *arguments, folder=folder).checked()


# --- in the other process --------------------------------------------------------------------------------------------
def answer_of(module: str, job: str, *arguments: Any) -> Any:
    import opensim

    try:
        return vars(importlib.import_module(f"support.{module}"))[f"_{job}"](opensim, *arguments)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _serve() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # OpenSim prints where it likes
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # and writes its log
        import opensim

        opensim.Logger.setLevelString("off")
        answer, log = os.path.join(folder, "answer.pickle"), os.path.join(folder, "log")
        for line in sys.stdin:
            module, name, arguments, where, patience = json.loads(line)
            # here, so that the next child finds it and all that it imports
            function = getattr(importlib.import_module(module), name)
            Path(answer).unlink(missing_ok=True)
            child = os.fork()
            if child == 0:
                os._exit(_child(function, arguments, where or folder, answer, log))
            replies.write(json.dumps([_ended(child, patience), answer, log]) + "\n")
            replies.flush()


def _child(function: Callable[..., Any], arguments: list, folder: str, answer: str, log: str) -> int:
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    try:
        os.chdir(folder)
        Path(answer).write_bytes(pickle.dumps(function(*arguments)))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _ended(child: int, patience: float) -> str:
    """How a child failed; "" where it did not."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "" if status == 0 else f"crashed with {status}"
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"ran longer than {patience:g} s"


if __name__ == "__main__":
    _serve()
