"""What OpenSim's static optimisation of a recorded motion starts from, and where it ends."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from musculo import ExternalLoad, Model, embedding_of, inverse_dynamics, read_external_loads, read_osim, read_storage
from musculo.signals import NaturalSpline
from support.simbody_terms import simbody_excess

# folder, results, model, motion (that of the results' inverse kinematics where empty)
DATASETS = {
    "arm26": ("arm26", "arm26", "arm26.osim", ""),
    "gait10dof18musc": ("gait10dof18musc", "gait10dof18musc_walk", "subject01.osim", ""),
    "gait2392": ("gait2392", "gait2392_walk", "subject01_simbody.osim", ""),
    "rajagopal_walk": ("rajagopal_walk", "rajagopal_walk", "subject_walk_scaled.osim", ""),
    "leg6dof9musc": ("leg6dof9musc", "leg6dof9musc_stance", "leg6dof9musc_added_mass.osim", "leg69_IK_stance.mot"),
}


@dataclass(frozen=True, eq=False)
class Recorded:
    """A motion as OpenSim's AnalyzeTool prepares it, and its tightly converged static optimisation."""

    model: Model
    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    loads: list[ExternalLoad]
    reserves: dict[str, float]
    columns: list[str]  # of activation and force
    activation: np.ndarray
    force: np.ndarray

    @property
    def tau(self) -> np.ndarray:
        """Generalised forces with what Simbody adds to them at Rajagopal's knees."""
        exact = inverse_dynamics(self.model, self.q, self.u, self.udot, self.loads)
        return exact + simbody_excess(self.model, self.q, self.u)

    def of(self, names, table) -> np.ndarray:
        """Columns of a table by our names: OpenSim's set-up calls reserves of the pelvis residuals."""
        found = [n if n in self.columns else n.replace("_reserve", "_residual") for n in names]
        return table[:, [self.columns.index(n) for n in found]]


def recorded(data: Path, name: str) -> Recorded:
    folder, results, file, motion_file = DATASETS[name]
    store = data / "oracle" / results
    columns = json.loads((store / "results.json").read_text())["columns"]["so_tight_activation"]["columns"]
    kept = np.load(store / "results.npz")
    model = read_osim(data / folder / file)
    table = read_storage(data / folder / motion_file if motion_file else store / "ik.mot")
    motion = table.lowpass(6.0, like="opensim").in_radians(model)
    spline = NaturalSpline(motion.time, motion.coordinates(model, missing="default"))
    time = kept["so_tight_activation"][:, 0]
    q, u = spline(time), spline(time, 1)
    # The target is the derivative of a spline through the speeds, not the second one of that through the coordinates.
    udot = NaturalSpline(motion.time, spline(motion.time, 1))(time, 1)
    e = embedding_of(model)
    m = e.motion(e.independent(q), e.independent_speeds(q, u), e.independent_speeds(q, udot))
    loads_file = data / folder / "oracle_extloads.xml"
    loads = [ExternalLoad(*load) for load in read_external_loads(loads_file).at(time)] if loads_file.exists() else []
    text = (data / folder / "oracle_reserves.xml").read_text()
    pairs = re.findall(r"<coordinate>(.*?)</coordinate>.*?<optimal_force>(.*?)</optimal_force>", text, re.DOTALL)
    reserves = {coordinate: float(force) for coordinate, force in pairs}
    activation, force = kept["so_tight_activation"][:, 1:], kept["so_tight_force"][:, 1 : len(columns)]
    return Recorded(model, time, m.q, m.u, m.udot, loads, reserves, columns[1:], activation, force)
