"""Inverse kinematics of recorded motion against OpenSim's solver, one thread, same run.

    python benchmarks/inverse_kinematics.py [FOLDER ...]      needs the extra `oracles` and the data folder

Reading files and preparing the model are left out on both sides. OpenSim tracks its first frames only, as it needs
milliseconds for each; ours are whole recordings, with the search for the first pose and the checks of arguments. Other
work on the machine makes both slower and the ratio uncertain, so its load is printed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import inverse_kinematics, kinematics, write_osim
from musculo.io import write_orientations
from musculo.model import place_sensors
from musculo.results import InverseKinematics, Orientations
from musculo.spatial.rotation import axis_rotation
from support.ik_setups import DATASETS, OpenSimSolver, read_setup
from support.opensim_orientations import ready_solver
from timing import Timing, report, time_of
from trees import data_folder

FRAMES = 30  # in OpenSim
ACCURACY = 1e-5  # its default
IMU_ACCURACY = 1e-4  # of its tool for IMUs
NOISE = 0.05  # of sensors [rad]
GOALS = {"rajagopal_walk": "300x"}


def opensims_time(track: Callable[[np.ndarray], object], times: np.ndarray) -> Timing:
    """Of a frame; each is tracked once, from the one before."""
    took = []
    for part in np.array_split(times, 3):
        start = time.perf_counter()
        track(part)
        took.append((time.perf_counter() - start) / len(part))
    middle = float(np.median(took))
    return Timing(middle, (max(took) - min(took)) / middle)


def follow_sensors(folder: str, motion: InverseKinematics) -> None:
    """A sensor on each body, made from the motion and noise; OpenSim locks translations, as its tool for IMUs does."""
    import opensim

    rng = np.random.default_rng(0)
    bodies, frames = motion.model.body_names, len(motion)
    moved = kinematics(motion.model, motion.q)
    off = np.array([[axis_rotation(rng.normal(size=3), NOISE * rng.normal()) for _ in bodies] for _ in range(frames)])
    R = off @ np.stack([moved.pose(body).R for body in bodies], axis=1)
    trial = Orientations.from_rotations(motion.time, [f"{body}_imu" for body in bodies], R)
    model = place_sensors(motion.model, trial, pose=motion.q[0]).model

    def ours() -> InverseKinematics:
        return inverse_kinematics(model, orientations=trial, threads=1)

    result = ours()
    mine = time_of(ours, frames, repeats=15)
    with tempfile.TemporaryDirectory() as temporary:
        files = [os.path.join(temporary, name) for name in ("model.osim", "trial.sto")]
        write_osim(model, files[0])
        write_orientations(trial, files[1])
        solver, _, state, times, _alive = ready_solver(opensim, *files, {}, "", {}, IMU_ACCURACY, True)

    def track(part: np.ndarray) -> None:
        for moment in part:
            state.setTime(float(moment))
            solver.track(state)

    report(f"{folder}, {len(bodies)} sensors", mine, "OpenSim", opensims_time(track, times[:FRAMES]), "-")
    print(f"{'':34s} {result}, {result.iterations.mean():.1f} iterations a frame")


def main() -> None:
    data = data_folder()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for folder in sys.argv[1:] or DATASETS:
        setup = read_setup(data / folder)

        def ours(setup=setup):
            return inverse_kinematics(setup.model, setup.markers, weights=setup.weights, tasks=setup.tasks, threads=1)

        result = ours()
        mine = time_of(ours, len(setup.markers), repeats=15)
        theirs = opensims_time(OpenSimSolver(setup, ACCURACY).track, setup.markers.time[:FRAMES])
        report(f"{folder}, {len(setup.markers)} frames", mine, "OpenSim", theirs, GOALS.get(folder, "-"))
        print(f"{'':34s} {result}, {result.iterations.mean():.1f} iterations a frame")
        follow_sensors(folder, result)


if __name__ == "__main__":
    main()
