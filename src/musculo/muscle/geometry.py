"""Lengths, lengthening speeds and moment arms of every path of a model, for one pose or a whole motion."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property, partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.dynamics.inverse import Device, check_device, on_gpu, on_host, resident_frames
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, MusculoWarning, SingularSystem, UnknownName, Unsupported
from musculo.kernels.cuda.device_arrays import is_on_device
from musculo.kernels.paths.fitted_path_frames import fitted_path_frames
from musculo.kernels.paths.path_frames import geodesic_path_frames, opensim_path_frames
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import kinematics_frames, over_frames
from musculo.kernels.wrapping.geodesic.taut_path import UNFINISHED
from musculo.like import Like, Wrapping, wrapping_of
from musculo.model.model import Model
from musculo.muscle.compile_paths import CompiledPaths, compiled_paths
from musculo.muscle.labelled_paths import LabelledGeometry
from musculo.muscle.prices import inside_in_words, prices_in_words, rough_in_words
from musculo.results.provenance import Provenance
from musculo.results.result import Result
from musculo.results.table import Table


class PathStatus(IntEnum):
    """How the search for a taut path ended, best first: that of the worst segment of a path."""

    CONVERGED = 0
    """The path is taut."""
    INSIDE = 1
    """A fixed point of the path lies inside a surface."""
    OTHER_SIDE = 2
    """The path gives up a rule of the model, and the length has a price for it (`PathGeometry.price`)."""
    OVERLAPPED = 3
    """Surfaces overlap: the path is a polyline that is pulled tight outside all of them."""
    NOT_CONVERGED = 4
    """The search was given up; the path is the best it came by."""
    IGNORED = 5
    """No path over a surface was found, so the path ignores the surface."""
    CUT_SHORT = 6
    """An end is a conditional point out of its range: the path runs between the other points only, as in OpenSim, and
    has no length where one is left."""


# The same in words, in the order of their numbers.
STATUSES = tuple(status.name.lower().replace("_", " ") for status in PathStatus)
# Poses of so many frames at a time are kept between the two kernels: they stay in the cache of the processor.
_CHUNK = 2048
_FIRST_CHUNK = 32
KEPT_POINTS = 20_000
"""Of more frames than these the points of paths, larger than all else, are made only when they are asked for."""


@dataclass(frozen=True, eq=False)
class PathPoints:
    """The current paths of all frames in flat arrays; `of` gives one of them.

    The entries of path k are `first[k] .. first[k] + count[frame, k] - 1` of the middle axis; what follows up to
    first[k + 1] is unused.
    """

    names: tuple[str, ...]
    first: NDArray[np.int64]  # (paths + 1,)
    count: NDArray[np.int64]  # (frames, paths)
    position: FloatArray = field(repr=False)  # (frames, entries, 3) in ground [m]
    wrap: NDArray[np.int32] = field(repr=False)  # (frames, entries) -1: a path point; else which of `wrap_objects`
    price: FloatArray = field(repr=False)  # (frames, paths) what of a length is no path [m]
    wrap_objects: tuple[str, ...] = ()

    def of(self, name: str, frame: int = 0) -> tuple[FloatArray, tuple[str, ...]]:
        """Points (n, 3) of one path in ground, origin to insertion, and the wrap object each touches ('' for none)."""
        if name not in self.names:
            raise UnknownName("path", name, self.names)
        asked = f"frame {frame} of path {name!r} is asked for"
        if isinstance(frame, bool) or not isinstance(frame, Integral):
            raise InvalidInput(f"{asked}; give a whole number, 0 to {len(self.count) - 1}")
        if not -len(self.count) <= frame < len(self.count):
            raise InvalidInput(f"{asked}; there are {len(self.count)} frames")
        k = self.names.index(name)
        entries = slice(self.first[k], self.first[k] + self.count[frame, k])
        touched = tuple(self.wrap_objects[w] if w >= 0 else "" for w in self.wrap[frame, entries])
        return self.position[frame, entries], touched


@dataclass(frozen=True, eq=False)
class PathGeometry(LabelledGeometry, Result):
    """Geometry of paths over frames; arrays have no frame axis for a single pose.

    Signs: `speed = -sum(moment_arm u)`, and tension times `moment_arm` is the generalized force on each speed. With
    like="opensim" both are OpenSim's own, which do not always agree with each other.
    """

    made_by: ClassVar[str] = "path_geometry"
    statuses: ClassVar[type[Enum]] = PathStatus

    model: Model = field(repr=False)
    wrapping: Wrapping
    names: tuple[str, ...]
    speed_names: tuple[str, ...]  # last axis of moment_arm: all speeds of the tree in file order
    length: FloatArray = field(repr=False)  # (frames, paths) [m]
    speed: FloatArray | None = field(repr=False)  # (frames, paths) [m/s]; None without u
    moment_arm: FloatArray = field(repr=False)  # (frames, paths, n_u) [m, or 1 for sliding coordinates]
    # (frames, paths) which of STATUSES the worst stretch of a path has; "converged" or "cut short" with
    # like="opensim"
    status: NDArray[np.int8] = field(repr=False)
    _q: FloatArray = field(repr=False)
    _paths: CompiledPaths = field(repr=False)
    _points: PathPoints | None = field(repr=False)
    # (frames, paths), where the points of the paths are not kept
    _price: FloatArray | None = field(default=None, repr=False, kw_only=True)

    def _frames(self) -> int | None:
        return len(self.length) if np.ndim(self.length) == 2 else None

    def _provenance(self) -> Provenance:
        only_muscles = set(self.names) <= set(self.model.muscle_names)
        made_by = "muscle_geometry" if only_muscles else "path_geometry"
        return Provenance.of(made_by, self.model, wrapping=self.wrapping)

    @cached_property
    def path_points(self) -> PathPoints:
        """The paths themselves; after work on a GPU, and of very many frames, they are made when they are asked for.

        A contact is its first and its last point; between them the path is a geodesic of the surface, not the chord.
        """
        if self._points is not None:
            return self._points
        Q = np.atleast_2d(self._q)
        points = run_paths(compiled(self.model), self._paths, Q, None, self.wrapping == "opensim", None).points
        assert points is not None  # they are kept unless it is told otherwise
        return points

    @property
    def notes(self) -> tuple[str, ...]:
        """What is doubtful, one sentence each: `model_notes`, how many paths have a point inside a surface or are not
        taut, how many lengths include a penalty, if that takes no time (`has_price`). None with like="opensim".
        """
        if self.wrapping == "opensim":
            return ()
        inside = inside_in_words(self.names, self.status == STATUSES.index("inside"))
        loose = (self.status == STATUSES.index("not converged")) | (self.status == STATUSES.index("ignored"))
        prices = prices_in_words(self.names, self.price) if self.has_price else ""
        return (*self.model_notes, *(text for text in (inside, rough_in_words(self.names, loose), prices) if text))

    @property
    def model_notes(self) -> tuple[str, ...]:
        """What this wrapping does otherwise than a modeller might expect of the model, one sentence each: quadrants of
        cylinders that paths do not keep to in every pose. None with like="opensim"."""
        return () if self.wrapping == "opensim" else self._paths.notes

    @property
    def price(self) -> FloatArray:
        """(frames, paths) the penalty in each length for a rule that the path breaks [m].

        Zero wherever the status is "converged" or "inside", and with like="opensim". Lengths minus penalties are those
        of the paths; moment arms are those of the whole length.
        """
        price = self.path_points.price if self._price is None else self._price
        return price[0] if np.ndim(self.length) == 1 else price

    @property
    def function_paths(self) -> tuple[int, ...]:
        """Which paths are functions of coordinates, and have no points."""
        return tuple(self._paths.functions.numbers.tolist())

    @property
    def has_price(self) -> bool:
        """Whether `price` takes no time: after work on a GPU the CPU has to make the paths for it."""
        return self._points is not None or self._price is not None or "path_points" in vars(self)

    @property
    def has_independent_arms(self) -> bool:
        """Whether `moment_arm_independent` is there or takes no time: no loops are closed for it."""
        e = embedding_of(self.model)
        return "moment_arm_independent" in vars(self) or not (e.loops or e.unsolved)

    @property
    def independent_names(self) -> tuple[str, ...]:
        """Last axis of `moment_arm_independent`: the model's `independent_coordinate_names` (of joints whose speeds are
        no coordinate's rate, the names of their speeds)."""
        return embedding_of(self.model).speed_names

    @cached_property
    def moment_arm_independent(self) -> FloatArray:
        """r J (frames, paths, n_zu): per independent speed (`independent_names`), couplings and closed loops included;
        made when first asked for. It is minus the slope of the length where the other independent coordinates rest.

        Without closed loops this is OpenSim's computeMomentArm, if no coordinate follows several independent ones. If
        one does, OpenSim's arm is not the slope, and `muscle_analysis(like="opensim")` gives it. Under closed loops it
        depends on which coordinates are called independent; `muscle_analysis` gives OpenSim's arms, which do not.

        Frames whose loops cannot be closed are NaN, and a `MusculoWarning` names the first.

        Raises:
            Unsupported: a constraint that musculo cannot compute.
            InvalidInput, SingularSystem: no frame's loops can be closed.
        """
        e = embedding_of(self.model)
        refuse_carried(
            e.unsolved,
            ", so that no speed is known to be independent; use moment_arm, per speed of the tree, or switch it off "
            "(enforced=False)",
        )
        try:
            return self.moment_arm @ e.jacobian(self._q)
        except (InvalidInput, SingularSystem):
            closed = np.atleast_1d(e.closure(e.independent(self._q), guess=self._q).status == 0)
            if closed.all() or not closed.any():
                raise
        arms = np.full((*self.length.shape, len(e.speed_names)), np.nan)
        arms[closed] = self.moment_arm[closed] @ e.jacobian(self._q[closed])
        lost = np.flatnonzero(~closed)
        warnings.warn(
            f"loops cannot be closed at {len(lost)} of {len(closed)} frames, frame {lost[0]} the first of them: there "
            "moment_arm_independent is NaN (moment_arm, per speed of the tree, is not)",
            MusculoWarning,
            stacklevel=3,  # through the cached property
        )
        return arms

    def __repr__(self) -> str:
        speed = None if self.speed is None else self.speed.shape
        shapes = f"length {self.length.shape}, speed {speed}, moment_arm {self.moment_arm.shape}"
        counts = np.bincount(np.ravel(self.status), minlength=len(STATUSES))
        odd = {word: int(count) for word, count in zip(STATUSES[1:], counts[1:], strict=True) if count}
        statuses = f", statuses={odd}" if odd else ""
        return f"{type(self).__name__}(wrapping={self.wrapping!r}, paths: {len(self.names)}, {shapes}{statuses})"

    def index(self, name: str) -> int:
        """Which path has this name."""
        if name not in self.names:
            raise UnknownName("path", name, self.names, self.model.source or f"model {self.model.name!r}")
        return self.names.index(name)


