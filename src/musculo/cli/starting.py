"""How a shell command starts: without looking for garbage, and with a word where kernels have to be compiled first.

Imports make a hundred thousand objects that stay, and Python's collector goes through them again and again: a sixth of
the time that a short command takes.

That kernels are compiled is said on stderr, at once, and not with `--quiet`. In a terminal it is a bar that goes away;
elsewhere one line. Functions wait for two seconds before they say so, and only in the process that somebody started
(`musculo.compile.waiting`). A command says so once for all its processes.
"""

from __future__ import annotations

import gc
from typing import Any


def imports_begin() -> None:
    """Nothing is collected from here on."""
    gc.disable()


def imports_end() -> None:
    """What is there stays, and is never looked at again; what comes from here on is collected as usual."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


TEXT = "musculo compiles for this machine, once: about {:.0f} s (`musculo warmup` compiles all there is) ..."
# Whether a shell started this process, rather than Python code that calls a command.
_shell = False


def started_by_shell() -> None:
    """From here on commands say that they compile wherever stderr goes."""
    global _shell
    _shell = True


def is_started_by_shell() -> bool:
    return _shell


def tell_of_compiling(quiet: bool, shell: bool | None = None, told: Any = None) -> None:
    """Say that kernels are compiled, should one have to be; nothing if `quiet`, or with MUSCULO_QUIET=1.

    Args:
        quiet: of the command.
        shell: whether a shell started it; what `started_by_shell` said if left out.
        told: a `multiprocessing` value that processes share, 1 once one of them has said it. Only one of several can
            have a bar, so they say one line.
    """
    if not quiet and not (_shell if shell is None else shell):
        return
    from musculo.compile.waiting import is_quiet, is_terminal, listen, say, show  # slow, and not before a command runs

    if quiet or is_quiet():
        listen(None)
        return
    said = False

    def announce(progress: Any) -> None:
        nonlocal said
        if told is None and is_terminal():
            show(progress)
            return
        if progress is None:
            return
        if told is not None:
            with told.get_lock():
                said, told.value = bool(told.value), 1
        if not said:
            say(TEXT.format(max(progress.seconds_left, 1.0)))
        said = True

    listen(announce)
