"""Constraints and drivers between two moving bodies, and their equations on one complex lane."""

from __future__ import annotations

import numpy as np

from musculo.absolute import constraints, drivers
from musculo.absolute.constraints.constraint import Equations
from musculo.absolute.drivers.driver import Driver
from musculo.absolute.euler_parameters import matrix_L
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation, GivenPose
from musculo.absolute.mechanism import Mechanism
from musculo.functions import MultivariatePolynomial, Polynomial, Sine
from musculo.kernels.absolute.absolute_system import FRAME_ROWS, SCRATCH_ROWS, AbsoluteState, EquationRows, PlacedFrames
from musculo.kernels.absolute.constraint_rows import acceleration_rows, position_rows
from musculo.kernels.absolute.moving_frames import place_frames
from musculo.model.joints import Axis
from musculo.model.joints.joint import FixedPose, FunctionMotion
from support.complex_kernels import STEP
from support.dynamics_models import random_body, random_placement, random_unit

_ABSTRACT = ("Constraint", "Equations", "Driver")
KINDS = {
    name: getattr(module, name) for module in (constraints, drivers) for name in module.__all__ if name not in _ABSTRACT
}


def _moving(rng: np.random.Generator, body: str) -> Frame:
    """A frame moved by two coordinates, one of which drives a function of both."""

    def axis() -> tuple[float, float, float]:
        x, y, z = random_unit(rng).tolist()
        return (x, y, z)

    both = MultivariatePolynomial(2, 2, tuple(rng.uniform(-0.5, 0.5, size=6)))
    turns = (Axis(axis(), Sine(0.8, 1.1, 0.2, 0.0), ("s",)), Axis(axis(), both, ("s", "t")))
    slides = (Axis(axis(), Polynomial((0.3, -0.2, 0.1)), ("t",)), Axis(axis(), both, ("t", "s")))
    after = FixedPose((0.1, -0.2, 0.3), (0.3, 0.2, -0.4))
    return Frame(random_placement(rng, body), FunctionMotion(turns, slides), after, FixedPose((0.1, 0.0, 0.2)))


def example(kind: str, rng: np.random.Generator) -> tuple[Mechanism, dict[str, Given]]:
    """A mechanism of two bodies with one constraint or driver between frames off their mass centers."""
    cls = KINDS[kind]
    bodies = (random_body(rng, "first"), random_body(rng, "second"))
    one, other = Frame(random_placement(rng, "first")), Frame(random_placement(rng, "second"))
    special = {
        "CoordinateFunction": lambda: cls(
            "c", "s", ("t", "r"), MultivariatePolynomial(2, 2, tuple(rng.uniform(-1, 1, size=6))), 0.7
        ),
        "FunctionJoint": lambda: cls("c", _moving(rng, "first"), other),
        "Screw": lambda: cls("c", one, other, "s", 0.3),
        "AngleCoordinate": lambda: cls("c", one, other, "s"),
        "SlideCoordinate": lambda: cls("c", one, other, "s"),
        "CoordinateDriver": lambda: cls("c", "s"),
        "Scapulothoracic": lambda: cls("c", one, other, ((0.1, 0.2, 0.3), (-0.2, 0.1, 0.4)), (0.3, 0.4, 0.5)),
        "PointOnEllipsoid": lambda: cls("c", one, other, (0.3, 0.4, 0.5)),
        "SethEllipsoid": lambda: cls("c", one, _moving(rng, "second"), (0.3, 0.4, 0.5)),
    }
    made: Equations = special[kind]() if kind in special else cls("c", one, other)
    return Mechanism(bodies, (made,)), {d.name: told(d, rng) for d in (made,) if isinstance(d, Driver)}


def told(driver: Driver, rng: np.random.Generator, frames: int = 1) -> Given:
    """Any motion that a driver can be told."""
    turn = GivenOrientation.of(rng.normal(size=(frames, 4)), *rng.normal(size=(2, frames, 3)))
    numbers = GivenNumbers.of(*rng.normal(size=(3, frames, max(len(driver.numbers), 3))))
    for given in (turn, GivenPose(turn, numbers), GivenNumbers.of(*rng.normal(size=(3, frames, len(driver.numbers))))):
        try:
            driver.signals(given)
        except Exception:
            continue
        return given
    raise AssertionError(f"{driver.name} takes nothing")


class ComplexRows:
    """Phi, J, nu and gamma of a mechanism at one state, in complex128."""

    def __init__(self, mechanism: Mechanism, given: dict[str, Given]) -> None:
        self.m, self.c = mechanism, mechanism.compiled
        self.signals = np.concatenate([mechanism.signals(given, 1)[0], np.zeros(3)])
        self._pose_rows = list(self.c.pose_rows.values())

    def rows(self, x, v, signals, moving=False):
        """Phi, J, nu; and gamma if moving."""
        s, table = self.c.system, self.c.table

        def lane(values):
            return np.ascontiguousarray(np.asarray(values, dtype=complex)[:, None])

        def room(n):
            return np.zeros((max(n, 1), 1), dtype=complex)

        W = room(12 * (s.bodies + 1) + FRAME_ROWS * s.frame_body.size + SCRATCH_ROWS)
        H, phi, nu, gamma = (room(n) for n in (6 * s.dof_coordinate.size, *(s.equations,) * 3))
        J, X, V, S = room(s.column.size), lane(x), lane(v), lane(signals)
        state, placed = AbsoluteState(X, V, S), PlacedFrames(W, H)
        place_frames(s, table, state, moving, placed, 0)
        position_rows(s, table, state, placed, EquationRows(phi, nu, gamma, J), 0)
        if moving:
            acceleration_rows(s, table, state, placed, gamma, 0)
        dense = np.zeros((s.equations, self.m.n_unknowns), dtype=complex)
        for r in range(s.equations):
            at = slice(s.row_first[r], s.row_first[r + 1])
            dense[r, s.column[at]] = J[at, 0]
        n = s.equations
        return phi[:n, 0], dense, nu[:n, 0], gamma[:n, 0]

    def moved(self, x, v):
        """x with an imaginary step along v."""
        n = len(self.m.bodies)
        xdot = np.zeros(len(x))
        for k in range(n):
            xdot[7 * k : 7 * k + 3] = v[6 * k : 6 * k + 3]
            xdot[7 * k + 3 : 7 * k + 7] = 0.5 * matrix_L(x[7 * k + 3 : 7 * k + 7]).T @ v[6 * k + 3 : 6 * k + 6]
        xdot[7 * n :] = v[6 * n :]
        return x + 1j * STEP * xdot

    def later(self):
        """What is given, with an imaginary step of time."""
        S = self.signals
        rate = np.zeros_like(S)
        for first in self.c.number_rows.values():
            rate[first : first + 2] = S[first + 1 : first + 3]
        for g in self._pose_rows:
            p, w = S[g : g + 4], S[g + 7 : g + 10]
            turning = np.concatenate([[-w @ p[1:]], p[0] * w + np.cross(w, p[1:])])
            rate[g : g + 4], rate[g + 4 : g + 7] = 0.5 * turning, S[g + 10 : g + 13]
            rate[g + 7 : g + 13] = S[g + 13 : g + 19]
        return S + 1j * STEP * rate

    def state(self, rng):
        """Any position and velocity."""
        n = len(self.m.bodies)
        x = rng.uniform(-0.7, 0.7, size=self.m.n_positions)
        for k in range(n):
            p = rng.normal(size=4)
            x[7 * k + 3 : 7 * k + 7] = p / np.linalg.norm(p)
        return x, rng.uniform(-1, 1, size=self.m.n_unknowns)
