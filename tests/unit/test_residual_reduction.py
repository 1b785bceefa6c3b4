"""Targets, forces and steps of residual reduction, by hand, by the laws of mechanics, and beside plain NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import ExternalLoad
from musculo.analyses.static_optimization.least_effort import EffortStatus
from musculo.analyses.static_optimization.reserves import actuators_of, generalized_force_on_bodies
from musculo.analyses.tracking.actuated_model import refuse_unknown
from musculo.analyses.tracking.actuator_forces import AccelerationMap, fast_target, slow_target
from musculo.analyses.tracking.mass_center import mean_residuals, with_masses
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.functions import Sine
from musculo.io.controls.control_limits import ControlLimits
from musculo.io.setup.tracking_tasks import CoordinateTracking, OtherTracking, TrackingTasks
from musculo.model import CoordinateCoupler
from musculo.model.force import Force
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.results.table import Table
from musculo.simulation import adjusted_mass_center, desired_motion, residual_reduction, tracking_targets
from support.acceleration_map import acceleration_map
from support.mechanisms import chain

# Accelerations follow forces through a mass matrix whose condition is a few hundred, forces of 1e2 N m.
ROUNDING = 1e-9
NAMES = ("q0", "q1", "q2", "q3")


def actuator(kind: str, name: str, **stated: object) -> Force:
    words = {
        key: " ".join(map(str, value)) if isinstance(value, tuple) else str(value) for key, value in stated.items()
    }
    return Force(name, kind, properties=tuple(words.items()))


def walker() -> musculo.Model:
    """Four bars, the third coupled to the second; residuals on the first bar and torques at all that is free."""
    coupler = CoordinateCoupler("bend", True, (), "q2", ("q1",), Sine(0.4, 1.0, 0.3))
    model = chain("walker", (0.3, 0.4, 0.2, 0.3), 0.5, (0.3, 0.2, -0.4, 0.5)).replace(constraints=(coupler,))
    forces = (
        actuator("TorqueActuator", "MZ", bodyA="bar0", bodyB="ground", axis=(0, 0, 1), optimal_force=2.0),
        actuator(
            "PointActuator", "FY", body="bar1", point=(0.1, 0.05, 0), direction=(0, 1, 0), force_is_global="true",
            optimal_force=3.0,
        ),
        actuator("PointActuator", "F", body="bar3", point=(0.1, 0, 0), direction=(1, 2, 0), optimal_force=0.5),
        *(actuator("CoordinateActuator", f"{q}_torque", coordinate=q, optimal_force=20.0) for q in ("q0", "q1", "q3")),
    )  # fmt: skip
    return model.replace(forces=forces)


def swing(rows: int = 121) -> Table:
    time = np.arange(rows) * 0.01
    values = np.stack([0.4 * np.sin((2.0 + k) * time + k) for k in range(4)], axis=1)
    values[:, 2] = 0.4 * np.sin(values[:, 1] + 0.3)
    return Table(time, NAMES, values)


def pushes() -> ExternalLoads:
    """A push in ground at a place in ground, and one on the last bar given in the frame of another."""
    time = np.arange(150) * 0.01
    names = [f"{what}_{axis}" for what in ("f", "p", "g", "m") for axis in "xyz"]
    values = np.stack([5.0 * np.sin((1.0 + 0.3 * k) * time + k) for k in range(12)], axis=1)
    values[:, 3:6] *= 0.02
    forces = (
        ExternalForce("ground", "bar2", "f_", "p_", "m_"),
        ExternalForce("moving", "bar3", "g_", "p_", "", force_in="bar1", point_in="bar0"),
    )
    return ExternalLoads("pushes", forces, Table(time, tuple(names), values))


def tasks(**changes: object) -> list[CoordinateTracking]:
    weights = {"q0": 30.0, "q1": 10.0, "q3": 1.0}
    common = {"active": (True, False, False), "kp": (100.0, 1.0, 1.0), "kv": (20.0, 1.0, 1.0)} | changes
    return [
        CoordinateTracking(name, weight=(w, 1.0, 1.0), coordinate=name, **common) for name, w in weights.items()
    ]  # fmt: skip


def columns_of(model: musculo.Model, q: np.ndarray) -> np.ndarray:
    """(n_u, actuators) what a unit of each does on every speed."""
    found = []
    for motor in actuators_of(model):
        if motor.coordinate:
            found.append(np.eye(len(model.speed_names))[model.speed_index(motor.coordinate)])
        else:
            found.append(generalized_force_on_bodies(model, q[None], motor.force, 1)[0])
    return np.stack(found, axis=1)


def loads_at(loads: ExternalLoads, time: float) -> list[ExternalLoad]:
    return [ExternalLoad(*one) for one in loads.at([time])]


# --- targets ---------------------------------------------------------------------------------------------------------
def test_accelerations_by_hand() -> None:
    model, desired = walker(), desired_motion(walker(), swing(), like="opensim")
    targets = tracking_targets(model, tasks(ka=(2.0, 1.0, 1.0)))
    q, u = desired.q([0.5])[0] + 0.01, desired.u([0.5])[0] - 0.2
    wanted = targets.accelerations(desired, 0.5, q, u, 0.001)
    by_hand = 2.0 * desired.udot([0.501])[0][[0, 1, 3]] + 20.0 * 0.2 - 100.0 * 0.01
    assert_allclose(wanted, by_hand, atol=1e-12)


def test_forces_are_free_near_a_limit() -> None:
    targets = tracking_targets(walker(), [replace(tasks()[0], limit=0.1), *tasks()[1:]])
    assert targets.stress_weight(np.array([0.1, 9.0, 9.0])) == pytest.approx(0.5)
    assert targets.stress_weight(np.array([-0.11, 0.0, 0.0])) == pytest.approx(1.0 / (1.0 + np.e))
    assert tracking_targets(walker(), tasks()).stress_weight(np.full(3, 9.0)) == 1.0


def test_tasks_that_cannot_be_followed_are_named() -> None:
    model = walker()
    with pytest.raises(UnknownName, match="hip"):
        tracking_targets(model, [replace(tasks()[0], coordinate="hip")])
    with pytest.raises(Unsupported, match="'turn'"):
        tracking_targets(model, TrackingTasks((*tasks(), OtherTracking("turn", "CMC_Orientation"))))
    with pytest.raises(InvalidInput, match="nothing to follow"):
        tracking_targets(model, [replace(one, on=False) for one in tasks()])


# --- forces ----------------------------------------------------------------------------------------------------------
def some_state(model: musculo.Model, time: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    motion = desired_motion(model, swing()).motion([time])
    return motion.q[0], motion.u[0]


def test_map_is_that_of_forward_dynamics() -> None:
    model, loads, rng = walker(), pushes(), np.random.default_rng(0)
    q, u = some_state(model)
    B, tau, F = columns_of(model, q), rng.normal(size=4), rng.normal(size=6) * 10.0
    acting = loads_at(loads, 0.3)
    made = acceleration_map(model, q, u, B, tau, acting)
    udot = musculo.forward_dynamics(model, q, u, tau + B @ F, acting)
    assert_allclose(made.A @ F + made.a0, udot, atol=ROUNDING * np.abs(udot).max())


def test_fast_target_gives_accelerations_at_least_effort() -> None:
    model = walker()
    q, u = some_state(model)
    strength = np.array([motor.optimal_force for motor in actuators_of(model)])
    rows = AccelerationMap(*(part[[0, 1, 3]] for part in acceleration_map(model, q, u, columns_of(model, q))))
    wanted, far = np.array([1.0, -2.0, 3.0]), np.full(6, 1e4)
    F, status = fast_target(rows, wanted, strength, -far, far)
    assert status is EffortStatus.SOLVED
    assert_allclose(rows.A @ F + rows.a0, wanted, atol=ROUNDING)
    A = rows.A * strength
    assert_allclose(F / strength, np.linalg.pinv(A) @ (wanted - rows.a0), atol=ROUNDING)
    _, status = fast_target(rows, wanted, strength, -1e-3 * far / 1e4, 1e-3 * far / 1e4)
    assert status is EffortStatus.INFEASIBLE


def test_slow_target_balances_effort_and_accelerations() -> None:
    model = walker()
    q, u = some_state(model)
    strength = np.array([motor.optimal_force for motor in actuators_of(model)])
    rows = AccelerationMap(*(part[[0, 1, 3]] for part in acceleration_map(model, q, u, columns_of(model, q))))
    wanted, weight, far = np.array([1.0, -2.0, 3.0]), np.array([30.0, 10.0, 1.0]), np.full(6, 1e4)

    def cost(F: np.ndarray) -> float:
        return float(((F / strength) ** 2).sum() + weight @ (rows.A @ F + rows.a0 - wanted) ** 2)

    F = slow_target(rows, wanted, weight, strength, -far, far)
    gradient = 2 * F / strength**2 + 2 * rows.A.T @ (weight * (rows.A @ F + rows.a0 - wanted))
    assert_allclose(gradient, 0.0, atol=1e-8)
    low, high = np.minimum(0.5 * F, 1.5 * F), np.maximum(0.5 * F, 0.8 * F)
    low, high = np.minimum(low, high), np.maximum(low, high)
    held = slow_target(rows, wanted, weight, strength, low, high)
    assert ((held >= low - 1e-12) & (held <= high + 1e-12)).all()
    for k in range(6):
        for step in (-1e-4, 1e-4):
            moved = held.copy()
            moved[k] = np.clip(moved[k] + step, low[k], high[k])
            assert cost(moved) >= cost(held) - 1e-9


# --- the kernel ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", ["free", "bounded", "limited"])
def test_a_window_is_what_opensim_asks_for(case: str) -> None:
    """Errors at its start, accelerations at its end, the least squares there at the state that is predicted."""
    model, loads, window, bounded = walker(), pushes(), 0.001, case == "bounded"
    desired = desired_motion(model, swing(), 6.0, like="opensim")
    limit = 1e-6 if case == "limited" else 0.0  # of errors, near which forces become free
    targets, motors = tracking_targets(model, [replace(one, limit=limit) for one in tasks()]), actuators_of(model)
    strength = np.array([motor.optimal_force for motor in motors])
    limits = [ControlLimits(motor.name, -0.35, 0.25) for motor in motors] if bounded else []
    made = residual_reduction(desired, targets, (0.2, 0.22), loads=loads, limits=limits, like="opensim")
    ends = (-0.35, 0.25) if bounded else (-1e4, 1e4)
    assert not bounded or np.isclose(made.control, ends[0]).any() or np.isclose(made.control, ends[1]).any()
    for k in (0, 7, 15):
        t, q, u = made.time[k], made.q[k], made.u[k]
        wanted = targets.accelerations(desired, t, q, u, window)
        now, later = np.array([t]), np.array([t + window])
        ahead_q = q + (desired.q(later) - desired.q(now))[0]
        ahead_u = u + (desired.qdot(later) - desired.qdot(now))[0]
        e = embedding_of(model)
        m = e.motion(e.independent(ahead_q[None]), e.independent_speeds(ahead_q[None], ahead_u[None]))
        B = columns_of(model, m.q[0])
        whole = acceleration_map(model, m.q[0], m.u[0], B, None, loads_at(loads, t + window))
        rows = AccelerationMap(*(part[targets.speed] for part in whole))
        stress = targets.stress_weight(made.error[k])
        assert (stress < 0.9) == (case == "limited" and k > 0)
        F = slow_target(rows, wanted, targets.weight, strength, ends[0] * strength, ends[1] * strength, stress)
        if bounded:  # a force that ranges over less than a newton gets its least control, whatever was found
            F[2] = ends[0] * strength[2]
        assert_allclose(made.control[k + 1] * strength, F, atol=ROUNDING * np.abs(F).max())


def test_motion_is_that_of_its_forces() -> None:
    """Accelerations at the nodes are those of forward dynamics; changes of speed their integral."""
    model, loads = walker(), pushes()
    desired = desired_motion(model, swing(), 6.0)
    for like in (None, "opensim"):
        way = desired if like is None else desired_motion(model, swing(), 6.0, like=like)
        made = residual_reduction(way, tracking_targets(model, tasks()), (0.2, 0.26), loads=loads, like=like)
        for k in (0, 20, 40):
            tau = columns_of(model, made.q[k]) @ made.force[k]
            udot = musculo.forward_dynamics(model, made.q[k], made.u[k], tau, loads_at(loads, made.time[k]))
            assert_allclose(made.udot[k], udot, atol=ROUNDING * np.abs(udot).max())
        # by Simpson's rule over pairs of nodes, whose error is of the fifth order
        a, h = made.udot, made.time[1] - made.time[0]
        gained = (a[:-2:2] + 4 * a[1:-1:2] + a[2::2]).sum(axis=0) * h / 3
        last = 2 * ((len(a) - 1) // 2)
        # forces that are lines between nodes have kinks there
        kink = 1e-7 if like is None else 1e-4
        assert_allclose(made.u[last] - made.u[0], gained, atol=kink * np.abs(gained).max())


def test_exact_steps_are_of_fourth_order() -> None:
    model = walker()
    desired, targets = desired_motion(model, swing(), 6.0), tracking_targets(model, tasks())
    ends = {}
    for window in (0.02, 0.01, 0.005, 0.00125):
        made = residual_reduction(desired, targets, (0.2, 0.5 + window), loads=pushes(), window=window)
        assert made.time[-1] == pytest.approx(0.5)
        ends[window] = made.q[-1]
    off = [np.abs(ends[w] - ends[0.00125]).max() for w in (0.02, 0.01, 0.005)]
    assert np.log2(off[0] / off[1]) > 3.5
    assert np.log2(off[1] / off[2]) > 3.5


def test_heavy_weights_leave_no_error() -> None:
    """Where effort does not count, e'' + kv e' + kp e = 0, and there is no error at the start."""
    model = walker()
    table = swing()
    strong = [replace(one, weight=(1e8, 1.0, 1.0)) for one in tasks()]
    desired = desired_motion(model, table)
    made = residual_reduction(desired, tracking_targets(model, strong), (0.2, 1.0))
    assert np.abs(made.error).max() < 1e-9
    weak = residual_reduction(desired, tracking_targets(model, tasks()), (0.2, 1.0))
    assert np.abs(weak.error).max() > 1e-4  # effort counts


