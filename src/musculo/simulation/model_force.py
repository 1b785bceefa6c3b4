"""What acts on a model without a control, and loads from a recording, as one force of `simulate` that is compiled."""

from __future__ import annotations

import numpy as np

from musculo.compile.compiled import compiled
from musculo.forces.acting_data import acting_data
from musculo.kernels.integrate.forced_tree import ForcedTree, forced_room, model_force
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.simulation.kernel_force import KernelForce


class ModelForce(KernelForce):
    """Limits, springs, bushings, contacts and prescribed forces of a model; not those along paths.

    Args:
        model: the model.
        passive: whether these forces act.
        loads: from outside, over time.

    Raises:
        InvalidModel: a force whose numbers, frames or expressions cannot be used; names it.
        InvalidInput, UnknownName: loads that do not fit the model.
    """

    def __init__(self, model: Model, passive: bool = True, loads: ExternalLoads | None = None) -> None:
        forces = acting_data(model, passive=passive, loads=loads, rows={})
        self.passive = bool(forces.passive.speed.size or forces.passive.second.size)
        self.any = self.passive or bool(forces.loads.node.size)
        self.names = ("model_forces",) * self.passive + ("external loads",) * bool(forces.loads.node.size)
        c = compiled(model)
        tree = ForcedTree(c.tree, c.table, forces, np.zeros((1, 1)))
        super().__init__(model_force, tree, forced_room(tree))