def muscle_geometry(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table | None = None,
    *,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    threads: int | None = None,
    device: Device = "cpu",
    to_device: bool = False,
) -> PathGeometry:
    """Length, lengthening speed, moment arms and current path of every muscle.

        r_k = generalized force of unit tension on speed k,   ldot = -sum_k r_k u_k

    Source:     Ehsani2023 eq. 174-195 for the moment arms.
    Departs:    see `kernels.path.moment_arms`.
    Guarantees: r = -dl/du, except where the status is "not converged" or "ignored" (see `notes`), and with
                like="opensim", which gives what OpenSim 4.6 gives: in a few poses NaN, which a `MusculoWarning`
                reports.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order [rad, m].
        u: speeds, likewise; needed for lengthening speeds.
        like: "opensim" for OpenSim's approximations of shortest ways over surfaces.
        wrapping: another word for it: "geodesic" or "opensim".
        threads: the number of threads; all cores by default.
        device: "cpu" or "gpu", which pays from some 10^6 poses on; the first call there compiles, once for a machine.
            Paths over surfaces that overlap are finished on the CPU.
        to_device: leave `length` and `moment_arm` on the GPU, as arrays with `__cuda_array_interface__`; whether they
            are finite is not checked, and `moment_arm_independent` and the like need them on the host.

    Raises:
        InvalidInput: a shape that does not fit, an entry that is no finite number, or a pose in which a path is too
            long for a float64.
    """
    return _geometry(
        model, compiled_paths(model, muscles_only=True), q, u, wrapping_of(like, wrapping), threads, device, to_device
    )


