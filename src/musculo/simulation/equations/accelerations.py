"""Accelerations of one state after the other, for integrators: checked and allocated once, then called often.

The functions of `musculo.dynamics` serve many frames at a time and say all about them; an integrator asks for one state
some thousand times, and what it asks for differs little from what it asked before.
"""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constrained_acceleration, constraint_equations
from musculo.dynamics.forward import forward_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.loops.methods.loop_projection import TurningPoint
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidInput, SingularSystem
from musculo.model.model import Model
from musculo.simulation.checks.dead_points import dead_point
from musculo.simulation.equations.embedded_state import EmbeddedState, embedded_state
from musculo.simulation.equations.multiplier_evaluation import ConstrainedState
from musculo.simulation.forces.acting import Acting


class ConstrainedRates:
    """udot of all speeds with constraints as equations: `constrained_acceleration`, one state at a time.

    Where constraints are between bodies or are rules of coordinates one kernel does everything; where some are the
    user's own equations, and at states that it leaves to slower methods, `constrained_acceleration` is called.

    Args:
        model: the model.
        stabilization: Baumgarte's rate [1/s].
    """

    def __init__(self, model: Model, stabilization: float = 0.0) -> None:
        self.model, self.stabilization = model, stabilization
        system = constraint_equations(model)
        # None where the kernel does not serve
        self.state = ConstrainedState(model, stabilization) if ConstrainedState.serves(model) else None
        self.multipliers = np.zeros((1, system.count))  # of the last state
        looped = self.state is not None and all(isinstance(e, BodyEquation) for e in system.equations)
        # (m, n_u) G of the last state; None where not all of it belongs to constraints between bodies
        self.jacobian = self.state.jacobian if self.state is not None and looped else None

    def __call__(self, q: FloatArray, u: FloatArray, tau: FloatArray | Acting, time: float = 0.0) -> FloatArray:
        """udot (n_u,) at coordinates q (n,), speeds u (n_u,) and generalized forces tau (n_u,), or what gives them."""
        if self.state is not None:
            found = self.state.rates(time, np.concatenate([q, u]), *_forces(tau, time, q, u))
            if found is not None:
                self.multipliers[0] = self.state.multipliers
                return found[len(q) :]
        if isinstance(tau, Acting):
            tau = tau(time, q, u)
        motion = constrained_acceleration(self.model, q, u, tau, time=time, stabilization=self.stabilization)
        self.multipliers[0] = motion.multipliers
        return motion.udot


def _forces(tau: FloatArray | Acting, time: float, q: FloatArray, u: FloatArray) -> tuple[FloatArray, int]:
    """Generalized forces that are known, and the address of a C function that adds the others; 0 for none."""
    if not isinstance(tau, Acting):
        return np.ascontiguousarray(tau, dtype=float), 0
    return (tau.constant, tau.address) if tau.address else (tau(time, q, u), 0)


class EmbeddedRates:
    """zudot of the independent speeds: `forward_dynamics` through the embedding, one state at a time.

    Where `EmbeddedState` serves the model one kernel does everything; else, and at states that it leaves to slower
    methods, `forward_dynamics` is called. Either way the branch of a loop is an input: a pose near the state, for
    instance the last one.

    Args:
        model: the model.
    """

    def __init__(self, model: Model) -> None:
        self._embedding = embedding_of(model)
        self.model, self._turning = model, bool(turning_joints(model))
        self._n_z = len(self._embedding.coordinate_names)
        self.state = embedded_state(model)  # None where no kernel serves

    def __call__(
        self, z: FloatArray, zu: FloatArray, tau: FloatArray | Acting, guess: FloatArray, time: float = 0.0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """zudot (n_zu,), and all coordinates q (n,) and speeds u (n_u,) of the state.

        Args:
            z, zu: independent coordinates and speeds.
            tau: (n_u,) generalized forces of the tree, or what gives them.
            guess: (n,) a pose on the branch that is meant.
            time: for prescribed motion [s].

        Raises: as `Embedding.coordinates` and `forward_dynamics`.
        """
        if self.state is not None:
            f = self._compiled(self.state, np.concatenate([z, zu]), tau, guess, time)
            if f is not None:
                return f[self._n_z :], self.state.q.copy(), self.state.u.copy()
        try:
            motion = self._embedding.motion(z, zu, time=time, guess=guess)
        except TurningPoint:
            if not self._n_z:
                raise
            raise SingularSystem(dead_point(self._embedding, guess)) from None
        if isinstance(tau, Acting):
            tau = tau(time, motion.q, motion.u)
        try:
            udot = forward_dynamics(self.model, motion.q, motion.u, tau, time=time, threads=1)
        except InvalidInput:
            if not self._n_z:
                raise
            # so steep that a pose which closes the loop to rounding does not give the same speeds twice
            raise SingularSystem(dead_point(self._embedding, motion.q)) from None
        if not np.isfinite(udot).all():
            raise InvalidInput("the acceleration is beyond the range of floating-point numbers; check the state")
        if self._turning:
            # angles of a ball may be independent one by one, and derivatives of speeds are no speeds then
            zudot = np.asarray(np.linalg.lstsq(motion.J, udot - motion.b, rcond=None)[0], dtype=float)
            return zudot, motion.q, motion.u
        return self._embedding.independent_accelerations(motion.q, udot), motion.q, motion.u

    def _compiled(
        self, state: EmbeddedState, y: FloatArray, tau: FloatArray | Acting, guess: FloatArray, time: float
    ) -> FloatArray | None:
        """Rates by the kernel; where forces in Python follow the state it is found first, and they at it."""
        if not isinstance(tau, Acting):
            return state.rates(time, y, tau, 0, guess)
        if not tau.varies or tau.address:
            return state.rates(time, y, tau.constant, tau.address, guess)
        if state.rates(time, y, np.zeros(len(state.u)), 0, guess) is None:
            return None
        q = state.q.copy()
        return state.rates(time, y, tau(time, q, state.u.copy()), 0, q)
