"""Moments that a motion takes, as a node function."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.derivatives.dynamics_derivatives import inverse_dynamics_derivatives
from musculo.dynamics.inverse import inverse_dynamics
from musculo.model.model import Model
from musculo.trajectory.functions.rates import CurvedByDifferences, RateModel


class InverseDynamics(CurvedByDifferences):
    """tau_z = J^T (M udot + C + g): inputs `c/value`, `c/speed` and `c/acceleration` of all independent coordinates.

    Outputs are `c/moment`, forces of translations among them [N m, N]. Slopes are exact.

    Args:
        model: without joints whose speeds are angular velocities (ball, free), and without closed loops.
        threads: the number of threads; all cores by default.
        curved: whether second derivatives are computed, so that the Hessian of a program is exact; by default of
            models with at most 12 coordinates. They take 4 passes for each coordinate.
    """

    def __init__(self, model: Model, *, threads: int | None = None, curved: bool | None = None) -> None:
        self.model, self.threads, self._rates = model, threads, RateModel(model, "InverseDynamics")
        self.inputs = self._rates.inputs(2)
        self.outputs = tuple(f"{name}/moment" for name in self._rates.names)
        self.pattern = self._rates.nonzeros(self._all_slopes, 2)
        n = len(self._rates.names)
        self._bend(3 * n, 2 * n, n, curved)

    def __repr__(self) -> str:
        return f"InverseDynamics({self.model.name!r})"

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, coordinates) [N m, N]."""
        motion = self._rates.motion(variables)
        tau = inverse_dynamics(self.model, *motion, threads=self.threads)
        e = self._rates.embedding
        return e.pull_back(motion.q, tau) if e.rules else tau

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, coordinates) and (nodes, entries)."""
        return self.values(variables), self._all_slopes(variables)[:, self.pattern[0], self.pattern[1]]

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        """(nodes, coordinates, inputs)."""
        found = inverse_dynamics_derivatives(self.model, *self._rates.motion(variables), threads=self.threads)
        if not self._rates.embedding.rules:
            return np.concatenate([found.dtau_dq, found.dtau_du, found.dtau_dudot], axis=2)
        return np.concatenate(found.independent, axis=2)
