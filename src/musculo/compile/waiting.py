"""Who hears that kernels have to be compiled on this machine first, and what functions say then.

One listener at a time. At first it is `announce`: one line on stderr, be it a terminal, a notebook or a log, once
compiling has taken two seconds; none with MUSCULO_QUIET=1. Commands listen in its place and say so in their own words.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from threading import Timer

from numba.core.compiler_lock import global_compiler_lock

from musculo.kernels import jit

TEXT = "musculo compiles for this machine, once: it may take three minutes ... (MUSCULO_QUIET=1 hides this)"
_AFTER = 2.0  # seconds

_timer: Timer | None = None
_said = False


def announce() -> None:
    """Say once in a process, on stderr, that kernels are compiled, if that takes a while."""
    global _timer
    if _timer is None and not _is_quiet():
        _timer = Timer(_AFTER, _say)
        _timer.daemon = True
        _timer.start()


def _is_quiet() -> bool:
    """Whether nothing is to be said: asked for, or said already, or not the process that somebody started."""
    asked = os.environ.get("MUSCULO_QUIET", "") not in ("", "0")
    return asked or _said or multiprocessing.parent_process() is not None


def _say() -> None:
    global _timer, _said
    _timer = None
    lock = global_compiler_lock._lock
    if lock.acquire(blocking=False):  # done already
        lock.release()
    elif _listener is announce and not _is_quiet():
        print(TEXT, file=sys.stderr, flush=True)
        _said = True


_listener: Callable[[], None] | None = announce


def listen(listener: Callable[[], None] | None) -> None:
    """Call `listener` wherever a driver has to be compiled, and nobody else any more; None: nobody hears of it."""
    global _listener
    _listener = listener


def _compiling_begins() -> None:
    if _listener is not None:
        _listener()


jit.compiling_begins = _compiling_begins
