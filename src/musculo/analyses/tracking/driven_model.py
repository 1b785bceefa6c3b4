"""A model whose muscles and actuators drive it: accelerations as linear functions of their forces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.static_optimization.reserves import actuators_of
from musculo.analyses.tracking.actuator_wrenches import ActuatorWrenches
from musculo.arrays import FloatArray
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.dynamics.inverse import inverse_dynamics, mass_matrix
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import Unsupported
from musculo.forces.model_forces import passive_forces
from musculo.like import Method, Wrapping
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.muscle.path_loads.path_forces import spring_forces
from musculo.muscle.paths.geometry import PathGeometry, muscle_geometry, path_geometry
from musculo.results.external_loads import ExternalLoads, LoadSeries


class Response(NamedTuple):
    """What a model does in some states: zudot = A F + b, udot = J zudot + rest."""

    q: FloatArray  # (frames, n) all coordinates
    u: FloatArray  # (frames, n_u) all speeds
    A: FloatArray  # (frames, n_zu, actuators) accelerations of independent speeds by force
    b: FloatArray  # (frames, n_zu) accelerations without the actuators
    J: FloatArray  # (frames, n_u, n_zu)
    rest: FloatArray  # (frames, n_u)
    paths: PathGeometry  # muscles first
    columns: FloatArray  # (frames, n_u, actuators) generalized forces by force

    def accelerations(self, force: FloatArray) -> FloatArray:
        """Accelerations of all speeds (frames, n_u) under forces (frames, actuators)."""
        zudot = np.einsum("fza,fa->fz", self.A, force) + self.b
        return np.einsum("fuz,fz->fu", self.J, zudot) + self.rest


class Moved(NamedTuple):
    """Coordinates and speeds of all of a model from the independent ones: udot = J zudot + b."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    J: FloatArray  # (frames, n_u, n_zu)
    b: FloatArray  # (frames, n_u)


