"""Muscles in simulations: their states, their work, controls of every form, and methods that agree."""

from __future__ import annotations

import numba
import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose

from musculo import inverse_dynamics, muscle_equilibrium, muscle_geometry, read_osim, simulate, write_storage
from musculo.demo import arm
from musculo.errors import InvalidInput, MusculoWarning, UnknownName, Unsupported
from musculo.functions.elementary_functions import PiecewiseLinear
from musculo.model.force import Force
from musculo.model.path_force import ClutchedPathSpring
from musculo.muscle import activation_rate, muscle_force
from musculo.results.table import Table
from musculo.simulation.muscles.excitations import actuator_names, control_functions
from musculo.simulation.muscles.muscles_as_force import MuscleForce
from support.recorded_data import DATA, NO_DATA

SPAN = (0.0, 0.3)
# Kernels and the functions of one frame differ in the order of their sums.
ROUNDING = 1e-11
# Methods of different orders, each at a tolerance of 1e-8 a step over some 100 steps.
AGREED = 1e-6
# Of the energy exchanged; what the sum over 9601 times misses where power has corners is a quarter of it.
OF_ENERGY = 1e-6


@pytest.fixture(scope="module")
def model():
    return arm()


def excitations(model) -> dict:
    return {name: 0.05 + 0.02 * k for k, name in enumerate(model.muscle_names)}


