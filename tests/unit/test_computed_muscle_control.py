"""Muscle control of the arm that ships: by windows and node by node, and what is said where muscles are too weak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import muscle_equilibrium, muscle_geometry, simulate
from musculo.analyses.tracking.acceleration_targets import tracking_targets
from musculo.analyses.tracking.computed_muscle_control import computed_muscle_control
from musculo.analyses.tracking.desired_motion import desired_motion
from musculo.analyses.tracking.driven_model import DrivenModel
from musculo.analyses.tracking.muscle_control import MuscleControl
from musculo.analyses.tracking.muscle_controller import START_WINDOW, Controller
from musculo.analyses.tracking.nodewise_muscle_control import integration_errors, nodewise_muscle_control
from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidInput, UnknownName
from musculo.io.controls.control_limits import ControlLimits
from musculo.io.setup.tracking_tasks import CoordinateTracking
from musculo.model.force import Force, Muscle
from musculo.muscle import path_generalized_forces

START, END, WINDOW = 0.2, 0.4, 0.01
NAMES = ("shoulder_flexion", "elbow_flexion")
# Equations hold to 1e-9 of their largest term; accelerations are some 10 rad/s^2, terms up to 1e3.
MET = 1e-6


def task(name: str, **stated) -> CoordinateTracking:
    values = {"active": (True, False, False), "kp": (100.0,) * 3, "kv": (20.0,) * 3, **stated}
    return CoordinateTracking(name, coordinate=name, **values)


TASKS = tuple(task(name) for name in NAMES)


def reserves(strength: float = 1.0) -> tuple[Force, ...]:
    stated = (("optimal_force", str(strength)),)
    return tuple(
        Force(f"{name}_reserve", "CoordinateActuator", properties=(("coordinate", name), *stated)) for name in NAMES
    )


def armed(strength: float = 1.0):
    return arm().replace(forces=(*arm().forces, *reserves(strength)))


def controller(model, tasks=TASKS, **options) -> Controller:
    options.setdefault("window", WINDOW)
    targets = tracking_targets(model, tasks)
    return Controller(DrivenModel(model, None), desired_motion(model, arm_flexion(), 6.0), targets, **options)


@pytest.fixture(scope="module")
def made() -> MuscleControl:
    return controller(armed()).run(START, END)


def test_the_motion_is_followed(made):
    assert not made.failures
    assert not made.stopped
    assert made.task_names == NAMES
    assert np.abs(made.error).max() < np.deg2rad(0.2)  # measured 0.07
    assert_allclose([made.time[0], made.time[-1]], [START + START_WINDOW, END - WINDOW])
    assert (np.diff(made.time) > 0.0).all()
    desired = desired_motion(arm(), arm_flexion(), 6.0)
    goal = desired.q(made.error_time)
    at = np.searchsorted(made.time, made.error_time - 1e-9)
    columns = [arm().coordinate_index(name) for name in NAMES]
    assert_allclose(goal[:, columns] - made.q[at][:, columns], made.error, atol=1e-12)


def test_forces_give_the_accelerations_that_are_written(made):
    driven = DrivenModel(made.model, None)
    e = driven.embedding
    z, zu = e.independent(made.q), e.independent_speeds(made.q, made.u)
    assert_allclose(driven.respond(made.time, z, zu).accelerations(made.force), made.udot, rtol=1e-9, atol=1e-7)


def test_speeds_are_derivatives_of_coordinates(made):
    """Over a window, by Gauss-Lobatto's rule on its six nodes."""
    weights = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0]) / 15.0
    weights[[1, 4]], weights[[2, 3]] = (14.0 - np.sqrt(7.0)) / 30.0, (14.0 + np.sqrt(7.0)) / 30.0
    for first in range(0, len(made.time) - 5, 5):
        nodes = slice(first, first + 6)
        step = made.time[first + 5] - made.time[first]
        assert_allclose(made.q[first + 5] - made.q[first], 0.5 * step * weights @ made.u[nodes], atol=1e-7)
        gain = 0.5 * step * weights @ made.udot[nodes]
        assert_allclose(made.u[first + 5] - made.u[first], gain, atol=1e-5)


def test_controls_keep_their_bounds_and_meet_at_nodes(made):
    n = len(arm().muscles)
    assert made.control[:, :n].min() >= 0.02
    assert made.control[:, :n].max() <= 1.0
    at = made.control_at(made.time)
    after = np.searchsorted(made.control_time, made.time - 1e-9)
    assert_allclose(at[:, :n], made.control[after][:, :n])
    whole = np.isin(np.round(made.time, 9), np.round(made.control_time, 9))
    assert_allclose(at[whole][:, n:], made.control[:, n:])
    assert_allclose(made.force[:, n:], at[:, n:], atol=1e-9)  # optimal forces of one


