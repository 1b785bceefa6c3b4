"""Forward dynamics in absolute coordinates: accelerations, and motions that are those of the embedded form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import embedding_of, forward_dynamics, mass_matrix, simulate
from musculo.absolute.absolute_forward_dynamics import FreeMotion
from musculo.errors import InvalidInput, SingularSystem, Unsupported
from musculo.functions import Polynomial
from musculo.model.model_constraint import CoordinateCoupler
from support.dynamics_models import KINDS, one_joint, random_q, random_state, random_tree
from support.mechanisms import LOOPED, four_bar
from support.redundant import bennett, coupled_cranks

# Solving for accelerations multiplies rounding by the condition of the mass matrix.
PER_CONDITION = 100 * np.finfo(float).eps
LOOPS = 1e-11
# Both simulations keep errors of a step below 1e-9; hundreds of steps add up, and motions apart grow further apart.
MOTION = 1e-6


def accelerations(model, q, u, tau):
    """udot by absolute coordinates, and the coordinates and speeds that the bodies have."""
    free, t = FreeMotion(model), np.zeros(len(q))
    y = free.states(q, u)
    return (*free.model_state(t, y), free.accelerations(t, y, tau)[1])


def quaternions(model) -> list[int]:
    return [
        model.coordinate_index(name)
        for joint in model.joints
        if getattr(joint, "quaternion", False)
        for name in joint.coordinate_names[:4]
    ]


@pytest.mark.parametrize("kind", [*(k for k in KINDS if k != "weld"), "tree"])
def test_accelerations_are_those_of_the_tree(kind):
    rng = np.random.default_rng(4)
    model = random_tree(rng) if kind == "tree" else one_joint(kind, 3)
    q, u, _ = random_state(model, rng, 3)
    tau = rng.normal(size=u.shape)
    found_q, found_u, udot = accelerations(model, q, u, tau)
    expected = forward_dynamics(model, q, u, tau)
    tolerance = PER_CONDITION * np.linalg.cond(mass_matrix(model, q)).max() * np.abs(expected).max()
    assert_allclose(udot, expected, atol=tolerance)
    assert_allclose(found_u, u, atol=1e-13)
    off = np.abs(found_q - q)
    at = quaternions(model)
    off[:, at] = np.minimum(off[:, at], np.abs(found_q + q)[:, at])
    assert off.max() < 1e-13


@pytest.mark.parametrize("kind", [*LOOPED, "coupled cranks", "bennett"])
def test_accelerations_of_loops(kind):
    """Also where equations repeat each other."""
    model = {**LOOPED, "coupled cranks": coupled_cranks, "bennett": bennett}[kind]()
    e, rng = embedding_of(model), np.random.default_rng(5)
    z = e.independent(e.default_pose()) + rng.uniform(-0.03, 0.03, (3, len(e.coordinate_names)))
    m = e.motion(z, rng.normal(size=(3, len(e.speed_names))))
    tau = rng.normal(size=m.u.shape)
    expected = forward_dynamics(model, m.q, m.u, tau)
    assert_allclose(accelerations(model, m.q, m.u, tau)[2], expected, atol=LOOPS * np.abs(expected).max())


def tied():
    """A tree with a lock, a prescribed motion and a coupler."""
    model = random_tree(np.random.default_rng(8), ("pin", "universal", "slider", "gimbal"), backwards=0.0)
    lock, drive, first, follow = (name for name in model.coordinate_names if name[:3] in ("pin", "sli", "uni"))
    model = model.with_coordinate(lock, locked=True, default_value=0.3)
    model = model.with_coordinate(drive, prescribed=True, prescribed_function=Polynomial((0.4, 0.2, 0.1)))
    coupler = CoordinateCoupler("follow", True, (), follow, (first,), Polynomial((0.3, 0.5, 0.0)), 0.8)
    return model.replace(constraints=(coupler,))


MODELS = {
    "pin": lambda: random_tree(np.random.default_rng(1), ("pin",)),
    "free, ball and knee": lambda: random_tree(np.random.default_rng(2), ("free", "ball_quaternion", "custom_knee")),
    "shoulder": lambda: random_tree(np.random.default_rng(3), ("scapulothoracic", "ellipsoid")),
    "four-bar": four_bar,
    "coupled cranks": coupled_cranks,
    "lock, drive and coupler": tied,
}


@pytest.mark.parametrize("method", ["rkf45", "cvode"])
@pytest.mark.parametrize("name", MODELS)
def test_motions_are_those_of_the_embedded_form(name, method):
    model = MODELS[name]()
    e, rng = embedding_of(model), np.random.default_rng(6)
    z = e.independent(e.default_pose()) + rng.uniform(-0.05, 0.05, len(e.coordinate_names))
    if name.startswith("free"):
        z = e.independent(random_q(model, rng))
    start = e.motion(z, rng.normal(size=len(e.speed_names)))
    times = np.linspace(0.0, 0.2, 5)
    options = {"rtol": 1e-9, "atol": 1e-11}
    expected = simulate(model, start.q, start.u, times, **options)
    found = simulate(model, start.q, start.u, times, formulation="absolute", method=method, **options)
    assert found.status.value == "finished", found.reason
    assert_allclose(found.u, expected.u, atol=MOTION * np.abs(expected.u).max())
    off = np.abs(found.q - expected.q)
    at = quaternions(model)
    off[:, at] = np.minimum(off[:, at], np.abs(found.q + expected.q)[:, at])
    assert off.max() < MOTION
    assert_allclose(found.udot, expected.udot, atol=10 * MOTION * np.abs(expected.udot).max())


def test_projected_steps_keep_energy_and_constraints():
    model = four_bar()
    e = embedding_of(model)
    start = e.motion(e.independent(e.default_pose()), np.full(len(e.speed_names), 3.0))
    found = simulate(model, start.q, start.u, np.linspace(0, 1, 9), formulation="absolute", method="rkf45", rtol=1e-9)
    energy = found.kinetic + found.potential
    assert np.ptp(energy) < 1e-6 * np.abs(found.kinetic).max()
    drift = musculo.simulation.constraint_drift(model, found.q, found.u)
    assert drift.position.max() < 1e-11
    assert drift.velocity.max() < 1e-9


def test_what_it_refuses():
    model = four_bar()
    q = embedding_of(model).default_pose()
    # the rocker of a four-bar linkage is driven out of its reach
    far = Polynomial((40.0, 0.0, float(q[2])))
    driven = model.with_coordinate(model.coordinate_names[2], prescribed=True, prescribed_function=far)
    free = FreeMotion(driven)
    start = free.states(q[None], np.zeros((1, len(q))))[0]
    assert np.abs(free.missed(0.0, free.project(0.0, start))).max() < 1e-12
    with pytest.raises(InvalidInput, match=r"at t = 0\.3 s; .* out of reach: .*drive q2"):
        free.project(0.3, start)
    with pytest.raises(InvalidInput, match="off constraint"):
        simulate(model, q + 0.1, None, (0.0, 0.1), formulation="absolute")
    with pytest.raises(Unsupported, match="formulation='absolute'"):
        simulate(musculo.demo.arm(), None, None, (0.0, 0.1), formulation="absolute", excitations=0.1)
    light = one_joint("pin")
    light = light.with_body("body", mass=0.0, inertia=(0.0,) * 6)
    with pytest.raises(SingularSystem, match="no inertia resists a motion of body, j_0 in 'pin'"):
        accelerations(light, np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1)))
