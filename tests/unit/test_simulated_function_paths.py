"""Simulations of muscles whose paths are functions of coordinates, alone and beside paths with points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import demo, muscle_force, muscle_geometry, simulate
from musculo.errors import Unsupported
from musculo.functions import MultivariatePolynomial, SimmSpline
from musculo.muscle.fitted_paths.polynomial_paths import fit_paths
from musculo.simulation.muscles.excitations import control_functions
from musculo.simulation.muscles.muscles_as_force import MuscleForce
from unit.test_function_paths import ARMS, function_path

# Kernels and the functions of one frame differ in the order of their sums.
ROUNDING = 1e-11
SPAN = (0.0, 0.3)


@pytest.fixture(scope="module")
def mixed():
    """Three polynomials and three exact paths, of which one becomes a spline with moment arms of its own."""
    model = fit_paths(demo.arm(), samples=200).model
    path = function_path(
        ("elbow_flexion",),
        SimmSpline((-2.0, 0.0, 1.0, 3.0), (0.4, 0.38, 0.35, 0.3)),
        moment_arm_functions=(SimmSpline((-2.0, 0.0, 1.0, 3.0), (0.02, 0.04, 0.03, 0.01)),),
    )
    forces = [replace(f, path=path) if f.name == "biceps_short" else f for f in model.forces]
    return model.replace(forces=tuple(forces))


@pytest.fixture(scope="module")
def every():
    return fit_paths(demo.arm(), samples=400, degree=6, tolerance=1.0).model


@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
@pytest.mark.parametrize("which", ["mixed", "every"])
def test_one_state_is_muscle_geometry_and_the_law_of_muscles(request, which, wrapping):
    model = request.getfixturevalue(which)
    force = MuscleForce(model, control_functions(model, 0.3), wrapping=wrapping)
    random = np.random.default_rng(3)
    for _ in range(2):  # nothing of the first state is left in the second
        q, u = random.uniform(0.2, 1.0, 2), random.normal(size=2)
        g = muscle_geometry(model, q, u, wrapping=wrapping)
        states = np.zeros(force.size)
        fiber = np.array([m.optimal_fiber_length for m in model.muscles])
        states[force.activation_state], states[force.fiber_state] = 0.4, fiber
        now = force.now(0.0, q, u, states)
        tension = muscle_force(model, g.length, g.speed, 0.4, fiber).tendon_force
        assert_allclose(now.length, g.length, rtol=ROUNDING)
        assert_allclose(now.speed, g.speed, atol=ROUNDING)
        assert_allclose(now.tension, tension, rtol=ROUNDING, atol=ROUNDING)
        assert_allclose(now.tau, tension @ g.moment_arm, rtol=1e-9, atol=1e-9)


def test_a_simulation_differs_by_no_more_than_the_fit(every):
    """Moment arms are good to some percent at worst, and so is the motion, within the ranges of the fit."""
    start = np.array([0.3, 0.8])
    excitations = {name: 0.05 + 0.02 * k for k, name in enumerate(every.muscle_names)}
    exact, fast = (simulate(m, start, None, SPAN, excitations=excitations) for m in (demo.arm(), every))
    assert fast.status == "finished"
    moved = np.abs(exact.q[-1] - exact.q[0]).max()
    assert moved > 0.1
    assert np.abs(exact.q[-1] - fast.q[-1]).max() < 0.05 * moved


def test_a_stated_lengthening_speed_is_refused_like_opensim(every):
    length = MultivariatePolynomial(2, 1, (0.3, 0.1, 0.1))
    path = function_path(("elbow_flexion",), ARMS[1], lengthening_speed_function=length)
    model = every.replace(forces=(replace(every.forces[0], path=path), *every.forces[1:]))
    with pytest.raises(Unsupported, match="'triceps_long' states its lengthening speed"):
        MuscleForce(model, control_functions(model, 0.3), wrapping="opensim")
    MuscleForce(model, control_functions(model, 0.3))
