"""Accelerations of one state after the other, for integrators: checked and allocated once, then called often.

The functions of `musculo.dynamics` serve many frames at a time and say all about them; an integrator asks for one state
some thousand times, and what it asks for differs little from what it asked before.
"""

from __future__ import annotations

import numpy as np

from musculo.compile.compiled import compiled
from musculo.compile.frames import FloatArray
from musculo.dynamics.constraints import constrained_acceleration, constraint_equations
from musculo.dynamics.embedded import embedded_dynamics
from musculo.dynamics.forward import SINGULAR_HINGE, forward_dynamics
from musculo.embedding.body_equations import BodyEquation
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loop import SEARCH, SINGULAR
from musculo.embedding.projection import TurningPoint
from musculo.embedding.rates import turning_joints
from musculo.errors import InvalidInput, SingularSystem
from musculo.kernels.closed import closed_frames
from musculo.kernels.driven import driven_closed, driven_tree
from musculo.kernels.frames import aba_frames
from musculo.model.model import Model
from musculo.simulation.acting import Acting
from musculo.simulation.constrained_state import ConstrainedState
from musculo.simulation.dead_points import dead_point

_NO_WRENCH = np.zeros((0, 6))


class ConstrainedRates:
    """udot of all speeds with constraints as equations: `constrained_acceleration`, one state at a time.

    Where constraints are between bodies or are rules of coordinates one kernel does everything; where some are the
    user's own equations, and at states that it leaves to slower methods, `constrained_acceleration` is called.

    Args:
        model: the model.
        stabilisation: Baumgarte's rate [1/s].
    """

    def __init__(self, model: Model, stabilisation: float = 0.0) -> None:
        self.model, self.stabilisation = model, stabilisation
        system = constraint_equations(model)
        # None where the kernel does not serve
        self.state = ConstrainedState(model, stabilisation) if ConstrainedState.serves(model) else None
        self.multipliers = np.zeros((1, system.count))  # of the last state
        looped = self.state is not None and all(isinstance(e, BodyEquation) for e in system.equations)
        # (m, n_u) G of the last state; None where not all of it belongs to constraints between bodies
        self.jacobian = self.state.jacobian if self.state is not None and looped else None

    def __call__(self, q: FloatArray, u: FloatArray, tau: FloatArray | Acting, time: float = 0.0) -> FloatArray:
        """udot (n_u,) at coordinates q (n,), speeds u (n_u,) and generalised forces tau (n_u,), or what gives them."""
        if self.state is not None:
            found = self.state.rates(time, np.concatenate([q, u]), *_forces(tau, time, q, u))
            if found is not None:
                self.multipliers[0] = self.state.multipliers
                return found[len(q) :]
        if isinstance(tau, Acting):
            tau = tau(time, q, u)
        motion = constrained_acceleration(self.model, q, u, tau, time=time, stabilisation=self.stabilisation)
        self.multipliers[0] = motion.multipliers
        return motion.udot


def _forces(tau: FloatArray | Acting, time: float, q: FloatArray, u: FloatArray) -> tuple[FloatArray, int]:
    """Generalised forces that are known, and the address of a C function that adds the others; 0 for none."""
    if not isinstance(tau, Acting):
        return np.ascontiguousarray(tau, dtype=float), 0
    return (tau.constant, tau.address) if tau.address else (tau(time, q, u), 0)


