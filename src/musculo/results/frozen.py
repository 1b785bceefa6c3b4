"""What frozen results check when they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.signals.named_arrays import check_increasing


def frozen(what: str, values: Any, shape: tuple[int, ...], where: str) -> FloatArray:
    """A copy (floats, read-only) of values of the given shape."""
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where}: {what} are not numbers ({error})") from None
    if array.shape != shape:
        raise InvalidInput(f"{where}: {what} have shape {array.shape}; they need {shape}")
    array.setflags(write=False)
    return array


def frozen_time(time: Any, where: str) -> FloatArray:
    """Times (frames,), finite and increasing, read-only."""
    array = frozen("times", time, (np.size(time),), where)
    try:
        check_increasing(array)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    return array


def check_names(kind: str, names: Iterable[str], where: str) -> tuple[str, ...]:
    """Names, each once, none empty, none with a NUL."""
    if isinstance(names, str):
        raise InvalidInput(f"{where}: the {kind} names are the text {names!r}; give a list of names")
    listed = tuple(names)
    seen: set[str] = set()
    for name in listed:
        # numpy's strings lose a NUL at their end, so that labels would change silently
        if not isinstance(name, str) or not name or "\0" in name:
            raise InvalidInput(f"{where}: a {kind} is named {name!r}; give every {kind} a name")
        if name in seen:
            raise InvalidInput(f"{where}: two {kind}s are named {name!r}; rename one of them")
        seen.add(name)
    return listed


def mapped_names(
    kind: str, names: tuple[str, ...], new: Mapping[str, str] | Callable[[str], str], where: str
) -> tuple[str, ...]:
    """Names changed by a mapping from old to new (unknown old ones are errors), or by a function."""
    if callable(new):
        return tuple(new(name) for name in names)
    for name in new:
        if name not in names:
            raise UnknownName(kind, name, names, where)
    return tuple(new.get(name, name) for name in names)


def window(time: FloatArray, start: float | None, end: float | None, where: str) -> slice:
    """The frames from start to end, both included; a millionth of a step beyond still counts."""
    slack = 1e-6 * float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    first = 0 if start is None else int(np.searchsorted(time, start - slack, side="left"))
    last = len(time) if end is None else int(np.searchsorted(time, end + slack, side="right"))
    if first >= last:
        span = f"{time[0]:g} to {time[-1]:g} s" if len(time) else "nothing"
        raise InvalidInput(f"{where}: no frame lies between {start} and {end} s; it spans {span}")
    return slice(first, last)
