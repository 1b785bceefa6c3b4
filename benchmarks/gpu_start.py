"""What a first call on a GPU costs, and inverse dynamics with transfers and resident; all beside the CPU's numbers.

python benchmarks/gpu_start.py --export FILE.npz      write models, motions and the CPU's answers for a bare machine
python benchmarks/gpu_start.py --from FILE.npz        measure on a CUDA device: one call, some minutes, nothing else
python benchmarks/gpu_start.py --compile FILE.npz     no device: compile the path kernels for sm_90, in CPU seconds

`--from` starts processes of its own on an empty cache: a first call of muscle geometry, the same in a second process,
that of the other wrapping, and inverse dynamics. `benchmarks/gpu.py` times kernels alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda looks for it; NumPy 2.5 dropped the name
    np.row_stack = np.vstack  # noqa: NPY201

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

POSES, FRAMES = 1024, 1 << 22
# Seconds after which a process is stopped, so that all of them end within eight minutes.
LIMIT = 110


def export(path: str) -> None:
    """Write the 37-dof tree and Rajagopal's paths as plain arrays."""
    from gpu_paths import MODELS
    from gpu_paths import export as export_paths
    from musculo import inverse_dynamics
    from musculo.compile.compiled import compiled
    from trees import humanoid, random_motion

    model = humanoid()
    c, (q, u, udot) = compiled(model), random_motion(model, 4096)
    arrays = {f"tree|{name}": value for name, value in c.tree._asdict().items()}
    arrays |= {f"table|{name}": value for name, value in c.table._asdict().items()}
    arrays |= {"q": q, "u": u, "udot": udot, "tau": inverse_dynamics(model, q, u, udot)}
    np.savez_compressed(path, **arrays)
    for name in list(MODELS)[1:]:
        del MODELS[name]
    export_paths(_paths_file(path))


def _paths_file(path: str) -> str:
    return str(Path(path).with_suffix("")) + "_paths.npz"


def geometry(path: str, literal: bool) -> None:
    """Print how long the first call takes, and how far its numbers are from the CPU's."""
    from gpu_paths import load

    start = time.perf_counter()
    from musculo.kernels.cuda.cuda_paths import paths_on_gpu

    tree, functions, paths, table, q, answers = load(_paths_file(path))["Rajagopal"]
    length, _, arms = paths_on_gpu(tree, functions, paths, table, q[:POSES], literal)
    took = time.perf_counter() - start
    cpu = answers["opensim" if literal else "geodesic"]
    off = np.abs(length - cpu["length"][:POSES])
    arm = np.abs(arms[: len(cpu["moment_arm"])] - cpu["moment_arm"]).max()
    print(f"{took:.1f} s; {(off > 1e-9).mean():.2%} of lengths are off by over 1e-9 m, median {np.median(off):.0e} m,")
    print(f"    largest difference of a moment arm {arm:.0e} m")


