"""What is said where a function has to wait for kernels that were never compiled on this machine.

One line on stderr, be it a terminal, a notebook or a log, once compiling has taken two seconds; none with
MUSCULO_QUIET=1. Commands say so in their own words.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from threading import Timer

from numba.core.compiler_lock import global_compiler_lock

from musculo.kernels import jit

TEXT = "musculo compiles for this machine, once: it may take two minutes ... (MUSCULO_QUIET=1 hides this)"
_AFTER = 2.0  # seconds

_waiting: Timer | None = None


def is_quiet() -> bool:
    """Whether nothing is to be said: asked for, or said already, or not the process that somebody started."""
    asked = os.environ.get("MUSCULO_QUIET", "") not in ("", "0")
    return asked or jit._told or multiprocessing.parent_process() is not None


def announce(text: str = TEXT) -> None:
    """Say once in a process, on stderr, that kernels are compiled, if that takes a while; an empty text forbids it."""
    global _waiting
    if not text:
        jit._told = True
    if _waiting is None and not is_quiet():
        _waiting = Timer(_AFTER, _say, [text])
        _waiting.daemon = True
        _waiting.start()


def _say(text: str) -> None:
    global _waiting
    _waiting = None
    lock = global_compiler_lock._lock
    if lock.acquire(blocking=False):  # done already
        lock.release()
    elif not is_quiet():
        print(text, file=sys.stderr, flush=True)
        jit._told = True


def tell_of_compiling() -> None:
    """From here on functions say that they wait, unless somebody else does."""
    # jit.py is part of what every kernel is made of: a line there would compile all of them anew
    if jit.announce_compiling.__module__ == jit.__name__:
        setattr(jit, "announce_compiling", announce)  # noqa: B010 (a function to mypy)
