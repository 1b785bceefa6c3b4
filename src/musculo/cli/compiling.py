"""What commands say where kernels have to be compiled first: on stderr, once, and nothing with `--quiet`.

Functions wait for two seconds before they say so, and only in the process that somebody started
(`musculo.compile.waiting`). A command says so at once, and once for all its processes.
"""

from __future__ import annotations

import sys
from typing import Any

TEXT = "musculo compiles for this machine, once: it may take three minutes, and more where the machine is busy ..."
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
    if not quiet and not (_shell if shell is None else shell):
        return
    from musculo.compile.waiting import listen  # slow, and not before a command runs

    if quiet:
        listen(None)
        return
    said = False

    def announce(progress: Any) -> None:
        nonlocal said
        if told is not None:
            with told.get_lock():
                said, told.value = bool(told.value), 1
        if not said:
            print(TEXT, file=sys.stderr, flush=True)
        said = True

    listen(announce)
