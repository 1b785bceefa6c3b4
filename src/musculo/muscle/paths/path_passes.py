"""Paths of all frames by the kernels, in two passes: the second finishes what the first, which is simple, leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel
from musculo.kernels.paths.fitted_path_frames import fitted_path_frames
from musculo.kernels.paths.path_frames import (
    PathFrames,
    PoseFrames,
    SpeedFrames,
    geodesic_path_frames,
    opensim_path_frames,
)
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import MotionFrames, kinematics_frames, over_frames
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.like import Wrapping
from musculo.muscle.paths.compile_paths import CompiledPaths
from musculo.muscle.paths.current_paths import STATUSES, PathPoints

# Poses of so many frames at a time are kept between the two kernels: they stay in the cache of the processor.
_CHUNK = 2048
_FIRST_CHUNK = 32
_NONE_LATER = np.zeros(0, dtype=bool)
# The part of sampled poses in which a path that begins in the second pass needs it.
_OFTEN = 0.25
# So many sampled poses of a model say which of its paths begin in the second pass.
_SAMPLED = 64
_NO_TWISTS = np.zeros((0, 6))


class Begun(NamedTuple):
    """What a first pass elsewhere left of all frames."""

    length: FloatArray  # (frames, paths)
    arms: FloatArray  # (frames, paths, n_u)
    status: NDArray[np.int8]  # (frames, paths)

    @classmethod
    def before(cls, frames: int, n: int, n_u: int) -> Begun:
        """Room for n paths, with nothing done."""
        return cls(np.empty((frames, n)), np.empty((frames, n, n_u)), np.zeros((frames, n), dtype=np.int8))


def unfinished(status: NDArray[np.int8]) -> NDArray[np.int64]:
    """The frames in which a first pass left a path to the second."""
    return np.flatnonzero((status == UNFINISHED).any(axis=1))


def in_two_passes(
    later: NDArray[np.bool_],
    status: NDArray[np.int8],
    first: Callable[[], None],
    second: Callable[[NDArray[np.int64]], None],
) -> None:
    """Run the first pass over some frames, and the second over those that it left a path of.

    The first does not know polylines, which most models never need and which take long to compile.

    Args:
        later: (paths,) those that begin in the second, see `begins_later`.
        status: (frames, paths) of these frames, zero at first; the passes write it.
    """
    status[:, later] = UNFINISHED
    first()
    left = unfinished(status)
    if len(left):
        second(left)


def begins_later(
    c: CompiledModel, p: CompiledPaths, threads: int | None, extra: FloatArray = _NO_TWISTS
) -> NDArray[np.bool_]:
    """(paths,) which begin in the second pass in every pose: those that the first leaves in a quarter of sampled poses.

    Both find the same path, to rounding, and the first would often do so for nothing (MoBL-ARMS: 25 of 50 paths are
    left somewhere, some everywhere; arm26: two of six, in 5 and 14 % of the poses). It is decided by the model alone,
    so that no answer hangs on what was asked before.
    """
    if (p.second_pass < 0).any():
        poses = np.ascontiguousarray(p.sample[:: max(len(p.sample) // _SAMPLED, 1)])
        tried = run_paths(c, p, poses, None, "first pass", threads, extra=extra, keep_points=False)
        p.second_pass[:] = (tried.status == UNFINISHED).mean(axis=0) >= _OFTEN
    return p.second_pass == 1


def chunks(frames: int, most: int) -> Iterator[slice]:
    """Slices of at most `most` frames; the first of a few, after which it is known what is for the second pass."""
    start, stop = 0, min(frames, most, _FIRST_CHUNK)
    while start < stop:
        yield slice(start, stop)
        start, stop = stop, min(frames, stop + most)


class PathRun(NamedTuple):
    """What the kernels give of all frames; `points` only where they are kept."""

    length: FloatArray  # (frames, paths)
    speed: FloatArray | None
    arms: FloatArray  # (frames, paths, n_u)
    status: NDArray[np.int8]  # (frames, paths)
    penalty: FloatArray  # (frames, paths)
    points: PathPoints | None


def run_paths(
    c: CompiledModel,
    p: CompiledPaths,
    Q: FloatArray,
    U: FloatArray | None,
    wrapping: Wrapping | Begun | Literal["first pass"],
    threads: int | None,
    *,
    extra: FloatArray = _NO_TWISTS,
    keep_points: bool = True,
) -> PathRun:
    """Lengths, speeds, moment arms, statuses, penalties and current paths of all frames.

    Args:
        wrapping: the method; "first pass": by geodesics, but no path is finished that the first pass leaves; `Begun`:
            what a first pass left is finished in place, and penalties and points are those of these paths only.
        extra: (m, 6) twists of imagined speeds that come after those of the model; moment arms have n_u + m columns.
    """
    frames, n, n_u = len(Q), len(p.names), c.n_u + len(extra)
    first = p.paths.path_entry
    entries, size = int(first[-1]), min(frames, _CHUNK)
    like_opensim = wrapping == "opensim"
    later = begins_later(c, p, threads, extra) if wrapping == "geodesic" else _NONE_LATER
    begun = wrapping if isinstance(wrapping, Begun) else Begun.before(frames, n, n_u)
    length, arms, status = begun.length, begun.arms.reshape(frames, n * n_u), begun.status
    kept = frames if keep_points else size
    places, owners = np.zeros((kept, 3 * entries)), np.full((kept, entries), -1, dtype=np.int32)
    counts, penalty = np.zeros((kept, n), dtype=np.int64), np.zeros((frames, n))
    rest = np.zeros((1, n_u))
    moving = U is not None and like_opensim
    speed = np.zeros((frames if moving else 1, n))
    motion, twists = np.empty((size, MOTION_ROWS * c.tree.parent.size)), np.empty((size, 6 * n_u))
    twists[:, 6 * c.n_u :] = extra.ravel()
    if U is not None and len(extra):
        U = np.concatenate([U, np.zeros((frames, len(extra)))], axis=1)
    for now in chunks(frames if n else 0, _CHUNK):
        X, there = Q[now], now if keep_points else slice(0, size)
        if p.all_functions:
            break
        still = MotionFrames(X, rest, rest)
        over_frames(kinematics_frames, (c.tree, c.table, still, False, motion, twists), len(X), threads)
        found = PathFrames(
            length[now], arms[now], places[there], owners[there], penalty[now], counts[there], status[now]
        )
        given: tuple = (p.paths, p.table, PoseFrames(X, motion, twists))
        if like_opensim:
            speeds = (U[now], True, speed[now]) if U is not None and moving else (rest, False, speed)
            over_frames(opensim_path_frames, (*given, SpeedFrames(*speeds), found), len(X), threads)
        else:
            given = (*given, found)
            if wrapping == "first pass":
                _begin(given, len(X), threads)
            elif wrapping == "geodesic":
                in_two_passes(
                    later, status[now], partial(_begin, given, len(X), threads), partial(_finish, given, threads)
                )
            else:
                _finish(given, threads, unfinished(status[now]))
    mark_cut_short(p, Q, status)
    r = begun.arms
    if begun is not wrapping:
        put_function_paths(p, Q, like_opensim, length, arms, threads)
    points = None
    if keep_points:
        points = PathPoints(p.names, first, counts, places.reshape(frames, entries, 3), owners, penalty, p.wrap_names)
    if U is None:
        return PathRun(length, None, r, status, penalty, points)
    if not moving:
        return PathRun(length, -np.einsum("fpu,fu->fp", r, U), r, status, penalty, points)
    own = p.functions.numbers
    speed[:, own] = -np.einsum("fpu,fu->fp", r[:, own], U)
    p.functions.stated_speeds(Q, U, speed)
    return PathRun(length, speed, r, status, penalty, points)


def put_function_paths(
    p: CompiledPaths,
    Q: FloatArray,
    like_opensim: bool,
    length: FloatArray,
    arms: FloatArray,
    threads: int | None,
) -> None:
    """Lengths (frames, paths) and moment arms (frames, paths n_u) of those paths that are functions of coordinates."""
    if p.functions.members:
        fitted, table = p.functions.arrays(like_opensim)
        over_frames(fitted_path_frames, (fitted, table, Q, length, arms), len(Q), threads)


def _begin(given: tuple[Any, ...], frames: int, threads: int | None) -> None:
    over_frames(geodesic_path_frames, given, frames, threads)


def _finish(given: tuple[Any, ...], threads: int | None, left: NDArray[np.int64]) -> None:
    # not at the top: its kernels are many, and most models never come here
    from musculo.kernels.paths.second_pass_frames import second_pass_frames

    over_frames(second_pass_frames, (*given, left), len(left), threads)


def mark_cut_short(p: CompiledPaths, Q: FloatArray, status: NDArray[np.int8]) -> None:
    """Paths whose end is out of its range, in their statuses (frames, paths); kernels run between what is left."""
    if p.conditional_ends:
        status[p.cut_short(Q)] = STATUSES.index("cut short")
