"""Where poses do not go on from the frame before: other starts are tried there, and whole turns are removed.

A frame starts from where those before lead to. After frames with wrong labels or outliers that may be another minimum,
or the same one written with other angles, and every later frame would follow it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.errors import MusculoError
from musculo.kernels.fit.bounded_step import Unknowns
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.fit.pose_search import CONVERGED, UNDETERMINED, PoseSearch, TrackedFrames, track_frames
from musculo.model.model import Model

# Iterations after which a frame is given up.
MOST_ITERATIONS = 200
# Poses closer than this [rad, m] are the same minimum, and so are objectives up to this part of them.
SAME_POSE = 1e-6
# An angle that moves further in one frame [rad] may be of another minimum; so may an objective that is so many times
# that of its neighbor [-], and larger than this [m^2].
_LEAP, _JUMP, _WORTH = 0.5, 4.0, 1e-6
# Another minimum counts if it is lower by this part; of equal ones that which is less outside the ranges by this [rad].
_CLEARLY, _OUTSIDE = 1e-3, 0.1
# Objectives below this are alike [m^2, rad^2]: no recording is as accurate.
_FITTED = 1e-12
# Frames in a row that are worth a search from all starts.
_LONG = 5
_TURN = 2.0 * np.pi
# A whole turn changes nothing if the model's frames are within this [-, m].
_NOTHING = 1e-9


class Problem(NamedTuple):
    """All that the kernel takes, and where it writes."""

    model: tuple[Any, ...]
    unknowns: Unknowns
    recorded: Recorded
    given: FloatArray
    starts: FloatArray
    tolerance: float
    q: FloatArray
    misfit: Misfit
    objective: FloatArray
    status: NDArray[np.int64]
    iterations: NDArray[np.int64]

    def track(self, start: int, stop: int, robust: bool = False, stride: int = 1) -> None:
        """Frames from q[start] on; with `robust` the first one from all starts, too."""
        search = PoseSearch(self.starts, self.tolerance, MOST_ITERATIONS, robust, stride)
        found = TrackedFrames(self.q, self.misfit, self.objective, self.status, self.iterations)
        track_frames(self.model, self.unknowns, self.recorded, self.given, search, found, start, stop)

    def alone(self, frame: int, pose: FloatArray, robust: bool = False) -> Problem:
        """One frame, solved from a pose (n,) and, with `robust`, from all starts."""
        row = slice(frame, frame + 1)
        there = self._replace(
            starts=self.starts if robust else self.starts[:0],
            q=pose[None].copy(),
            recorded=Recorded(*(array[row] for array in self.recorded)),
            given=self.given[row],
            misfit=Misfit(*(np.empty((1, array.shape[1])) for array in self.misfit)),
            objective=np.empty(1),
            status=np.empty(1, dtype=np.int64),
            iterations=np.empty(1, dtype=np.int64),
        )
        there.track(0, 1, robust)
        return there

    def take(self, frame: int, there: Problem) -> None:
        """Write what `alone` found into a frame."""
        for array, one in zip(self.results, there.results, strict=True):
            array[frame] = one[0]

    @property
    def results(self) -> tuple[NDArray[Any], ...]:
        """What the kernel writes, frames first."""
        return self.q, *self.misfit, self.objective, self.status, self.iterations

    def outside(self, pose: FloatArray) -> float:
        """By how much coordinates are outside the ranges that the model states, in all [rad, m]."""
        own = self.unknowns.coordinate >= 0
        value, (low, high) = pose[self.unknowns.coordinate[own]], self.unknowns.usual[own].T
        return float(np.maximum(np.maximum(low - value, value - high), 0.0).sum())


def keep_undetermined(problem: Problem) -> None:
    """Solve frames that do not determine every coordinate once more, from the pose before, in their order.

    All poses along some line fit alike there. The search from other starts takes any of them; this one moves no
    further than the fit needs. A frame that fits worse so stays.
    """
    for frame in np.flatnonzero(problem.status == UNDETERMINED):
        if frame:
            there = problem.alone(int(frame), problem.q[frame - 1])
            if there.objective[0] <= problem.objective[frame] * (1.0 + SAME_POSE) + _FITTED:
                problem.take(int(frame), there)


def changes_of_fit(objective: FloatArray) -> NDArray[np.bool_]:
    """(frames - 1,) where objectives (frames,) of neighbors differ much: wrong labels or outliers begin or end."""
    cost = np.nan_to_num(objective)
    high, low = np.maximum(cost[1:], cost[:-1]), np.minimum(cost[1:], cost[:-1])
    return (high > _JUMP * low) & (high > _WORTH)


def breaks_of(problem: Problem, angles: NDArray[np.int64]) -> list[int]:
    """Frames at which an angle (columns of q) leaps or the fit changes much, whole turns apart."""
    leap = np.diff(problem.q[:, angles], axis=0)
    leap = np.abs(leap - _TURN * np.round(leap / _TURN)).max(axis=1, initial=0.0)
    return (np.flatnonzero((leap > _LEAP) | changes_of_fit(problem.objective)) + 1).tolist()


def mend_breaks(problem: Problem, angles: NDArray[np.int64]) -> None:
    """Start each row of frames after a break once more: from before it, from the longest row before, from all starts.

    A pose that fits clearly better is taken; of those that fit alike the one that is less outside the ranges of the
    model, else the one nearer to the longest row before. The frames up to the next break follow it, unless they would
    fit worse in all.
    """
    frames = len(problem.q)
    breaks = breaks_of(problem, angles)
    longest, home = 0, 0
    for first, stop in pairwise([0, *breaks, frames]):
        if first:
            _mend_row(problem, first, stop, home, angles)
        if stop - first > longest:
            longest, home = stop - first, stop - 1


def _mend_row(problem: Problem, first: int, stop: int, home: int, angles: NDArray[np.int64]) -> None:
    if not np.isfinite(problem.objective[first]):
        return  # nothing was seen
    before = problem.q[home]
    tries = [problem.alone(first, problem.q[first - 1])]
    if home != first - 1:
        tries.append(problem.alone(first, before))
    if stop - first >= _LONG:
        tries.append(problem.alone(first, problem.q[first], robust=True))
    pose, cost, status = problem.q[first], float(problem.objective[first]), int(problem.status[first])
    changed = False
    for one in tries:
        other, new, outcome = one.q[0], float(one.objective[0]), int(one.status[0])
        better = new < cost * (1.0 - _CLEARLY) and (outcome == CONVERGED or status != CONVERGED)
        alike = outcome == status and abs(new - cost) <= SAME_POSE * cost + _FITTED
        if alike and np.abs(other - pose).max() > SAME_POSE:
            gain = problem.outside(pose) - problem.outside(other)
            nearer = np.abs(other - before)[angles].sum() < np.abs(pose - before)[angles].sum()
            better = gain > _OUTSIDE or (abs(gain) <= _OUTSIDE and bool(nearer))
        if better:
            pose, cost, status, changed = other, new, outcome, True
    if not changed:
        return
    kept = [array[first:stop].copy() for array in problem.results]
    problem.q[first] = pose
    problem.track(first, stop)
    was, now = np.nansum(kept[-3]), np.nansum(problem.objective[first:stop])
    if now > was * (1.0 + SAME_POSE) + _FITTED:
        for array, old in zip(problem.results, kept, strict=True):
            array[first:stop] = old


def take_back_turns(
    model: Model, problem: Problem, angles: NDArray[np.int64], held: NDArray[np.int64], places: bool
) -> None:
    """Take whole turns off angles of rows of frames, where a turn changes nothing.

    A turn changes nothing if no body
    turns and, where `places` count, as those of markers do, none moves. Angles that a task holds (columns `held`) or a
    coupler are left, and those that would leave their bounds.
    """
    q, unknowns = problem.q, problem.unknowns
    if len(q) < 2:
        return
    for column in np.setdiff1d(angles, held):
        values = whole_turns_off(q[:, column], problem.objective)
        k = int(np.flatnonzero(unknowns.coordinate == column)[0])
        if (
            (values != q[:, column]).any()
            and unknowns.lower[k] <= values.min()
            and values.max() <= unknowns.upper[k]
            and _turns_freely(model, q[len(q) // 2], int(column), places)
        ):
            q[:, column] = values


def whole_turns_off(angle: FloatArray, objective: FloatArray) -> FloatArray:
    """An angle (frames,) with rows of frames moved by whole turns, to where the last good row before them ends.

    Rows end where the angle leaps by more than half a turn or the fit changes much. Good ones are long, and fit about
    as well as the best; the longest of them keeps its number of turns.
    """
    ends = (np.flatnonzero((np.abs(np.diff(angle)) > np.pi) | changes_of_fit(objective)) + 1).tolist()
    rows = list(pairwise([0, *ends, len(angle)]))
    cost = np.array([np.nan_to_num(objective[first:stop]).mean() for first, stop in rows])
    size = np.array([stop - first for first, stop in rows])
    long = size >= min(_LONG, size.max())
    good = long & (cost <= max(_JUMP * cost[long].min(), _WORTH))
    turns, home, trusted = np.zeros(len(rows), dtype=np.int64), float(angle[0]), False
    for k, (first, stop) in enumerate(rows):
        turns[k] = round((float(angle[first]) - home) / _TURN)
        if good[k] or not trusted:
            trusted, home = trusted or bool(good[k]), float(angle[stop - 1] - _TURN * turns[k])
    kept = turns[int(np.where(good, size, 0).argmax())]
    return angle - _TURN * np.repeat(turns - kept, size)


def _turns_freely(model: Model, pose: FloatArray, column: int, places: bool) -> bool:
    """Whether a whole turn of a coordinate leaves all bodies and all other coordinates as they are."""
    turned = pose.copy()
    turned[column] += _TURN
    e = embedding_of(model)
    try:
        follows = np.diff(e.coordinates(e.independent(np.stack([pose, turned]))), axis=0)[0]
    except MusculoError:
        return False
    motion = kinematics(model, np.stack([pose, turned]))
    for body in model.body_names:
        R, p = motion.batch_pose(body)
        if np.abs(R[1] - R[0]).max() > _NOTHING or (places and np.abs(p[1] - p[0]).max() > _NOTHING):
            return False
    return bool(np.abs(np.delete(follows, column)).max(initial=0.0) < _NOTHING)
