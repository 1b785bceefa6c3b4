"""What acts on a model besides gravity, muscles and what runs along paths, as the kernel `acting_forces` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from musculo.compile.compiled import compiled
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed
from musculo.errors import UnknownName
from musculo.forces.actuator_rows import actuator_rows
from musculo.forces.compiled_forces import compiled_forces, no_forces
from musculo.forces.placed import placed
from musculo.kernels.forces.acting_forces import ActingForces
from musculo.kernels.forces.recorded_loads import RecordedLoads
from musculo.like import Method
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads


def acting_data(
    model: Model,
    *,
    passive: bool = True,
    loads: Loads | None = None,
    rows: Mapping[str, int] | None = None,
    method: Method = "exact",
) -> ActingForces:
    """Passive forces, actuators and loads of a model, as `kernels.forces.acting_forces` takes them.

    Args:
        model: the model.
        passive: whether limits, springs, bushings, contacts and prescribed forces are among them.
        loads: from outside, over time or constant.
        rows: of controls by the names of actuators, as `actuator_rows` takes them; an empty mapping for no actuators.
        method: of contacts, as `model_forces` takes it.

    Raises:
        InvalidModel: a force whose numbers, frames or expressions cannot be used; names it.
        InvalidInput, UnknownName: loads that do not fit the model.
    """
    own = compiled_forces(model, method).data if passive else no_forces()
    actuators, recorded = actuator_rows(model, rows), load_rows(model, loads)
    groups = (actuators.point, actuators.torque, actuators.pair, actuators.body)
    somewhere = own.second.size + recorded.node.size + sum(group.control.size for group in groups)
    return ActingForces(own, actuators, recorded, int(somewhere > 0))


@cache
def nothing_acting() -> ActingForces:
    """What kernels take where nothing acts."""
    return acting_data(Model("nothing", (), ()), passive=False)


def load_rows(model: Model, loads: Loads | None) -> RecordedLoads:
    """Loads over time, or constant ones, as kernels take them."""
    if isinstance(loads, ExternalLoads):
        breaks, pieces = loads.pieces()
        some = [ExternalLoad(*load) for load in loads.at(breaks[:1])]
    else:
        some = [] if loads is None else listed(loads, 1)
        breaks, pieces = np.zeros(1), np.zeros((2, 9 * len(some), 4))
        values = [np.ravel(part) for load in some for part in (load.force, load.point, load.moment)]
        pieces[:, :, 3] = np.concatenate([np.zeros(0), *values])
    c = compiled(model)
    for load in some:
        if load.body not in c.body_node:
            raise UnknownName("body", load.body, c.body_node, load.source or "an external load")
    node = np.array([c.body_node[load.body] for load in some], dtype=np.int64)
    force_frame = placed(model, [load.force_in for load in some]).frames
    point_frame = placed(model, [load.point_in for load in some]).frames
    return RecordedLoads(node, force_frame, point_frame, breaks, pieces)
