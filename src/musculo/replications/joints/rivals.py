"""One joint stated as a mobilizer and as constraints on a freer joint: what both find.

Seth2010 compares them with a conventional joint of as many degrees of freedom (its tables 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constrained_acceleration, constraint_equations
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.poses import kinematics
from musculo.model.model import Model
from musculo.simulation.simulate import Formulation, simulate
from musculo.simulation.simulation import Simulation

# The paper of all of them.
SOURCE = "Seth, Sherman, Eastman and Delp 2010, Nonlinear Dyn. 62, 291-303"
# Tolerance at which the mobilizer and its rival are shown to move alike.
TIGHT = 1e-11

State = tuple[FloatArray, FloatArray]


class Rivals(NamedTuple):
    """A joint of one body in three forms; all have the same body, gravity and frames."""

    plain: Model  # a conventional joint of as many degrees of freedom
    mobilizer: Model  # the joint itself: nothing is enforced
    constrained: Model  # a freer joint and constraints
    lift: Callable[[FloatArray, FloatArray], State]  # q, u (frames, n) of the mobilizer to those of the constrained
    body: str
    point: tuple[float, float, float]  # of the body, whose place at the end tells how accurate a simulation is

    def models(self) -> dict[str, Model]:
        return {"plain": self.plain, "mobilizer": self.mobilizer, "constrained": self.constrained}

    def states(self, q: FloatArray, u: FloatArray) -> dict[str, State]:
        """States of all three from those of the mobilizer, which serve the plain joint, too."""
        return {"plain": (q, u), "mobilizer": (q, u), "constrained": self.lift(q, u)}

    def starts(self, q: FloatArray, u: FloatArray) -> dict[str, State]:
        """The same of one state, q, u (n,)."""
        return {name: (Q[0], U[0]) for name, (Q, U) in self.states(q[None], u[None]).items()}


def acceleration(model: Model, q: FloatArray, u: FloatArray, stabilization: float = 0.0) -> FloatArray:
    """udot (frames, n_u) under gravity: on one processor, by multipliers where something is enforced."""
    still = np.zeros_like(u)
    if constraint_equations(model).count:
        return constrained_acceleration(model, q, u, still, stabilization=stabilization, threads=1).udot
    return forward_dynamics(model, q, u, still, threads=1)


def acceleration_difference(rivals: Rivals, q: FloatArray, u: FloatArray) -> float:
    """The largest difference of accelerations between mobilizer and constraints [rad/s^2, m/s^2]."""
    udot = forward_dynamics(rivals.mobilizer, q, u, np.zeros_like(u))
    Q, U = rivals.lift(q, u)
    theirs = constrained_acceleration(rivals.constrained, Q, U, np.zeros_like(U)).udot
    moved = kinematics(rivals.mobilizer, q, u, udot)
    also = kinematics(rivals.constrained, Q, U, theirs)
    return max(
        float(np.abs(getattr(moved, what)(rivals.body) - getattr(also, what)(rivals.body)).max())
        for what in ("angular_acceleration", "acceleration")
    )


def run(model: Model, start: State, end: float, tolerance: float) -> Simulation:
    """A simulation under gravity by Runge-Kutta-Fehlberg, projected where constraints are kept by multipliers."""
    formulation: Formulation = "constrained" if constraint_equations(model).count else "embedded"
    return simulate(
        model, *start, (0.0, end), method="rkf45", formulation=formulation, rtol=tolerance, atol=tolerance, dense=False
    )  # fmt: skip


def same_motion(rivals: Rivals, q0: FloatArray, u0: FloatArray, end: float) -> tuple[float, Simulation, Simulation]:
    """How far apart the body's point gets in two tight simulations [m], by mobilizer and by constraints; and both."""
    starts = rivals.starts(q0, u0)
    times = np.linspace(0.0, end, 101)
    ours = simulate(rivals.mobilizer, *starts["mobilizer"], times, method="rkf45", rtol=TIGHT, atol=TIGHT)
    theirs = simulate(
        rivals.constrained, *starts["constrained"], times, method="rkf45", formulation="constrained", rtol=TIGHT,
        atol=TIGHT,
    )  # fmt: skip
    places = [kinematics(s.model, s.q).position(rivals.body, rivals.point) for s in (ours, theirs)]
    return float(np.abs(places[0] - places[1]).max()), ours, theirs


def largest(values: FloatArray) -> float:
    """The largest magnitude."""
    return float(np.abs(values).max())
