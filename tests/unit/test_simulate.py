"""Simulations of systems whose motion is known, how they end, and the methods' orders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipk

import musculo
from musculo import ExternalLoad, Model
from musculo.errors import InvalidInput
from musculo.simulation import SimulationEvent
from musculo.simulation.integrators.called_steps import CalledSteps
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.stepped_run import Course
from support.mechanisms import chain, four_bar, hinge, link

METHODS = ("cvode", "adams", "rkf45", "tr-bdf2", "ida")
# A local error of 1e-12 a step, over the thousand steps of a swing.
PERIOD = 1e-8
LOOSE = 1e-6
# When the crank of a four-bar with short bars is stretched out, by the constrained form to 1e-11 [s].
DEAD = 0.5633
INERTIA, ARM, GRAVITY = 0.1 + 0.25, 0.5, 9.80665


def pendulum() -> Model:
    return Model("pendulum", (link("b", 1.0, (0.0, -ARM), 0.1),), (hinge("a", "ground", (0.0, 0.0), "b"),))


def period(amplitude: float) -> float:
    """4 sqrt(I / m g l) K(sin^2(a / 2))."""
    return 4.0 * np.sqrt(INERTIA / (GRAVITY * ARM)) * ellipk(np.sin(amplitude / 2.0) ** 2)


@pytest.mark.parametrize("method", ["cvode", "adams", "rkf45", "ida"])
def test_a_pendulum_swings_in_the_time_of_the_elliptic_integral(method):
    T = period(1.0)
    turn = SimulationEvent("turn", lambda t, q, u: u[0], direction=1)
    done = musculo.simulate(
        pendulum(), [1.0], [0.0], (0.0, 1.2 * T), method=method, rtol=1e-12, atol=1e-12, events=[turn]
    )
    assert done.status == "finished"
    assert [event.name for event in done.events] == ["turn"]
    assert abs(done.events[0].time - 0.5 * T) < PERIOD
    q, u = done.at(T)
    assert abs(q[0] - 1.0) < PERIOD
    assert abs(u[0]) < 10 * PERIOD
    assert np.ptp(done.energy) < PERIOD


def falling() -> Model:
    """A bar on a slider: it falls freely, y = -g t^2 / 2."""
    slide = musculo.model.SliderJoint(
        "s",
        musculo.Placement("ground", (0, 0, 0), (0, 0, np.pi / 2)),
        musculo.Placement("b"),
        (musculo.Coordinate("y"),),
    )
    return Model("falling", (link("b", 2.0, (0.0, 0.0), 0.1),), (slide,))


@pytest.mark.parametrize("method", METHODS)
def test_events_are_located_to_rounding(method):
    """The free fall is a polynomial of second degree, which every method follows exactly: the event is what is seen."""
    stop = SimulationEvent("floor", lambda t, q, u: q[0] + 1.0, terminal=True)
    half = SimulationEvent("half", lambda t, q, u: q[0] + 0.5)
    never = SimulationEvent("never", lambda t, q, u: q[0] + 0.25, direction=1)
    done = musculo.simulate(
        falling(), [0.0], [0.0], (0.0, 3.0), method=method, events=[stop, half, never], rtol=1e-11, atol=1e-12
    )
    assert done.status == "event"
    assert "'floor'" in done.reason
    assert [event.name for event in done.events] == ["half", "floor"]
    for event, height in zip(done.events, (0.5, 1.0), strict=True):
        assert abs(event.time - np.sqrt(2.0 * height / GRAVITY)) < 1e-10
        assert abs(event.q[0] + height) < 1e-10
    assert done.end == done.events[-1].time
    assert abs(done.q[-1, 0] + 1.0) < 1e-10
    t = np.linspace(0.0, done.end, 50)
    assert np.abs(done.at(t)[0][:, 0] + 0.5 * GRAVITY * t**2).max() < 1e-9


def test_forces_and_loads_act():
    """A force that carries the weight, and a load that does, hold the bar; twice the weight lifts it with g."""
    model, weight, times = falling(), 2.0 * GRAVITY, [0.0, 0.1, 0.2]
    held = musculo.simulate(model, [0.0], [0.0], times, forces=[weight])
    assert np.abs(held.q).max() < 1e-12
    lifted = musculo.simulate(
        model, [0.0], [0.0], times, loads=lambda t, q, u: [ExternalLoad("b", force=(0.0, 2.0 * weight, 0.0))]
    )
    assert np.abs(lifted.q[:, 0] - 0.5 * GRAVITY * np.square(times)).max() < 1e-8
    assert np.abs(lifted.udot - GRAVITY).max() < 1e-10
    pushed = musculo.simulate(model, [0.0], [0.0], times, forces=lambda t, q, u: [weight + 12.0 * t])
    assert np.abs(pushed.q[:, 0] - np.power(times, 3)).max() < 1e-8


def test_results_are_labelled():
    done = musculo.simulate(pendulum(), [0.5], [0.0], np.linspace(0.0, 1.0, 11))
    table = done.to_table()
    assert np.array_equal(table.column("/jointset/a/a/value"), done.q[:, 0])
    assert np.array_equal(table.column("/jointset/a/a/speed"), done.u[:, 0])
    data = done.to_xarray()
    assert np.array_equal(data["q"].sel(coordinate="a"), done.q[:, 0])
    assert data.attrs["status"] == "finished"
    assert not np.any([done.drift.position, done.drift.velocity])
    seen = []
    sparse = musculo.simulate(pendulum(), [0.5], [0.0], (0.0, 1.0), dense=False, progress=seen.append)
    assert seen == sparse.time[1:].tolist()
    assert sparse.n_steps == len(seen)
    with pytest.raises(InvalidInput, match="dense=True"):
        sparse.at(0.5)
    with pytest.raises(InvalidInput, match="from 0 to 1 s"):
        done.at(1.5)


@pytest.mark.parametrize("method", ["cvode", "adams", "rkf45", "ida"])
def test_a_singular_position_is_named(method):
    """A parallelogram falls flat, where its two branches meet."""
    flat = chain("parallelogram", (0.3, 0.6, 0.3), 0.6, (0.8, -0.8, -2.341592653589793))
    done = musculo.simulate(flat, None, None, (0.0, 3.0), method=method, rtol=1e-6, atol=1e-8)
    assert done.status == "failed"
    assert "loop 'closure' is in a singular position" in done.reason
    assert abs(done.q[-1, 0]) < 1e-5
    assert f"at t = {done.end:.9g} s" in done.reason


@pytest.mark.parametrize("method", METHODS)
def test_a_dead_point_is_no_place_to_turn_back(method):
    """Where the crank comes to its end the others go on: on the old branch the motion would run backwards."""
    short = four_bar(0.4, 0.3, 0.3, 0.5)
    done = musculo.simulate(short, None, None, (0.0, 3.0), method=method, rtol=LOOSE, atol=1e-2 * LOOSE)
    assert done.status == "failed"
    assert "'closure'" in done.reason
    assert "dead point" in done.reason or "cannot be closed" in done.reason  # before it, or beyond it
    assert abs(done.end - DEAD) < 1e-3
    whole = musculo.simulate(
        short, None, None, (0.0, 1.0), method="rkf45", rtol=LOOSE, atol=1e-2 * LOOSE, formulation="constrained"
    )
    assert whole.status == "finished"
    # Every step may leave LOOSE of the largest angle, and they may all add up: 3e-4 rad for the 99 steps of rkf45 and
    # 1.3e-3 for the 473 of tr-bdf2. Against 1e-12, rkf45 is 1e-5 off, cvode 4e-5, ida 1e-5 and tr-bdf2 1e-4.
    steps = sum(int((one.time <= 0.5).sum()) for one in (done, whole))
    assert np.abs(whole.at(0.5)[0] - done.at(0.5)[0]).max() < steps * LOOSE * np.abs(whole.at(0.5)[0]).max()


@pytest.mark.parametrize("method", ["cvode", "adams"])
def test_a_loose_step_across_a_dead_point_is_seen(method):
    """Steps of 1e-4 find both of their ends within reach, on the two sides of it."""
    done = musculo.simulate(four_bar(0.4, 0.3, 0.3, 0.5), None, None, (0.0, 1.0), method=method, rtol=1e-4, atol=1e-4)
    assert done.status == "failed"
    assert "passes a dead point" in done.reason
    assert abs(done.end - DEAD) < 1e-3


def test_too_many_steps_are_an_outcome():
    done = musculo.simulate(pendulum(), [1.0], [0.0], (0.0, 100.0), max_steps=20)
    assert done.status == "failed"
    assert done.reason.startswith("20 steps led from 0 to ")
    assert done.n_steps == 20


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"times": (1.0, 0.0)}, "finite and increasing"),
        ({"times": 1.0}, "give \\(start, end\\)"),
        ({"method": "euler"}, "method='euler'; known: cvode"),
        ({"formulation": "free"}, "known: embedded, constrained"),
        ({"rtol": 0.0}, "rtol is 0.0"),
        ({"max_step": -1.0}, "max_step is -1.0"),
        ({"q0": [0.0, 1.0]}, "q0 has shape"),
        ({"q0": [[0.0]]}, "starts from one state"),
        ({"u0": [np.nan]}, "u0 holds nan"),
        ({"forces": [1.0, 2.0]}, "forces: shape \\(2,\\)"),
        ({"forces": lambda t, q, u: [np.nan]}, "forces at t = 0 s: nan on the speed 'a'"),
        ({"loads": 3.0}, "loads is 3.0"),
        ({"events": 3.0}, "events is 3.0"),
        ({"events": [3.0]}, "an event is 3.0"),
        ({"stabilization": 1.0}, "is for formulation='constrained'"),
        ({"independent": "a", "formulation": "constrained"}, "all coordinates are integrated"),
        ({"stabilization": -1.0, "formulation": "constrained"}, "stabilization is -1.0"),
    ],
)
def test_bad_input_is_one_clear_sentence(changes, words):
    given = {"q0": [0.0], "u0": [0.0], "times": (0.0, 1.0), **changes}
    q0, u0, times = (given.pop(name) for name in ("q0", "u0", "times"))
    with pytest.raises(InvalidInput, match=words):
        musculo.simulate(pendulum(), q0, u0, times, **given)


@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
def test_a_start_off_the_loop_is_refused_by_name(formulation):
    q = musculo.embedding_of(four_bar()).default_pose()
    with pytest.raises(InvalidInput, match="closure"):
        musculo.simulate(four_bar(), q + np.array([0.0, 0.0, 0.1]), None, (0.0, 1.0), formulation=formulation)
    with pytest.raises(InvalidInput, match="speed"):
        musculo.simulate(four_bar(), q, [0.0, 0.0, 0.1], (0.0, 1.0), formulation=formulation)


# --- orders -----------------------------------------------------------------------------------------------------------
def rates(t: float, y: np.ndarray) -> np.ndarray:
    """y = (sin t^2, cos t^2)."""
    return 2.0 * t * np.array([y[1], -y[0]])


def solved(t: float) -> np.ndarray:
    return np.array([np.sin(t * t), np.cos(t * t)])


def fixed(step, n: int) -> float:
    """The error at t = 1 after n equal steps."""
    y, h = solved(0.0), 1.0 / n
    for k in range(n):
        y = step(k * h, y, (k + 1) * h)[0]
    return float(np.abs(y - solved(1.0)).max())


def steps(method, of):
    """Single steps of a method along given rates; Newton's iteration goes on to rounding."""
    answer = lambda t, y, end: (y, of(t, y))  # noqa: E731
    return CalledSteps(method, answer, 2, Control(0.0, 1e-11))