def test_limits_and_excluded_actuators_are_kept():
    model = armed(10.0)
    name = model.muscle_names[3]
    limits = (ControlLimits(name, 0.3, 0.35), ControlLimits("elbow_flexion_reserve", -5.0, 5.0, steps=True))
    found = controller(model, limits=limits, excluded=("shoulder_flexion_reserve",)).run(START, START + 0.1)
    k = found.actuator_names.index(name)
    assert ((found.control[:, k] >= 0.3) & (found.control[:, k] <= 0.35)).all()
    assert not found.force[:, found.actuator_names.index("shoulder_flexion_reserve")].any()
    held = found.actuator_names.index("elbow_flexion_reserve")
    assert found.steps[held]
    assert_allclose(found.force[1:, held], 10.0 * found.control_at(found.time)[1:, held], atol=1e-9)


def test_the_slow_target_weighs_accelerations_against_effort():
    """With heavy tasks it does what the fast one does; with light ones it follows worse."""
    errors = {}
    for weight in (1e6, 1e-6):
        tasks = tuple(replace(one, weight=(weight,) * 3) for one in TASKS)
        found = controller(armed(), tasks, fast=False).run(START, START + 0.1)
        errors[weight] = np.abs(found.error).max()
    fast = np.abs(controller(armed()).run(START, START + 0.1).error).max()
    assert errors[1e6] < 2.0 * fast
    assert errors[1e-6] > 10.0 * fast


def weak(model):
    forces = [
        replace(f, max_isometric_force=0.02 * f.max_isometric_force) if isinstance(f, Muscle) else f
        for f in model.forces
    ]
    return model.replace(forces=tuple(forces))


@pytest.mark.parametrize("nodewise", [False, True])
def test_muscles_that_are_too_weak_are_an_outcome(nodewise):
    """Without reserves the forearm falls: windows fail, and say which task misses and who is at a bound."""
    c = controller(weak(arm()))
    found = nodewise_muscle_control(c, START, START + 0.1) if nodewise else c.run(START, START + 0.1)
    assert len(found.failures) > 3
    first = found.failures[0]
    assert first.why == "the accelerations cannot be reached"
    assert set(first.missing) <= set(NAMES)
    assert abs(first.missing["elbow_flexion"]) > 0.1
    assert first.at_bound
    assert set(first.at_bound) <= set(arm().muscle_names)
    assert np.isfinite(found.q).all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidInput, match="no task of a coordinate"):
        controller(armed(), ())
    with pytest.raises(UnknownName, match="wrist"):
        controller(armed(), (task("wrist"),))
    with pytest.raises(InvalidInput, match="longer span"):
        controller(armed()).run(START, START + 0.03)
    with pytest.raises(InvalidInput, match="longer span"):
        nodewise_muscle_control(controller(armed()), START, START + 0.005)


# --- node by node -----------------------------------------------------------------------------------------------------
def nodewise(window: float, end: float = END) -> tuple[MuscleControl, Controller]:
    c = controller(armed(), window=window)
    return nodewise_muscle_control(c, START, end), c


def test_accelerations_are_met_at_every_node():
    found, c = nodewise(WINDOW)
    assert not found.failures
    desired = c.desired.motion(found.time)
    assert_allclose(found.q, desired.q, atol=1e-12)
    assert_allclose(found.udot, desired.udot, rtol=0.0, atol=MET)
    # by the moments that muscles need: independent of how accelerations were mapped
    g = muscle_geometry(c.driven.model, found.q, found.u)
    n = len(g.names)
    assert_allclose(found.force[:, :n].min(), max(found.force[:, :n].min(), 0.0))
    assert np.isfinite(path_generalized_forces(g, found.force[:, :n], g.names)).all()
    assert found.control[:, :n].min() >= 0.02
    assert found.control[:, :n].max() <= 1.0


def test_the_least_squares_of_activations():
    """At a minimum the effort has no slope along forces that change no acceleration, but for muscles at a bound."""
    found, c = nodewise(WINDOW, START + 0.05)
    n, k = len(c.driven.model.muscles), 4
    e = c.driven.embedding
    z, zu = e.independent(found.q[[k]]), e.independent_speeds(found.q[[k]], found.u[[k]])
    response = c.driven.respond(found.time[[k]], z, zu)
    A = response.A[0]
    free = np.linalg.svd(A)[2][len(A) :]
    inside = np.concatenate([(found.control[k, :n] > 0.021) & (found.control[k, :n] < 0.99), np.ones(2, dtype=bool)])
    rest = free.T @ np.linalg.svd(free[:, ~inside].T)[2][(~inside).sum() :].T if (~inside).any() else free.T
    assert rest.shape[1] > 0
    length, speed = response.paths.length[0], np.asarray(response.paths.speed)[0]

    def resting(force: np.ndarray) -> np.ndarray:
        """Activations in equilibrium, by halving."""
        low, high = np.full(n, 0.0), np.full(n, 1.0)
        for _ in range(50):
            a = 0.5 * (low + high)
            less = muscle_equilibrium(c.driven.model, length, speed, a).tendon_force < force
            low, high = np.where(less, a, low), np.where(less, high, a)
        return low

    force, step = found.force[k, :n], 1e-2
    per_force = (resting(force + step) - resting(force - step)) / (2.0 * step)
    slope = np.concatenate([resting(force) * per_force, found.control[k, n:]])
    assert_allclose(rest.T @ slope, 0.0, atol=1e-4 * np.abs(slope).max())


