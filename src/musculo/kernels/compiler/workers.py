"""Processes that compile drivers, as many as there are processors, in the order of need.

A driver that Python calls is compiled at once, and whoever called it waits. `ahead` names what will be called next, so
that the other processors have something to do. A driver that takes longer than all others together is compiled from the
beginning, by one processor, while the others go on in the order of need. Two programs that need the same driver compile
it once: one waits for the other.
"""

from __future__ import annotations

import atexit
import contextlib
import heapq
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from musculo.kernels.compiler import canonical, store
from musculo.kernels.compiler.build import Built, Job, build, part_at
from musculo.kernels.compiler.driver_code import Code, Layout
from musculo.kernels.compiler.known_code import has_code
from musculo.kernels.compiler.names import code_name_at, is_of_package

# What compiling a driver takes that is on no list [s].
_UNLISTED = 5.0
# Reports of a compile that goes on come so often [s].
_OFTEN = 0.2
_PATIENCE = 0.05
# A process that has nothing to do for so long ends: it takes 200 MB of memory [s].
_IDLE = 20.0
# A driver whose compiler dies is tried so often by processes, and then by whoever called it.
_TRIES = 2
# What a process takes until it compiles: Numba is imported [s].
_STARTING = 1.5
# So much compiling counts as measured when none is: the first small driver says little about a machine [s].
_BELIEVED = 5.0


class Progress(NamedTuple):
    """How far compiling has come."""

    driver: str  # the one that is waited for, or one that is being compiled
    done: int  # drivers
    total: int
    part: float  # of the work that is done, 0 to 1; it never falls until all are there
    seconds_left: float  # until all are there


class CompileFailed(RuntimeError):
    """A driver that Numba does not compile: a fault of the package, or of its installation."""


class _Task:
    def __init__(self, job: Job, seconds: float) -> None:
        self.job, self.seconds = job, seconds
        self.wanted = False  # somebody waits for it
        self.starting = 0.0  # of its seconds, those in which its process starts
        self.began: float | None = None
        self.tries = 0
        self.done = threading.Event()
        self.built: Built | None = None
        self.error = ""  # why it does not compile; empty, too, where no process could try


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
        self._part = 0.0  # of those, as it was reported last
        self._took = self._listed = _BELIEVED  # seconds of what was compiled, here and on the list's machine

    def ask(self, jobs: Iterable[tuple[Job, float]], first: bool) -> list[_Task]:
        """Have drivers compiled, each with the seconds that it takes; before all others if `first`."""
        tasks = []
        with self._change:
            if all(task.done.is_set() for task in self._counted):
                self._counted, self._part = [], 0.0
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
            self._hire()
            self._change.notify_all()
        return tasks

    def _hire(self) -> None:
        """Start processes for what waits; where there is none at all, nobody is to wait for one."""
        for _ in range(min(len(self._waiting) - self._idle, _processors() - len(self._processes))):
            self._start()
        if not self._processes:
            while self._waiting:
                self._waiting.pop().done.set()

    def _start(self) -> None:
        """One more process, as far as that can be."""
        with contextlib.suppress(OSError, ValueError):  # no more processes
            process = _started()
            try:
                threading.Thread(target=self._feed, args=(process,), daemon=True).start()
                self._processes.append(process)
            except RuntimeError:  # no more threads
                _end(process)

    def _next(self) -> _Task | None:
        """What is to be done next; None where there is nothing for a while."""
        with self._change:
            self._idle += 1
            self._change.wait_for(lambda: self._waiting, _IDLE)
            self._idle -= 1
            if not self._waiting:
                return None
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
        """Give one process a driver after the other, until there is nothing to do or it dies."""
        starting = _STARTING
        while (task := self._next()) is not None:
            task.starting, starting = starting, 0.0
            with self._change:
                patient = not self._waiting  # else there is something to do that nobody else does
            try:
                told, image = _answer(process, task.job, patient)
            except (OSError, ValueError):  # it died: another one tries once more, then whoever called
                with self._change:
                    task.tries += 1
                    if task.tries < _TRIES:
                        self._waiting.insert(0, task)
                    else:
                        task.done.set()
                break
            if told.get("busy"):
                with self._change:
                    self._waiting.append(task)
                time.sleep(_PATIENCE)
                continue
            try:
                self._heard(task, told, image)
            finally:  # whoever waits does not wait for ever
                task.done.set()
        with self._change:
            self._processes.remove(process)
            self._hire()
        _end(process)

    def _heard(self, task: _Task, told: dict[str, Any], image: bytes) -> None:
        """Take over what a process answers."""
        if "error" in told:
            task.error = told["error"]
            return
        size, offsets, result, result_size = told["layout"]
        layout = Layout(size, tuple(offsets), result, result_size)
        task.built = Built(layout, image, told["seconds"], told["unkept"])
        if told["seconds"]:
            with self._change:
                self._took, self._listed = self._took + told["seconds"], self._listed + task.seconds

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
        ends += [0.0] * (max(_processors(), 1) - len(ends))
        heapq.heapify(ends)
        for task in waiting:  # each by the processor that is free first
            heapq.heapreplace(ends, ends[0] + task.seconds * slower)
        shown = next((task for task in running if task.wanted), running[0] if running else None)
        name = shown.job.where.split(":")[1] if shown is not None else ""
        with self._change:
            # a bar never goes back, though more is asked for, or a driver takes longer than it should
            self._part = max(self._part, finished / max(sum(task.seconds for task in tasks), 1e-9))
            return Progress(name, len(done), len(tasks), self._part, max(ends))

    def stop(self) -> None:
        """End the processes: they end with their input, too, but a compile under way would be waited for."""
        for process in self._processes:
            process.kill()
            process.wait()

    def leave(self) -> None:
        """In a forked process: the processes are the other one's, and are to end with it."""
        with open(os.devnull, "r+b", buffering=0) as nothing:
            for process in self._processes:
                for stream in (process.stdin, process.stdout):
                    if stream is not None and not stream.closed:
                        os.dup2(nothing.fileno(), stream.fileno(), inheritable=False)


