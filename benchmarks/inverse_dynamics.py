"""Inverse dynamics of a recorded walk with its ground reactions against OpenSim's tool, one thread, same run.

python benchmarks/inverse_dynamics.py      needs the extra `oracles` and the data folder

OpenSim's time a frame is the difference of the quickest runs over more and fewer frames, so that what it does once is
left out.
Ours is a call of `inverse_dynamics` with the loads at the frames, and the same with the splines of coordinates and
loads evaluated first, which OpenSim does frame by frame, too.
"""

from __future__ import annotations

import os

# One thread, also in the linear algebra that numpy calls.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo import ExternalLoad, inverse_dynamics, motion_of, read_external_loads, read_osim, read_storage
from musculo.signals import NaturalSpline
from timing import Timing, report, time_of
from trees import data_folder

PLACE, MODEL, LOADS = "rajagopal_walk", "subject_walk_scaled.osim", "oracle_extloads.xml"
SPANS = ((0.5, 0.52), (0.5, 2.5))  # [s] fewer and more frames in OpenSim
PEER_RUNS, REPEATS = 12, 40
GOAL = "10x"


@contextmanager
def quiet() -> Iterator[None]:
    """OpenSim prints the model at every run, past Python."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def peer(folder: Path) -> Timing:
    """OpenSim's own tool, seconds a frame."""
    import opensim

    opensim.Logger.setLevelString("off")
    took, rows = np.zeros((PEER_RUNS, len(SPANS))), np.zeros(len(SPANS))
    for run in range(PEER_RUNS):
        for k, span in enumerate(SPANS):
            with tempfile.TemporaryDirectory() as made:
                tool = opensim.InverseDynamicsTool(str(folder / PLACE / "oracle_setup_id.xml"))
                tool.setModelFileName(str(folder / PLACE / MODEL))
                tool.setCoordinatesFileName(str(folder / "oracle" / PLACE / "ik.mot"))
                tool.setExternalLoadsFileName(str(folder / PLACE / LOADS))
                tool.setResultsDir(made)
                tool.setOutputGenForceFileName("id.sto")
                tool.setStartTime(span[0])
                tool.setEndTime(span[1])
                begin = time.process_time()
                with quiet():
                    assert tool.run()
                took[run, k] = time.process_time() - begin
                rows[k] = len(read_storage(Path(made) / "id.sto"))
    # what is done once takes a hundred times as long as all frames: its noise is left out by the quickest runs
    fewer, more = took.min(axis=0)
    seconds = (more - fewer) / (rows[1] - rows[0])
    return Timing(seconds, float(np.median(took[:, 1]) - more) / (rows[1] - rows[0]) / seconds)


def main() -> None:
    folder = data_folder()
    if folder is None:
        sys.exit("no data folder; set MUSCULO_DATA")
    model = read_osim(folder / PLACE / MODEL)
    table = read_storage(folder / "oracle" / PLACE / "ik.mot")
    motion, loads = motion_of(model, table), read_external_loads(folder / PLACE / LOADS)
    theirs = peer(folder)
    time_, q, u, udot = (np.concatenate([x] * REPEATS) for x in (motion.time, motion.q, motion.u, motion.udot))
    given = [ExternalLoad(*series) for series in loads.at(time_)]
    report(
        "motion and loads given",
        time_of(lambda: inverse_dynamics(model, q, u, udot, given, threads=1), len(q)),
        "OpenSim",
        theirs,
        GOAL,
    )
    spline = NaturalSpline(motion.time, motion.q)

    def with_splines() -> None:
        q, u, udot = (spline(time_, order) for order in range(3))
        inverse_dynamics(model, q, u, udot, [ExternalLoad(*series) for series in loads.at(time_)], threads=1)

    report("splines evaluated, too", time_of(with_splines, len(time_)), "OpenSim", theirs, GOAL)


if __name__ == "__main__":
    main()
