"""What acts on a model without a control, and loads from a recording, as one force of `simulate` that is compiled."""

from __future__ import annotations

import numpy as np

from musculo.compile.compiled import compiled
from musculo.dynamics.loads.external import Loads
from musculo.forces.acting_data import acting_data
from musculo.kernels.integrate.forced_tree import ForcedTree, forced_room, model_force
from musculo.like import Method, Wrapping
from musculo.model.model import Model
from musculo.simulation.forces.kernel_force import KernelForce
from musculo.simulation.muscles.excitations import control_rows
from musculo.simulation.muscles.muscles_as_force import MuscleForce


class ModelForce(KernelForce):
    """Limits, springs, bushings, contacts, prescribed forces and actuators of a model; not what runs along paths.

    Args:
        model: the model.
        passive: whether these forces act.
        loads: from outside, over time or constant.
        controlled: whose controls actuators take, at the state that it was called for before; without it they are idle.
        method: of contacts, "exact" or "opensim", as `model_forces` takes it.

    Raises:
        InvalidModel: a force whose numbers, frames or expressions cannot be used; names it.
        InvalidInput, UnknownName: loads that do not fit the model.
    """

    def __init__(
        self,
        model: Model,
        passive: bool = True,
        loads: Loads | None = None,
        controlled: MuscleForce | None = None,
        method: Method = "exact",
    ) -> None:
        rows, controls = {}, np.zeros((1, 1))
        if controlled is not None:
            rows = control_rows(model)
            controls = controlled.room.applied[:, None] if rows else controls
        forces = acting_data(model, passive=passive, loads=loads, rows=rows, method=method)
        self.passive = bool(forces.passive.speed.size or forces.passive.second.size)
        self.any = self.passive or bool(forces.loads.node.size) or bool(rows)
        self.names = ("model_forces",) * self.passive + ("external loads",) * bool(forces.loads.node.size)
        c = compiled(model)
        tree = ForcedTree(c.tree, c.table, forces, controls)
        super().__init__(model_force, tree, forced_room(tree))


class PathForce(MuscleForce):
    """Springs and ligaments along paths.

    Args:
        along: the model with these as its only forces (`passive_paths`).
        wrapping: "geodesic" or "opensim".
    """

    names = ("model_forces",)

    def __init__(self, along: Model, wrapping: Wrapping = "geodesic") -> None:
        super().__init__(along, (), wrapping)
