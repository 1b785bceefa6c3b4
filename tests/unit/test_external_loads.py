"""Loads from outside, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, ExternalLoad, Model, Placement
from musculo.errors import InvalidInput, UnknownName
from musculo.model.joints import PinJoint
from support.dynamics_models import assert_allclose

# A handful of products in float64.
ROUNDING = 1e-13


@pytest.fixture
def arm() -> Model:
    """Two links of length 1 and mass 1 in the plane."""
    bodies = tuple(Body(n, 1.0, (0.5, 0, 0), (0, 0.1, 0.1, 0, 0, 0)) for n in ("upper", "lower"))
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("q1"),)),
        PinJoint("elbow", Placement("upper", (1.0, 0, 0), name="tip"), Placement("lower"), (Coordinate("q2"),)),
    )
    return Model("arm", bodies, joints, gravity=(0, -10.0, 0))


Q, STILL = np.array([0.0, math.pi / 2]), np.zeros(2)  # upper along x, lower along y


def test_a_hanging_weight_pulls_on_every_joint_inboard(arm):
    """10 N down at the tip (1, 1): moment about the shoulder -10, about the elbow 0; tau holds against them."""
    load = ExternalLoad("lower", force=(0, -10.0, 0), point=(1.0, 1.0, 0))
    without = musculo.inverse_dynamics(arm, Q, STILL, STILL)
    assert_allclose(musculo.inverse_dynamics(arm, Q, STILL, STILL, [load]) - without, [10.0, 0], atol=ROUNDING)


def test_force_and_point_each_in_a_frame_of_their_own(arm):
    """The tip of the lower link is (1, 0, 0) there, and down in ground is -x of the lower link."""
    without = musculo.inverse_dynamics(arm, Q, STILL, STILL)
    for load in (
        ExternalLoad("lower", force=(0, -10.0, 0), point=(1.0, 0, 0), point_in="lower"),
        ExternalLoad("lower", force=(-10.0, 0, 0), point=(1.0, 0, 0), force_in="lower", point_in="lower"),
        ExternalLoad("lower", force=(0, -10.0, 0), point=(0, 1.0, 0), point_in="/jointset/elbow/tip"),
    ):
        tau = musculo.inverse_dynamics(arm, Q, STILL, STILL, [load])
        assert_allclose(tau - without, [10.0, 0], atol=ROUNDING)


def test_a_free_moment_is_felt_by_every_joint_about_its_axis(arm):
    load = ExternalLoad("lower", moment=(1.0, 2.0, 3.0))
    without = musculo.inverse_dynamics(arm, Q, STILL, STILL)
    assert_allclose(musculo.inverse_dynamics(arm, Q, STILL, STILL, [load]) - without, [-3.0, -3.0], atol=ROUNDING)


def test_loads_add_up_and_holding_the_weight_leaves_nothing(arm):
    """A push up of m g at each mass centre cancels gravity."""
    loads = [ExternalLoad(n, force=(0, 10.0, 0), point=(0.5, 0, 0), point_in=n) for n in ("upper", "lower")]
    assert_allclose(musculo.inverse_dynamics(arm, Q, STILL, STILL, loads), 0, atol=ROUNDING)
    assert_allclose(musculo.forward_dynamics(arm, Q, STILL, STILL, loads), 0, atol=ROUNDING)
    reactions = musculo.joint_reactions(arm, Q, STILL, STILL, loads)
    assert_allclose(reactions.force, 0, atol=ROUNDING)
    assert_allclose(reactions.moment, 0, atol=ROUNDING)


def test_loads_may_change_from_frame_to_frame(arm):
    force = np.array([[0, -10.0, 0], [0, -20.0, 0]])
    q, still = np.tile(Q, (2, 1)), np.zeros((2, 2))
    load = ExternalLoad("lower", force=force, point=(1.0, 1.0, 0))
    without = musculo.inverse_dynamics(arm, q, still, still)
    tau = musculo.inverse_dynamics(arm, q, still, still, [load])
    assert_allclose(tau - without, [[10.0, 0], [20.0, 0]], atol=ROUNDING)
    # and forward dynamics sees the same loads
    assert_allclose(musculo.forward_dynamics(arm, q, still, tau, [load]), 0, atol=ROUNDING)


def test_reactions_are_at_the_outboard_joint_frame(arm):
    """At rest with the lower link upright: the elbow carries its weight straight, the shoulder both and the lever."""
    reactions = musculo.joint_reactions(arm, Q, STILL, STILL)
    elbow, shoulder = reactions.of("elbow"), reactions.of("shoulder")
    assert_allclose(elbow[0], [0, 10.0, 0], atol=ROUNDING)
    assert_allclose(elbow[1], 0, atol=ROUNDING)
    assert_allclose(shoulder[0], [0, 20.0, 0], atol=ROUNDING)
    assert_allclose(shoulder[1], [0, 0, 5.0 + 10.0], atol=ROUNDING)
    with pytest.raises(UnknownName, match="did you mean 'elbow'"):
        reactions.of("elbo")


def test_a_load_on_ground_moves_nothing(arm):
    load = ExternalLoad("ground", force=(1.0, 2.0, 3.0), moment=(1.0, 1.0, 1.0))
    tau = musculo.inverse_dynamics(arm, Q, STILL, STILL)
    assert_allclose(musculo.inverse_dynamics(arm, Q, STILL, STILL, [load]), tau)


@pytest.mark.parametrize(
    ("load", "error", "message"),
    [
        (ExternalLoad("lowr"), UnknownName, "did you mean 'lower'"),
        (ExternalLoad("lower", force_in="nowhere"), UnknownName, "nowhere"),
        (ExternalLoad("lower", point_in="nowhere"), UnknownName, "nowhere"),
        (ExternalLoad("lower", force=(1.0, 2.0)), InvalidInput, "force has shape"),
        (ExternalLoad("lower", point=np.zeros((3, 3))), InvalidInput, r"point has shape \(3, 3\)"),
        (ExternalLoad("lower", moment=(0, math.nan, 0)), InvalidInput, "moment holds a number that is not finite"),
        (ExternalLoad("lower", force=("a", "b", "c")), InvalidInput, "force"),
    ],
    ids=["body", "force_in", "point_in", "shape", "frames", "nan", "text"],
)
def test_bad_loads_say_what_is_wrong(arm, load, error, message):
    for function in (musculo.inverse_dynamics, musculo.forward_dynamics, musculo.joint_reactions):
        with pytest.raises(error, match=message):
            function(arm, Q, STILL, STILL, [load])
