"""How a shell command starts: its modules are imported without looking for garbage among them.

Imports make a hundred thousand objects that stay, and Python's collector goes through them again and again: a sixth of
the time that a short command takes.
"""

from __future__ import annotations

import gc


def imports_begin() -> None:
    """Nothing is collected from here on."""
    gc.disable()


def imports_end() -> None:
    """What is there stays, and is never looked at again; what comes from here on is collected as usual."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
