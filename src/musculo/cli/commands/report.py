"""`musculo report`, and the page that comes at the end of every run: one page of a folder of results."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from musculo.cli.commands.command_flags import ReportFlags
from musculo.cli.exit_codes import GOOD, NOT_GOOD
from musculo.cli.flag_values import check_page
from musculo.cli.starting import imports_end, tell_of_compiling
from musculo.diagnostics.finding import Finding, Light
from musculo.diagnostics.judge import UNSOLVED
from musculo.errors import MusculoError
from musculo.io.electromyogram_files import read_electromyograms
from musculo.io.normal_range_files import read_normal_ranges
from musculo.io.osim import read_osim
from musculo.opensim_tools.records.named_files import record_path
from musculo.opensim_tools.records.result import Status, ToolResult
from musculo.report import report_of_folder, write_report

PAGE = "report.html"
_MARKS = {Light.GOOD: "good", Light.LOOK: "look", Light.BAD: "BAD ", Light.UNJUDGED: "-   ", Light.INFO: "    "}
_AFTER_A_RUN = (Light.LOOK, Light.BAD, Light.UNJUDGED)  # what is worth a line


def make_report(flags: ReportFlags) -> int:
    """Write the page, say how good the results are, and return the exit code."""
    imports_end()
    check_page(flags.output)
    tell_of_compiling(flags.quiet)
    ranges = read_normal_ranges(flags.normal) if flags.normal is not None else None
    signals = read_electromyograms(flags.emg) if flags.emg is not None else None
    known = read_osim(flags.model) if flags.model is not None else None
    report = report_of_folder(flags.folder, known, flags.title, normal=ranges, emg=signals)
    path = flags.output or flags.folder / PAGE
    write_report(path, report)
    if flags.as_json:
        checks = [finding_to_json(one) for one in report.checks]
        told = {"page": str(path), "title": report.title, "light": report.light.value, "checks": checks}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    elif not flags.quiet:
        for check in report.checks:
            print(_line(check))
        print(path)
    if flags.opened:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return NOT_GOOD if flags.strict and is_bad(report.checks) else GOOD


def finding_to_json(one: Finding) -> dict[str, object]:
    """For programs."""
    return {
        "title": one.title,
        "found": one.text,
        "light": one.light.value,
        "advice": one.advice,
        "source": one.source,
    }


def is_bad(checks: Sequence[Finding]) -> bool:
    """Whether one of them is bad; those are named on stderr, for `--strict`."""
    bad = [check for check in checks if check.light is Light.BAD]
    for check in bad:
        print(f"strict: {check.title}: {check.text}", file=sys.stderr)
    return bool(bad)


class Page(NamedTuple):
    """What came of the page of a folder: where it is, or why there is none."""

    path: Path
    checks: tuple[Finding, ...] = ()  # of these runs
    seconds: float = 0.0
    trouble: str = ""
    written: bool = False

    @property
    def there(self) -> bool:
        return self.written or (not self.trouble and self.path.is_file())


def report_of_runs(
    results: Sequence[ToolResult], quiet: bool, jobs: int = 1, write: bool = True, judge: bool = False
) -> dict[Path, Page]:
    """A page of every folder that was written into, by folder; one that cannot be made is reported on stderr.

    With `judge`, folders are judged whose page is up to date or, without `write`, not wanted.
    """
    folders = {
        folder: [r for r in results if r.folder == folder] for folder in dict.fromkeys(r.folder for r in results)
    }
    fresh = {folder: write and not _is_up_to_date(folder, runs) for folder, runs in folders.items()}
    pages = {folder: Page(folder / PAGE) for folder in folders if write and not fresh[folder]}
    wanted = [folder for folder in folders if fresh[folder] or judge]
    with ExitStack() as stack:
        in_turn: Callable[..., Iterator[Page]] = map
        if min(jobs, len(wanted)) > 1:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            in_turn = stack.enter_context(ProcessPoolExecutor(jobs, get_context("spawn"))).map
        runs, writes = [folders[folder] for folder in wanted], [fresh[folder] for folder in wanted]
        for folder, page in zip(wanted, in_turn(_page, wanted, runs, writes), strict=True):
            pages[folder] = page
            if page.trouble:
                print(f"error: no report of {folder}: {page.trouble}", file=sys.stderr)
            elif not quiet and (fresh[folder] or not write):
                said = {note for run in folders[folder] if run.status is not Status.UNCHANGED for note in run.notes}
                told = [_line(check, said) for check in page.checks if check.light in _AFTER_A_RUN]
                lines = list(dict.fromkeys(told))  # several may refer to notes
                made = [f"report: {page.path} (made in {page.seconds:.1f} s)"] if page.written else []
                if lines or made:
                    print(*lines, *made, sep="\n")
    return pages


def _is_up_to_date(folder: Path, runs: Sequence[ToolResult]) -> bool:
    return all(run.status is Status.UNCHANGED for run in runs) and (folder / PAGE).is_file()


def _page(folder: Path, runs: Sequence[ToolResult], write: bool) -> Page:
    """Judge some runs, and write their page."""
    start, path = time.perf_counter(), folder / PAGE
    try:
        report = report_of_folder(folder, scene=write, runs=[record_path(folder, run.setup) for run in runs])
        if write:
            write_report(path, report)
    except Exception as error:  # the results are written, and no page is a reason to lose them
        known = isinstance(error, MusculoError | OSError)
        return Page(path, trouble=str(error) if known else f"{type(error).__name__}: {error}")
    return Page(path, tuple(c for c in report.checks if _is_of(c, runs)), time.perf_counter() - start, written=write)


def _is_of(check: Finding, runs: Sequence[ToolResult]) -> bool:
    """Whether a check is about these runs; the page has those of earlier runs of the same trial as well."""
    if check.title == UNSOLVED:
        return any(check.text in run.troubles for run in runs)
    written = {file.resolve() for run in runs for file in run.files}
    return not check.source or Path(check.source).resolve() in written


def _line(check: Finding, said: Collection[str] = ()) -> str:
    return f"{_MARKS[check.light]}  {check.title}: {'see the note' if check.text in said else check.text}"