def test_forces_do_not_depend_on_the_window():
    """Effort is that of equilibrium; once the first steps are over, nodes of half the distance give the same forces."""
    forces = []
    for window in (0.01, 0.005):
        found, _ = nodewise(window)
        rows = np.isin(np.round(found.time, 6), np.round(np.arange(START + 0.06, END - 1e-9, 0.01), 6))
        forces.append(found.force[rows])
    assert len(forces[0]) > 10
    assert_allclose(forces[0], forces[1], rtol=0.0, atol=2e-4 * np.abs(forces[1]).max())


def test_integrated_muscles_give_the_forces_of_the_nodes():
    """Of second order in the window, once what the first step, of first order, left has died out."""
    errors = []
    for window in (0.01, 0.005):
        found, c = nodewise(window)
        late = found.time > START + 0.08
        errors.append(float(np.sqrt((integration_errors(found, c)[late] ** 2).mean())))
    assert errors[0] < 3e-3  # measured 1.5e-3
    assert errors[1] < 0.3 * errors[0]


def test_excitations_change_less_than_those_of_windows():
    def change(found: MuscleControl) -> float:
        n = len(arm().muscles)
        return float(np.abs(np.diff(found.control[:, :n], axis=0)).sum())

    window = 0.005
    by_windows = controller(armed(), window=window).run(START, END)
    by_nodes = nodewise_muscle_control(controller(armed(), window=window), START + START_WINDOW, END)
    assert change(by_nodes) < change(by_windows)


# --- simulated anew ---------------------------------------------------------------------------------------------------
def as_steps(found: MuscleControl) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Controls as samples that straight lines join; steps take a microsecond."""
    t, made = found.control_time, {}
    for k, name in enumerate(found.actuator_names):
        if found.steps[k]:
            times = np.sort(np.concatenate([t, t[:-1] + 1e-6]))
            made[name] = (times, np.repeat(found.control[:, k], 2)[1:])
        else:
            made[name] = (t, found.control[:, k])
    return made


def simulated(found: MuscleControl, until: float):
    rows = found.time <= until + 1e-9
    return rows, simulate(
        found.model, found.q[0], found.u[0], found.time[rows], excitations=as_steps(found),
        activation=found.activation[0], fiber_length=found.fiber_length[0], rtol=1e-8, atol=1e-10, max_step=WINDOW / 4,
    )  # fmt: skip


def test_a_simulation_under_these_controls_is_the_motion(made):
    """Other equations in one state, another method: forward simulation with muscles."""
    rows, again = simulated(made, START + START_WINDOW + 0.1)
    assert_allclose(again.q, made.q[rows], rtol=0.0, atol=2e-6)
    assert_allclose(again.u, made.u[rows], rtol=0.0, atol=2e-4)


def test_controls_of_nodes_carry_a_simulation_along_the_motion():
    """Nothing corrects it, and still the arm is within half a degree after 0.1 s."""
    found, _ = nodewise(0.005)
    rows, again = simulated(found, START + 0.1)
    assert np.abs(again.q - found.q[rows]).max() < np.deg2rad(0.5)


# --- in Python --------------------------------------------------------------------------------------------------------
def test_one_function_does_both():
    model = armed()
    targets = tracking_targets(model, TASKS)
    table = arm_flexion()
    by_nodes = computed_muscle_control(desired_motion(model, table, 6.0), targets, (START, START + 0.1))
    assert_allclose(by_nodes.force, nodewise(WINDOW, START + 0.1)[0].force, atol=1e-9)
    assert by_nodes.integration_error is not None
    assert by_nodes.integration_error.max() < 0.01
    desired = desired_motion(model, table, 6.0, like="opensim")
    by_windows = computed_muscle_control(desired, targets, (START, START + 0.1), like="opensim")
    assert by_windows.integration_error is None
    assert_allclose(by_windows.time[0], START + START_WINDOW)
    assert not by_windows.notes
    found = by_windows.to_xarray()
    assert found.activation.dims == ("time", "muscle")
    assert list(found.actuator.values) == list(by_windows.actuators)
    with pytest.raises(InvalidInput, match="'fast' or 'slow'"):
        computed_muscle_control(desired, targets, (START, START + 0.1), target="quick")
    with pytest.raises(InvalidInput, match="give seconds"):
        computed_muscle_control(desired, targets, (START, START + 0.1), window=0.0)


def test_failures_are_notes():
    model = weak(arm())
    targets, desired = tracking_targets(model, TASKS), desired_motion(model, arm_flexion(), 6.0)
    found = computed_muscle_control(desired, targets, (START, START + 0.1))
    assert len(found.notes) == len(found.failures) > 0
    assert "the accelerations cannot be reached" in found.notes[0]
