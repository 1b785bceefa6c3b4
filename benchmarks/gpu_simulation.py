"""Muscle-driven simulations a second on a CUDA device, one a thread, beside those of a core of a CPU.

python benchmarks/gpu_simulation.py --export FILE    simulate a few on the CPU, and write them and the compiled models
python benchmarks/gpu_simulation.py --from FILE      thousands on the device; it needs kernels alone, no other package

The arm of six muscles (OpenSim's arm26) with polynomials for paths, with exact paths and with OpenSim's; the same
without muscles, a double pendulum; and a ball that bounces on the floor. Simulations differ in excitations, in starts,
and so in their steps. `resident`: starts and excitations go up, results stay; `with transfers`: states at all times
come back as NumPy arrays. The CPU's seconds are those of the processor for whole calls of `simulate_many`, after one to
warm up. Errors are between the two, each component over its largest value, which counts as one at least.
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

# So many different simulations are done on both sides.
COMPARED = 128
TIMES = np.linspace(0.0, 0.5, 26)
RTOL, ATOL = 1e-4, 1e-6
# By case: simulations on the device.
COUNTS = {"polynomials": 1 << 16, "polynomials, rkf45": 1 << 16, "exact paths": 1 << 15, "OpenSim's paths": 1 << 15,
          "double pendulum": 1 << 18, "bouncing ball": 1 << 16}  # fmt: skip


def export(path: str) -> None:
    """Simulate on the CPU, and write what the device needs."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from musculo import simulate_many
    from musculo.demo import arm
    from musculo.muscle import fit_paths
    from musculo.simulation import many_on_gpu
    from support.force_models import bouncing_ball

    model = arm()
    ranges = dict.fromkeys(model.coordinate_names, (-0.6, 2.2))
    fitted = fit_paths(model, ranges=ranges, tolerance=0.02).model
    pendulum = replace(model, forces=())
    random = np.random.default_rng(1)
    many_on_gpu.cuda_module = lambda: None  # there need not be a device here
    cases = {}
    for name, one, more in (
        ("polynomials", fitted, {}),
        ("polynomials, rkf45", fitted, {"method": "rkf45"}),
        ("exact paths", model, {}),
        ("OpenSim's paths", model, {"wrapping": "opensim"}),
        ("double pendulum", pendulum, {"method": "rkf45"}),
        ("bouncing ball", bouncing_ball("HuntCrossleyForce", None, 0.3, 0.5), {"method": "rkf45"}),
    ):
        low, high = (
            ((0.0, 0.4), (0.5, 1.2)) if one.name != "ball" else ((0.0,) * 4 + (0.3, 0.0), (0.2,) * 4 + (0.6, 0.2))
        )
        starts = random.uniform(low, high, (COMPARED, len(low)))
        levels = random.uniform(0.02, 0.3, (COMPARED, len(one.muscle_names)))
        given: Any = {"excitations": list(levels), "rtol": RTOL, "atol": ATOL, **more}
        simulate_many(one, starts[:2], None, TIMES, **{**given, "excitations": list(levels[:2])})
        begin = time.process_time()
        found = simulate_many(one, starts, None, TIMES, threads=1, **given)
        seconds = (time.process_time() - begin) / COMPARED
        seen: list[Any] = []

        def note(cases: Any, options: Any, *others: Any, seen: list[Any] = seen) -> Any:
            seen.append(many_on_gpu.Batch(cases, options))
            raise InterruptedError

        kept, many_on_gpu.simulate_on_gpu = many_on_gpu.simulate_on_gpu, note
        with contextlib.suppress(InterruptedError):
            simulate_many(one, starts, None, TIMES, device="gpu", **given)
        many_on_gpu.simulate_on_gpu = kept
        (batch,) = seen
        steps = found.n_steps.mean()
        print(f"{name}: {1.0 / seconds:.0f} simulated s a second of a core, {steps:.0f} steps each, {found!r}")
        cases[name] = (batch.given, found.q, found.n_steps, seconds)
    with open(path, "wb") as file:
        pickle.dump(cases, file)


def more_of(wanted: Any, count: int) -> Any:
    """So many simulations: those that are compared first, then the same starts under other excitations."""
    random = np.random.default_rng(2)
    first = np.asarray(wanted.first)[np.arange(count) % COMPARED]
    controls = list(wanted.controls)
    for k in range(len(controls), count):
        table = controls[k % COMPARED]
        controls.append(table._replace(data=table.data * random.uniform(0.5, 1.0)))
    longest = [wanted.longest[k % COMPARED] for k in range(count)]
    return wanted._replace(first=first, controls=controls, longest=longest)


def measure(name: str, case: Any, count: int) -> None:
    """One case on the device."""
    from musculo.kernels.cuda.cuda_simulation import LanesOfSimulations
    from musculo.kernels.integrate.whole_course import CALLS, FINISHED, STATUS, STEPS

    (systems, kinds, wanted), q, n_steps, cpu = case
    begin = time.perf_counter()
    few = LanesOfSimulations(systems, kinds, wanted)
    few.run(lambda *_: None)
    first_call = time.perf_counter() - begin
    begin = time.perf_counter()
    lanes = LanesOfSimulations(systems, kinds, more_of(wanted, count))
    at_once = lanes.lanes
    placing = time.perf_counter() - begin
    resident, whole = [], []
    for _ in range(3):
        begin = time.perf_counter()
        for k in range(0, count, at_once):
            lanes.step(k)
        resident.append(time.perf_counter() - begin)
        got: list[Any] = []
        begin = time.perf_counter()
        lanes.run(lambda first, states, counts, got=got: got.append((states, counts)))
        whole.append(time.perf_counter() - begin)
    states, counts = got[0]
    rate = [count * (TIMES[-1] - TIMES[0]) / min(times) for times in (resident, whole)]
    done = np.mean([(c[STATUS] == FINISHED).mean() for _, c in got])
    print(f"{name}: {count} simulations of {TIMES[-1]:g} s, {at_once} at once, {done:.2%} finished")
    print(
        f"    first call {first_call:.1f} s; placing {placing:.1f} s; a core of the CPU {1.0 / cpu:,.0f} simulated s/s"
    )
    for what, seconds, per_second in zip(("resident", "with transfers"), (resident, whole), rate, strict=True):
        print(f"    {what}: {min(seconds):.3f} s, {per_second:,.0f} simulated s/s, {per_second * cpu:,.0f} cores")
    steps, calls = counts[STEPS], counts[CALLS].mean()
    print(f"    {steps.mean():.0f} steps, at most {steps.max()}; {calls:.0f} right-hand sides, ", end="")
    print(f"{1e9 * min(resident) / (calls * count):.2f} ns each")
    ours = np.moveaxis(states[..., :COMPARED], 2, 0)[..., : q.shape[2]]
    off = np.abs(ours - q) / np.maximum(np.abs(q).max(axis=(0, 1)), 1.0)
    same = (counts[STEPS, :COMPARED] == n_steps).mean()
    print(f"    off the CPU's angles by {np.nanmedian(off.max(axis=(1, 2))):.0e} in the median simulation, ", end="")
    print(f"{np.nanmax(off):.0e} at most; as many steps in {same:.0%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--count", type=int, help="of simulations of each case, instead of the usual ones")
    options = parser.parse_args()
    if options.export:
        export(options.export)
    elif options.source:
        with open(options.source, "rb") as file:
            cases = pickle.load(file)  # of our own making
        for name, case in cases.items():
            measure(name, case, options.count or COUNTS[name])
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
