"""Exact derivatives of what joints transmit, by coordinates, speeds, accelerations and external loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import motion_in
from musculo.compile.frame_arrays import finite
from musculo.compile.joint_nodes import placed
from musculo.dynamics.derivatives.dynamics_derivatives import InverseDynamicsDerivatives
from musculo.dynamics.derivatives.embedded_slopes import embedded_slopes
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed, node_wrenches
from musculo.dynamics.loads.load_choice import Choice, LoadChoice, load_choices, placement_of
from musculo.dynamics.loads.loop_loads import closes_loops
from musculo.dynamics.loads.moving_loads import load_columns, load_slopes, moves, wrench_slopes
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of, times_of
from musculo.embedding.speed_rates import speed_matrix
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.kernels.tree.derivatives.reaction_slope_frames import ReactionFrames, reaction_slope_frames
from musculo.kernels.tree.derivatives.reaction_slopes import Sections
from musculo.kernels.tree.derivatives.torque_slope_frames import SlopeFrames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.spatial.rotation import skew

_NO_WRENCH = np.zeros((0, 6))


class EmbeddedReactionDerivatives(NamedTuple):
    """Derivatives of loads (force, moment) by independent coordinates, speeds and accelerations; frames first."""

    dload_dz: FloatArray  # (frames, loads, 6, n_z)
    dload_dzu: FloatArray  # (frames, loads, 6, n_zu)
    dload_dzudot: FloatArray  # (frames, loads, 6, n_zu)


@dataclass(frozen=True, eq=False)
class JointReactionDerivatives:
    """Loads of joints and their derivatives over frames; arrays have no frame axis for a single state.

    Entry k of the axis `loads` is what joint `joint_names[k]` does to `body_names[k]`, at the origin of the joint frame
    on that body, expressed in `frame_names[k]`. Of the axis of six the force comes first, then the moment.
    """

    model: Model = field(repr=False)
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    frame_names: tuple[str, ...]
    load: FloatArray = field(repr=False)  # (frames, loads, 6) [N, N m]
    dload_dq: FloatArray = field(repr=False)  # (frames, loads, 6, n) by coordinates as they are in the file
    dload_du: FloatArray = field(repr=False)  # (frames, loads, 6, n_u)
    dload_dudot: FloatArray = field(repr=False)  # (frames, loads, 6, n_u)
    inverse_dynamics: InverseDynamicsDerivatives = field(repr=False)  # of the same state: no second pass for them
    _acting: _Acting = field(repr=False)

    @property
    def force(self) -> FloatArray:
        """(frames, loads, 3) [N]."""
        return self.load[..., :3]

    @property
    def moment(self) -> FloatArray:
        """(frames, loads, 3) [N m]."""
        return self.load[..., 3:]

    def of(self, joint: str) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(load, dload_dq, dload_du, dload_dudot) of one joint, the first where it comes twice."""
        if joint not in self.joint_names:
            raise UnknownName("joint", joint, self.joint_names)
        k = self.joint_names.index(joint)
        by_q, by_u, by_udot = (x[..., k, :, :] for x in (self.dload_dq, self.dload_du, self.dload_dudot))
        return self.load[..., k, :], by_q, by_u, by_udot

    @cached_property
    def dload_dexternal(self) -> FloatArray:
        """(frames, loads, 6, external loads, 9) by force, point and moment of each external load, in their frames."""
        x = self._acting
        found = np.zeros((*x.load.shape, len(x.external), 9))
        for k, load in enumerate(x.external):
            assert x.poses is not None
            x.take_off(found[:, :, :, k], load, load_columns(x.poses, load, len(x.load)))
        return found[0] if self.load.ndim == 2 else found

    @cached_property
    def independent(self) -> EmbeddedReactionDerivatives:
        """By independent coordinates z, speeds and accelerations: couplers, locks and prescribed motions included.

            dF/dz = dF/dq dq/dz + dF/du du/dz + dF/dudot dudot/dz

        Raises:
            Unsupported: a constraint that musculo cannot compute.
            InvalidInput: q contradicts a coupler, lock or prescribed motion.
        """
        e = embedding_of(self.model)
        refuse_carried(e.unsolved, "; switch it off (enforced=False) to compute without it")
        s = embedded_slopes(e, *self.inverse_dynamics._given)
        single = self.load.ndim == 2
        by_q, by_u, by_a = (x[None] if single else x for x in (self.dload_dq, self.dload_du, self.dload_dudot))
        G, J, u_z, a_z, a_u = (x[:, None] for x in (s.G, s.J, s.speed_by_z, s.accel_by_z, s.accel_by_zu))
        parts = (by_q @ G + by_u @ u_z + by_a @ a_z, by_u @ J + by_a @ a_u, by_a @ J)
        return EmbeddedReactionDerivatives(*(x[0] if single else x for x in parts))