def _started() -> subprocess.Popen[bytes]:
    """A process that compiles, which finds its modules as this one does.

    Raises:
        OSError: where none can be started.
    """
    program = Path(sys.executable or "")
    # a program that has Python inside would start itself once more
    if getattr(sys, "frozen", False) or not any(name in program.name.lower() for name in ("python", "pypy")):
        raise OSError(f"{program} is no Python")
    path, folder = list(map(str, sys.path)), str(store.machine_folder())
    text = f"import sys; sys.path[:] = {path!r}; from musculo.kernels.compiler.build import main; main({folder!r})"
    # an interrupt from the terminal is for this process only
    apart: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {"creationflags": 0x200}
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen([program, "-c", text], stdin=pipe, stdout=pipe, stderr=nothing, env=_environment(), **apart)


def _answer(process: subprocess.Popen[bytes], job: Job, patient: bool) -> tuple[dict[str, Any], bytes]:
    """What a process answers to a job.

    Raises:
        OSError, ValueError: it died.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps((job, patient)).encode() + b"\n")
    process.stdin.flush()
    told = json.loads(process.stdout.readline())
    image = process.stdout.read(told.get("size", 0))
    if len(image) != told.get("size", 0):
        raise ValueError("half an answer")
    return told, image


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    process.kill()
    process.wait()


def _processors() -> int:
    """How many processes may compile at once; none: whoever calls a driver compiles it."""
    asked = os.environ.get("MUSCULO_COMPILERS", "").strip()
    if asked.isascii() and asked.isdigit():
        return int(asked)
    if multiprocessing.parent_process() is not None:  # it has brothers
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if asked:
        store.warn_once(
            f"MUSCULO_COMPILERS is {asked!r}, which is no number of processes; {cores} compile, as many as there are "
            "cores. Give a whole number, or 0 to compile in the process that calls"
        )
    return cores


def _environment() -> dict[str, str]:
    # one thread each: there are as many processes as processors; settings of Numba would change the code
    known = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**known, **single, "PYTHONDONTWRITEBYTECODE": "", "PYTHONWARNINGS": "ignore"}


_pool: _Pool | None = None
_lock = threading.Lock()


def _the_pool() -> _Pool:
    """That of this process; one that was forked has none of its own yet."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = _Pool()
        return _pool


@atexit.register
def _stop() -> None:
    if _pool is not None:
        _pool.stop()


def _forget() -> None:
    global _pool, _lock
    if _pool is not None:
        with contextlib.suppress(OSError):
            _pool.leave()
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
    failed: dict[str, str] = {}
    pool = _pool
    if pool is None:
        return failed
    for task in list(pool._tasks.values()):
        try:
            if _wait(pool, task, report) is None and _built(task) is None:
                _compiled_here(part_at(task.job.where), task.job)
        except Exception as error:
            failed[task.job.where] = task.error or f"{type(error).__name__}: {error}"
    if report is not None:
        report(None)
    return failed


def _wait(pool: _Pool, task: _Task, report: Report | None) -> Code | None:
    """Until a driver was compiled; its code, where another program was quicker."""
    while not task.done.wait(_OFTEN):
        if report is not None:
            report(pool.progress())
        found = store.find(task.job.name)
        if found is not None:
            return found
    return None


def _built(task: _Task) -> Built | None:
    """What came of it; None where no process could try."""
    if task.error:
        raise CompileFailed(f"{task.job.where} does not compile for {task.job.signature}: {task.error}")
    if task.built is not None and task.built.unkept:
        store.warn_once(task.built.unkept)
    return task.built


def compiled(driver: Any, where: str, name: str, signature: str) -> Code:
    """A driver's code, compiled now; functions that are not the package's are compiled in this process."""
    job = Job(where, signature, name)
    if is_of_package(where):
        seconds = next((s for _, text, s in canonical.of(where) if text == signature), _UNLISTED)
        pool = _the_pool()
        (task,) = pool.ask([(job, seconds)], first=True)
        try:
            found = _wait(pool, task, listener)
        finally:
            if listener is not None:
                listener(None)
        if found is not None:
            return found
        built = _built(task)
        if built is not None:
            return store.loaded(name, built.image, built.layout)
    return _compiled_here(driver, job)


def _compiled_here(driver: Any, job: Job) -> Code:
    with store.alone(job.name, True):
        found = store.find(job.name)
        if found is not None:
            return found
        built = build(driver, job)
    if built.unkept:
        store.warn_once(built.unkept)
    return store.loaded(job.name, built.image, built.layout)