@pytest.fixture(scope="module")
def motion(model):
    return simulate(model, None, None, SPAN, excitations=excitations(model), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
def test_rates_are_those_of_the_functions(model, wrapping) -> None:
    """One evaluation of the kernel is muscle geometry, the law of muscles and the law of activation."""
    force = MuscleForce(model, control_functions(model, 0.3), wrapping=wrapping)
    random = np.random.default_rng(3)
    q, u = random.uniform(0.2, 1.0, len(model.coordinates)), random.normal(size=len(model.speed_names))
    g = muscle_geometry(model, q, u, wrapping=wrapping)
    a = random.uniform(0.1, 0.9, len(model.muscles))
    fiber = muscle_equilibrium(model, g.length, g.speed, a).fiber_length * random.uniform(0.98, 1.02, len(a))
    states = np.zeros(force.size)
    states[force.activation_state], states[force.fiber_state] = a, fiber
    now = force.now(0.0, q, u, states)
    expected = muscle_force(model, g.length, g.speed, a, fiber)
    assert_allclose(now.length, g.length, rtol=ROUNDING)
    assert_allclose(now.speed, g.speed, atol=ROUNDING)
    assert_allclose(now.tension, expected.tendon_force, rtol=ROUNDING, atol=ROUNDING)
    assert_allclose(now.rates[force.fiber_state], expected.fiber_velocity, rtol=ROUNDING, atol=ROUNDING)
    assert_allclose(now.rates[force.activation_state], activation_rate(model, 0.3, a), rtol=ROUNDING)
    assert_allclose(now.tau, expected.tendon_force @ g.moment_arm, rtol=1e-9, atol=1e-9)


def test_paths_of_the_second_pass_are_the_same(model) -> None:
    """Where no surfaces overlap both passes find the same path."""
    force = MuscleForce(model, control_functions(model, 0.3))
    q, u, states = np.array([0.4, 0.9]), np.array([1.0, -2.0]), np.full(force.size, 0.1)
    first = force.now(0.0, q, u, states)
    force.bind_second_pass()
    force._room.later[:] = 1
    force.room.length[:] = np.nan
    second = force.now(0.0, q, u, states)
    assert_allclose(second.length, first.length, rtol=1e-10)
    assert_allclose(second.speed, first.speed, atol=1e-8)


@pytest.mark.parametrize("method", ["rkf45", "cvode", "tr-bdf2"])
def test_methods_agree(model, motion, method) -> None:
    tight = {"rtol": 1e-8, "atol": 1e-10} if method != "tr-bdf2" else {"rtol": 1e-7, "atol": 1e-9}
    other = simulate(model, None, None, SPAN, excitations=excitations(model), method=method, **tight)
    assert other.status == motion.status == "finished"
    assert_allclose(other.q[-1], motion.q[-1], atol=AGREED)
    assert_allclose(other.muscles.fiber_length[-1], motion.muscles.fiber_length[-1], atol=AGREED)


def test_fourth_order(model) -> None:
    """The implicit-explicit method converges as one of fourth order in body and fibers alike, where nothing has a
    corner: no path touches a surface anew, and no fiber stops."""
    start, span = ([0.3, 0.8], None), (0.0, 0.02)
    exact = simulate(model, *start, span, excitations=0.2, method="rkf45", rtol=1e-13, atol=1e-14)
    errors, counts = [], []
    for steps in (20, 80):
        # a tolerance that bounds nothing leaves steps of one length; equations of fibers are solved to rtol
        found = simulate(model, *start, span, excitations=0.2, rtol=1e-10, atol=1e3, max_step=span[1] / steps)
        ends = ((one.q[-1], one.muscles.fiber_length[-1], one.muscles.activation[-1]) for one in (found, exact))
        errors.append([np.abs(one - other).max() for one, other in zip(*ends, strict=True)])
        counts.append(found.n_steps)
    order = np.log(np.divide(*errors)) / np.log(counts[1] / counts[0])
    assert (order > 3.3).all(), order


def test_work_of_muscles_is_energy_of_the_body(model) -> None:
    times = np.linspace(*SPAN, 9601)
    found = simulate(model, None, None, times, excitations=0.2, rtol=1e-9, atol=1e-11, model_forces=False)
    power = found.muscles.power
    exchanged = np.trapezoid(np.abs(power), times, axis=0).sum()
    assert_allclose(
        found.energy[-1] - found.energy[0], np.trapezoid(power.sum(axis=1), times), atol=OF_ENERGY * exchanged
    )


def test_inverse_dynamics_finds_what_muscles_did(model, motion) -> None:
    tau = inverse_dynamics(model, motion.q, motion.u, motion.udot)
    assert_allclose(tau, motion.muscles.tau, atol=1e-8 * np.abs(tau).max())


def test_controls_of_every_form_are_the_same(model) -> None:
    names = model.muscle_names
    t, x = np.array([0.0, 0.1, 0.3]), np.array([0.1, 0.6, 0.2])
    one = simulate(model, None, None, SPAN, excitations={names[0]: (t, x)})
    function = PiecewiseLinear(tuple(t), tuple(x))
    table = Table(t, (f"/forceset/{names[0]}",), x[:, None])

    def controller(time, state):
        assert state.length.shape == state.activation.shape == (len(names),)
        return {names[0]: float(np.interp(time, t, x))}

    def for_all(time, state):
        return [float(np.interp(time, t, x))] + [0.0] * (len(actuator_names(model)) - 1)

    forms = ({"excitations": {names[0]: function}}, {"excitations": table}, {"controller": controller})
    for other in (*forms, {"controller": for_all}):
        found = simulate(model, None, None, SPAN, **other)
        assert_allclose(found.q[-1], one.q[-1], atol=1e-12)
        assert_allclose(found.muscles.excitation[-1], one.muscles.excitation[-1], atol=1e-12)


def test_a_compiled_controller_does_what_one_in_python_does(model) -> None:
    n, m = len(model.coordinates), len(model.muscles)

    @numba.njit
    def compiled(t, x, v, control):
        for k in range(m):
            control[k] += 0.1 + 2.0 * max(x[n + 2 * m + k] - 0.3, 0.0) + 0.05 * max(v[n + k], 0.0)

    def plain(t, state):
        return 0.1 + 2.0 * np.maximum(state.length - 0.3, 0.0) + 0.05 * np.maximum(state.speed, 0.0)

    one, other = (simulate(model, None, None, SPAN, controller=given) for given in (compiled, plain))
    assert_allclose(one.q[-1], other.q[-1], atol=1e-12)


def test_a_file_of_controls(model, tmp_path) -> None:
    name = model.muscle_names[0]
    file = tmp_path / "controls.sto"
    write_storage(Table(np.array([0.0, 0.3]), (name,), np.array([[0.1], [0.7]])), file)
    one = simulate(model, None, None, SPAN, excitations=file)
    other = simulate(model, None, None, SPAN, excitations={name: ([0.0, 0.3], [0.1, 0.7])})
    assert_allclose(one.q[-1], other.q[-1], atol=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"excitations": {"brachialis": lambda t: [0.1, 0.2]}}, r"'brachialis'\] gives \[0.1, 0.2\] at t = 0 s"),
        ({"excitations": {"brachialis": lambda t: "high"}}, "a function of time gives one number"),
        ({"controller": 3}, "controller is 3; give a function"),
    ],
)
def test_functions_that_give_no_control_are_named(model, given, words) -> None:
    with pytest.raises(InvalidInput, match=words):
        simulate(model, None, None, SPAN, **given)


