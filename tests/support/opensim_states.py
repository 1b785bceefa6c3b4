"""States and simulations of live OpenSim: files of states read, and motions without muscles integrated."""

from __future__ import annotations

from typing import Any


def _model(opensim: Any, path: str) -> Any:
    """A model whose forces do not act."""
    model = opensim.Model(path)
    forces = model.updForceSet()
    for k in range(forces.getSize()):
        forces.get(k).set_appliesForce(False)
    return model


def _state(model: Any, state: Any) -> dict[str, list[float]]:
    coordinates = [model.getCoordinateSet().get(k) for k in range(model.getCoordinateSet().getSize())]
    return {c.getName(): [c.getValue(state), c.getSpeedValue(state)] for c in coordinates}


def _read(opensim: Any, path: str, states: str) -> list[tuple[float, dict[str, list[float]]]]:
    """Time and all coordinates with their speeds, as OpenSim takes them from a file of states."""
    model = _model(opensim, path)
    model.initSystem()
    found = opensim.StatesTrajectory.createFromStatesTable(model, opensim.TimeSeriesTable(states), True)
    return [(found.get(k).getTime(), _state(model, found.get(k))) for k in range(found.getSize())]


def _integrate(opensim: Any, path: str, start: dict[str, list[float]], end: float) -> dict[str, list[float]]:
    """The state at `end` of a motion from `start`, by Runge-Kutta-Merson with errors of 1e-10 a step."""
    model = _model(opensim, path)
    state = model.initSystem()
    for name, (value, speed) in start.items():
        coordinate = model.getCoordinateSet().get(name)
        if not coordinate.getLocked(state):
            coordinate.setValue(state, value, False)
            coordinate.setSpeedValue(state, speed)
    manager = opensim.Manager(model)
    manager.setIntegratorAccuracy(1e-10)
    manager.initialize(state)
    return _state(model, manager.integrate(end))
