"""Generalized forces of a motion by OpenSim's inverse dynamics, for every coordinate of a model."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from musculo.arrays import FloatArray
from musculo.io.osim import write_osim
from musculo.model.model import Model
from musculo.replications.peer import ask_opensim

# Accelerations are given for all coordinates, in the order of the tree.
_QUESTION = """
model = opensim.Model(str(given["model"]))
state = model.initSystem()
named = [model.getCoordinateSet().get(str(name)) for name in given["coordinates"]]
solver = opensim.InverseDynamicsSolver(model)
for k, one in enumerate(named):
    one.setLocked(state, False)
    one.setSpeedValue(state, float(k + 1))
speeds = state.getU()
# rows of the tree, by the numbers that were given to them
order = [int(row) for row in np.argsort([speeds[k] for k in range(len(named))])]
answer["torques"] = np.zeros_like(given["u"])
for i, (q, u, udot) in enumerate(zip(given["q"], given["u"], given["udot"])):
    for one, place, speed in zip(named, q, u):
        one.setValue(state, float(place), False)
        one.setSpeedValue(state, float(speed))
    wanted = opensim.Vector(len(named), 0.0)
    for k, value in zip(order, udot):
        wanted[k] = float(value)
    found = solver.solve(state, wanted)
    answer["torques"][i] = [found[k] for k in order]
"""


def opensim_torques(model: Model, q: FloatArray, u: FloatArray, udot: FloatArray) -> FloatArray:
    """(frames, n_u) what inverse dynamics asks of each coordinate, muscles and constraints left out [N m, N]."""
    # muscles would pull with what they have at rest
    with tempfile.TemporaryDirectory(prefix="musculo-shoulder-") as folder:
        file = Path(folder) / "bones.osim"
        write_osim(model.replace(forces=()), file)
        given = {"model": str(file), "coordinates": np.array(model.coordinate_names), "q": q, "u": u, "udot": udot}
        return ask_opensim(_QUESTION, given)["torques"]
