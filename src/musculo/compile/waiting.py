"""Who hears that drivers have to be compiled on this machine first, and what functions say then.

One listener at a time. At first it is `announce`, which speaks on stderr once compiling has taken two seconds: a bar in
a terminal, which goes away, and one line in a notebook or a log; nothing with MUSCULO_QUIET=1. Commands listen in its
place and say it at once (`musculo.cli.starting`).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Callable

from musculo.kernels.compiler import workers
from musculo.kernels.compiler.workers import Progress

TEXT = "musculo compiles for this machine, once: about {:.0f} s ... (MUSCULO_QUIET=1 hides this)"
_AFTER = 2.0  # seconds
_CELLS, _FEW_CELLS = 20, 10  # of the bar, and where the terminal is narrow
_COLUMNS = 80  # of a terminal that does not say

_since: float | None = None
_said = False


def announce(progress: Progress | None) -> None:
    """Say on stderr that drivers are compiled, if that takes a while; None: the wait has ended."""
    global _since, _said
    now = time.monotonic()
    since = _since = now if _since is None else _since
    if progress is None:
        _since, _said = None, False  # the next wait is told of again
    if is_quiet() or multiprocessing.parent_process() is not None:  # or not the process that somebody started
        return
    if is_terminal():
        if progress is None or now - since > _AFTER:
            show(progress)
    elif progress is not None and now - since > _AFTER and not _said:
        _said = True
        say(TEXT.format(max(progress.seconds_left, 1.0)))


def is_terminal() -> bool:
    """Whether stderr is one in which a line can be written over."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """A line on stderr, where there is one and somebody reads it."""
    if sys.stderr is not None:  # else it would go to stdout
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


def is_quiet() -> bool:
    """Whether nothing is to be said, in the whole process."""
    return os.environ.get("MUSCULO_QUIET", "") not in ("", "0")


def listen(listener: Callable[[Progress | None], None] | None) -> None:
    """Call `listener` again and again while a driver is compiled, and nobody else; None: nobody hears of it.

    It is called with None when the wait has ended.
    """
    workers.listener = listener


def words(progress: Progress) -> str:
    """What is compiled, how many of how many, and for how long."""
    return f"compiling, once: {progress.done} of {progress.total} done, {_left(progress)} ({progress.driver})"


def _left(progress: Progress) -> str:
    return f"{max(progress.seconds_left, 1.0):.0f} s left"


def _line(progress: Progress, columns: int) -> str:
    """A bar and these words, or the most of them that so many columns have room for."""
    bar, text, left = _bar(progress.part, _CELLS), words(progress), _left(progress)
    short = f"{_bar(progress.part, _FEW_CELLS)} compiling, {left}"
    known = (f"{bar} {text}", f"{bar} {text.rpartition(' ')[0]}", short, left)
    return next((line for line in known if len(line) <= columns), "")


def _bar(part: float, cells: int) -> str:
    full = round(cells * min(max(part, 0.0), 1.0))
    return f"[{'=' * full}{' ' * (cells - full)}]"


def _columns() -> int:
    """Of the terminal that the bar is written to; stdout may go elsewhere."""
    if not os.environ.get("COLUMNS", "").isdigit():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    return shutil.get_terminal_size((_COLUMNS, 24)).columns


_width = 0  # of what stands in the terminal now


def show(progress: Progress | None) -> None:
    """A bar in the last line of a terminal, in place of the one before; None: take it away."""
    overwrite("" if progress is None else _line(progress, _columns() - 1))


def overwrite(text: str) -> None:
    """The last line of a terminal, in place of the one before; nothing takes it away."""
    global _width
    text = text[: _columns() - 1]
    if text or _width:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"\r{text}{' ' * (_width - len(text))}" + ("" if text else "\r"))
            sys.stderr.flush()
    _width = len(text)


listen(announce)
