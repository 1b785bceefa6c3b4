"""What each joint carries in a motion, with the muscles that drive it, on either body and in any frame."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.analyses.acting_loads import acting_loads, frame_times
from musculo.analyses.applied_forces import (
    AppliedForces,
    Forces,
    OwnForces,
    applied_forces,
    given_forces,
    needs_paths,
)
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, motion_in, speeds_of
from musculo.compile.frame_arrays import finite, same_frames
from musculo.compile.joint_nodes import placed
from musculo.diagnostics.finding import texts
from musculo.dynamics.constrained_dynamics import ConstraintReaction
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.inverse import TransmittedLoads, transmitted_loads
from musculo.dynamics.loads.external import Loads, part
from musculo.dynamics.loads.load_choice import Choice, LoadChoice, load_choices, placement_of
from musculo.dynamics.loads.loop_loads import closes_loops, loop_loads
from musculo.embedding.embedding import times_of
from musculo.errors import InvalidInput, MusculoWarning, UnknownName
from musculo.forces.compiled_forces import left_out
from musculo.like import Like, Method, Wrapping, method_of, wrapping_of
from musculo.model.body import GROUND
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model
from musculo.muscle.path_loads.path_wrenches import PathWrenches
from musculo.muscle.paths.geometry import STATUSES
from musculo.results.labeled_arrays import AXES
from musculo.results.notebook_figures import series_html
from musculo.results.result_base import Result, Series, also, times_or_numbers
from musculo.results.table import Table

_PARTS = ("fx", "fy", "fz", "mx", "my", "mz", "px", "py", "pz")
_UNITS = ("N", "N", "N", "N m", "N m", "N m", "m", "m", "m")
# Frames at a time: what is held between the steps stays small beside the results.
_CHUNK = 1024
# Statuses of paths whose pull holds the slope of a penalty or of a surface that shrinks.
_DOUBTFUL = [STATUSES.index(word) for word in ("inside", "other side")]


@dataclass(frozen=True, eq=False, repr=False)
class JointLoads(Result):
    """Loads that joints exert on bodies; arrays have no frame axis for a single pose.

    Entry k of the second axis is the load of `joint_names[k]` on `body_names[k]`, at `point`, in `frame_names[k]`. The
    point is the origin of the joint frame on that body: the child's and the parent's differ where a joint slides.
    """

    made_by: ClassVar[str] = "joint_loads"

    model: Model = field(repr=False)
    joint_names: tuple[str, ...]  # a joint may come twice, on either body
    body_names: tuple[str, ...]  # that the loads act on
    frame_names: tuple[str, ...]  # that they are expressed in
    force: FloatArray = field(repr=False)  # (frames, loads, 3) [N]
    moment: FloatArray = field(repr=False)  # (frames, loads, 3) [N m]
    point: FloatArray = field(repr=False)  # (frames, loads, 3) in the frame [m]
    udot: FloatArray = field(repr=False)  # (frames, n_u) accelerations that they go with
    left_out: tuple[str, ...]  # forces of the model that are not computed
    constraints: Mapping[str, ConstraintReaction] = field(repr=False)  # what those that close loops exert, by name
    options: Mapping[str, Any] = field(repr=False)  # that made it
    notes: tuple[str, ...] = ()  # what is doubtful about the loads

    joints = also("joint_names")
    bodies = also("body_names")
    frames = also("frame_names")

    def _series(self) -> Iterable[Series]:
        labels = {"load": self.names, "axis": AXES}
        yield Series("force", self.force, labels, "N")
        yield Series("moment", self.moment, labels, "N m")
        yield Series("point", self.point, labels, "m")
        yield Series("udot", self.udot, {"coordinate": self.model.speed_names})

    @property
    def names(self) -> tuple[str, ...]:
        """Of the loads, as OpenSim calls them: `<joint>_on_<body>_in_<frame>`."""
        parts = zip(self.joint_names, self.body_names, self.frame_names, strict=True)
        return tuple(f"{joint}_on_{body}_in_{frame.rsplit('/', 1)[-1]}" for joint, body, frame in parts)

    def of(self, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(force, moment, point) of one load, by its name or that of its joint (the first, where there are two)."""
        for names in (self.names, self.joint_names):
            if name in names:
                k = names.index(name)
                return self.force[..., k, :], self.moment[..., k, :], self.point[..., k, :]
        raise UnknownName("joint load", name, (*self.joint_names, *self.names))

    def _repr_html_(self) -> str:
        size = np.linalg.norm(self.force if self.force.ndim == 3 else self.force[None], axis=2)
        return series_html("Forces of joints by frame", None, self.names, size, ("N",) * len(self.names))

    def to_table(self, time: ArrayLike | None = None) -> Table:
        """The columns of OpenSim's `_ReactionLoads.sto`: nine a load, fx fy fz mx my mz px py pz."""
        parts = [x if x.ndim == 3 else x[None] for x in (self.force, self.moment, self.point)]
        values = np.concatenate(parts, axis=2).reshape(len(parts[0]), -1)
        names = tuple(f"{name}_{part}" for name in self.names for part in _PARTS)
        units = _UNITS * len(self.joint_names)
        return Table(
            times_or_numbers(time, len(values)),
            names,
            values,
            units=units,
            name="Joint Reaction Loads",
            provenance=self.provenance,
        )


