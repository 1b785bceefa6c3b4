"""Who computes which trial: processes of this machine, or workers of a Dask scheduler; the answers are the same."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from musculo.errors import InvalidInput, MusculoError
from musculo.kernels.compiler import workers
from musculo.study.plan import Study, StudyTrial
from musculo.study.trial_run import DiskFull, TrialOutcome, TrialStatus, known_outcome, run_trial

Progress = Callable[[TrialOutcome, int, int], None]
"""Called after every trial: what came of it, how many are done, and how many there are."""

# A process ends after so many trials, and a fresh one takes its place: what a library leaks does not grow.
_TRIALS_OF_A_PROCESS = 250
# Of a scheduler: tcp://head:8786, tls://head:8786, head:8786.
_ADDRESS = re.compile(r"(\w+://)?[^\s/:]+:\d+/?|(\w+://)\S+")
# Trials that wait in a worker's own queue; more would only fill memory.
_AHEAD = 2


def run_study(
    study: Study,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    pages: bool = False,
    progress: Progress | None = None,
) -> tuple[TrialOutcome, ...]:
    """Do all trials that are not done yet; one that fails does not stop the others.

    Results are those of one process, to the last bit, whoever computes them. A trial whose process dies (out of
    memory, killed) is done again from its last step, alone; if that process dies, too, the trial has failed.

    Args:
        study: the trials; `read_study` reads them.
        jobs: processes at once; by default as many as there are cores. One does without other processes.
        scheduler: the address of a Dask scheduler (`tcp://...`); its workers see the same files under the same paths.
        pages: whether to write a page for each trial, too.
        progress: called after each trial.

    Returns:
        The outcomes in the order of the study.

    Raises:
        DiskFull: results have no room; what is done stays, and a second call goes on.
        InvalidInput: no such scheduler, or dask is not installed.
    """
    home = study.folder.resolve()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"the folder {home} cannot be made ({error.strerror}); choose another one") from None
    trials = [_absolute(trial) for trial in study.trials]
    outcomes: dict[str, TrialOutcome] = {}

    def came(outcome: TrialOutcome) -> None:
        outcomes[outcome.key] = outcome
        if progress is not None:
            progress(outcome, len(outcomes), len(trials))

    left = []
    for trial in trials:
        earlier = None if pages else known_outcome(trial, home)
        if earlier is not None:
            came(earlier)
        else:
            left.append(trial)
    if scheduler is not None:
        _on_dask(left, home, pages, scheduler, came)
    else:
        count = min(jobs or _cores(), len(left))
        if count <= 1:
            for trial in left:
                came(run_trial(trial, home, pages))
        else:
            _on_processes(left, home, pages, count, came)
    return tuple(outcomes[trial.key] for trial in trials)


def _cores() -> int:
    """Those that this process may use: a job of a cluster has a few of a machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _absolute(trial: StudyTrial) -> StudyTrial:
    """The trial with paths that hold in another process or on another machine."""
    loads = trial.loads.resolve() if trial.loads is not None else None
    options = replace(trial.options, force_sets=tuple(path.resolve() for path in trial.options.force_sets))
    return replace(
        trial, model=trial.model.resolve(), recording=trial.recording.resolve(), loads=loads, options=options
    )


# --- processes ------------------------------------------------------------------------------------------------------
def _on_processes(
    trials: Sequence[StudyTrial], home: Path, pages: bool, count: int, came: Callable[[TrialOutcome], None]
) -> None:
    # what all need is compiled once, before there are others that ask for it
    workers.wait(workers.listener)
    waiting = list(reversed(trials))
    suspects: list[StudyTrial] = []  # in flight when a process died
    while waiting:
        running: dict[Future[TrialOutcome], StudyTrial] = {}
        with _pool(count) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < _AHEAD * count:
                        trial = waiting[-1]
                        running[pool.submit(run_trial, trial, home, pages)] = trial
                        waiting.pop()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        came(future.result())
                        del running[future]
            except BrokenProcessPool:
                for future, trial in running.items():
                    if future.done() and not future.cancelled() and future.exception() is None:
                        came(future.result())
                    else:
                        suspects.append(trial)
    for trial in suspects:
        came(_alone(trial, home, pages))


def _alone(trial: StudyTrial, home: Path, pages: bool) -> TrialOutcome:
    """A trial that was under way when a process died, in a process of its own."""
    try:
        with _pool(1) as pool:
            return pool.submit(run_trial, trial, home, pages).result()
    except BrokenProcessPool:
        why = "its process died twice, once with no other beside it; is there enough memory?"
        return TrialOutcome(trial.key, TrialStatus.FAILED, why)


@contextmanager
def _pool(count: int) -> Iterator[ProcessPoolExecutor]:
    # Fresh processes: threads of a parent that was forked in the middle of their work would be lost.
    pool = ProcessPoolExecutor(count, _Spawn(), _begin, (), max_tasks_per_child=_TRIALS_OF_A_PROCESS)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


class _Process(SpawnProcess):
    """A fresh process that does not run the user's script again, as `spawn` has it do: it needs nothing of that."""

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        # Ctrl-C reaches all processes of a terminal: one that still imports would answer with a traceback.
        blocks = hasattr(signal, "pthread_sigmask")
        if blocks:
            resource_tracker.ensure_running()  # its start unblocks the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if blocks else set()
        try:
            return SpawnProcess._Popen(process_obj)
        finally:
            if blocks:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            sys.modules["__main__"] = script


class _Spawn(SpawnContext):
    Process = _Process


def _begin() -> None:
    """A process of a study: Ctrl-C is for its parent, which ends it, and it does not outlive its parent."""
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # The queue of a process whose parent was killed never ends: the process itself holds its other end.
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# --- dask -----------------------------------------------------------------------------------------------------------
def _on_dask(
    trials: Sequence[StudyTrial], home: Path, pages: bool, scheduler: str, came: Callable[[TrialOutcome], None]
) -> None:
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise InvalidInput('scheduler= needs Dask; install it: pip install "musculo[cluster]"') from None
    if not _ADDRESS.fullmatch(scheduler):
        raise InvalidInput(f"{scheduler!r} is no address of a Dask scheduler; give one such as tcp://head:8786")
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"no Dask scheduler answers at {scheduler} ({error}); is it running?") from None
    with client, client.as_current():
        # one message for all trials, and one for all outcomes that came since the last: not two for each
        keys = [f"musculo-{home}-{trial.key}" for trial in trials]
        made = client.map(partial(run_trial, folder=home, page=pages), trials, key=keys, pure=False)
        futures: dict[Any, StudyTrial] = dict(zip(made, trials, strict=True))
        for future, outcome in as_completed(made, with_results=True, raise_errors=False):
            trial = futures[future]
            if future.status == "finished":
                came(outcome)
            else:
                fault = future.exception()
                if isinstance(fault, DiskFull):
                    client.cancel(made)
                    raise fault
                # KilledWorker, and what a cluster may raise
                told = isinstance(fault, MusculoError)
                why = str(fault) if told else f"{type(fault).__name__} of the cluster: {fault}"
                came(TrialOutcome(trial.key, TrialStatus.FAILED, why))
            future.release()