def path_geometry(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table | None = None,
    *,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    threads: int | None = None,
    device: Device = "cpu",
) -> PathGeometry:
    """As `muscle_geometry`, for everything with a path: muscles first, then springs, ligaments and path actuators."""
    return _geometry(
        model, compiled_paths(model, muscles_only=False), q, u, wrapping_of(like, wrapping), threads, device
    )


def _geometry(
    model: Model,
    p: CompiledPaths,
    q: ArrayLike | Table,
    u: ArrayLike | Table | None,
    wrapping: Wrapping,
    threads: int | None,
    device: str,
    to_device: bool = False,
) -> PathGeometry:
    if wrapping == "geodesic":
        refuse_mixed_rates(p)
    c = compiled(model)
    if check_device(device, to_device, q=q, u=u):
        given, _ = resident_frames("q", q, model.coordinate_names, lambda x: coordinates_of(model, x))
        q, u = on_host(q), on_host(u)  # what is asked of the result later is made of them there
    else:
        given = None
    Q, single = coordinates_of(model, q)
    c.check_coordinates(Q)
    U = None if u is None else speeds_of(model, u)[0]
    if U is not None:
        same_frames(q=Q, u=U)
    like_opensim = wrapping == "opensim"
    if to_device and U is not None:
        raise Unsupported("lengthening speeds do not stay on the device; omit u: they are -moment_arm times u")
    if on_gpu(device):
        if like_opensim and U is not None:
            raise Unsupported("OpenSim's lengthening speeds are not computed on the GPU; omit u or use the CPU")
        from musculo.kernels.cuda.cuda_paths import paths_on_gpu

        if p.functions.members:
            own = p.functions.members[0].name
            raise Unsupported(f"the path of {own!r} is a function of coordinates, which only the CPU computes")

        where = Q if given is None else given
        length, status, arms = paths_on_gpu(c.tree, c.table, p.paths, p.table, where, like_opensim, to_device)
        # the second pass needs more room than a GPU's threads have
        rest = unfinished(status)
        if len(rest):
            begun = Begun(_rows(length, rest), _rows(arms, rest), status[rest])
            run_paths(c, p, Q[rest], None, like_opensim, threads, keep_points=False, begun=begun)
            for array, rows in zip((length, arms, status), begun, strict=True):
                _put_rows(array, rest, rows)
        mark_cut_short(p, Q, status)
        speed, points, price = None if U is None else -np.einsum("fpu,fu->fp", arms, U), None, None
    else:
        run = run_paths(c, p, Q, U, like_opensim, threads, keep_points=len(Q) <= KEPT_POINTS)
        length, speed, arms, status, points = run.length, run.speed, run.arms, run.status, run.points
        price = run.price if points is None else None
    if not to_device:
        refuse_endless(model, p.names, Q, length, like_opensim)
    if like_opensim and not to_device:
        _warn_of_no_length(p.names, length)
    if single:
        length, arms, status, Q = length[0], arms[0], status[0], Q[0]
        speed = None if speed is None else speed[0]
    return PathGeometry(
        model, wrapping, p.names, model.speed_names, length, speed, arms, status, Q, p, points, _price=price
    )


