"""Derivatives of tension by state and parameters: against the complex step of kernels, and differences of models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo.errors import InvalidInput
from musculo.kernels.hill import muscle_table as table
from musculo.kernels.hill.hill_frames import MuscleFrames, equilibrium_frames
from musculo.muscle import equilibrium_residual, muscle_equilibrium, muscle_force_derivatives
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import Status
from support.complex_kernels import slope, step
from support.dynamics_models import difference_nodes, extrapolated
from support.muscle_rig import MAX_FORCE, OPTIMAL, one_of_each

# Both are exact to rounding; the complex step takes one Newton step from a root that is known to 1e-10 of the force.
EXACT = 1e-8
# Differences of forces balanced to 1e-10 of the largest or far better, over a smallest step of 3e-5 of the parameter.
DIFFERENCES = 3e-6
_SHORT = 0.005  # steps over those of `difference_nodes`, as parts of a parameter: within the pieces of most curves
PARAMETERS = {
    "by_max_isometric_force": "max_isometric_force",
    "by_optimal_fiber_length": "optimal_fiber_length",
    "by_tendon_slack_length": "tendon_slack_length",
    "by_pennation_angle": "pennation_angle_at_optimal",
    "by_max_contraction_velocity": "max_contraction_velocity",
}
UNITS = {
    "by_length": OPTIMAL,
    "by_speed": OPTIMAL,
    "by_optimal_fiber_length": OPTIMAL,
    "by_tendon_slack_length": OPTIMAL,
}


def _unit(name: str) -> float:
    """What a derivative is compared with: the largest force over the size of what it is by."""
    return 1.0 if name == "by_max_isometric_force" else MAX_FORCE / UNITS.get(name, 1.0)


@pytest.fixture(scope="module", params=["as stated", "rigid"])
def case(request):
    model = one_of_each()
    rng = np.random.default_rng(11)
    shape = (40, len(model.muscles))
    length, speed = rng.uniform(0.24, 0.38, shape), rng.uniform(-0.3, 0.5, shape)
    speed[:4] = 0.0
    activation = rng.uniform(0.05, 1.0, shape)
    return model, length, speed, activation, request.param


def _changed(model, parameter: str, t: float):
    """The model with a number of all muscles larger by a part."""
    made = (replace(m, **{parameter: getattr(m, parameter) * (1.0 + _SHORT * t)}) for m in model.forces)
    return model.replace(forces=tuple(made))


def test_by_state(case):
    model, length, speed, activation, tendon = case
    found = muscle_force_derivatives(model, length, speed, activation, tendon=tendon)
    same = muscle_equilibrium(model, length, speed, activation, tendon=tendon)
    assert np.abs(found.tendon_force - same.tendon_force).max() <= 1e-12 * MAX_FORCE
    assert ((found.status == Status.CONVERGED) <= np.isin(same.status, [Status.CONVERGED, Status.OVERSTRETCHED])).all()
    assert (found.status == Status.CONVERGED).mean() > 0.7
    state = {"length": length, "speed": speed, "activation": activation}
    for name in state:
        at = {k: step(x, np.ones_like(x)) if k == name else x for k, x in state.items()}
        L, v, a = (np.ascontiguousarray(x, dtype=complex) for x in at.values())
        out = np.empty((table.OUTPUTS, *L.shape), dtype=complex)
        arrays, at = compiled_muscles(model, tendon == "rigid").arrays, MuscleFrames(L, v, a)
        equilibrium_frames(*arrays, at, tendon == "rigid", out, 0, len(L))
        expected = slope(out[table.TENDON_FORCE])
        worst = np.abs(getattr(found, f"by_{name}") - expected).max(axis=0)
        assert (worst <= EXACT * _unit(f"by_{name}")).all(), (name, dict(zip(model.muscle_names, worst, strict=True)))


@pytest.mark.parametrize("name", PARAMETERS)
def test_by_parameters(case, name):
    """Against models whose muscles have other numbers; a few entries cross corners of published curves."""
    model, length, speed, activation, tendon = case
    found = muscle_force_derivatives(model, length, speed, activation, tendon=tendon)
    sizes = np.array([getattr(m, PARAMETERS[name]) for m in model.muscles])

    def force(t):
        made = _changed(model, PARAMETERS[name], t)
        return muscle_equilibrium(made, length, speed, activation, tendon=tendon).tendon_force

    expected = extrapolated(np.stack([force(t) for t in difference_nodes()])) / (_SHORT * sizes)
    close = np.abs(getattr(found, name) - expected) <= DIFFERENCES * _unit(name)
    assert close.mean(axis=0).min() >= 0.8, dict(zip(model.muscle_names, close.mean(axis=0), strict=True))
    assert close.mean() >= 0.97


def test_residual_vanishes_in_equilibrium_and_its_slopes_are_those_of_differences():
    model = one_of_each()
    rng = np.random.default_rng(5)
    shape = (30, len(model.muscles))
    length, a = rng.uniform(0.28, 0.36, shape), rng.uniform(0.05, 1.0, shape)
    rest = muscle_equilibrium(model, length, 0.05, a)
    good = (rest.status == Status.CONVERGED) & (rest.tendon_force > 0.0)
    elastic = np.array([name != "RigidTendonMuscle" for name in model.muscle_names])
    at = equilibrium_residual(model, length, rest.fiber_length, rest.fiber_velocity, a)
    assert np.abs(at.residual)[good & elastic].max() <= 1e-8 * MAX_FORCE
    fiber = rng.uniform(0.7, 1.3, shape) * OPTIMAL
    velocity = rng.uniform(-0.3, 0.3, shape)
    given = {"length": length, "fiber_length": fiber, "fiber_velocity": velocity, "activation": 0.1 + 0.8 * a}
    found = equilibrium_residual(model, **given)
    for name, x in given.items():
        size = 0.1 if name == "fiber_velocity" else x

        def value(t, name=name, x=x, size=size):
            return equilibrium_residual(model, **{**given, name: x + _SHORT * t * size}).residual

        expected = extrapolated(np.stack([value(t) for t in difference_nodes()])) / (_SHORT * size)
        stiff = 1e3 * MAX_FORCE if "velocity" not in name else MAX_FORCE / OPTIMAL
        close = np.abs(getattr(found, f"by_{name}") - expected) <= 1e-7 * stiff
        assert close.mean() >= 0.97, name
    for name, parameter in PARAMETERS.items():
        sizes = np.array([getattr(m, parameter) for m in model.muscles])

        def changed(t, parameter=parameter):
            return equilibrium_residual(_changed(model, parameter, t), **given).residual

        expected = extrapolated(np.stack([changed(t) for t in difference_nodes()])) / (_SHORT * sizes)
        scale = np.abs(expected).max(axis=0) + MAX_FORCE
        close = np.abs(getattr(found, name) - expected) <= 1e-6 * scale
        assert close.mean() >= 0.97, (name, close.mean(axis=0))


@pytest.mark.parametrize("pennation", [0.3, 1.2], ids=["shortest length", "largest pennation"])
def test_fibers_at_their_stop(pennation):
    """The stop moves with the optimal length and the pennation, and the tendon carries what is left."""
    model = one_of_each(pennation=pennation)
    k = model.muscle_names.index("undamped")
    m = compiled_muscles(model).muscles
    length = np.full((3, len(model.muscles)), 0.2 + m.least_along[k]) + np.array([[1e-5], [3e-5], [1e-4]])
    found = muscle_force_derivatives(model, length, 0.0, 1.0)
    assert (found.status[:, k] == Status.FIBER_AT_MINIMUM).all()
    for name, parameter in PARAMETERS.items():
        size = getattr(model.muscles[k], parameter)

        def force(t, parameter=parameter):
            return muscle_equilibrium(_changed(model, parameter, 1e-3 * t), length, 0.0, 1.0).tendon_force[:, k]

        expected = extrapolated(np.stack([force(t) for t in difference_nodes()])) / (1e-3 * _SHORT * size)
        assert np.abs(getattr(found, name)[:, k] - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max()), name


def test_slack_tendons_shortest_fibers_and_least_activations():
    model = one_of_each()
    n = len(model.muscles)
    slack = muscle_force_derivatives(model, 0.2, 0.0, 0.5)
    assert (slack.status == Status.TENDON_SLACK).all()
    for name in ("by_length", "by_speed", "by_activation", *PARAMETERS):
        assert not getattr(slack, name).any(), name
    low = muscle_force_derivatives(model, 0.32, 0.0, 0.0)
    raised = compiled_muscles(model).muscles.least_activation > 0.0
    assert raised.any()
    assert not low.by_activation[raised].any()
    assert low.by_length.shape == (n,)
    many = muscle_force_derivatives(model, np.full((3, n), 0.32), 0.1, 0.5)
    assert np.array_equal(many.by_length[1], muscle_force_derivatives(model, 0.32, 0.1, 0.5).by_length)
    with pytest.raises(InvalidInput, match="across the tendon"):
        equilibrium_residual(model, 0.3, 0.01, 0.0, 0.5)
    with pytest.raises(InvalidInput, match="rigid"):
        muscle_force_derivatives(model, 0.3, 0.0, 0.5, tendon="stiff")
