"""`musculo run`: OpenSim's tools from their set-up files."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from musculo.cli.commands.report import PAGE, Page, finding_to_json, is_bad, report_of_runs
from musculo.cli.exit_codes import BAD_INPUT, GOOD, INCOMPLETE, NOT_GOOD, WrongUsage
from musculo.cli.starting import imports_end, is_started_by_shell, tell_of_compiling
from musculo.compile.waiting import listen, words
from musculo.errors import MusculoError
from musculo.io.setup import Setup, read_setup
from musculo.kernels.compiler import workers
from musculo.opensim_tools.order import Waits, Written, redirected, refuse_clashes, refuse_replacing, waits_of
from musculo.opensim_tools.records.result import Status, ToolResult
from musculo.opensim_tools.setup_runner import run_setup
from musculo.opensim_tools.work import Progress
from musculo.results.made_once import shared_by_steps

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# Seconds of work before a progress bar shows.
_PATIENCE = 1.0


class Options(NamedTuple):
    """Of every set-up alike."""

    exact: bool = False
    output: Path | None = None
    compare: bool = True
    force: bool = False
    threads: int | None = None


Outcome = ToolResult | str  # a result, or what is wrong with the input


def run_setups(
    setups: Sequence[Path | Setup],
    options: Options,
    jobs: int,
    quiet: bool,
    as_json: bool,
    report: bool = True,
    strict: bool = False,
) -> int:
    """Run every set-up, print what came of it, make a page of each folder, and return the exit code."""
    imports_end()
    if jobs < 1:
        raise WrongUsage(f"--jobs {jobs}: give 1 or more")
    if options.threads is not None and options.threads < 1:
        flag = "--threads" if isinstance(setups[0], Path) else "--jobs"
        raise WrongUsage(f"{flag} {options.threads}: give 1 or more threads, or omit it for all cores")
    refuse_clashes(setups, options.output)
    if not options.force:
        refuse_replacing(setups, options.output, PAGE if report else "")
    tell_of_compiling(quiet)
    outcomes: list[Outcome] = []
    said: set[tuple[Path, str]] = set()
    with shared_by_steps():
        for outcome in _outcomes(setups, options, min(jobs, len(setups)), not quiet and not as_json, quiet):
            outcomes.append(outcome)
            if isinstance(outcome, str):
                print(f"error: {outcome}", file=sys.stderr)
            elif not as_json:
                _print(outcome, quiet, said)
    results = [outcome for outcome in outcomes if isinstance(outcome, ToolResult)]
    judge = strict or (as_json and report)
    pages = report_of_runs(results, quiet or as_json, jobs, report, judge) if report or judge else {}
    if as_json:
        told = [_told(_name(setup), outcome, pages) for setup, outcome in zip(setups, outcomes, strict=True)]
        print(json.dumps(told, indent=2, ensure_ascii=False))
    if any(isinstance(outcome, str) for outcome in outcomes):
        return BAD_INPUT
    bad = strict and is_bad([check for page in pages.values() for check in page.checks])
    if not all(result.complete for result in results) or any(page.trouble for page in pages.values()):
        return INCOMPLETE
    return NOT_GOOD if bad else GOOD


def _told(setup: str, outcome: Outcome, pages: Mapping[Path, Page]) -> dict[str, object]:
    if isinstance(outcome, str):
        return {"setup": setup, "error": outcome}
    page = pages.get(outcome.folder)
    there = page is not None and page.there
    checks = [finding_to_json(one) for one in page.checks] if page is not None else []
    return {**outcome.to_json(), "report": str(page.path) if page is not None and there else None, "checks": checks}


def _outcomes(
    setups: Sequence[Path | Setup], options: Options, jobs: int, show: bool, quiet: bool
) -> Iterator[Outcome]:
    """What came of every set-up, in the order of the call; one that reads what another writes comes after it."""
    waits = waits_of(setups, options.output)
    if jobs == 1:
        done: dict[int, Outcome] = {}
        for k, setup in enumerate(setups):
            with _bar(Path(_name(setup)).name, show) as progress:
                done[k] = _lost(k, waits[k], setups, done) or _one(
                    setup, options, _written(waits[k], setups, done), progress
                )
            yield done[k]
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # what all need is compiled on all processors before there are others that ask for it
    workers.wait(workers.listener)
    share = max((os.cpu_count() or 1) // jobs, 1)
    options = options._replace(threads=options.threads or share)
    # Fresh processes: threads of a parent that was forked in the middle of their work would be lost.
    context = get_context("spawn")
    told = (quiet, is_started_by_shell() or sys.stderr.isatty(), context.Value("i", 0))
    with ProcessPoolExecutor(jobs, context, tell_of_compiling, told) as pool:
        yield from _scheduled(setups, options, waits, pool)


def _scheduled(
    setups: Sequence[Path | Setup], options: Options, waits: Sequence[Waits], pool: Executor
) -> Iterator[Outcome]:
    """Start each set-up when those that it waits for have ended."""
    from concurrent.futures import FIRST_COMPLETED, wait

    done: dict[int, Outcome] = {}
    running: dict[Future[Outcome], int] = {}
    left = list(range(len(setups)))
    told = 0
    while told < len(setups):
        # in the order of the call, so that one that is lost is known to those after it
        for k in [k for k in left if waits[k].after <= done.keys()]:
            left.remove(k)
            lost = _lost(k, waits[k], setups, done)
            if lost:
                done[k] = lost
            else:
                running[pool.submit(_one, setups[k], options, _written(waits[k], setups, done))] = k
        while told in done:
            yield done[told]
            told += 1
        if running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                done[running.pop(future)] = future.result()


def _lost(k: int, waits: Waits, setups: Sequence[Path | Setup], done: Mapping[int, Outcome]) -> str:
    """Why a set-up cannot run: files that it reads were to be written by one that failed; else nothing."""
    failed = [_name(setups[i]) for i in sorted(waits.needs) if isinstance(done[i], str)]
    return f"{_name(setups[k])}: not run, since it reads what {failed[0]} writes, which failed" if failed else ""


def _written(waits: Waits, setups: Sequence[Path | Setup], done: Mapping[int, Outcome]) -> list[Written]:
    """What those that a set-up needs have left."""
    ended = [(setups[i], done[i]) for i in sorted(waits.needs)]
    return [Written(setup, one.files) for setup, one in ended if isinstance(one, ToolResult)]


def _name(setup: Path | Setup) -> str:
    return str(setup) if isinstance(setup, Path) else setup.source or setup.name


def _one(
    setup: Path | Setup, options: Options, earlier: Sequence[Written] = (), progress: Progress | None = None
) -> Outcome:
    try:
        known = redirected(read_setup(setup) if isinstance(setup, Path) else setup, earlier, options.output)
        return run_setup(
            known,
            exact=options.exact,
            output=options.output,
            progress=progress,
            threads=options.threads,
            compare=options.compare,
            force=options.force,
            overwrite=options.force,
        )
    except MusculoError as error:
        said = str(error)
        # what flags ask for has no file to look into
        return f"{setup}: {said}" if isinstance(setup, Path) and str(setup) not in said else said
    except OSError as error:
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)


@contextmanager
def _bar(name: str, show: bool) -> Iterator[Progress | None]:
    """A bar on stderr, where that is a terminal and the work takes longer than a second."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(name, total=1.0)

    done = 0.0  # of the step

    def advance(what: str, part: float) -> None:
        nonlocal done
        done = part
        bar.update(task, description=f"{name}: {what}", completed=part)

    def compiling(progress: workers.Progress | None) -> None:
        # one bar: that of the step waits for what is compiled, and goes on from where it was
        if progress is None:
            bar.update(task, description=name, completed=done)
        else:
            bar.update(task, description=words(progress), completed=progress.part)

    start = threading.Timer(_PATIENCE, bar.start)
    start.daemon = True
    start.start()
    others = workers.listener
    if others is not None:
        listen(compiling)
    try:
        yield advance
    finally:
        listen(others)
        start.cancel()
        start.join()
        bar.stop()


def _print(result: ToolResult, quiet: bool, said: set[tuple[Path, str]]) -> None:
    """Print what came of a set-up; notes that an earlier one with the same folder has said are not said again."""
    for trouble in result.troubles:
        print(f"{result.setup}: {trouble}", file=sys.stderr)
    if quiet:
        return
    if result.status is Status.UNCHANGED:
        print(f"{result.setup}: nothing changed since the last run, which left {_count(result)}; --force runs it again")
        return
    print(f"{result.setup}: {result.tool} {result.name!r}, {result.status.value} in {result.seconds:.1f} s")
    for folder in dict.fromkeys(file.parent for file in result.files):
        names = [file.name for file in result.files if file.parent == folder]
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        print(f"  {folder}: {shown}")
    for note in result.notes:
        if (result.folder, note) not in said:
            print(f"  note: {note}")
            said.add((result.folder, note))


def _count(result: ToolResult) -> str:
    return f"{len(result.files)} file{'s' if len(result.files) != 1 else ''}"
