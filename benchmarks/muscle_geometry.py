"""All lengths and all moment arms of a model against OpenSim, one thread, same run: in the poses of a walk, then in
random poses of models whose paths cross several surfaces, where they are compared with polylines.

python benchmarks/muscle_geometry.py      needs the extra `oracles` and the data folder
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import embedding_of, read_osim
from musculo.model.model import Model
from musculo.muscle.paths.geometry import muscle_geometry
from support.short_steps import random_poses
from timing import Timing, report, time_of
from trees import data_folder

MODELS = {
    "Rajagopal2016": ("rajagopal_walk/subject_walk_scaled.osim", "rajagopal_walk"),
    "gait2392": ("gait2392/subject01_simbody.osim", "gait2392"),
}
# In random poses: the file, and how many of them.
RANDOM = {
    "MoBL-ARMS": ("mobl_arms/MoBL_ARMS.osim", 200),
    "shoulder": ("thoracoscapular_shoulder/ThoracoscapularShoulderModel.osim", 300),
    "arm26": ("arm26/arm26.osim", 1000),
}
POSES = 4  # in OpenSim, which needs a quarter of a second for each
FRAMES = 2000


def walking(folder: Path, model: Model, name: str) -> np.ndarray:
    """The poses of a walk, from OpenSim's own inverse kinematics, repeated to FRAMES; dependent coordinates follow."""
    data = folder / "oracle" / (name if name == "rajagopal_walk" else f"{name}_walk") / "ik.mot"
    lines = data.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == "endheader") + 1
    names = lines[start].split()
    rows = np.array([[float(x) for x in line.split()] for line in lines[start + 1 :]])
    e = embedding_of(model)
    z = rows[:, [names.index(n) for n in e.coordinate_names]]
    turns = np.array([not n.endswith(("_tx", "_ty", "_tz")) for n in e.coordinate_names])
    q = e.coordinates(np.where(turns, np.deg2rad(z), z))
    return np.resize(q, (FRAMES, q.shape[1]))


class Peer:
    """The model in OpenSim, set to poses one by one."""

    def __init__(self, path: Path, model: Model) -> None:
        import opensim

        opensim.Logger.setLevelString("off")
        self.model = opensim.Model(str(path))
        self.state = self.model.initSystem()
        self.muscles = [self.model.getMuscles().get(name) for name in model.muscle_names]
        group = self.model.getCoordinateSet()
        self.coordinates = [group.get(name) for name in model.coordinate_names]
        self.free = [group.get(name) for name in embedding_of(model).coordinate_names]

    def place(self, q: np.ndarray) -> None:
        for c, value in zip(self.coordinates, q, strict=True):
            if not c.getLocked(self.state):
                c.setValue(self.state, float(value), False)
        self.model.realizePosition(self.state)

    def lengths(self) -> np.ndarray:
        return np.array([m.getLength(self.state) for m in self.muscles])

    def arms(self) -> np.ndarray:
        return np.array([[m.computeMomentArm(self.state, c) for c in self.free] for m in self.muscles])


def times_of(peer: Peer, poses: np.ndarray) -> tuple[Timing, Timing]:
    """OpenSim's lengths alone, and with all moment arms, a pose."""

    def work(arms: bool) -> None:
        for pose in poses:
            peer.place(pose)
            peer.lengths()
            if arms:
                peer.arms()

    return time_of(lambda: work(False), len(poses), 3), time_of(lambda: work(True), len(poses), 3)


def in_random_poses(folder: Path) -> None:
    """A loop that is not closed makes no difference to paths."""
    for title, (file, count) in RANDOM.items():
        model = read_osim(folder / file)
        q = random_poses(model, count, np.random.default_rng(3))
        arms = times_of(Peer(folder / file, model), q[:POSES])[1]
        for w in ("geodesic", "opensim"):
            one = time_of(lambda m=model, q=q, w=w: muscle_geometry(m, q, wrapping=w, threads=1), count, 3)
            report(f"{title} random poses, {w}", one, "OpenSim", arms, "")


def main() -> None:
    folder = data_folder()
    if folder is None:
        print("skipped: the data folder is not there")
        return
    for title, (file, name) in MODELS.items():
        model = read_osim(folder / file)
        q, peer = walking(folder, model, name), Peer(folder / file, model)
        some = q[:: FRAMES // POSES][:POSES]
        ours = muscle_geometry(model, some, like="opensim")
        worst = np.zeros(2)
        for f, pose in enumerate(some):
            peer.place(pose)
            differences = (peer.lengths() - ours.length[f], peer.arms() - ours.moment_arm_independent[f])
            worst = np.maximum(worst, [np.abs(d).max() for d in differences])
        print(f"{title}: {len(ours.names)} muscles, {len(peer.free)} coordinates; ", end="")
        print(f"lengths agree to {worst[0]:.0e} m, moment arms to {worst[1]:.0e} m")

        lengths, arms = times_of(peer, some)
        for w in ("geodesic", "opensim"):
            one = time_of(lambda m=model, q=q, w=w: muscle_geometry(m, q, wrapping=w, threads=1), FRAMES)
            through = time_of(
                lambda m=model, q=q, w=w: muscle_geometry(m, q, wrapping=w, threads=1).moment_arm_independent, FRAMES
            )
            # we always compute both, so the same time stands against OpenSim's lengths alone
            report(f"{title} lengths, {w}", one, "OpenSim", lengths, "")
            report(f"{title} lengths and moment arms, {w}", one, "OpenSim", arms, "2000x")
            report("  with couplings (r J)", through, "OpenSim", arms, "")
    in_random_poses(folder)


if __name__ == "__main__":
    main()
