"""Monte Carlo of one stride of Rajagopal's model, 101 frames, from markers to joint loads: what each step takes.

python benchmarks/uncertainty.py                     500 samples, and what 10,000 take by that
python benchmarks/uncertainty.py --samples 10000     all of them

Needs the data folder.
"""

from __future__ import annotations

import os

# Samples run beside each other: linear algebra keeps to its thread.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import musculo
from musculo.analyses.uncertainty.inputs import Step
from musculo.analyses.uncertainty.sample_chain import ChainOptions, SampleChain
from musculo.analyses.uncertainty.sampling import draw
from musculo.muscle.path_loads.path_wrenches import path_wrenches
from trees import data_folder

FILES = ("subject_walk_scaled.osim", "markers_walk.trc", "grf_walk.xml", "grf_walk.mot")
FIRST, FRAMES = 50, 101
INPUTS = (
    musculo.MarkerPlacement(sd=0.005),
    musculo.SegmentMass(cv=0.05),
    musculo.MuscleParameter("max_isometric_force", cv=0.10),
)
MANY = 10_000
# Samples of which single steps are timed.
TIMED = 40


def trial(folder: Path) -> tuple:
    """Model, markers of the stride, and ground reactions."""
    model = musculo.read_osim(folder / FILES[0])
    markers = musculo.read_markers(folder / FILES[1])
    stride = markers.between(markers.time[FIRST], markers.time[FIRST + FRAMES - 1])
    return model, stride, musculo.read_external_loads(folder / FILES[2])


def steps(chain: SampleChain, count: int = TIMED) -> dict[str, float]:
    """CPU seconds a frame of each step, one thread."""
    spent: dict[str, float] = {}

    def timed(name, run, *arguments, **options):
        begin = time.process_time()
        found = run(*arguments, **options)
        spent[name] = spent.get(name, 0.0) + time.process_time() - begin
        return found

    wrapping = {"wrapping": chain.options.wrapping, "threads": 1}
    for k in range(-2, count):
        if k == 0:
            spent.clear()  # compiled and derived by now
        changes = draw(INPUTS, chain.varied, 0, abs(k))
        q, _ = timed("inverse kinematics", chain.poses, changes)
        motion = timed("filter and slopes", chain.motion, q)
        tau = timed("inverse dynamics", chain.moments, motion, changes)
        paths = timed("muscle geometry", path_wrenches, chain.model, motion.q, motion.u, **wrapping)
        _, force, _ = timed("static optimization", chain.activations, motion, tau, paths, changes)
        timed("joint loads", chain.joint_loads, motion, paths, force, changes)
    return {name: seconds / (count * len(chain.time)) for name, seconds in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    folder = data_folder()
    if folder is None:
        sys.exit("no data folder; set MUSCULO_DATA")
    warnings.simplefilter("ignore", musculo.MusculoWarning)
    model, stride, loads = trial(folder / "rajagopal_walk")
    each = steps(SampleChain(model, stride, loads, ChainOptions(), Step.LOADS))
    print(f"{model.name}: {len(stride)} frames, one thread, CPU time a frame:")
    for name, seconds in each.items():
        print(f"  {name:20s} {1e6 * seconds:7.1f} us, {1.0 / seconds:9.0f} frames a second")
    whole = sum(each.values())
    print(f"  {'all':20s} {1e6 * whole:7.1f} us, {1.0 / whole:9.0f} frames a second")
    wall, cpu = time.perf_counter(), time.process_time()
    found = musculo.uncertainty(model, stride, loads, INPUTS, samples=options.samples, threads=options.threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    threads = options.threads or os.cpu_count()
    print(f"{found}: {wall:.1f} s with {threads} threads, {cpu:.1f} s of CPU time")
    if options.samples < MANY:
        times = MANY / options.samples
        print(f"{MANY} samples would take {times * wall:.0f} s at that rate, {times * cpu:.0f} s of CPU time (not run)")
    for name in ("walker_knee_r_on_tibia_r_in_ground", "hip_r_on_femur_r_in_ground"):
        band, source = found.band(name, "joint_force_size"), found.sources("joint_force_size")[name]
        k = int(np.argmax(band.column("nominal")))
        low, high = band.column("p5")[k], band.column("p95")[k]
        print(f"{name}: peak {band.column('nominal')[k]:.0f} N, 5 to 95 %: {low:.0f} to {high:.0f} N; ", end="")
        print(", ".join(f"{one} {100 * part:.0f} %" for one, part in source.items()))


if __name__ == "__main__":
    main()
