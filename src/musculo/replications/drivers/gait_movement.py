"""A walk of the recorded data, as the human of 26 bodies is driven by it.

[Antunes2025], section 4.2, takes a gait cycle of its own laboratory. Here it is the walk of Rajagopal's model in the
recorded data: the orientations of its bodies are prescribed, whose knees have more motion than a hinge. Its subtalar
and toe joints are welded. As in the paper the human is not scaled to the subject, but the ground's forces are, by
weight. The recording has no whole cycle from a heel strike on, so the 118 frames begin in the stance of the right foot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis, kinematic_analysis
from musculo.absolute.absolute_model import from_model
from musculo.analyses.recorded_motion import motion_of
from musculo.arrays import FloatArray
from musculo.dynamics.energy import total_mass
from musculo.dynamics.loads.external import ExternalLoad
from musculo.io.external_load_files import read_external_loads
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.model.body import GROUND, Body
from musculo.replications.drivers.human import BODY_MASS, SIDES

FOLDER = "rajagopal_walk"
FRAMES = 118
# Rows of the recording, one each millisecond, from one frame to the next.
_EVERY = 10


@dataclass(frozen=True, eq=False)
class Walk:
    """The bodies of the recorded walk under the names of this human's, and what the ground does to the feet."""

    motion: AbsoluteAnalysis
    loads: tuple[ExternalLoad, ...]  # on the feet; points in the foot, from its ankle, forces in ground

    def forces(self, found: AbsoluteAnalysis) -> FloatArray:
        """(frames, n_unknowns) of a kinematic analysis: the ground's forces on the feet, scaled by weight."""
        names = [b.name for b in found.mechanism.bodies]
        forces = np.zeros((len(found.x), found.mechanism.n_unknowns))
        for load in self.on_feet(found):
            k = 6 * names.index(load.body)
            force, point, moment = (np.asarray(x, dtype=float) for x in (load.force, load.point, load.moment))
            forces[:, k : k + 3] += force
            forces[:, k + 3 : k + 6] += moment + np.cross(point, force)
        return forces

    def on_feet(self, found: AbsoluteAnalysis) -> list[ExternalLoad]:
        """The same as loads, with points in ground."""
        loads = []
        for load in self.loads:
            arm = np.einsum("fij,fj->fi", found.rotation(load.body), np.asarray(load.point, dtype=float))
            loads.append(replace(load, point=found.place(load.body) + arm, point_in=GROUND))
        return loads


def recorded_walk(folder: Path, frames: int = FRAMES) -> Walk:
    """The walk, from the folder of the recorded data; fewer frames are further apart."""
    model = read_osim(folder / "subject_walk_scaled.osim")
    table = read_storage(folder / "coordinates.sto")
    motion = motion_of(model, table)
    at = slice(0, _EVERY * FRAMES, _EVERY * (FRAMES // frames))
    q, u, udot, time = motion.q[at], motion.u[at], motion.udot[at], motion.time[at]
    system = from_model(model)
    found = kinematic_analysis(system.mechanism, system.given(q, u, udot), coordinates=system.coordinates(q))
    foot = {f"calcn_{side}": f"foot_{side}" for side in SIDES}
    scale = BODY_MASS / total_mass(model)
    loads = []
    for load in read_external_loads(folder / "grf_walk.xml").at(time):
        side = load.body[-1]
        # the human's foot has its origin at the ankle
        arm = np.asarray(load.point) - found.place(f"talus_{side}")
        point = np.einsum("fji,fj->fi", found.rotation(load.body), arm)
        force, moment = (scale * np.asarray(x, dtype=float) for x in (load.force, load.moment))
        loads.append(ExternalLoad(foot[load.body], force, point, moment, point_in=foot[load.body]))
    bodies = tuple(_renamed(b, foot) for b in found.mechanism.bodies)
    renamed = replace(found, mechanism=replace(found.mechanism, bodies=bodies, equations=(), chain=(), loads=()))
    return Walk(renamed, tuple(loads))


def _renamed(body: Body, names: dict[str, str]) -> Body:
    return replace(body, name=names.get(body.name, body.name))
