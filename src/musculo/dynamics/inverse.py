"""Generalised forces that a motion needs, the mass matrix, and the recursion that gives what joints transmit."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.compile.compiled import compiled
from musculo.compile.coordinates import coordinates_of, motion_in, speeds_of
from musculo.compile.frames import FloatArray, finite, frames_of, same_frames
from musculo.dynamics.external import Loads, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput
from musculo.kernels.frames import crba_frames, over_frames, rnea_frames
from musculo.kernels.transmitted import PLACE_ROWS, transmitted_frames
from musculo.model.model import Model
from musculo.results.table import Table

Device = Literal["cpu", "gpu"]
_NO_WRENCH = np.zeros((0, 6))


def on_gpu(device: str) -> bool:
    """Whether the work goes to the GPU; a device that is neither is refused."""
    if device not in ("cpu", "gpu"):
        raise InvalidInput(f"device {device!r} is neither 'cpu' nor 'gpu'")
    return device == "gpu"


def inverse_dynamics(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    threads: int | None = None,
    device: Device = "cpu",
    acting: ArrayLike | None = None,
) -> FloatArray:
    """tau = M(q) udot + C(q, u) + g(q) - J^T loads - acting, (frames, n_u) or (n_u,), without a look at the loads.

    `musculo.inverse_dynamics` is this one with loads over time, and checks of whether they can be meant.
    """
    c = compiled(model)
    Q, U, A, single = _motion(model, q, u, udot)
    loads = listed(loads, len(Q))
    wrenches = node_wrenches(c, loads, len(Q), lambda: kinematics(model, Q, threads=threads)) if loads else _NO_WRENCH
    if on_gpu(device):
        from musculo.kernels.cuda import rnea_on_gpu

        tau = rnea_on_gpu(c.tree, c.table, Q, U, A, wrenches, bool(loads))
    else:
        tau = np.empty_like(U)
        over_frames(rnea_frames, (c.tree, c.table, Q, U, A, wrenches, bool(loads), tau, _NO_WRENCH), len(Q), threads)
    if acting is not None:
        given, _ = frames_of("acting", acting, model.speed_names)
        same_frames(q=Q, acting=given)
        tau = tau - given
    finite("the generalised force", tau, model.speed_names)
    return tau[0] if single else tau


def _motion(
    model: Model, q: ArrayLike | Table, u: ArrayLike | Table, udot: ArrayLike | Table
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    Q, U, A, single = motion_in(model, q, u, udot)
    compiled(model).check_coordinates(Q)
    return Q, U, A, single


def bias_forces(model: Model, q: ArrayLike | Table, u: ArrayLike | Table, threads: int | None = None) -> FloatArray:
    """C(q, u) + g(q): what inverse dynamics gives at zero udot, (frames, n_u) or (n_u,)."""
    U, single = speeds_of(model, u)
    return inverse_dynamics(model, q, u, np.zeros_like(U[0] if single else U), threads=threads)


def gravity_forces(model: Model, q: ArrayLike | Table, threads: int | None = None) -> FloatArray:
    """g(q): the generalised forces that hold the model at rest against gravity, (frames, n_u) or (n_u,)."""
    Q, single = coordinates_of(model, q)
    rest = np.zeros((len(Q), len(model.speed_names)))
    tau = inverse_dynamics(model, Q, rest, rest, threads=threads)
    return tau[0] if single else tau


def mass_matrix(model: Model, q: ArrayLike | Table, threads: int | None = None, device: Device = "cpu") -> FloatArray:
    """M(q) of the tree before any embedding, (frames, n_u, n_u) or (n_u, n_u); symmetric.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order.
        threads: at most so many; all cores by default.
        device: `cpu` or `gpu`.
    """
    c = compiled(model)
    Q, single = coordinates_of(model, q)
    c.check_coordinates(Q)
    if on_gpu(device):
        from musculo.kernels.cuda import crba_on_gpu

        mass = crba_on_gpu(c.tree, c.table, Q)
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
) -> TransmittedLoads:
    """What joints carry during a motion under given wrenches on the nodes of compiled(model, merged=False).

    `wrenches` (frames, 6 nodes): force, then moment about ground's origin, in ground; None where there are none.
    """
    c = compiled(model, merged=False)
    frames, n, joints = len(Q), c.tree.parent.size, len(model.joint_names)
    node, offset = model.derived("outboard joint frames", lambda: _outboard(model))
    force, moment, point = (np.empty((frames, joints, 3)) for _ in range(3))
    tau, places = np.empty_like(U), np.empty((frames, PLACE_ROWS * n))
    given = np.ascontiguousarray(wrenches) if wrenches is not None else _NO_WRENCH
    inputs = (c.tree, c.table, Q, U, A, given, wrenches is not None, node, offset)
    flat = (x.reshape(frames, -1) for x in (force, moment, point))
    over_frames(transmitted_frames, (*inputs, tau, *flat, places), frames, threads)
    rows = places.reshape(frames, n, PLACE_ROWS)
    R, p = rows[:, :, :9].reshape(frames, n, 3, 3), rows[:, :, 9:]
    return TransmittedLoads(force, moment, point, tau, R, p)


def _outboard(model: Model) -> tuple[NDArray[np.int64], FloatArray]:
    """Of each joint the node outboard of it, and where in it the outboard joint frame is."""
    c = compiled(model, merged=False)
    node = np.array([c.joint_node[name] for name in model.joint_names], dtype=np.int64)
    return node, np.array([c.joint_outboard[name].p for name in model.joint_names], dtype=float).reshape(-1, 3)
