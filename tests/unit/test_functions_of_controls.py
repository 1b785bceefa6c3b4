"""Controls as functions of time, which simulations evaluate: the same numbers as in tables."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.errors import InvalidInput, UnknownName, Unsupported
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
from musculo.io.controls.control_files import Control
from musculo.io.controls.controllers import Controller, prescribed_controls

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
