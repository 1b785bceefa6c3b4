"""What commands say where kernels have to be compiled first: on stderr, once, and nothing with `--quiet`.

Functions say so to a terminal or a notebook only (`musculo.kernels.jit`). A command also says so where stderr is a pipe
or a file, since whoever reads it later wants to know what two minutes went into.
"""

from __future__ import annotations

import sys
from typing import Any

TEXT = "musculo compiles for this machine, once: it may take two minutes, and more where the machine is busy ..."
# Whether a shell started this process, rather than Python code that calls a command.
_shell = False


def started_by_shell() -> None:
    """From here on commands say that they compile wherever stderr goes."""
    global _shell
    _shell = True


def is_started_by_shell() -> bool:
    return _shell


def tell_of_compiling(quiet: bool, shell: bool | None = None, told: Any = None) -> None:
    """Say once that kernels are compiled, should one have to be; nothing if `quiet`.

    Args:
        quiet: of the command.
        shell: whether a shell started it; what `started_by_shell` said if left out.
        told: a `multiprocessing` value that processes share, 1 once one of them has said it.
    """
    from musculo.kernels import jit  # slow, and not before a command runs

    if quiet:
        jit.announce_compiling("")
        return
    if not (_shell if shell is None else shell):
        return
    said = [False]

    def announce(text: str = TEXT) -> None:
        if told is not None:
            with told.get_lock():
                said[0], told.value = bool(told.value), 1
        if text and not said[0]:
            print(text, file=sys.stderr, flush=True)
        said[0] = True

    # jit.py is part of what every kernel is made of: a line there would compile all of them anew
    setattr(jit, "announce_compiling", announce)  # noqa: B010 (a function to mypy)
