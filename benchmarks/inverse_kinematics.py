"""Inverse kinematics of recorded motion against OpenSim's solver, one thread, same run.

    python benchmarks/inverse_kinematics.py [FOLDER ...]      needs the extra `oracles` and the data folder

Reading files and preparing the model are left out on both sides. OpenSim tracks its first frames only, as it needs
milliseconds for each; ours are whole recordings, with the search for the first pose and the checks of arguments.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import inverse_kinematics
from support.ik_setups import DATASETS, OpenSimSolver, read_setup
from timing import Timing, report, time_of
from trees import data_folder

FRAMES = 30  # in OpenSim
ACCURACY = 1e-5  # its default
GOALS = {"rajagopal_walk": "300x"}


def opensims_time(solver: OpenSimSolver, times: np.ndarray) -> Timing:
    """Of a frame; each is tracked once, from the one before."""
    took = []
    for part in np.array_split(times, 3):
        start = time.perf_counter()
        solver.track(part)
        took.append((time.perf_counter() - start) / len(part))
    middle = float(np.median(took))
    return Timing(middle, (max(took) - min(took)) / middle)


def main() -> None:
    data = data_folder()
    for folder in sys.argv[1:] or DATASETS:
        setup = read_setup(data / folder)

        def ours(setup=setup):
            return inverse_kinematics(setup.model, setup.markers, weights=setup.weights, tasks=setup.tasks, threads=1)

        result = ours()
        mine = time_of(ours, len(setup.markers), repeats=15)
        theirs = opensims_time(OpenSimSolver(setup, ACCURACY), setup.markers.time[:FRAMES])
        report(f"{folder}, {len(setup.markers)} frames", mine, "OpenSim", theirs, GOALS.get(folder, "-"))
        print(f"{'':34s} {result}, {result.iterations.mean():.1f} iterations a frame")


if __name__ == "__main__":
    main()
