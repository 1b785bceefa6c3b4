"""Fatigue of joints: compartments, endurance, and the node functions of a motion that tires."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from musculo.demo import arm
from musculo.errors import InvalidInput
from musculo.muscle import FATIGUE_RATES, FatigueRates, endurance_time, fatigue_rate
from musculo.trajectory import InverseDynamics, JointEfforts, JointFatigue, Periodic, Problem, Radau, State

# Of the integrator of the independent solutions.
INTEGRATED = 1e-8
ROUNDING = 1e-12
# Both speeds of the controller [1/s].
FOLLOWING = 10.0
# Power laws of 194 publications, [FreyLawAvin2010]: endurance time [s] = b0 load^b1.
MEASURED = {
    "ankle": (34.71, -2.06),
    "knee": (19.38, -1.88),
    "trunk": (22.69, -2.27),
    "shoulder": (14.86, -1.83),
    "elbow": (17.98, -2.21),
    "grip": (33.55, -1.61),
}


def integrated(load: float, rates: FatigueRates, seconds: float):
    found = solve_ivp(
        lambda _, m: fatigue_rate(m, load, rates), (0, seconds), [1.0, 0.0, 0.0], "LSODA", rtol=1e-10, atol=1e-12
    )
    return found.y


@pytest.mark.parametrize("joint", FATIGUE_RATES)
def test_compartments_sum_to_one_and_tend_to_what_lasts(joint):
    F, R = FATIGUE_RATES[joint]
    found = integrated(1.0, FATIGUE_RATES[joint], 20.0 / R)
    assert_allclose(found.sum(axis=0), 1.0, atol=INTEGRATED)
    assert found.min() > -INTEGRATED
    lasting = 1.0 / (1.0 + F / R + F / FOLLOWING)
    assert_allclose(found[:, -1], [lasting * F / FOLLOWING, lasting, lasting * F / R], atol=INTEGRATED)
    assert lasting == pytest.approx(R / (F + R), rel=1e-3)


def test_rest_takes_fatigue_away_at_the_rate_of_recovery():
    rates = FATIGUE_RATES["knee"]
    assert_allclose(fatigue_rate([0.6, 0.0, 0.4], 0.0, rates), [0.4 * rates.recovery, 0.0, -0.4 * rates.recovery])
    # units are let go as fast as they are called
    assert_allclose(fatigue_rate([0.5, 0.5, 0.0], 0.2, rates)[1], -FOLLOWING * 0.3 - rates.fatigue * 0.5)
    # too few rest: all that do are called
    assert_allclose(fatigue_rate([0.1, 0.2, 0.7], 0.9, rates)[0], -FOLLOWING * 0.1 + rates.recovery * 0.7)


@pytest.mark.parametrize("joint", ["shoulder", "trunk"])
def test_a_load_ends_when_nothing_rests(joint):
    rates, load = FATIGUE_RATES[joint], 0.5
    rested = lambda _, m: m[0] - 1e-3  # noqa: E731 (an event is a function with an attribute)
    rested.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(
        lambda _, m: fatigue_rate(m, load, rates), (0, 1e4), [1.0, 0, 0], "LSODA", events=rested, rtol=1e-9, atol=1e-12
    )
    # the controller is late by a tenth of a second, and the last thousandth takes a while
    assert found.t[-1] == pytest.approx(endurance_time(load, rates), rel=1e-2)
    F, R = rates
    assert endurance_time(0.99 * R / (F + R), rates) == np.inf
    assert endurance_time(1.0, rates) == 0.0


@pytest.mark.parametrize("joint", MEASURED)
def test_endurance_is_that_of_people(joint):
    """The rates were fitted to these power laws: the mean difference over loads from 20 to 90 % stays below 40 s."""
    b0, b1 = MEASURED[joint]
    loads = np.arange(0.2, 0.95, 0.1)
    times = endurance_time(loads, FATIGUE_RATES[joint])
    assert np.abs(times - b0 * loads**b1).mean() < 40.0
    assert times[3] == pytest.approx(b0 * loads[3] ** b1, rel=0.45)


def functions():
    moments = InverseDynamics(arm())
    strength = {"shoulder_flexion": 40.0, "elbow_flexion": 15.0}
    rates = {"shoulder_flexion": FATIGUE_RATES["shoulder"], "elbow_flexion": FatigueRates(0.5, 0.2)}
    return JointFatigue(moments, strength, rates), JointEfforts(moments, strength)


@pytest.mark.parametrize("function", functions())
def test_slopes_and_curvatures_are_exact(function):
    random = np.random.default_rng(3)
    v, n = random.uniform(-0.5, 0.5, (4, len(function.inputs))), len(function.inputs)
    v[:, -2:] = random.uniform(0.0, 0.6, (4, 2))

    def full(states):
        found = np.zeros((len(states), len(function.outputs), n))
        found[:, function.pattern[0], function.pattern[1]] = function.slopes(states)[1]
        return found

    values = function.slopes(v)[0]
    assert_allclose(values, function.values(v), atol=ROUNDING)
    steps = 1e-6 * np.eye(n)
    numeric = np.stack([(function.values(v + e) - function.values(v - e)) / 2e-6 for e in steps], axis=2)
    assert_allclose(full(v), numeric, atol=1e-7)
    pull = random.normal(size=values.shape)
    numeric = np.stack([np.einsum("no,noi->ni", pull, full(v + e) - full(v - e)) / 2e-6 for e in steps], axis=2)
    found = np.zeros((4, n, n))
    found[:, function.curvature_pattern[0], function.curvature_pattern[1]] = function.curvatures(v, pull)
    assert_allclose(np.tril(found) + np.swapaxes(np.tril(found, -1), 1, 2), numeric, atol=1e-6)


def test_fatigue_and_effort_by_hand():
    fatigue, efforts = functions()
    v = np.zeros((1, len(fatigue.inputs)))
    v[0, :2] = 0.3, 0.9
    v[0, -2:] = 0.2, 0.5
    tau = fatigue.moments.values(v[:, :-2])[0]
    assert_allclose(efforts.values(v)[0], tau / [40.0 * 0.8, 15.0 * 0.5])
    load = np.sqrt((tau / [40.0, 15.0]) ** 2 + 1e-4) - 1e-2
    assert_allclose(fatigue.load(tau), load)
    assert_allclose(fatigue.values(v)[0], [0.0182 * load[0] - 0.00168 * 0.2, 0.5 * load[1] - 0.2 * 0.5])


def test_a_joint_without_strength_is_named():
    with pytest.raises(InvalidInput, match="strength: nothing is given for elbow_flexion"):
        JointEfforts(InverseDynamics(arm()), {"shoulder_flexion": 40.0})


def test_what_is_repeated_ends_as_its_rest_makes_up_for():
    """M' = F - R M over 1 s, then rest for 4 s: M(0) = exp(-4 R) M(1), in closed form."""
    from musculo.trajectory import Formula

    F, R = 0.3, 0.2
    rate = Formula(lambda m: F - R * m, "tired", "tired_rate")
    again = Periodic("tired", factors={"tired": float(np.exp(4.0 * R))})
    found = Problem([State("tired", (0.0, 1.0))], 1.0, rate, constraints=again).solve(Radau(5, 3))
    end = F / R * -np.expm1(-R) / -np.expm1(-5.0 * R)
    assert found["tired"][-1] == pytest.approx(end, rel=1e-9)
    assert found["tired"][0] == pytest.approx(end * np.exp(-4.0 * R), rel=1e-9)
