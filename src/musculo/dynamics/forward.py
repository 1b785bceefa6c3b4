"""Accelerations from forces, with couplers, locked and prescribed coordinates and closed loops embedded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import finite, frames_of, same_frames
from musculo.dynamics.embedded_dynamics import EmbeddedDynamics, embedded_dynamics
from musculo.dynamics.inverse import (
    Device,
    check_device,
    inverse_dynamics,
    mass_matrix,
    on_gpu,
    on_host,
    resident_frames,
)
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed, node_wrenches, part
from musculo.dynamics.poses import kinematics
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import CONSISTENT, Embedding, embedding_of, times_of
from musculo.errors import InvalidInput, SingularSystem, Unsupported
from musculo.kernels.tree.tree_frames import ForwardFrames, LoadFrames, aba_frames, over_frames
from musculo.model.model import Model
from musculo.model.validate import negative_inertias
from musculo.results.table import Table

# A hinge inertia below this part of the articulated inertia it is taken from is rounding, not mass.
SINGULAR_HINGE = 1e-13
# Frames of an embedded model done at once: each holds its Jacobian and mass matrix.
_CHUNK = 4096


class _Given(NamedTuple):
    """Some frames of what is asked, and how to compute them."""

    model: Model
    c: CompiledModel
    e: Embedding
    Q: FloatArray  # (frames, n), and on: of these frames
    U: FloatArray
    T: FloatArray
    loads: list[ExternalLoad]
    time: FloatArray
    first: int  # the number of the first of them, for messages
    threads: int | None
    device: Device

    def wrenches(self) -> FloatArray | None:
        """(frames, 6 n) of the loads on all nodes; None without loads."""
        if not self.loads:
            return None
        return node_wrenches(
            self.c,
            self.loads,
            len(self.Q),
            lambda: kinematics(self.model, on_host(self.Q), threads=self.threads),
        )


def forward_dynamics(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    tau: ArrayLike,
    loads: Loads = (),
    time: ArrayLike = 0.0,
    *,
    threads: int | None = None,
    device: Device = "cpu",
    to_device: bool = False,
) -> FloatArray:
    """udot of all speeds under generalized forces tau, gravity and external loads; respects the embedding.

        J^T M J zudot = J^T (tau - C(q, u) - g(q) + J_ext^T loads - M b),   udot = J zudot + b

    Where J merely selects coordinates (locked or prescribed ones, or none) the articulated-body recursion is used.

    Args:
        model: the model.
        q, u: (frames, n) or (n,) coordinates and speeds of all the file, consistent with couplers and locks.
        tau: (frames, n_u) or (n_u,) generalized forces of the tree; those on locked coordinates do nothing.
        loads: from outside, for instance ground reactions.
        time: (frames,) or a number, for prescribed motion [s].
        threads: the number of threads; all cores by default.
        device: `gpu` runs the articulated-body recursion there, or inverse dynamics and mass matrix under couplers.
            Arrays of CuPy, PyTorch and Numba on the device are used in place, unchecked, where the model has no
            couplers, locked or prescribed coordinates and no loops; else they are copied to the host.
        to_device: leave the result on the GPU, unchecked, as an array with `__cuda_array_interface__`; of such models
            only.

    Raises:
        InvalidInput: q or u contradicts a coupler, lock, loop or prescribed motion.
        SingularSystem: a mass matrix that cannot be inverted; names the joint. A loop in a singular position.
        Unsupported: a constraint that musculo cannot compute.
    """
    c, e = compiled(model), embedding_of(model)
    refuse_carried(e.unsolved, "; switch it off (enforced=False) to compute without it")
    resident = check_device(device, to_device, q=q, u=u, tau=tau)
    if to_device and e.rules:
        raise Unsupported(
            f"accelerations of {model.name!r} do not stay on the device: {e.rules[0].dependent!r} and others depend on "
            "other coordinates or are locked, which the host works out; omit to_device"
        )
    if (resident or to_device) and not e.rules:
        return _on_device(model, q, u, tau, loads, time, threads, to_device)
    if resident:
        q, u, tau = (on_host(x) for x in (q, u, tau))
    Q, single = coordinates_of(model, q)
    U, _ = speeds_of(model, u)
    T, _ = frames_of("tau", tau, model.speed_names)
    frames = same_frames(q=Q, u=U, tau=T)
    times = times_of(time, frames)
    acting = listed(loads, frames, times if np.ndim(time) else None)
    c.check_coordinates(Q)
    own = embedded_dynamics(model) if e.rules and not on_gpu(device) else None
    if e.rules and not e.loops and own is None:
        e.check(Q, times)
    udot = np.empty_like(U)
    step = _CHUNK if e.rules else max(frames, 1)
    for start in range(0, frames, step):
        at = slice(start, min(start + step, frames))
        refuse_indefinite(model, Q[at], start)
        some = [part(load, at.start, at.stop) for load in acting]
        udot[at] = _some_frames(_Given(model, c, e, Q[at], U[at], T[at], some, times[at], start, threads, device), own)
    finite("the acceleration", udot, model.speed_names)
    return udot[0] if single else udot


def _on_device(
    model: Model,
    q: Any,
    u: Any,
    tau: Any,
    loads: Loads,
    time: ArrayLike,
    threads: int | None,
    to_device: bool,
) -> Any:
    """udot of a model without rules, where arrays are on the device or the result stays there."""
    Q, single = resident_frames("q", q, model.coordinate_names, lambda x: coordinates_of(model, x))
    U, _ = resident_frames("u", u, model.speed_names, lambda x: speeds_of(model, x))
    T, _ = resident_frames("tau", tau, model.speed_names, lambda x: frames_of("tau", x, model.speed_names))
    frames = same_frames(q=Q, u=U, tau=T)
    times = times_of(time, frames)
    acting = listed(loads, frames, times if np.ndim(time) else None)
    if impossible_inertias(model):
        refuse_indefinite(model, on_host(Q))
    given = _Given(model, compiled(model), embedding_of(model), Q, U, T, acting, times, 0, threads, "gpu")
    udot = _articulated(given, None, to_device)
    if not to_device:
        finite("the acceleration", udot, model.speed_names)
    return udot[0] if single else udot


def _some_frames(x: _Given, own: EmbeddedDynamics | None) -> FloatArray:
    model, e = x.model, x.e
    if not e.rules:
        return _articulated(x, None)
    if own is not None and e.selects:
        _, bias, poses, speeds = own.slopes_and_bias(x.Q, x.U, x.time)
        e.refuse_difference(x.Q, poses, x.first)
        _check_speeds(model, x.U, speeds, x.first)
        return _articulated(x, bias)
    if own is not None:
        return _embedded(x, own)
    motion = e.motion(e.independent(x.Q), e.independent_speeds(x.Q, x.U), time=x.time, guess=x.Q)
    if e.loops:
        e.refuse_difference(x.Q, motion.q, x.first)
    _check_speeds(model, x.U, motion.u, x.first)
    if e.selects:
        return _articulated(x, motion.b)
    rest = inverse_dynamics(model, x.Q, x.U, motion.b, x.loads, x.threads, x.device)
    J = motion.J
    mass = np.swapaxes(J, 1, 2) @ mass_matrix(model, x.Q, threads=x.threads, device=x.device) @ J
    force = np.einsum("fij,fi->fj", J, x.T - rest)
    return np.einsum("fij,fj->fi", J, _solve(model, e, mass, force, x.first)) + motion.b


def _embedded(x: _Given, own: EmbeddedDynamics) -> FloatArray:
    """udot by the compiled dynamics of the model's independent coordinates."""
    model, wrenches = x.model, x.wrenches()
    found = own.closed(model, x.Q, x.U, x.T, wrenches, x.threads)
    if found is not None:
        udot, pivot, poses, speeds = found
    else:
        slopes, bias, poses, speeds = own.slopes_and_bias(x.Q, x.U, x.time)
    x.e.refuse_difference(x.Q, poses, x.first)
    _check_speeds(model, x.U, speeds, x.first)
    if found is None:
        udot, pivot = own.accelerations(model, x.Q, x.U, x.T, slopes, bias, wrenches, x.threads)
    weak = ~(pivot > SINGULAR_HINGE)
    if weak.any():
        frame = int(np.argmax(weak.any(axis=1)))
        # Elimination runs tip to base and a failed pivot spoils those inboard of it: the outermost is to blame.
        rows = [row for row in x.c.tree.u_rows if weak[frame, row]]
        raise _singular(model, model.speed_names[rows[-1]], frame + x.first)
    return udot


