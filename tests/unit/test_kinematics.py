"""Poses, points and Jacobians by hand, and what may be asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Marker, Model, Placement
from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import Frame
from musculo.model.joints import PinJoint
from support.dynamics_models import assert_allclose, random_state, random_tree

# A handful of products of sines in float64.
ROUNDING = 1e-14


@pytest.fixture
def arm() -> Model:
    """Two links of length 1 in the plane, pins about z, a marker at the tip, a frame half-way along the second."""
    return Model(
        "arm",
        (
            Body("upper", 1.0, (0.5, 0, 0), (0, 0.1, 0.1, 0, 0, 0)),
            Body("lower", 1.0, (0.5, 0, 0), (0, 0.1, 0.1, 0, 0, 0)),
        ),
        (
            PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("q1"),)),
            PinJoint("elbow", Placement("upper", (1.0, 0, 0), name="tip"), Placement("lower"), (Coordinate("q2"),)),
        ),
        markers=(
            Marker("hand", "lower", (1.0, 0, 0)),
            Marker("mid", "/halfway", (0, 0, 0)),
            Marker("wall", "ground", (0, 2, 0)),
        ),
        frames=(Frame("/halfway", Placement("lower", (0.5, 0, 0), (0, 0, math.pi / 2))),),
    )


def test_positions_and_velocities_of_a_planar_arm(arm):
    q, u = np.array([0.3, 0.5]), np.array([1.0, -2.0])
    motion = musculo.kinematics(arm, q, u, [0.0, 0.0])
    e1, e2 = np.array([math.cos(0.3), math.sin(0.3), 0]), np.array([math.cos(0.8), math.sin(0.8), 0])
    n1, n2 = np.array([-e1[1], e1[0], 0]), np.array([-e2[1], e2[0], 0])
    assert_allclose(motion.position("lower", (1, 0, 0)), e1 + e2, atol=ROUNDING)
    assert_allclose(motion.velocity("lower", (1, 0, 0)), n1 * 1.0 + n2 * (1.0 - 2.0), atol=ROUNDING)
    assert_allclose(motion.acceleration("lower", (1, 0, 0)), -e1 * 1.0 - e2 * 1.0, atol=ROUNDING)
    assert_allclose(motion.angular_velocity("lower"), [0, 0, -1.0], atol=ROUNDING)
    assert_allclose(motion.angular_acceleration("lower"), 0, atol=ROUNDING)
    assert_allclose(motion.point_jacobian("lower", (1, 0, 0)), np.column_stack([n1 + n2, n2]), atol=ROUNDING)
    assert_allclose(motion.frame_jacobian("upper"), [[0, 0]] * 2 + [[1, 0]] + [[0, 0]] * 3, atol=ROUNDING)


def test_frames_go_by_body_path_or_ground(arm):
    motion = musculo.kinematics(arm, [0.3, 0.5], [1.0, 2.0])
    e1 = np.array([math.cos(0.3), math.sin(0.3), 0])
    assert_allclose(motion.position("/jointset/elbow/tip"), e1, atol=ROUNDING)
    assert_allclose(motion.position("/bodyset/upper", (1, 0, 0)), e1, atol=ROUNDING)
    assert_allclose(motion.position("ground", (1, 2, 3)), [1, 2, 3])
    assert_allclose(motion.velocity("ground", (1, 2, 3)), 0)
    assert_allclose(motion.point_jacobian("ground"), np.zeros((3, 2)))
    # the frame half-way is turned by 90 degrees: its x axis is the link's y axis
    assert_allclose(motion.pose("/halfway").R[:, 0], motion.pose("lower").R[:, 1], atol=ROUNDING)
    assert_allclose(motion.angular_velocity("/halfway"), [0, 0, 3.0], atol=ROUNDING)


def test_markers_come_in_file_order_or_as_named(arm):
    motion = musculo.kinematics(arm, np.zeros((4, 2)), np.zeros((4, 2)))
    assert_allclose(motion.markers()[0], [[2, 0, 0], [1.5, 0, 0], [0, 2, 0]], atol=ROUNDING)
    assert_allclose(motion.markers(["wall", "hand"])[3], [[0, 2, 0], [2, 0, 0]], atol=ROUNDING)
    assert motion.marker_velocities().shape == (4, 3, 3)
    assert musculo.kinematics(arm.replace(markers=()), [0.0, 0.0]).markers().shape == (0, 3)
    with pytest.raises(UnknownName, match="did you mean 'hand'"):
        motion.markers(["hnd"])


def test_one_frame_has_no_frame_axis_and_many_have(arm):
    one = musculo.kinematics(arm, [0.3, 0.5], [1.0, 2.0], [0.0, 0.0])
    many = musculo.kinematics(arm, [[0.3, 0.5]] * 3, [[1.0, 2.0]] * 3, [[0.0, 0.0]] * 3)
    point = (0.1, 0.2, 0.3)
    for name, arguments, shape in (
        ("position", (point,), (3,)),
        ("velocity", (point,), (3,)),
        ("acceleration", (point,), (3,)),
        ("angular_velocity", (), (3,)),
        ("angular_acceleration", (), (3,)),
        ("point_jacobian", (point,), (3, 2)),
        ("frame_jacobian", (point,), (6, 2)),
    ):
        a, b = getattr(one, name)("lower", *arguments), getattr(many, name)("lower", *arguments)
        assert a.shape == shape, name
        assert b.shape == (3, *shape), name
        assert_allclose(b[2], a)
    assert one.pose("lower").R.shape == (3, 3)
    assert many.pose("lower").R.shape == (3, 3, 3)


def test_a_point_may_move_from_frame_to_frame(arm):
    motion = musculo.kinematics(arm, np.zeros((3, 2)))
    points = np.array([[1.0, 0, 0], [2, 0, 0], [3, 0, 0]])
    assert_allclose(motion.position("upper", points), points, atol=ROUNDING)
    with pytest.raises(InvalidInput, match="'upper'"):
        motion.position("upper", np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="'upper'"):
        motion.position("upper", [1.0, 2.0])


def test_what_was_not_computed_is_refused(arm):
    still, moving = musculo.kinematics(arm, [0.0, 0.0]), musculo.kinematics(arm, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(InvalidInput, match="without u;"):
        still.velocity("lower")
    with pytest.raises(InvalidInput, match="without udot;"):
        moving.angular_acceleration("lower")
    with pytest.raises(InvalidInput, match="pass u as well"):
        musculo.kinematics(arm, [0.0, 0.0], udot=[0.0, 0.0])


def test_unknown_frames_are_named(arm):
    with pytest.raises(UnknownName, match="did you mean 'lower'"):
        musculo.kinematics(arm, [0.0, 0.0]).pose("lwer")


def test_no_frames_give_no_results(arm):
    empty = np.zeros((0, 2))
    assert musculo.kinematics(arm, empty, empty, empty).position("lower").shape == (0, 3)
    assert musculo.inverse_dynamics(arm, empty, empty, empty).shape == (0, 2)
    assert musculo.mass_matrix(arm, empty).shape == (0, 2, 2)
    assert musculo.forward_dynamics(arm, empty, empty, empty).shape == (0, 2)
    assert musculo.center_of_mass(arm, empty).shape == (0, 3)


def test_a_model_without_joints_or_speeds_works():
    nothing = Model("nothing", (), ())
    assert musculo.mass_matrix(nothing, []).shape == (0, 0)
    assert musculo.inverse_dynamics(nothing, [], [], []).shape == (0,)
    assert musculo.forward_dynamics(nothing, [], [], []).shape == (0,)
    assert_allclose(musculo.kinematics(nothing, []).pose("ground").R, np.eye(3))


def test_arrays_that_are_not_contiguous_are_taken():
    rng = np.random.default_rng(1)
    model = random_tree(rng)
    q, u, udot = random_state(model, rng, frames=6)
    tau = musculo.inverse_dynamics(model, q, u, udot)
    strided = [np.asfortranarray(np.repeat(x, 2, axis=0))[::2] for x in (q, u, udot)]
    assert np.array_equal(musculo.inverse_dynamics(model, *strided), tau)
    assert np.array_equal(musculo.inverse_dynamics(model, q.tolist(), u.tolist(), udot.tolist()), tau)


def test_input_arrays_are_left_alone():
    rng = np.random.default_rng(1)
    model = random_tree(rng)
    q, u, udot = random_state(model, rng, frames=3)
    kept = [x.copy() for x in (q, u, udot)]
    tau = musculo.inverse_dynamics(model, q, u, udot)
    held = tau.copy()
    musculo.forward_dynamics(model, q, u, tau)
    musculo.joint_reactions(model, q, u, udot)
    for now, before in zip((q, u, udot, tau), (*kept, held), strict=True):
        assert np.array_equal(now, before)
