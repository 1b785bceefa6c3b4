"""Muscle equilibria a second on a CUDA device, in float64, resident and with transfers, and how far from the CPU.

python benchmarks/gpu_muscles.py                                      models of the data folder
python benchmarks/gpu_muscles.py --export .gpu_carry/muscles.npz      write the compiled muscles for a bare machine
python benchmarks/gpu_muscles.py --from .gpu_carry/muscles.npz        run on what was written
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

MODELS = {
    "Rajagopal2016, Millard": "rajagopal_walk/subject_walk_scaled.osim",
    "gait2392, Thelen": "gait2392/subject01_simbody.osim",
    "gait10dof18musc, De Groote-Fregly": "gait10dof18musc/subject01_DGF.osim",
    "MoBL-ARMS, Schutte": "mobl_arms/MoBL_ARMS.osim",
}
# Frames compared with the CPU; more are made of these by repetition.
FRAMES = 2048


def cases() -> dict[str, dict[str, np.ndarray]]:
    """Compiled muscles and random states of each model: name -> arrays."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from musculo import read_osim
    from musculo.muscle.fibers.compile_muscles import compiled_muscles
    from trees import data_folder

    folder = data_folder()
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, file in MODELS.items() if folder is not None else ():
        model = read_osim(folder / file)
        c = compiled_muscles(model)
        rng = np.random.default_rng(0)
        slack, optimal = (
            np.array([getattr(m, key) for m in model.muscles])
            for key in ("tendon_slack_length", "optimal_fiber_length")
        )
        shape = (FRAMES, len(slack))
        found[name] = {
            **{f"table.{key}": array for key, array in c.muscles._asdict().items()},
            "curves": c.curves,
            # fibres from half to one and a half of their optimal length, at up to three lengths a second
            "length": slack * rng.uniform(1.0, 1.03, shape) + optimal * rng.uniform(0.5, 1.5, shape),
            "speed": optimal * rng.uniform(-3.0, 3.0, shape),
            "activation": rng.uniform(0.01, 1.0, shape),
        }
    return found


def export(path: str) -> None:
    """Write the cases as plain arrays."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    arrays = {f"{name}|{key}": value for name, case in cases().items() for key, value in case.items()}
    np.savez_compressed(path, **arrays)
    print(f"wrote {len(arrays)} arrays to {path}")


def load(path: str) -> dict[str, dict[str, np.ndarray]]:
    """Read what `export` wrote."""
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path) as file:
        for entry in file.files:
            name, key = entry.split("|")
            found.setdefault(name, {})[key] = file[entry]
    return found


def differences(name: str, m, curves, states, opensim: bool) -> np.ndarray:
    """Print how far the GPU's answers are from the CPU's; returns the GPU's."""
    from musculo.kernels.cuda.cuda_muscles import equilibrium_on_gpu
    from musculo.kernels.hill import muscle_table as table
    from musculo.kernels.hill.hill_frames import MuscleFrames, equilibrium_packs, opensim_equilibrium_packs
    from musculo.kernels.tree.tree_frames import over_frames

    cpu = np.empty((table.OUTPUTS, *states[0].shape))
    run = opensim_equilibrium_packs if opensim else equilibrium_packs
    start = time.perf_counter()
    over_frames(run, (m, curves, MuscleFrames(*states), False, cpu), len(states[0]), None)
    compiled = time.perf_counter()
    gpu = equilibrium_on_gpu(m, curves, *states, False, opensim)
    print(f"{name}: first call CPU {compiled - start:.1f} s, GPU {time.perf_counter() - compiled:.1f} s, compiling")
    force = np.maximum(m.max_force, cpu[table.TENDON_FORCE])
    different = int((gpu[table.STATUS] != cpu[table.STATUS]).sum())
    rows = {"tendon force": table.TENDON_FORCE, "active fibre force": table.ACTIVE_FORCE}
    for what, row in rows.items():
        error = np.nanmax(np.abs(gpu[row] - cpu[row]) / force)
        print(f"{name}: {what}, GPU against CPU {error:.1e} of the maximum isometric force")
    length = np.nanmax(np.abs(gpu[table.FIBER_LENGTH] - cpu[table.FIBER_LENGTH]) / m.optimal_length)
    print(f"{name}: fibre length, {length:.1e} of the optimal; statuses that differ: {different} of {cpu[0].size}")
    print(f"{name}: not finite on the GPU: {int((~np.isfinite(gpu)).sum())}")
    return gpu


def measure(name: str, case: dict[str, np.ndarray], states: int, opensim: bool) -> None:
    """Print the rates of one model."""
    from numba import cuda

    from musculo.kernels.cuda.cuda_muscles import equilibrium_grid, equilibrium_launcher, equilibrium_on_gpu
    from musculo.kernels.cuda.cuda_tables import layout_of, table_on_device
    from musculo.kernels.hill import muscle_table as table

    m = table.MuscleTable(*(np.ascontiguousarray(case[f"table.{key}"]) for key in table.MuscleTable._fields))
    curves = np.ascontiguousarray(case["curves"])
    given = [np.ascontiguousarray(case[key]) for key in ("length", "speed", "activation")]
    n = len(m.kind)
    differences(name, m, curves, given, opensim)
    lanes = max(1, states // n)
    many = [np.ascontiguousarray(np.tile(x, (-(-lanes // len(x)), 1))[:lanes]) for x in given]
    start = time.perf_counter()
    equilibrium_on_gpu(m, curves, *many, False, opensim)
    elapsed = time.perf_counter() - start
    print(f"{name}: with transfers {lanes * n / elapsed / 1e6:.1f} million states a second")
    turned = [cuda.to_device(np.ascontiguousarray(x.T)) for x in many]
    on_device = table_on_device(m)
    arguments = (on_device.words, cuda.to_device(curves), *turned, False, opensim)
    out = cuda.device_array((table.OUTPUTS * n, lanes))
    launch, times = equilibrium_launcher(opensim, layout_of(m)), []
    for _ in range(12):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        launch[equilibrium_grid(n, lanes)](*arguments, out)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end) / 1e3)
    middle = float(np.median(times[2:]))
    spread = (max(times[2:]) - min(times[2:])) / middle
    print(f"{name}: resident {lanes * n / middle / 1e6:.0f} million states a second (spread {spread:.0%})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--states", type=int, default=1 << 23)
    options = parser.parse_args()
    if options.export:
        export(options.export)
        return
    found = load(options.source) if options.source else cases()
    if not found:
        print("skipped, the data folder is not there; give --from a file that --export wrote")
    for name, case in found.items():
        for opensim in (False, True):
            measure(f"{name}, {'as OpenSim' if opensim else 'exact'}", case, options.states, opensim)


if __name__ == "__main__":
    main()
