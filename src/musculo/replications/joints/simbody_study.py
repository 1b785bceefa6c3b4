"""Simbody's side of a joint: its accelerations and simulations of our models, through OpenSim, and how long they take.

The models are written as OpenSim files, so that both sides compute the same system; nothing acts but gravity.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from musculo.arrays import FloatArray
from musculo.io.osim.writing.write import write_osim
from musculo.model.model import Model
from musculo.replications.peer import ask_opensim

# Models with coordinates and speeds, by name.
States: TypeAlias = Mapping[str, tuple[Model, FloatArray, FloatArray]]
# What both scripts need: a model, its coordinates in our order, and states.
_COMMON = """
import json, time
opensim.Logger.setLevelString("off")

def opened(k):
    with open(f"model_{k}.osim", "w") as file:
        file.write(str(given[f"model_{k}"]))
    model = opensim.Model(f"model_{k}.osim")
    exec(str(given["prepare"]), {"opensim": opensim, "model": model})
    state = model.initSystem()
    group = model.getCoordinateSet()
    return model, state, [group.get(name) for name in json.loads(str(given[f"names_{k}"]))]

def put(model, state, coordinates, q, u):
    for c, value in zip(coordinates, q):
        c.setValue(state, float(value), False)
    for c, value in zip(coordinates, u):
        c.setSpeedValue(state, float(value))
    return opensim.Vector(state.getQ()), opensim.Vector(state.getU())
"""
_ACCELERATIONS = (
    _COMMON
    + """
made = []
for k in range(int(given["count"])):
    model, state, coordinates = opened(k)
    udot, kept = [], []
    for q, u in zip(given[f"q_{k}"], given[f"u_{k}"]):
        kept.append(put(model, state, coordinates, q, u))
        model.realizeAcceleration(state)
        udot.append([c.getAccelerationValue(state) for c in coordinates])
    answer[f"udot_{k}"] = np.array(udot)
    made.append((model, state, kept))
least = [float("inf")] * len(made)
for _ in range(int(given["rounds"])):
    for k, (model, state, kept) in enumerate(made):
        # only what Simbody does is timed, as far as a script can: setting the state comes off
        spent = []
        for whole in (True, False):
            start = time.process_time()
            for _ in range(int(given["repeats"]) // len(kept)):
                for q, u in kept:
                    state.setQ(q)
                    state.setU(u)
                    if whole:
                        model.realizeAcceleration(state)
            spent.append(time.process_time() - start)
        calls = int(given["repeats"]) // len(kept) * len(kept)
        least[k] = min(least[k], (spent[0] - spent[1]) / calls)
answer["seconds"] = np.array(least)
"""
)
_SIMULATIONS = (
    _COMMON
    + """
made = [opened(k) for k in range(int(given["count"]))]
accuracies = given["accuracies"].tolist()
least = np.full((len(made), len(accuracies)), np.inf)
ends = [[None] * len(accuracies) for _ in made]
for _ in range(int(given["rounds"])):
    for k, (model, state, coordinates) in enumerate(made):
        for a, accuracy in enumerate(accuracies):
            start_state = opensim.State(state)
            put(model, start_state, coordinates, given[f"q_{k}"], given[f"u_{k}"])
            start_state.setTime(0.0)
            manager = opensim.Manager(model)
            manager.setIntegratorMethod(opensim.Manager.IntegratorMethod_RungeKuttaMerson)
            manager.setIntegratorAccuracy(accuracy)
            manager.setWriteToStorage(False)
            manager.setRecordStatesTrajectory(False)
            manager.initialize(start_state)
            begun = time.process_time()
            end = manager.integrate(float(given["end"]))
            least[k, a] = min(least[k, a], time.process_time() - begun)
            ends[k][a] = [[c.getValue(end), c.getSpeedValue(end)] for c in coordinates]
for k in range(len(made)):
    answer[f"ends_{k}"] = np.array(ends[k])
answer["seconds"] = least
"""
)


class Accelerations(NamedTuple):
    """What Simbody finds for the states of a model."""

    udot: FloatArray  # (frames, n_u)
    seconds: float  # of one acceleration


class Runs(NamedTuple):
    """Where Simbody's simulations of a model end, one for each accuracy."""

    q: FloatArray  # (accuracies, n)
    u: FloatArray  # (accuracies, n_u)
    seconds: FloatArray  # (accuracies,)


class Question(NamedTuple):
    """A script for OpenSim, and what is given to it; to be answered alone or with others in one process."""

    script: str
    given: dict[str, Any]


def accelerations_question(models: States, *, rounds: int = 5, repeats: int = 2000, prepare: str = "") -> Question:
    """What `simbody_accelerations` asks."""
    return Question(_ACCELERATIONS, _given(models, prepare) | {"rounds": rounds, "repeats": repeats})


def accelerations_found(models: States, found: Mapping[str, Any]) -> dict[str, Accelerations]:
    """The answer to that."""
    return {name: Accelerations(found[f"udot_{k}"], float(found["seconds"][k])) for k, name in enumerate(models)}


def simulations_question(
    models: States, end: float, accuracies: Sequence[float], *, rounds: int = 3, prepare: str = ""
) -> Question:
    """What `simbody_simulations` asks."""
    settings = {"end": end, "accuracies": np.asarray(accuracies, dtype=float), "rounds": rounds}
    return Question(_SIMULATIONS, _given(models, prepare) | settings)


def simulations_found(models: States, found: Mapping[str, Any]) -> dict[str, Runs]:
    """The answer to that."""
    return {
        name: Runs(found[f"ends_{k}"][:, :, 0], found[f"ends_{k}"][:, :, 1], found["seconds"][k])
        for k, name in enumerate(models)
    }


def simbody_accelerations(
    models: States, *, rounds: int = 5, repeats: int = 2000, prepare: str = ""
) -> dict[str, Accelerations]:
    """Accelerations under gravity, and the least processor time of one: one state after the other, as Simbody works.

    Args:
        models: models with q, u (frames, n), by name; speeds are as many as coordinates, so no quaternions.
        rounds, repeats: so many times the models are timed in turn, with so many accelerations each.
        prepare: Python source that adds forces to OpenSim's `model` before anything is computed.
    """
    question = accelerations_question(models, rounds=rounds, repeats=repeats, prepare=prepare)
    return accelerations_found(models, ask_opensim(*question))


def simbody_simulations(
    models: States, end: float, accuracies: Sequence[float], *, rounds: int = 3, prepare: str = ""
) -> dict[str, Runs]:
    """Simulations under gravity from states q, u (n,) to the time `end` [s], by OpenSim's usual integrator.

    That is Runge-Kutta-Merson with Simbody's projection onto constraints, which are kept to a tenth of the accuracy.
    `prepare` as in `simbody_accelerations`.
    """
    question = simulations_question(models, end, accuracies, rounds=rounds, prepare=prepare)
    return simulations_found(models, ask_opensim(*question))


def _given(models: States, prepare: str) -> dict[str, Any]:
    given: dict[str, Any] = {"count": len(models), "prepare": prepare}
    with tempfile.TemporaryDirectory() as folder:
        for k, (model, q, u) in enumerate(models.values()):
            file = Path(folder) / f"{k}.osim"
            write_osim(model, file)
            given |= {f"model_{k}": file.read_text(encoding="utf-8"), f"q_{k}": q, f"u_{k}": u}
            given[f"names_{k}"] = json.dumps(model.coordinate_names)
    return given