def dynamics(path: str) -> None:
    """Print the rates of inverse dynamics: with transfers, from arrays on the device to one there, and resident."""
    from collections import namedtuple

    from numba import cuda

    from musculo.kernels.cuda.cuda_dynamics import rnea_on_gpu
    from musculo.kernels.tree.nodes import Tree
    from musculo.kernels.tree.tree_frames import LoadFrames, MotionFrames

    with np.load(path) as file:
        fields = {key: file[key] for key in file.files}
    tree = Tree(**{k.removeprefix("tree|"): v for k, v in fields.items() if k.startswith("tree|")})
    columns = {k.removeprefix("table|"): v for k, v in fields.items() if k.startswith("table|")}
    table = namedtuple("FunctionTable", columns)(**columns)
    q, u, udot, cpu = (fields[k] for k in ("q", "u", "udot", "tau"))
    unloaded = LoadFrames(np.zeros((0, 6)), False)
    start = time.perf_counter()
    gpu = rnea_on_gpu(tree, table, MotionFrames(q, u, udot), unloaded)
    print(
        f"inverse dynamics: first call {time.perf_counter() - start:.1f} s; {_off(gpu, cpu):.0e} from the CPU, relative"
    )
    many = MotionFrames(*(np.tile(x, (FRAMES // len(x), 1)) for x in (q, u, udot)))
    rnea_on_gpu(tree, table, many, unloaded)  # pinned buffers are made once
    times = []
    for _ in range(5):
        start = time.perf_counter()
        gpu = rnea_on_gpu(tree, table, many, unloaded)
        times.append(time.perf_counter() - start)
    _say("with transfers", times, 8 * FRAMES * (3 * 37 + 37))
    print(f"    last batch {_off(gpu[-len(q) :], cpu):.0e} from the CPU, relative")
    locked = MotionFrames(*(cuda.pinned_array(x.shape) for x in many))
    for x, y in zip(locked, many, strict=True):
        np.copyto(x, y)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        gpu = rnea_on_gpu(tree, table, locked, unloaded)
        times.append(time.perf_counter() - start)
    _say("with transfers, from page-locked arrays", times, 8 * FRAMES * (3 * 37 + 37))
    print(f"    {_off(gpu[-len(q) :], cpu):.0e} from the CPU, relative")
    there = MotionFrames(*(cuda.to_device(x) for x in many))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        result = rnea_on_gpu(tree, table, there, unloaded, stays=True)
        times.append(time.perf_counter() - start)
    _say("arrays that stay on the device", times, 0)
    print(f"    {_off(result[-len(q) :].copy_to_host(), cpu):.0e} from the CPU, relative")


def _off(gpu: np.ndarray, cpu: np.ndarray) -> float:
    return float(np.abs(gpu - cpu).max() / np.abs(cpu).max())


def _say(what: str, times: list[float], moved: int) -> None:
    middle = float(np.median(times))
    spread = (max(times) - min(times)) / middle
    print(
        f"inverse dynamics, {what}: {FRAMES / middle / 1e6:.1f} million frames a second (spread {spread:.0%})", end=""
    )
    print(f", {moved / middle / 1e9:.1f} GB/s over the bus" if moved else "")


def compile_alone(path: str) -> None:
    """Compile the path kernels for a device that is not there; print CPU seconds of each step."""
    import numba.cuda.dispatcher as dispatcher
    from numba import cuda

    from gpu_paths import load
    from musculo.kernels.cuda import cuda_code as code
    from musculo.kernels.cuda import cuda_device as device
    from musculo.kernels.cuda.cuda_tables import layout_of

    class Device:
        compute_capability = (9, 0)

    # device functions ask for it
    dispatcher.get_current_device = lambda: Device
    device.cuda_module = code.cuda_module = lambda: cuda
    from musculo.kernels.cuda.cuda_paths import path_recipes

    tree, functions, paths, *_ = load(_paths_file(path))["Rajagopal"]
    layouts = layout_of(tree), layout_of(functions), layout_of(paths)
    for literal in (False, True):
        for recipe in path_recipes(*layouts, literal):
            (name, *_), signature = recipe.arguments, recipe.types
            kernel = recipe.maker(*recipe.arguments)
            start = time.process_time()
            library = code.lowered(kernel.py_func, signature, (9, 0, "a"), kernel._cache.limits)
            lowered = time.process_time()
            (ptx,) = library.get_asm_strs(cc=(9, 0, "a"))
            made = time.process_time()
            cubin = code._assembled(library, (9, 0, "a"), kernel._cache.limits)
            end = time.process_time()
            steps = f"typing and lowering {lowered - start:.1f}, NVVM {made - lowered:.1f}, assembler {end - made:.1f}"
            sizes = f"{len(ptx) / 1e6:.1f} MB of PTX, {len(cubin) / 1e6:.1f} MB of machine code"
            print(f"{'opensim' if literal else 'geodesic'}, {name}: {end - start:.1f} CPU seconds ({steps}); {sizes}")


def measure(path: str) -> None:
    """All that a device is needed for, in processes of their own on an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"MUSCULO_CACHE_DIR": cache}
        for what in ("geodesic", "geodesic", "opensim", "dynamics"):
            start = time.perf_counter()
            command = [sys.executable, __file__, "--from", path, "--only", what]
            try:
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
                )
                said = done.stdout if done.returncode == 0 else done.stdout + done.stderr[-3000:]
                # a warning tells that Numba compiled by itself, which the figures would not
                said += "".join(line for line in done.stderr.splitlines(True) if "is compiled as Numba" in line)
            except subprocess.TimeoutExpired:
                said = f"stopped after {LIMIT} s\n"
            print(f"{what}, process of {time.perf_counter() - start:.1f} s: {said}", end="", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--compile")
    parser.add_argument("--only", choices=("geodesic", "opensim", "dynamics"), help="in this process")
    options = parser.parse_args()
    if options.export:
        export(options.export)
    elif options.compile:
        compile_alone(options.compile)
    elif not options.source:
        raise SystemExit(__doc__)
    elif options.only == "dynamics":
        dynamics(options.source)
    elif options.only:
        geometry(options.source, options.only == "opensim")
    else:
        measure(options.source)


if __name__ == "__main__":
    main()
