"""Exact derivatives of inverse and forward dynamics by coordinates, speeds, accelerations and forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import coordinates_of, motion_in
from musculo.compile.frame_arrays import finite, frames_of, same_frames
from musculo.dynamics.derivatives.embedded_slopes import EmbeddedSlopes, embedded_slopes
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.inverse import Device, check_device, inverse_dynamics, on_gpu, on_host
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed, node_wrenches
from musculo.dynamics.loads.moving_loads import load_columns, load_slopes, moves
from musculo.dynamics.poses import kinematics
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import Embedding, embedding_of, times_of
from musculo.embedding.speed_rates import rate_matrix
from musculo.errors import InvalidInput
from musculo.kernels.cuda.device_arrays import is_on_device
from musculo.kernels.tree.derivatives.acceleration_slopes import AccelerationFrames, acceleration_slope_frames
from musculo.kernels.tree.derivatives.torque_slope_frames import SlopeFrames, torque_slope_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model
from musculo.results.table import Table

_NO_WRENCH = np.zeros((0, 6))


class EmbeddedDerivatives(NamedTuple):
    """Derivatives of tau_z = J^T tau by independent coordinates, speeds and accelerations; frames first."""

    dtau_dz: FloatArray  # (frames, n_zu, n_z)
    dtau_dzu: FloatArray  # (frames, n_zu, n_zu)
    dtau_dzudot: FloatArray  # (frames, n_zu, n_zu) the mass matrix J^T M J


@dataclass(frozen=True, eq=False)
class InverseDynamicsDerivatives:
    """Derivatives of inverse dynamics of the tree over frames; arrays have no frame axis for a single state."""

    model: Model = field(repr=False)
    speed_names: tuple[str, ...]  # of tau: rows; and columns of dtau_du and dtau_dudot
    coordinate_names: tuple[str, ...]  # columns of dtau_dq
    dtau_dq: FloatArray = field(repr=False)  # (frames, n_u, n) by coordinates as they are in the file
    dtau_du: FloatArray = field(repr=False)  # (frames, n_u, n_u)
    dtau_dudot: FloatArray = field(repr=False)  # (frames, n_u, n_u) the mass matrix
    _given: tuple[FloatArray, FloatArray, FloatArray, FloatArray] = field(repr=False)  # q, u, udot, time; frames first
    _loads: tuple[ExternalLoad, ...] = field(repr=False)

    @cached_property
    def dtau_dmotion(self) -> FloatArray:
        """dtau/dq N(q) (frames, n_u, n_u): by a displacement along each speed, as Pinocchio's and MuJoCo's tangent.

        Equal to `dtau_dq` but for ball, free and ellipsoid joints: of these by rotations about the axes of the parent
        frame.
        """
        Q = self._given[0]
        return self._shaped(self._framed(self.dtau_dq) @ rate_matrix(self.model, Q))

    @cached_property
    def dtau_dexternal(self) -> FloatArray:
        """(frames, n_u, external loads, 9) by force, point and moment of each external load, in their frames.

        -J^T dW with W = (r x f + m, f) about ground's origin.
        """
        Q, c = self._given[0], compiled(self.model)
        found = np.zeros((len(Q), c.n_u, len(self._loads), 9))
        poses = kinematics(self.model, Q)
        twists = poses.twists().reshape(len(Q), c.n_u, 6)
        for k, load in enumerate(self._loads):
            own = twists * c.moved_by[c.body_node[load.body]][:, None]
            found[:, :, k] = -own @ load_columns(poses, load, len(Q))
        return self._shaped(found)

    @cached_property
    def independent(self) -> EmbeddedDerivatives:
        """By independent coordinates z, speeds and accelerations: couplers, locks, prescribed motions, closed loops.

            dtau_z/dz = (dJ/dz)^T tau + J^T (dtau/dq dq/dz + dtau/du du/dz + M dudot/dz)

        Names of rows and columns: `musculo.embedding_of(model)`, `speed_names` and `coordinate_names`.

        Raises:
            Unsupported: a constraint that musculo cannot compute.
            InvalidInput: q contradicts a coupler, lock, prescribed motion or loop.
            SingularSystem: a loop where its dependent coordinates have no derivatives.
        """
        Q, U, A, time = self._given
        e = _solvable_embedding(self.model)
        tau = inverse_dynamics(self.model, Q, U, A, self._loads)
        tree = (self._framed(self.dtau_dq), self._framed(self.dtau_du), self._framed(self.dtau_dudot))
        parts = pulled_back(embedded_slopes(e, Q, U, A, time), tree, tau)
        return EmbeddedDerivatives(*(self._shaped(part) for part in parts))

    @property
    def _single(self) -> bool:
        return self.dtau_dq.ndim == 2

    def _framed(self, x: FloatArray) -> FloatArray:
        return x[None] if self._single else x

    def _shaped(self, x: FloatArray) -> FloatArray:
        return x[0] if self._single else x


def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    *,
    loads: Loads = (),
    time: ArrayLike = 0.0,
    threads: int | None = None,
    device: Device = "cpu",
    out: InverseDynamicsDerivatives | None = None,
) -> InverseDynamicsDerivatives:
    """d(tau)/dq, d(tau)/du and d(tau)/d(udot) of `inverse_dynamics`, exact, for one state or many.

    `dtau_dq` is by the coordinates of the file, angles and components of quaternions included, as Drake has it and as
    differences of `inverse_dynamics` would give it; the length of a quaternion does not matter. `dtau_dmotion` is by
    displacements along the speeds, as Pinocchio has it. Their axes are (frames, rows of tau, columns).

    Source:     [Barman2020] chapter III, [Carpentier2018]; equations: `kernels/tree/derivatives/torque_slopes.py`.
    Guarantees: no finite difference. d(tau)/d(udot) is `mass_matrix`. Functions of joints are differentiated from the
                right at breakpoints.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and accelerations, as `inverse_dynamics` has them.
        loads: external loads. Their numbers stay constant: forces and points given in moving frames move with these.
        time: (frames,) or a number, for loads over time and prescribed motion [s].
        threads: the number of threads; all cores by default.
        device: `cpu` or `gpu`, where the same kernel runs; what joints of functions do comes from the CPU.
        out: a result of an earlier call for this model with as many frames, whose arrays are used again.
    """
    c = compiled(model)
    if check_device(device, False, q=q, u=u, udot=udot):
        q, u, udot = (on_host(x) if is_on_device(x) else x for x in (q, u, udot))
    Q, U, A, single = motion_in(model, q, u, udot)
    c.check_coordinates(Q)
    frames = len(Q)
    times = times_of(time, frames)
    acting = listed(loads, frames, times if np.ndim(time) else None)
    if on_gpu(device) and out is not None:
        raise InvalidInput("out is there with device='cpu'; a GPU's results come in arrays of their own")
    into = None if out is None else _again(out, model, frames)
    slopes, rates, mass = torque_slopes_at(model, Q, U, A, acting, threads=threads, device=device, into=into)
    if single:
        slopes, rates, mass = slopes[0], rates[0], mass[0]
    names = model.speed_names, model.coordinate_names
    return InverseDynamicsDerivatives(model, *names, slopes, rates, mass, (Q, U, A, times), tuple(acting))


_Slopes = tuple[FloatArray, FloatArray, FloatArray]


def torque_slopes_at(
    model: Model,
    Q: FloatArray,
    U: FloatArray,
    A: FloatArray,
    acting: Sequence[ExternalLoad] = (),
    *,
    wrenches: FloatArray | None = None,
    threads: int | None = None,
    device: Device = "cpu",
    into: _Slopes | None = None,
) -> _Slopes:
    """d(tau)/dq, d(tau)/du and d(tau)/d(udot) at states of the tree whose arrays were checked, frames first.

    Args:
        model: the model.
        Q, U, A: (frames, n_q), (frames, n_u), (frames, n_u).
        acting: loads from outside; their numbers stay constant in the frames they are given in.
        wrenches: (frames, 6 nodes) beside the loads, as `node_wrenches` has them; they stay constant in ground.
        threads, device: as `inverse_dynamics_derivatives` has them.
        into: arrays to write to, of which zeros between unrelated joints are used; on the CPU.
    """
    c, frames = compiled(model), len(Q)
    loaded, poses = bool(acting) or wrenches is not None, cache(lambda: kinematics(model, Q, threads=threads))
    if acting:
        stated = node_wrenches(c, acting, frames, poses)
        wrenches = stated if wrenches is None else stated + wrenches
    elif wrenches is None:
        wrenches = _NO_WRENCH
    if on_gpu(device):
        from musculo.kernels.cuda.cuda_dynamics import slopes_on_gpu

        nothing = np.zeros((0, 0))
        side_by_side = slopes_on_gpu(c.tree, c.table, SlopeFrames(Q, U, A, wrenches, nothing, nothing, nothing), loaded)
        parts = np.split(side_by_side, c.n_u * np.array([c.n_q, c.n_q + c.n_u]), axis=1)
        slopes, rates, mass = (p.reshape(frames, c.n_u, n) for p, n in zip(parts, (c.n_q, c.n_u, c.n_u), strict=True))
    else:
        slopes, rates, mass = _zeros(frames, c) if into is None else into
        x = SlopeFrames(Q, U, A, wrenches, *map(_flat, (slopes, rates, mass)))
        over_frames(torque_slope_frames, (c.tree, c.table, x, loaded), frames, threads)
    if any(map(moves, acting)):
        slopes += load_slopes(c, poses(), Q, acting)
    _finite("tau", slopes, model.speed_names, model.coordinate_names)
    return slopes, rates, mass


def _zeros(frames: int, c: CompiledModel) -> _Slopes:
    """One block for three arrays: freed at once, it is used again by the next call instead of going to the system."""
    block = np.zeros(frames * c.n_u * (c.n_q + 2 * c.n_u))
    parts = np.split(block, frames * c.n_u * np.array([c.n_q, c.n_q + c.n_u]))
    a, b, m = (x.reshape(frames, c.n_u, width) for x, width in zip(parts, (c.n_q, c.n_u, c.n_u), strict=True))
    return a, b, m


def _flat(x: FloatArray) -> FloatArray:
    """Matrices (frames, rows, columns) as (frames, rows columns), in place."""
    return x.reshape(len(x), x.shape[1] * x.shape[2])


def _again(out: InverseDynamicsDerivatives, model: Model, frames: int) -> _Slopes:
    """The arrays of an earlier result; what is zero in them stays so."""
    if out.model is not model or out.dtau_dq.size != frames * out.dtau_dq.shape[-2] * out.dtau_dq.shape[-1]:
        raise InvalidInput(
            f"out is a result for {out.model.name!r} with arrays {out.dtau_dq.shape}; it needs one of this model with "
            f"{frames} frame(s)"
        )
    if any(map(moves, out._loads)):
        raise InvalidInput("out has loads that move with bodies, which leave no zeros; omit out")
    a, b, c = (x.reshape(frames, *x.shape[-2:]) for x in (out.dtau_dq, out.dtau_du, out.dtau_dudot))
    return a, b, c


def mass_matrix_derivatives(model: Model, q: ArrayLike | Table, *, threads: int | None = None) -> FloatArray:
    """dM/dq (frames, n_u, n_u, n) or (n_u, n_u, n), the coordinate last; exact.

    tau is linear in udot, with M: column j of dM/dq is what a unit of udot_j adds to dtau/dq. So a frame costs n_u + 1
    calls of `inverse_dynamics_derivatives`, and takes 8 n_u n_u n bytes.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates.
        threads: the number of threads; all cores by default.
    """
    Q, single = coordinates_of(model, q)
    frames, n_u = len(Q), len(model.speed_names)
    rest = np.zeros((frames, n_u))
    still = inverse_dynamics_derivatives(model, Q, rest, rest, threads=threads).dtau_dq
    found = np.empty((frames, n_u, n_u, Q.shape[1]))
    again = None
    for j in range(n_u):
        unit = rest + np.eye(n_u)[j]
        again = inverse_dynamics_derivatives(model, Q, rest, unit, threads=threads, out=again)
        found[:, :, j] = again.dtau_dq - still
    return found[0] if single else found


@dataclass(frozen=True, eq=False)
class ForwardDynamicsDerivatives:
    """Derivatives of forward dynamics over frames; arrays have no frame axis for a single state.

    Columns are independent: all coordinates and speeds where no coupler, lock or prescribed motion is enforced.
    """

    model: Model = field(repr=False)
    speed_names: tuple[str, ...]  # of udot: rows; and columns of dudot_dtau
    coordinate_names: tuple[str, ...]  # columns of dudot_dq
    independent_speed_names: tuple[str, ...]  # columns of dudot_du
    udot: FloatArray = field(repr=False)  # (frames, n_u) as `forward_dynamics` gives it
    dudot_dq: FloatArray = field(repr=False)  # (frames, n_u, n_z)
    dudot_du: FloatArray = field(repr=False)  # (frames, n_u, n_zu)
    dudot_dtau: FloatArray = field(repr=False)  # (frames, n_u, n_u) J (J^T M J)^-1 J^T


def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    tau: ArrayLike,
    *,
    loads: Loads = (),
    time: ArrayLike = 0.0,
    threads: int | None = None,
    device: Device = "cpu",
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` at constant tau, exact; respects couplers, locks, prescribed motions, loops.

        dudot/dq = -M^-1 dtau/dq,   dudot/du = -M^-1 dtau/du,   dudot/dtau = M^-1,   with dtau at that udot

    Where coordinates depend on others, the same of J^T (tau(z) - tau), and udot = J zudot + b.

    Args:
        model: the model.
        q, u, tau, loads, time: as `forward_dynamics` has them. Numbers of loads stay constant.
        threads: the number of threads; all cores by default.
        device: `cpu` or `gpu`, which computes accelerations and slopes of forces; the CPU solves for those of
            accelerations.

    Raises:
        Unsupported: a constraint that musculo cannot compute.
        SingularSystem, InvalidInput: as `forward_dynamics`.
    """
    e = _solvable_embedding(model)
    if check_device(device, False, q=q, u=u, tau=tau):
        q, u = (on_host(x) if is_on_device(x) else x for x in (q, u))
        tau = on_host(tau) if is_on_device(tau) else tau
    udot = forward_dynamics(model, q, u, tau, loads, time, threads=threads, device=device)
    d = inverse_dynamics_derivatives(model, q, u, udot, loads=loads, time=time, threads=threads, device=device)
    T, single = frames_of("tau", tau, model.speed_names)
    Q, U, A, times = d._given
    same_frames(q=Q, tau=T)
    by_q, by_u, mass = (d._framed(x) for x in (d.dtau_dq, d.dtau_du, d.dtau_dudot))
    if not e.rules:
        parts = _solved_on_tree(model, mass, by_q, by_u, threads)
    else:
        residual = inverse_dynamics(model, Q, U, A, d._loads, threads) - T
        s = embedded_slopes(e, Q, U, A, times)
        by_z, by_zu, by_zudot = pulled_back(s, (by_q, by_u, mass), residual)
        first, second, inverse = _solved(by_zudot, by_z, by_zu, np.swapaxes(s.J, 1, 2))
        parts = s.J @ first + s.accel_by_z, s.J @ second + s.accel_by_zu, s.J @ inverse
    _finite("udot", parts[0], model.speed_names, e.coordinate_names)
    by_q, by_u, by_tau = parts
    if single:
        A, by_q, by_u, by_tau = A[0], by_q[0], by_u[0], by_tau[0]
    names = model.speed_names, e.coordinate_names, e.speed_names
    return ForwardDynamicsDerivatives(model, *names, A, by_q, by_u, by_tau)


