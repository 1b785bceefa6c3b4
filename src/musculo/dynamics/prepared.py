"""One frame in a call: a model prepared once, for controllers and learners that step one state at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import accelerations_of, coordinates_of, speeds_of
from musculo.compile.frame_arrays import frames_of
from musculo.dynamics.embedded_dynamics import embedded_dynamics
from musculo.dynamics.forward import SINGULAR_HINGE, forward_dynamics, impossible_inertias
from musculo.dynamics.inverse import inverse_dynamics, mass_matrix
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.embedding.embedding import CONSISTENT, embedding_of
from musculo.errors import InvalidInput
from musculo.kernels.constraints.coupler_frames import RuledFrames, rule_frames
from musculo.kernels.constraints.embedded_acceleration import EmbeddedTree, embedded_frame
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import (
    ForwardFrames,
    LoadFrames,
    MotionFrames,
    TorqueFrames,
    aba_frames,
    crba_frames,
    kinematics_frames,
    rnea_frames,
)
from musculo.model.model import Model

_DOUBLE = np.dtype(float)
_NO_WRENCH = np.zeros((0, 6))
_NO_LOADS = LoadFrames(_NO_WRENCH, False)


class _All:
    """Whether a test holds for all numbers of an array; for short ones in a fifth of the time of NumPy's `all`.

    Args: test: a function of arrays that writes truths, such as `np.isfinite`. arguments: its own, the array first.
    """

    __slots__ = ("_arguments", "_bytes", "_test")

    def __init__(self, test: Callable[..., Any], *arguments: Any) -> None:
        self._bytes = bytearray(b"\x01" * max(arguments[0].size, 1))
        truths = np.frombuffer(self._bytes, dtype=bool)[: arguments[0].size]
        self._test, self._arguments = test, (*arguments, truths)

    def __call__(self) -> bool:
        self._test(*self._arguments)
        return 0 not in self._bytes


class Prepared:
    """A model whose arrays are handed to the kernels once; made by `prepared(model)`.

    Its methods take one frame: arrays of float64 with all coordinates or speeds of the file in its order [rad, m].
    They answer with the same numbers as the functions of the same names, in a few microseconds instead of tens: to the
    last bit, but for `forward_dynamics` under couplers, which differs by rounding. What these check, they check, with
    one exception: plain arrays are not looked at for degrees and millimeters. Other arrays, lists and labeled ones go
    through the checks of the functions, which takes longer.

    Results are new arrays, or are written to `out`. Calls from several threads wait for each other: for work at the
    same time give each thread a `Prepared` of its own. Processes may be sent one: it is prepared anew there.
    """

    def __init__(self, model: Model) -> None:
        c = compiled(model)
        self.model, self._compiled = model, c
        n, n_u, nodes = len(model.coordinate_names), c.n_u, c.tree.parent.size
        self._lock = Lock()
        # q, u and udot or tau side by side, to be looked at together
        self._given = np.zeros(n + 2 * n_u)
        self._q, self._u, self._a = self._given[:n], self._given[n : n + n_u], self._given[n + n_u :]
        q, u, a = self._q.reshape(1, -1), self._u.reshape(1, -1), self._a.reshape(1, -1)
        self._quaternions = c.quaternion_columns
        tau, mass = np.zeros((1, n_u)), np.zeros((1, n_u * n_u))
        self._tau, self._mass = tau[0], mass.reshape(n_u, n_u)
        found = TorqueFrames(tau, _NO_WRENCH)
        self._rnea = rnea_frames.bound(c.tree, c.table, MotionFrames(q, u, a), _NO_LOADS, found, 0, 1)
        self._crba = crba_frames.bound(c.tree, c.table, q, mass, 0, 1)
        self._motion, none = np.zeros((1, MOTION_ROWS * nodes)), np.zeros((0, 6 * n_u))
        tree = (c.tree, c.table, MotionFrames(q, u, a))
        self._moving = kinematics_frames.bound(*tree, True, self._motion, none, 0, 1)
        self._still = kinematics_frames.bound(*tree, False, self._motion, none, 0, 1)
        self._bind_accelerations(q, u, a)
        self._fine, self._fine_q = _All(np.isfinite, self._given), _All(np.isfinite, self._q)
        self._fine_tau, self._fine_udot = _All(np.isfinite, self._tau), _All(np.isfinite, self._udot)
        self._regular = _All(np.greater, self._pivot, SINGULAR_HINGE)

    def _bind_accelerations(self, q: FloatArray, u: FloatArray, tau: FloatArray) -> None:
        """What `forward_dynamics` calls: rules and then the recursion, or the embedded equations with their rules."""
        model, c, e = self.model, self._compiled, embedding_of(self.model)
        udot, pivot, self._time = np.zeros((1, c.n_u)), np.ones((1, c.n_u)), np.zeros(1)
        self._udot, self._pivot, self._bias = udot[0], pivot[0], np.zeros(c.n_u)
        self._rules: Any = None
        self._recursion: Any = None
        self._embedded: Any = None
        own = embedded_dynamics(model) if e.rules else None
        # Of what is left, the function says more, or knows another way.
        if e.unsolved or e.loops or (e.rules and own is None) or impossible_inertias(model):
            return
        if own is not None and own.rows is not None:
            if not e.selects:
                system = EmbeddedTree(c.tree, c.table, *own.rows, own.followers)
                self._embedded = embedded_frame.bound(system, self._time, self._given, SINGULAR_HINGE, self._udot)
                return
            slopes = np.zeros((1, max(len(own.followers.inputs), 1)))
            made = np.empty_like(q), np.empty_like(u)
            bias = self._bias.reshape(1, -1)
            self._rules = rule_frames.bound(*own.rows, self._time, RuledFrames(q, u, *made, bias, slopes), 0, 1)
        free = set(e.speed_names)
        prescribed = np.array([int(name not in free) for name in model.speed_names], dtype=np.int64)
        frames = ForwardFrames(q, u, tau, udot, pivot)
        self._recursion = aba_frames.bound(c.tree, c.table, frames, prescribed, _NO_LOADS, 0, 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Prepared, (self.model,)

    def __repr__(self) -> str:
        return f"Prepared({self.model.name!r})"

    # --- what it answers --------------------------------------------------------------------------------------------
    def inverse_dynamics(
        self, q: ArrayLike, u: ArrayLike, udot: ArrayLike, out: FloatArray | None = None
    ) -> FloatArray:
        """tau (n_u,) = M(q) udot + C(q, u) + g(q), as `musculo.inverse_dynamics` without loads."""
        with self._lock:
            self._take(q)
            self._take_speeds(u)
            self._take_last(udot, "udot")
            self._rnea()
            if not (self._fine() and self._fine_tau()) or self._unturned():
                self._tau[:] = inverse_dynamics(self.model, self._q, self._u, self._a)
            return _result(self._tau, out)

    def mass_matrix(self, q: ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """M(q) (n_u, n_u) of the tree before any embedding, as `musculo.mass_matrix`."""
        with self._lock:
            self._take(q)
            self._crba()
            if not self._fine_q() or self._unturned():
                self._mass[:] = mass_matrix(self.model, self._q)
            return _result(self._mass, out)

    def forward_dynamics(
        self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, time: float = 0.0, out: FloatArray | None = None
    ) -> FloatArray:
        """udot (n_u,) under generalized forces tau and gravity, as `musculo.forward_dynamics` without loads.

        Couplers, locked and prescribed coordinates are embedded. Models with closed loops, with rules for the angles of
        ball and free joints, or with bodies of a negative moment of inertia are answered by that function, in its time.

        Args:
            q, u: (n,) and (n_u,), consistent with couplers, locks and prescribed motions.
            tau: (n_u,) generalized forces of the tree.
            time: for prescribed motions [s].
            out: (n_u,) where to write the result.

        Raises:
            InvalidInput, SingularSystem, Unsupported: as that function.
        """
        with self._lock:
            self._take(q)
            self._take_speeds(u)
            self._take_last(tau, "tau")
            if not self._accelerated(time):
                self._udot[:] = forward_dynamics(self.model, self._q, self._u, self._a, time=time)
            return _result(self._udot, out)

    def _accelerated(self, time: float) -> bool:
        """Whether kernels found accelerations; where not, the function says why, or finds them."""
        if self._unturned() or not self._fine() or not (isinstance(time, float | int) and math.isfinite(time)):
            return False
        self._time[0] = time
        if self._embedded is not None:
            return self._embedded() <= CONSISTENT and self._fine_udot()
        if self._recursion is None or (self._rules is not None and not self._rules() <= CONSISTENT):
            return False
        self._udot[:] = self._bias
        self._recursion()
        return self._regular() and self._fine_udot()

    def kinematics(self, q: ArrayLike, u: ArrayLike | None = None, udot: ArrayLike | None = None) -> Kinematics:
        """Poses of every body and, where speeds are given, velocities and accelerations, as `musculo.kinematics`."""
        with self._lock:
            if u is None:
                if udot is not None:
                    raise InvalidInput("udot is given without u; pass u as well (zeros if the model is at rest)")
                self._take(q)
                order, fine = 0, self._fine_q()
                self._still()
            else:
                self._take(q)
                self._take_speeds(u)
                if udot is None:
                    self._a[:] = 0.0
                else:
                    self._take_last(udot, "udot")
                order, fine = 1 if udot is None else 2, self._fine()
                self._moving()
            if not fine or self._unturned():
                speeds, rates = self._u.copy() if order > 0 else None, self._a.copy() if order > 1 else None
                return kinematics(self.model, self._q.copy(), speeds, rates)
            at = self._q.reshape(1, -1).copy()
            return Kinematics.of_rows(self.model, self._compiled, self._motion.copy(), at, order)

    def _unturned(self) -> bool:
        """Whether a quaternion has no direction, of which the functions say more."""
        return any(not self._q[columns].any() for columns in self._quaternions) if self._quaternions else False

    # --- arguments --------------------------------------------------------------------------------------------------
    def _take(self, q: ArrayLike) -> None:
        """Copy q to where kernels read it."""
        if type(q) is np.ndarray and q.dtype is _DOUBLE and q.shape == self._q.shape:
            self._q[:] = q
        else:
            self._q[:] = _single("q", coordinates_of(self.model, q))

    def _take_speeds(self, u: ArrayLike) -> None:
        """Copy u."""
        if type(u) is np.ndarray and u.dtype is _DOUBLE and u.shape == self._u.shape:
            self._u[:] = u
        else:
            self._u[:] = _single("u", speeds_of(self.model, u))

    def _take_last(self, value: ArrayLike, name: str) -> None:
        """Copy udot or tau."""
        if type(value) is np.ndarray and value.dtype is _DOUBLE and value.shape == self._a.shape:
            self._a[:] = value
        elif name == "tau":
            self._a[:] = _single(name, frames_of(name, value, self.model.speed_names))
        else:
            self._a[:] = _single(name, accelerations_of(self.model, value))


def _single(name: str, found: tuple[FloatArray, bool]) -> FloatArray:
    rows, single = found
    if not single:
        raise InvalidInput(
            f"{name} has {len(rows)} frames; a prepared model takes one, of shape ({rows.shape[1]},): call it frame by "
            "frame, or use the function of the same name, which takes all frames at once"
        )
    return rows[0]


def _result(found: FloatArray, out: FloatArray | None) -> FloatArray:
    if out is None:
        return found.copy()
    if not isinstance(out, np.ndarray) or out.shape != found.shape or out.dtype != _DOUBLE or not out.flags.writeable:
        stated = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InvalidInput(f"out is {stated}; it needs a writeable array of float64 with the shape {found.shape}")
    out[...] = found
    return out


def prepared(model: Model) -> Prepared:
    """A model prepared for calls of one frame at a time.

    Args: model: the model; a changed one is another, to be prepared anew.

    Raises:
        InvalidInput: the argument is not a model.
    """
    return Prepared(model)
