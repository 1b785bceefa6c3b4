"""Static optimisation of a rod on a pin: two muscles, motors and springs, all checkable by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import (
    Body,
    Coordinate,
    Model,
    PinJoint,
    Placement,
    embedding_of,
    inverse_dynamics,
    muscle_equilibrium,
    muscle_geometry,
    path_geometry,
    static_optimization,
)
from musculo.analyses.static_optimization.least_effort import Status
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.model.force import Force, Muscle
from musculo.model.model_path import Path, PathPoint
from musculo.model.path_force import PathActuator, PathSpring
from musculo.muscle import active_force_capacity

# A dozen operations on numbers up to a thousand.
ROUNDING = 1e-9
LEAST = 0.01
STILL = ([0.1], [0.0])


def path(side: float) -> Path:
    return Path((PathPoint("a", "ground", (side, 0.1, 0.0)), PathPoint("b", "rod", (0.0, -0.2, 0.0))))


def muscle(name: str, side: float, strength: float = 500.0) -> Muscle:
    return Muscle(
        name,
        "Millard2012EquilibriumMuscle",
        path=path(side),
        max_isometric_force=strength,
        optimal_fiber_length=0.1,
        tendon_slack_length=0.2,
        min_control=LEAST,
    )


def rod(*forces: Force) -> Model:
    body = Body("rod", 1.0, (0.0, -0.5, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    joint = PinJoint("pin", Placement("ground"), Placement("rod"), (Coordinate("angle"),))
    return Model("rod", (body,), (joint,), forces=forces)


FLEXOR, EXTENSOR = muscle("flexor", 0.1), muscle("extensor", -0.1, 800.0)
PAIR = rod(FLEXOR, EXTENSOR)


def arms(model: Model = PAIR) -> np.ndarray:
    return muscle_geometry(model, [0.1]).moment_arm[:, 0]


def test_the_antagonist_rests():
    flexor, extensor = arms()
    assert flexor > 0.0 > extensor
    found = static_optimization(PAIR, *STILL, tau=[5.0], force_length_velocity=False)
    alone = (5.0 - LEAST * 800.0 * extensor) / (500.0 * flexor)
    assert_allclose(found.activation, [alone, LEAST], rtol=ROUNDING)
    assert_allclose(found.force, [alone * 500.0, LEAST * 800.0], rtol=ROUNDING)
    assert_allclose(found.objective, alone**2 + LEAST**2, rtol=ROUNDING)
    assert abs(found.balance_residual[0]) < ROUNDING
    assert found.solved
    assert found.messages == {}


def test_accelerations_and_loads_make_the_forces():
    tau = inverse_dynamics(PAIR, [[0.1], [0.2]], [[0.3], [0.1]], [[2.0], [30.0]])
    given = static_optimization(PAIR, [[0.1], [0.2]], [[0.3], [0.1]], tau=tau)
    made = static_optimization(PAIR, [[0.1], [0.2]], [[0.3], [0.1]], [[2.0], [30.0]])
    assert_allclose(made.activation, given.activation, rtol=0, atol=ROUNDING)
    assert np.ptp(made.activation, axis=0).max() > 0.01


@pytest.mark.parametrize("passive", [True, False])
def test_a_muscle_gives_its_capacity_and_what_its_fibre_resists(passive):
    found = static_optimization(PAIR, *STILL, tau=[5.0], passive=passive)
    g = muscle_geometry(PAIR, *STILL)
    capacity = active_force_capacity(PAIR, g.length, g.speed)
    rest = muscle_equilibrium(PAIR, g.length, g.speed, 0.0, tendon="rigid")
    resisted = rest.passive_fiber_force * np.cos(rest.pennation)
    assert resisted.min() > 1.0
    assert_allclose(found.force, capacity * found.activation + passive * resisted, rtol=ROUNDING)
    assert_allclose(g.moment_arm[:, 0] @ found.force, 5.0, rtol=ROUNDING)


@pytest.mark.parametrize("passive", [True, False])
def test_an_elastic_tendon_carries_what_the_fibre_does(passive):
    found = static_optimization(PAIR, *STILL, tau=[5.0], tendon="elastic", passive=passive)
    g = muscle_geometry(PAIR, *STILL)
    carried = muscle_equilibrium(PAIR, g.length, g.speed, found.activation).tendon_force
    idle = muscle_equilibrium(PAIR, g.length, g.speed, 0.0).tendon_force
    assert_allclose(found.force, carried - (0.0 if passive else idle), rtol=ROUNDING)
    assert_allclose(g.moment_arm[:, 0] @ found.force, 5.0, rtol=ROUNDING)
    assert found.solved
    rigid = static_optimization(PAIR, *STILL, tau=[5.0], passive=passive)
    assert np.abs(found.activation - rigid.activation).max() > 1e-5


@pytest.mark.parametrize("method", ["exact", "opensim"])
def test_passive_force_is_left_out_unless_asked_for(method):
    bare = static_optimization(PAIR, *STILL, tau=[5.0], method=method)
    asked = static_optimization(PAIR, *STILL, tau=[5.0], method=method, passive=True)
    g = muscle_geometry(PAIR, *STILL)
    capacity = active_force_capacity(PAIR, g.length, g.speed, method=method)
    assert_allclose(bare.force, bare.activation * capacity, rtol=ROUNDING)
    assert (asked.force > bare.force + 0.5).any()
    assert not bare.passive_moment.any()
    assert_allclose(asked.passive_moment, arms() @ asked.passive_force, rtol=ROUNDING)


def test_fibres_stretched_too_far_are_named_with_what_to_try():
    """An extensor whose tendon is too short: its fibre resists the flexor more than the motion needs."""
    short = replace(EXTENSOR, tendon_slack_length=0.5 * EXTENSOR.tendon_slack_length)
    model = rod(FLEXOR, short)
    found = static_optimization(model, *STILL, tau=[5.0], passive=True)
    assert list(found.overstretched) == ["extensor"]
    assert found.overstretched["extensor"] == pytest.approx(found.passive_force[1] / 800.0)
    given, needed = found.passive_excess["angle"]
    assert given == pytest.approx(abs(arms(model) @ found.passive_force))
    assert needed == pytest.approx(5.0)
    for words in ("fibers of 1 muscle are", "extensor", "'angle', which needs at most 5 N m", "passive=False", "slack"):
        assert words in found.advice
    assert found.advice.split("; alone")[0] in found._repr_html_()
    assert not found.solved
    assert "stretched fibers, which give" in found.messages[0]
    assert static_optimization(model, *STILL, tau=[5.0]).advice == ""
    assert static_optimization(PAIR, *STILL, tau=[5.0], passive=True).advice == ""


def test_a_reserve_shares_by_its_strength():
    """min a^2 + c^2 with R a + S c = b: a = R b / (R^2 + S^2)."""
    model = rod(FLEXOR)
    R, S = 500.0 * arms(model)[0], 4.0
    found = static_optimization(
        model, *STILL, tau=[5.0], force_length_velocity=False, reserves={"angle": S}, weights={"flexor": 4.0}
    )
    weighted = R / 4.0
    assert_allclose(found.activation, [weighted * 5.0 / (R * weighted + S * S)], rtol=ROUNDING)
    assert_allclose(found.control, [S * 5.0 / (R * weighted + S * S)], rtol=ROUNDING)
    assert_allclose(found.reserve, S * found.control, rtol=ROUNDING)
    assert found.actuators == ("angle_reserve",)
    assert static_optimization(model, *STILL, tau=[5.0], reserves=S).actuators == ("angle_reserve",)


def test_a_frame_that_cannot_be_served_says_where_and_by_how_much():
    flexor, extensor = arms()
    most = 500.0 * flexor + LEAST * 800.0 * extensor
    found = static_optimization(
        PAIR, [[0.1]] * 3, [[0.0]] * 3, tau=[[5.0], [most + 20.0], [5.0]], force_length_velocity=False
    )
    assert list(found.status) == [Status.SOLVED, Status.INFEASIBLE, Status.SOLVED]
    assert not found.solved
    assert_allclose(found.balance_residual[1], 20.0, rtol=1e-6)
    assert list(found.messages) == [1]
    assert "frame 1: muscles and actuators cannot produce the force at 'angle': 20 N m is missing" in found.messages[1]
    assert_allclose(found.activation[2], found.activation[0], atol=ROUNDING)


def test_motors_of_the_model_take_part():
    """Each alone gives 6 N m: optimal force times arm times control."""
    turn = (("bodyA", "rod"), ("bodyB", "ground"), ("axis", "0 0 2"), ("optimal_force", "3"))
    push = (("body", "/bodyset/rod"), ("point", "0 -0.4 0"), ("direction", "5 0 0"), ("optimal_force", "10"))
    globally = (*push[:1], ("point", "0.3 0 0"), ("point_is_global", "true"), ("direction", "0 2 0"))
    upright = (*globally, ("force_is_global", "true"), ("optimal_force", "10"))
    at = (("coordinate", "angle"), ("optimal_force", "12"))
    cable = PathActuator("cable", path=path(0.1), optimal_force=100.0)
    expected = {
        Force("turn", "TorqueActuator", properties=turn): 2.0,
        Force("push", "PointActuator", properties=push): 6.0 / (10.0 * 0.4),
        Force("up", "PointActuator", properties=upright): 6.0 / (10.0 * 0.3),
        Force("motor", "CoordinateActuator", properties=at): 0.5,
        cable: 6.0 / (100.0 * float(path_geometry(rod(cable), [0.1]).moment_arm[0, 0])),
    }
    for force, control in expected.items():
        found = static_optimization(rod(force), *STILL, tau=[6.0])
        assert_allclose(found.control, [control], rtol=ROUNDING, err_msg=force.name)
        assert_allclose(found.reserve, [6.0], rtol=ROUNDING)
        off = static_optimization(rod(replace(force, applies_force=False)), *STILL, tau=[6.0])
        assert off.actuators == ()
        assert off.status == Status.INFEASIBLE


def test_motors_keep_their_bounds():
    at = (("coordinate", "angle"), ("optimal_force", "12"), ("min_control", "-1"), ("max_control", "0.25"))
    found = static_optimization(rod(Force("motor", "CoordinateActuator", properties=at)), *STILL, tau=[6.0])
    assert_allclose(found.balance_residual, [3.0], rtol=1e-6)
    assert found.status == Status.INFEASIBLE


def test_springs_along_paths_take_their_part():
    spring = PathSpring("s", path=path(0.1), resting_length=0.1, stiffness=50.0)
    with_spring = rod(FLEXOR, EXTENSOR, spring)
    g = path_geometry(with_spring, [0.1])
    pulled = 50.0 * (g.length[2] - 0.1) * g.moment_arm[2, 0]
    assert pulled > 0.3
    ours = static_optimization(with_spring, *STILL, tau=[5.0])
    assert_allclose(ours.activation, static_optimization(PAIR, *STILL, tau=[5.0 - pulled]).activation, rtol=ROUNDING)


def test_who_is_switched_off_does_nothing():
    model = rod(FLEXOR, replace(EXTENSOR, applies_force=False))
    found = static_optimization(model, *STILL, tau=[5.0], force_length_velocity=False)
    assert_allclose(found.activation, [5.0 / (500.0 * arms()[0]), 0.0], rtol=ROUNDING)
    assert found.force[1] == 0.0


def test_locked_coordinates_need_no_muscle(leg):
    e = embedding_of(leg)
    q, u = e.default_pose(), np.zeros(len(leg.speed_names))
    name = e.speed_names[-1]
    locked = leg.with_coordinate(name, locked=True)
    found = static_optimization(locked, embedding_of(locked).default_pose(), u, u, reserves=1.0)
    assert name not in found.coordinates
    assert set(found.coordinates) == set(e.speed_names) - {name}
    assert static_optimization(leg, q, u, u, reserves=1.0).reserve.shape == (len(e.speed_names),)


def test_results_have_labels_and_say_what_was_left_out():
    model = rod(FLEXOR, EXTENSOR, Force("stop", "ExponentialContactForce"))
    found = static_optimization(model, [[0.1]] * 2, [[0.0]] * 2, tau=[[5.0], [6.0]], reserves=1.0)
    assert found.left_out == ("stop",)
    data = found.to_xarray([0.0, 0.1])
    assert data["activation"].sel(muscle="flexor", time=0.1) == found.activation[1, 0]
    assert data.attrs["option_tendon"] == "rigid"
    assert data["status"].attrs["flag_meanings"] == "solved infeasible not_converged"
    assert static_optimization(model, *STILL, tau=[5.0]).to_xarray()["force"].dims == ("muscle",)


def test_errors_say_what_to_give():
    def run(model=PAIR, **more):
        return static_optimization(model, *STILL, **{"tau": [5.0], **more})

    with pytest.raises(InvalidInput, match="either udot"):
        run(udot=[0.0])
    with pytest.raises(InvalidInput, match="either udot"):
        run(tau=None)
    with pytest.raises(InvalidInput, match="number from 1"):
        run(power=0.5)
    with pytest.raises(InvalidInput, match="'rigid' or 'elastic'"):
        run(tendon="stiff")
    with pytest.raises(InvalidInput, match="'exact' or 'opensim'"):
        run(method="fast")
    with pytest.raises(UnknownName, match=r"no free speed 'angel'.*did you mean 'angle'"):
        run(reserves={"angel": 1.0})
    with pytest.raises(InvalidInput, match="above zero"):
        run(reserves=0.0)
    with pytest.raises(UnknownName, match="did you mean 'flexor'"):
        run(weights={"flexer": 1.0})
    with pytest.raises(InvalidInput, match="weight of 'flexor' is -1"):
        run(weights={"flexor": -1})
    with pytest.raises(InvalidModel, match="optimal force inf"):
        run(rod(Force("m", "CoordinateActuator", properties=(("coordinate", "angle"), ("optimal_force", "inf")))))
    with pytest.raises(UnknownName, match="CoordinateActuator 'm'"):
        run(rod(Force("m", "CoordinateActuator", properties=(("coordinate", "knee"),))))
    with pytest.raises(UnknownName, match="no body 'limb'"):
        run(rod(Force("m", "PointActuator", properties=(("body", "limb"),))))
    with pytest.raises(InvalidModel, match="it needs three numbers"):
        run(rod(Force("m", "PointActuator", properties=(("body", "rod"), ("direction", "0 0")))))
