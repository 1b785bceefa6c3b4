"""Forces at points: springs and expressions between two of them, and forces prescribed over time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.expressions import programs_of
from musculo.forces.placed import (
    Acting,
    Columns,
    Found,
    Moving,
    between,
    cross,
    on_bodies,
    placed,
    turned,
    turned_back,
    vector_columns,
)
from musculo.functions.function import Function
from musculo.functions.function_table import compile_functions
from musculo.kernels.forces.point_laws import PointPairs, Prescribed
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.spatial.pose import Pose

_ZERO = (0.0, 0.0, 0.0)
_VARIABLES = ("d", "ddot")


class _BetweenPoints:
    """A force along the line between a point of each of two bodies: `kernels.forces.point_laws.point_pull`."""

    keys = ("body1", "body2")

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        ends = []
        for key, point in zip(self.keys, ("point1", "point2"), strict=True):
            frames = [stated.frame(force, key, model) for force in forces]
            offsets = [Pose(np.eye(3), stated.vector(force, point, _ZERO)) for force in forces]
            ends.append(placed(model, frames, offsets))
        self.first, self.second = ends
        self._labels = [[self._label(force, key) for key in self.keys] for force in forces]
        n = len(forces)
        none = np.zeros(n), np.zeros(n), np.full(n, -1), programs_of([], _VARIABLES)
        self.data = PointPairs(self.first.frames, self.second.frames, *none)

    @staticmethod
    def _label(force: Force, key: str) -> str:
        return stated.last_name((force.text(f"socket_{key}") or force.text(key)).strip())

    def acting(self, s: Moving, found: Found) -> Acting:
        return between(self.first, self.second, found)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        n = len(self.names)
        points = [end.origin(s) for end in (self.first, self.second)]
        for k, name in enumerate(self.names):
            for side, label in enumerate(self._labels[k]):
                force = acting.wrench[:, side * n + k, 3:]
                point = points[side][:, k]
                found += vector_columns(k, f"{name}.{label}.force", force)
                found += vector_columns(k, f"{name}.{label}.point", point)
        return found


class PointSprings(_BetweenPoints):
    """`<PointToPointSpring>`: T = k (d - d_0), V = k (d - d_0)^2 / 2; it also pushes. Source: OpenSim 4.6, observed."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        self.data = self.data._replace(
            stiffness=np.array([stated.finite(force, "stiffness", 1.0) for force in forces], dtype=float),
            rest=np.array([stated.finite(force, "rest_length", 0.0) for force in forces], dtype=float),
        )


class PointExpressions(_BetweenPoints):
    """`<ExpressionBasedPointToPointForce>`: T an expression of `d` and `ddot`. Source: OpenSim 4.6, observed."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        programs = programs_of([(f, f.text("expression") or "0") for f in forces], _VARIABLES)
        self.data = self.data._replace(formula=np.arange(len(forces)), programs=programs)

    @staticmethod
    def _label(force: Force, key: str) -> str:
        return force.text(key).strip()  # as the file states it, path or name


class PrescribedForces:
    """`<PrescribedForce>`: force, point and torque on a body as functions of time.

    Force and torque are in ground, or in the frame of the body (`forceIsGlobal`); the point is in the frame of the
    body, or in ground (`pointIsGlobal`), and its origin where there are no three functions. The law is
    `musculo.kernels.forces.point_laws.prescribed_wrench`.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        self.first, self.second = None, placed(model, [stated.frame(force, "frame", model) for force in forces])
        self._functions = [
            tuple(_three(force, f"{part}Functions") for part in ("force", "point", "torque")) for force in forces
        ]
        index = np.full((len(forces), 9), -1)
        every: list[Function] = []
        for k, parts in enumerate(self._functions):
            for i, functions in enumerate(parts):
                if functions:
                    index[k, 3 * i : 3 * i + 3] = np.arange(len(every), len(every) + 3)
                    every += functions
        self.data = Prescribed(
            self.second.frames,
            index,
            np.array([stated.flag(force, "forceIsGlobal", True) for force in forces], dtype=np.int64),
            np.array(
                [
                    stated.flag(force, "pointIsGlobal", False) and bool(parts[1])
                    for force, parts in zip(forces, self._functions, strict=True)
                ],
                dtype=np.int64,
            ),
            compile_functions(every),
        )

    def acting(self, s: Moving, found: Found) -> Acting:
        return on_bodies(np.arange(len(self.names)), self.second.body, found.wrench, found.energy)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        R, p = self.second.rotation(s), self.second.origin(s)
        found: Columns = []
        for k, (name, parts) in enumerate(zip(self.names, self._functions, strict=True)):
            # OpenSim names the frame that the force is given in, and reports the force in ground
            where = GROUND if self.data.force_in_ground[k] else stated.last_name(self.second.names[k])
            x = np.stack([f(s.time) for f in parts[1]], axis=1) if parts[1] else np.zeros((len(s.time), 3))
            local = turned_back(R[:, k], x - p[:, k]) if self.data.point_in_ground[k] else x
            force = acting.wrench[:, k, 3:]
            torque = acting.wrench[:, k, :3] - cross(p[:, k] + turned(R[:, k], local), force)
            for ending, values, given in (("f", force, parts[0]), ("p", local, parts[0] and parts[1]),
                                          ("torque_", torque, parts[2])):  # fmt: skip
                if given:
                    found += [(k, f"{where}_{name}_{ending}{axis}", values[:, i]) for i, axis in enumerate("xyz")]
        return found


def _three(force: Force, key: str) -> tuple[Function, ...]:
    """Three functions of time, or none, as OpenSim takes them."""
    own = dict(force.functions)
    found = tuple(own[f"{key}/{k}"] for k in range(3) if f"{key}/{k}" in own)
    for function in found:
        function.packed()  # says so where it is only carried
        if function.n_arguments > 1:
            raise InvalidModel(f"{stated.described(force)}: {key} holds a function of several arguments; time is one")
    return found if len(found) == 3 and f"{key}/3" not in own else ()
