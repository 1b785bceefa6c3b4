"""Fibre equilibrium against OpenSim's computeEquilibrium, per muscle, one thread, same run.

Both sides count the best of their repeats, muscle by muscle for OpenSim: on a machine with other work, medians of runs
of a few milliseconds differ by a factor of three from run to run.

python benchmarks/muscle_equilibrium.py      needs the extra `oracles` and the data folder
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo import read_osim
from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from timing import Timing, report, time_of
from trees import data_folder

MODELS = {
    "Rajagopal2016, 80 Millard": "rajagopal_walk/subject_walk_scaled.osim",
    "gait2392, 92 Thelen": "gait2392/subject01_simbody.osim",
    "gait10dof18musc, 18 DGF": "gait10dof18musc/subject01_DGF.osim",
    "MoBL-ARMS, 50 Schutte": "mobl_arms/MoBL_ARMS.osim",
}
POSES, REPEATS, TILES, RUNS = 10, 5, 50, 40
ACTIVATION = 0.5


def random_poses(peer, state, rng):
    """States with free coordinates within a third of their range about the default."""
    group = peer.getCoordinateSet()
    coordinates = [group.get(i) for i in range(group.getSize())]
    free = [c for c in coordinates if not (c.getLocked(state) or c.isConstrained(state))]
    for _ in range(POSES):
        for c in free:
            low, high = c.getRangeMin(), c.getRangeMax()
            c.setValue(state, c.getDefaultValue() + rng.uniform(-1.0, 1.0) * min((high - low) / 6.0, 0.5), False)
        peer.assemble(state)
        yield


def solved_by_opensim(path: Path, rng) -> tuple[list[str], np.ndarray, Timing, int]:
    """Muscles, their lengths (poses, muscles), the least time of computeEquilibrium alone, and how often it failed."""
    import opensim

    opensim.Logger.setLevelString("off")
    os.chdir(path.parent)
    peer = opensim.Model(str(path))
    state = peer.initSystem()
    group = peer.getMuscles()
    muscles = [group.get(i) for i in range(group.getSize())]
    lengths, runs, failed = [], np.zeros((POSES, len(muscles), REPEATS)), 0
    for pose, _ in enumerate(random_poses(peer, state, rng)):
        peer.realizeVelocity(state)
        lengths.append([m.getLength(state) for m in muscles])
        for run in range(REPEATS):
            for i, muscle in enumerate(muscles):
                muscle.setActivation(state, ACTIVATION)
                peer.realizeVelocity(state)
                start = time.perf_counter()
                try:
                    muscle.computeEquilibrium(state)
                except RuntimeError:
                    failed += 1
                runs[pose, i, run] = time.perf_counter() - start
    best, each = float(runs.min(axis=2).mean()), runs.mean(axis=(0, 1))
    return [m.getName() for m in muscles], np.array(lengths), Timing(best, float(np.ptp(each)) / best), failed


def compare(what: str, path: Path) -> None:
    rng = np.random.default_rng(0)
    names, lengths, theirs, failed = solved_by_opensim(path, rng)
    model = read_osim(path)
    length = np.tile(lengths[:, [names.index(name) for name in model.muscle_names]], (TILES, 1))
    print(f"{what}: {POSES} poses, OpenSim fails {failed / REPEATS / lengths.size:.1%} of them")
    for method, speed in (("opensim", 0.0), ("exact", 0.1 * rng.normal(size=length.shape))):
        ours = time_of(
            lambda v=speed, m=method: muscle_equilibrium(model, length, v, ACTIVATION, method=m, threads=1),
            length.size,
            RUNS,
            min,
        )
        report(f"  {method}", ours, "OpenSim", theirs, "50x")


if __name__ == "__main__":
    folder = data_folder()
    if folder is None:
        print("skipped, the data folder is not there")
    else:
        for what, name in MODELS.items():
            compare(what, folder / name)
