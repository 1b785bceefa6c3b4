"""Monte Carlo of one stride of Rajagopal's model on a CUDA device, from markers to joint loads: frames a second of each
step beside the CPU, and how far both are apart.

python benchmarks/gpu_uncertainty.py                               files of the data folder
python benchmarks/gpu_uncertainty.py --export .gpu_carry/walk      copy these files, for a bare machine
python benchmarks/gpu_uncertainty.py --from .gpu_carry/walk        run on them
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np

if not hasattr(np, "row_stack"):  # some releases of numba-cuda look for it
    np.vstack = np.vstack

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import musculo
from musculo.analyses.uncertainty import sampling
from musculo.analyses.uncertainty.inputs import Step
from musculo.analyses.uncertainty.sample_chain import ChainOptions, SampleChain
from musculo.analyses.uncertainty.sampling import SampleStore, draw, run_samples
from musculo.analyses.uncertainty.spread import spread_of
from uncertainty import FILES, INPUTS, MANY, steps, trial

# Samples of which CPU and GPU are compared.
COMPARED = 64


def agreement(chain: SampleChain) -> None:
    """Print how far CPU and GPU are apart, of the largest number of each output."""
    from musculo.analyses.uncertainty.chain_on_gpu import GpuChain

    changes = [draw(INPUTS, chain.varied, 1, k) for k in range(COMPARED)]
    nominal = chain.nominal(tuple(chain.run(changes[0]).arrays))
    stores = [SampleStore(COMPARED, nominal) for _ in range(2)]
    run_samples(lambda k: chain.run(changes[k]), stores[0], COMPARED, None, None)
    begin = time.perf_counter()
    gpu = GpuChain(chain, changes)
    gpu.run(stores[1])
    print(f"first batch on the GPU: {time.perf_counter() - begin:.1f} s, compiling included")
    print(f"failed frames of {COMPARED} samples by step: CPU {stores[0].failed.sum(axis=0).tolist()}, ", end="")
    print(f"GPU {stores[1].failed.sum(axis=0).tolist()}; finished by the CPU: {gpu.finished_on_cpu}")
    for name, at in stores[0].columns.items():
        cpu, device = (store.values[:, :, at] for store in stores)
        both = np.isfinite(cpu) & np.isfinite(device)
        off = np.where(both, np.abs(cpu - device), 0.0)
        largest = np.abs(cpu[both]).max()
        one_only = int((np.isfinite(cpu) != np.isfinite(device)).sum())
        middle = np.median(off.max(axis=(1, 2))) / largest
        print(f"  {name:18s} off by {off.max():.2e} of {largest:.4g}, {off.max() / largest:.1e} of it;", end=" ")
        print(f"median of samples {middle:.1e}; known to one only: {one_only}")


def many(chain: SampleChain, samples: int, batch: int, each: dict[str, float]) -> None:
    """Print what a whole Monte Carlo takes, with draws and percentiles."""
    from musculo.analyses.uncertainty.chain_on_gpu import GpuChain

    sampling._IN_MEMORY = 1 << 40
    spent: dict[str, float] = {}
    begin = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal begin
        spent[name], begin = time.perf_counter() - begin, time.perf_counter()

    changes = [draw(INPUTS, chain.varied, 0, k) for k in range(samples)]
    lap("draws")
    nominal = chain.nominal(tuple(chain.run(changes[0]).arrays))
    store = SampleStore(samples, nominal)
    lap("room for results")
    gpu = GpuChain(chain, changes, batch)
    lap("data of all samples")
    gpu.run(store)
    lap("markers to joint loads")
    spread = spread_of(store.values, (5.0, 25.0, 50.0, 75.0, 95.0), len(INPUTS))
    lap("percentiles and shares")
    frames = samples * len(chain.time)
    print(f"{samples} samples of {len(chain.time)} frames, {gpu.batch} at once, {8 * gpu.rows} bytes a frame:")
    for name, seconds in gpu.seconds.items():
        rate, beside = frames / max(seconds, 1e-9), ""
        if name in each:
            beside = f"; one CPU core {1.0 / each[name]:.0f}: {rate * each[name]:.0f} times"
        print(f"  {name:28s} {seconds:7.2f} s, {rate:11.0f} frames a second{beside}")
    device = sum(gpu.seconds.values())
    print(f"  {'all on the device':28s} {device:7.2f} s, {frames / device:11.0f} frames a second")
    for name, seconds in spent.items():
        print(f"  {name:28s} {seconds:7.2f} s")
    print(f"the whole Monte Carlo: {sum(spent.values()):.1f} s; finished by the CPU: {gpu.finished_on_cpu}")
    knee = store.columns["joint_force_size"].start + 2
    k = int(np.nanargmax(spread.percentiles[2, :, knee]))
    print(f"right knee at its peak, 5, 50, 95 %: {spread.percentiles[::2, k, knee].round(1).tolist()} N")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--samples", type=int, default=MANY)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--like-opensim", action="store_true", help="OpenSim's muscle paths, too")
    options = parser.parse_args()
    folder = Path(options.source) if options.source else None
    if folder is None:
        from trees import data_folder

        found = data_folder()
        if found is None:
            sys.exit("no data folder; set MUSCULO_DATA, or give --from a folder that --export wrote")
        folder = found / "rajagopal_walk"
    if options.export:
        target = Path(options.export)
        target.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copy(folder / name, target / name)
        print(f"copied {len(FILES)} files to {target}")
        return
    warnings.simplefilter("ignore", musculo.MusculoWarning)
    for wrapping in ("geodesic", "opensim") if options.like_opensim else ("geodesic",):
        chain = SampleChain(*trial(folder), ChainOptions(wrapping=wrapping), Step.LOADS)
        print(f"--- {chain.model.name}, {wrapping} paths")
        agreement(chain)
        each = steps(chain)
        many(chain, options.samples, options.batch, each)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
