"""Forces that compiled steps call, whoever wrote them: the model's, a recording's, kernels, functions in Python."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.model.joints import SliderJoint
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.simulation.equations.systems import EmbeddedSystem
from musculo.simulation.forces.acting import Acting
from musculo.simulation.forces.model_force import ModelForce
from musculo.simulation.integrators.control import Control
from support.force_models import bouncing_ball, every_state, force, zoo

# Lengths of steps follow from errors that differ by rounding, which friction and impacts enlarge [rad, m].
SAME = 1e-6
# Of what a ball has of energy: Hertz's force has no second derivative where contact begins, a mesh's no first.
KEPT = {"HuntCrossleyForce": 1e-6, "ElasticFoundationForce": 1e-5}
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("kind", ["HuntCrossleyForce", "ElasticFoundationForce"])
def test_a_ball_comes_back_to_its_height(kind, tmp_path):
    """No energy is lost in four contacts, computed in compiled steps; a mesh's springs set in one by one."""
    model = bouncing_ball(kind, tmp_path)
    start = [0.0, 0.0, 0.0, 0.0, 0.5, 0.0]
    done = musculo.simulate(model, start, None, (0.0, 2.3), method="rkf45", max_step=2e-4, **TIGHT)
    assert done.status == "finished", done.reason
    height = done.q[:, 4]
    lowest = (height[1:-1] < height[:-2]) & (height[1:-1] < height[2:])
    assert lowest.sum() == 4
    assert height[1:-1][lowest].max() < 0.1
    assert np.ptp(done.energy) < KEPT[kind] * np.ptp(done.kinetic)


def test_springs_of_all_kinds_keep_energy_in_compiled_steps(tmp_path):
    springs = (
        force("bushing", "BushingForce", socket_frame1="/bodyset/a", socket_frame2="/bodyset/d",
              rotational_stiffness="10 20 30", translational_stiffness="50 40 60"),
        force("cord", "PointToPointSpring", socket_body1="/bodyset/c", socket_body2="/ground", stiffness=30,
              rest_length=0.2, point1="0.1 0 0"),
        force("coil", "SpringGeneralizedForce", coordinate="turn", stiffness=5, rest_length=0.2),
        force("limit", "CoordinateLimitForce", coordinate="slide", upper_limit=0.05, lower_limit=-0.05,
              upper_stiffness=300, lower_stiffness=200, damping=0, transition=0.02),
    )  # fmt: skip
    model = zoo(tmp_path).replace(forces=springs, frames=(), contact_geometries=(), gravity=(0.0, -9.81, 0.0))
    q, u = (x[0] for x in every_state(model, 1)[:2])
    done = musculo.simulate(model, 0.3 * q, 0.1 * u, np.linspace(0.0, 0.4, 9), method="rkf45", **TIGHT)
    assert done.status == "finished"
    assert np.ptp(done.kinetic) > 1.0
    assert np.ptp(done.stored) > 1.0
    assert_allclose(done.energy, done.energy[0], atol=1e-7 * np.ptp(done.kinetic))


@numba.njit
def drag(t, q, u, tau):
    tau[4] -= 0.3 * u[4]


def gust(t, q, u):
    return [0.0, 0.0, 0.0, np.sin(5.0 * t), 0.0, 0.1 * q[3]]


@pytest.mark.parametrize("method", ["rkf45", "cvode"])
def test_forces_of_all_kinds_act_together(method, tmp_path):
    """Of the model, a user's kernel, a constant, a function and loads: as one function of all of them does."""
    model = bouncing_ball("HuntCrossleyForce", dissipation=0.5, friction=0.6)
    push = np.array([0.0, 0.0, 0.01, 0.0, 0.0, 0.2])
    time = np.linspace(0.0, 1.0, 11)
    names = [f"p_{part}{axis}" for part in "fpm" for axis in "xyz"]
    table = musculo.Table(time, names, np.sin(np.outer(time, np.arange(1.0, 10.0))))
    loads = ExternalLoads("loads", (ExternalForce("wind", "ball", "p_f", "p_p", "p_m"),), table)
    own, outside = ModelForce(model), ModelForce(model, passive=False, loads=loads)

    def whole(t, q, u):
        tau = push + gust(t, q, u)
        for one in (drag, own, outside):
            one(t, q, u, tau)
        return tau

    start, options = [0.0, 0.0, 0.0, 0.0, 0.11, 0.0], {"method": method, "rtol": 1e-9, "atol": 1e-10}
    ours = musculo.simulate(model, start, None, (0.0, 0.3), forces=[drag, push, gust], loads=loads, **options)
    theirs = musculo.simulate(model, start, None, (0.0, 0.3), forces=whole, model_forces=False, **options)
    assert ours.status == "finished"
    assert ours.q[:, 4].min() < 0.1
    assert_allclose(ours.q[-1], theirs.q[-1], rtol=0, atol=SAME)
    assert ours.provenance.options["forces"] == "gust, model_forces, external loads, kernels, constant"


def test_steps_with_functions_in_python_are_taken_many_at_a_time():
    model = bouncing_ball("HuntCrossleyForce")
    for forces in (gust, [gust, drag], None):
        system = EmbeddedSystem(model, Acting(model, forces, None, [ModelForce(model)]))
        assert system.acting.address
        assert system.ahead("rkf45", Control(1e-8, 1e-10, np.inf), False) is not None


def slider() -> Model:
    joint = SliderJoint("rail", Placement("ground"), Placement("cart"), (Coordinate("x"),))
    return Model("cart", (Body("cart", 2.0),), (joint,), gravity=(0.0, 0.0, 0.0))


class Broken(Exception):
    """What a user's own code raises."""


@pytest.mark.parametrize("method", ["rkf45", "tr-bdf2", "cvode"])
@pytest.mark.parametrize("error", [Broken("the valve is shut"), KeyboardInterrupt()])
def test_what_a_function_raises_comes_out(method, error):
    """Errors cannot pass through compiled code, so they are met again outside, and a stop of the program at once."""
    later = []

    def controller(t, q, u):
        if t > 0.5:
            later.append(t)
            raise error
        return [1.0]

    with pytest.raises(type(error)) as met:
        musculo.simulate(slider(), [0.0], [0.0], (0.0, 1.0), forces=controller, method=method)
    assert met.value is error
    assert len(later) == 1 or not isinstance(error, KeyboardInterrupt)


@pytest.mark.parametrize("method", ["rkf45", "cvode"])
def test_forces_that_are_no_numbers_end_the_simulation(method):
    def controller(t, q, u):
        return [np.nan if t > 0.5 else 1.0]

    done = musculo.simulate(slider(), [0.0], [0.0], (0.0, 1.0), forces=controller, method=method)
    assert done.status == "failed"
    assert 0.49 < done.time[-1] <= 0.51
    assert "nan on the speed 'x'" in done.reason


def test_a_function_sees_the_state_and_may_keep_it():
    kept = []

    def controller(t, q, u):
        kept.append((t, q, u))
        return [2.0 * np.cos(t)]

    done = musculo.simulate(slider(), [1.0], [0.0], (0.0, 3.0), forces=controller, method="rkf45")
    t, q = np.array([k[0] for k in kept]), np.array([k[1][0] for k in kept])
    assert len({id(k[1]) for k in kept}) == len(kept)
    # the exact motion at every state that was asked for, within the error of stages of low order
    assert_allclose(q, 2.0 - np.cos(t), rtol=0, atol=1e-2)
    assert_allclose(done.q[-1, 0], 2.0 - np.cos(3.0), rtol=0, atol=1e-7)
