"""Muscles and actuators under excitations and a controller, as `simulate` is given them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidInput
from musculo.like import Like, Wrapping, method_of, wrapping_of
from musculo.model.model import Model
from musculo.simulation.forces.acting import is_kernel
from musculo.simulation.muscles.excitations import (
    Controller,
    Excitations,
    beyond_unit,
    control_functions,
    in_python,
    longest_step,
)
from musculo.simulation.muscles.muscles_as_force import ControllerState, MuscleForce


def controlled_muscles(
    model: Model,
    excitations: Excitations | None,
    controller: Controller | None,
    like: Like | None,
    wrapping: Wrapping | None,
    springs: bool,
    span: tuple[float, float],
) -> tuple[MuscleForce, float, tuple[str, ...]]:
    """What muscles and other actuators do under these controls, the longest step [s], and notes."""
    if controller is not None and not callable(controller):
        raise InvalidInput(f"controller is {controller!r:.60}; give a function of time and state, or a compiled one")
    stated, called = in_python(model, {} if excitations is None else excitations)
    functions = control_functions(model, stated)
    if called:
        controller = _with_functions(called, controller)
    opensim = method_of(like, None) == "opensim"
    force = MuscleForce(model, functions, wrapping_of(like, wrapping), opensim, controller, springs)
    return force, longest_step(functions), beyond_unit(model, functions, *span)


def _with_functions(called: Mapping[str, Callable[[float], float]], controller: Controller | None) -> Controller:
    """A controller that adds functions of time to what another gives."""
    if controller is not None and is_kernel(controller):
        raise InvalidInput("a compiled controller goes with numbers, samples and functions of musculo.functions alone")

    def both(t: float, state: ControllerState) -> ArrayLike | Mapping[str, float]:
        found = {name: _number(name, t, function(t)) for name, function in called.items()}
        if controller is None:
            return found
        given = controller(t, state)
        if isinstance(given, Mapping):
            return {name: found.get(name, 0.0) + given.get(name, 0.0) for name in {**found, **given}}
        total = np.array(given, dtype=float)
        for name, value in found.items():
            total[state.names.index(name)] += value
        return total

    return both


def _number(name: str, t: float, given: object) -> float:
    """What a function of time gives."""
    if np.size(given) == 1:  # type: ignore[arg-type]
        with suppress(TypeError, ValueError):
            return float(np.reshape(np.asarray(given, dtype=float), ()))
    raise InvalidInput(
        f"excitations[{name!r}] gives {given!r:.60} at t = {t:.6g} s; a function of time gives one number"
    )