def _rows(array: Any, frames: NDArray[np.int64]) -> FloatArray:
    """Some frames of an array, on the host."""
    if not is_on_device(array):
        return array[frames]
    return np.concatenate([array[frame : frame + 1].copy_to_host() for frame in frames])


def _put_rows(array: Any, frames: NDArray[np.int64], rows: Any) -> None:
    """Set some frames of an array, which may be on the device."""
    if not is_on_device(array):
        array[frames] = rows
        return
    for frame, row in zip(frames, rows, strict=True):
        array[frame : frame + 1].copy_to_device(row[None])


def refuse_endless(model: Model, names: tuple[str, ...], Q: FloatArray, length: FloatArray, like_opensim: bool) -> None:
    """Refuse poses Q (frames, n) in which a path is too long for a float64: (frames, paths) lengths of infinity or NaN.

    With OpenSim's wrapping NaN may be OpenSim's own answer (`_warn_of_no_length`).

    Raises:
        InvalidInput: naming the path, the frame, and the coordinate that is furthest from zero there.
    """
    if np.isfinite(length).all():
        return
    lost = np.argwhere(np.isinf(length) if like_opensim else ~np.isfinite(length))
    if not len(lost):
        return
    frame, path = lost[0]
    column = int(np.argmax(np.abs(Q[frame])))
    raise InvalidInput(
        f"{names[path]!r} is {length[frame, path]} m long at frame {frame}, where {model.coordinate_names[column]!r} "
        f"is {Q[frame, column]:.6g}: too far for floating-point numbers; coordinates are radians and meters"
    )


