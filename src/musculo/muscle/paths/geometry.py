"""Lengths, lengthening speeds and moment arms of every path of a model, for one pose or a whole motion."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.dynamics.inverse import Device, check_device, on_gpu, on_host, resident_frames
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, MusculoWarning, SingularSystem, UnknownName, Unsupported
from musculo.kernels.cuda.device_arrays import is_on_device
from musculo.like import Like, Wrapping, wrapping_of
from musculo.model.model import Model
from musculo.muscle.paths.compile_paths import CompiledPaths, compiled_paths
from musculo.muscle.paths.current_paths import STATUSES, PathPoints, PathStatus
from musculo.muscle.paths.labeled_paths import frame_labels, units_along, with_meanings
from musculo.muscle.paths.path_passes import Begun, mark_cut_short, run_paths, unfinished
from musculo.muscle.paths.refused_paths import refuse_endless, refuse_mixed_rates, warn_of_no_length
from musculo.muscle.wrapping.penalties import inside_in_words, not_converged_in_words, penalties_in_words
from musculo.results.angle_columns import sliding_coordinates
from musculo.results.labeled_arrays import labeled
from musculo.results.notebook_figures import series_html
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result
from musculo.results.table import Table

if TYPE_CHECKING:
    import xarray


KEPT_POINTS = 20_000
"""Of more frames than these the points of paths, larger than all else, are made only when they are asked for."""


@dataclass(frozen=True, eq=False)
class PathGeometry(Result):
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
    # (frames, paths) which of STATUSES the worst segment of a path has; "converged" or "cut short" with
    # like="opensim"
    status: NDArray[np.int8] = field(repr=False)
    _q: FloatArray = field(repr=False)
    _paths: CompiledPaths = field(repr=False)
    _points: PathPoints | None = field(repr=False)
    # (frames, paths), where the points of the paths are not kept
    _penalty: FloatArray | None = field(default=None, repr=False, kw_only=True)

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
        points = run_paths(compiled(self.model), self._paths, Q, None, self.wrapping, None).points
        assert points is not None  # they are kept unless it is told otherwise
        return points

    @property
    def notes(self) -> tuple[str, ...]:
        """What is doubtful, one sentence each: `model_notes`, how many paths have a point inside a surface or are not
        taut, how many lengths include a penalty, if that takes no time (`has_penalty`). None with like="opensim".
        """
        if self.wrapping == "opensim":
            return ()
        inside = inside_in_words(self.names, self.status == STATUSES.index("inside"))
        loose = (self.status == STATUSES.index("not converged")) | (self.status == STATUSES.index("ignored"))
        penalties = penalties_in_words(self.names, self.penalty) if self.has_penalty else ""
        found = (inside, not_converged_in_words(self.names, loose), penalties)
        return (*self.model_notes, *(text for text in found if text))

    @property
    def model_notes(self) -> tuple[str, ...]:
        """What this wrapping does otherwise than a modeler might expect of the model, one sentence each: quadrants of
        cylinders that paths do not keep to in every pose. None with like="opensim"."""
        return () if self.wrapping == "opensim" else self._paths.notes

    @property
    def penalty(self) -> FloatArray:
        """(frames, paths) the penalty in each length for a rule that the path breaks [m].

        Zero wherever the status is "converged" or "inside", and with like="opensim". Lengths minus penalties are those
        of the paths; moment arms are those of the whole length.
        """
        penalty = self.path_points.penalty if self._penalty is None else self._penalty
        return penalty[0] if np.ndim(self.length) == 1 else penalty

    @property
    def function_paths(self) -> tuple[int, ...]:
        """Which paths are functions of coordinates, and have no points."""
        return tuple(self._paths.functions.numbers.tolist())

    @property
    def has_penalty(self) -> bool:
        """Whether `penalty` takes no time: after work on a GPU the CPU has to make the paths for it."""
        return self._points is not None or self._penalty is not None or "path_points" in vars(self)

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

    def _repr_html_(self) -> str:
        lengths = np.atleast_2d(self.length)
        return series_html("Lengths of paths by frame", None, self.names, lengths, ("m",) * len(self.names))

    def to_xarray(self, time: ArrayLike | None = None) -> xarray.Dataset:
        """Lengths, penalties, speeds (if computed) and moment arms by `time` (or `frame`), `muscle` and `coordinate`.

        The second dimension is `path` where some paths are no muscles. Moment arms are per speed of the tree; those of
        angles are in m, those of distances have no unit (`unit` along `coordinate` says which). Those per independent
        speed, couplings included, as OpenSim prints them, are `moment_arm_independent`; where loops have to be closed
        for them, only if they were asked for before (`moment_arm_independent`).

        Args:
            time: (frames,) [s]; without it frames are counted.
        """
        import xarray

        dim = "muscle" if set(self.names) <= set(self.model.muscle_names) else "path"
        labels = {**frame_labels(self.length, 1, time, "the geometry"), dim: self.names}
        parts = {"length": labeled("length", self.length, labels, "m")}
        if self.speed is not None:
            parts["speed"] = labeled("speed", self.speed, labels, "m/s")
        if self.has_penalty:
            parts["penalty"] = labeled("penalty", self.penalty, labels, "m")
        sliding = frozenset().union(*(sliding_coordinates(joint) for joint in self.model.joints))
        units = ["1" if name in sliding else "m" for name in self.speed_names]
        arms = labeled("moment_arm", self.moment_arm, {**labels, "coordinate": self.speed_names})
        parts["moment_arm"] = units_along(arms, "coordinate", "unit", units)
        if self.has_independent_arms:
            own = self.independent_names
            arms = labeled("moment_arm_independent", self.moment_arm_independent, {**labels, "independent": own})
            units = ["1" if name in sliding else "m" for name in own]
            parts["moment_arm_independent"] = units_along(arms, "independent", "independent_unit", units)
        parts["status"] = with_meanings("status", self.status, labels, dict(enumerate(STATUSES)))
        return xarray.Dataset(parts, attrs=self.provenance.attributes())

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
    Departs:    see `musculo.kernels.paths.path_arms.moment_arms`.
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
            run_paths(c, p, Q[rest], None, begun, threads, keep_points=False)
            for array, rows in zip((length, arms, status), begun, strict=True):
                _put_rows(array, rest, rows)
        mark_cut_short(p, Q, status)
        speed, points, penalty = None if U is None else -np.einsum("fpu,fu->fp", arms, U), None, None
    else:
        run = run_paths(c, p, Q, U, wrapping, threads, keep_points=len(Q) <= KEPT_POINTS)
        length, speed, arms, status, points = run.length, run.speed, run.arms, run.status, run.points
        penalty = run.penalty if points is None else None
    if not to_device:
        refuse_endless(model, p.names, Q, length, like_opensim)
    if like_opensim and not to_device:
        warn_of_no_length(p.names, length)
    if single:
        length, arms, status, Q = length[0], arms[0], status[0], Q[0]
        speed = None if speed is None else speed[0]
    return PathGeometry(
        model, wrapping, p.names, model.speed_names, length, speed, arms, status, Q, p, points, _penalty=penalty
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
