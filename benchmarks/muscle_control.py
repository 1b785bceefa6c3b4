"""Computed muscle control beside OpenSim's: time of the whole tool, forces, errors of tracking, changes of excitations.

python benchmarks/muscle_control.py [NAME ...]      needs the extra `oracles` and the data folder; names: arm leg walk

OpenSim runs once, in a process of its own; musculo three times, of which the least counts. Times are those of the
processor. The three runs of OpenSim take more than a minute of it.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo import read_osim, read_storage
from musculo.io.controls.control_files import read_controls
from musculo.opensim import run_setup
from trees import data_folder

# Folder of the data, set-up in it, the folder and the name of its results.
RUNS = {
    "arm": ("arm26", "arm26_Setup_ComputedMuscleControl.xml", "Results", "arm26"),
    "leg": ("leg6dof9musc", "leg69_Setup_CMC.xml", "CMC", "leg6dof9musc_CMC"),
    "walk": ("gait10dof18musc_rra_cmc", "CMC/walk_Setup_CMC.xml", "CMC/Results", "walk_subject"),
}
MODELS = {"arm": "arm26.osim", "leg": "leg6dof9musc.osim", "walk": "subject01.osim"}
GRID = 0.002  # s, at which forces are compared
_PEER = """
import json, os, sys, time
import opensim
opensim.Logger.setLevelString("off")
os.chdir(os.path.dirname(sys.argv[1]))
begin = time.process_time()
assert opensim.CMCTool(os.path.basename(sys.argv[1])).run()
open(sys.argv[2], "w").write(json.dumps(time.process_time() - begin))
os._exit(0)
"""


def prepared(data: Path, folder: Path, name: str) -> Path:
    """A copy of the data in which the set-up finds what it names."""
    place = RUNS[name][0]
    shutil.copytree(data / place, folder / place)
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    here = folder / place
    if name == "arm":
        shutil.copy(here / "ref" / "arm26_InverseKinematics.mot", here)
    if name == "leg":
        shutil.copytree(here / "ref" / "RRA", here / "RRA")
        loads = here / "leg69_right_grf.xml"
        loads.write_text(loads.read_text().replace("..\\", ""))
    return here


def changes(results: Path, muscles: set[str], start: float) -> float:
    """Of all excitations from node to node, added up."""
    controls = [one for one in read_controls(Path(f"{results}_controls.xml")) if one.name in muscles]
    return sum(float(np.abs(np.diff(one.value[one.time >= start - 1e-9])).sum()) for one in controls)


def forces(results: Path, names: list[str], time_of: np.ndarray) -> np.ndarray:
    table = read_storage(f"{results}_Actuation_force.sto")
    return np.array([np.interp(time_of, table.time, table.column(name)) for name in names])


def compare(name: str, data: Path, made: Path) -> None:
    _, setup, where, tool = RUNS[name]
    theirs, ours = (prepared(data, made / side, name) for side in ("theirs", "ours"))
    answer = made / "seconds.json"
    command = [sys.executable, "-c", _PEER, str(theirs / setup), str(answer)]
    subprocess.run(command, check=True, capture_output=True)
    peer = json.loads(answer.read_text())
    least = {}
    for exact in (False, True):
        seconds = []
        for _ in range(3):
            begin = time.process_time()
            run_setup(ours / setup, exact=exact, output=made / ("exact" if exact else "windows"))
            seconds.append(time.process_time() - begin)
        least[exact] = min(seconds)
    model = read_osim(ours / MODELS[name])
    found = [theirs / where / tool, made / "windows" / tool, made / "exact" / tool]
    table = read_storage(f"{found[1]}_Actuation_force.sto")
    start = float(table.time[0])
    grid = np.arange(start + 0.005, float(table.time[-1]) - 0.01, GRID)
    other, mine = (forces(one, list(model.muscle_names), grid) for one in found[:2])
    apart = float(np.sqrt(((mine - other) ** 2).sum() / (other**2).sum()))
    errors = [float(np.abs(read_storage(f"{one}_pErr.sto").values[1:]).max()) for one in found[:2]]
    moved = [changes(one, set(model.muscle_names), start) for one in found]
    print(
        f"{name}: OpenSim {peer:.1f} s, musculo {least[False]:.2f} s ({peer / least[False]:.0f}x), "
        f"exact {least[True]:.2f} s; forces of muscles {apart:.3f} apart; "
        f"largest errors {errors[0]:.4f} and {errors[1]:.4f}; "
        f"excitations change by {moved[0]:.3g}, {moved[1]:.3g}, exact {moved[2]:.3g}"
    )


def main() -> None:
    data = data_folder()
    if data is None:
        sys.exit("no data folder; set MUSCULO_DATA")
    for name in sys.argv[1:] or RUNS:
        with tempfile.TemporaryDirectory() as made:
            compare(name, data, Path(made))


if __name__ == "__main__":
    main()
