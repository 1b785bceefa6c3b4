"""What an embedding gives over frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput

# A frame whose dependent coordinates are further than this from what they depend on is refused [rad, m].
CONSISTENT = 1e-6


class Closure(NamedTuple):
    """All coordinates as far as loops could be closed, and how each frame came out (a `LoopStatus`)."""

    q: FloatArray  # (frames, n) or (n,)
    status: IntArray  # (frames,) or (): 0 solved, 1 out of reach, 2 a singular position in the way


class EmbeddedMotion(NamedTuple):
    """All coordinates of the tree from the independent ones; arrays have the frames first, unless one was given."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    udot: FloatArray  # (frames, n_u)
    J: FloatArray  # (frames, n_u, n_zu): u = J zu + c
    c: FloatArray  # (frames, n_u)
    b: FloatArray  # (frames, n_u): udot = J zudot + b


def times_of(time: ArrayLike, frames: int) -> FloatArray:
    """Time as (frames,), from a number or one for each frame."""
    try:
        times = np.asarray(time, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"time is not a number or an array of numbers: {error}") from None
    if not np.isfinite(times).all():
        raise InvalidInput(f"time holds a number that is not finite; it needs a number or ({frames},)")
    if times.shape not in ((), (frames,)):
        raise InvalidInput(f"time has shape {times.shape}; it needs a number or ({frames},)")
    return np.ascontiguousarray(np.broadcast_to(times, (frames,)))
