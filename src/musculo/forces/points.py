"""Forces at points: springs and expressions between two of them, and forces prescribed over time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.expressions import Expressions
from musculo.forces.placed import (
    Acting,
    Columns,
    Moving,
    dot,
    on_bodies,
    placed,
    turned,
    turned_back,
    vector_columns,
    wrench_at,
)
from musculo.functions.function import Function
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.spatial.pose import Pose

_ZERO = (0.0, 0.0, 0.0)


class _BetweenPoints(ABC):
    """A force T along the line between a point of each of two bodies, positive where it pulls them together.

        d = |p_2 - p_1|,   ddot = (v_2 - v_1) . (p_2 - p_1) / d,   on body 1: T (p_2 - p_1) / d

    Departs: where the points meet the line has no direction, and there is no force; OpenSim's expressions give NaN.
    """

    keys = ("body1", "body2")

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        self._ends = []
        for key, point in zip(self.keys, ("point1", "point2"), strict=True):
            frames = [stated.frame(force, key, model) for force in forces]
            offsets = [Pose(np.eye(3), stated.vector(force, point, _ZERO)) for force in forces]
            self._ends.append(placed(model, frames, offsets))
        self._labels = [[self._label(force, key) for key in self.keys] for force in forces]

    @staticmethod
    def _label(force: Force, key: str) -> str:
        return stated.last_name((force.text(f"socket_{key}") or force.text(key)).strip())

    @abstractmethod
    def tension(self, d: FloatArray, ddot: FloatArray, energy: FloatArray) -> FloatArray:
        """(frames, forces) of distances and their rates; writes the energy where it is known."""

    def act(self, s: Moving) -> Acting:
        first, second = self._ends
        p_1, p_2 = first.origin(s), second.origin(s)
        r = p_2 - p_1
        d = np.sqrt(dot(r, r))
        e = r / np.where(d > 0.0, d, 1.0)[..., None]
        ddot = dot(second.velocity(s, p_2) - first.velocity(s, p_1), e)
        energy = np.zeros_like(d)
        pull = self.tension(d, ddot, energy)[..., None] * e
        n = len(self.names)
        every = np.arange(n)
        wrench = np.concatenate([wrench_at(p_1, pull), wrench_at(p_2, -pull)], axis=1)
        rows = np.concatenate([every, every]), np.concatenate([first.body, second.body])
        return on_bodies(len(d), *rows, wrench, energy, n)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        n = len(self.names)
        points = [end.origin(s) for end in self._ends]
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
        self._stiffness = np.array([stated.finite(force, "stiffness", 1.0) for force in forces])
        self._rest = np.array([stated.finite(force, "rest_length", 0.0) for force in forces])

    def tension(self, d: FloatArray, ddot: FloatArray, energy: FloatArray) -> FloatArray:
        stretch = d - self._rest
        energy += 0.5 * self._stiffness * stretch * stretch
        return self._stiffness * stretch


class PointExpressions(_BetweenPoints):
    """`<ExpressionBasedPointToPointForce>`: T an expression of `d` and `ddot`. Source: OpenSim 4.6, observed."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        self._formulas = Expressions([(f, f.text("expression") or "0") for f in forces], ("d", "ddot"))

    @staticmethod
    def _label(force: Force, key: str) -> str:
        return force.text(key).strip()  # as the file states it, path or name

    def tension(self, d: FloatArray, ddot: FloatArray, energy: FloatArray) -> FloatArray:
        return np.where(d > 0.0, self._formulas(np.stack([d, ddot], axis=2)), 0.0)


class PrescribedForces:
    """`<PrescribedForce>`: force, point and torque on a body as functions of time.

    Force and torque are in ground, or in the frame of the body (`forceIsGlobal`); the point is in the frame of the
    body, or in ground (`pointIsGlobal`), and its origin where there are no three functions.

    Source: OpenSim 4.6, observed behavior.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        self._at = placed(model, [stated.frame(force, "frame", model) for force in forces])
        self._in_ground = [stated.flag(force, "forceIsGlobal", True) for force in forces]
        self._point_in_ground = [stated.flag(force, "pointIsGlobal", False) for force in forces]
        self._functions = [
            tuple(_three(force, f"{part}Functions") for part in ("force", "point", "torque")) for force in forces
        ]

    def act(self, s: Moving) -> Acting:
        force, point, torque = self._given(s)
        every = np.arange(len(self.names))
        return on_bodies(len(s.q), every, self._at.body, wrench_at(point, force, torque), None, len(every))

    def _given(self, s: Moving) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(frames, forces, 3) each, in ground."""
        R, p = self._at.pose(s)
        force, point, torque = (np.zeros_like(p) for _ in range(3))
        for k, parts in enumerate(self._functions):
            f, x, t = (_at_times(functions, s.time) for functions in parts)
            turn = not self._in_ground[k]
            force[:, k] = turned(R[:, k], f) if turn else f
            torque[:, k] = turned(R[:, k], t) if turn else t
            within = self._point_in_ground[k] and bool(parts[1])
            point[:, k] = x if within else p[:, k] + turned(R[:, k], x)
        return force, point, torque

    def columns(self, s: Moving, acting: Acting) -> Columns:
        force, point, torque = self._given(s)
        R, p = self._at.pose(s)
        found: Columns = []
        for k, (name, parts) in enumerate(zip(self.names, self._functions, strict=True)):
            # OpenSim names the frame that the force is given in, and reports the force in ground
            where = GROUND if self._in_ground[k] else stated.last_name(self._at.names[k])
            local = turned_back(R[:, k], point[:, k] - p[:, k])
            for ending, values, given in (("f", force[:, k], parts[0]), ("p", local, parts[0] and parts[1]),
                                          ("torque_", torque[:, k], parts[2])):  # fmt: skip
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


def _at_times(functions: tuple[Function, ...], time: FloatArray) -> FloatArray:
    if not functions:
        return np.zeros((len(time), 3))
    return np.stack([function(time) for function in functions], axis=1)
