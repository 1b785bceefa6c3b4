"""Positions and velocities of points of a model, and distances between them, as node functions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.model.model import Model
from musculo.trajectory.functions.rates import CurvedByDifferences, RateModel

Point = tuple[str, ArrayLike]
"""A body and a point of it, in its frame [m]."""
_AXES = ("x", "y", "z")


class PointPositions(CurvedByDifferences):
    """Positions in ground: outputs `toe/x`, `toe/y`, `toe/z` of each point [m], inputs `c/value`.

    Args:
        model: without joints whose speeds are angular velocities (ball, free), and without closed loops.
        points: body and place in its frame, by name: `{"toe": ("calcn_r", (0.18, 0, 0))}`.
    """

    def __init__(self, model: Model, points: Mapping[str, Point]) -> None:
        self.model, self.points, self._rates = model, dict(points), RateModel(model, type(self).__name__)
        self.inputs = self._rates.inputs(0)
        self.outputs = tuple(f"{name}/{axis}" for name in self.points for axis in _AXES)
        self.pattern = self._rates.nonzeros(self._all_slopes, 0)
        n = len(self._rates.names)
        self._bend(n, n, n)

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs) [m]."""
        at = kinematics(self.model, self._rates.motion(variables).q)
        return np.hstack([at.position(body, point) for body, point in self.points.values()])

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) and (nodes, entries)."""
        return self.values(variables), self._all_slopes(variables)[:, self.pattern[0], self.pattern[1]]

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        return point_slopes(self._rates, self.points, variables)


class PointVelocities(CurvedByDifferences):
    """Velocities in ground: outputs `toe/vx`, `toe/vy`, `toe/vz` [m/s], inputs `c/value` and `c/speed`.

        dv/dzdot = J,    dv/dz_j = h(zdot, e_j) = (a(zdot + e_j) - a(zdot) - a(e_j)) / 2

    where a(zdot) = h(zdot, zdot) is the acceleration without zddot, a quadratic form of the speeds: exact.

    Args:
        model, points: as `PointPositions` has them.
    """

    def __init__(self, model: Model, points: Mapping[str, Point]) -> None:
        self.model, self.points, self._rates = model, dict(points), RateModel(model, type(self).__name__)
        self.inputs = self._rates.inputs(1)
        self.outputs = tuple(f"{name}/v{axis}" for name in self.points for axis in _AXES)
        n = len(self._rates.names)
        self._moving = np.unique(
            self._rates.nonzeros(lambda states: point_slopes(self._rates, self.points, states[:, :n]), 0)[1]
        )
        self.pattern = self._rates.nonzeros(self._all_slopes, 1)
        self._bend(2 * n, n, n)

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs) [m/s]."""
        motion = self._rates.motion(variables)
        at = kinematics(self.model, motion.q, motion.u)
        return np.hstack([at.velocity(body, point) for body, point in self.points.values()])

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) and (nodes, entries)."""
        return self.values(variables), self._all_slopes(variables)[:, self.pattern[0], self.pattern[1]]

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        nodes, n = len(variables), len(self._rates.names)
        found = np.zeros((nodes, len(self.outputs), 2 * n))
        found[:, :, n:] = point_slopes(self._rates, self.points, variables[:, :n])
        # speeds of each node: as they are, e_j, and their sums
        unit = np.eye(n)[self._moving]
        z, zu = variables[:, None, :n], variables[:, None, n:]
        count = len(unit)
        speeds = np.concatenate(
            [np.broadcast_to(one, (nodes, *one.shape[1:])) for one in (zu, unit[None], zu + unit)], axis=1
        )
        states = np.concatenate([np.broadcast_to(z, speeds.shape), speeds], axis=2).reshape(-1, 2 * n)
        motion = self._rates.motion(states)
        at = kinematics(self.model, *motion)
        a = np.hstack([at.acceleration(body, point) for body, point in self.points.values()])
        a = a.reshape(nodes, 2 * count + 1, -1)
        mixed = (a[:, count + 1 :] - a[:, :1] - a[:, 1 : count + 1]) / 2.0
        found[:, :, self._moving] = np.swapaxes(mixed, 1, 2)
        return found


class PointDistances(CurvedByDifferences):
    """Distances between points: outputs of the names given [m], inputs `c/value`.

    Args:
        model: as `PointPositions` has it.
        pairs: two points by name: `{"wrist to hip": (("hand_r", (0, 0, 0)), ("pelvis", (0, 0, 0.1)))}`; they must not
            coincide, where the distance has no slope.
    """

    def __init__(self, model: Model, pairs: Mapping[str, tuple[Point, Point]]) -> None:
        self.model, self._rates = model, RateModel(model, type(self).__name__)
        self.outputs = tuple(pairs)
        self.inputs = self._rates.inputs(0)
        self._points = {f"{name} {k}": point for name, pair in pairs.items() for k, point in enumerate(pair)}
        self.pattern = self._rates.nonzeros(self._all_slopes, 0)
        n = len(self._rates.names)
        self._bend(n, n, n)

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, pairs) [m]."""
        return np.asarray(np.linalg.norm(self._between(variables), axis=2))

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, pairs) and (nodes, entries)."""
        return self.values(variables), self._all_slopes(variables)[:, self.pattern[0], self.pattern[1]]

    def _between(self, variables: FloatArray) -> FloatArray:
        """(nodes, pairs, 3)."""
        at = kinematics(self.model, self._rates.motion(variables).q)
        x = np.stack([at.position(body, point) for body, point in self._points.values()], axis=1)
        return np.asarray(x[:, 1::2] - x[:, ::2])

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        J = point_slopes(self._rates, self._points, variables)
        J = J.reshape(len(J), -1, 2, 3, J.shape[2])
        apart = self._between(variables)
        along = apart / np.linalg.norm(apart, axis=2)[:, :, None]
        return np.asarray(np.einsum("npa,npaj->npj", along, J[:, :, 1] - J[:, :, 0]))


def point_slopes(rates: RateModel, points: Mapping[str, Point], variables: FloatArray) -> FloatArray:
    """(nodes, 3 points, independent coordinates) slopes of positions."""
    q = rates.motion(variables).q
    at: Kinematics = kinematics(rates.model, q)
    J = np.concatenate([at.point_jacobian(body, point) for body, point in points.values()], axis=1)
    return rates.by_independent(J, q)
