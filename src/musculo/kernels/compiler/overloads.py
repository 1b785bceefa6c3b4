"""Which functions stand for plain ones in kernels, by the types of their arguments.

Modules of kernels state them on import, when Numba may not be there yet; `machine_code.lowering` takes them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Of a plain function: which one stands for it, and Numba's options.
Overload = tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]

_stated: list[Overload] = []
_taker: Callable[[Overload], None] | None = None


def overload(function: Callable[..., Any], **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As Numba's `overload`: which function stands for a plain one, by the types of its arguments."""

    def state(chosen: Callable[..., Any]) -> Callable[..., Any]:
        _stated.append((function, chosen, options))
        if _taker is not None:
            _taker(_stated[-1])
        return chosen

    return state


def give_to(taker: Callable[[Overload], None]) -> None:
    """Hand over those that were stated so far, and each later one."""
    global _taker
    _taker = taker
    for one in _stated:
        taker(one)


def is_pack(kind: Any) -> bool:
    """Whether the type of an argument, as `overload` sees it, is a pack of lanes."""
    return bool(getattr(kind, "is_pack", False))


def is_complex(kind: Any) -> bool:
    """Whether it is a complex number."""
    return str(kind) in ("complex64", "complex128")