def joint_loads(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table | None = None,
    *,
    muscle_forces: Forces | None = None,
    actuator_forces: Forces | None = None,
    tau: ArrayLike | None = None,
    loads: Loads = (),
    model_forces: bool = True,
    joints: str | Sequence[str] | None = None,
    on: Choice = "child",
    frame: Choice = "ground",
    geometry: PathWrenches | None = None,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    method: Method | None = None,
    time: ArrayLike | None = None,
    threads: int | None = None,
) -> JointLoads:
    """The whole load that each joint transmits, with muscles pulling on the bodies at their points and surfaces.

        f = sum over the bodies outboard of  m (a - g) - applied forces,   the moment likewise

    What drives a coordinate (actuators and reserves at coordinates, couplers, a moving path point's guide) is part of
    the joint and so of its moment; muscles, springs and ligaments along paths, actuators on bodies and external loads
    are not, so with muscles the force is that between the bones. Springs and ligaments along paths always pull; the
    model's limits of coordinates (part of the joint), bushings, springs and contacts (not part of it) act unless
    `model_forces` is false.

    Constraints that close loops pull on their bodies like muscles (`constraints`): with the force that the given forces
    call for and, where those do not produce udot, with the rest of the drive at the independent coordinates
    (`musculo.dynamics.loads.loop_loads`).

    Source:     OpenSim 4.6's JointReaction, observed behavior; the recursion is `kernels.rnea`.
    Departs:    OpenSim looks forces up by position in their file, here by name. Its accelerations are always those of
                the forces (`udot=None` here), which are the measured ones only as far as the forces fit the motion.
    Guarantees: the loads balance each body (Newton-Euler) to rounding, constraints included.

    Args:
        model: the model.
        q, u: (frames, n) or (n,) coordinates and speeds, all of the file in its order.
        udot: accelerations, likewise; None: those that all forces given here produce (`forward_dynamics`).
        muscle_forces: tensions along the tendons [N]: (frames, muscles) or (muscles,), a table or mapping by names;
            None: no muscle pulls, and joints carry what a model driven by moments at its joints does.
        actuator_forces: of other actuators [N, N m]: (frames, actuators) in the order of `actuators_of`, or a table or
            mapping by names, in which `<speed>_reserve` is a generalized force on that speed. They matter where udot
            is None, or where an actuator acts on bodies or along a path. Columns of a table that are none are ignored.
        tau: further generalized forces (frames, n_u); matter where udot is None.
        loads: from outside, for instance ground reactions: one or several at these frames, or `read_external_loads` of
            a file, which need times. Doubts about them are `notes` and warnings.
        model_forces: whether the forces of `musculo.model_forces` act, as they do in OpenSim.
        joints: which, by name, a joint may come twice; all by default.
        on: the body that the load acts on: "child" or "parent", one for all, one for each, or by joint.
        frame: to express it in: "ground", "child" or "parent" (the frame of that body), or any body or frame of the
            model; one for all, one for each, or by joint.
        geometry: `path_wrenches(model, q, u)` of these frames, so that paths are not computed again.
        like: "opensim" for OpenSim's wrapping and its faults in contacts (`musculo.model_forces`).
        wrapping, method: the parts of `like`: "geodesic" or "opensim" where paths are computed; "exact" or "opensim".
        time: (frames,) or a number, for prescribed forces, loads over time, and prescribed motion where udot is None
            [s]; by default what a table or an xarray `q` states, else 0.
        threads: the number of threads; all cores by default.

    Raises:
        InvalidInput, UnknownName: arrays, tables or names that do not fit; loops that are not closed.
        Unsupported: a constraint that musculo cannot compute.
    """
    wrapping, method = wrapping_of(like, wrapping), method_of(like, method)
    wanted = load_choices(model, joints, on, frame)
    closed = closes_loops(model)
    A = None
    if udot is None:
        (Q, single), (U, _) = coordinates_of(model, q), speeds_of(model, u)
    else:
        Q, U, A, single = motion_in(model, q, u, udot)
    frames = same_frames(q=Q, u=U)
    compiled(model).check_coordinates(Q)
    if geometry is not None:
        _check_geometry(model, geometry, frames)
    given = given_forces(model, Q, muscle_forces, actuator_forces, tau)
    when = frame_times(time, q, frames)
    times = when if when is not None else times_of(0.0 if time is None else time, frames)
    measured, findings = acting_loads(model, Q, loads, when)
    everything = [*measured, *given.on_bodies]

    force, moment, point = (np.empty((frames, len(wanted), 3)) for _ in range(3))
    D = np.empty_like(U)
    pulls: list[dict[str, ConstraintReaction]] = []
    doubtful: Counter[str] = Counter()
    for start in range(0, frames, _CHUNK):
        at = slice(start, min(start + _CHUNK, frames))
        outside = [part(load, at.start, at.stop) for load in everything]
        paths = wrapping if geometry is None else geometry.part(at)
        driving = A is None or closed
        own = OwnForces(times[at], method) if model_forces else None
        acting = applied_forces(model, Q[at], U[at], given.part(at), outside, paths, driving, threads, own)
        doubtful.update(_frames_of_doubt(acting))
        if A is None:
            D[at] = forward_dynamics(model, Q[at], U[at], acting.tau, acting.loads, times[at], threads=threads)
        else:
            D[at] = A[at]
        if closed:
            pulls.append(loop_loads(model, Q[at], U[at], D[at], acting.tau, acting.loads, times[at], threads=threads))
            acting = replace(acting, loads=(*acting.loads, *(one for c in pulls[-1].values() for one in c.loads())))
        wrenches = acting.node_wrenches(model, Q[at], threads)
        carried = transmitted_loads(model, Q[at], U[at], D[at], wrenches, threads)
        force[at], moment[at], point[at] = expressed(model, wanted, carried)
    if doubtful and geometry is None:
        _warn(doubtful, frames)
    finite("the load", force, tuple(f"{w.joint} {axis}" for w in wanted for axis in "xyz"))
    if single:
        force, moment, point, D = force[0], moment[0], point[0], D[0]
    return JointLoads(
        model,
        tuple(w.joint for w in wanted),
        tuple(placement_of(model, w.joint, w.side).body for w in wanted),
        tuple(w.frame for w in wanted),
        force,
        moment,
        point,
        D,
        left_out(model) if model_forces else (),
        _joined(pulls, single),
        {
            "muscles": muscle_forces is not None,
            "model_forces": model_forces,
            "accelerations": "given" if udot is not None else "of the forces",
            "wrapping": wrapping if geometry is None else geometry.wrapping,
        },
        (*texts(findings), *(function_paths_in_words(model) if needs_paths(model, given) else ())),
    )


