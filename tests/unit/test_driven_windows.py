"""Windows of a muscle-driven model, beside SciPy's integration of all its equations together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from musculo import ExternalLoad, forward_dynamics, muscle_equilibrium, muscle_force, muscle_geometry
from musculo.analyses.static_optimization.reserves import generalized_force_on_bodies
from musculo.analyses.tracking.driven_model import DrivenModel
from musculo.analyses.tracking.driven_window import INTEGRALS, NODES, DrivenState, NotSettled, drive
from musculo.analyses.tracking.muscle_windows import MuscleStates, MuscleWindows
from musculo.demo import arm
from musculo.errors import Unsupported
from musculo.model.force import Force
from musculo.muscle import activation_rate, path_generalized_forces
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.results.table import Table
from support.dynamics_models import one_joint
from support.mechanisms import chain

WINDOW = 0.01
FINE = 1e-10
# SciPy's Radau at rtol 1e-10, beside windows and quarters of windows. The start is a hard one: forces out of balance
# (230 rad/s^2) and excitations far from activations. Measured: 6e-7 rad and 6e-4 rad/s; in quarters 3e-9.
ERRORS = {1: (2e-6, 2e-3), 4: (1e-8, 1e-5)}
STATE = 1e-8


def actuator(kind: str, name: str, **stated: str) -> Force:
    return Force(name, kind, properties=tuple(stated.items()))


def driven_arm():
    """The arm that ships, with a torque, a point actuator on the hand, and a load on it that changes in time."""
    model = arm()
    hand = model.body_names[-1]
    motors = (
        actuator("CoordinateActuator", "elbow", coordinate="elbow_flexion", optimal_force="2"),
        actuator("PointActuator", "push", body=hand, point="0 -0.2 0", direction="1 0.5 0", optimal_force="3"),
    )
    model = model.replace(forces=(*model.forces, *motors))
    time = np.linspace(0.0, 0.1, 11)
    columns = [3.0 * np.sin(20.0 * time), 0.0 * time, 1.0 + time, *(0.2 + 0.0 * time,) * 3]
    names = ("fx", "fy", "fz", "px", "py", "pz")
    loads = ExternalLoads("hand", (ExternalForce("hand", hand, "f", "p"),), Table(time, names, np.stack(columns, 1)))
    return model, loads


def start_of(model, driven) -> DrivenState:
    z, zu = np.array([0.2, 0.9]), np.array([0.4, -1.5])
    m = driven.embedding.motion(z, zu)
    g = muscle_geometry(model, m.q, m.u)
    a = np.linspace(0.05, 0.6, len(model.muscles))
    rest = muscle_equilibrium(model, g.length, g.speed, a)
    return DrivenState(0.02, z, zu, MuscleStates(a, rest.fiber_length, rest.tendon_force))


def free_rows(model, driven) -> list[int]:
    return [model.speed_index(name) for name in driven.embedding.speed_names]


def by_scipy(model, loads, driven, start, x, others):
    """z, zu, activation and fiber length at the end, by one solver for all."""
    n, k = len(model.muscles), len(start.z)
    push = next(force for force in model.forces if force.name == "push")

    def rates(t, y):
        z, zu, a, fiber = np.split(y, [k, 2 * k, 2 * k + n])
        m = driven.embedding.motion(z, zu)
        g = muscle_geometry(model, m.q, m.u, threads=1)
        muscles = muscle_force(model, g.length, g.speed, a, fiber, threads=1)
        elbow, pushed = others[0] + (t - start.time) / WINDOW * (others[1] - others[0])
        tau = path_generalized_forces(g, muscles.tendon_force, model.muscle_names)
        tau[model.speed_index("elbow_flexion")] += elbow
        tau += pushed * generalized_force_on_bodies(model, m.q[None], push, 1)[0]
        load = [ExternalLoad(*(part[0] if isinstance(part, np.ndarray) else part for part in one))
                for one in loads.at(t)]  # fmt: skip
        udot = forward_dynamics(model, m.q, m.u, tau, load, threads=1)
        return np.concatenate(
            [zu, udot[free_rows(model, driven)], activation_rate(model, x, a), muscles.fiber_velocity]
        )

    y = np.concatenate([start.z, start.zu, start.muscles.activation, start.muscles.fiber])
    end = start.time + WINDOW
    found = solve_ivp(rates, (start.time, end), y, method="Radau", rtol=1e-10, atol=1e-13).y[:, -1]
    return np.split(found, [k, 2 * k, 2 * k + n])


def test_beside_scipy():
    model, loads = driven_arm()
    driven = DrivenModel(model, loads)
    start = start_of(model, driven)
    x = np.linspace(0.9, 0.1, len(model.muscles))
    others = np.array([1.0, -2.0]), np.array([-1.0, 4.0])
    muscles = MuscleWindows(model, tolerance=FINE)
    z, zu, a, fiber = by_scipy(model, loads, driven, start, x, others)
    for parts, (place, speed) in ERRORS.items():
        state = start
        for k in range(parts):
            some = [others[0] + j / parts * (others[1] - others[0]) for j in (k, k + 1)]
            end = start.time + (k + 1) / parts * WINDOW
            (found,) = drive(driven, muscles, state, end, x, (some[0], some[1]), FINE)
            state = found.end
        assert_allclose(state.z, z, rtol=0.0, atol=place)
        assert_allclose(state.zu, zu, rtol=0.0, atol=speed)
    assert_allclose(state.muscles.activation, a, rtol=0.0, atol=STATE)
    assert_allclose(state.muscles.fiber, fiber, rtol=0.0, atol=STATE)
    (found,) = drive(driven, muscles, start, start.time + WINDOW, x, others, FINE)
    # speeds and accelerations at the nodes belong together
    udot = found.response.accelerations(found.force)[:, free_rows(model, driven)]
    assert_allclose(found.zu, start.zu + WINDOW * INTEGRALS @ udot, rtol=0.0, atol=1e-8)
    # loads at planned times are those at any
    driven.plan(found.time)
    (again,) = drive(driven, muscles, start, start.time + WINDOW, x, others, FINE)
    assert_allclose(again.end.z, found.end.z, rtol=0.0, atol=1e-14)


def test_a_window_that_does_not_settle_is_halved_and_then_refused(monkeypatch):
    model, loads = driven_arm()
    driven = DrivenModel(model, loads)
    start, n = start_of(model, driven), len(model.muscles)
    others = np.zeros(2), np.zeros(2)
    muscles = MuscleWindows(model, tolerance=FINE)
    (whole,) = drive(driven, muscles, start, start.time + WINDOW, np.full(n, 0.4), others, 1e-9)
    monkeypatch.setattr("musculo.analyses.tracking.driven_window._ROUNDS", whole.rounds - 1)
    halves = drive(driven, muscles, start, start.time + WINDOW, np.full(n, 0.4), others, 1e-9)
    assert len(halves) > 1
    assert_allclose(halves[-1].end.z, whole.end.z, rtol=0.0, atol=5e-6)
    monkeypatch.setattr("musculo.analyses.tracking.driven_window._ROUNDS", 1)
    with pytest.raises(NotSettled) as found:
        drive(driven, muscles, start, start.time + WINDOW, np.full(n, 0.4), others, 1e-9)
    assert found.value.time == start.time


def test_nodes_integrate_polynomials():
    assert_allclose(INTEGRALS[-1] @ NODES**9, 0.1, rtol=1e-13)  # order ten at the end
    assert_allclose(INTEGRALS @ NODES**5, NODES**6 / 6.0, atol=1e-14)  # and six unknowns everywhere


def test_actuators_push_by_their_columns():
    """Powers of actuators are forces times the speeds that they state."""
    model, loads = driven_arm()
    driven = DrivenModel(model, loads)
    start = start_of(model, driven)
    response = driven.respond(np.array([0.03]), start.z[None], start.zu[None])
    speed = response.columns[0].T @ response.u[0]
    n = len(model.muscles)
    assert_allclose(speed[:n], -np.asarray(response.paths.speed)[0, :n], rtol=1e-10)
    assert_allclose(speed[n], response.u[0, model.speed_index("elbow_flexion")])
    off = replace(model.muscles[0], applies_force=False)
    idle = model.replace(forces=tuple(off if f.name == off.name else f for f in model.forces))
    assert not DrivenModel(idle, None).respond(np.zeros(1), start.z[None], start.zu[None]).A[:, :, 0].any()


def test_a_model_that_cannot_be_driven_is_refused():
    with pytest.raises(Unsupported, match="no coordinate rates"):
        DrivenModel(one_joint("ball"), None)
    with pytest.raises(Unsupported, match="the loop of closure"):
        DrivenModel(chain("four bar", (0.3, 0.4, 0.2, 0.3), 0.5, (0.3, 0.2, -0.4, 0.5)), None)
