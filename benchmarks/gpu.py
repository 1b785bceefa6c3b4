"""Frames a second of the dynamics on a CUDA device, in float64, resident and with transfers.

python benchmarks/gpu.py                       37-dof tree; Rajagopal's model too where its file is found
python benchmarks/gpu.py --export FILE.npz     write the compiled models, so that a bare machine needs no reader
python benchmarks/gpu.py --from FILE.npz       run on what was written
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


def cases() -> dict[str, tuple]:
    """Compiled models and a random motion of each: name -> (tree, table, q, u, udot)."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from musculo import read_osim
    from musculo.compile.compiled import compiled
    from trees import data_folder, humanoid, random_motion

    models = {"37-dof tree": humanoid()}
    folder = data_folder()
    if folder is not None:
        models["Rajagopal"] = read_osim(folder / "rajagopal_walk" / "subject_walk_scaled.osim")
    found = {}
    for name, model in models.items():
        c = compiled(model)
        found[name] = (c.tree, c.table, *random_motion(model, 4096))
    return found


def export(path: str) -> None:
    """Write the cases as plain arrays."""
    arrays = {}
    for name, (tree, table, q, u, udot) in cases().items():
        for group, named in (("tree", tree), ("table", table)):
            arrays |= {f"{name}|{group}|{field}": value for field, value in named._asdict().items()}
        arrays |= {f"{name}|motion|{key}": value for key, value in (("q", q), ("u", u), ("udot", udot))}
    np.savez_compressed(path, **arrays)


def load(path: str) -> dict[str, tuple]:
    """Read what `export` wrote."""
    from collections import namedtuple

    from musculo.kernels.tree.nodes import Tree

    parts: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    with np.load(path) as file:
        for key in file.files:
            name, group, field = key.split("|")
            parts.setdefault(name, {}).setdefault(group, {})[field] = file[key]
    found = {}
    for name, groups in parts.items():
        table = namedtuple("FunctionTable", groups["table"])(**groups["table"])
        motion = groups["motion"]
        found[name] = (Tree(**groups["tree"]), table, motion["q"], motion["u"], motion["udot"])
    return found


def resident(what: str, launch, arguments: tuple, lanes: int) -> None:
    """Print the rate of a kernel whose arrays are on the device already."""
    from numba import cuda

    threads, times = 128, []
    for _ in range(12):
        begin, end = cuda.event(), cuda.event()
        begin.record()
        launch[(lanes + threads - 1) // threads, threads](*arguments)
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end) / 1e3)
    spread = (max(times[2:]) - min(times[2:])) / np.median(times[2:])
    print(f"{what}: resident {lanes / np.median(times[2:]) / 1e6:.0f} million frames a second (spread {spread:.0%})")


