"""What checking inverse dynamics by absolute coordinates costs, beside the inverse dynamics tool; CPU time, same run.

    python benchmarks/two_formulations.py      needs the data folder

Rajagopal's walk with ground reactions. The tool reads its files, filters, computes and writes; the check makes the
mechanism and computes all loads of all joints by both formulations. Compiling is left out on both sides.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import musculo
from musculo import absolute
from musculo.cli.commands.step_flags import MotionFlags
from musculo.cli.flag_tasks import inverse_dynamics_task
from musculo.opensim_tools.setup_runner import run_setup
from trees import data_folder

REPEATS = 7


def main() -> None:
    warnings.simplefilter("ignore")
    folder = data_folder() / "rajagopal_walk"
    model_file, motion, loads = (
        folder / name for name in ("subject_walk_scaled.osim", "coordinates.sto", "grf_walk.xml")
    )
    tool, check, agree = [], [], None
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as out:
            start = time.process_time()
            run_setup(
                inverse_dynamics_task(MotionFlags(model_file, motion, loads, lowpass="6")), exact=True, output=Path(out)
            )
            tool.append(time.process_time() - start)
        model = musculo.read_osim(model_file)
        m = musculo.motion_of(model, musculo.read_storage(motion), 6.0)
        acting = musculo.read_external_loads(loads).at(m.time)
        start = time.process_time()
        agree = absolute.agreement(model, m.q, m.u, m.udot, acting, threads=1)
        check.append(time.process_time() - start)
    a, b = float(np.median(tool)), float(np.median(check))
    print(f"inverse dynamics tool with its files   {1e3 * a:8.1f} ms")
    print(f"check, mechanism included              {1e3 * b:8.1f} ms   {b / a:.2f} of the tool (goal: below 1)")
    print(agree)


if __name__ == "__main__":
    main()