def test_functions_of_python_and_arrays_are_controls(model) -> None:
    names = model.muscle_names
    times = np.linspace(0.0, 0.3, 4)
    one = simulate(model, None, None, SPAN, excitations=0.2)
    for other in (np.full(6, 0.2), [0.2] * 6, lambda t: 0.2, {name: lambda t: 0.2 for name in names}):
        assert_allclose(simulate(model, None, None, SPAN, excitations=other).q[-1], one.q[-1], atol=1e-12)
    frame = pandas.DataFrame(0.2, index=times, columns=list(names))
    assert_allclose(simulate(model, None, None, SPAN, excitations=frame).q[-1], one.q[-1], atol=1e-4)
    both = simulate(
        model, None, None, SPAN, excitations={names[0]: lambda t: 0.2}, controller=lambda t, s: {names[0]: 0.1}
    )
    assert_allclose(both.muscles.excitation[:, 0], 0.3)


def test_short_pulses_are_met(model) -> None:
    """The default steps find a pulse that is shorter than they would be."""
    pulse = {model.muscle_names[0]: ([0.0, 0.2, 0.2005, 0.201, 0.3], [0.0, 0.0, 1.0, 0.0, 0.0])}
    found = simulate(model, None, None, SPAN, excitations=pulse)
    fine = simulate(model, None, None, SPAN, excitations=pulse, max_step=1e-4)
    assert_allclose(found.muscles.activation[:, 0].max(), fine.muscles.activation[:, 0].max(), rtol=1e-2)


def test_a_simulation_goes_on_from_another(model, motion) -> None:
    first = simulate(model, None, None, (0.0, 0.1), excitations=excitations(model), rtol=1e-8, atol=1e-10)
    rest = simulate(model, first, None, (0.1, 0.3), excitations=excitations(model), rtol=1e-8, atol=1e-10)
    assert_allclose(rest.q[-1], motion.q[-1], atol=1e-6)


def test_doubtful_controls_are_told(model) -> None:
    with pytest.warns(MusculoWarning, match="percent"):
        found = simulate(model, None, None, (0.0, 0.01), excitations=30.0)
    assert "leave 0 to 1" in found.notes[0]

    def lost(t, state):
        return np.full(len(actuator_names(model)), np.nan if t >= 0.1 else 0.1)

    failed = simulate(model, None, None, SPAN, controller=lost)
    assert failed.status == "failed"
    assert f"the controller gives nan for {model.muscle_names[0]!r}" in failed.reason
    with pytest.raises(InvalidInput, match="the controller gives nan"):
        simulate(model, None, None, SPAN, controller=lambda t, state: np.full(6, np.nan))


def test_clutches_are_refused(model) -> None:
    clutch = ClutchedPathSpring("clutch", "ClutchedPathSpring", path=model.muscles[0].path)
    with pytest.raises(Unsupported, match="clutch"):
        simulate(model.with_force(clutch), None, None, SPAN, excitations=0.1)


