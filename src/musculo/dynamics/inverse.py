"""Generalised forces that a motion needs, the mass matrix, and what joints transmit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.frames import FloatArray, finite, frames_of, same_frames
from musculo.dynamics.external import ExternalLoad, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.frames import crba_frames, over_frames, rnea_frames
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

    It is the load of the recursion: all that the joint must carry, drive included (there are no muscles in it).

    Args: as `inverse_dynamics`.
    """
    c: CompiledModel = compiled(model, merged=False)
    Q, U, A, single = _motion(model, q, u, udot)
    loads = listed(external, len(Q))
    motion = kinematics(model, Q, threads=threads)
    wrenches = node_wrenches(c, loads, len(Q), lambda: motion) if loads else _NO_WRENCH
    frames, n = len(Q), c.tree.parent.size
    tau, flat = np.empty_like(U), np.empty((frames, 6 * n))
    over_frames(rnea_frames, (c.tree, c.table, Q, U, A, wrenches, bool(loads), tau, flat), frames, threads)
    node = flat.reshape(frames, n, 2, 3)
    force, moment = np.empty((frames, len(model.joints), 3)), np.empty((frames, len(model.joints), 3))
    points = np.empty_like(force)
    for k, joint in enumerate(model.joints):
        i = c.joint_node[joint.name]
        X = c.joint_outboard[joint.name]
        outboard = joint.parent if c.joint_reversed[joint.name] else joint.child
        R_WB, p_WB = motion.batch_pose(outboard.body)
        # the joint's outboard frame O in its body, and the node's frame N from it
        X_NB = c.body_pose[outboard.body]
        R_WN = R_WB @ X_NB.R.T
        p_WN = p_WB - np.einsum("fij,j->fi", R_WN, X_NB.p)
        p_WO = p_WN + np.einsum("fij,j->fi", R_WN, X.p)
        t, f = (np.einsum("fij,fj->fi", R_WN, node[:, i, side]) for side in (0, 1))
        force[:, k] = f
        moment[:, k] = t - np.cross(p_WO - p_WN, f)
        points[:, k] = p_WO
    if single:
        force, moment, tau, points = force[0], moment[0], tau[0], points[0]
    return JointReactions(model.joint_names, force, moment, tau, points)
