"""Whole tools on the Rajagopal walk against OpenSim's, files read and written, one thread, in one run.

python benchmarks/whole_tools.py [REPEATS]      needs the extra `oracles` and the data folder

Both sides start from the path of a set-up file, in a process that is already warm: imports, compiled kernels and
OpenSim's libraries are loaded. OpenSim runs in a process of its own, since it may crash at its end. Times are those
of the processor, which other work on the machine disturbs less than the clock; both sides use one thread.
"""

from __future__ import annotations

import os

# One thread, also in the linear algebra that numpy calls.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo.opensim import run_setup
from timing import Timing, report
from trees import data_folder

PLACE = "rajagopal_walk"
# Tool, set-up and goal. Joint reactions take the forces of the static optimisation before them.
TOOLS = (
    ("InverseKinematicsTool", "oracle_setup_ik.xml", "20x"),
    ("InverseDynamicsTool", "oracle_setup_id.xml", "3x"),
    ("AnalyzeTool", "oracle_setup_so.xml", "20x"),
    ("AnalyzeTool", "oracle_setup_jr_ground.xml", "3x"),
)
OURS = 7  # runs
_PEER = """
import json, os, sys, time
import opensim
opensim.Logger.setLevelString("off")
found = {}
for tool, path in json.loads(sys.argv[1]):
    os.chdir(os.path.dirname(path))
    times = []
    for _ in range(int(sys.argv[2])):
        begin = time.process_time()
        assert getattr(opensim, tool)(os.path.basename(path)).run()
        times.append(time.process_time() - begin)
    found[path] = times
open(sys.argv[3], "w").write(json.dumps(found))
os._exit(0)
"""


def prepared(data: Path, folder: Path) -> Path:
    """A copy of the recording with its set-ups, which write into folders of their own."""
    shutil.copytree(data / PLACE, folder / PLACE)
    (folder / "oracle").mkdir()
    shutil.copytree(data / "oracle" / PLACE, folder / "oracle" / PLACE)
    for path in (folder / PLACE).glob("oracle_setup_*.xml"):
        text = path.read_text()
        text = re.sub(r"<output_motion_file>.*?<", "<output_motion_file>results/ik.mot<", text)
        path.write_text(re.sub(r"<results_directory>.*?<", "<results_directory>results<", text))
    jr = folder / PLACE / "oracle_setup_jr_ground.xml"
    forces = "<forces_file>results/rajagopal_walk_StaticOptimization_force.sto<"
    jr.write_text(re.sub(r"<forces_file>.*?<", forces, jr.read_text()))
    (folder / PLACE / "results").mkdir()
    return folder / PLACE


def middle(times: list[float]) -> Timing:
    median = statistics.median(times)
    return Timing(median, (max(times) - min(times)) / median)


def timed(run: Callable[[], object]) -> Timing:
    run()  # kernels and curves
    times = []
    for _ in range(OURS):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return middle(times)


def main() -> None:
    data = data_folder()
    if data is None:
        sys.exit("no data folder; set MUSCULO_DATA")
    repeats = sys.argv[1] if len(sys.argv) > 1 else "1"
    with tempfile.TemporaryDirectory() as made:
        theirs_in, ours_in = (prepared(data, Path(made) / side) for side in ("theirs", "ours"))
        jobs = [(tool, str(theirs_in / name)) for tool, name, _ in TOOLS]
        answer = Path(made) / "times.json"
        command = [sys.executable, "-c", _PEER, json.dumps(jobs), repeats, str(answer)]
        subprocess.run(command, check=True, capture_output=True)
        peer = json.loads(answer.read_text())
        for _, name, goal in TOOLS:
            theirs = middle(peer[str(theirs_in / name)])
            path = ours_in / name
            alone = timed(lambda path=path: run_setup(path, threads=1, compare=False))  # type: ignore[misc]
            report(f"{name[13:-4]}", alone, "OpenSim", theirs, goal)
            both = timed(lambda path=path: run_setup(path, threads=1))  # type: ignore[misc]
            report(f"{name[13:-4]}, compared with the exact method", both, "OpenSim", theirs, goal)


if __name__ == "__main__":
    main()