def _finite(what: str, slopes: FloatArray, rows: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Refuse derivatives that overflowed; names the first."""
    if not np.isfinite(slopes).all():
        names = [f"d({what} of {row})/d({column})" for row in rows for column in columns]
        finite("the derivative", _flat(slopes), names)


def _solved_on_tree(
    model: Model, mass: FloatArray, by_q: FloatArray, by_u: FloatArray, threads: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """-M^-1 dtau/dq, -M^-1 dtau/du and M^-1, with a factor of M that keeps the zeros between branches."""
    frames = len(mass)
    # those of a GPU lie side by side in one array
    by_q, by_u, mass = map(np.ascontiguousarray, (by_q, by_u, mass))
    found = list(map(_flat, (by_q, by_u, mass)))
    # what the slopes of forces were in takes those of accelerations: frames are read before they are written
    over_frames(acceleration_slope_frames, (compiled(model).tree, AccelerationFrames(*found, *found)), frames, threads)
    return by_q, by_u, mass


def _solved(
    mass: FloatArray, by_q: FloatArray, by_u: FloatArray, by_tau: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """-M^-1 of the first two, M^-1 of the last."""
    n, m = by_q.shape[2], by_u.shape[2]
    found = np.linalg.solve(mass, np.concatenate([-by_q, -by_u, by_tau], axis=2))
    return found[:, :, :n], found[:, :, n : n + m], found[:, :, n + m :]


def pulled_back(
    s: EmbeddedSlopes, tree: tuple[FloatArray, FloatArray, FloatArray], tau: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of J^T tau by z, zu and zudot from those of the tree by q, u and udot."""
    by_q, by_u, mass = tree
    back = np.swapaxes(s.J, 1, 2)
    by_z = back @ (by_q @ s.G + by_u @ s.speed_by_z + mass @ s.accel_by_z)
    by_z += np.einsum("fusz,fu->fsz", s.dJ, tau[:, s.rows])
    by_zu = back @ (by_u @ s.J + mass @ s.accel_by_zu)
    return by_z, by_zu, back @ mass @ s.J


def _solvable_embedding(model: Model) -> Embedding:
    """The embedding of a model, none of whose constraints is only carried."""
    e = embedding_of(model)
    refuse_carried(e.unsolved, "; switch it off (enforced=False) to compute without it")
    return e
