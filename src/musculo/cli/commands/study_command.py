"""`musculo study`: all trials of all subjects, and what they show together."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from musculo.cli.exit_codes import BAD_INPUT, GOOD, INCOMPLETE, WrongUsage
from musculo.cli.starting import imports_end, tell_of_compiling
from musculo.io.zarr_folders import needs_zarr
from musculo.report import write_report
from musculo.study import TrialOutcome, TrialStatus, collect, read_study, run_study, study_page
from musculo.study.trial_run import DiskFull

PAGE = "study.html"


def make_study(
    path: Path,
    output: Path | None,
    jobs: int | None,
    scheduler: str,
    pages: bool,
    zarr: bool,
    dry: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run what is not done yet, collect, write the page, and return the exit code."""
    imports_end()
    if jobs is not None and jobs < 1:
        raise WrongUsage(f"--jobs {jobs}: give 1 or more, or omit it for all cores")
    if jobs is not None and scheduler:
        raise WrongUsage("--jobs is for processes of this machine; the scheduler's workers decide how many run at once")
    study = read_study(path, output)
    if dry:
        _list(study.trials, as_json)
        return GOOD
    if zarr:
        needs_zarr("--zarr")  # before the first trial, not after the last
    tell_of_compiling(quiet)
    began = time.perf_counter()
    with _bar(len(study.trials), not quiet and not as_json) as progress:
        try:
            outcomes = run_study(study, jobs=jobs, scheduler=scheduler or None, pages=pages, progress=progress)
        except DiskFull as error:
            print(f"error: {error}", file=sys.stderr)
            return BAD_INPUT
        except KeyboardInterrupt:
            print("stopped; what is done stays, and the same command goes on from there", file=sys.stderr)
            return INCOMPLETE
    results = collect(study, outcomes)
    files = results.write(study.folder, zarr)
    page = study.folder / PAGE
    write_report(page, study_page(results))
    failed = [one for one in outcomes if one.status is TrialStatus.FAILED]
    resumed = sum(one.resumed for one in outcomes)
    if as_json:
        told = {
            "study": study.name,
            "trials": [
                {"trial": one.key, "status": one.status.value, "reason": one.reason, "seconds": one.seconds}
                for one in outcomes
            ],
            "resumed": resumed,
            "files": [str(file) for file in (*files, page)],
            "seconds": round(time.perf_counter() - began, 3),
        }
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        for one in failed:
            print(f"{one.key}: {one.reason}", file=sys.stderr)
        if not quiet:
            before = f", {resumed} of them by an earlier run" if resumed else ""
            done = len(outcomes) - len(failed)
            print(f"{done} of {len(outcomes)} trials done{before}, in {time.perf_counter() - began:.1f} s")
            for file in (*files, page):
                print(f"  {file}")
    return GOOD if all(one.status is TrialStatus.DONE for one in outcomes) else INCOMPLETE


def _list(trials: object, as_json: bool) -> None:
    rows = [
        {
            "subject": one.subject,
            "trial": one.name,
            "group": one.group,
            "condition": one.condition,
            "model": str(one.model),
            "recording": str(one.recording),
            "loads": str(one.loads or ""),
        }
        for one in trials  # type: ignore[attr-defined]
    ]
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for row in rows:
        words = [row["group"], row["condition"]]
        of = f" ({', '.join(w for w in words if w)})" if any(words) else ""
        loads = f", loads {row['loads']}" if row["loads"] else ", no loads"
        print(f"{row['subject']}/{row['trial']}{of}: {row['recording']}, model {row['model']}{loads}")
    print(f"{len(rows)} trials")


@contextmanager
def _bar(count: int, show: bool) -> Iterator[Callable[[TrialOutcome, int, int], None] | None]:
    """One display of the whole study on stderr; a line for each failure as it comes."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("trials", total=count)
        failed = 0

        def advance(outcome: TrialOutcome, done: int, total: int) -> None:
            nonlocal failed
            if outcome.status is TrialStatus.FAILED:
                failed += 1
                console.print(f"{outcome.key}: {outcome.reason}", highlight=False, markup=False)
            words = f"trials, {failed} failed" if failed else "trials"
            bar.update(task, completed=done, description=words)

        yield advance
