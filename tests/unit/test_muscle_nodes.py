"""Muscles at the end of implicit steps: the equations of the steps, and the inverses of what they lead to."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import muscle_equilibrium, muscle_force
from musculo.kernels.tracking.muscle_node import (
    Node,
    NodeReach,
    RestingActivations,
    RestingMuscles,
    node_activations,
    node_excitations,
    node_reach,
    resting_activations,
)
from musculo.muscle import activation_rate
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from support.muscle_rig import MAX_FORCE, OPTIMAL, SLACK, one_of_each

STEP, GAIN = 0.01, 0.01 * 2.0 / 3.0
LEAST, MOST = 0.02, 0.95
# Roots of equations of order one to rounding; forces are met to 1e-11 of the maximum one.
ROUNDING, FORCE = 1e-10, 1e-8


def rig(method):
    """A model with a muscle of every kind, the arrays of the kernels, and a node after muscles in equilibrium."""
    model = one_of_each()
    n = len(model.muscles)
    rng = np.random.default_rng(7)
    a = rng.uniform(0.1, 0.6, n)
    length, speed = np.full(n, OPTIMAL + SLACK + 0.003), rng.uniform(-0.1, 0.1, n)
    fiber = muscle_equilibrium(model, length - GAIN * speed, speed, a, method=method).fiber_length
    return model, compiled_muscles(model).arrays, Node(length, speed, a, fiber, GAIN, STEP)


def reached(arrays, node, excitation, opensim):
    """Activation, force and fiber length (muscles,) under one excitation."""
    n = len(node.length)
    found = np.empty((3, 2, n))
    found[2] = node.fiber
    x = np.full(n, excitation)
    node_reach(*arrays, node, x, x, opensim, NodeReach(*found))
    assert_allclose(found[:, 0], found[:, 1], atol=ROUNDING)
    return found[:, 0]


@pytest.mark.parametrize("method", ["exact", "opensim"])
@pytest.mark.parametrize("excitation", [LEAST, 0.4, MOST])
def test_the_equations_of_a_step_hold(method, excitation):
    model, arrays, node = rig(method)
    a, force, fiber = reached(arrays, node, excitation, method == "opensim")
    direct = np.array([m.kind == "RigidTendonMuscle" for m in model.muscles])
    rate = activation_rate(model, np.full(len(a), excitation), 0.5 * (node.activation + a))
    floor = arrays[0].least_activation
    assert_allclose(np.where(direct, excitation, np.maximum(node.activation + STEP * rate, floor)), a, atol=ROUNDING)
    found = muscle_force(model, node.length, node.speed, a, fiber, method=method)
    assert_allclose(found.tendon_force, force, atol=FORCE * MAX_FORCE)
    still = direct | (fiber <= arrays[0].least_length)
    gap = fiber - node.fiber - GAIN * found.fiber_velocity
    assert_allclose(gap[~still], 0.0, atol=ROUNDING)


@pytest.mark.parametrize("method", ["exact", "opensim"])
def test_forces_and_excitations_are_found_again(method):
    model, arrays, node = rig(method)
    n, opensim = len(model.muscles), method == "opensim"
    ends = [reached(arrays, node, x, opensim) for x in (LEAST, MOST)]
    bounds, forces = (np.stack([end[k] for end in ends]) for k in (0, 1))
    assert (forces[1] > forces[0]).all()
    reach = NodeReach(bounds, forces, np.stack([end[2] for end in ends]))
    for excitation in (0.1, 0.5, 0.8):
        a, force, fiber = reached(arrays, node, excitation, opensim)
        again, length = np.full(n, 0.5), node.fiber.copy()
        node_activations(*arrays, node, reach, force, opensim, again, length)
        assert_allclose(again, a, atol=1e-7)
        assert_allclose(length, fiber, atol=ROUNDING)
        x = np.empty(n)
        node_excitations(arrays[0], node, a, np.full(n, LEAST), np.full(n, MOST), x)
        assert_allclose(x, excitation, atol=1e-8)
    # beyond what can be reached, the nearer end
    for k, beyond in ((0, -1.0), (1, 1.0)):
        again, length = np.full(n, 0.5), node.fiber.copy()
        node_activations(*arrays, node, reach, forces[k] + beyond, opensim, again, length)
        assert_allclose(again, bounds[k])


def test_activations_at_rest_are_the_inverse_of_the_equilibrium():
    model, arrays, node = rig("exact")
    n = len(model.muscles)
    for a in (0.1, 0.5, 0.9):
        force = muscle_equilibrium(model, node.length, node.speed, a).tendon_force
        found, slope, fiber = np.full(n, 0.3), np.empty(n), np.empty(n)
        answer = RestingActivations(found, slope, fiber)
        resting_activations(*arrays, RestingMuscles(node.length, node.speed, force), False, answer)
        assert_allclose(found, a, atol=1e-7)
        more = muscle_equilibrium(model, node.length, node.speed, a + 1e-5).tendon_force
        less = muscle_equilibrium(model, node.length, node.speed, a - 1e-5).tendon_force
        assert_allclose(slope, 2e-5 / (more - less), rtol=1e-4)
    # a line beyond the strength
    most = muscle_equilibrium(model, node.length, node.speed, 1.0).tendon_force
    resting_activations(*arrays, RestingMuscles(node.length, node.speed, most + 10.0), False, answer)
    assert_allclose(found, 1.0 + 10.0 * slope, rtol=1e-6)
