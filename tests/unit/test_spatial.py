"""Rotations, poses and inertias by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from musculo.spatial.inertia import RigidInertia, is_physical, tensor
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import axis_rotation, from_quaternion, from_xyz, quaternion_from_xyz, to_xyz
from support.dynamics_models import assert_allclose

# A handful of products of sines in float64.
ROUNDING = 1e-14
# Angles from a matrix close to gimbal lock: acos-like loss, square root of the machine epsilon at worst.
NEAR_LOCK = 1e-7

ANGLE = st.floats(-3.1, 3.1)


def test_quarter_turns_are_right_handed():
    quarter = math.pi / 2
    for axis, start, end in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        assert_allclose(axis_rotation(np.eye(3)[axis], quarter) @ np.eye(3)[start], np.eye(3)[end], atol=ROUNDING)


def test_axis_need_not_be_a_unit_vector():
    assert_allclose(axis_rotation([0, 0, 5.0], 0.3), axis_rotation([0, 0, 1.0], 0.3), atol=ROUNDING)


@given(ANGLE, ANGLE, ANGLE)
def test_xyz_angles_are_body_fixed_rotations_in_a_row(a, b, c):
    X, Y, Z = np.eye(3)
    R = axis_rotation(X, a) @ axis_rotation(Y, b) @ axis_rotation(Z, c)
    assert_allclose(from_xyz([a, b, c]), R, atol=ROUNDING)
    assert_allclose(from_quaternion(quaternion_from_xyz([a, b, c])), R, atol=ROUNDING)
    assert_allclose(from_xyz(to_xyz(R)), R, atol=NEAR_LOCK)


@pytest.mark.parametrize("sign", [1, -1])
def test_angles_at_gimbal_lock_still_give_the_rotation(sign):
    R = from_xyz([0.4, sign * math.pi / 2, 0.7])
    angles = to_xyz(R)
    assert angles[2] == 0.0
    assert_allclose(from_xyz(angles), R, atol=NEAR_LOCK)


def test_angles_of_many_frames():
    angles = np.random.default_rng(0).uniform(-1.5, 1.5, size=(4, 5, 3))
    assert_allclose(to_xyz(from_xyz(angles)), angles, atol=1e-13)


def test_length_of_a_quaternion_does_not_matter():
    assert_allclose(from_quaternion([2.0, 0, 0, 2.0]), axis_rotation([0, 0, 1], math.pi / 2), atol=ROUNDING)


def test_poses_compose_and_invert():
    X_AB = Pose.from_xyz([0.1, 0.2, 0.3], [1, 2, 3])
    X_BC = Pose.from_xyz([-0.4, 0.5, 0.6], [0.1, 0.0, -0.2])
    p = np.array([0.3, -0.7, 0.2])
    assert_allclose((X_AB @ X_BC).apply(p), X_AB.apply(X_BC.apply(p)), atol=ROUNDING)
    unit = X_AB @ X_AB.inverse()
    assert_allclose(unit.R, np.eye(3), atol=ROUNDING)
    assert_allclose(unit.p, 0, atol=ROUNDING)


def test_a_dumbbell_is_two_point_masses():
    """Two masses m at distance d: I = m d^2 / 2 across, 0 along."""
    m, d = 3.0, 0.4
    ends = [RigidInertia(m, np.array([s * d / 2, 0, 0]), np.zeros((3, 3))) for s in (1, -1)]
    total = RigidInertia.total(ends)
    assert total.mass == 2 * m
    assert_allclose(total.center, 0, atol=ROUNDING)
    assert_allclose(total.central, np.diag([0, m * d**2 / 2, m * d**2 / 2]), atol=ROUNDING)


def test_massless_parts_keep_their_tensor():
    total = RigidInertia.total([RigidInertia(0.0, np.ones(3), np.eye(3)), RigidInertia(0.0, np.zeros(3), np.eye(3))])
    assert total.mass == 0.0
    assert_allclose(total.central, 2 * np.eye(3))


def test_inertia_in_another_frame_keeps_its_principal_moments():
    body = RigidInertia(1.0, np.array([0.1, 0.2, 0.3]), tensor((0.4, 0.5, 0.6, 0.05, 0.02, -0.03)))
    moved = body.in_frame(Pose.from_xyz([0.3, -0.4, 0.5], [1, 0, 2]))
    assert_allclose(np.linalg.eigvalsh(moved.central), np.linalg.eigvalsh(body.central), atol=ROUNDING)


@pytest.mark.parametrize(
    ("six", "physical"),
    [
        ((1, 1, 1, 0, 0, 0), True),
        ((1, 1, 2, 0, 0, 0), True),  # a flat plate: the triangle inequality holds with equality
        ((1, 1, 2.1, 0, 0, 0), False),
        ((1, 1, -0.1, 0, 0, 0), False),
        ((0, 0, 0, 0, 0, 0), True),
        ((1, 1, 1, 0.9, 0, 0), False),
    ],
)
def test_tensors_that_no_body_can_have(six, physical):
    assert is_physical(1.0, tensor(six)) is physical
    assert not is_physical(-1.0, tensor(six))
