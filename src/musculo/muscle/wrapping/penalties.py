"""Doubtful lengths in words: what of a length is not a path, and surfaces that shrink, where and how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray


def penalties_in_words(names: Sequence[str], penalty: FloatArray, what: str = "paths") -> str:
    """One sentence on penalties (frames, paths), or (paths,) of a single pose [m]; empty where there are none.

    `what` is the plural of what the names are of.
    """
    most = np.atleast_2d(penalty).max(axis=0, initial=0.0)
    if not most.any():
        return ""
    worst = int(most.argmax())
    frames = "" if np.ndim(penalty) == 1 else f" in {int(np.any(penalty > 0.0, axis=1).sum())} of {len(penalty)} frames"
    return (
        f"{_how_many(most > 0.0, what)} lengths with a penalty{frames}, {names[worst]!r} {1e3 * most[worst]:.3g} mm at "
        "most: moment arms there include its slope and may be far too large, or of the other sign"
    )


def inside_in_words(names: Sequence[str], inside: NDArray[np.bool_]) -> str:
    """One sentence on paths with a point inside a surface (frames, paths), or (paths,); empty where there are none."""
    return _paths_with(
        names,
        inside,
        "a point inside a surface",
        "the surface shrinks with it, and moment arms there include that and may be several times too large",
    )


def not_converged_in_words(names: Sequence[str], not_converged: NDArray[np.bool_]) -> str:
    """One sentence on paths that no taut one was found for (frames, paths), or (paths,); empty where there are none."""
    return _paths_with(
        names,
        not_converged,
        "no taut solution (not converged)",
        "lengths there may jump, and moment arms need not be their slopes; see whether surfaces leave room for a path",
    )


def _paths_with(names: Sequence[str], chosen: NDArray[np.bool_], what: str, so: str) -> str:
    """How many paths have it, the one that has it most often, and what follows."""
    frames = np.atleast_2d(chosen).sum(axis=0)
    if not frames.any():
        return ""
    worst = int(frames.argmax())
    most = "" if np.ndim(chosen) == 1 else f" in {frames[worst]} of {len(chosen)} frames"
    return f"{_how_many(frames > 0, 'paths')} {what}, {names[worst]!r}{most}: {so}"


def _how_many(chosen: NDArray[np.bool_], what: str) -> str:
    """For instance "2 of 50 paths have"."""
    return f"{chosen.sum()} of {len(chosen)} {what} {'has' if chosen.sum() == 1 else 'have'}"
