"""One state of a constrained simulation, compiled, is what the functions for many frames say of it."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import musculo
from musculo.embedding.quaternions import change_coordinates, with_quaternions
from musculo.functions import Linear, MultivariatePolynomial, Sine
from musculo.model import CoordinateCoupler, EquationConstraint
from musculo.replications.joints.ellipsoid_study import REVOLVED, START, ellipsoid_rivals
from musculo.replications.joints.knee import knee_rivals
from musculo.simulation.equations.multiplier_evaluation import ConstrainedState
from musculo.simulation.equations.systems import ConstrainedSystem
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.steppers import OneStep
from support.mechanisms import chain, five_bar

ROUNDING = 1e-12


def ruled():
    """An open chain with a lock, a drive, and couplers of one and of two coordinates."""
    model = chain("ruled", (0.3, 0.4, 0.2, 0.3, 0.2), 0.5, (0.3, 0.2, -0.4, 0.5, 0.1)).replace(constraints=())
    both = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.3, -0.4, 0.5, 0.6))
    couplers = (
        CoordinateCoupler("one", True, (), "q3", ("q2",), Sine(0.7, 2.0, 0.3), scale=1.5),
        CoordinateCoupler("two", True, (), "q4", ("q1", "q2"), both),
    )
    drive = {"prescribed": True, "prescribed_function": Sine(0.4, 3.0, 0.2)}
    return model.replace(constraints=couplers).with_coordinate("q0", **drive)


def locked():
    return ruled().with_coordinate("q1", locked=True, default_value=0.2)


def tied():
    """A loop and a coupler."""
    model = five_bar()
    return model.replace(constraints=(*model.constraints, CoordinateCoupler("c", True, (), "q1", ("q0",), Linear(0.3))))


def ellipsoid():
    return ellipsoid_rivals(REVOLVED).constrained


MODELS = {
    "ruled": ruled,
    "locked": locked,
    "tied": tied,
    "knee": lambda: knee_rivals().constrained,
    "ellipsoid": ellipsoid,
    "quaternion": lambda: with_quaternions(ellipsoid()),
}


def near(name):
    """A model, and a time and a state that is a little off its constraints."""
    model, t, rng = MODELS[name](), 0.3, np.random.default_rng(5)
    if name in ("ellipsoid", "quaternion"):
        q = ellipsoid_rivals(REVOLVED).starts(*START)["constrained"][0]
        q = q if name == "ellipsoid" else change_coordinates(q, ellipsoid(), model)
    else:
        q = musculo.embedding_of(model).default_pose(t)
    q = q + 1e-3 * rng.normal(size=q.size)
    if name == "quaternion":
        at = [k for k, n in enumerate(model.coordinate_names) if n not in model.speed_names]
        q[at] /= np.linalg.norm(q[at])
    return model, t, q, rng.normal(size=len(model.speed_names)), rng.normal(size=len(model.speed_names))


@pytest.mark.parametrize("name", MODELS)
def test_rates_are_those_of_many_frames(name):
    model, t, q, u, tau = near(name)
    assert ConstrainedState.serves(model)
    state = ConstrainedState(model, 7.0)
    found = state.rates(t, np.concatenate([q, u]), tau)
    known = musculo.constrained_acceleration(model, q, u, tau, time=t, stabilization=7.0)
    scale = np.abs(known.udot).max()
    np.testing.assert_allclose(found[: q.size], musculo.coordinate_rates(model, q, u), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(found[q.size :], known.udot, rtol=0, atol=ROUNDING * scale)
    size = np.abs(known.multipliers).max()
    np.testing.assert_allclose(state.multipliers, known.multipliers, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("name", MODELS)
def test_projections_are_those_of_many_frames(name):
    model, t, q, u, _ = near(name)
    found = ConstrainedState(model, 0.0).project(t, np.concatenate([q, u]))
    pose = musculo.simulation.project_position(model, q, t)
    np.testing.assert_allclose(found[: q.size], pose, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        found[q.size :], musculo.simulation.project_velocity(model, pose, u, t), rtol=0, atol=1e-10
    )
    drift = musculo.simulation.constraint_drift(model, found[: q.size], found[q.size :], t)
    assert drift.position < 2e-12
    assert drift.velocity < 1e-11


@numba.njit
def damping(t, q, u, tau):
    for k in range(u.size):
        tau[k] -= (0.3 + t) * u[k]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["rkf45", "tr-bdf2"])
def test_steps_of_a_kernel_are_those_of_the_method(name, method):
    model, t, q, u, tau = near(name)
    system = ConstrainedSystem(model, Acting(model, [tau, damping], None), 0.0, projects=True)
    q = musculo.simulation.project_position(model, q, t)
    y, control = system.state(t, q, musculo.simulation.project_velocity(model, q, u, t)), Control(1e-6, 1e-6)
    ahead = system.ahead(method, control, True)
    assert ahead is not None
    compiled, plain = (OneStep(method, system.rates, t, y, control, system.settled, way) for way in (ahead, None))
    for _ in range(3):
        for stepper in (compiled, plain):
            stepper.advance(t + 0.1)
        assert compiled.landed is not None
        assert compiled.n_evaluations == plain.n_evaluations
        np.testing.assert_allclose([compiled.t, *compiled.y], [plain.t, *plain.y], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["ruled", "knee", "ellipsoid"])
def test_a_simulation_does_not_depend_on_where_forces_are_computed(name):
    """In compiled code a step is one call; with a force in Python it is one rate after the other."""
    model, t, q, u, tau = near(name)
    q = musculo.simulation.project_position(model, q, t)
    u = musculo.simulation.project_velocity(model, q, u, t)
    options = {"method": "rkf45", "formulation": "constrained", "rtol": 1e-7, "atol": 1e-7}

    def spoken(t, q, u):
        return tau - (0.3 + t) * u

    one = musculo.simulate(model, q, u, (t, t + 0.3), forces=[tau, damping], **options)
    two = musculo.simulate(model, q, u, (t, t + 0.3), forces=spoken, **options)
    assert one.status == two.status == "finished"
    assert one.n_steps == two.n_steps
    assert one.n_evaluations == two.n_evaluations
    np.testing.assert_allclose(one.q, two.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.u, two.u, rtol=0, atol=1e-8)


def test_what_the_kernel_does_not_know_is_left_to_others():
    """Equations of the user, and couplers of angles that are not integrals of speeds."""
    own = EquationConstraint("own", coordinates=("q0", "q1"), equations=lambda a, b: a - b)
    assert not ConstrainedState.serves(five_bar().replace(constraints=(own,)))
    turned = CoordinateCoupler("turned", True, (), "tx", ("rx",), Linear(0.3))
    assert not ConstrainedState.serves(ellipsoid().replace(constraints=(turned,)))
    slid = CoordinateCoupler("slid", True, (), "tx", ("ty",), Linear(0.3))
    assert ConstrainedState.serves(ellipsoid().replace(constraints=(slid,)))


def test_states_without_rates_are_none():
    """In gimbal lock, and far from any pose that satisfies the constraints."""
    state = ConstrainedState(ellipsoid(), 0.0)
    y = np.zeros(12)
    y[1] = 0.5 * np.pi
    y[6:] = 1.0
    assert state.rates(0.0, y * np.nan, np.zeros(6)) is None
    assert state.project(0.0, y * np.nan) is None
