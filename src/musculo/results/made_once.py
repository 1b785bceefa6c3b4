"""What the steps of one run share: a file that two of them read, or a motion that two of them filter, is made once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
# By what it is and what it is made of: the parts, which live as long as it does, and the thing.
Made = dict[Hashable, tuple[tuple[object, ...], Any]]
_made: ContextVar[Made | None] = ContextVar("made_once", default=None)


@contextmanager
def shared_by_steps(earlier: Made | None = None) -> Iterator[Made]:
    """Inside, `made_once` remembers; outside of it everything is made anew.

    Args:
        earlier: what another run made and this one may take.

    Yields:
        What is made inside, and what `earlier` has.
    """
    made = dict(earlier or {})
    token = _made.set(made)
    try:
        yield made
    finally:
        _made.reset(token)


def made_once(
    what: Hashable, parts: tuple[object, ...], make: Callable[[], T], fresh: Callable[[T], bool] | None = None
) -> T:
    """What `make` gives, or gave before for the same things.

    Args:
        what: the kind of thing, and options of it that are compared by their values.
        parts: what it is made of, compared by identity: frozen things that stay as they are.
        make: makes it.
        fresh: whether what was made before still holds, for instance since its files have not changed; it does if left
            out.
    """
    made = _made.get()
    if made is None:
        return make()
    key = (what, *map(id, parts))
    thing: T
    if key in made:
        thing = made[key][1]
        if fresh is None or fresh(thing):
            return thing
    thing = make()
    made[key] = (parts, thing)
    return thing
