"""Generalised forces that a motion needs, the mass matrix, and what joints transmit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.compile.compiled import compiled
from musculo.compile.frames import FloatArray, finite, frames_of, same_frames
from musculo.dynamics.external import ExternalLoad, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.frames import crba_frames, kinematics_frames, over_frames, rnea_frames
from musculo.kernels.kinematics import MOTION_ROWS
from musculo.model.model import Model

Device = Literal["cpu", "gpu"]
_NO_WRENCH = np.zeros((0, 6))


def on_gpu(device: str) -> bool:
    """Whether the work goes to the GPU; a device that is neither is refused."""
    if device not in ("cpu", "gpu"):
        raise InvalidInput(f"device {device!r} is neither 'cpu' nor 'gpu'")
    return device == "gpu"


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    external: ExternalLoad | Sequence[ExternalLoad] = (),
    threads: int | None = None,
    device: Device = "cpu",
) -> FloatArray:
    """Generalised forces tau = M(q) udot + C(q, u) + g(q) - J^T external, on the tree before any embedding.

    This is what OpenSim's inverse dynamics prints: one force per speed, coupled and locked ones included. Pull them
    back to the independent coordinates with `embedding_of(model)`.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and their derivatives, all of the file in its order.
        external: loads from outside, for instance ground reactions.
        threads: at most so many; all cores by default.
        device: `gpu` needs the extra of that name and a CUDA device; the same kernel runs there.

    Returns:
        (frames, n_u) or (n_u,) [N m for rotations, N for translations].
    """
    c = compiled(model)
    Q, U, A, single = _motion(model, q, u, udot)
    loads = listed(external, len(Q))
    wrenches = node_wrenches(c, loads, len(Q), lambda: kinematics(model, Q, threads=threads)) if loads else _NO_WRENCH
    if on_gpu(device):
        from musculo.kernels.cuda import rnea_on_gpu

        tau = rnea_on_gpu(c.tree, c.table, Q, U, A, wrenches, bool(loads))
    else:
        tau = np.empty_like(U)
        over_frames(rnea_frames, (c.tree, c.table, Q, U, A, wrenches, bool(loads), tau, _NO_WRENCH), len(Q), threads)
    finite("the generalised force", tau, model.speed_names)
    return tau[0] if single else tau


def _motion(
    model: Model, q: ArrayLike, u: ArrayLike, udot: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    Q, single = frames_of("q", q, model.coordinate_names)
    U, _ = frames_of("u", u, model.speed_names)
    A, _ = frames_of("udot", udot, model.speed_names)
    same_frames(q=Q, u=U, udot=A)
    compiled(model).check_coordinates(Q)
    return Q, U, A, single


def bias_forces(model: Model, q: ArrayLike, u: ArrayLike, threads: int | None = None) -> FloatArray:
    """C(q, u) + g(q): what inverse dynamics gives at zero udot, (frames, n_u) or (n_u,)."""
    U, single = frames_of("u", u, model.speed_names)
    return inverse_dynamics(model, q, u, np.zeros_like(U[0] if single else U), threads=threads)


def gravity_forces(model: Model, q: ArrayLike, threads: int | None = None) -> FloatArray:
    """g(q): the generalised forces that hold the model at rest against gravity, (frames, n_u) or (n_u,)."""
    Q, single = frames_of("q", q, model.coordinate_names)
    rest = np.zeros((len(Q), len(model.speed_names)))
    tau = inverse_dynamics(model, Q, rest, rest, threads=threads)
    return tau[0] if single else tau


def mass_matrix(model: Model, q: ArrayLike, threads: int | None = None, device: Device = "cpu") -> FloatArray:
    """M(q) of the tree before any embedding, (frames, n_u, n_u) or (n_u, n_u); symmetric.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order.
        threads: at most so many; all cores by default.
        device: `cpu` or `gpu`.
    """
    c = compiled(model)
    Q, single = frames_of("q", q, model.coordinate_names)
    c.check_coordinates(Q)
    if on_gpu(device):
        from musculo.kernels.cuda import crba_on_gpu

        mass = crba_on_gpu(c.tree, c.table, Q)
    else:
        mass = np.empty((len(Q), c.n_u * c.n_u))
        over_frames(crba_frames, (c.tree, c.table, Q, mass), len(Q), threads)
    M = mass.reshape(len(Q), c.n_u, c.n_u)
    return M[0] if single else M


@dataclass(frozen=True, eq=False)
class JointReactions:
    """What each joint transmits, and the generalised forces beside it.

    `force` and `moment` are (frames, joints, 3) or (joints, 3): the load that the joint exerts on the body outboard of
    it, at the origin of the outboard joint frame, expressed in ground [N, N m].
    """

    joint_names: tuple[str, ...]
    force: FloatArray
    moment: FloatArray
    tau: FloatArray
    point: FloatArray = field(repr=False)

    def of(self, joint: str) -> tuple[FloatArray, FloatArray]:
        """(force, moment) of one joint."""
        if joint not in self.joint_names:
            raise UnknownName("joint", joint, self.joint_names)
        k = self.joint_names.index(joint)
        return self.force[..., k, :], self.moment[..., k, :]


def joint_reactions(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    udot: ArrayLike,
    external: ExternalLoad | Sequence[ExternalLoad] = (),
    threads: int | None = None,
) -> JointReactions:
    """The whole load that each joint transmits during a motion, welds included.

    It is the load of the recursion: all that the joint must carry, drive included (there are no muscles in it; see
    `joint_loads` for those).

    Args: as `inverse_dynamics`.
    """
    Q, U, A, single = _motion(model, q, u, udot)
    loads = listed(external, len(Q))
    wrenches = (
        node_wrenches(compiled(model, merged=False), loads, len(Q), lambda: kinematics(model, Q, threads=threads))
        if loads
        else None
    )
    carried = transmitted_loads(model, Q, U, A, wrenches, threads)
    parts = (carried.force, carried.moment, carried.tau, carried.point)
    return JointReactions(model.joint_names, *(part[0] if single else part for part in parts))


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
    frames, n = len(Q), c.tree.parent.size
    tau, flat, places = np.empty_like(U), np.empty((frames, 6 * n)), np.empty((frames, MOTION_ROWS * n))
    loaded = wrenches is not None
    given = np.ascontiguousarray(wrenches) if wrenches is not None else _NO_WRENCH
    over_frames(rnea_frames, (c.tree, c.table, Q, U, A, given, loaded, tau, flat), frames, threads)
    rest = np.zeros((1, c.n_u))
    over_frames(kinematics_frames, (c.tree, c.table, Q, rest, rest, False, places, _NO_WRENCH), frames, threads)
    rows = places.reshape(frames, n, MOTION_ROWS)
    R, p = rows[:, :, :9].reshape(frames, n, 3, 3), rows[:, :, 9:12]
    nodes = [c.joint_node[name] for name in model.joint_names]
    offsets = np.array([c.joint_outboard[name].p for name in model.joint_names]).reshape(-1, 3)
    # Component by component over (frames, joints): products of so small matrices would mostly be overhead.
    r = np.moveaxis(rows[:, nodes, :12], 2, 0).copy()
    t, f = np.moveaxis(flat.reshape(frames, n, 2, 3)[:, nodes], (2, 3), (0, 1)).copy()

    def turned(v: FloatArray) -> FloatArray:
        return np.stack([r[3 * i] * v[0] + r[3 * i + 1] * v[1] + r[3 * i + 2] * v[2] for i in range(3)])

    t, f, a = turned(t), turned(f), turned(offsets.T)
    about = np.stack([t[i] - a[i - 2] * f[i - 1] + a[i - 1] * f[i - 2] for i in range(3)])
    force, moment, point = (np.ascontiguousarray(np.moveaxis(x, 0, 2)) for x in (f, about, r[9:] + a))
    return TransmittedLoads(force, moment, point, tau, R, p)