def test_starts(model) -> None:
    def start(**given):
        return simulate(model, None, None, (0.0, 1e-4), excitations=0.1, **given).muscles

    found = start(activation=0.4)
    assert_allclose(found.activation[0], 0.4)
    # in equilibrium fibers and tendons carry the same, so the fibers stand still where the path does
    rest = muscle_equilibrium(model, found.length[0], found.speed[0], 0.4)
    assert_allclose(found.tension[0], rest.tendon_force, rtol=1e-8)
    fiber = rest.fiber_length * 1.01
    assert_allclose(start(activation=0.4, fiber_length=fiber).fiber_length[0], fiber)
    with pytest.raises(InvalidInput, match="equilibrium"):
        start(fiber_length="slack")


def test_results_have_labels(model, motion) -> None:
    muscles = motion.muscles
    data = muscles.to_xarray()
    assert data["tension"].sel(muscle=model.muscle_names[0]).shape == motion.time.shape
    assert muscles.states().names[0] == f"/forceset/{model.muscle_names[0]}/activation"
    assert muscles.controls().names == actuator_names(model)
    assert motion.to_xarray()["activation"].dims == ("time", "muscle")
    assert len(motion.to_table().names) == 2 * len(model.coordinates) + len(muscles.states().names)


def test_mistakes_are_named(model) -> None:
    with pytest.raises(UnknownName, match="biceps_longg"):
        simulate(model, None, None, SPAN, excitations={"biceps_longg": 0.1})
    with pytest.raises(InvalidInput, match="increase"):
        simulate(model, None, None, SPAN, excitations={model.muscle_names[0]: ([0.0, 0.0], [1.0, 1.0])})
    with pytest.raises(InvalidInput, match="excitations"):
        simulate(model, None, None, SPAN, activation=0.5)
    with pytest.raises(Unsupported, match="embedded"):
        simulate(model, None, None, SPAN, excitations=0.1, formulation="constrained")

    def controller(time, state):
        raise RuntimeError("a mistake of the user's")

    with pytest.raises(RuntimeError, match="a mistake of the user's"):
        simulate(model, None, None, SPAN, controller=controller)


def test_actuators_take_controls(model) -> None:
    """One at a coordinate gives its control times its optimal force; a slow one follows it with its time constant."""
    name = model.coordinate_names[1]
    stated = (("coordinate", name), ("optimal_force", "5.0"))
    direct = model.with_force(Force("motor", "CoordinateActuator", properties=stated))
    found = simulate(direct, None, None, SPAN, excitations={"motor": 0.2}, method="rkf45", rtol=1e-8)
    tau = np.zeros(len(model.speed_names))
    tau[model.speed_index(name)] = 5.0 * 0.2
    same = simulate(model, None, None, SPAN, excitations={}, forces=tau, method="rkf45", rtol=1e-8)
    assert_allclose(found.q[-1], same.q[-1], atol=1e-10)

    more = (*stated, ("activation_time_constant", "0.05"), ("default_activation", "0.0"))
    slow = model.with_force(Force("motor", "ActivationCoordinateActuator", properties=more))
    found = simulate(slow, None, None, SPAN, excitations={"motor": 0.2}, method="rkf45", rtol=1e-8)

    def motor(t, q, u):
        return tau * (1.0 - np.exp(-t / 0.05))

    same = simulate(model, None, None, SPAN, excitations={}, forces=motor, method="rkf45", rtol=1e-8)
    assert_allclose(found.q[-1], same.q[-1], atol=1e-7)


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
def test_muscles_move_a_closed_loop() -> None:
    """The girdle of a shoulder, whose clavicle closes a loop, gains the energy that its muscles give."""
    model = read_osim(DATA / "thoracoscapular_shoulder" / "ThoracoscapularShoulderModel.osim")
    times = np.linspace(0.0, 0.01, 401)
    found = simulate(model, None, None, times, excitations=0.1, rtol=1e-8, atol=1e-10, model_forces=False)
    assert (found.status, found.method) == ("finished", "cvode")
    assert found.drift.position.max() < 1e-12
    power = found.muscles.power
    exchanged = np.trapezoid(np.abs(power), times, axis=0).sum()
    assert_allclose(found.energy[-1] - found.energy[0], np.trapezoid(power.sum(axis=1), times), atol=1e-5 * exchanged)
