"""Joint loads of a walk with all its muscles against OpenSim's joint reactions, one thread, same run.

python benchmarks/joint_loads.py      needs the extra `oracles` and the data folder
"""

from __future__ import annotations

import os

# One thread, also in the linear algebra that numpy calls.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import Table, joint_loads, path_wrenches, write_storage
from support.static_optimisation_inputs import DATASETS, Recorded, recorded
from timing import Timing, report, time_of
from trees import data_folder

NAMES = ("rajagopal_walk", "gait2392")
FEW, MORE = 2, 62  # frames in OpenSim; the difference leaves out what it does once
PEER_RUNS = 5
REPEATS = 25  # of the recorded frames, so that what is done once for a call weighs little


def setup(folder: Path, name: str, r: Recorded, frames: int, made: Path) -> str:
    """A set-up of OpenSim's tool for the first frames, with results in a folder of its own."""
    place, results, file, _ = DATASETS[name]
    text = (folder / place / "oracle_setup_jr_ground.xml").read_text()
    stored = f"{results}_StaticOptimization_force.sto"
    for old, new in {
        f"<model_file>{file}": f"<model_file>{folder / place / file}",
        "<force_set_files> ": f"<force_set_files> {folder / place}/",
        f"<results_directory>../oracle/{results}": f"<results_directory>{made}",
        f"<forces_file>../oracle/{results}/{stored}": f"<forces_file>{made / 'forces.sto'}",
        "<coordinates_file>../oracle": f"<coordinates_file>{folder / 'oracle'}",
        "<external_loads_file>oracle": f"<external_loads_file>{folder / place}/oracle",
        # Reactions under given forces need no fibre lengths.
        "states>true<": "states>false<",
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    write_storage(Table(r.time, tuple(r.columns), r.force), made / "forces.sto")
    start, end = text.split("<final_time>")
    half = (r.time[1] - r.time[0]) / 2
    (made / "setup.xml").write_text(f"{start}<final_time>{r.time[frames - 1] + half}<{end.split('<', 1)[1]}")
    return str(made / "setup.xml")


def peer(folder: Path, name: str, r: Recorded) -> Timing:
    """OpenSim's own tool, seconds a frame."""
    import opensim

    opensim.Logger.setLevelString("off")
    found = []
    for _ in range(PEER_RUNS):
        times = []
        for frames in (FEW, MORE):
            with tempfile.TemporaryDirectory() as made:
                tool = opensim.AnalyzeTool(setup(folder, name, r, frames, Path(made)))
                begin = time.perf_counter()
                assert tool.run()
                times.append(time.perf_counter() - begin)
        found.append((times[1] - times[0]) / (MORE - FEW))
    middle = statistics.median(found)
    return Timing(middle, (max(found) - min(found)) / middle)


def compare(folder: Path, name: str) -> None:
    r = recorded(folder, name)
    theirs = peer(folder, name, r)
    q, u, udot, tension = (np.tile(x, (REPEATS, 1)) for x in (r.q, r.u, r.udot, r.of(r.model.muscle_names, r.force)))
    loads = [
        replace(one, **{part: np.tile(getattr(one, part), (REPEATS, 1)) for part in ("force", "point", "moment")})
        for one in r.loads
    ]
    given = {"muscle_forces": tension, "loads": loads, "threads": 1}
    paths = path_wrenches(r.model, q, u, like="opensim", threads=1)
    for what, goal, motion, options in (
        ("paths given, udot given", "300x", (q, u, udot), {"geometry": paths}),
        ("paths given", "300x", (q, u), {"geometry": paths}),
        ("as OpenSim wraps", "30x", (q, u), {"wrapping": "opensim"}),
        ("geodesics", "30x", (q, u), {}),
    ):
        run = partial(joint_loads, r.model, *motion, **given, **options)
        report(f"{name}, {what}", time_of(run, len(q), 7), "OpenSim", theirs, goal)


def main() -> None:
    folder = data_folder()
    if folder is None:
        sys.exit("no data folder; set MUSCULO_DATA")
    for name in NAMES:
        compare(folder, name)


if __name__ == "__main__":
    main()
