"""Processes that compile drivers, as many as there are processors, in the order of need.

A driver that Python calls is compiled at once, and whoever called it waits. `ahead` names what will be called next, so
that the other processors have something to do. Two programs that need the same driver compile it once: one waits for
the other.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from musculo.kernels.compiler import canonical, store
from musculo.kernels.compiler.build import Built, Job, build
from musculo.kernels.compiler.code import Code, Layout, has_code
from musculo.kernels.compiler.names import code_name_at

# What compiling a driver takes that is on no list [s].
_UNLISTED = 5.0
# Reports of a compile that goes on come so often [s].
_OFTEN = 0.2
_PATIENCE = 0.05


class Progress(NamedTuple):
    """How far compiling has come."""

    driver: str  # one that is being compiled
    done: int  # drivers
    total: int
    seconds_left: float  # until all are there


class CompileFailed(RuntimeError):
    """A driver that Numba does not compile: a fault of the package, or of its installation."""


class _Task:
    def __init__(self, job: Job, seconds: float) -> None:
        self.job, self.seconds = job, seconds
        self.began: float | None = None
        self.done = threading.Event()
        self.built: Built | None = None
        self.error: str | None = None  # why no process compiled it


class _Pool:
    """Processes and what they have to do."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._waiting: list[_Task] = []
        self._tasks: dict[str, _Task] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle = 0
        self._slower = 1.0  # than the machine on which the list was written

    def ask(self, job: Job, seconds: float, first: bool) -> _Task:
        """Have a driver compiled, before all others if `first`."""
        with self._change:
            task = self._tasks.get(job.name)
            if task is None or (task.done.is_set() and task.built is None):
                task = self._tasks[job.name] = _Task(job, seconds)
                self._waiting.append(task)
                if self._idle < len(self._waiting) and len(self._processes) < _processors():
                    self._start()
            if first and task in self._waiting:
                self._waiting.remove(task)
                self._waiting.insert(0, task)
            self._change.notify()
        return task

    def _start(self) -> None:
        # as this process finds its modules
        text = f"import sys; sys.path[:] = {sys.path!r}; from musculo.kernels.compiler.build import main; main()"
        process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
        )
        self._processes.append(process)
        threading.Thread(target=self._feed, args=(process,), daemon=True).start()

    def _next(self) -> _Task:
        with self._change:
            self._idle += 1
            while not self._waiting:
                self._change.wait()
            self._idle -= 1
            task = self._waiting.pop(0)
            task.began = task.began or time.monotonic()
            return task

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        """Give one process a driver after the other."""
        assert process.stdin is not None
        assert process.stdout is not None
        while True:
            task = self._next()
            try:
                with self._change:
                    patient = not self._waiting  # else there is something to do that nobody else does
                process.stdin.write(json.dumps((task.job, patient)).encode() + b"\n")
                process.stdin.flush()
                told = json.loads(process.stdout.readline())
                image = process.stdout.read(told.get("size", 0))
                if told.get("busy"):
                    with self._change:
                        self._waiting.append(task)
                    time.sleep(_PATIENCE)
                    continue
                if "error" in told:
                    task.error = told["error"]
                else:
                    size, offsets, result, result_size = told["layout"]
                    task.built = Built(Layout(size, tuple(offsets), result, result_size), image, told["seconds"])
                    if told["seconds"] and task.began is not None:
                        self._slower = (time.monotonic() - task.began) / max(task.seconds, 0.1)
                task.done.set()
            except (OSError, ValueError) as error:  # the process died
                with self._change:
                    self._processes.remove(process)
                    task.error = f"the process that compiled it ended ({error})"
                task.done.set()
                return

    def progress(self) -> Progress:
        """Of all that was asked for."""
        now, running, left, longest = time.monotonic(), "", 0.0, 0.0
        tasks = list(self._tasks.values())
        for task in tasks:
            if task.done.is_set():
                continue
            mine = task.seconds * self._slower
            if task.began is not None:
                running = running or task.job.where.split(":")[1]
                # one that takes longer than it should is nearly there, for ever
                mine = max(mine - (now - task.began), 0.1 * mine)
            left, longest = left + mine, max(longest, mine)
        done = sum(task.done.is_set() for task in tasks)
        return Progress(running, done, len(tasks), max(left / _processors(), longest))

    def stop(self) -> None:
        """End the processes: they end with their input, too, but a compile under way would be waited for."""
        for process in self._processes:
            process.kill()


def _processors() -> int:
    asked = os.environ.get("MUSCULO_COMPILERS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _environment() -> dict[str, str]:
    # one thread each: there are as many processes as processors
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}


_pool: _Pool | None = None
_lock = threading.Lock()


def _the_pool() -> _Pool:
    """That of this process; one that was forked has none of its own yet."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = _Pool()
            atexit.register(_pool.stop)
        return _pool


def _forget() -> None:
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# Called while somebody waits, again and again; None: nobody hears of it.
listener: Callable[[Progress], None] | None = None


def ahead(drivers: Iterable[str]) -> int:
    """Begin to compile these drivers (module:name), as far as they are listed and not there yet; says how many."""
    count = 0
    wanted = set(drivers)
    for where, signature, seconds in canonical.listed():
        if where in wanted and not has_code(where, signature):
            _the_pool().ask(Job(where, signature, code_name_at(where, signature)), seconds, first=False)
            count += 1
    return count


def wait(report: Callable[[Progress], None] | None = None) -> None:
    """Until all that was asked for is there."""
    pool = _the_pool()
    for task in list(pool._tasks.values()):
        _wait(pool, task, report)


def _wait(pool: _Pool, task: _Task, report: Callable[[Progress], None] | None) -> None:
    while not task.done.wait(_OFTEN):
        if report is not None:
            report(pool.progress())
    if report is not None:
        report(pool.progress())


def compiled(driver: Any, where: str, name: str, signature: str) -> Code:
    """A driver's code, compiled now; functions that are not the package's are compiled in this process."""
    job = Job(where, signature, name)
    if where.startswith("musculo.") and "<locals>" not in where:
        seconds = next((s for w, text, s in canonical.listed() if w == where and text == signature), _UNLISTED)
        pool = _the_pool()
        try:
            task = pool.ask(job, seconds, first=True)
        except OSError:  # no process can be started
            task = None
        if task is not None:
            _wait(pool, task, listener)
            if task.built is not None:
                return store.loaded(name, task.built.image, task.built.layout)
            if task.error is not None and not task.error.startswith("the process"):
                raise CompileFailed(f"{where} does not compile for {signature}: {task.error}")
    with store.alone(name, True):
        found = store.find(name)
        if found is not None:
            return found
        built = build(driver, job)
    return store.loaded(name, built.image, built.layout)
