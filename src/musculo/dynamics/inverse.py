"""Generalized forces that a motion needs, the mass matrix, and the recursion that gives what joints transmit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import accelerations_of, coordinates_of, motion_in, speeds_of
from musculo.compile.frame_arrays import finite, frames_of, same_frames
from musculo.dynamics.loads.external import Loads, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput
from musculo.kernels.cuda.device_arrays import as_numba, device_frames, is_on_device
from musculo.kernels.tree.transmitted_frames import (
    PLACE_ROWS,
    OutboardFrames,
    TransmittedFrames,
    transmitted_frames,
)
from musculo.kernels.tree.tree_frames import (
    LoadFrames,
    MotionFrames,
    TorqueFrames,
    crba_frames,
    over_frames,
    rnea_frames,
)
from musculo.model.model import Model
from musculo.results.table import Table

Device = Literal["cpu", "gpu"]
_NO_WRENCH = np.zeros((0, 6))


def on_gpu(device: str) -> bool:
    """Whether the work goes to the GPU; a device that is neither is refused."""
    if device not in ("cpu", "gpu"):
        raise InvalidInput(f"device {device!r} is neither 'cpu' nor 'gpu'")
    return device == "gpu"


def check_device(device: str, to_device: bool, **arrays: Any) -> bool:
    """Whether some of these arrays are on the device already. Both they and `to_device` need device="gpu"."""
    resident = [name for name, array in arrays.items() if is_on_device(array)]
    if on_gpu(device):
        return bool(resident)
    if to_device:
        raise InvalidInput(
            f"to_device=True leaves the result on a GPU, but device is {device!r}; give device='gpu' too"
        )
    if resident:
        raise InvalidInput(
            f"{' and '.join(resident)}: on a GPU, but device is {device!r}; give device='gpu', or copy to the host "
            "(.copy_to_host(), cupy.asnumpy, .cpu().numpy())"
        )
    return False


def resident_frames(name: str, array: Any, columns: Sequence[str], host: Any) -> tuple[Any, bool]:
    """An array as (frames, columns), and whether it was a single frame: on the device in place, unchecked; else as
    `host` (`coordinates_of`, `speeds_of`, ...) reads it."""
    return device_frames(name, array, len(columns)) if is_on_device(array) else host(array)


def inverse_dynamics(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    threads: int | None = None,
    device: Device = "cpu",
    acting: ArrayLike | None = None,
    to_device: bool = False,
    wrenches: FloatArray | None = None,
) -> FloatArray:
    """tau = M(q) udot + C(q, u) + g(q) - J^T loads - acting, (frames, n_u) or (n_u,), without a look at the loads.

    `musculo.inverse_dynamics` is this one with loads over time, and checks of whether they can be meant. `wrenches` act
    beside the loads, on the nodes of the tree, as `node_wrenches` has them.
    """
    c = compiled(model)
    if check_device(device, to_device, q=q, u=u, udot=udot):
        Q, U, A, single = _motion_on_device(model, q, u, udot)
    else:
        Q, U, A, single = _motion(model, q, u, udot)
    if to_device and acting is not None:
        raise InvalidInput("acting cannot be taken off a result that stays on the device; subtract it there")
    loads = listed(loads, len(Q))
    loaded = bool(loads) or wrenches is not None
    if loads:
        stated = node_wrenches(c, loads, len(Q), lambda: kinematics(model, on_host(Q), threads=threads))
        wrenches = stated if wrenches is None else stated + wrenches
    elif wrenches is None:
        wrenches = _NO_WRENCH
    if on_gpu(device):
        from musculo.kernels.cuda.cuda_dynamics import rnea_on_gpu

        tau = rnea_on_gpu(c.tree, c.table, MotionFrames(Q, U, A), LoadFrames(wrenches, loaded), to_device)
        if to_device:
            return tau[0] if single else tau
    else:
        tau = np.empty_like(U)
        inputs = (c.tree, c.table, MotionFrames(Q, U, A), LoadFrames(wrenches, loaded))
        over_frames(rnea_frames, (*inputs, TorqueFrames(tau, _NO_WRENCH)), len(Q), threads)
    if acting is not None:
        given, _ = frames_of("acting", acting, model.speed_names)
        same_frames(q=Q, acting=given)
        tau = tau - given
    finite("the generalized force", tau, model.speed_names)
    return tau[0] if single else tau


def _motion(
    model: Model, q: ArrayLike | Table, u: ArrayLike | Table, udot: ArrayLike | Table
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    Q, U, A, single = motion_in(model, q, u, udot)
    compiled(model).check_coordinates(Q)
    return Q, U, A, single


def _motion_on_device(model: Model, q: Any, u: Any, udot: Any) -> tuple[Any, Any, Any, bool]:
    """As `_motion`, where some arrays are on the device: their shapes are checked, their numbers are not."""
    Q, single = resident_frames("q", q, model.coordinate_names, lambda x: coordinates_of(model, x))
    U, _ = resident_frames("u", u, model.speed_names, lambda x: speeds_of(model, x))
    A, _ = resident_frames("udot", udot, model.speed_names, lambda x: accelerations_of(model, x))
    same_frames(q=Q, u=U, udot=A)
    return Q, U, A, single


def on_host(array: Any) -> FloatArray:
    """A copy on the host of an array of the device; NumPy's arrays as they are."""
    return as_numba(array).copy_to_host() if is_on_device(array) else array


