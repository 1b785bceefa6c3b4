"""Inverse dynamics, mass matrix and forward dynamics on a GPU: one thread a frame."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from musculo.kernels.cuda.cuda_batches import Frames, over_batches
from musculo.kernels.cuda.cuda_code import Limits, jit
from musculo.kernels.cuda.cuda_device import cuda_module, device_function, with_names
from musculo.kernels.cuda.device_arrays import to_device
from musculo.kernels.tree.aba import ARTICULATED_ROWS, PIVOT, SLOT_ROWS, ArticulatedSpace, aba
from musculo.kernels.tree.crba import COMPOSITE_ROWS, crba
from musculo.kernels.tree.derivatives.joint_slopes import own_slope_rows
from musculo.kernels.tree.derivatives.torque_slope_frames import SlopeFrames, general_joints, own_slope_frames
from musculo.kernels.tree.derivatives.torque_slopes import SlopeParts, slope_rows, torque_slopes
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.nodes import Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import LoadFrames, MotionFrames, over_frames, work_rows

# So many registers a thread let four blocks of 128 threads share a multiprocessor (measured on an H200, 37-dof tree:
# 200 million frames a second, against 158 with the 132 the compiler would take and 177 with 64).
_REGISTERS = 128


class Accelerations(NamedTuple):
    """What `aba` finds on the device."""

    udot: Any  # (n_u, lanes)
    least: Any  # (1, lanes) how far the worst elimination was from singular


# The kernels that run on the device. `cuda` and `run` are put into copies of their globals by `launcher`: the device's
# module, and the device form of the kernel that does the work.
def _rnea_lanes(tree, table, W, motion, loads, tau):
    lane = cuda.grid(1)  # noqa: F821
    if lane < tau.shape[1]:
        run(tree, table, W, motion, loads, tau, lane)  # noqa: F821


def _crba_lanes(tree, table, q, W, C, M):
    lane = cuda.grid(1)  # noqa: F821
    if lane < M.shape[1]:
        run(tree, table, q, W, C, M, lane)  # noqa: F821


def _aba_lanes(tree, table, space, given, tau, prescribed, loads, found):
    lane = cuda.grid(1)  # noqa: F821
    if lane < found.udot.shape[1]:
        out, least, A = found.udot, found.least, space.A
        n = tau.shape[0]
        for k in range(n):
            out[k, lane] = given.udot[k, lane]
        motion = Motion(given.q, given.u, out)
        run(tree, table, space, motion, tau, prescribed, loads, lane)  # noqa: F821
        # how far the worst elimination was from singular; what is no number counts as zero
        worst = 1.0
        for k in range(n):
            if prescribed[tree.u_rows[k]] == 0:
                pivot = A[ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * k + PIVOT, lane]
                if not pivot >= worst:
                    worst = pivot if pivot > 0.0 else 0.0
        least[0, lane] = worst


def _slope_lanes(tree, table, W, motion, loads, parts, out):
    lane = cuda.grid(1)  # noqa: F821
    if lane < out.shape[1]:
        moving = tree.parent.size > 0
        kinematics_of(tree, table, W, motion, moving, parts.nodes, lane)  # noqa: F821
        twists_of(tree, W, parts.nodes, parts.columns, lane)  # noqa: F821
        slopes_of(tree, parts, loads, out, lane)  # noqa: F821


_LANES = {rnea: _rnea_lanes, crba: _crba_lanes, aba: _aba_lanes}


@cache
def launcher(kernel: Any) -> Any:
    """The CUDA kernel that runs `rnea`, `crba` or `aba` for every lane."""
    return jit(with_names(_LANES[kernel], run=device_function(kernel)), Limits(max_registers=_REGISTERS))


@cache
def slope_launcher() -> Any:
    """The CUDA kernel that runs `torque_slopes` for every lane."""
    parts = {"kinematics_of": kinematics, "twists_of": twists, "slopes_of": torque_slopes}
    named = with_names(_slope_lanes, **{name: device_function(part) for name, part in parts.items()})
    return jit(named, Limits(max_registers=_REGISTERS))


def slopes_on_gpu(tree: Any, table: Any, x: SlopeFrames, loaded: bool) -> np.ndarray:
    """d(tau)/dq, d(tau)/du and the mass matrix of all frames side by side: (frames, n_u n_q + 2 n_u n_u)."""
    tree_d, table_d, run = to_device(tree), to_device(table), slope_launcher()
    n_q, n_u = x.q.shape[1], x.u.shape[1]
    inputs = [x.q, x.u, x.udot]
    if loaded:
        inputs.append(x.external)
    general = bool(general_joints.py_func(tree))
    if general:
        # joints of functions are differentiated in complex numbers, which lanes of the device are not
        own = np.zeros((len(x.q), own_slope_rows.py_func(tree)))
        over_frames(own_slope_frames, (tree, table, x, own), len(x.q))
        inputs.append(own)

    def launch(blocks: Any, given: list[Any], work: list[Any], out: list[Any]) -> None:
        W, nodes, columns, sums = work
        loads = Loads(given[3] if loaded else given[0], loaded)
        parts = SlopeParts(nodes, columns, given[-1] if general else given[0], sums)
        run[blocks](tree_d, table_d, W, Motion(*given[:3]), loads, parts, out[0])

    rows = (work_rows.py_func(tree), MOTION_ROWS * tree.parent.size, 6 * n_u, slope_rows.py_func(tree))
    workspaces = [(n, np.float64) for n in rows]
    return np.asarray(over_batches(inputs, workspaces, [(n_u * n_q + 2 * n_u * n_u, False)], launch)[0])


class GivenFrames(NamedTuple):
    """What accelerations follow from, the frame first, on the host or on the device."""

    q: Frames  # (frames, n_q)
    u: Frames  # (frames, n_u)
    tau: Frames  # (frames, n_u)
    udot: np.ndarray | None  # (frames, n_u) where it is prescribed; None: of no speed


def rnea_on_gpu(tree: Any, table: Any, motion: MotionFrames, loads: LoadFrames, stays: bool = False) -> Any:
    """Inverse dynamics of all frames on the GPU, what `rnea_frames` does. Returns tau (frames, n_u), on the device if
    it `stays` there."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(rnea)

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        external = Loads(x[3] if loads.acting else x[0], loads.acting)
        run[blocks](tree_d, table_d, work[0], Motion(*x[:3]), external, out[0])

    inputs = [*motion, loads.wrench] if loads.acting else [*motion]
    workspaces = [(work_rows.py_func(tree), np.float64)]
    return over_batches(inputs, workspaces, [(motion.u.shape[1], stays)], launch)[0]