class _Acting(NamedTuple):
    """What external loads do to the loads of joints."""

    wanted: tuple[LoadChoice, ...]
    x: Sections
    load: FloatArray  # (frames, loads, 6)
    external: tuple[ExternalLoad, ...]
    poses: Kinematics | None  # None without external loads

    def take_off(self, slopes: FloatArray, load: ExternalLoad, change: FloatArray) -> None:
        """Subtract what a change (frames, 6, columns) of a wrench about ground's origin does, from slopes (frames,
        loads, 6, columns)."""
        assert self.poses is not None
        model, x = self.poses.model, self.x
        node = compiled(model, merged=False).body_node[load.body]
        couple, push = change[:, :3], change[:, 3:]
        for k, (joint, side, frame) in enumerate(self.wanted):
            if not x.above[node, x.node[k]]:
                continue
            place = placement_of(model, joint, side)
            X = placed(place)
            point = self.poses.position(place.body, X.p).reshape(-1, 3)
            R, _ = self.poses.batch_pose(frame)
            back = x.sign[k] * np.swapaxes(R, 1, 2)
            slopes[:, k, :3] -= back @ push
            slopes[:, k, 3:] -= back @ (couple - skew(point) @ push)


def joint_reaction_derivatives(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    *,
    loads: Loads = (),
    joints: str | Sequence[str] | None = None,
    on: Choice = "child",
    frame: Choice = "ground",
    time: ArrayLike = 0.0,
    threads: int | None = None,
    out: JointReactionDerivatives | None = None,
) -> JointReactionDerivatives:
    """What joints carry and its derivatives by q, u and udot, exact, for one state or many.

    The loads are those of `joint_reactions` and, without muscles, of `joint_loads`: all that a joint transmits, drive
    included. Couplers, locks and prescribed motions are in `independent`.

    Source:     [Barman2020] chapter III, internal forces and moments at the joints of a link; equations:
                `kernels/tree/derivatives/reaction_slopes.py`.
    Guarantees: no finite difference. Functions of joints are differentiated from the right at breakpoints.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and accelerations, as `inverse_dynamics` has them.
        loads: external loads. Their numbers stay constant: forces and points given in moving frames move with these.
        joints: which, by name, a joint may come twice; all by default. A frame takes 48 (n + 2 n_u) bytes a joint.
        on: the body that the load acts on: "child" or "parent", one for all, one for each, or by joint.
        frame: to express it in: "ground", "child" or "parent" (the frame of that body), or any body or frame of the
            model; one for all, one for each, or by joint. The derivatives are of the components in that frame.
        time: (frames,) or a number, for loads over time and prescribed motion [s].
        threads: the number of threads; all cores by default.
        out: a result of an earlier call for this model, with the same loads asked for and as many frames, whose arrays
            are used again: new memory takes most of the time of a large batch.

    Raises:
        UnknownName, InvalidInput: names or arrays that do not fit.
        Unsupported: closed loops, whose constraints carry part of the load.
    """
    if closes_loops(model):
        raise Unsupported(
            f"{model.name!r} has closed loops, whose constraints carry a part of what joints do; derivatives of that "
            "part are not computed: switch the constraints off (enforced=False) for those of the open tree"
        )
    c = compiled(model, merged=False)
    Q, U, A, single = motion_in(model, q, u, udot)
    c.check_coordinates(Q)
    frames = len(Q)
    times = times_of(time, frames)
    external = tuple(listed(loads, frames, times if np.ndim(time) else None))
    wanted = load_choices(model, joints, on, frame)
    x = _sections(model, c, wanted)
    wrenches, poses = _NO_WRENCH, None
    if external:
        poses = kinematics(model, Q, threads=threads)
        wrenches = node_wrenches(c, external, frames, lambda: poses)
    if out is None:
        widths = np.array([n * m for m in (c.n_u, 6 * len(wanted)) for n in (c.n_q, c.n_u, c.n_u)])
        arrays = [np.empty((frames, width)) for width in (*widths, 6 * len(wanted))]
    else:
        arrays = _again(out, model, wanted, frames)
    *tau, by_q, by_u, by_udot, load = arrays
    given = SlopeFrames(Q, U, A, wrenches, *tau)
    found = ReactionFrames(load, by_q, by_u, by_udot)
    over_frames(reaction_slope_frames, (c.tree, c.table, given, bool(external), x, found), frames, threads)
    slopes = [part.reshape(frames, len(wanted), 6, n) for part, n in ((by_q, c.n_q), (by_u, c.n_u), (by_udot, c.n_u))]
    torques = [part.reshape(frames, c.n_u, n) for part, n in zip(tau, (c.n_q, c.n_u, c.n_u), strict=True)]
    acting = _Acting(tuple(wanted), x, load.reshape(frames, len(wanted), 6), external, poses)
    moving = [one for one in external if moves(one)]
    if moving and poses is not None:
        torques[0] += load_slopes(compiled(model), poses, Q, moving)
        B = speed_matrix(model, Q)
        for one in moving:
            acting.take_off(slopes[0], one, wrench_slopes(compiled(model), poses, B, one))
    if not np.isfinite(by_q.sum()):  # one number of all is cheaper than a mark for each, and names are many
        parts = [f"{part}{axis}" for part in "fm" for axis in "xyz"]
        columns = [f"d({one.name}, {x})/d({q})" for one in wanted for x in parts for q in model.coordinate_names]
        finite("the derivative", by_q, columns)
    values = acting.load
    if single:
        values, slopes, torques = values[0], [x[0] for x in slopes], [x[0] for x in torques]
    names, given_motion = (model.speed_names, model.coordinate_names), (Q, U, A, times)
    dynamics = InverseDynamicsDerivatives(model, *names, torques[0], torques[1], torques[2], given_motion, external)
    joint_names, frame_names = tuple(w.joint for w in wanted), tuple(w.frame for w in wanted)
    bodies = tuple(placement_of(model, w.joint, w.side).body for w in wanted)
    return JointReactionDerivatives(
        model, joint_names, bodies, frame_names, values, slopes[0], slopes[1], slopes[2], dynamics, acting
    )


