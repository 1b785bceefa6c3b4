"""A model as a differential equation of all its bodies: positions, Euler parameters, multipliers for every joint."""

from __future__ import annotations

import numpy as np

from musculo.absolute.absolute_forward_dynamics import FreeMotion
from musculo.arrays import FloatArray
from musculo.embedding.embedded_motion import CONSISTENT
from musculo.errors import InvalidInput
from musculo.model.model import Model
from musculo.simulation.equations.systems import System
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import Landed


class AbsoluteSystem(System):
    """y = (x, v): every body's position, Euler parameters and velocities, and the coordinates of joints.

    Antunes2025 leaves forward dynamics open. Accelerations are those of the augmented Lagrangian, which equations that
    repeat each other do not disturb; steps are projected onto the constraints in the metric of the mass matrix, or
    held near them by Baumgarte's rate.

    Args:
        model: the model.
        acting: what acts on it.
        stabilization: Baumgarte's rate [1/s].
        projects: whether states that it gives are brought onto the constraints.
    """

    def __init__(self, model: Model, acting: Acting, stabilization: float, projects: bool) -> None:
        super().__init__(model, acting)
        self.stabilization, self.projects = stabilization, projects
        rate = [f"{stabilization:g} /s"] if stabilization or not projects else []
        self.stabilized = ", ".join((["project"] if projects else []) + rate)
        self.motion = FreeMotion(model)
        self.n_z = self.motion.n_x

    def state(self, t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        y = self.motion.states(q[None], u[None])[0]
        off = np.abs(self.motion.missed(t, y))
        if off.max(initial=0.0) > CONSISTENT:
            name = self.motion.equation_names[int(np.argmax(off))]
            raise InvalidInput(
                f"the coordinates at the start are off constraint {name!r}, by {off.max():.3g}; "
                "musculo.simulation.project_position(model, ...) brings them onto it"
            )
        self.guess = q.copy()
        return self.motion.project(t, y)

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        x, v = self.motion.split(y[None])
        q, u = self._model_state(t, y)
        tau = self.acting(t, q, u)
        accelerations, _ = self.motion.accelerations(np.array([t]), y[None], tau[None], self.stabilization)
        return np.concatenate([self.motion.positions_rate(x[0], v[0]), accelerations[0]])

    def settled(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The state nearest to y on the constraints, and its rates."""
        found = self.motion.project(t, y)
        return found, self.rates(t, found)

    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.projects:
            y = np.stack([self.motion.project(float(at), one) for at, one in zip(t, y, strict=True)])
        q, u = self.motion.model_state(t, y)
        self._follow(q, guess)
        return q, u

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._model_state(t, self.motion.project(t, y) if self.projects else y)

    def accept(self, t: float, y: FloatArray, known: Landed | None = None) -> FloatArray:
        self.guess = super().accept(t, y, known)
        return self.guess

    def accelerations(self, t: FloatArray, q: FloatArray, u: FloatArray, tau: FloatArray) -> FloatArray:
        return self.motion.accelerations(t, self.motion.states(q, u), tau)[1]

    def _model_state(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        q, u = self.motion.model_state(np.array([t]), y[None])
        self._follow(q, self.guess[None])
        return q[0], u[0]

    def _follow(self, q: FloatArray, guess: FloatArray) -> None:
        """Quaternions with the sign of those nearby, and angles that do not jump by full turns."""
        for joint in self._turning:
            at = list(joint.q)
            if len(at) == 4:
                flip = np.sum(q[:, at] * guess[:, at], axis=1) < 0.0
                q[np.ix_(flip, at)] *= -1.0
            else:
                q[:, at] += 2.0 * np.pi * np.round((guess[:, at] - q[:, at]) / (2.0 * np.pi))
