"""A lock of processes, on an open file: the system's, so that it goes with the process that holds it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_OFTEN = 0.05  # a lock is asked for [s]


@contextlib.contextmanager
def locked(path: Path, patience: float) -> Iterator[bool]:
    """Only one process at a time is inside for a path; the file is there as long.

    Where the file system has no such locks, every process is let in.

    Args:
        path: of a file that is made, in a folder that exists.
        patience: how long to wait for another process [s].

    Yields:
        Whether to go on: False where another process is inside and nothing was to be waited for. After long waiting
        both go on.
    """
    stream, mine = _lock(path, patience)
    try:
        yield mine
    finally:
        if stream is not None:
            _unlock(stream, path)


def _lock(path: Path, patience: float) -> tuple[BinaryIO | None, bool]:
    """The locked file, and whether this process may go on."""
    end = time.monotonic() + patience
    try:
        import fcntl

        while True:
            with contextlib.ExitStack() as stack:
                stream = stack.enter_context(open(path, "ab"))
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if time.monotonic() >= end:
                        return None, patience > 0.0
                    time.sleep(_OFTEN)
                    continue
                # who held it before removes it: then another process may hold a new one
                if os.fstat(stream.fileno()).st_nlink > 0:
                    stack.pop_all()
                    return stream, True
    except (ImportError, OSError):
        return None, True


def _unlock(stream: BinaryIO, path: Path) -> None:
    import fcntl

    with stream, contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        fcntl.flock(stream, fcntl.LOCK_UN)  # closing is not enough where a forked process has it open, too