class EmbeddedRates:
    """zudot of the independent speeds: `forward_dynamics` through the embedding, one state at a time.

    Where the model's only rule is one closed loop of plain coordinates one kernel does everything; else
    `forward_dynamics` is called. Either way the branch is an input: a pose near the state, for instance the last one.

    Args:
        model: the model.
    """

    def __init__(self, model: Model) -> None:
        e = self._embedding = embedding_of(model)
        self.model, self._turning = model, bool(turning_joints(model))
        self._at = [model.coordinate_index(name) for name in e.coordinate_names]
        self._u_at = [model.speed_index(name) for name in e.speed_names]
        self._loop = e.loops[0] if len(e.loops) == 1 else None
        dynamics = embedded_dynamics(model)
        # a loop that was fitted, or is differentiated numerically, is not that of the kernel
        if self._loop is None or len(e.steps) > 1 or dynamics is None or dynamics.loop is None:
            self._loop = None
            return
        c, n, n_u = compiled(model), len(model.coordinate_names), len(model.speed_names)
        self._guess, self._q = np.zeros((1, n)), np.zeros((1, n))
        self._u, self._tau, self._udot = np.zeros((1, n_u)), np.zeros((1, n_u)), np.zeros((1, n_u))
        self._pivot, self._done, self._margin = np.ones((1, n_u)), np.zeros(1), np.zeros(1)
        states = (self._guess, self._q, self._u, self._tau, _NO_WRENCH, False)
        results = (self._udot, self._pivot, self._done, self._margin)
        self._inputs = (c.tree, c.table, self._loop.table, SEARCH, dynamics.followers, *states, *results)

    def __call__(
        self, z: FloatArray, zu: FloatArray, tau: FloatArray | Acting, guess: FloatArray, time: float = 0.0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """zudot (n_zu,), and all coordinates q (n,) and speeds u (n_u,) of the state.

        Args:
            z, zu: independent coordinates and speeds.
            tau: (n_u,) generalised forces of the tree, or what gives them.
            guess: (n,) a pose on the branch that is meant.
            time: for prescribed motion [s].

        Raises: as `Embedding.coordinates` and `forward_dynamics`.
        """
        if self._loop is not None:
            self._guess[0] = guess
            self._q[0, self._at], self._u[0, self._u_at] = z, zu
            self._closed(tau, time)
            fine = self._done[0] == 1.0 and self._margin[0] > SINGULAR and self._pivot.min() > SINGULAR_HINGE
            if fine and np.isfinite(self._udot).all():
                return self._udot[0, self._u_at], self._q[0].copy(), self._u[0].copy()
        try:
            motion = self._embedding.motion(z, zu, time=time, guess=guess)
        except TurningPoint:
            if not self._at:
                raise
            raise SingularSystem(dead_point(self._embedding, guess)) from None
        if isinstance(tau, Acting):
            tau = tau(time, motion.q, motion.u)
        try:
            udot = forward_dynamics(self.model, motion.q, motion.u, tau, time=time)
        except InvalidInput:
            if not self._at:
                raise
            # so steep that a pose which closes the loop to rounding does not give the same speeds twice
            raise SingularSystem(dead_point(self._embedding, motion.q)) from None
        if not np.isfinite(udot).all():
            raise InvalidInput("the acceleration is beyond the range of floating-point numbers; check the state")
        if self._turning:
            # angles of a ball may be independent one by one, and derivatives of speeds are no speeds then
            zudot = np.asarray(np.linalg.lstsq(motion.J, udot - motion.b, rcond=None)[0], dtype=float)
            return zudot, motion.q, motion.u
        return self._embedding.independent_speeds(motion.q, udot), motion.q, motion.u

    def _closed(self, tau: FloatArray | Acting, time: float) -> None:
        """Everything by the kernel; where forces follow the state it is found first, and they at it."""
        if not isinstance(tau, Acting) or not tau.varies:
            self._tau[0] = tau.constant if isinstance(tau, Acting) else tau
            closed_frames(*self._inputs, 0, 1)
        elif tau.address:
            self._tau[0] = tau.constant
            driven_closed(tau.address, time, self._q, self._u, self._tau, self._guess, *self._inputs)
        else:
            self._tau[0] = 0.0
            closed_frames(*self._inputs, 0, 1)
            if self._done[0] == 1.0:
                self._guess[0] = self._q[0]
                self._tau[0] = tau(time, self._q[0].copy(), self._u[0].copy())
                closed_frames(*self._inputs, 0, 1)


class TreeRates:
    """udot of a tree without any rule: `forward_dynamics`, one state at a time.

    Args:
        model: the model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        c, n, n_u = compiled(model), len(model.coordinate_names), len(model.speed_names)
        self._q, self._u = np.zeros((1, n)), np.zeros((1, n_u))
        self._tau, self._udot, self._pivot = np.zeros((1, n_u)), np.zeros((1, n_u)), np.ones((1, n_u))
        free = np.zeros(n_u, dtype=np.int64)
        states = (self._q, self._u, self._tau, self._udot, free, _NO_WRENCH, False, self._pivot)
        self._arguments = (c.tree, c.table, *states)

    def __call__(self, q: FloatArray, u: FloatArray, tau: FloatArray | Acting, time: float = 0.0) -> FloatArray:
        """udot (n_u,) at coordinates q (n,), speeds u (n_u,) and generalised forces tau (n_u,), or what gives them."""
        self._q[0], self._u[0] = q, u
        if isinstance(tau, Acting) and tau.address:
            self._tau[0] = tau.constant
            driven_tree(tau.address, time, self._q, self._u, self._tau, *self._arguments)
        else:
            self._tau[0] = tau(time, q, u) if isinstance(tau, Acting) else tau
            aba_frames(*self._arguments, 0, 1)
        if self._pivot.min(initial=1.0) > SINGULAR_HINGE and np.isfinite(self._udot).all():
            return self._udot[0].copy()
        # slower, and says what is wrong
        force = tau(time, q, u) if isinstance(tau, Acting) else tau
        return forward_dynamics(self.model, q, u, force, time=time, threads=1)