class DrivenModel:
    """A model with its actuators, the muscles first, and with known loads from outside.

    Args:
        model: couplers, locks and prescribed motions are followed.
        loads: from outside, over time.
        method, wrapping: whose laws of forces and whose paths over surfaces.
        departures: further loads by coordinates and speeds, with which dynamics is another program's.

    Raises:
        Unsupported: closed loops, and joints whose speeds are no coordinate rates.
    """

    def __init__(
        self,
        model: Model,
        loads: ExternalLoads | None,
        method: Method = "exact",
        wrapping: Wrapping = "geodesic",
        departures: Callable[[FloatArray, FloatArray], Sequence[ExternalLoad]] | None = None,
    ) -> None:
        e = embedding_of(model)
        refuse_carried(e.unsolved)
        if e.loops or turning_joints(model):
            what = (
                f"the loop of {', '.join(e.loop_names)}" if e.loops else "joints whose speeds are no coordinate rates"
            )
            raise Unsupported(
                f"{model.name!r} has {what}; its muscles are controlled in trees with couplers, locked and "
                "prescribed coordinates: make a loop a coupler, a ball joint three pins (GimbalJoint)"
            )
        self.model, self.embedding, self.method, self.wrapping = model, e, method, wrapping
        self.actuators = actuators_of(model)
        self.names = (*model.muscle_names, *(one.name for one in self.actuators))
        self._pulls = np.array([m.applies_force for m in model.muscles], dtype=float)
        self._loads, self._departures = loads, departures
        self._planned: tuple[FloatArray, _Loads] | None = None
        self._paths = path_geometry if len(model.muscles) < sum(f.path is not None for f in model.forces) else None
        at = [(k, one) for k, one in enumerate(self.actuators) if one.coordinate]
        self._at_speed = [(len(model.muscles) + k, model.speed_index(one.coordinate)) for k, one in at]
        on_bodies = [
            (len(model.muscles) + k, one.force)
            for k, one in enumerate(self.actuators)
            if not one.coordinate and one.force is not None and one.force.path is None
        ]
        self._on_bodies = [k for k, _ in on_bodies]
        self._wrenches = ActuatorWrenches(model, [force for _, force in on_bodies])
        self._free_q = [model.coordinate_index(name) for name in e.coordinate_names]
        self._free_u = [model.speed_index(name) for name in e.speed_names]
        self._rules = embedded_dynamics(model)

    def plan(self, times: FloatArray) -> None:
        """Loads at these times are computed at once, now."""
        if self._loads is not None:
            known = np.unique(times)
            self._planned = known, _sorted_out(self._loads.at(known))

    def geometry(self, q: FloatArray, u: FloatArray) -> PathGeometry:
        """Paths of muscles first, then those of springs, ligaments and path actuators."""
        return (self._paths or muscle_geometry)(self.model, q, u, wrapping=self.wrapping, threads=1)

    def respond(self, time: FloatArray, z: FloatArray, zu: FloatArray) -> Response:
        """In states z (frames, n_z) and zu (frames, n_zu) at some times (frames,)."""
        model = self.model
        m = self.moved(time, z, zu)
        paths = self.geometry(m.q, m.u)
        bodies = kinematics(model, m.q, threads=1) if self._on_bodies or self._loads is not None else None
        columns = self._columns(m.q, paths, bodies)
        known = passive_forces(model, m.q, m.u, time, self.method, 1)[0]
        if self._paths is not None:
            known = known + spring_forces(model, paths, 1)
        rest: Sequence[ExternalLoad] = ()
        if bodies is not None and self._loads is not None:
            loads = self._at(time)
            known = known + bodies.pull_back_each(loads.bodies, loads.wrench).sum(axis=1)
            rest = loads.others
        if self._departures is not None:
            rest = [*rest, *self._departures(m.q, m.u)]
        known = known - inverse_dynamics(model, m.q, m.u, m.b, rest, threads=1)
        Jt = np.swapaxes(m.J, 1, 2)
        right = Jt @ np.concatenate([columns, known[..., None]], axis=2)
        found = np.linalg.solve(Jt @ mass_matrix(model, m.q, threads=1) @ m.J, right)
        return Response(m.q, m.u, found[..., :-1], found[..., -1], m.J, m.b, paths, columns)

    def moved(self, time: FloatArray, z: FloatArray, zu: FloatArray) -> Moved:
        """All coordinates and speeds, J and b, as `Embedding.motion` has them, by a kernel where it serves."""
        rules, n_u = self._rules, len(self.model.speed_names)
        if rules is None or rules.rows is None:
            m = self.embedding.motion(z, zu, time=time)
            return Moved(m.q, m.u, m.J, m.b)
        Q, U = np.zeros((len(z), len(self.model.coordinates))), np.zeros((len(z), n_u))
        Q[:, self._free_q], U[:, self._free_u] = z, zu
        J = np.zeros((len(z), n_u, len(self._free_u)))
        J[:, self._free_u, np.arange(len(self._free_u))] = 1.0
        if not self.embedding.rules:
            return Moved(Q, U, J, np.zeros_like(U))
        slopes, b, q, u = rules.slopes_and_bias(Q, U, time)
        f = rules.followers
        for k, dependent in enumerate(f.dependent.tolist()):
            for at in range(f.first_input[k], f.first_input[k + 1]):
                J[:, dependent] += slopes[:, at, None] * J[:, f.inputs[at]]
        return Moved(q, u, J, b)

    def _columns(self, q: FloatArray, paths: PathGeometry, bodies: Kinematics | None) -> FloatArray:
        """(frames, n_u, actuators): generalized forces by the force of each actuator."""
        frames, n = len(q), len(self.model.muscles)
        found = np.zeros((frames, len(self.model.speed_names), len(self.names)))
        found[:, :, :n] = np.swapaxes(paths.moment_arm[:, :n], 1, 2) * self._pulls
        for k, speed in self._at_speed:
            found[:, speed, k] = 1.0
        for k, one in enumerate(self.actuators):
            if one.force is not None and one.force.path is not None:
                found[:, :, n + k] = paths.moment_arm[:, paths.index(one.name)]
        if bodies is not None and self._on_bodies:
            found[:, :, self._on_bodies] = self._wrenches.on_speeds(bodies, q)
        return found

    def _at(self, time: FloatArray) -> _Loads:
        """Loads at some times."""
        assert self._loads is not None
        if self._planned is not None:
            known, loads = self._planned
            rows = np.minimum(np.searchsorted(known, time), len(known) - 1)
            if np.array_equal(known[rows], time):
                return _Loads(loads.bodies, loads.wrench[rows], [_rows(load, rows) for load in loads.others])
        return _sorted_out(self._loads.at(time))


class _Loads(NamedTuple):
    """Loads at some times: those in ground as wrenches, and others."""

    bodies: tuple[str, ...]
    wrench: FloatArray  # (frames, bodies, 6) moment about ground's origin, and force
    others: Sequence[ExternalLoad]


def _sorted_out(series: Sequence[LoadSeries]) -> _Loads:
    fixed = [one for one in series if one.force_in == GROUND and one.point_in == GROUND]
    others = [ExternalLoad(*one) for one in series if not (one.force_in == GROUND and one.point_in == GROUND)]
    frames = len(series[0].force) if series else 0
    parts = [np.concatenate([one.moment + np.cross(one.point, one.force), one.force], axis=1) for one in fixed]
    wrench = np.stack(parts, axis=1) if parts else np.zeros((frames, 0, 6))
    return _Loads(tuple(one.body for one in fixed), wrench, others)


def _rows(load: ExternalLoad, rows: NDArray[np.int64]) -> ExternalLoad:
    force, point, moment = (np.asarray(x)[rows] for x in (load.force, load.point, load.moment))
    return replace(load, force=force, point=point, moment=moment)
