"""The one root of everything musculo raises on purpose.

A message says what is wrong, where (file, line or element), what is known, and what to try.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class MusculoError(Exception):
    """Root of all errors that musculo raises about its input; catch this one at the shell."""


class MusculoWarning(UserWarning):
    """Something that is done otherwise than the input says, and has to be known; what it names is in results too."""


_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
_told: ContextVar[set[str] | None] = ContextVar("told", default=None)


@contextmanager
def unwarned() -> Iterator[None]:
    """Within it `warn` does nothing: the caller reports the same things in its own words."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


@contextmanager
def warned_once() -> Iterator[None]:
    """Within it `warn` speaks once of each thing, which is what stands before the colon: `q: knee reaches ...`.

    For searches, which call the same functions with ever other numbers.
    """
    token = _told.set(set() if _told.get() is None else _told.get())
    try:
        yield
    finally:
        _told.reset(token)


def warn(text: str) -> None:
    """A `MusculoWarning` at the line outside musculo that called."""
    if _quiet.get():
        return
    told, thing = _told.get(), text.partition(":")[0]
    if told is not None:
        if thing in told:
            return
        told.add(thing)
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, MusculoWarning, stacklevel=depth)


class InvalidFile(MusculoError):
    """A file that cannot be read: missing, malformed, hostile, or of an unknown kind."""


class InvalidModel(MusculoError):
    """A model that no mechanics can be done with: missing parents, cycles, impossible masses."""


class InvalidInput(MusculoError):
    """An argument of the wrong shape, type or value."""


class Unsupported(MusculoError):
    """Something the model holds that musculo carries but cannot compute."""


class SingularSystem(MusculoError):
    """A mass or hinge matrix that cannot be inverted; the message names the joint."""


class UnknownName(MusculoError):
    """A name that the model does not have; lists what is known and the nearest guess."""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        names = list(known)
        message = f"no {kind} {name!r}" + (f" in {where}" if where else "")
        nearest = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
        if nearest:
            message += f"; did you mean {nearest[0]!r}?"
        elif not names:
            message += f"; there is no {kind} at all"
        else:
            shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
            message += f"; known: {shown}"
        super().__init__(message)
        self.kind, self.name, self.known, self.where = kind, name, tuple(names), where

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, tuple[str, ...], str]]:
        # errors cross process boundaries by pickle, which would call the constructor with the message alone
        return UnknownName, (self.kind, self.name, self.known, self.where)