def _frames_of_doubt(acting: AppliedForces) -> dict[str, int]:
    """In how many frames each path pulls whose length includes a penalty, or that has a point inside a surface."""
    if acting.paths is None:
        return {}
    frames = (np.isin(acting.paths.status, _DOUBTFUL) & (acting.tension != 0.0)).sum(axis=0)
    return {name: int(n) for name, n in zip(acting.paths.names, frames, strict=True) if n}


def function_paths_in_words(model: Model) -> tuple[str, ...]:
    """A sentence about muscles that pull on coordinates, and press no joint together."""
    names = [m.name for m in model.muscles if isinstance(m.path, FunctionPath)]
    if not names:
        return ()
    others = {0: "", 1: " and another"}.get(len(names) - 1, f" and {len(names) - 1} others")
    return (
        f"the path of {names[0]!r}{others} is a function of coordinates: such a muscle acts on coordinates alone, so "
        "that loads of joints lack what it presses them together, as in OpenSim; use the model with points for them",
    )


def _warn(doubtful: Counter[str], frames: int) -> None:
    told = ", ".join(f"{name!r} in {n}" for name, n in doubtful.most_common(3))
    more = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
    warnings.warn(
        f"paths pull that break a rule of the model or have a point inside a surface, frames of {frames}: {told}{more};"
        " what they do to bodies may be several times their tension there (notes of musculo.muscle_geometry)",
        MusculoWarning,
        stacklevel=3,
    )


