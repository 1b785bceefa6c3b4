"""Residual reduction of recorded motions against OpenSim's RRATool, files read and written, in one run.

python benchmarks/residual_reduction.py [REPEATS]      needs the extra `oracles` and the data folder

Both sides start from the path of a set-up file, in a process that is already warm: imports, compiled kernels and
OpenSim's libraries are loaded. OpenSim's times are without reading the model, ours with it. OpenSim runs in a process
of its own, since it may crash at its end. Times are those of the processor; both sides use one thread. Beside them: how
far apart the forces of all actuators are at most, and their first rows.
"""

from __future__ import annotations

import os

# One thread, also in the linear algebra that numpy calls.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo import read_storage
from musculo.opensim import run_setup
from timing import Timing, report
from trees import data_folder

# Data set, set-up, what its files name wrongly, and the goal.
RUNS = {
    "walk of gait10dof18musc, 2500 windows": (
        "gait10dof18musc_rra_cmc", "RRA/walk_Setup_RRA.xml", "RRA/Results", "subject_adjusted", "30x",
    ),
    "stance of leg6dof9musc, 450 windows": (
        "leg6dof9musc", "leg69_Setup_RRA.xml", "RRA", "leg6dof9musc_RRA_adjusted", "30x",
    ),
}  # fmt: skip
OURS = 7  # runs
_PEER = """
import json, os, sys, time
import opensim
opensim.Logger.setLevelString("off")
os.chdir(os.path.dirname(sys.argv[1]))
times = []
for _ in range(int(sys.argv[2])):
    tool = opensim.RRATool(os.path.basename(sys.argv[1]))
    begin = time.process_time()
    assert tool.run()
    times.append(time.process_time() - begin)
open(sys.argv[3], "w").write(json.dumps(times))
os._exit(0)
"""


def copied(name: str, folder: Path) -> Path:
    """A data set that may be written into, its files as the set-up looks for them."""
    data = data_folder()
    assert data is not None
    shutil.copytree(data / name, folder, ignore=shutil.ignore_patterns("ref", "Results"))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    for loads in folder.glob("*grf.xml"):  # named for another folder, in Windows' way
        loads.write_text(loads.read_text().replace("..\\leg69", "leg69"))
    return folder


def _timing(times: list[float]) -> Timing:
    middle = statistics.median(times)
    return Timing(middle, (max(times) - min(times)) / middle)


def compare(what: str, repeats: int) -> None:
    """One line of times, and one of forces."""
    name, setup, results, run, goal = RUNS[what]
    with tempfile.TemporaryDirectory() as scratch:
        folder = copied(name, Path(scratch) / name)
        theirs, ours = folder / results, Path(scratch) / "ours"
        theirs.mkdir(parents=True, exist_ok=True)
        told = Path(scratch) / "times.json"
        command = [sys.executable, "-c", _PEER, str(folder / setup), str(repeats), str(told)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times = []
        for _ in range(1 + OURS):
            begin = time.process_time()
            run_setup(folder / setup, output=ours, compare=False, threads=1, overwrite=True)
            times.append(time.process_time() - begin)
        report(what, _timing(times[1:]), "OpenSim", _timing(json.loads(told.read_text())), goal)
        mine, known = (read_storage(where / f"{run}_Actuation_force.sto") for where in (ours, theirs))
        there = np.stack([np.interp(mine.time, known.time, column) for column in known.values.T], axis=1)
        apart = np.abs(mine.values - there)
        print(f"    forces up to {np.abs(there).max():.0f} N or N m: apart by {apart.max():.1e}, "
              f"in the first row by {apart[0].max():.1e}")  # fmt: skip


if __name__ == "__main__":
    if data_folder() is None:
        sys.exit("no data folder; set MUSCULO_DATA")
    for one in RUNS:
        compare(one, int(sys.argv[1]) if len(sys.argv) > 1 else 2)
