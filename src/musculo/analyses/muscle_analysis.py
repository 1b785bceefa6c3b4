"""What every muscle does in a motion: lengths, fiber and tendon states, forces, powers, moment arms and moments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import columns_by_name, same_frames
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, UnknownName
from musculo.like import Like, Method, Wrapping, method_of, wrapping_of
from musculo.model.model import Model
from musculo.muscle.fibers.activation import activation_at_start
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import MuscleForces, Status, Tendon, muscle_equilibrium, muscle_force
from musculo.muscle.fibers.tendon_states import fiber_length_at_tension
from musculo.muscle.paths.geometry import STATUSES, PathGeometry, muscle_geometry
from musculo.results.labeled_arrays import labeled
from musculo.results.result_base import Result, also
from musculo.results.table import Table

if TYPE_CHECKING:
    import xarray

# The files that OpenSim's MuscleAnalysis writes, in its order: ending of the name, the field here, and its unit.
_FILES = (
    ("PennationAngle", "pennation", "rad"),
    ("Length", "length", "m"),
    ("FiberLength", "fiber_length", "m"),
    ("NormalizedFiberLength", "normalized_fiber_length", "1"),
    ("TendonLength", "tendon_length", "m"),
    ("FiberVelocity", "fiber_velocity", "m/s"),
    ("NormFiberVelocity", "normalized_fiber_velocity", "1"),
    ("PennationAngularVelocity", "pennation_rate", "rad/s"),
    ("TendonForce", "tendon_force", "N"),
    ("FiberForce", "fiber_force", "N"),
    ("ActiveFiberForce", "active_fiber_force", "N"),
    ("PassiveFiberForce", "passive_fiber_force", "N"),
    ("ActiveFiberForceAlongTendon", "active_fiber_force_along_tendon", "N"),
    ("PassiveFiberForceAlongTendon", "passive_fiber_force_along_tendon", "N"),
    ("FiberActivePower", "fiber_active_power", "W"),
    ("FiberPassivePower", "fiber_passive_power", "W"),
    ("TendonPower", "tendon_power", "W"),
    ("MuscleActuatorPower", "muscle_power", "W"),
)


@dataclass(frozen=True, eq=False, repr=False)
class MuscleAnalysis(Result):
    """Series of all muscles: (frames, muscles), or (muscles,) for a single frame; arms have coordinates last.

    Powers are what a part gives: positive where it shortens under tension. Fiber and tendon together give the muscle's.
    """

    made_by: ClassVar[str] = "muscle_analysis"
    statuses: ClassVar[type[Enum]] = Status

    model: Model = field(repr=False)
    muscle_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]  # last axis of moment_arm and moment
    activation: FloatArray = field(repr=False)
    length: FloatArray = field(repr=False)  # of fiber and tendon along the path [m]
    speed: FloatArray = field(repr=False)  # [m/s], lengthening positive
    fiber_length: FloatArray = field(repr=False)  # [m]
    normalized_fiber_length: FloatArray = field(repr=False)  # by the optimal length
    tendon_length: FloatArray = field(repr=False)  # [m]
    pennation: FloatArray = field(repr=False)  # [rad]
    pennation_rate: FloatArray = field(repr=False)  # [rad/s]
    fiber_velocity: FloatArray = field(repr=False)  # [m/s], shortening negative
    normalized_fiber_velocity: FloatArray = field(repr=False)  # by optimal length times contraction velocity
    tendon_force: FloatArray = field(repr=False)  # [N], the pull of the muscle
    fiber_force: FloatArray = field(repr=False)  # [N], along the fiber
    active_fiber_force: FloatArray = field(repr=False)
    passive_fiber_force: FloatArray = field(repr=False)  # elastic and damping
    active_fiber_force_along_tendon: FloatArray = field(repr=False)
    passive_fiber_force_along_tendon: FloatArray = field(repr=False)
    fiber_active_power: FloatArray = field(repr=False)  # [W]
    fiber_passive_power: FloatArray = field(repr=False)
    tendon_power: FloatArray = field(repr=False)
    muscle_power: FloatArray = field(repr=False)
    moment_arm: FloatArray = field(repr=False)  # (frames, muscles, coordinates) [m, or 1]
    moment: FloatArray = field(repr=False)  # (frames, muscles, coordinates) moment arm times tendon force [N m, N]
    status: NDArray[np.int64] = field(repr=False)  # `musculo.muscle.fibers.equilibrium.Status`
    # what of a length is no path [m]: moment arms include its slope there and may be far too large
    penalty: FloatArray = field(repr=False)
    path_status: NDArray[np.int8] = field(repr=False)  # which of `musculo.results.STATUSES` each path has
    options: Mapping[str, Any] = field(repr=False)

    muscles = also("muscle_names")
    coordinates = also("coordinate_names")

    def _frames(self) -> int | None:
        return len(self.length) if self.length.ndim == 2 else None

    def tables(
        self, time: ArrayLike, muscles: Iterable[str] | None = None, coordinates: Iterable[str] | None = None
    ) -> dict[str, Table]:
        """The tables of OpenSim's MuscleAnalysis by the ending of its file names, muscles as columns.

        `{"PennationAngle": ..., "Length": ..., ..., "MomentArm_knee_angle_r": ..., "Moment_knee_angle_r": ...}`

        Args:
            time: (frames,) [s].
            muscles: the columns; all by default.
            coordinates: whose moment arms and moments are wanted; all by default.
        """
        if self.length.ndim == 1:
            raise InvalidInput("the muscles were analyzed for a single pose; a table needs frames")
        columns = _indices("muscle", muscles, self.muscle_names)
        names = tuple(self.muscle_names[k] for k in columns)
        made = self.provenance

        def table(title: str, values: FloatArray, unit: str) -> Table:
            units = (unit,) * len(names)
            return Table(np.asarray(time, float), names, values[:, columns], units=units, name=title, provenance=made)

        found = {title: table(title, getattr(self, name), unit) for title, name, unit in _FILES}
        chosen = _indices("coordinate", coordinates, self.coordinate_names)
        for title, values in (("MomentArm", self.moment_arm), ("Moment", self.moment)):
            for k in chosen:
                name = f"{title}_{self.coordinate_names[k]}"
                found[name] = table(name, values[:, :, k], "")
        return found

    def to_xarray(self, time: ArrayLike | None = None) -> xarray.Dataset:
        """A labeled dataset with units and provenance, by `time` (or `frame`), muscle and coordinate."""
        import xarray

        rows = self._rows(time)
        labels = {**rows, "muscle": self.muscle_names}
        wanted = (("", "activation", "1"), ("", "speed", "m/s"), ("", "penalty", "m"), *_FILES)
        parts = {name: labeled(name, getattr(self, name), labels, unit) for _, name, unit in wanted}
        for name in ("moment_arm", "moment"):
            parts[name] = labeled(name, getattr(self, name), {**labels, "coordinate": self.coordinate_names})
        parts["status"] = labeled("status", self.status, labels)
        parts["status"].attrs["flag_values"] = [int(s) for s in Status]
        parts["status"].attrs["flag_meanings"] = " ".join(s.name.lower() for s in Status)
        parts["path_status"] = labeled("path_status", self.path_status, labels)
        parts["path_status"].attrs["flag_values"] = list(range(len(STATUSES)))
        parts["path_status"].attrs["flag_meanings"] = " ".join(word.replace(" ", "_") for word in STATUSES)
        return xarray.Dataset(parts, attrs=self.provenance.attributes())


def muscle_analysis(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    activation: ArrayLike | None = None,
    *,
    fiber_length: ArrayLike | None = None,
    tendon_force: ArrayLike | None = None,
    coordinates: Iterable[str] | None = None,
    tendon: Tendon = "as stated",
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    method: Method | None = None,
    threads: int | None = None,
) -> MuscleAnalysis:
    """Lengths, states, forces, powers, moment arms and moments of all muscles in a motion.

        adot = -(v / l) tan a,   fiber: P = -F v,   tendon: P = -F_T (Ldot - v / cos a),   muscle: P = -F_T Ldot

    Fibers and tendons are in equilibrium (`muscle_equilibrium`) unless lengths of fibers or forces of tendons are
    given, which are then the states (`muscle_force`). The arm of a coordinate says what unit tension does on it when it
    moves and all that depends on it follows; of a coordinate that is locked or prescribed, as if it were not; of one
    that is coupled, as if it led the others (the shortest way to do so), and NaN where its coupling is flat.

    Source:     OpenSim's MuscleAnalysis, the same quantities and names.
    Departs:    the powers of fibers are those of their active and of their passive force (damping included).
                `like="opensim"` counts damping with the active one, puts fibers where OpenSim's equilibrium does, and
                takes their velocity from the state found so, which is then not the one equilibrium was found with: of
                Millard's muscles it is about zero whatever the motion. The default keeps one velocity for both.
                A muscle that is switched off is analyzed as if it were on; OpenSim leaves its fiber where it was.
    Guarantees: fiber and tendon powers add up to the muscle's where status is CONVERGED.

    Args:
        model: the model.
        q, u: (frames, n) or (n,) coordinates and speeds, all of the file in its order.
        activation: of every muscle; (frames, muscles), (muscles,) or a number. By default that which the model's file
            gives it to start with, as OpenSim takes where only coordinates are known.
        fiber_length: [m], likewise; by default found from equilibrium.
        tendon_force: [N], likewise, in place of lengths of fibers: the state of De Groote and Fregly's muscles (which
            OpenSim's files hold over the maximum isometric force, as `normalized_tendon_force`).
        coordinates: whose moment arms are wanted; all by default.
        tendon: "as stated" by each muscle, or "rigid" for all.
        like: "opensim" for OpenSim's wrapping and its own definitions.
        wrapping, method: the parts of `like`: "geodesic" or "opensim"; "exact" or "opensim".
        threads: the number of threads; all cores by default.

    Raises:
        Unsupported: a constraint is of a kind that is carried only, and moment arms are wanted; `coordinates=()` wants
            none.
    """
    wrapping, method = wrapping_of(like, wrapping), method_of(like, method)
    Q, single = coordinates_of(model, q)
    U, _ = speeds_of(model, u)
    same_frames(q=Q, u=U)
    wanted = tuple(model.speed_names if coordinates is None else coordinates)
    _indices("coordinate", wanted, model.speed_names)
    g = muscle_geometry(model, Q, U, wrapping=wrapping, threads=threads)
    length, speed = g.length, g.speed
    assert speed is not None
    # poses for which OpenSim's wrapping has no number
    lost = np.isnan(length) | np.isnan(speed)
    if lost.any():
        usual = np.array([m.optimal_fiber_length + m.tendon_slack_length for m in model.muscles])
        length, speed = np.where(lost, usual, length), np.where(lost, 0.0, speed)
    a = np.broadcast_to(_activation(model, activation), length.shape)
    if tendon_force is not None:
        if fiber_length is not None:
            raise InvalidInput("give fiber_length or tendon_force, of which one follows from the other, or neither")
        tendon_force = columns_by_name("tendon_force", tendon_force, model.muscle_names)
        fiber_length = fiber_length_at_tension(model, length, np.broadcast_to(tendon_force, length.shape))
    if fiber_length is None:
        f = muscle_equilibrium(model, length, speed, a, tendon=tendon, method=method, threads=threads)
        if method == "opensim":
            f = muscle_force(model, length, speed, a, f.fiber_length, tendon=tendon, method="opensim", threads=threads)
    else:
        f = muscle_force(model, length, speed, a, fiber_length, tendon=tendon, method=method, threads=threads)
    arms = moment_arms(model, g, Q, wanted, method)
    series = _series(model, f, speed, method == "opensim")
    for values in series.values():
        values[lost] = np.nan
    status = np.where(lost, Status.NOT_CONVERGED, f.status)
    series |= {"activation": a, "length": g.length, "speed": g.speed, "status": status}
    series |= {"penalty": g.penalty, "path_status": g.status}
    series |= {"moment_arm": arms, "moment": arms * series["tendon_force"][:, :, None]}
    if single:
        series = {name: values[0] for name, values in series.items()}
    options: dict[str, Any] = {"tendon": tendon, "method": method, "wrapping": wrapping}
    options["fibers"] = "in equilibrium" if fiber_length is None else "given"
    return MuscleAnalysis(model=model, muscle_names=g.names, coordinate_names=wanted, options=options, **series)


def _activation(model: Model, activation: ArrayLike | None) -> FloatArray:
    if activation is not None:
        return np.asarray(columns_by_name("activation", activation, model.muscle_names), dtype=float)
    return np.array([activation_at_start(m) for m in model.muscles])


def _series(model: Model, f: MuscleForces, speed: FloatArray, opensim: bool) -> dict[str, Any]:
    """Everything that follows from the states of fibers and tendons."""
    optimal = np.array([m.optimal_fiber_length for m in model.muscles])
    table = compiled_muscles(model, rigid=True).muscles
    # Deprecated kinds have a time scale of their own, and files that state no fastest contraction beside it.
    stated = optimal * np.array([m.max_contraction_velocity for m in model.muscles])
    fastest = np.where(stated > 0.0, stated, np.where(table.max_speed > 0.0, table.max_speed, np.nan))
    cosine, v = np.cos(f.pennation), f.fiber_velocity
    active, passive = f.active_fiber_force, f.passive_fiber_force
    damping = np.zeros_like(v)
    if opensim:
        strongest = np.array([m.max_isometric_force for m in model.muscles])
        damping = strongest * table.damping * v / np.where(table.damping > 0.0, table.max_speed, 1.0)
    return {
        "fiber_length": f.fiber_length,
        "normalized_fiber_length": f.fiber_length / optimal,
        "tendon_length": f.tendon_length,
        "pennation": f.pennation,
        "pennation_rate": -v / f.fiber_length * np.tan(f.pennation),
        "fiber_velocity": v,
        "normalized_fiber_velocity": v / fastest,
        "tendon_force": f.tendon_force,
        "fiber_force": active + passive,
        "active_fiber_force": active,
        "passive_fiber_force": passive,
        "active_fiber_force_along_tendon": active * cosine,
        "passive_fiber_force_along_tendon": passive * cosine,
        "fiber_active_power": -(active + damping) * v,
        "fiber_passive_power": -(passive - damping) * v,
        "tendon_power": -f.tendon_force * (speed - v / cosine),
        "muscle_power": -f.tendon_force * speed,
    }


def moment_arms(
    model: Model, g: PathGeometry, Q: FloatArray, wanted: tuple[str, ...], method: Method = "exact"
) -> FloatArray:
    """(frames, muscles, wanted): what unit tension does on each coordinate, with all that follows it.

    OpenSim's arm is that of the motion nearest to e_k which constraints allow, over its own part. For an independent
    coordinate this is minus the slope of the length, unless something follows it and another one: then OpenSim moves
    the other one, too. So does `method="opensim"`, and the exact method does not. Under closed loops, where it is a
    matter of choice which coordinates are independent, both do.
    """
    e = embedding_of(model)
    tied = bool(e.loops) or (method == "opensim" and _shared(e.jacobian(Q)))
    if set(wanted) <= set(e.speed_names) and not tied:
        columns = [e.speed_names.index(name) for name in wanted]
        arms = g.moment_arm_independent[:, :, columns] if columns else np.empty((*g.length.shape, 0))
        return _as_opensim_asks(model, g, arms, wanted)
    released = model
    for c in model.coordinates:
        if c.locked or c.prescribed:
            released = released.with_coordinate(c.name, locked=False, prescribed=False)
    free = embedding_of(released)
    J = free.jacobian(Q)
    squares = np.swapaxes(J, 1, 2) @ J  # regular: the independent speeds are among all speeds
    arms = np.empty((*g.length.shape, len(wanted)))
    for k, name in enumerate(wanted):
        if name in e.speed_names and not tied:
            arms[:, :, k] = g.moment_arm_independent[:, :, e.speed_names.index(name)]
        elif name in free.speed_names and not tied:
            column = free.speed_names.index(name)
            arms[:, :, k] = (g.moment_arm @ J[:, :, [column]])[:, :, 0]
        else:
            # u = J J+ e_k is the nearest motion that they allow, over its own part.
            row = J[:, model.speed_index(name), :, None]
            follow = J @ np.linalg.solve(squares, row)
            own = follow[:, [model.speed_index(name)], 0]
            arms[:, :, k] = (g.moment_arm @ follow)[:, :, 0] / np.where(own > 0.0, own, np.nan)
    return _as_opensim_asks(model, g, arms, wanted)


def _as_opensim_asks(model: Model, g: PathGeometry, arms: FloatArray, wanted: tuple[str, ...]) -> FloatArray:
    """With like="opensim" the arms of paths that are functions of coordinates are those of their own coordinates:
    OpenSim does not ask there what follows a coordinate."""
    if g.wrapping == "opensim":
        own, columns = list(g.function_paths), [model.speed_index(name) for name in wanted]
        arms[:, own] = g.moment_arm[:, own][:, :, columns]
    return arms


def _shared(J: FloatArray) -> bool:
    """Whether a speed follows several independent ones; J (frames, n_u, n_zu)."""
    return bool((np.count_nonzero(J.any(axis=0), axis=1) > 1).any())


def _indices(kind: str, wanted: Iterable[str] | None, known: tuple[str, ...]) -> list[int]:
    if wanted is None:
        return list(range(len(known)))
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known, "the muscle analysis")
    return [known.index(name) for name in names]