def _warn_of_no_length(names: tuple[str, ...], length: FloatArray) -> None:
    """Say for which paths OpenSim's wrapping has no number."""
    lost = np.isnan(length)
    if not lost.any():
        return
    frames = np.flatnonzero(lost.any(axis=1))
    where = [names[k] for k in np.flatnonzero(lost.any(axis=0))]
    warnings.warn(
        f"like='opensim' gives NaN at {len(frames)} of {len(length)} frames, frame {frames[0]} the first of them, "
        f"for {', '.join(where[:4])}{f' and {len(where) - 4} others' if where[4:] else ''}, as OpenSim itself does in "
        "these poses; without it there is a length in every pose",
        MusculoWarning,
        stacklevel=4,  # through `_geometry` and who called it
    )


def mark_cut_short(p: CompiledPaths, Q: FloatArray, status: NDArray[np.int8]) -> None:
    """Paths whose end is out of its range, in their statuses (frames, paths); kernels run between what is left."""
    if p.conditional_ends:
        status[p.cut_short(Q)] = STATUSES.index("cut short")


def refuse_mixed_rates(p: CompiledPaths) -> None:
    if p.indirect:
        raise Unsupported(
            f"{p.indirect[0]} follows an angle of a joint whose speeds are an angular velocity, not the angle's "
            "derivative; make the joint a gimbal or custom joint, or use like='opensim', which mixes the two up"
        )


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

    The first does not know strings, which most models never need and which take long to compile.

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
        tried = run_paths(c, p, poses, None, False, threads, extra, keep_points=False, first_only=True)
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
    price: FloatArray  # (frames, paths)
    points: PathPoints | None


def run_paths(
    c: CompiledModel,
    p: CompiledPaths,
    Q: FloatArray,
    U: FloatArray | None,
    like_opensim: bool,
    threads: int | None,
    extra: FloatArray = _NO_TWISTS,
    keep_points: bool = True,
    begun: Begun | None = None,
    first_only: bool = False,
) -> PathRun:
    """Lengths, speeds, moment arms, statuses, penalties and current paths of all frames.

    Args:
        extra: (m, 6) twists of imagined speeds that come after those of the model; moment arms have n_u + m columns.
        begun: what a first pass left, to be finished in place; penalties and points are then those of these paths only.
        first_only: whether no path is finished that the first pass leaves.
    """
    frames, n, n_u = len(Q), len(p.names), c.n_u + len(extra)
    first = p.paths.path_entry
    entries, size = int(first[-1]), min(frames, _CHUNK)
    first_pass = begun is None
    later = begins_later(c, p, threads, extra) if first_pass and not (like_opensim or first_only) else _NONE_LATER
    if begun is None:
        begun = Begun(np.empty((frames, n)), np.empty((frames, n, n_u)), np.zeros((frames, n), dtype=np.int8))
    length, arms, status = begun.length, begun.arms.reshape(frames, n * n_u), begun.status
    kept = frames if keep_points else size
    places, owners = np.zeros((kept, 3 * entries)), np.full((kept, entries), -1, dtype=np.int32)
    counts, price = np.zeros((kept, n), dtype=np.int64), np.zeros((frames, n))
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
        over_frames(kinematics_frames, (c.tree, c.table, X, rest, rest, False, motion, twists), len(X), threads)
        found = (arms[now], places[there], owners[there], price[now], counts[there])
        if like_opensim:
            given: tuple = (X, U[now] if U is not None and moving else rest, moving, motion, twists)
            results = (length[now], speed[now] if moving else speed, *found)
            over_frames(opensim_path_frames, (p.paths, p.table, *given, *results), len(X), threads)
        else:
            given = (p.paths, p.table, X, motion, twists, length[now], *found, status[now])
            if first_only:
                _begin(given, len(X), threads)
            elif first_pass:
                in_two_passes(
                    later, status[now], partial(_begin, given, len(X), threads), partial(_finish, given, threads)
                )
            else:
                _finish(given, threads, unfinished(status[now]))
    mark_cut_short(p, Q, status)
    r = begun.arms
    if first_pass:
        put_function_paths(p, Q, like_opensim, length, arms, threads)
    points = None
    if keep_points:
        points = PathPoints(p.names, first, counts, places.reshape(frames, entries, 3), owners, price, p.wrap_names)
    if U is None:
        return PathRun(length, None, r, status, price, points)
    if not moving:
        return PathRun(length, -np.einsum("fpu,fu->fp", r, U), r, status, price, points)
    own = p.functions.numbers
    speed[:, own] = -np.einsum("fpu,fu->fp", r[:, own], U)
    p.functions.stated_speeds(Q, U, speed)
    return PathRun(length, speed, r, status, price, points)


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
