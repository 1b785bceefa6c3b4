"""What actuators on bodies do: wrenches of unit forces, on all speeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.analyses.static_optimization.reserves import unit_loads
from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import Kinematics
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model

# Its direction follows from the pose.
_BETWEEN = "PointToPointActuator"


class ActuatorWrenches:
    """Actuators that push or turn bodies, their loads of a unit taken apart once.

    Args:
        model: the model.
        forces: the actuators.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self._model = model
        self._between = [(k, force) for k, force in enumerate(forces) if force.kind == _BETWEEN]
        still = np.zeros((1, len(model.coordinates)))
        units = [
            (k, load)
            for k, force in enumerate(forces)
            if force.kind != _BETWEEN
            for load in unit_loads(model, force, still)
        ]
        self._count = len(forces)
        groups: dict[tuple[str, str], list[tuple[int, ExternalLoad]]] = {}
        for k, load in units:
            groups.setdefault((load.force_in, load.point_in), []).append((k, load))
        self._groups = [(frames, _Units(one)) for frames, one in groups.items()]

    def on_speeds(self, bodies: Kinematics, q: FloatArray) -> FloatArray:
        """(frames, n_u, actuators): generalized forces of unit forces in poses q (frames, n)."""
        found = np.zeros((len(q), len(self._model.speed_names), self._count))
        parts = [(units, units.wrench(bodies, *frames)) for frames, units in self._groups]
        for k, force in self._between:
            loads = unit_loads(self._model, force, q)
            wrench = [
                np.concatenate([np.cross(np.asarray(x.point), np.asarray(x.force)), np.asarray(x.force)], axis=1)
                for x in loads
            ]
            parts.append((_Units([(k, load) for load in loads]), np.stack(wrench, axis=1)))
        for units, wrenches in parts:
            pulled = bodies.pull_back_each(units.bodies, wrenches)
            for row, k in enumerate(units.whose):
                found[:, :, k] += pulled[:, row]
        return found


class _Units:
    """Loads in the same frames, with the actuators that they are of."""

    def __init__(self, loads: Sequence[tuple[int, ExternalLoad]]) -> None:
        self.whose = [k for k, _ in loads]
        self.bodies = [load.body for _, load in loads]
        if all(np.ndim(load.force) == 1 for _, load in loads):
            self._force, self._moment, self._point = (
                np.array([np.asarray(getattr(load, what), dtype=float) for _, load in loads])
                for what in ("force", "moment", "point")
            )

    def wrench(self, bodies: Kinematics, force_in: str, point_in: str) -> FloatArray:
        """(frames, loads, 6): moments about ground's origin, and forces, in ground."""
        force = np.broadcast_to(self._force, (bodies.frames, *self._force.shape))
        moment, point = (np.broadcast_to(x, force.shape) for x in (self._moment, self._point))
        if force_in != GROUND:
            R = np.swapaxes(bodies.batch_pose(force_in)[0], 1, 2)
            force, moment = force @ R, moment @ R
        if self._force.any():
            if point_in != GROUND:
                R, p = bodies.batch_pose(point_in)
                point = p[:, None] + point @ np.swapaxes(R, 1, 2)
            moment = moment + np.cross(point, force)
        return np.concatenate([moment, force], axis=2)
