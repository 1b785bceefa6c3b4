"""Steps along compiled rates, many at a time, are those along rates in Python, one by one, up to rounding."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import musculo
from musculo.embedding.quaternions import with_quaternions
from musculo.functions import MultivariatePolynomial, Sine
from musculo.model import CoordinateCoupler
from musculo.replications.closed_loops.squeezer_reduced import reduced_squeezer
from musculo.replications.joints.ellipsoid_study import REVOLVED, ellipsoid_rivals
from musculo.simulation.equations.embedded_state import embedded_state, is_one_loop, is_open
from musculo.simulation.equations.systems import EmbeddedSystem
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import AT_ONCE
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.steppers import OneStep
from support.mechanisms import andrews_squeezer, chain, five_bar, four_bar

METHODS = ("rkf45", "tr-bdf2")
# Of one step; that of differences by which TR-BDF2 finds slopes is among it.
ROUNDING = 1e-12
TOLERANCE = 1e-7
# Rounding is so large a part of the error that a step is allowed, and so of its length, and of all that comes after.
CHOSEN = 100.0 * float(np.finfo(float).eps) / TOLERANCE


def arm():
    return chain("arm", (0.3, 0.4, 0.2), 0.5, (0.3, 0.2, -0.4)).replace(constraints=())


def ruled():
    """A lock, a drive, and couplers of one and of two coordinates, one of which follows another."""
    model = chain("ruled", (0.3, 0.4, 0.2, 0.3, 0.2, 0.1), 0.5, (0.3, 0.2, -0.4, 0.5, 0.1, 0.2))
    both = MultivariatePolynomial(2, 2, (0.1, 0.2, 0.3, -0.4, 0.5, 0.6))
    couplers = (
        CoordinateCoupler("two", True, (), "q4", ("q1", "q3"), both),
        CoordinateCoupler("one", True, (), "q3", ("q2",), Sine(0.7, 2.0, 0.3), scale=1.5),
    )
    drive = {"prescribed": True, "prescribed_function": Sine(0.4, 3.0, 0.2)}
    model = model.replace(constraints=couplers).with_coordinate("q0", **drive)
    return model.with_coordinate("q5", locked=True, default_value=0.2)


MODELS = {
    "arm": arm,
    "ruled": ruled,
    "ball": lambda: ellipsoid_rivals(REVOLVED).plain,
    "quaternion": lambda: with_quaternions(ellipsoid_rivals(REVOLVED).plain),
    "four-bar": four_bar,
    "five-bar": five_bar,
}


@numba.njit
def springs(t, q, u, tau):
    """Springs and dampers at all speeds; these are as many as coordinates, or fewer."""
    for k in range(u.size):
        tau[k] -= (0.3 + t) * u[k] + 2.0 * np.sin(q[k])


def spoken(t, q, u):
    """The same in Python."""
    return -(0.3 + t) * u - 2.0 * np.sin(q[: u.size])


def started(name):
    """A model, and a time and a state to start from."""
    model, t, rng = MODELS[name](), 0.2, np.random.default_rng(3)
    e = musculo.embedding_of(model)
    q = e.default_pose(t)
    zu = rng.normal(size=len(e.speed_names))
    return model, t, q, e.motion(e.independent(q), zu, time=t, guess=q).u


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_steps_and_evaluations_are_those_of_python(name, method):
    model, t, q, u = started(name)
    constant = 0.1 * np.arange(1.0, 1.0 + len(u))
    systems = [EmbeddedSystem(model, Acting(model, [constant, springs], None)) for _ in range(2)]
    y, control = systems[0].state(t, q, u), Control(TOLERANCE, TOLERANCE)
    systems[1].state(t, q, u)
    ahead = systems[0].ahead(method, control, False)
    assert ahead is not None
    steppers = [
        OneStep(method, s.rates, t, y, control, None, way) for s, way in zip(systems, (ahead, None), strict=True)
    ]
    compiled, plain = steppers
    for k in range(AT_ONCE + 3):
        before = plain.t
        for stepper, system in zip(steppers, systems, strict=True):
            stepper.advance(t + 2.0)
            system.accept(stepper.t, stepper.y, stepper.landed)
        assert compiled.landed is not None
        assert plain.landed is None
        assert compiled.n_evaluations == plain.n_evaluations
        # the first steps are of one length, which nobody chose
        near, scale = ROUNDING if k == 0 else CHOSEN, 1.0 + np.abs(plain.y).max()
        np.testing.assert_allclose(compiled.t, plain.t, rtol=0, atol=near * (plain.t - before) * (1 + k))
        np.testing.assert_allclose(compiled.y, plain.y, rtol=0, atol=min(near, 1e-8) * scale)
        np.testing.assert_allclose(systems[0].guess, systems[1].guess, rtol=0, atol=min(near, 1e-8) * scale)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_simulations_do_not_depend_on_where_forces_are_computed(name, method):
    """Events, the course between steps and counts included."""
    model, t, q, u = started(name)
    slope = np.linspace(1.0, 2.0, len(u))
    options = {
        "method": method,
        "rtol": TOLERANCE,
        "atol": TOLERANCE,
        "events": {"still": lambda t, q, u: float(slope @ u), "half": lambda t, q, u: t - 0.3},
    }
    one = musculo.simulate(model, q, u, (t, t + 0.4), forces=springs, **options)
    two = musculo.simulate(model, q, u, (t, t + 0.4), forces=spoken, **options)
    assert one.status == two.status == "finished"
    assert one.n_steps == two.n_steps
    assert [e.name for e in one.events] == [e.name for e in two.events]
    assert any(e.name == "half" for e in one.events)
    scale = 1.0 + np.abs(two.u).max()
    for ours, known in zip(one.events, two.events, strict=True):
        np.testing.assert_allclose(ours.time, known.time, rtol=1e-8)
        np.testing.assert_allclose(ours.q, known.q, rtol=0, atol=1e-8 * scale)
    between = np.linspace(t, t + 0.4, 57)
    for ours, known in zip(one.at(between), two.at(between), strict=True):
        np.testing.assert_allclose(ours, known, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("name", ["arm", "ruled", "four-bar"])
def test_an_event_ends_a_simulation_within_steps_that_were_taken_already(name):
    model, t, q, u = started(name)
    stop = musculo.simulation.SimulationEvent("stop", lambda t, q, u: t - 0.31, terminal=True)
    short = musculo.simulate(model, q, u, (t, t + 5.0), forces=springs, method="rkf45", events=stop)
    whole = musculo.simulate(model, q, u, (t, 0.31), forces=springs, method="rkf45")
    assert short.status == "event"
    assert short.time[-1] == pytest.approx(0.31, abs=1e-14)
    np.testing.assert_allclose(short.q[-1], whole.q[-1], rtol=0, atol=1e-7)


def test_progress_is_told_step_by_step_and_steps_are_counted():
    model, t, q, u = started("arm")
    seen = []
    done = musculo.simulate(model, q, u, (t, t + 0.4), method="rkf45", progress=seen.append)
    silent = musculo.simulate(model, q, u, (t, t + 0.4), method="rkf45")
    assert seen == done.time[1:].tolist() == silent.time[1:].tolist()
    few = musculo.simulate(model, q, u, (t, t + 0.4), method="rkf45", max_steps=3)
    assert few.status == "failed"
    assert "3 steps led from 0.2 to" in few.reason
    np.testing.assert_array_equal(few.q, silent.q[:4])


@pytest.mark.parametrize("method", METHODS)
def test_the_reduced_squeezer_by_both_roads(method):
    reduced = reduced_squeezer(andrews_squeezer(), -0.0617138900142764496358948458001, 3.0)

    def push(t, q, u):
        tau = np.zeros(1)
        reduced.forces(t, q, u, tau)
        return tau

    options = {"method": method, "rtol": 1e-6, "atol": 1e-7}
    start = ([-0.0617138900142764496358948458001], [0.0], (0.0, 0.01))
    one, two = (musculo.simulate(reduced.model, *start, forces=f, **options) for f in (reduced.forces, push))
    assert one.n_evaluations == two.n_evaluations
    np.testing.assert_allclose(one.q, two.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.u, two.u, rtol=1e-9, atol=1e-6)


def test_what_a_kernel_leaves_is_done_in_python_and_says_why():
    """A force that is no number at some states: the step is tried again, shorter, until none leads on."""
    model, t, q, u = started("arm")

    @numba.njit
    def wall(t, q, u, tau):
        if t > 0.25:
            tau[0] = np.nan

    done = musculo.simulate(model, q, u, (t, t + 0.4), forces=wall, method="rkf45")
    assert done.status == "failed"
    assert "forces at t =" in done.reason
    assert 0.24 < done.time[-1] <= 0.25


def test_which_models_kernels_serve():
    assert is_open(arm())
    assert is_open(ruled())
    assert not is_open(four_bar())
    assert is_one_loop(andrews_squeezer())
    tied = five_bar()
    tied = tied.replace(constraints=(*tied.constraints, CoordinateCoupler("c", True, (), "q1", ("q0",), Sine(0.3))))
    assert embedded_state(tied) is None
