"""Accelerations for integrators are those of the functions for many frames, whichever road they take."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import musculo
from musculo.errors import InvalidInput, SingularSystem
from musculo.functions import Linear
from musculo.model import CoordinateCoupler
from musculo.replications.closed_loops.squeezer_exact import exact_squeezer
from musculo.simulation.equations.accelerations import ConstrainedRates, EmbeddedRates
from support.mechanisms import andrews_squeezer, chain, five_bar, four_bar, squeezer_forces

ROUNDING = 1e-12

# Errors that the integrator's tolerance of 1e-12 leaves after some forty thousand radians a second squared.
INTEGRATED = 1e-8


def coupled():
    """A five-bar with a coupler: more rules than the one kernel knows."""
    model = five_bar()
    return model.replace(
        constraints=(*model.constraints, CoordinateCoupler("c", True, (), "q1", ("q0",), Linear(0.3, 0.1)))
    )


@pytest.mark.parametrize("make", [four_bar, five_bar, andrews_squeezer, coupled])
def test_rates_are_those_of_the_functions(make):
    model = make()
    e = musculo.embedding_of(model)
    embedded, constrained = EmbeddedRates(model), ConstrainedRates(model)
    rng = np.random.default_rng(0)
    for _ in range(3):
        z = e.independent(e.branch) + rng.uniform(-0.1, 0.1, len(e.coordinate_names))
        zu, tau = rng.normal(size=len(z)), 1e-2 * rng.normal(size=len(model.speed_names))
        motion = e.motion(z, zu)
        udot = musculo.forward_dynamics(model, motion.q, motion.u, tau)
        zudot, q, u = embedded(z, zu, tau, e.branch)
        assert np.abs(q - motion.q).max() < ROUNDING
        assert np.abs(u - motion.u).max() < ROUNDING * np.abs(u).max()
        scale = np.abs(udot).max()
        assert np.abs(zudot - e.independent_speeds(q, udot)).max() < ROUNDING * scale
        assert np.abs(constrained(q, u, tau) - udot).max() < 1e-11 * scale
        found = musculo.constrained_acceleration(model, q, u, tau)
        assert np.abs(constrained.multipliers[0] - found.multipliers).max() < 1e-11 * np.abs(found.multipliers).max()


def test_what_cannot_be_solved_says_so_as_elsewhere():
    flat = chain("parallelogram", (0.3, 0.6, 0.3), 0.6, (0.8, -0.8, -2.341592653589793))
    e = musculo.embedding_of(flat)
    rates = EmbeddedRates(flat)
    with pytest.raises(SingularSystem, match="singular position"):
        rates(np.array([-0.5]), np.zeros(1), np.zeros(3), e.branch)
    with pytest.raises(SingularSystem, match="in a singular position at frame 0"):
        rates(np.zeros(1), np.ones(1), np.zeros(3), np.array([0.0, 0.0, -np.pi]))
    short = four_bar(0.4, 0.3, 0.3, 0.5)
    rates = EmbeddedRates(short)
    with pytest.raises(InvalidInput, match="loop 'closure' cannot be closed at frame 0 with q0 = 3"):
        rates(np.array([3.0]), np.zeros(1), np.zeros(3), musculo.embedding_of(short).branch)


def test_the_squeezer_reaches_the_reference_by_both_roads():
    """One ordinary equation of second order, and seven with six multipliers."""
    model = andrews_squeezer()
    e = musculo.embedding_of(model)
    embedded, constrained = EmbeddedRates(model), ConstrainedRates(model)
    start = e.default_pose()
    last = [start]

    def minimal(t, y):
        _, q, _ = embedded(y[:1], y[1:], np.zeros(7), last[0])
        zudot, last[0], _ = embedded(y[:1], y[1:], squeezer_forces(model, q), q)
        return np.array([y[1], zudot[0]])

    def whole(t, y):
        return np.concatenate([y[7:], constrained(y[:7], y[7:], squeezer_forces(model, y[:7]))])

    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    y = solve_ivp(minimal, (0.0, 0.03), [start[0], 0.0], **options).y[:, -1]
    q = e.coordinates(y[:1], guess=last[0])
    reference = exact_squeezer(np.array([0.03])).q[0]
    assert np.abs(q - reference).max() < INTEGRATED
    full = solve_ivp(whole, (0.0, 0.03), np.concatenate([start, np.zeros(7)]), **options).y[:, -1]
    assert np.abs(full[:7] - reference).max() < INTEGRATED
    assert np.abs(musculo.constraint_residuals(model, q).residual).max() < 1e-16
