"""Node functions of models: their slopes, and laws that they keep."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import inverse_dynamics, joint_loads, kinematics
from musculo.demo import arm
from musculo.dynamics.loads.external import ExternalLoad
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.model import BallJoint, Body, Coordinate, Model, Placement
from musculo.results import Table
from musculo.trajectory import (
    GroundReaction,
    InverseDynamics,
    JointLoads,
    PointDistances,
    PointPositions,
    PointVelocities,
    SupportMargins,
)
from musculo.trajectory.functions.deviation import Deviation
from musculo.trajectory.functions.node_formula import Formula
from support.dynamics_models import random_tree

KINDS = ("pin", "slider", "gimbal", "universal", "custom_knee", "custom_six")
# Central differences of quantities of order 1 to 1000 with steps of 1e-5.
DIFFERENCES = 1e-8
ROUNDING = 1e-11


def tree() -> Model:
    return random_tree(np.random.default_rng(4), KINDS)


def points(model: Model) -> dict:
    names = model.body_names
    return {"tip": (names[-1], (0.1, -0.2, 0.3)), "root": (names[0], (0.0, 0.1, 0.0))}


def functions() -> dict:
    model, elbow = tree(), arm()
    pairs = {"apart": tuple(points(model).values())}
    table = Table(np.linspace(0, 2, 9), ("a/value", "b"), np.random.default_rng(1).normal(size=(9, 2)))
    return {
        "inverse dynamics": InverseDynamics(model),
        "inverse dynamics of the arm": InverseDynamics(elbow),
        "positions": PointPositions(model, points(model)),
        "velocities": PointVelocities(model, points(model)),
        "distances": PointDistances(model, pairs),
        "ground reaction": GroundReaction(model, level=-0.3),
        "joint loads": JointLoads(model, frame="child"),
        "joint loads of the arm": JointLoads(elbow, ("elbow", "elbow"), on=("child", "parent")),
        "support": SupportMargins(model, ((0, 0), (1, 0), (1, 1), (0, 2))),
        "arm positions": PointPositions(elbow, points(elbow)),
        "arm velocities": PointVelocities(elbow, points(elbow)),
        "arm distances": PointDistances(elbow, {"apart": tuple(points(elbow).values())}),
        "arm reaction": GroundReaction(elbow, level=-0.3),
        "arm support": SupportMargins(elbow, ((0, 0), (1, 0), (1, 1), (0, 2))),
        "deviation": Deviation(table, ("b", "a/value", "a/speed")),
    }


@pytest.mark.parametrize("name", functions())
def test_slopes_are_those_of_values(name):
    function = functions()[name]
    v = np.random.default_rng(7).uniform(0.2, 0.6, (3, len(function.inputs)))
    values, slopes = function.slopes(v)
    assert_allclose(values, function.values(v), rtol=ROUNDING)
    rows, columns = function.pattern
    found = np.zeros((3, len(function.outputs), len(function.inputs)))
    found[:, rows, columns] = slopes
    step = 1e-5
    for i in range(len(function.inputs)):
        e = step * np.eye(len(function.inputs))[i]
        # fourth order
        near, far = (function.values(v + k * e) - function.values(v - k * e) for k in (1, 2))
        expected = (8 * near - far) / (12 * step)
        assert_allclose(found[:, :, i], expected, atol=DIFFERENCES * max(1.0, np.abs(values).max()))


def test_curvatures_of_a_recording_are_slopes_of_slopes():
    function = functions()["deviation"]
    random = np.random.default_rng(2)
    v, pull = random.uniform(0.2, 0.6, (4, 4)), random.normal(size=(4, 3))
    e = np.array([0, 0, 0, 1e-5])
    by_time = [(function.slopes(v + k * e)[1][:, 3:] * pull).sum(axis=1) for k in (1, -1)]
    assert_allclose(function.curvatures(v, pull)[:, 0], (by_time[0] - by_time[1]) / 2e-5, atol=1e-5)


def test_a_recorded_speed_is_the_slope_of_its_value():
    function = functions()["deviation"]
    t = np.linspace(0.1, 1.9, 7)
    expected = (function.reference(t + 1e-6) - function.reference(t - 1e-6))[:, 1] / 2e-6
    assert_allclose(function.reference(t)[:, 2], expected, atol=1e-7)


def test_ground_carries_the_model_at_the_zero_moment_point():
    """With the ground's force and moment as a load on any body, joints to ground have nothing to do."""
    model = random_tree(np.random.default_rng(8), ("custom_six", "pin", "gimbal"), depth=1, gravity=(0, -9.81, 0))
    root = [joint for joint in model.joints if "ground" in (joint.parent.body, joint.child.body)]
    function = GroundReaction(model, level=-0.4)
    v = np.random.default_rng(9).uniform(0.2, 0.6, (5, len(function.inputs)))
    found = dict(zip(function.outputs, function.values(v).T, strict=True))
    x, z = found["ground/zmp_x"], found["ground/zmp_z"]
    zero = np.zeros(5)
    load = ExternalLoad(
        model.body_names[-1],
        force=np.column_stack([found[f"ground/force_{axis}"] for axis in "xyz"]),
        point=np.column_stack([x, zero - 0.4, z]),
        moment=np.column_stack([zero, found["ground/moment_y"], zero]),
    )
    n = len(model.coordinate_names)
    tau = inverse_dynamics(model, v[:, :n], v[:, n : 2 * n], v[:, 2 * n :], [load])
    mine = [model.speed_names.index(name) for joint in root for name in joint.coordinate_names]
    assert_allclose(tau[:, mine], 0.0, atol=1e-9)
    assert np.abs(np.delete(tau, mine, axis=1)).max() > 1.0

    margins = SupportMargins(model, ((-9, -9), (9, -9), (9, 9), (-9, 9)), level=-0.4)
    weight = sum(body.mass for body in model.bodies) * 9.81
    inside = np.column_stack([z + 9, 9 - x, 9 - z, x + 9]) * found["ground/force_y"][:, None] / weight
    assert_allclose(margins.values(v)[:, :4], inside, atol=1e-9)