def _check_speeds(model: Model, given: FloatArray, expected: FloatArray, first: int) -> None:
    error = np.abs(given - expected) / (1.0 + np.abs(expected))
    if error.size and error.max() > CONSISTENT:
        frame, column = np.unravel_index(int(error.argmax()), error.shape)
        name = model.speed_names[column]
        rule = next((rule for rule in embedding_of(model).rules if rule.dependent == name), None)
        why = "its coupler, lock, loop or prescribed motion" if rule is None else f"it is {rule.reason}, which"
        raise InvalidInput(
            f"speed {name!r} is {given[frame, column]:.6g} at frame {frame + first}, but {why} "
            f"makes it {expected[frame, column]:.6g}; make u with embedding_of(model).motion(z, zu).u"
        )


def _articulated(x: _Given, bias: FloatArray | None, to_device: bool = False) -> FloatArray:
    """udot by the articulated-body recursion; `bias` is that of prescribed speeds, None where there are none."""
    model, c = x.model, x.c
    free = set(x.e.speed_names)
    prescribed = np.array([int(name not in free) for name in model.speed_names], dtype=np.int64)
    wrenches = x.wrenches()
    loads = LoadFrames(np.zeros((0, 6)), False) if wrenches is None else LoadFrames(wrenches, True)
    if on_gpu(x.device):
        from musculo.kernels.cuda.cuda_dynamics import GivenFrames, aba_on_gpu

        given = GivenFrames(x.Q, x.U, x.T, bias)
        udot, least = aba_on_gpu(c.tree, c.table, given, prescribed, loads, to_device)
        for frame in np.flatnonzero(~(least > SINGULAR_HINGE))[:1]:  # the CPU finds out which joint it is
            Q, U, T = (on_host(array)[frame : frame + 1] for array in (x.Q, x.U, x.T))
            some, known = (
                [part(load, frame, frame + 1) for load in x.loads],
                None if bias is None else bias[frame][None],
            )
            one = x._replace(Q=Q, U=U, T=T, loads=some, first=x.first + int(frame), device="cpu")
            _articulated(one, known)
        return udot
    frames = len(x.Q)
    udot, pivot = np.zeros_like(x.U) if bias is None else np.ascontiguousarray(bias.copy()), np.ones((frames, c.n_u))
    moving = ForwardFrames(x.Q, x.U, x.T, udot, pivot)
    over_frames(aba_frames, (c.tree, c.table, moving, prescribed, loads), frames, x.threads)
    solved = prescribed[c.tree.u_rows] == 0
    weak = ~(pivot > SINGULAR_HINGE) & solved
    if weak.any():
        frame, _ = np.argwhere(weak)[0]
        # Elimination runs tip to base and a failed pivot spoils those inboard of it: the outermost is to blame.
        slots, node_of = np.flatnonzero(weak[frame]), np.repeat(np.arange(c.tree.n_u.size), c.tree.n_u)
        slot = slots[node_of[slots] == node_of[slots].max()][0]
        raise _singular(model, model.speed_names[c.tree.u_rows[slot]], int(frame) + x.first)
    return udot


