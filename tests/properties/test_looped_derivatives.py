"""Derivatives of dynamics through closed loops, against extrapolated differences of what users call."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.dynamics.derivatives.embedded_slopes import embedded_slopes
from musculo.errors import Unsupported
from musculo.functions import Polynomial, Sine
from musculo.model.model_constraint import CoordinateCoupler, EquationConstraint
from support.dynamics_models import assert_close, difference_nodes, extrapolated
from support.mechanisms import LOOPED, chain, five_bar, four_bar

# Differences lose rounding times the condition of the loop's equations over their smallest step (0.0015); accelerations
# that of the mass matrix besides.
DIFFERENCES, SOLVED_DIFFERENCES = 1e-9, 1e-7
# Steps that keep mechanisms away from turning points, over those of `difference_nodes`.
_SHORT = 0.3
TIME = 0.3


def with_follower() -> Model:
    """Six bars of which one follows another by a coupler within the loop, and one another that the loop turns."""
    model = chain("six bars", (0.3, 0.5, 0.4, 0.3, 0.35, 0.6), 0.9, (0.8, -0.6, 0.4, -0.5, -0.6, -0.9))
    coupler = CoordinateCoupler("within", True, (), "q2", ("q1",), Polynomial((0.1, 0.2, 0.7, 0.4)))
    return model.replace(constraints=(*model.constraints, coupler))


def driven() -> Model:
    """A five-bar with one of its cranks on a prescribed motion."""
    model, q = five_bar(), musculo.embedding_of(five_bar()).default_pose()
    motion = Sine(0.2, 1.5, 0.1, float(q[0]))
    return model.with_coordinate("q0", prescribed=True, prescribed_function=motion)


def stated_by_user() -> Model:
    """A four-bar that a user's equations close, with arithmetic of every kind that a complex step must pass."""
    model = four_bar()
    lengths = (0.2, 0.5, 0.4)

    def equations(a, b, c):
        angles = (a, a + b, a + b + c)
        x = sum(r * np.cos(t) for r, t in zip(lengths, angles, strict=True)) - 0.45
        y = sum(r * np.sin(t) for r, t in zip(lengths, angles, strict=True))
        far = np.sqrt((x + 3.0) ** 2 + y * y)
        return [abs(far) - 3.0, np.arctan2(y, x + 3.0)]

    closure = EquationConstraint("mine", True, (), ("q0", "q1", "q2"), equations)
    return model.replace(constraints=(closure,))


MADE = {**LOOPED, "follower": with_follower, "driven": driven, "user": stated_by_user}


def _slopes(f, x: np.ndarray) -> np.ndarray:
    """df/dx (f's shape, len(x)) by extrapolated differences; f takes one x."""
    t = difference_nodes()
    return np.stack(
        [extrapolated(np.stack([f(x + _SHORT * s * unit) for s in t])) / _SHORT for unit in np.eye(len(x))], axis=-1
    )


@pytest.fixture(scope="module", params=MADE)
def looped(request):
    model = MADE[request.param]()
    e = musculo.embedding_of(model)
    z = e.independent(e.default_pose())
    zu, zudot = np.random.default_rng(3).uniform(-1, 1, (2, len(e.speed_names)))
    return model, e, z, zu, zudot


def test_inverse_dynamics(looped):
    model, e, z, zu, zudot = looped

    def tau(z, zu, zudot):
        motion = e.motion(z, zu, zudot, time=TIME)
        return motion.J.T @ musculo.inverse_dynamics(model, motion.q, motion.u, motion.udot)

    motion = e.motion(z, zu, zudot, time=TIME)
    found = musculo.inverse_dynamics_derivatives(model, motion.q, motion.u, motion.udot, time=TIME).independent
    for part, f, x in (
        (found.dtau_dz, lambda x: tau(x, zu, zudot), z),
        (found.dtau_dzu, lambda x: tau(z, x, zudot), zu),
        (found.dtau_dzudot, lambda x: tau(z, zu, x), zudot),
    ):
        assert_close(part, _slopes(f, x), DIFFERENCES, "dtau_z")


def test_forward_dynamics(looped):
    model, e, z, zu, _ = looped
    force = np.random.default_rng(1).normal(size=len(model.speed_names))

    def udot(z, zu, tau):
        motion = e.motion(z, zu, time=TIME)
        return musculo.forward_dynamics(model, motion.q, motion.u, tau, time=TIME)

    motion = e.motion(z, zu, time=TIME)
    found = musculo.forward_dynamics_derivatives(model, motion.q, motion.u, force, time=TIME)
    for name, f, x in (
        ("dudot_dq", lambda x: udot(x, zu, force), z),
        ("dudot_du", lambda x: udot(z, x, force), zu),
        ("dudot_dtau", lambda x: udot(z, zu, x), force),
    ):
        assert_close(getattr(found, name), _slopes(f, x), SOLVED_DIFFERENCES, name)


def test_many_frames_are_each_of_them():
    model = five_bar()
    e = musculo.embedding_of(model)
    rng = np.random.default_rng(4)
    z = e.independent(e.default_pose()) + rng.uniform(-0.1, 0.1, (11, 2))
    motion = e.motion(z, *rng.uniform(-1, 1, (2, 11, 2)))
    found = musculo.inverse_dynamics_derivatives(model, motion.q, motion.u, motion.udot).independent
    for f in (0, 7, 10):
        one = musculo.inverse_dynamics_derivatives(model, motion.q[f], motion.u[f], motion.udot[f]).independent
        for a, b in zip(one, found, strict=True):
            assert_close(a, b[f], 1e-11, "a frame alone")


def test_other_methods_for_loops_refuse_third_derivatives():
    model = four_bar()
    e = musculo.embedding_of(model, loops="fitted")
    motion = e.motion(e.independent(e.default_pose())[None], np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(Unsupported, match="projection"):
        embedded_slopes(e, motion.q, motion.u, motion.udot, np.zeros(1))
