"""Generalized forces of loads that a function of the state gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.loads.external import ExternalLoad, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.forces.acting_data import nothing_acting
from musculo.kernels.integrate.forced_tree import ForcedTree, forced_room, wrench_force
from musculo.model.model import Model


class ForcesOfLoads:
    """J^T F of loads that a function gives.

    Args:
        loads: (t, q, u) -> one or several `ExternalLoad`.
    """

    def __init__(
        self, model: Model, loads: Callable[[float, FloatArray, FloatArray], ExternalLoad | Sequence[ExternalLoad]]
    ) -> None:
        self._model, self._loads, self._compiled = model, loads, compiled(model)
        c = self._compiled
        self._tree = ForcedTree(c.tree, c.table, nothing_acting(), np.zeros((1, 1)))
        self._room = forced_room(self._tree)

    def __call__(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        loads = listed(self._loads(t, q, u), 1)
        tau = np.zeros(len(u))
        if loads:
            wrench = node_wrenches(self._compiled, loads, 1, lambda: kinematics(self._model, q, threads=1))
            wrench_force(q, wrench[0], tau, self._tree, self._room)
        return tau