def refuse_indefinite(model: Model, Q: FloatArray, first: int = 0) -> None:
    """Raise `SingularSystem` where a negative moment of inertia leaves a mass matrix that is not positive definite.

    Only such models are looked at: those of other bodies can be singular, and no worse. `first` counts the frames.
    """
    negative = impossible_inertias(model)
    if not negative or not Q.size:
        return
    e, mass = embedding_of(model), mass_matrix(model, Q)
    if e.rules:
        J = e.jacobian(Q)
        mass = np.swapaxes(J, 1, 2) @ mass @ J
    values, vectors = np.linalg.eigh(mass)
    bad = values[:, 0] <= SINGULAR_HINGE * np.abs(values).max(axis=1)
    if values.shape[1] and bad.any():
        frame = int(np.argmax(bad))
        speed = e.speed_names[int(np.argmax(np.abs(vectors[frame, :, 0])))]
        raise _indefinite(speed, frame + first, negative)


def impossible_inertias(model: Model) -> str:
    """The bodies with a negative moment of inertia; looked for once."""
    return model.derived("negative inertias", lambda: ", ".join(map(repr, negative_inertias(model.bodies))))


def _indefinite(speed: str, frame: int, negative: str) -> SingularSystem:
    return SingularSystem(
        f"no positive inertia resists the speed {speed!r} at frame {frame}: the mass matrix is singular or indefinite "
        f"there, for the inertia of {negative} has a negative moment, which no body can have; correct it (model.notes "
        "says more), or lock the coordinate"
    )


def _singular(model: Model, speed: str, frame: int) -> SingularSystem:
    negative = impossible_inertias(model)
    if negative:
        return _indefinite(speed, frame, negative)
    joint = next(joint.name for joint in model.joints if speed in joint.speed_names)
    return SingularSystem(
        f"no inertia resists the speed {speed!r} of joint {joint!r} at frame {frame}: a massless body outboard of it, "
        "or axes that coincide there; give the body mass, lock the coordinate, or use quaternion coordinates"
    )


def _solve(model: Model, e: Embedding, mass: FloatArray, force: FloatArray, first: int) -> FloatArray:
    try:
        np.linalg.cholesky(mass)
        return np.asarray(np.linalg.solve(mass, force[..., None])[..., 0], dtype=float)
    except np.linalg.LinAlgError:
        for frame, M in enumerate(mass):
            values, vectors = np.linalg.eigh(M)
            if values[0] <= SINGULAR_HINGE * values[-1]:
                raise _singular(model, e.speed_names[int(np.argmax(np.abs(vectors[:, 0])))], frame + first) from None
        raise
