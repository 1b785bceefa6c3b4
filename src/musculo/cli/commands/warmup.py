"""`musculo warmup`: compile everything at once, for those who prefer to wait once."""

from __future__ import annotations

import json
import sys
import time

from musculo.cli.commands.installed import Compiled, compiled_code
from musculo.cli.exit_codes import GOOD, INCOMPLETE
from musculo.cli.starting import TEXT
from musculo.compile.waiting import is_quiet, show
from musculo.kernels.compiler import canonical, workers
from musculo.kernels.compiler.workers import Progress


def compile_all(quiet: bool, as_json: bool) -> int:
    """Compile every driver of the list that is not there, and say how long it took and where they are."""
    start = time.perf_counter()
    count = workers.ahead(dict.fromkeys(entry.where for entry in canonical.listed()))
    failed = workers.wait(None if quiet or is_quiet() else _reporter()) if count else {}
    seconds = time.perf_counter() - start
    for where, why in failed.items():
        print(f"{where} could not be compiled: {why}", file=sys.stderr)
    found = compiled_code()
    if as_json:
        told = {"compiled": count - len(failed), "failed": list(failed), "seconds": seconds, **found.to_json()}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    elif not quiet:
        print(_said(count - len(failed), seconds, found))
    return INCOMPLETE if failed else GOOD


def _said(count: int, seconds: float, found: Compiled) -> str:
    if not count:
        return f"nothing to compile: {found}"
    return f"compiled {count} driver{'s' if count != 1 else ''} in {seconds:.0f} s: {found}"


def _reporter() -> workers.Report:
    """A bar in a terminal, one line elsewhere."""
    if sys.stderr.isatty():
        return show
    said = False

    def line(progress: Progress | None) -> None:
        nonlocal said
        if not said and progress is not None:
            print(TEXT.format(max(progress.seconds_left, 1.0)), file=sys.stderr, flush=True)
        said = True

    return line
