"""Who hears that drivers have to be compiled on this machine first, and what functions say then.

One listener at a time. At first it is `announce`: one line on stderr, be it a terminal, a notebook or a log, once
compiling has taken two seconds; none with MUSCULO_QUIET=1. Commands listen in its place and say so in their own words.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable

from musculo.kernels.compiler import workers
from musculo.kernels.compiler.workers import Progress

TEXT = "musculo compiles for this machine, once: about {:.0f} s ... (MUSCULO_QUIET=1 hides this)"
_AFTER = 2.0  # seconds

_since: float | None = None
_said = False


def announce(progress: Progress) -> None:
    """Say once in a process, on stderr, that drivers are compiled, if that takes a while."""
    global _since, _said
    now = time.monotonic()
    _since = now if _since is None else _since
    if now - _since > _AFTER and not _is_quiet() and progress.done < progress.total:
        _said = True
        print(TEXT.format(max(progress.seconds_left, 1.0)), file=sys.stderr, flush=True)


def _is_quiet() -> bool:
    """Whether nothing is to be said: asked for, or said already, or not the process that somebody started."""
    asked = os.environ.get("MUSCULO_QUIET", "") not in ("", "0")
    return asked or _said or multiprocessing.parent_process() is not None


def listen(listener: Callable[[Progress], None] | None) -> None:
    """Call `listener` again and again while a driver is compiled, and nobody else; None: nobody hears of it."""
    workers.listener = listener


listen(announce)
