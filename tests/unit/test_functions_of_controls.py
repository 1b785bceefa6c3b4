"""Controls and external loads as functions of time, which simulations evaluate: the same numbers as in tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import ExternalLoad
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.forces.loads_over_time import forces_of_loads
from musculo.forces.model_forces import passive_forces
from musculo.functions import (
    Constant,
    GCVSpline,
    Linear,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    Sine,
    Sum,
)
from musculo.io.control_files import Control
from musculo.io.controllers import Controller, prescribed_controls
from musculo.results import ExternalForce, ExternalLoads, Table
from support.dynamics_models import random_q, random_tree

# Sums of a few numbers of order one, and forces of order a hundred, in different order.
ROUNDING, OF_FORCES = 1e-13, 1e-11
TIMES = np.random.default_rng(3).uniform(-1.0, 3.0, 400)
NODES = np.array([0.0, 0.4, 1.5, 2.0]), np.array([0.1, 0.7, 0.2, 0.9])


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("extrapolate", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_control_is_the_same_as_a_function(steps, extrapolate, count):
    control = Control("m", NODES[0][:count], NODES[1][:count], steps, extrapolate)
    assert_allclose(control.function(TIMES), control.at(TIMES), rtol=0, atol=ROUNDING)


def test_a_sum_is_the_sum_of_its_parts():
    parts = (
        PiecewiseLinear((0.0, 1.0, 3.0), (1.0, 2.0, 0.0)),
        PiecewiseConstant((-0.5, 0.7, 2.0), (3.0, 4.0, 5.0)),
        GCVSpline((0.0, 0.5, 1.0, 1.5, 2.0, 4.0), (0.0, 1.0, 0.0, 2.0, 1.0, 1.0)),
        Constant(2.0),
        Polynomial((1.0, 0.0, -1.0)),
        Scaled(Linear(2.0, 1.0), 3.0),
    )
    both = Sum(parts)
    for order in (0, 1, 2):
        expected = sum(np.broadcast_to(part.derivative(TIMES, order=order), TIMES.shape) for part in parts)
        assert_allclose(both.derivative(TIMES, order=order), expected, rtol=0, atol=100 * ROUNDING)
    assert_allclose(Sum((Constant(1.0), Linear(2.0, 0.5)))(TIMES), 1.5 + 2.0 * TIMES, rtol=0, atol=ROUNDING)
    with pytest.raises(Unsupported, match="a sum with Sine"):
        Sum((Constant(1.0), Sine(1.0, 2.0)))(0.0)


def test_prescribed_controls_go_to_actuators_in_their_order():
    controller = Controller(
        "PrescribedController", "p", actuators=("b", "a"), functions=(Constant(0.3), Linear(2.0, 0))
    )
    given = prescribed_controls(controller, ("a", "b", "c"))
    found = {one.name: one.at(np.array([0.0, 0.5])).tolist() for one in given}
    assert found == {"b": [0.3, 0.3], "a": [0.0, 1.0]}
    everything = Controller("PrescribedController", "p", actuators=("ALL",), functions=(Constant(0.3), Constant(0.1)))
    assert [one.name for one in prescribed_controls(everything, ("a", "b"))] == ["a", "b"]
    with pytest.raises(InvalidInput, match=r"drives 3 actuators .* has 2 functions"):
        prescribed_controls(everything, ("a", "b", "c"))
    with pytest.raises(UnknownName, match="'b'"):
        prescribed_controls(controller, ("a", "c"))


def test_a_file_of_prescribed_controls_keeps_the_values_of_its_ends(tmp_path):
    file = tmp_path / "c.sto"
    file.write_text("c\nversion=1\nnRows=2\nnColumns=3\nendheader\ntime\ta\tb\n0\t0.1\t0.5\n1\t0.3\t0.7\n")
    times = np.array([-1.0, 0.5, 2.0])
    controller = Controller("PrescribedController", "p", controls_file=file)
    a, b = (one.at(times) for one in prescribed_controls(controller, ("a", "b")))
    assert_allclose(np.stack([a, b]), [[0.1, 0.2, 0.3], [0.5, 0.6, 0.7]], rtol=0, atol=ROUNDING)
    steps = Controller("PrescribedController", "p", controls_file=file, interpolation=0)
    assert prescribed_controls(steps, ("a", "b"))[0].at(times).tolist() == [0.1, 0.1, 0.3]
    with pytest.raises(Unsupported, match="interpolation_method 3"):
        prescribed_controls(Controller("PrescribedController", "p", controls_file=file, interpolation=3), ("a", "b"))


def _loads(rows: int, frames: tuple[str, str], body: str) -> ExternalLoads:
    names = [f"{what}{axis}" for what in ("f_", "p_", "t_") for axis in "xyz"]
    time = np.linspace(0.0, 1.0, rows)
    values = np.random.default_rng(rows).normal(size=(rows, 9))
    force = ExternalForce("push", body, "f_", "p_", "t_", *frames)
    return ExternalLoads("loads", (force,), Table(time, tuple(names), values))


@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("frames", [("ground", "ground"), ("ground", "body"), ("body", "body")])
def test_loads_are_the_same_as_forces_of_the_model(rows, frames):
    rng = np.random.default_rng(1)
    model = random_tree(rng)
    body = model.bodies[-1].name
    loads = _loads(rows, tuple(body if one == "body" else one for one in frames), body)
    times = np.array([-0.3, 0.2, 0.55, 1.0, 1.4])
    q, rest = random_q(model, rng, 5), np.zeros((5, len(model.speed_names)))
    given = forces_of_loads(loads)
    tau, _ = passive_forces(model.replace(forces=given), q, rest, times, "exact", 1)
    acting = [ExternalLoad(*series) for series in loads.at(times)]
    expected = inverse_dynamics(model, q, rest, rest) - inverse_dynamics(model, q, rest, rest, acting)
    assert np.abs(expected).max() > 0.1
    assert_allclose(tau, expected, rtol=0, atol=OF_FORCES)


def test_loads_in_frames_of_other_bodies_are_refused():
    model = random_tree(np.random.default_rng(5))
    first, last = model.bodies[0].name, model.bodies[-1].name
    with pytest.raises(Unsupported, match=f"'push' is expressed in '{first}'"):
        forces_of_loads(_loads(3, (first, "ground"), last))
    assert [one.name for one in forces_of_loads(_loads(3, ("ground", "ground"), last), ["push"])] == ["push_load"]
