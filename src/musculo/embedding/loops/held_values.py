"""Closed poses that keep what the file says: coordinates first in the file stay at their values where they can."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.loops.closed_loop import CLOSED, Loop
from musculo.embedding.loops.loop_assembly import CLOSE, closed_from, descended, gaps

# A pose whose coordinates moved by no more is taken at once; others are compared [rad, units of the mechanism's size].
_NEAR = 1.0
# Else so many starts around the file's pose, each time in a wider box, seeded: a model always gives the same pose.
_STARTS, _SPREADS = 16, (0.7, 1.6, np.pi)


def keep_values(
    loop: Loop, wanted: FloatArray, closed: FloatArray, order: list[int], likely: list[int], count: int, turns: set[str]
) -> tuple[FloatArray, list[int]]:
    """A closed pose (n_y,) with up to `count` coordinates at their wanted values, and which these are.

    They are taken in the given order, each if the loop can be closed with it and those before; the rest moves as
    little as it can.

    Args:
        loop: with all its coordinates as inputs.
        wanted: (n_y,) the values in the file.
        closed: (n_y,) any closed pose.
        order: columns of y that may move, in the order in which they shall stay.
        likely: `count` of them that will do in most cases; tried first, all at once.
        count: how many coordinates the loop leaves free.
        turns: coordinates that are angles.
    """
    angles = np.array([name in turns for name in loop.inputs])
    if gaps(loop, wanted[None])[0] <= CLOSED:
        return wanted.copy(), likely
    if not count:
        return closed, []
    found = _closed_with(loop, wanted, closed, [k for k in order if k not in likely], angles)
    if found is not None:
        return found, likely
    kept: list[int] = []
    for k in order:
        found = _closed_with(loop, wanted, closed, [j for j in order if j not in kept and j != k], angles)
        if found is not None:
            closed = found
            kept.append(k)
            if len(kept) == count:
                break
    return closed, kept


def _closed_with(
    loop: Loop, wanted: FloatArray, closed: FloatArray, moving: list[int], angles: np.ndarray
) -> FloatArray | None:
    """The closed pose that moves the least where only some coordinates may move; None if none is found."""
    near = wanted.copy()
    near[moving] = closed[moving]
    found = _reached(loop, wanted, np.stack([wanted, near]), moving, angles)
    rng = np.random.default_rng(0)
    for spread in _SPREADS:
        if found is not None and _moved(loop, found, wanted) <= max(_NEAR, spread):
            break
        starts = np.tile(wanted, (_STARTS, 1))
        starts[:, moving] += spread * rng.uniform(-1.0, 1.0, (_STARTS, len(moving))) * loop.scale[moving]
        others = _reached(loop, wanted, starts, moving, angles)
        if found is None or (others is not None and _moved(loop, others, wanted) < _moved(loop, found, wanted)):
            found = others
    return found


def _moved(loop: Loop, y: FloatArray, wanted: FloatArray) -> float:
    return float(np.max(np.abs(y - wanted) / loop.scale))


def _reached(
    loop: Loop, wanted: FloatArray, starts: FloatArray, moving: list[int], angles: np.ndarray
) -> FloatArray | None:
    """Of the closed poses that starts (frames, n_y) lead to, the one that moves the least; None if none closes."""
    Y, gap = descended(loop, starts, moving)
    Y = Y[gap <= CLOSE]
    unwound = Y.copy()
    turned = [k for k in moving if angles[k]]
    unwound[:, turned] -= 2.0 * np.pi * np.round((Y - wanted)[:, turned] / (2.0 * np.pi))
    # a coordinate may turn and also shift something: then a whole turn is not nothing
    same = gaps(loop, unwound)[:, None] <= CLOSE if len(Y) else np.zeros((0, 1), dtype=bool)
    poses = np.where(same, unwound, Y)
    for y in sorted(poses, key=lambda y: _moved(loop, y, wanted)):
        pose, left = closed_from(loop, y, moving)
        if left <= CLOSED:
            return pose
    return None