def test_points_move_as_kinematics_says():
    model = tree()
    function = PointVelocities(model, points(model))
    n = len(model.coordinate_names)
    v = np.random.default_rng(3).uniform(-0.5, 0.5, (4, 2 * n))
    at = kinematics(model, v[:, :n], v[:, n:])
    assert_allclose(function.values(v)[:, :3], at.velocity(*points(model)["tip"]), rtol=ROUNDING)


@pytest.mark.parametrize("on", ["child", "parent"])
@pytest.mark.parametrize("frame", ["ground", "child", "parent"])
def test_joints_carry_what_joint_loads_says(on, frame):
    model = tree()
    function = JointLoads(model, on=on, frame=frame)
    n = len(model.coordinate_names)
    v = np.random.default_rng(3).uniform(-0.5, 0.5, (4, 3 * n))
    expected = joint_loads(model, v[:, :n], v[:, n : 2 * n], v[:, 2 * n :], on=on, frame=frame)
    found = function.values(v).reshape(4, -1, 2, 3)
    assert_allclose(found[:, :, 0], expected.force, rtol=ROUNDING, atol=ROUNDING * np.abs(expected.force).max())
    assert_allclose(found[:, :, 1], expected.moment, rtol=ROUNDING, atol=ROUNDING * np.abs(expected.moment).max())


def test_slopes_of_unrelated_joints_are_left_away():
    """Of two trees on ground, neither's moments depend on the other."""
    model = random_tree(np.random.default_rng(4), ("pin", "slider"), depth=0)
    assert {name for joint in model.joints for name in (joint.parent.body, joint.child.body)} >= {"ground"}
    function = InverseDynamics(model)
    assert len(function.pattern[0]) < len(function.inputs) * len(function.outputs)


