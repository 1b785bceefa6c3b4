"""`musculo report`, and the page that comes at the end of every run: one page of a folder of results."""

from __future__ import annotations

import json
import sys
import time
import webbrowser
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from musculo.cli.compiling import tell_of_compiling
from musculo.cli.overwriting import check_page
from musculo.errors import MusculoError
from musculo.io.osim import read_osim
from musculo.report import report_of_folder, write_report
from musculo.report.contents import Check, Light
from musculo.report.judge import UNSOLVED
from musculo.tools.record import record_path
from musculo.tools.result import Status, ToolResult

PAGE = "report.html"
_MARKS = {Light.GOOD: "good", Light.LOOK: "look", Light.BAD: "BAD ", Light.INFO: "    "}


def make_report(
    folder: Path,
    model: Path | None,
    output: Path | None,
    title: str,
    opened: bool,
    quiet: bool,
    as_json: bool = False,
) -> None:
    """Write the page and say how good the results are."""
    check_page(output)
    tell_of_compiling(quiet)
    report = report_of_folder(folder, read_osim(model) if model is not None else None, title)
    path = output or folder / PAGE
    write_report(path, report)
    if as_json:
        checks = [asdict(check) | {"light": check.light.value} for check in report.checks]
        told = {"page": str(path), "title": report.title, "light": report.light.value, "checks": checks}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    elif not quiet:
        for check in report.checks:
            print(_line(check))
        print(path)
    if opened:
        webbrowser.open(path.resolve().as_uri())


class Page(NamedTuple):
    """What came of the page of a folder: where it is, or why there is none."""

    path: Path
    lines: tuple[str, ...] = ()  # what is worth a look
    seconds: float = 0.0
    trouble: str = ""


def report_of_runs(results: Sequence[ToolResult], quiet: bool, jobs: int = 1) -> dict[Path, Path]:
    """A page of every folder that was written into; one that cannot be made is missing in what it gives, by folder."""
    folders = {
        folder: [r for r in results if r.folder == folder] for folder in dict.fromkeys(r.folder for r in results)
    }
    pages = {folder: folder / PAGE for folder, runs in folders.items() if _is_up_to_date(folder, runs)}
    wanted = [(folder, runs) for folder, runs in folders.items() if folder not in pages]
    with ExitStack() as stack:
        several = min(jobs, len(wanted)) > 1
        pool = stack.enter_context(ProcessPoolExecutor(jobs, get_context("spawn"))) if several else None
        made = (pool.map if pool else map)(_page, [folder for folder, _ in wanted], [runs for _, runs in wanted])
        for (folder, _), page in zip(wanted, made, strict=True):
            if page.trouble:
                print(f"error: no report of {folder}: {page.trouble}", file=sys.stderr)
                continue
            pages[folder] = page.path
            if not quiet:
                print(*page.lines, f"report: {page.path} (made in {page.seconds:.1f} s)", sep="\n")
    return pages


def _is_up_to_date(folder: Path, runs: Sequence[ToolResult]) -> bool:
    return all(run.status is Status.UNCHANGED for run in runs) and (folder / PAGE).is_file()


def _page(folder: Path, runs: Sequence[ToolResult]) -> Page:
    """Write the page of some runs."""
    start, path = time.perf_counter(), folder / PAGE
    try:
        report = report_of_folder(folder, runs=[record_path(folder, run.setup) for run in runs])
        write_report(path, report)
    except Exception as error:  # the results are written, and no page is a reason to lose them
        known = isinstance(error, MusculoError | OSError)
        return Page(path, trouble=str(error) if known else f"{type(error).__name__}: {error}")
    lines = tuple(_line(c) for c in report.checks if c.light in (Light.LOOK, Light.BAD) and _is_of(c, runs))
    return Page(path, lines, time.perf_counter() - start)


def _is_of(check: Check, runs: Sequence[ToolResult]) -> bool:
    """Whether a check is about these runs; the page has those of earlier runs of the same trial as well."""
    if check.title == UNSOLVED:
        return any(check.found in run.troubles for run in runs)
    written = {file.resolve() for run in runs for file in run.files}
    return not check.source or Path(check.source).resolve() in written


def _line(check: Check) -> str:
    return f"{_MARKS[check.light]}  {check.title}: {check.found}"
