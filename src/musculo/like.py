"""One choice, one word: our exact methods, or OpenSim's, known faults included, with `like="opensim"`.

Every function that has the choice takes `like`; at the shell it is `--like-opensim`, or `--exact` for the opposite.
`wrapping` and `method` are older words for parts of it, and remain: `wrapping="opensim"` lays muscles over surfaces as
OpenSim does, and no more; `method="opensim"` takes its definitions of fibers and forces, and no more. A part that is
named goes by its word, the others by `like`.
"""

from __future__ import annotations

from typing import Any, Literal

from musculo.errors import InvalidInput

Like = Literal["opensim"]
Wrapping = Literal["geodesic", "opensim"]
WRAPPINGS: tuple[Wrapping, ...] = ("geodesic", "opensim")
Method = Literal["exact", "opensim"]
METHODS: tuple[Method, ...] = ("exact", "opensim")


def like_opensim(like: Any) -> bool:
    """Whether OpenSim's methods are asked for."""
    if like is None or (isinstance(like, str) and like == "opensim"):
        return like is not None
    raise InvalidInput(f"like={like!r}; it is 'opensim', or None for the exact methods")


def wrapping_of(like: Like | None, wrapping: Wrapping | None) -> Wrapping:
    """How paths run over surfaces."""
    opensim = like_opensim(like)
    if wrapping is None:
        return "opensim" if opensim else "geodesic"
    if wrapping not in WRAPPINGS:
        raise InvalidInput(f"wrapping {wrapping!r} is not known; it is one of {', '.join(WRAPPINGS)}")
    return wrapping


def method_of(like: Like | None, method: Method | None) -> Method:
    """By which definitions fibers and forces are computed."""
    opensim = like_opensim(like)
    if method is None:
        return "opensim" if opensim else "exact"
    if method not in METHODS:
        raise InvalidInput(f"method is 'exact' or 'opensim', not {method!r}")
    return method
