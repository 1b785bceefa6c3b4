"""The simulations of one call of `simulate_many`, and what comes of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.like import Wrapping
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.simulation.integrators.control import Control
from musculo.simulation.simulation import SimulationStatus


class Case(NamedTuple):
    """One simulation."""

    model: Model
    q: Any
    u: Any
    excitations: Any
    activation: Any
    fiber_length: Any


class Options(NamedTuple):
    """What all share."""

    times: FloatArray
    control: Control
    method: str
    wrapping: Wrapping
    like_opensim: bool
    model_forces: bool
    loads: ExternalLoads | None
    max_steps: int


class Outcome(NamedTuple):
    """Of one simulation, at all times."""

    q: FloatArray
    u: FloatArray
    activation: FloatArray
    fiber_length: FloatArray
    status: SimulationStatus
    reason: str
    steps: int


def cases_of(model: Any, q0: Any, u0: Any, excitations: Any, activation: Any, fiber_length: Any) -> list[Case]:
    """Each simulation; what is given once is repeated."""
    listed: dict[str, list[Any]] = {}
    single: dict[str, Any] = {}
    if isinstance(model, Model):
        single["model"] = model
    else:
        listed["model"] = list(model)
        if not listed["model"] or not all(isinstance(one, Model) for one in listed["model"]):
            raise InvalidInput("model is neither a model nor a list of models")
    if isinstance(excitations, list | tuple):
        listed["excitations"] = list(excitations)
    else:
        single["excitations"] = {} if excitations is None else excitations
    for name, value in (("q", q0), ("u", u0), ("activation", activation), ("fiber_length", fiber_length)):
        if value is None or isinstance(value, str):
            single[name] = value
            continue
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{name}: not an array of numbers: {error}") from None
        if array.ndim > 1:
            listed[name] = list(array)
        else:
            single[name] = array
    counts = {name: len(values) for name, values in listed.items()}
    if len(set(counts.values())) > 1:
        stated = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise InvalidInput(f"simulations are counted by the first axis, and lists differ in it: {stated}")
    count = next(iter(counts.values()), 1)
    if not count:
        raise InvalidInput("there is no simulation: the lists are empty")
    return [Case(**single, **{name: values[k] for name, values in listed.items()}) for k in range(count)]
