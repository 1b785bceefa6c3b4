"""Set-ups of OpenSim's inverse kinematics tool, and its solver on them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo import Markers, Model, kinematics, read_osim
from musculo.io import read_markers

DATASETS = {
    "arm26": "arm26",
    "gait10dof18musc": "gait10dof18musc_walk",
    "gait2392": "gait2392_walk",
    "rajagopal_walk": "rajagopal_walk",
}


class Setup(NamedTuple):
    """What a set-up asks for."""

    model_file: Path
    marker_file: Path
    model: Model
    markers: Markers
    weights: dict[str, float]  # of markers that have a task
    tasks: dict[str, tuple[float, float]]

    @property
    def all_weights(self) -> dict[str, float]:
        """For `inverse_kinematics`: zero for markers without a task."""
        return dict.fromkeys(self.markers.names, 0.0) | self.weights

    def objective(self, q: np.ndarray) -> np.ndarray:
        """(frames,) OpenSim's objective at any coordinates, from positions of markers alone."""
        names = [name for name in self.weights if name in self.model.marker_names and name in self.markers.names]
        w = np.array([self.weights[name] for name in names])
        squares = ((kinematics(self.model, q).markers(names) - self.markers.pick(names).position) ** 2).sum(axis=2)
        seen = np.isfinite(squares)
        fit = (w * np.where(seen, squares, 0.0)).sum(axis=1) / (w * seen).sum(axis=1)
        for name, (weight, target) in self.tasks.items():
            fit += weight * (q[:, self.model.coordinate_index(name)] - target) ** 2
        return 0.5 * fit


def read_setup(folder: Path, times: np.ndarray | None = None) -> Setup:
    """The set-up `oracle_setup_ik.xml` of a folder, its markers cut to the given times."""
    tool = ElementTree.parse(folder / "oracle_setup_ik.xml").getroot().find("InverseKinematicsTool")
    assert tool is not None
    model_file, marker_file = (folder / str(tool.findtext(key)).strip() for key in ("model_file", "marker_file"))
    model, markers = read_osim(model_file), read_markers(marker_file)
    if times is not None:
        markers = markers.between(times[0] - 1e-6, times[-1] + 1e-6)
    known = {*model.marker_names, *markers.names}
    applied = [task for task in tool.iter() if str(task.findtext("apply")).strip() == "true"]
    weights = {
        str(task.get("name")): float(str(task.findtext("weight")))
        for task in applied
        if task.tag == "IKMarkerTask" and task.get("name") in known
    }
    tasks = {}
    for task in applied:
        if task.tag == "IKCoordinateTask":
            name = str(task.get("name"))
            default = str(task.findtext("value_type")).strip() == "default_value"
            value = model.coordinate(name).default_value if default else float(str(task.findtext("value")))
            tasks[name] = (float(str(task.findtext("weight"))), value)
    return Setup(model_file, marker_file, model, markers, weights, tasks)


class OpenSimSolver:
    """OpenSim's own solver on a set-up, ready to track frames."""

    def __init__(self, setup: Setup, accuracy: float) -> None:
        import opensim

        opensim.Logger.setLevelString("error")
        self._model = opensim.Model(str(setup.model_file))
        self._state = self._model.initSystem()
        weights = opensim.SetMarkerWeights()
        for name, weight in setup.weights.items():
            if name in setup.model.marker_names and name in setup.markers.names:
                weights.cloneAndAppend(opensim.MarkerWeight(name, weight))
        self._markers = opensim.MarkersReference(str(setup.marker_file), weights)
        self._tasks = opensim.SimTKArrayCoordinateReference()
        for name, (weight, value) in setup.tasks.items():
            task = opensim.CoordinateReference(name, opensim.Constant(value))
            task.setWeight(weight)
            self._tasks.push_back(task)
        self._solver = opensim.InverseKinematicsSolver(self._model, self._markers, self._tasks, float("inf"))
        self._solver.setAccuracy(accuracy)
        self._state.setTime(float(setup.markers.time[0]))
        self._solver.assemble(self._state)
        found = self._model.getCoordinateSet()
        self._coordinates = [found.get(name) for name in setup.model.coordinate_names]

    def track(self, times: np.ndarray) -> np.ndarray:
        """(frames, n) coordinates in the order of the model [rad, m]."""
        q = []
        for time in times:
            self._state.setTime(float(time))
            self._solver.track(self._state)
            q.append([c.getValue(self._state) for c in self._coordinates])
        return np.array(q)