def measure(name: str, tree, table, q, u, udot, lanes: int) -> None:
    """Print the rates of one model and how far its numbers are from the CPU's."""
    from numba import cuda

    from musculo.kernels.cuda.cuda_dynamics import (
        Accelerations,
        GivenFrames,
        aba_on_gpu,
        crba_on_gpu,
        launcher,
        rnea_on_gpu,
    )
    from musculo.kernels.cuda.device_arrays import to_device
    from musculo.kernels.tree.aba import ARTICULATED_ROWS, SLOT_ROWS, ArticulatedSpace, aba
    from musculo.kernels.tree.crba import COMPOSITE_ROWS, crba
    from musculo.kernels.tree.nodes import Loads, Motion
    from musculo.kernels.tree.rnea import rnea
    from musculo.kernels.tree.tree_frames import (
        LoadFrames,
        MotionFrames,
        TorqueFrames,
        crba_frames,
        over_frames,
        rnea_frames,
        work_rows,
    )

    nothing = np.zeros((0, 6))
    n_u, rows, nodes = u.shape[1], work_rows.py_func(tree), tree.parent.size
    cpu, mass = np.empty_like(u), np.empty((len(q), n_u * n_u))
    motion, unloaded = MotionFrames(q, u, udot), LoadFrames(nothing, False)
    over_frames(rnea_frames, (tree, table, motion, unloaded, TorqueFrames(cpu, nothing)), len(q), None)
    over_frames(crba_frames, (tree, table, q, mass), len(q), None)
    start = time.perf_counter()
    gpu = rnea_on_gpu(tree, table, motion, unloaded)
    print(f"{name}: first call {time.perf_counter() - start:.1f} s, compile included")
    print(f"{name}: inverse dynamics, GPU against CPU {abs(gpu - cpu).max() / abs(cpu).max():.1e} relative")
    print(f"{name}: mass matrix, {abs(crba_on_gpu(tree, table, q) - mass).max() / abs(mass).max():.1e} relative")
    free = np.zeros(n_u, dtype=np.int64)
    again, _ = aba_on_gpu(tree, table, GivenFrames(q, u, cpu, np.zeros_like(u)), free, unloaded)
    print(f"{name}: forward dynamics of inverse dynamics, {abs(again - udot).max() / abs(udot).max():.1e} relative")
    repeat = -(-lanes // len(q))
    Q, U, A = (np.tile(x, (repeat, 1))[:lanes] for x in (q, u, udot))
    many = MotionFrames(Q, U, A)
    rnea_on_gpu(tree, table, many, unloaded)  # pinned buffers are made once
    start = time.perf_counter()
    rnea_on_gpu(tree, table, many, unloaded)
    elapsed = time.perf_counter() - start
    print(f"{name}: inverse dynamics with transfers {lanes / elapsed / 1e6:.1f} million frames a second")

    derivatives(name, tree, table, Q, U, A, q, u, udot)

    def lanes_of(n: int):
        return cuda.device_array((n, lanes))

    model = (to_device(tree), to_device(table))
    turned = [cuda.to_device(np.ascontiguousarray(x.T)) for x in (Q, U, A)]
    W, out = lanes_of(rows), lanes_of(2 * n_u)
    inverse = (*model, W, Motion(*turned), Loads(turned[0], False), out)
    resident(f"{name}: inverse dynamics", launcher(rnea), inverse, lanes)
    some = min(lanes, 1 << 17)
    short = [cuda.to_device(np.ascontiguousarray(x[:some].T)) for x in (Q, U, A)]
    del W
    W = cuda.device_array((rows, some))
    M, C = cuda.device_array((n_u * n_u, some)), cuda.device_array((COMPOSITE_ROWS * nodes, some))
    resident(f"{name}: mass matrix", launcher(crba), (*model, short[0], W, C, M), some)
    articulated = cuda.device_array((ARTICULATED_ROWS * nodes + SLOT_ROWS * n_u, some))
    accelerations, least = cuda.device_array((n_u, some)), cuda.device_array((1, some))
    space, found = ArticulatedSpace(W, articulated), Accelerations(accelerations, least)
    given, loads = Motion(short[0], short[1], short[2]), Loads(short[0], False)
    forward = (*model, space, given, short[2], cuda.to_device(free), loads, found)
    resident(f"{name}: forward dynamics", launcher(aba), forward, some)


def derivatives(name: str, tree, table, Q, U, A, q, u, udot) -> None:
    """Print the rate of derivatives of inverse dynamics, resident and with transfers, and how far they are off."""
    from numba import cuda

    from musculo.kernels.cuda.cuda_dynamics import slope_launcher, slopes_on_gpu
    from musculo.kernels.cuda.device_arrays import to_device
    from musculo.kernels.tree.derivatives.joint_slopes import own_slope_rows
    from musculo.kernels.tree.derivatives.torque_slope_frames import (
        SlopeFrames,
        general_joints,
        own_slope_frames,
        torque_slope_frames,
    )
    from musculo.kernels.tree.derivatives.torque_slopes import SlopeParts, slope_rows
    from musculo.kernels.tree.node_kinematics import MOTION_ROWS
    from musculo.kernels.tree.nodes import Loads, Motion
    from musculo.kernels.tree.tree_frames import over_frames, work_rows

    n_q, n_u, nothing = q.shape[1], u.shape[1], np.zeros((0, 6))
    widths = (n_u * n_q, n_u * n_u, n_u * n_u)
    few = min(256, len(q))
    cpu = SlopeFrames(q[:few], u[:few], udot[:few], nothing, *(np.zeros((few, n)) for n in widths))
    over_frames(torque_slope_frames, (tree, table, cpu, False), few, None)
    expected, gpu = np.hstack(cpu[4:]), slopes_on_gpu(tree, table, cpu, False)
    print(f"{name}: derivatives, GPU against CPU {abs(gpu - expected).max() / abs(expected).max():.1e} relative")
    lanes = min(len(Q), 1 << 16)
    short = SlopeFrames(*(x[:lanes] for x in (Q, U, A)), nothing, nothing, nothing, nothing)
    slopes_on_gpu(tree, table, short, False)
    start = time.perf_counter()
    slopes_on_gpu(tree, table, short, False)
    rate = lanes / (time.perf_counter() - start) / 1e6
    print(f"{name}: derivatives with transfers {rate:.2f} million frames a second")
    turned = [cuda.to_device(np.ascontiguousarray(x.T)) for x in short[:3]]
    own = turned[0]
    if general_joints.py_func(tree):
        rows = np.zeros((lanes, own_slope_rows.py_func(tree)))
        over_frames(own_slope_frames, (tree, table, short, rows), lanes)
        own = cuda.to_device(np.ascontiguousarray(rows.T))
    sizes = (work_rows.py_func(tree), MOTION_ROWS * tree.parent.size, 6 * n_u, slope_rows.py_func(tree), sum(widths))
    work = [cuda.device_array((rows, lanes)) for rows in sizes]
    W, nodes, columns, sums, out = work
    parts, loads = SlopeParts(nodes, columns, own, sums), Loads(turned[0], False)
    arguments = (to_device(tree), to_device(table), W, Motion(*turned), loads, parts, out)
    resident(f"{name}: derivatives of inverse dynamics", slope_launcher(), arguments, lanes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export")
    parser.add_argument("--from", dest="source")
    parser.add_argument("--lanes", type=int, default=1 << 18)
    options = parser.parse_args()
    if options.export:
        export(options.export)
        return
    for name, case in (load(options.source) if options.source else cases()).items():
        measure(name, *case, lanes=options.lanes)


if __name__ == "__main__":
    main()
