"""Which variables, or which outputs of a function, a goal or constraint is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput, UnknownName
from musculo.trajectory.node_function import NodeFunction
from musculo.trajectory.transcription.discretization import Discretization

What = NodeFunction | str | Sequence[str]
"""A node function, or names of variables; `*` stands for anything: `*/speed`."""

_SHOWN = 8


def matching(patterns: str | Sequence[str], names: Sequence[str], kind: str) -> list[str]:
    """Names that fit one of the patterns, in their order; an error where a pattern fits none."""
    asked = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    found = []
    for pattern in asked:
        fits = [name for name in names if name == pattern] or [name for name in names if fnmatchcase(name, pattern)]
        if not fits:
            raise UnknownName(kind, pattern, names)
        found += fits
    return list(dict.fromkeys(found))


def first_names(names: Sequence[str]) -> str:
    """Some of them, for a message."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def selected(what: What, outputs: str | Sequence[str] | None, d: Discretization) -> tuple[NodeFunction, IntArray]:
    """A function and which of its outputs are meant.

    Args:
        what: a function, or variables.
        outputs: of the function; all by default.
        d: the variables that there are.
    """
    names = isinstance(what, str) or (isinstance(what, list | tuple) and all(isinstance(one, str) for one in what))
    if isinstance(what, type) or not (names or hasattr(what, "slopes")):
        raise InvalidInput(
            f"{what!r} is neither a node function nor names of variables: give InverseDynamics(model), "
            "'knee/value' or '*/speed'"
        )
    if names:
        return d.variables, np.array([d.column(name) for name in matching(what, d.names, "variable")])  # type: ignore[arg-type]
    function: NodeFunction = what  # type: ignore[assignment]
    if outputs is None:
        return function, np.arange(len(function.outputs))
    known = list(function.outputs)
    return function, np.array([known.index(name) for name in matching(outputs, known, "output")])


def each(values: ArrayLike | Mapping[str, float], names: Sequence[str], what: str) -> FloatArray:
    """(names,) one number for all, a number for each, or numbers by patterns of names (others are 1)."""
    if isinstance(values, Mapping):
        found = np.ones(len(names))
        for pattern, value in values.items():
            for name in matching(pattern, names, what):
                found[list(names).index(name)] = value
        return found
    numbers = np.asarray(values, dtype=float)
    if numbers.shape not in ((), (len(names),)):
        raise InvalidInput(f"{what} has shape {numbers.shape}; there are {len(names)}: {', '.join(names)}")
    return np.array(np.broadcast_to(numbers, len(names)))
