"""All that acts on a model in a simulation: its own forces, loads, and forces that are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad, Loads
from musculo.errors import InvalidInput
from musculo.like import Wrapping
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads, LoadSeries
from musculo.simulation.forces.acting import Acting, AllForces, Forces, LoadsOfState
from musculo.simulation.forces.kernel_force import KernelForce

if TYPE_CHECKING:
    from musculo.simulation.muscles.muscles_as_force import MuscleForce


class Laws(NamedTuple):
    """Whose methods the model's own forces take."""

    wrapping: Wrapping
    contacts: Literal["exact", "opensim"]


def all_that_acts(
    model: Model,
    forces: AllForces,
    loads: LoadsOfState | Loads | None,
    springs: bool,
    times: FloatArray,
    muscles: MuscleForce | None,
    laws: Laws,
) -> tuple[Acting, bool]:
    """What acts on the model, and whether its own forces are among that."""
    if isinstance(loads, ExternalLoads):
        known = loads.table.time
        if times[-1] < known[0] or times[0] > known[-1]:
            raise InvalidInput(
                f"the simulation, {times[0]:g} to {times[-1]:g} s, lies outside the external loads of "
                f"{loads.table.source or loads.name!r}, which last from {known[0]:g} to {known[-1]:g} s"
            )
    elif loads is not None and not callable(loads) and not isinstance(loads, ExternalLoad | LoadSeries | Sequence):
        raise InvalidInput(
            f"loads is {loads!r:.60}; give loads over time (read_external_loads), constant ones (ExternalLoad), or a "
            "function (t, q, u) -> list of ExternalLoad"
        )
    of_states, fixed = (loads, None) if callable(loads) else (None, loads)
    # muscles come first: they work out the controls that other actuators take
    own: list[KernelForce | Forces] = [] if muscles is None else [muscles]
    sprung = False
    if model.forces or fixed is not None:
        # most mechanisms have no forces of their own, and need not know their laws
        from musculo.forces.compiled_forces import passive_paths
        from musculo.simulation.forces.model_force import ModelForce, PathForce

        compiled_ones = ModelForce(model, springs, fixed, muscles, laws.contacts)
        if compiled_ones.any:
            own.append(compiled_ones)
        # those along paths are among the muscles' own
        along = passive_paths(model) if springs and muscles is None else None
        if along is not None:
            own.append(PathForce(along, laws.wrapping))
        sprung = compiled_ones.passive or along is not None
    return Acting(model, forces, of_states, own), sprung