def test_springs_of_the_model_and_pairs_of_points_act() -> None:
    model = walker()
    more = (
        actuator("SpringGeneralizedForce", "spring", coordinate="q1", stiffness=30.0, rest_length=0.5, viscosity=1.0),
        actuator("PointToPointActuator", "pair", bodyA="bar0", bodyB="bar3", pointA=(0.1, 0, 0), pointB=(0, 0.1, 0)),
    )
    sprung = model.replace(forces=(*model.forces, *more))
    made = residual_reduction(desired_motion(sprung, swing(), 6.0), tracking_targets(sprung, tasks()), (0.2, 0.24))
    assert made.actuators[-1] == "pair"
    for k in (0, 30):
        q, u = made.q[k], made.u[k]
        tau = columns_of(sprung, q) @ made.force[k]
        tau[1] -= 30.0 * (q[1] - 0.5) + 1.0 * u[1]
        udot = musculo.forward_dynamics(sprung, q, u, tau)
        assert_allclose(made.udot[k], udot, atol=ROUNDING * np.abs(udot).max())


def test_followers_follow() -> None:
    model = walker()
    made = residual_reduction(desired_motion(model, swing()), tracking_targets(model, tasks()), (0.2, 0.4))
    q = made.q
    assert_allclose(q[:, 2], 0.4 * np.sin(q[:, 1] + 0.3), atol=1e-12)
    assert_allclose(made.u[:, 2], 0.4 * np.cos(q[:, 1] + 0.3) * made.u[:, 1], atol=1e-12)


