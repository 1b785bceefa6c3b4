"""What Ctrl-C does to a search."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

_ends: ContextVar[bool] = ContextVar("interrupts end searches", default=False)


class Interruptible(Protocol):
    """A search that can be asked to stop after its iteration, and that can fail."""

    stop: bool

    def fail(self, error: BaseException) -> None:
        """What is raised when the search has ended, which it does soon."""


@contextmanager
def ending_searches() -> Iterator[None]:
    """Within, Ctrl-C ends a search by a KeyboardInterrupt: a command in a shell has no use for half a result."""
    token = _ends.set(True)
    try:
        yield
    finally:
        _ends.reset(token)


def searches_end() -> bool:
    """Whether Ctrl-C ends a search without what it found (`ending_searches`)."""
    return _ends.get()


@contextmanager
def interruptible(run: Interruptible) -> Iterator[None]:
    """Ctrl-C asks the run to stop after its iteration, or ends it (`ending_searches`); a second one interrupts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, ends = signal.getsignal(signal.SIGINT), searches_end()

    def ask(number: int, frame: Any) -> None:
        if run.stop:
            raise KeyboardInterrupt
        run.stop = True
        if ends:
            run.fail(KeyboardInterrupt())

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