def crba_on_gpu(tree: Any, table: Any, q: Frames, stays: bool = False) -> Any:
    """Mass matrices (frames, n_u n_u) of all frames on the GPU, which may stay there."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(crba)

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        run[blocks](tree_d, table_d, x[0], work[0], work[1], out[0])

    workspaces = [(work_rows.py_func(tree), np.float64), (COMPOSITE_ROWS * tree.parent.size, np.float64)]
    return over_batches([q], workspaces, [(tree.u_rows.size**2, stays)], launch)[0]


def aba_on_gpu(
    tree: Any, table: Any, given: GivenFrames, prescribed: np.ndarray, loads: LoadFrames, stays: bool = False
) -> tuple[Any, np.ndarray]:
    """Forward dynamics of all frames on the GPU: udot (frames, n_u), which may stay there, and of each frame how far
    from singular the worst elimination was (frames,)."""
    tree_d, table_d, run = to_device(tree), to_device(table), launcher(aba)
    prescribed_d, n_u, known = cuda_module().to_device(prescribed), given.u.shape[1], given.udot is not None

    def launch(blocks: Any, x: list[Any], work: list[Any], out: list[Any]) -> None:
        q, u, tau = x[:3]
        motion = Motion(q, u, x[3] if known else u)  # of free speeds it is not read
        external = Loads(x[-1] if loads.acting else q, loads.acting)
        space, found = ArticulatedSpace(*work), Accelerations(*out)
        run[blocks](tree_d, table_d, space, motion, tau, prescribed_d, external, found)

    rows = work_rows.py_func(tree), ARTICULATED_ROWS * tree.parent.size + SLOT_ROWS * n_u
    inputs = [given.q, given.u, given.tau, *([given.udot] if known else []), *([loads.wrench] if loads.acting else [])]
    found, least = over_batches(inputs, [(n, np.float64) for n in rows], [(n_u, stays), (1, False)], launch)
    return found, least[:, 0]