def test_speeds_that_contradict_a_coupler_are_projected_as_simbody_does() -> None:
    """Least squares in parts of the speeds, of those above one; the forces at the start know nothing of it."""
    model = walker()
    wrong = swing()
    values = np.array(wrong.values)
    values[:, 2] *= 57.0
    desired = desired_motion(model, replace(wrong, values=values), like="opensim")
    targets = tracking_targets(model, tasks())
    made = residual_reduction(desired, targets, (0.4, 0.42), like="opensim")
    given, found = desired.u([0.4])[0], made.u[0]
    slope = 0.4 * np.cos(made.q[0, 1] + 0.3)
    assert found[2] == pytest.approx(slope * found[1])
    size = np.maximum(1.0, np.abs(given))
    assert size[2] > 2.0

    def off(speed: float) -> float:
        return ((speed - given[1]) / size[1]) ** 2 + ((slope * speed - given[2]) / size[2]) ** 2

    for step in (-1e-3, 1e-3):
        assert off(found[1] + step) > off(found[1])
    assert found[[0, 3]] == pytest.approx(given[[0, 3]])
    right = residual_reduction(desired_motion(model, swing(), like="opensim"), targets, (0.4, 0.42), like="opensim")
    assert_allclose(made.control[0], right.control[0], atol=1e-3)
    assert np.abs(made.control[1] - right.control[1]).max() > 0.02


