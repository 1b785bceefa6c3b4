"""Checks that the descriptions of functions share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from musculo.errors import InvalidInput


def set_number(owner: Any, name: str) -> None:
    """Keep a field of a frozen description as a finite float."""
    object.__setattr__(owner, name, finite_numbers(owner, name, (getattr(owner, name),))[0])


def set_numbers(owner: Any, name: str) -> None:
    """Keep a field of a frozen description as a tuple of finite floats."""
    object.__setattr__(owner, name, finite_numbers(owner, name, getattr(owner, name)))


def set_knots(owner: Any, at_least: int, repeated: bool = False) -> None:
    """Keep x and y as tuples of finite floats: equally long, enough, x increasing (strictly unless `repeated`)."""
    set_numbers(owner, "x")
    set_numbers(owner, "y")
    kind, x, y = type(owner).__name__, owner.x, owner.y
    if len(x) != len(y):
        raise InvalidInput(f"{kind}: x has {len(x)} values and y has {len(y)}; each knot needs both")
    if len(x) < at_least:
        raise InvalidInput(f"{kind}: needs at least {at_least} knots, got {len(x)}")
    for k in range(1, len(x)):
        if x[k] < x[k - 1] or (x[k] == x[k - 1] and not repeated):
            raise InvalidInput(
                f"{kind}: x must increase strictly, but x[{k - 1}] = {x[k - 1]:g} and x[{k}] = {x[k]:g}; "
                "sort the knots and drop repeated ones"
            )


def finite_numbers(owner: Any, name: str, values: Iterable[Any]) -> tuple[float, ...]:
    """The values as a tuple of floats; `InvalidInput` names the first that is not a finite number."""
    kind = type(owner).__name__
    try:
        array = np.asarray(values, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{kind}: {name} must be numbers, got {values!r}") from error
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InvalidInput(f"{kind}: {name} must be finite, but value {bad[0]} is {array[bad[0]]}")
    return tuple(array.tolist())
