"""Models made in Python are written as documents of OpenSim: what it has exactly, what it lacks by what it has."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.functions import (
    Constant,
    FourierSeries,
    GCVSpline,
    Linear,
    MultivariatePolynomial,
    NaturalCubicSpline,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    SampledSpline,
    Scaled,
    SimmSpline,
    Sine,
    Step,
)
from musculo.model.body import Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.force import Muscle
from musculo.model.joints import Axis, BallJoint, CustomJoint, CylindricalJoint, FreeJoint, PinJoint, ScrewJoint
from musculo.model.model import Model
from musculo.model.model_path import Path, PathPoint
from musculo.model.wrap import WrapCylinder


def one_axis(function, coordinates=("q",)) -> Model:
    names = tuple(Coordinate(n, range=(-1.5, 1.5)) for n in coordinates)
    j = CustomJoint(
        "j", Placement("ground"), Placement("a"), names, rotations=(Axis((1.0, 0, 0), function, tuple(coordinates)),)
    )
    return Model("m", (Body("a", 1.0),), (j,))


EXACT = [
    Linear(0.1, 1 / 3),
    Polynomial((1.0, 2.0, 1 / 3)),
    Sine(1.0, 2.0, 0.3, 0.4),
    Step(0.0, 1.0, 2.0, 3.0),
    PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 1.0, 0.1)),
    PiecewiseConstant((0.0, 1.0, 2.0), (0.0, 1.0, 0.1)),
    SimmSpline((0.0, 1.0, 2.0, 3.0), (0.0, 1 / 3, 0.1, 0.2)),
    GCVSpline((0.0, 1.0, 2.0, 3.0, 4.0, 5.0), (0.0, 1 / 3, 0.1, 0.2, 0.5, 0.6)),
    Scaled(SimmSpline((0.0, 1.0), (0.0, 1 / 3)), 2.5),
]


@pytest.mark.parametrize("function", EXACT, ids=lambda f: type(f).__name__)
def test_functions_of_opensim_come_back_exactly(function, rewrite):
    model, notes = rewrite(one_axis(function))
    assert model.joint("j").rotations[0].function == function
    assert notes == ()


@pytest.mark.parametrize("order", [1, 2])
def test_functions_of_several_coordinates_come_back_exactly(order, rewrite):
    count = {1: 3, 2: 6}[order]
    function = MultivariatePolynomial(2, order, tuple(1 / (k + 3) for k in range(count)))
    model, notes = rewrite(one_axis(function, ("q", "p")))
    assert model.joint("j").rotations[0].function == function
    assert notes == ()


X = np.linspace(-1.5, 1.5, 12)
REPLACED = [
    (NaturalCubicSpline(tuple(X), tuple(np.sin(X))), 1e-14, 0),
    (NaturalCubicSpline((0.0, 1.0, 3.0), (0.0, 1.0, 0.5)), 1e-14, 0),
    (FourierSeries(0.3, (0.1,), (0.2,), 2.0), 1e-15, 0),
    (SampledSpline((-1.0, 0.0, 2.0), (1.0, 0.0, 3.0)), 1e-14, 0),
    (SampledSpline.through(X, np.sin(2 * X)), 1e-8, 1),
    (FourierSeries(0.3, (0.1, 0.05), (0.2, 0.0), 2.0), 1e-8, 1),
]


@pytest.mark.parametrize(("function", "tolerance", "n_notes"), REPLACED, ids=lambda v: type(v).__name__)
def test_functions_that_opensim_lacks_are_replaced(function, tolerance, n_notes, rewrite):
    model, notes = rewrite(one_axis(function))
    inside = np.linspace(-1.4, 1.4, 301)
    np.testing.assert_allclose(model.joint("j").rotations[0].function(inside), function(inside), atol=tolerance)
    assert len(notes) == n_notes
    assert all("differ by at most" in n.why and "'j'" in n.where for n in notes)


def test_screw_and_cylinder_are_written_as_custom_joints(rewrite):
    joints = (
        ScrewJoint("s", Placement("ground"), Placement("a", (1.0, 0, 0)), (Coordinate("q"),), pitch=0.25),
        CylindricalJoint("c", Placement("a"), Placement("b"), (Coordinate("rz"), Coordinate("tz"))),
    )
    model, notes = rewrite(Model("m", (Body("a", 1.0), Body("b", 1.0)), joints))
    screw, cylinder = model.joints
    assert isinstance(screw, CustomJoint)
    assert isinstance(cylinder, CustomJoint)
    assert screw.rotations[0] == Axis((0, 0, 1), Linear(1, 0), ("q",))
    assert screw.translations[0] == Axis((0, 0, 1), Linear(0.25, 0), ("q",))
    assert screw.child == Placement("a", (1, 0, 0), (0, 0, 0), "a_offset")
    assert cylinder.coordinate_names == ("rz", "tz")
    assert notes == ()


def test_quaternions_are_written_as_angles(rewrite):
    half = np.sqrt(0.5)
    quaternion = tuple(Coordinate(n, v) for n, v in zip("wxyz", (half, half, 0.0, 0.0), strict=True))
    free = FreeJoint(
        "f",
        Placement("ground"),
        Placement("a"),
        (*quaternion, *(Coordinate(n) for n in ("tx", "ty", "tz"))),
        quaternion=True,
    )
    ball = BallJoint(
        "b",
        Placement("a"),
        Placement("b"),
        tuple(Coordinate(f"b{n}", float(n == "w")) for n in "wxyz"),
        quaternion=True,
    )
    model, notes = rewrite(Model("m", (Body("a", 1.0), Body("b", 1.0)), (free, ball)))
    assert model.joint("f").coordinate_names == ("f_rx", "f_ry", "f_rz", "tx", "ty", "tz")
    assert model.coordinate("f_rx").default_value == pytest.approx(np.pi / 2)
    assert model.joint("b").coordinate_names == ("b_rx", "b_ry", "b_rz")
    assert len(notes) == 2


def test_muscle_made_in_python(rewrite):
    path = Path((PathPoint("p1", "ground", (0.1, 0, 0)), PathPoint("p2", "a", (0, 1 / 3, 0))))
    muscle = Muscle("mus", "Thelen2003Muscle", path=path, max_isometric_force=1 / 3, parameters=(("Af", 0.3),))
    wrap = WrapCylinder("cyl", "a", radius=0.1, length=0.2, quadrant="-x")
    first = Model(
        "m",
        (Body("a", 1.0),),
        (PinJoint("j", Placement("ground"), Placement("a"), (Coordinate("q"),)),),
        forces=(muscle,),
        wrap_objects=(wrap,),
    )
    model, notes = rewrite(first)
    assert model.muscle("mus").path == path
    assert model.muscle("mus").max_isometric_force == 1 / 3
    assert model.muscle("mus").parameter("Af", 0.0) == 0.3
    assert model.wrap_objects == (wrap,)
    assert notes == ()


def test_constant_axes_without_coordinate_stay(rewrite):
    j = CustomJoint(
        "j", Placement("ground"), Placement("a"), (), rotations=(Axis((0, 0, 1.0), Constant(0.5)),), translations=()
    )
    model, _ = rewrite(Model("m", (Body("a", 1.0),), (j,)))
    assert model.joint("j").rotations[0] == Axis((0, 0, 1), Constant(0.5))
