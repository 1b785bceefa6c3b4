"""Frames a second of all lengths and moment arms on a CUDA device, in float64, resident and with transfers.

python benchmarks/gpu_paths.py --export FILE.npz   write compiled models and poses, so that a bare machine needs no data
python benchmarks/gpu_paths.py --from FILE.npz     run on what was written
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import namedtuple
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

MODELS = {
    "Rajagopal": "rajagopal_walk/subject_walk_scaled.osim",
    "gait2392": "gait2392/subject01_simbody.osim",
    "MoBL-ARMS": "mobl_arms/MoBL_ARMS.osim",
}
POSES = 4096
# Moment arms of so many poses are kept to compare with.
SOME = 256


def export(path: str) -> None:
    """Write trees, paths, random poses and the CPU's answers as plain arrays."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from musculo import embedding_of, muscle_geometry, read_osim
    from musculo.compile.compiled import compiled
    from musculo.muscle.paths.compile_paths import compiled_paths
    from trees import data_folder

    folder = data_folder()
    if folder is None:
        raise SystemExit("the models are in ../shared/data, which is not here")
    arrays = {}
    for name, file in MODELS.items():
        model = read_osim(folder / file)
        c, p, e = compiled(model), compiled_paths(model, True), embedding_of(model)
        q_0 = e.default_pose()
        low, high = np.array([x.range for x in model.coordinates]).T
        q = q_0 + 0.5 * (np.random.default_rng(0).uniform(low, high, (POSES, len(q_0))) - q_0)
        arrays[f"{name}|motion|q"] = e.coordinates(e.independent(q))
        for method in ("geodesic", "opensim"):
            g = muscle_geometry(model, arrays[f"{name}|motion|q"], wrapping=method)
            arrays[f"{name}|{method}|length"], arrays[f"{name}|{method}|moment_arm"] = g.length, g.moment_arm[:SOME]
        for group, named in (("tree", c.tree), ("functions", c.table), ("paths", p.paths), ("table", p.table)):
            arrays |= {f"{name}|{group}|{field}": value for field, value in named._asdict().items()}
    np.savez_compressed(path, **arrays)


def load(path: str) -> dict[str, tuple]:
    """Read what `export` wrote: name -> (tree, functions, paths, table, q, answers)."""
    from musculo.kernels.paths.path_points import Paths
    from musculo.kernels.tree.nodes import Tree

    parts: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    with np.load(path) as file:
        for key in file.files:
            name, group, field = key.split("|")
            parts.setdefault(name, {}).setdefault(group, {})[field] = file[key]
    found = {}
    for name, g in parts.items():
        functions, table = (namedtuple("FunctionTable", g[x])(**g[x]) for x in ("functions", "table"))
        found[name] = (Tree(**g["tree"]), functions, Paths(**g["paths"]), table, g["motion"]["q"], g)
    return found


def measure(name: str, case: tuple, lanes: int, methods: list[bool]) -> None:
    """Print the rates of one model and how far its numbers are from the CPU's."""
    from numba import cuda

    from musculo.kernels.cuda.cuda_paths import PathsFound, path_kernels, path_workspaces, paths_on_gpu
    from musculo.kernels.cuda.cuda_tables import table_on_device

    tree, functions, paths, table, q, answers = case
    n, n_u = paths.first_point.size - 1, tree.u_rows.size
    for literal in methods:
        what = f"{name}, {'opensim' if literal else 'geodesic'}"
        start = time.perf_counter()
        length, _, arms = paths_on_gpu(tree, functions, paths, table, q, literal)
        print(f"{what}: first call {time.perf_counter() - start:.1f} s, compile included")
        cpu = answers["opensim" if literal else "geodesic"]
        off, off_arms = np.abs(length - cpu["length"]).max(axis=1), np.abs(arms[:SOME] - cpu["moment_arm"])
        print(f"{what}: GPU against CPU: median {np.median(off):.1e} m, largest {off.max():.1e} m in length,")
        print(f"    {off_arms.max():.1e} m in moment arms;", end=" ")
        print(f"{(off > 1e-9).mean():.2%} of the poses differ by more than 1e-9 m")
        Q = np.tile(q, (-(-lanes // len(q)), 1))[:lanes]
        start = time.perf_counter()
        paths_on_gpu(tree, functions, paths, table, Q, literal)
        print(f"{what}: with transfers {lanes / (time.perf_counter() - start):.0f} frames a second")
        tables = [table_on_device(x) for x in (tree, functions, paths, table)]
        given, run = [x.words for x in tables], path_kernels(tree, functions, paths, literal)
        work = [cuda.device_array((rows, lanes), dtype=t) for rows, t in path_workspaces(tree, paths, literal)]
        Q_d = cuda.to_device(np.ascontiguousarray(Q.T))
        out = PathsFound(*(cuda.device_array((rows, lanes)) for rows in (n, n, n * n_u)))
        for threads in (32, 64, 128):
            times = []
            for _ in range(4):
                begin, end = cuda.event(), cuda.event()
                begin.record()
                run.launch(((lanes + threads - 1) // threads, threads), given, literal, Q_d, work, out)
                end.record()
                end.synchronize()
                times.append(cuda.event_elapsed_time(begin, end) / 1e3)
            rate = lanes / np.median(times[1:])
            print(f"{what}: resident {rate:.0f} frames a second ({threads} threads a block), {n} paths, {n_u} speeds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--lanes", type=int, default=1 << 16)
    parser.add_argument("--model", choices=MODELS, help="one model alone")
    parser.add_argument("--wrapping", choices=("geodesic", "opensim"), help="one method alone")
    options = parser.parse_args()
    if options.export:
        export(options.export)
        return
    if not options.source:
        raise SystemExit(__doc__)
    methods = [m == "opensim" for m in ("geodesic", "opensim") if options.wrapping in (None, m)]
    for name, case in load(options.source).items():
        if options.model in (None, name):
            measure(name, case, options.lanes, methods)


if __name__ == "__main__":
    main()