def _joined(pulls: Sequence[Mapping[str, ConstraintReaction]], single: bool) -> dict[str, ConstraintReaction]:
    """What constraints exert over all frames, from parts of them."""
    found = {}
    for name, one in (pulls[0] if pulls else {}).items():
        force, moment, point = (
            np.concatenate([getattr(p[name], k) for p in pulls]) for k in ("force", "moment", "point")
        )
        found[name] = replace(one, force=force, moment=moment, point=point)
    return {name: one.frame(0) for name, one in found.items()} if single else found


def _check_geometry(model: Model, geometry: PathWrenches, frames: int) -> None:
    if not isinstance(geometry, PathWrenches):
        raise InvalidInput(
            f"geometry is a {type(geometry).__name__}, which does not say what paths do to bodies; "
            "make it with path_wrenches(model, q, u)"
        )
    if geometry.model is not model:
        raise InvalidInput("geometry is of another model; make it with path_wrenches of this one")
    count = 1 if geometry.length.ndim == 1 else len(geometry.length)
    if count != frames:
        raise InvalidInput(f"geometry has {count} frames and the motion {frames}; give both the same")


# --- from the recursion to what is asked for -------------------------------------------------------------------------
def expressed(
    model: Model, wanted: Sequence[LoadChoice], carried: TransmittedLoads
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Force, moment and point (frames, loads, 3) on the bodies and in the frames that are asked for."""
    c = compiled(model, merged=False)
    at = [model.joint_names.index(w.joint) for w in wanted]
    force, moment, point = carried.force, carried.moment, carried.point
    if at != list(range(len(model.joints))):
        force, moment, point = force[:, at], moment[:, at], point[:, at]
    # The recursion gives the load on the outboard body; the other one feels the opposite, at its own joint frame.
    inboard = [k for k, w in enumerate(wanted) if (w.side == "child") == c.joint_reversed[w.joint]]
    if inboard:
        own = [placement_of(model, wanted[k].joint, wanted[k].side) for k in inboard]
        nodes = [c.body_node[x.body] for x in own]
        offset = np.array([(c.body_pose[x.body] @ placed(x)).p for x in own])
        here = carried.p[:, nodes] + np.einsum("fjik,jk->fji", carried.R[:, nodes], offset)
        moment[:, inboard] = -moment[:, inboard] - np.cross(point[:, inboard] - here, force[:, inboard])
        force[:, inboard] *= -1.0
        point[:, inboard] = here
    turned = [k for k, w in enumerate(wanted) if model.placement(w.frame).body != GROUND or _moved(model, w.frame)]
    if turned:
        poses = [_in_node(model, wanted[k].frame) for k in turned]
        nodes, R, p = [x[0] for x in poses], np.stack([x[1] for x in poses]), np.stack([x[2] for x in poses])
        R_WN = carried.R[:, nodes]
        R_WF = np.einsum("fjik,jkl->fjil", R_WN, R)
        origin = carried.p[:, nodes] + np.einsum("fjik,jk->fji", R_WN, p)
        vectors = np.stack([force[:, turned], moment[:, turned], point[:, turned] - origin], axis=2)
        force[:, turned], moment[:, turned], point[:, turned] = np.moveaxis(
            np.einsum("fjik,fjsi->fjsk", R_WF, vectors), 2, 0
        )
    return force, moment, point


def _moved(model: Model, frame: str) -> bool:
    place = model.placement(frame)
    return any(place.translation) or any(place.orientation)


def _in_node(model: Model, frame: str) -> tuple[int, FloatArray, FloatArray]:
    c, place = compiled(model, merged=False), model.placement(frame)
    X = c.body_pose[place.body] @ placed(place)
    return c.body_node[place.body], X.R, X.p
