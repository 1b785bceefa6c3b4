"""Who hears that drivers have to be compiled on this machine first, and what functions say then.

One listener at a time. At first it is `announce`, which speaks on stderr once compiling has taken two seconds: a bar in
a terminal, which goes away, and one line in a notebook or a log; nothing with MUSCULO_QUIET=1. Commands listen in its
place and say it at once (`musculo.cli.compiling`).
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
_CELLS = 20  # of the bar

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
    left = f"{max(progress.seconds_left, 1.0):.0f} s left"
    return f"compiling, once: {progress.done} of {progress.total} done, {left} ({progress.driver})"


_width = 0  # of what stands in the terminal now


def show(progress: Progress | None) -> None:
    """A bar in the last line of a terminal, in place of the one before; None: take it away."""
    global _width
    text = ""
    if progress is not None:
        full = round(_CELLS * min(max(progress.part, 0.0), 1.0))
        text = f"[{'=' * full}{' ' * (_CELLS - full)}] {words(progress)}"
        text = text[: shutil.get_terminal_size().columns - 1]
    if text or _width:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"\r{text}{' ' * (_width - len(text))}" + ("" if text else "\r"))
            sys.stderr.flush()
    _width = len(text)


listen(announce)
