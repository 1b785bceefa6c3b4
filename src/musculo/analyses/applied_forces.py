"""What given muscle and actuator forces do: wrenches on bodies, generalized forces, and the accelerations they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.analyses.static_optimization.reserves import AT_COORDINATE, actuators_of, unit_loads
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.frame_arrays import frames_of
from musculo.dynamics.loads.external import ExternalLoad, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, MusculoError, UnknownName
from musculo.forces.compiled_forces import compiled_forces
from musculo.forces.model_forces import passive_forces
from musculo.kernels.tree.transmitted_frames import pulled_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.like import Method, Wrapping
from musculo.model.body import GROUND
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.model.path_force import ClutchedPathSpring, PathActuator
from musculo.muscle.path_loads.path_forces import path_tensions
from musculo.muscle.path_loads.path_wrenches import PathWrenches, path_wrenches
from musculo.results.table import Table

Forces = ArrayLike | Mapping[str, ArrayLike] | Table
_RESERVE = "_reserve"


@dataclass(frozen=True, eq=False)
class GivenForces:
    """Forces by name, checked: what musculo was told, before any pose is known."""

    muscles: FloatArray | None  # (frames, muscles) tensions [N]; those that do not apply are zero
    on_paths: dict[str, FloatArray]  # tensions (frames,) of actuators along paths [N]
    on_speeds: FloatArray  # (frames, n_u) of actuators at coordinates, reserves and `tau` [N, N m]
    on_bodies: tuple[ExternalLoad, ...]  # of point and torque actuators

    def part(self, at: slice) -> GivenForces:
        """Some of the frames; loads on bodies stay whole."""
        muscles = None if self.muscles is None else self.muscles[at]
        paths = {name: force[at] for name, force in self.on_paths.items()}
        return replace(self, muscles=muscles, on_paths=paths, on_speeds=self.on_speeds[at])


def given_forces(
    model: Model, q: FloatArray, muscle_forces: Forces | None, actuator_forces: Forces | None, tau: ArrayLike | None
) -> GivenForces:
    """Muscle and actuator forces as arrays, at poses q (frames, n); see `joint_loads` for what they may be.

    Raises:
        InvalidInput: a shape that does not fit, or a number that is not finite.
        UnknownName: a name that is not an actuator, or an actuator without a column.
    """
    muscles, frames = None, len(q)
    if muscle_forces is not None:
        if isinstance(muscle_forces, Table | Mapping):
            named = _named("muscle_forces", muscle_forces, model.muscle_names, frames)
            muscles = np.stack([named[name] for name in model.muscle_names], axis=1) if named else np.zeros((frames, 0))
        else:
            muscles, _ = frames_of("muscle_forces", muscle_forces, model.muscle_names)
            _same("muscle_forces", len(muscles), frames)
        muscles = muscles * np.array([m.applies_force for m in model.muscles], dtype=float)
    on_speeds = np.zeros((frames, len(model.speed_names)))
    if tau is not None:
        T, _ = frames_of("tau", tau, model.speed_names)
        _same("tau", len(T), frames)
        on_speeds += T
    on_paths: dict[str, FloatArray] = {}
    on_bodies: list[ExternalLoad] = []
    forces = {force.name: force for force in model.forces}
    for name, values in _actuators(model, frames, actuator_forces).items():
        force = forces.get(name)
        if force is None:
            on_speeds[:, model.speed_index(name.removesuffix(_RESERVE))] += values
        elif force.kind in AT_COORDINATE:
            on_speeds[:, model.speed_index(force.text("coordinate").strip())] += values
        elif force.path is not None:
            on_paths[name] = values
        else:
            on_bodies += [_times(load, values) for load in unit_loads(model, force, q)]
    return GivenForces(muscles, on_paths, on_speeds, tuple(on_bodies))


def _actuators(model: Model, frames: int, given: Forces | None) -> dict[str, FloatArray]:
    """Force (frames,) by the name of an actuator that applies, or of a reserve that the model does not have."""
    if given is None:
        return {}
    own = tuple(one.name for one in actuators_of(model))
    clutched = tuple(f.name for f in model.forces if isinstance(f, ClutchedPathSpring) and f.applies_force)
    if not isinstance(given, Table | Mapping):
        array, _ = frames_of("actuator_forces", given, own)
        _same("actuator_forces", len(array), frames)
        return {name: array[:, k] for k, name in enumerate(own)}
    names = given.names if isinstance(given, Table) else tuple(given)
    off = {force.name for force in model.forces if not force.applies_force}
    known = {*own, *clutched, *(f"{speed}{_RESERVE}" for speed in model.speed_names)}
    if isinstance(given, Mapping):
        for name in names:
            if name not in known and name not in off:
                raise UnknownName("actuator", name, sorted(known), "actuator_forces")
    asked = [*own, *(name for name in names if name in known and name not in own and name not in off)]
    return _named("actuator_forces", given, asked, frames)


def _without(what: str, name: str, spare: Sequence[str]) -> MusculoError:
    """A force that is missing: a name that stands for nothing else may be a misspelling of it."""
    if spare:
        return UnknownName("force of", name, spare, what)
    return InvalidInput(f"{what}: no force of {name!r} is given; give one for each, 0 where there is none")


def _named(
    what: str, given: Mapping[str, ArrayLike] | Table, names: Sequence[str], frames: int
) -> dict[str, FloatArray]:
    found = {}
    for name in names:
        if isinstance(given, Table):
            values = given.column(name)
        elif name in given:
            values = np.asarray(given[name], dtype=float)
        else:
            raise _without(what, name, [key for key in given if key not in names])
        if values.shape not in ((), (frames,)):
            raise InvalidInput(
                f"{what}: {name!r} has shape {values.shape}; the motion has {frames} frames, so give a number or "
                f"({frames},); a table at other times is brought to these by table.resample(time=...)"
            )
        if not np.isfinite(values).all():
            raise InvalidInput(f"{what}: {name!r} holds a number that is not finite; fill such frames first")
        found[name] = np.broadcast_to(values, (frames,))
    return found


def _same(what: str, count: int, frames: int) -> None:
    if count != frames:
        raise InvalidInput(f"{what} has {count} frames and the motion {frames}; give both the same")


def _times(load: ExternalLoad, values: FloatArray) -> ExternalLoad:
    """A unit load (3,) or (frames, 3) times a force at every frame."""
    return replace(
        load, force=values[:, None] * np.asarray(load.force), moment=values[:, None] * np.asarray(load.moment)
    )


def needs_paths(model: Model, given: GivenForces) -> bool:
    """Whether anything along a path pulls: muscles of which forces are given, actuators, springs and ligaments."""
    passive = any(
        f.path is not None and f.applies_force and not isinstance(f, Muscle | PathActuator | ClutchedPathSpring)
        for f in model.forces
    )
    return given.muscles is not None or bool(given.on_paths) or passive


def all_tensions(model: Model, given: GivenForces, paths: PathWrenches, threads: int | None) -> FloatArray:
    """(frames, paths) tension along every path: muscles as given, springs and ligaments by their laws [N]."""
    n = len(model.muscles)
    tension = np.zeros_like(paths.length)
    if given.muscles is not None:
        tension[:, :n] = given.muscles
    if len(paths.names) > n:
        if paths.speed is None:
            raise InvalidInput("the geometry was computed without u, which springs along paths need; pass it")
        own = path_tensions(model, paths.length, paths.speed, control=0.0, threads=threads)
        tension[:, [paths.index(name) for name in own.names]] = own.tension
        for name, values in given.on_paths.items():
            tension[:, paths.index(name)] = values
    return tension


class OwnForces(NamedTuple):
    """How the forces of a model that act by themselves are computed; see `model_forces`."""

    time: FloatArray  # (frames,) [s]
    method: Method = "exact"

    def part(self, at: slice) -> OwnForces:
        return self._replace(time=self.time[at])


@dataclass(frozen=True, eq=False)
class AppliedForces:
    """All that acts on a model besides gravity, in some poses."""

    tau: FloatArray  # (frames, n_u) of paths and of what acts at coordinates; not of loads on bodies
    loads: tuple[ExternalLoad, ...]  # on bodies: external ones and actuators
    paths: PathWrenches | None  # where any pulls
    tension: FloatArray  # (frames, paths) along them [N]
    passive: FloatArray | None = None  # (frames, 1 + bodies, 6) of limits, bushings, contacts; see `model_forces`

    def node_wrenches(self, model: Model, Q: FloatArray, threads: int | None) -> FloatArray | None:
        """(frames, 6 nodes) of compiled(model, merged=False), as the recursion takes them; None where nothing acts."""
        c = compiled(model, merged=False)
        if not self.loads and self.paths is None and self.passive is None:
            return None
        total = node_wrenches(c, self.loads, len(Q), lambda: kinematics(model, Q, threads=threads))
        nodes = total.reshape(len(Q), -1, 6)
        if self.passive is not None:
            for body, name in enumerate((GROUND, *model.body_names)):
                nodes[:, c.body_node[name], :3] += self.passive[:, body, 3:]
                nodes[:, c.body_node[name], 3:] += self.passive[:, body, :3]
        if self.paths is not None:
            node = np.array(list(c.body_node.values()), dtype=np.int64)[self.paths.row_body]
            rows = (np.ascontiguousarray(self.paths.row_path, dtype=np.int64), node)
            arrays = (np.ascontiguousarray(x) for x in (self.tension, self.paths.wrench))
            over_frames(pulled_frames, (*arrays, *rows, total), len(Q), threads)
        return total


def applied_forces(
    model: Model,
    Q: FloatArray,
    U: FloatArray,
    given: GivenForces,
    loads: Sequence[ExternalLoad],
    paths: PathWrenches | Wrapping,
    driving: bool,
    threads: int | None,
    own: OwnForces | None = None,
) -> AppliedForces:
    """Forces on bodies and speeds of all that is given, and of the forces of the model that act by themselves.

    `loads` are all those on bodies: from outside, and `given.on_bodies`. `paths` are those of the model, or how they
    shall run over surfaces. Only where the forces are `driving` the motion their generalized forces are made. `own`
    says how limits, bushings and contacts are computed; without it they are not, and springs and ligaments along paths
    act alone.
    """
    tau, passive = given.on_speeds, None
    if own is not None and compiled_forces(model, own.method).groups:
        more, passive = passive_forces(model, Q, U, own.time, own.method, threads)
        tau = tau + more
    if not needs_paths(model, given):
        return AppliedForces(tau, tuple(loads), None, np.zeros((len(Q), 0)), passive)
    # Lengthening speeds are for springs and ligaments.
    speeds = U if any(f.path is not None and not isinstance(f, Muscle) for f in model.forces) else None
    if isinstance(paths, str):
        paths = path_wrenches(model, Q, speeds, wrapping=paths, threads=threads)
    tension = all_tensions(model, given, paths, threads)
    # As a product of matrices for each frame: einsum walks the arms without the processor's vectors.
    if driving:
        tau = tau + (tension[:, None] @ paths.moment_arm)[:, 0]
    return AppliedForces(tau, tuple(loads), paths, tension, passive)