def test_what_is_not_known_is_named() -> None:
    model = walker()
    targets = tracking_targets(model, tasks())
    slow = actuator("ActivationCoordinateActuator", "slow", coordinate="q0")
    with pytest.raises(Unsupported, match="'slow'"):
        residual_reduction(desired_motion(model.replace(forces=(slow,)), swing()), targets, (0.2, 0.4))
    closed = chain("closed", (0.3, 0.4, 0.2), 0.5, (0.3, 0.2, -0.4))
    with pytest.raises(Unsupported, match="closed loops"):
        refuse_unknown(closed)
    with pytest.raises(InvalidInput, match="no actuators"):
        residual_reduction(desired_motion(model.replace(forces=()), swing()), targets, (0.2, 0.4))
    with pytest.raises(InvalidInput, match="no window"):
        residual_reduction(desired_motion(model, swing()), targets, (0.2, 0.2))
    crossed = [ControlLimits("MZ", 0.5, -0.5)]
    with pytest.raises(InvalidInput, match="'MZ'"):
        residual_reduction(desired_motion(model, swing()), targets, (0.2, 0.4), limits=crossed)


# --- the mass center -------------------------------------------------------------------------------------------------
def standing(torque: float = 0.0) -> tuple[musculo.Model, object]:
    """A bar that stays level, held by residuals alone: FX, FY at its hinge's body, MZ."""
    model = chain("bar", (0.4,), 0.4, (0.0,)).replace(constraints=())
    forces = (actuator("TorqueActuator", "MZ", bodyA="bar0", bodyB="ground", axis=(0, 0, 1)),)
    still = Table(np.arange(30) * 0.01, ("q0",), np.zeros((30, 1)))
    return model.replace(forces=forces), desired_motion(model.replace(forces=forces), still, like="opensim").rows


