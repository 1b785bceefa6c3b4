"""Processes that compile drivers, as many as there are processors, in the order of need.

A driver that Python calls is compiled at once, and whoever called it waits. `ahead` names what will be called next, so
that the other processors have something to do. A driver that takes longer than all others together is compiled from the
beginning, by one processor, while the others go on in the order of need. Two programs that need the same driver compile
it once: one waits for the other.
"""

from __future__ import annotations

import atexit
import heapq
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
# What a process takes until it compiles: Numba is imported [s].
_STARTING = 1.5
# So much compiling counts as measured when none is: the first small driver says little about a machine [s].
_BELIEVED = 5.0


class Progress(NamedTuple):
    """How far compiling has come."""

    driver: str  # the one that is waited for, or one that is being compiled
    done: int  # drivers
    total: int
    part: float  # of the work that is done, 0 to 1
    seconds_left: float  # until all are there


class CompileFailed(RuntimeError):
    """A driver that Numba does not compile: a fault of the package, or of its installation."""


class _Task:
    def __init__(self, job: Job, seconds: float) -> None:
        self.job, self.seconds = job, seconds
        self.wanted = False  # somebody waits for it
        self.starting = 0.0  # of its seconds, those in which its process starts
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
        self._counted: list[_Task] = []  # since all was there last
        self._early: _Task | None = None  # compiled before its turn, because it takes longest
        self._processes: list[subprocess.Popen[bytes]] = []
        self._idle = 0
        self._took = self._listed = _BELIEVED  # seconds of what was compiled, here and on the list's machine

    def ask(self, jobs: Iterable[tuple[Job, float]], first: bool) -> list[_Task]:
        """Have drivers compiled, each with the seconds that it takes; before all others if `first`."""
        tasks = []
        with self._change:
            if all(task.done.is_set() for task in self._counted):
                self._counted = []
            for job, seconds in jobs:
                task = self._tasks.get(job.name)
                if task is None or (task.done.is_set() and task.built is None):
                    task = self._tasks[job.name] = _Task(job, seconds)
                    self._waiting.append(task)
                    self._counted.append(task)
                if first:
                    task.wanted = True
                    if task in self._waiting:
                        self._waiting.remove(task)
                        self._waiting.insert(0, task)
                tasks.append(task)
            for _ in range(min(len(self._waiting) - self._idle, _processors() - len(self._processes))):
                self._start()
            self._change.notify_all()
        return tasks

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
            task = self._chosen()
            self._waiting.remove(task)
            task.began = task.began or time.monotonic()
            return task

    def _chosen(self) -> _Task:
        """The first, or the longest where all would wait for it at the end."""
        first = self._waiting[0]
        longest = max(self._waiting, key=lambda task: task.seconds)
        rest = sum(task.seconds for task in self._waiting) - longest.seconds
        one_is_early = self._early is not None and not self._early.done.is_set()
        if _processors() == 1 or first.wanted or one_is_early or longest.seconds < rest / _processors():
            return first
        self._early = longest
        return longest

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        """Give one process a driver after the other."""
        assert process.stdin is not None
        assert process.stdout is not None
        starting = _STARTING
        while True:
            task = self._next()
            task.starting, starting = starting, 0.0
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
                    if told["seconds"]:
                        with self._change:
                            self._took, self._listed = self._took + told["seconds"], self._listed + task.seconds
                task.done.set()
            except (OSError, ValueError) as error:  # the process died
                with self._change:
                    self._processes.remove(process)
                    task.error = f"the process that compiled it ended ({error})"
                task.done.set()
                return

    def progress(self) -> Progress:
        """Of all that was asked for since all was there last."""
        now = time.monotonic()
        with self._change:
            tasks, waiting, slower = list(self._counted), list(self._waiting), self._took / self._listed
        done = [task for task in tasks if task.done.is_set()]
        running = [task for task in tasks if not (task.done.is_set() or task in waiting)]
        finished, ends = sum(task.seconds for task in done), []
        for task in running:
            spent, whole = now - (task.began or now), (task.seconds + task.starting) * slower
            # one that takes longer than it should goes on for a tenth of what it took
            left = max(whole - spent, 0.1 * spent)
            ends.append(left)
            finished += task.seconds * spent / (spent + left)
        ends += [0.0] * (_processors() - len(ends))
        heapq.heapify(ends)
        for task in waiting:  # each by the processor that is free first
            heapq.heapreplace(ends, ends[0] + task.seconds * slower)
        shown = next((task for task in running if task.wanted), running[0] if running else None)
        name = shown.job.where.split(":")[1] if shown is not None else ""
        part = finished / max(sum(task.seconds for task in tasks), 1e-9)
        return Progress(name, len(done), len(tasks), part, max(ends))

    def stop(self) -> None:
        """End the processes: they end with their input, too, but a compile under way would be waited for."""
        for process in self._processes:
            process.kill()
            process.wait()


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


Report = Callable[[Progress | None], None]
# Called while somebody waits, again and again, and with None when the wait has ended; None: nobody hears of it.
listener: Report | None = None


def ahead(drivers: Iterable[str]) -> int:
    """Begin to compile these drivers (module:name), as far as they are listed and not there yet; says how many.

    They come in the order in which they will be needed.
    """
    wanted = [entry for where in drivers for entry in canonical.of(where) if not has_code(entry.where, entry.signature)]
    if wanted:
        _the_pool().ask(
            [(Job(where, text, code_name_at(where, text)), seconds) for where, text, seconds in wanted], first=False
        )
    return len(wanted)


def is_busy() -> bool:
    """Whether something is being compiled."""
    return _pool is not None and not all(task.done.is_set() for task in _pool._counted)


def wait(report: Report | None = None) -> dict[str, str]:
    """Until all that was asked for is there; gives what could not be compiled (module:name), and why."""
    if _pool is None:
        return {}
    pool, tasks = _pool, list(_pool._tasks.values())
    for task in tasks:
        _wait(pool, task, report)
    if report is not None:
        report(None)
    return {task.job.where: task.error for task in tasks if task.error is not None}


def _wait(pool: _Pool, task: _Task, report: Report | None) -> None:
    while not task.done.wait(_OFTEN):
        if report is not None:
            report(pool.progress())


def compiled(driver: Any, where: str, name: str, signature: str) -> Code:
    """A driver's code, compiled now; functions that are not the package's are compiled in this process."""
    job = Job(where, signature, name)
    if where.startswith("musculo.") and "<locals>" not in where:
        seconds = next((s for _, text, s in canonical.of(where) if text == signature), _UNLISTED)
        pool = _the_pool()
        try:
            (task,) = pool.ask([(job, seconds)], first=True)
        except OSError:  # no process can be started
            task = None
        if task is not None:
            _wait(pool, task, listener)
            if listener is not None:
                listener(None)
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