def rkf45(t, y, end):
    return steps("rkf45", rates).trial(t, y, rates(t, y), end)


def rkf4(t, y, end):
    fifth, difference = rkf45(t, y, end)
    return fifth - difference, difference


def tr_bdf2(t, y, end):
    return steps("tr-bdf2", rates).trial(t, y, rates(t, y), end)


@pytest.mark.parametrize(("step", "order", "n"), [(rkf45, 5, 20), (rkf4, 4, 20), (tr_bdf2, 2, 80)])
def test_the_order_of_a_method_is_what_it_claims(step, order, n):
    coarse, fine = fixed(step, n), fixed(step, 2 * n)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.25)


def test_tr_bdf2_damps_what_is_stiff():
    """L-stability: one step over a million time constants leaves next to nothing."""
    stiff = lambda t, y: -1e6 * y  # noqa: E731
    y = np.ones(2)
    y, _ = steps("tr-bdf2", stiff).trial(0.0, y, stiff(0.0, y), 1.0)
    assert np.abs(y).max() < 1e-5


def test_dense_output_is_of_sixth_order():
    between = np.linspace(0.0, 1.0, 97)
    truth = np.array([solved(t) for t in between])

    def error(n: int) -> float:
        t = np.linspace(0.0, 1.0, n + 1)
        y = np.array([solved(x) for x in t])
        f = np.array([rates(x, v) for x, v in zip(t, y, strict=True)])
        return float(np.abs(Course(t, y, f, None)(between) - truth).max())

    assert np.log2(error(8) / error(16)) > 5.5