def test_what_cannot_be_is_refused():
    body = Body("ball", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    joint = BallJoint("b", Placement("ground"), Placement("ball"), tuple(Coordinate(f"r{k}") for k in range(3)))
    with pytest.raises(Unsupported, match="CustomJoint"):
        InverseDynamics(Model("m", (body,), (joint,)))
    with pytest.raises(InvalidInput, match="convex"):
        SupportMargins(tree(), ((0, 0), (1, 1), (1, 0), (0, 1)))
    with pytest.raises(UnknownName, match="column to track"):
        Deviation(Table(np.arange(3.0), ("a",), np.zeros((3, 1))), ("b",))
    with pytest.raises(InvalidInput, match="in_radians"):
        Deviation(Table(np.arange(3.0), ("a",), np.zeros((3, 1)), degrees=True), ("a",))


CURVED = (
    "inverse dynamics of the arm",
    "joint loads of the arm",
    "arm positions",
    "arm velocities",
    "arm distances",
    "arm reaction",
    "arm support",
)


@pytest.mark.parametrize("name", CURVED)
def test_curvatures_of_few_coordinates_are_slopes_of_slopes(name):
    function = functions()[name]
    random = np.random.default_rng(2)
    v, pull = random.uniform(0.2, 0.6, (2, len(function.inputs))), random.normal(size=(2, len(function.outputs)))
    found = np.zeros((2, v.shape[1], v.shape[1]))
    rows, columns = function.curvature_pattern
    found[:, rows, columns] = found[:, columns, rows] = function.curvatures(v, pull)

    def slope(v):
        full = np.zeros((2, len(function.outputs), v.shape[1]))
        full[:, function.pattern[0], function.pattern[1]] = function.slopes(v)[1]
        return np.einsum("no,nov->nv", pull, full)

    for k, e in enumerate(1e-4 * np.eye(v.shape[1])):
        near, far = (slope(v + j * e) - slope(v - j * e) for j in (1, 2))
        assert_allclose(found[:, k], (8 * near - far) / 12e-4, atol=1e-7 * np.abs(found).max())


@pytest.mark.parametrize(
    "wrong",
    [
        np.abs,
        lambda x: x * np.sign(x.real) + np.abs(x),
        lambda x: x.real**2,
        lambda x: 1e5 + abs(x),
        lambda x: np.asarray(x, dtype=float) ** 2,
        lambda x: x * np.conj(x),
        lambda x: np.sqrt(x * np.conj(x) + 1.0),
    ],
)
def test_a_formula_that_is_not_analytic_is_refused(wrong):
    x = np.random.default_rng(1).normal(size=(9, 2))
    with pytest.raises(InvalidInput, match=r"the slope of 'y' by 'b' at .* need an analytic function"):
        Formula(lambda a, b: (a, a + wrong(b)), ("a", "b"), ("x", "y")).check_slopes(x)


def test_slopes_that_are_given_are_those_of_the_function():
    x = np.linspace(-2.0, 2.0, 7)[:, None]
    Formula(np.abs, "a", "y", slopes=lambda a: [[np.sign(a)]]).check_slopes(x)
    with pytest.raises(InvalidInput, match="give slopes= that are those"):
        Formula(lambda a: a**2, "a", "y", slopes=lambda a: [[5 * a]]).check_slopes(x)
    with pytest.raises(InvalidInput, match=r"slopes\[0\]\[0\], of 'y' by 'a', is no array of 7 nodes"):
        Formula(lambda a: a**2, "a", "y", slopes=lambda a: 2 * a).slopes(x)
    with pytest.raises(InvalidInput, match="does not take complex arrays"):
        Formula(lambda a: np.interp(a, [0, 1], [0, 1]), "a", "y").slopes(x)


@pytest.mark.parametrize(
    "right",
    [
        lambda x: np.tanh(1e6 * x),
        lambda x: np.exp(200.0 * x),
        lambda x: np.where(x.real > 0, x, 0.0),
        lambda x: np.where(x.real > 0, 1e4 * x, x),
        lambda x: np.sqrt(x**2 + 1e-10),
        lambda x: np.log(x),
        lambda x: 1e3 * (1.0 - np.cos(x)),
        lambda x: 1e3 * (np.exp(x) - 1.0 - x),
        lambda x: x**2,
        lambda x: x**4,
        lambda x: 1.0 / x,
        lambda x: (1e9 + x) - 1e9,
        lambda x: np.sin(x) ** 2 + np.cos(x) ** 2,
        lambda x: 1e-12 * np.sin(x),
        lambda x: np.sin(1e5 * x),
        lambda x: np.ones_like(x),
        lambda x: x.real > 0,
    ],
)
def test_steep_and_kinked_formulas_pass(right):
    x = np.concatenate([[0.0, 1e-12, -8e-15], np.geomspace(1e-9, 1e3, 40), -np.geomspace(1e-9, 3.0, 40)])[:, None]
    with np.errstate(all="ignore"):
        Formula(right, "x", "y").check_slopes(x)