def test_mean_residual_of_a_bar_at_rest() -> None:
    """m g times the lever of its mass center."""
    model, rows = standing()
    (bar,) = model.bodies
    expected = bar.mass * 9.81 * bar.mass_center[0]
    assert_allclose(mean_residuals(model, rows), [0, 0, 0, 0, 0, expected], atol=1e-10)


def test_mass_center_takes_the_mean_moment() -> None:
    model, rows = standing()
    (bar,) = model.bodies
    moved, found = adjusted_mass_center(model, "bar0", rows, (0.0, 0.2))
    lever = bar.mass_center[0]
    assert lever > 0.1  # farther than a mass center is moved
    assert found.moved == (pytest.approx(0.1), 0.0)
    assert moved.bodies[0].mass_center[0] == pytest.approx(lever - 0.1)
    assert moved.bodies[0].mass_center[1:] == bar.mass_center[1:]
    assert moved.bodies[0].inertia == bar.inertia
    assert found.after[5] == pytest.approx(bar.mass * 9.81 * (lever - 0.1))
    assert found.mass_change == 0.0
    light = with_masses(model, {"bar0": (bar.mass, 2.0 * bar.mass)})
    assert mean_residuals(light, rows)[5] == pytest.approx(2.0 * found.before[5])


def test_a_body_that_is_not_there_or_has_no_weight() -> None:
    model, rows = standing()
    with pytest.raises(UnknownName, match="torso"):
        adjusted_mass_center(model, "torso", rows, (0.0, 0.2))
    weightless = model.replace(gravity=(0.0, 0.0, 0.0))
    with pytest.raises(InvalidInput, match="no weight"):
        adjusted_mass_center(weightless, "bar0", rows, (0.0, 0.2))