def bias_forces(model: Model, q: ArrayLike | Table, u: ArrayLike | Table, *, threads: int | None = None) -> FloatArray:
    """C(q, u) + g(q): what inverse dynamics gives at zero udot, (frames, n_u) or (n_u,)."""
    U, single = speeds_of(model, u)
    return inverse_dynamics(model, q, u, np.zeros_like(U[0] if single else U), threads=threads)


def gravity_forces(model: Model, q: ArrayLike | Table, *, threads: int | None = None) -> FloatArray:
    """g(q): the generalized forces that hold the model at rest against gravity, (frames, n_u) or (n_u,)."""
    Q, single = coordinates_of(model, q)
    rest = np.zeros((len(Q), len(model.speed_names)))
    tau = inverse_dynamics(model, Q, rest, rest, threads=threads)
    return tau[0] if single else tau


def mass_matrix(
    model: Model,
    q: ArrayLike | Table,
    *,
    threads: int | None = None,
    device: Device = "cpu",
    to_device: bool = False,
) -> FloatArray:
    """M(q) of the tree before any embedding, (frames, n_u, n_u) or (n_u, n_u); symmetric.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order.
        threads: the number of threads; all cores by default.
        device: `cpu` or `gpu`, which takes arrays of CuPy, PyTorch and Numba in place, unchecked.
        to_device: leave the result on the GPU, as an array with `__cuda_array_interface__`.
    """
    c = compiled(model)
    resident = check_device(device, to_device, q=q)
    Q, single = resident_frames("q", q, model.coordinate_names, lambda x: coordinates_of(model, x))
    if not resident:
        c.check_coordinates(Q)
    if on_gpu(device):
        from musculo.kernels.cuda.cuda_dynamics import crba_on_gpu

        mass = crba_on_gpu(c.tree, c.table, Q, to_device)
    else:
        mass = np.empty((len(Q), c.n_u * c.n_u))
        over_frames(crba_frames, (c.tree, c.table, Q, mass), len(Q), threads)
    M = mass.reshape(len(Q), c.n_u, c.n_u)
    return M[0] if single else M


class TransmittedLoads(NamedTuple):
    """Loads that joints exert on what is outboard of them, at the outboard joint frame, in ground; and all poses."""

    force: FloatArray  # (frames, joints, 3) [N]
    moment: FloatArray  # (frames, joints, 3) [N m]
    point: FloatArray  # (frames, joints, 3) origin of the outboard joint frame [m]
    tau: FloatArray  # (frames, n_u)
    R: FloatArray  # (frames, nodes, 3, 3) rotations of the nodes of compiled(model, merged=False)
    p: FloatArray  # (frames, nodes, 3)


def transmitted_loads(
    model: Model,
    Q: FloatArray,
    U: FloatArray,
    A: FloatArray,
    wrenches: FloatArray | None,
    threads: int | None,
    inertia: FloatArray | None = None,
) -> TransmittedLoads:
    """What joints carry during a motion under given wrenches on the nodes of compiled(model, merged=False).

    `wrenches` (frames, 6 nodes): force, then moment about ground's origin, in ground; None where there are none.
    `inertia` (nodes, 10), as `Tree` has it, takes the place of the model's own.
    """
    c = compiled(model, merged=False)
    frames, n, joints = len(Q), c.tree.parent.size, len(model.joint_names)
    force, moment, point = (np.empty((frames, joints, 3)) for _ in range(3))
    tau, places = np.empty_like(U), np.empty((frames, PLACE_ROWS * n))
    given = np.ascontiguousarray(wrenches) if wrenches is not None else _NO_WRENCH
    outboard = outboard_frames(model)
    flat = [x.reshape(frames, -1) for x in (force, moment, point)]
    found = TransmittedFrames(tau, flat[0], flat[1], flat[2], places)
    tree = c.tree if inertia is None else c.tree._replace(inertia=inertia)
    inputs = (tree, c.table, MotionFrames(Q, U, A), LoadFrames(given, wrenches is not None), outboard)
    over_frames(transmitted_frames, (*inputs, found), frames, threads)
    rows = places.reshape(frames, n, PLACE_ROWS)
    R, p = rows[:, :, :9].reshape(frames, n, 3, 3), rows[:, :, 9:]
    return TransmittedLoads(force, moment, point, tau, R, p)


def outboard_frames(model: Model) -> OutboardFrames:
    """Where each joint of a model ends, in the nodes of compiled(model, merged=False); looked for once."""
    return model.derived("outboard joint frames", lambda: _outboard(model))


def _outboard(model: Model) -> OutboardFrames:
    """Of each joint the node outboard of it, and where in it the outboard joint frame is."""
    c = compiled(model, merged=False)
    node = np.array([c.joint_node[name] for name in model.joint_names], dtype=np.int64)
    offset = np.array([c.joint_outboard[name].p for name in model.joint_names], dtype=float).reshape(-1, 3)
    return OutboardFrames(node, offset)
