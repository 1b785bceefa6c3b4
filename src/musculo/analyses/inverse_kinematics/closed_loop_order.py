"""Inverse kinematics of models with closed loops: which frame starts from which pose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.inverse_kinematics.closed_poses import ClosedSearch, Poses
from musculo.arrays import FloatArray, IntArray
from musculo.embedding.couplers.stated_rules import collect_rules, refuse_carried
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.equations.loop_equations import EquationSet
from musculo.kernels.fit.pose_fit import Targets
from musculo.kernels.fit.pose_search import SLOW, UNSEEN
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler

# Frames that start from one another are so far apart; those between start from what lies between.
_STRIDE = 32
# An objective so many times that of the frame before [-], and larger than this [m^2], is tried from other poses too.
_JUMP, _WORTH = 4.0, 1e-6
# Another minimum counts if it is lower by this part; where a bound holds the first one, by the second.
_CLEARLY, _LOWER = 1e-3, 1e-6


def open_loops(model: Model) -> Model:
    """The model without the constraints that close loops; itself where there are none.

    Raises:
        Unsupported: a constraint that musculo cannot compute.
    """
    refuse_carried(embedding_of(model).unsolved)
    closing = [c for c in model.constraints if c.enforced and not isinstance(c, CoordinateCoupler)]
    if not closing:
        return model

    def make() -> Model:
        opened = tuple(replace(c, enforced=False) if c in closing else c for c in model.constraints)
        return model.replace(constraints=opened)

    return model.derived("open loops", make)


def loop_equations(model: Model) -> EquationSet:
    """The equations that close the loops of a model."""
    return model.derived("loop equations", lambda: EquationSet(model, collect_rules(model)[1]))


def track_closed(
    search: ClosedSearch, starts: FloatArray, frames: int, progress: Callable[[int, int], None]
) -> tuple[Poses, FloatArray]:
    """The poses of all frames, and what is left of the equations at them (frames,), the largest.

    The first frame is sought from all of `starts` (starts, n), and the lowest minimum taken; every so many frames start
    from the one before; the others, all at once, from the line between their neighbors. A frame that fits much worse
    than its neighbors, or does not converge, is tried from the other poses, too.
    """
    seen = np.flatnonzero(_seen(search))
    n = starts.shape[1]
    found = Poses(
        np.zeros((frames, n)),
        np.full(frames, np.nan),
        np.full(frames, UNSEEN, dtype=np.int64),
        np.zeros(frames, dtype=np.int64),
    )

    def keep(at: IntArray, poses: Poses) -> None:
        for whole, part in zip(found, poses, strict=True):
            whole[at] = part

    chain = seen[::_STRIDE] if not seen.size else np.unique(np.concatenate([seen[::_STRIDE], seen[-1:]]))
    before: IntArray = chain[:0]
    for frame in chain:
        at = np.array([frame])
        if not before.size:
            keep(at, _lowest(search, frame, starts, None))
        else:
            keep(at, search.solve(at, _led(found.q, before, frame)))
            if _doubtful(found, at, found.objective[before[-1:]])[0]:
                keep(at, _lowest(search, frame, starts, _one(found, frame)))
        if found.status[frame] != SLOW:
            before = np.append(before, frame)[-2:]
        # the frames between are left, and take about as long
        progress(int(frame) // 2, frames)
    rest = np.setdiff1d(seen, chain)
    if rest.size:
        right = np.searchsorted(chain, rest)
        left, right = chain[right - 1], chain[right]
        share = ((rest - left) / (right - left))[:, None]
        keep(rest, search.solve(rest, (1.0 - share) * found.q[left] + share * found.q[right]))
        for k in np.flatnonzero(_doubtful(found, rest, np.maximum(found.objective[left], found.objective[right]))):
            keep(rest[[k]], _lowest(search, int(rest[k]), starts, _one(found, int(rest[k]))))
    _release(search, found, seen)
    for frame in np.flatnonzero(found.status == UNSEEN):
        # nothing is known: the pose stays what it was
        pose = found.q[frame - 1] if frame else found.q[seen[0]] if seen.size else starts[0]
        found.q[frame] = search.closed(search.with_given(np.array([frame]), pose[None]))[0][0]
    progress(frames, frames)
    g, _ = search.closure(found.q) if frames else (np.zeros((0, 0)), None)
    return found, np.abs(g).max(axis=1, initial=0.0)


def _release(search: ClosedSearch, found: Poses, seen: IntArray) -> None:
    """Try frames that end at a bound once more, from where no bound holds them: a bound makes minima of its own.

    From the nearest frames before and after that are free, and from the same pose with the coordinate in mid-range.
    """
    unknowns = search.unknowns
    bounded = np.flatnonzero(np.isfinite(unknowns.lower) & np.isfinite(unknowns.upper))
    own = unknowns.coordinate[bounded]
    low, high = unknowns.lower[bounded], unknowns.upper[bounded]
    held = (found.q[seen][:, own] <= low) | (found.q[seen][:, own] >= high)
    at, free = seen[held.any(axis=1)], seen[~held.any(axis=1)]
    if not at.size:
        return
    middle = found.q[at]
    middle[:, own] = np.where(held[held.any(axis=1)], 0.5 * (low + high), middle[:, own])
    tries = [middle]
    if free.size:
        after = np.searchsorted(free, at)
        tries += [found.q[free[np.clip(after - 1, 0, None)]], found.q[free[np.clip(after, None, free.size - 1)]]]
    for start in tries:
        other = search.solve(at, start)
        lower = (other.status != SLOW) & (other.objective < found.objective[at] * (1.0 - _LOWER))
        for whole, part in zip(found, other, strict=True):
            whole[at[lower]] = part[lower]


def _seen(search: ClosedSearch) -> NDArray[np.bool_]:
    """Which frames have anything with a weight to follow."""
    targets: Targets = search.kernel[4]
    seen = np.zeros(len(search.given), dtype=bool)
    for values, width, weights in (
        (search.recorded.markers, 3, targets.weight),
        (search.recorded.sensors, 9, targets.sensor_weight),
        (search.recorded.goals, 1, targets.task_weight),
    ):
        for k in np.flatnonzero(weights > 0.0):
            seen |= ~np.isnan(values[:, width * k])
    return seen


def _led(q: FloatArray, before: IntArray, frame: int) -> FloatArray:
    """Where the frames before lead to (1, n)."""
    if before.size < 2:
        return q[before[-1:]]
    a, b = before
    return (q[b] + (frame - b) / (b - a) * (q[b] - q[a]))[None]


def _doubtful(found: Poses, at: IntArray, expected: FloatArray) -> NDArray[np.bool_]:
    cost = found.objective[at]
    return (found.status[at] == SLOW) | ((cost > _JUMP * expected) & (cost > _WORTH))


def _one(found: Poses, frame: int) -> Poses:
    return Poses(*(array[[frame]] for array in found))  # type: ignore[arg-type]


def _lowest(search: ClosedSearch, frame: int, starts: FloatArray, own: Poses | None) -> Poses:
    """The lowest minimum of a frame from many poses; a pose that is known already gives way to a clearly lower one."""
    found = search.solve(np.full(len(starts), frame), starts)
    if own is not None:
        found = Poses(*(np.concatenate(pair) for pair in zip(own, found, strict=True)))
    cost = np.where(found.status != SLOW, found.objective, np.inf)
    if not np.isfinite(cost).any():
        cost = found.objective
    # of equal ones the first, which is nearest to where the model stands by default
    best = int(np.argmax(cost <= np.nanmin(cost) * (1.0 + _CLEARLY) + 1e-30)) if np.isfinite(cost).any() else 0
    return Poses(*(array[[best]] for array in found))  # type: ignore[arg-type]