def _again(out: JointReactionDerivatives, model: Model, wanted: Sequence[LoadChoice], frames: int) -> list[FloatArray]:
    """The arrays of an earlier result, which are all written."""
    d, loads = out.inverse_dynamics, len(out.joint_names)
    if out.model is not model or out._acting.wanted != tuple(wanted) or out.load.size != 6 * loads * frames:
        raise InvalidInput(
            f"out is a result for {out.model.name!r} with {loads} loads in arrays {out.load.shape}; it needs one of "
            f"this model with the same joints, bodies and frames, and {frames} frame(s)"
        )
    arrays = (d.dtau_dq, d.dtau_du, d.dtau_dudot, out.dload_dq, out.dload_du, out.dload_dudot, out.load)
    return [x.reshape(frames, x.size // max(frames, 1)) for x in arrays]


def _sections(model: Model, c: CompiledModel, wanted: Sequence[LoadChoice]) -> Sections:
    """What the kernel needs to know about the loads that are asked for."""
    count, n = len(wanted), c.tree.parent.size
    node, point_node, frame_node = (np.zeros(count, dtype=np.int64) for _ in range(3))
    sign, offset, turn = np.ones(count), np.zeros((count, 3)), np.zeros((count, 9))
    for k, (joint, side, frame) in enumerate(wanted):
        node[k] = c.joint_node[joint]
        if (side == "child") == c.joint_reversed[joint]:
            sign[k] = -1.0
        own, place = placement_of(model, joint, side), model.placement(frame)
        point_node[k], offset[k] = c.body_node[own.body], (c.body_pose[own.body] @ placed(own)).p
        frame_node[k] = c.body_node[place.body]
        turn[k] = (c.body_pose[place.body] @ placed(place)).R.ravel()
    above = np.eye(n, dtype=np.int64)
    for i in range(1, n):
        above[i] |= above[c.tree.parent[i]]
    return Sections(node, sign, point_node, offset, frame_node, turn, above)
