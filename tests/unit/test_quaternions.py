"""Quaternion coordinates describe the same motion and are singular nowhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import (
    Body,
    Coordinate,
    Model,
    Placement,
    coordinate_rates,
    forward_dynamics,
    inverse_dynamics,
    kinematics,
    speeds_from_rates,
)
from musculo.errors import InvalidModel, SingularSystem
from musculo.model import change_coordinates, with_quaternions
from musculo.model.joints import BallJoint, FreeJoint

# Two ways to the same rotation matrix in float64.
ROUNDING = 1e-12


def coordinates(*names: str) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(name) for name in names)


@pytest.fixture
def model() -> Model:
    bodies = (
        Body("trunk", 3.0, (0.1, 0.0, 0.2), (0.3, 0.4, 0.5, 0.01, 0.02, 0.03)),
        Body("arm", 1.0, (0.0, -0.2, 0.0), (0.02, 0.01, 0.02, 0.0, 0.0, 0.0)),
    )
    joints = (
        FreeJoint("root", Placement("ground"), Placement("trunk"), coordinates("rx", "ry", "rz", "tx", "ty", "tz")),
        BallJoint("shoulder", Placement("trunk", (0.0, 0.4, 0.1)), Placement("arm"), coordinates("a", "b", "c")),
    )
    return Model("floating arm", bodies, joints)


def test_same_mechanics_in_both(model):
    turned = with_quaternions(model)
    assert len(turned.coordinate_names) == 11
    assert len(turned.speed_names) == 9
    rng = np.random.default_rng(0)
    q, u, udot = rng.uniform(-1, 1, size=(3, 6, 9))
    p = change_coordinates(q, model, turned)
    assert_allclose(change_coordinates(p, turned, model), np.unwrap(q, axis=0), atol=ROUNDING)
    tau = inverse_dynamics(model, q, u, udot)
    assert_allclose(inverse_dynamics(turned, p, u, udot), tau, atol=ROUNDING * abs(tau).max())
    assert_allclose(forward_dynamics(turned, p, u, tau), udot, atol=1e-10)
    assert_allclose(kinematics(turned, p).position("arm"), kinematics(model, q).position("arm"), atol=ROUNDING)
    assert_allclose(speeds_from_rates(turned, p, coordinate_rates(turned, p, u)), u, atol=ROUNDING)


def test_length_of_a_quaternion_does_not_matter(model):
    turned = with_quaternions(model)
    q = change_coordinates(np.linspace(-0.5, 0.5, 9), model, turned)
    longer = q.copy()
    longer[:4] *= 3.0
    assert_allclose(kinematics(turned, longer).pose("trunk").R, kinematics(turned, q).pose("trunk").R, atol=ROUNDING)


def test_nothing_is_singular_at_ninety_degrees(model):
    turned = with_quaternions(model)
    q = np.zeros(9)
    q[1] = q[7] = np.pi / 2
    u = np.ones(9)
    p = change_coordinates(q, model, turned)
    assert np.isfinite(coordinate_rates(turned, p, u)).all()
    with pytest.raises(SingularSystem, match="gimbal lock"):
        coordinate_rates(model, q, u)
    tau = inverse_dynamics(turned, p, u, np.ones(9))
    assert_allclose(forward_dynamics(turned, p, u, tau), np.ones(9), atol=1e-10)


def test_quaternions_do_not_jump(model):
    turned = with_quaternions(model)
    q = np.zeros((200, 9))
    q[:, 0] = np.linspace(-7.0, 7.0, 200)
    p = change_coordinates(q, model, turned)
    assert abs(np.diff(p, axis=0)).max() < 0.1


def test_a_locked_angle_is_refused(model):
    with pytest.raises(InvalidModel, match="'b' of joint 'shoulder' is locked"):
        with_quaternions(model.with_coordinate("b", locked=True))
