"""Muscles alone over a window: beside SciPy's integration of the same equations, and by what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from musculo import muscle_equilibrium, muscle_force
from musculo.analyses.tracking.muscle_windows import MuscleStates, MuscleWindows, Paths, held_paths, paths_through
from musculo.muscle import activation_rate
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from support.muscle_rig import KINDS, MAX_FORCE, OPTIMAL, SLACK, model_of, muscle, one_of_each

DURATION = 0.01
NODES = np.array([0.0, 0.4, 1.0])
# Radau of SciPy at these tolerances is within 1e-9 m and 1e-10 of activation of the answer (halved, it moves by less).
RTOL, ATOL = 1e-9, 1e-12
# Tendons make force of length: 1e-9 m of 0.2 m on curves that reach the maximum force at 4 %.
FIBER, ACTIVATION, FORCE = 2e-9, 1e-9, 5e-4
TIGHT = 1e-10


def rig_states(model, method):
    """Muscles in equilibrium at different activations, and paths that stretch or shorten."""
    n = len(model.muscles)
    rng = np.random.default_rng(5)
    a = rng.uniform(0.05, 0.7, n)
    length = np.full(n, OPTIMAL + SLACK + 0.003)
    rest = muscle_equilibrium(model, length, 0.0, a, method=method)
    at = length + np.outer(NODES, rng.uniform(-0.004, 0.004, n)) + np.outer(NODES**2, rng.uniform(-0.001, 0.001, n))
    return MuscleStates(a, rest.fiber_length, rest.tendon_force), paths_through(DURATION, NODES, at)


def by_scipy(model, method, start: MuscleStates, paths: Paths, x: np.ndarray):
    """Activation and fiber length (muscles,) at the end, one muscle after the other."""
    n, free = len(x), [m.kind != "RigidTendonMuscle" for m in model.muscles]
    powers = np.arange(len(paths.length))

    def rates(t, y):
        length = (paths.length * ((t / DURATION) ** powers)[:, None]).sum(axis=0)
        a = np.clip(y[:n], 0.0, 1.0)
        v = muscle_force(model, length, 0.0, a, y[n:], method=method, threads=1).fiber_velocity
        return np.concatenate([activation_rate(model, x, a), np.where(free, v, 0.0)])

    y = np.concatenate([start.activation, start.fiber])
    found = solve_ivp(rates, (0.0, DURATION), y, method="Radau", rtol=RTOL, atol=ATOL)
    return found.y[:n, -1], found.y[n:, -1]


@pytest.mark.parametrize("method", ["exact", "opensim"])
@pytest.mark.parametrize("excitation", [0.02, 0.4, 1.0])
def test_beside_scipy(method, excitation):
    model = one_of_each()
    start, paths = rig_states(model, method)
    x = np.full(len(model.muscles), excitation)
    found = MuscleWindows(model, method, TIGHT).states(start, paths, x[None])
    a, fiber = by_scipy(model, method, start, paths, x)
    elastic = np.array([m.kind != "RigidTendonMuscle" for m in model.muscles])
    assert_allclose(found.fiber[0, -1, elastic], fiber[elastic], rtol=0.0, atol=FIBER)
    assert_allclose(found.activation[0, -1, elastic], a[elastic], rtol=0.0, atol=ACTIVATION)
    length = paths.length.sum(axis=0)
    speed = (paths.length[1:] * np.arange(1, len(paths.length))[:, None]).sum(axis=0) / DURATION
    a = np.where(elastic, a, excitation)
    force = muscle_force(model, length, speed, a, fiber, method=method).tendon_force
    assert_allclose(found.force[0, -1], force, rtol=0.0, atol=FORCE * MAX_FORCE)


def test_the_first_node_is_the_start():
    model = one_of_each(KINDS[:3])
    start, paths = rig_states(model, "exact")
    found = MuscleWindows(model).states(start, paths, np.full((1, len(model.muscles)), 0.5))
    assert_allclose(found.activation[0, 0], start.activation)
    assert_allclose(found.fiber[0, 0], start.fiber)
    assert_allclose(found.force[0, 0], start.force, rtol=1e-7)


def test_errors_follow_the_tolerance():
    """An embedded pair of orders 3 and 4: errors of steps are at most the tolerance, and fall with it."""
    model = one_of_each(KINDS[:3])
    start, paths = rig_states(model, "exact")
    x = np.full((1, len(model.muscles)), 0.8)
    exact = MuscleWindows(model, tolerance=1e-12).states(start, paths, x)
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        found = MuscleWindows(model, tolerance=tolerance).states(start, paths, x)
        fiber = np.abs(found.fiber[0, -1] - exact.fiber[0, -1]).max() / OPTIMAL
        errors.append(max(fiber, np.abs(found.activation[0, -1] - exact.activation[0, -1]).max()))
        assert errors[-1] <= 10.0 * tolerance  # some ten steps
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]


@pytest.mark.parametrize("slack", [0.2, 0.02, 0.002])
def test_stiff_tendons_cost_little(slack):
    """Fibers on tendons a hundred times as short are a hundred times as stiff; an explicit method would step so often.

    The fiber follows its path, and its force is what the activation gives.
    """
    model = model_of(muscle("Millard2012EquilibriumMuscle", tendon_slack_length=slack, pennation_angle_at_optimal=0.0))
    a = np.array([0.5])
    length = np.array([OPTIMAL + slack])
    rest = muscle_equilibrium(model, length, 0.0, a)
    start = MuscleStates(a, rest.fiber_length, rest.tendon_force)
    found = MuscleWindows(model).states(start, held_paths(0.2, length), np.array([[0.5]]))
    assert_allclose(found.force[0, 0], rest.tendon_force, rtol=1e-5)
    assert_allclose(found.fiber[0, 0], rest.fiber_length, rtol=1e-6)


@pytest.mark.parametrize("method", ["exact", "opensim"])
def test_force_grows_with_the_excitation_and_is_found_again(method):
    model = one_of_each()
    start, paths = rig_states(model, method)
    windows, n = MuscleWindows(model, method), len(model.muscles)
    x = np.linspace(0.02, 1.0, 12)[:, None] * np.ones(n)
    force = windows.states(start, paths.only_end, x).force[:, 0]
    assert (np.diff(force, axis=0) > 0.0).all()
    low, high = x[0], x[-1]
    for row in (1, 6, 10):
        found = windows.excitations(start, paths, (low, high), (force[0], force[-1]), force[row], np.full(n, 0.5))
        again = windows.states(start, paths.only_end, found[None]).force[0, 0]
        assert_allclose(again, force[row], rtol=0.0, atol=2e-7 * MAX_FORCE)
    assert_allclose(windows.excitations(start, paths, (low, high), (force[0], force[-1]), force[0] - 1.0, low), low)
    assert_allclose(windows.excitations(start, paths, (low, high), (force[0], force[-1]), force[-1] + 1.0, low), high)
    beside = windows.excitations(start, paths, (low, low), (force[0], force[0]), force[5], low)
    assert_allclose(beside, low)


def test_a_fiber_stops_at_its_least_length():
    """Fully active on a slack tendon it shortens as fast as it can: ten optimal lengths a second, for half a one."""
    undamped = (("fiber_damping", 0.0),)
    model = model_of(muscle("Millard2012EquilibriumMuscle", pennation_angle_at_optimal=0.0, parameters=undamped))
    least = float(compiled_muscles(model).muscles.least_length[0])
    start = MuscleStates(np.array([0.9]), np.array([OPTIMAL]), np.zeros(1))
    found = MuscleWindows(model).states(start, held_paths(0.5, np.array([0.9 * SLACK])), np.array([[1.0]]))
    assert_allclose(found.fiber[0, 0, 0], least, rtol=1e-9)
    assert found.force[0, 0, 0] == 0.0
