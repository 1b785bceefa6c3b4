"""Joint centers from markers: exact without noise, unbiased and as sure as stated with it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.errors import InvalidInput, MusculoWarning
from musculo.results.markers import Markers
from musculo.signals import cluster_poses, functional_joint_center, predicted_hip_centers
from musculo.spatial.rotation import axis_rotation, from_xyz

# A least-squares fit of a few hundred points of the size of a meter.
ROUNDING = 1e-12
CENTER = np.array([0.05, -0.07, 0.09])
THIGH = np.array([[0.02, -0.2, 0.08], [-0.05, -0.25, 0.09], [0.06, -0.32, 0.05], [0.0, -0.38, 0.1]])
PELVIS = np.array([[0.1, 0.0, 0.12], [0.1, 0.01, -0.12], [-0.1, 0.02, 0.04], [-0.09, 0.0, -0.05]])


def circumduction(frames=200, most=0.5):
    """Rotations of a thigh about a moving pelvis: star and circle of a calibration."""
    t = np.linspace(0.0, 4.0 * np.pi, frames)
    thigh = from_xyz(np.stack([most * np.sin(t), 0.2 * np.sin(3 * t), most * np.cos(1.7 * t)], axis=1))
    pelvis = from_xyz(np.stack([0.1 * np.sin(t), 0.2 * np.cos(t), 0.1 * np.sin(2 * t)], axis=1))
    place = np.stack([0.1 * np.sin(t), 0.9 + 0.02 * np.cos(t), 0.05 * t], axis=1)
    return thigh, pelvis, place


def recorded(frames=200, noise=0.0, seed=0, most=0.5):
    """Moving and fixed markers in ground, and the center's path."""
    rng = np.random.default_rng(seed)
    thigh, pelvis, place = circumduction(frames, most)
    moving = np.einsum("fij,fkj->fki", pelvis, CENTER + np.einsum("fij,kj->fki", thigh, THIGH)) + place[:, None]
    fixed = np.einsum("fij,kj->fki", pelvis, PELVIS) + place[:, None]
    path = pelvis @ CENTER + place
    return moving + noise * rng.normal(size=moving.shape), fixed + noise * rng.normal(size=fixed.shape), path


def test_cluster_poses():
    """A rigid motion comes back; so it does where one marker is not visible; noise is its residual."""
    _, pelvis, place = circumduction()
    y = np.einsum("fij,kj->fki", pelvis, PELVIS) + place[:, None]
    y[5:20, 1] = np.nan
    y[30, :2] = np.nan
    found = cluster_poses(PELVIS, y)
    known = np.arange(200) != 30
    assert_allclose(found.rotation[known], pelvis[known], atol=ROUNDING)
    assert_allclose(found.translation[known], place[known], atol=ROUNDING)
    assert_allclose(found.carry(CENTER)[known], (pelvis @ CENTER + place)[known], atol=ROUNDING)
    assert found.carry(THIGH).shape == (200, 4, 3)
    assert np.isnan(found.rotation[30]).all()
    assert found.residual[known].max() < ROUNDING
    # a mirrored cluster is turned as well as a rotation can, never mirrored
    assert_allclose(np.linalg.det(cluster_poses(PELVIS, (PELVIS * [1, 1, -1])[None]).rotation), 1.0, atol=ROUNDING)


def test_a_functional_center_is_exact():
    moving, fixed, path = recorded()
    moving[10:40, 2] = np.nan
    fixed[3, 0] = np.nan
    found = functional_joint_center(moving, fixed)
    assert found.determined
    assert_allclose(found.path, path, atol=1e-11)
    assert_allclose(found.center, path[0], atol=1e-11)
    assert_allclose(found.radii, np.linalg.norm(THIGH, axis=1), atol=1e-11)
    # in another pose, and with markers as a recording has them
    other = functional_joint_center(moving, fixed, reference=PELVIS)
    assert_allclose(other.center, CENTER, atol=1e-11)
    markers = Markers(np.arange(200) / 100, tuple("abcd"), moving)
    assert np.array_equal(functional_joint_center(markers, fixed).center, found.center)
    # one marker about a center that stays in ground
    thigh, _, _ = circumduction()
    assert_allclose(functional_joint_center(CENTER + thigh @ THIGH[0]).center, CENTER, atol=1e-11)


@pytest.mark.filterwarnings("ignore:the markers move")
def test_noise_is_corrected_and_its_effect_is_stated():
    """Many noisy trials: their mean is the center, nearer than without the correction; they vary as stated."""
    errors = {True: [], False: []}
    stated = []
    for seed in range(60):
        moving, _, _ = recorded(150, 0.0, most=0.25)
        moving = np.einsum("fji,fkj->fki", circumduction(150)[1], moving - circumduction(150)[2][:, None])
        moving += 0.002 * np.random.default_rng(seed).normal(size=moving.shape)
        for correct, all_of in errors.items():
            found = functional_joint_center(moving, correct_bias=correct)
            all_of.append(found.center - CENTER)
            if correct:
                stated.append(found.standard_error)
                assert 0.0018 < found.noise < 0.0022
    both = [functional_joint_center(*recorded(150, 0.002, seed)[:2], reference=PELVIS) for seed in range(40)]
    assert_allclose(
        np.std([f.center for f in both], axis=0), np.mean([f.standard_error for f in both], axis=0), rtol=0.35
    )
    spread, mean = np.std(errors[True], axis=0), np.mean(errors[True], axis=0)
    assert_allclose(spread, np.mean(stated, axis=0), rtol=0.35)
    assert np.all(np.abs(mean) < 3.5 * spread / np.sqrt(60))
    assert np.linalg.norm(np.mean(errors[False], axis=0)) > 5.0 * np.linalg.norm(mean)


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_a_hinge_has_no_center(noise):
    """The direction is named; across it the axis is found."""
    turn = np.stack([axis_rotation((0, 0, 1), a) for a in np.linspace(0, 1.5, 100)])
    moving = np.einsum("fij,kj->fki", turn, THIGH) + CENTER
    moving += noise * np.random.default_rng(1).normal(size=moving.shape)
    with pytest.warns(MusculoWarning, match="not determined along"):
        found = functional_joint_center(moving)
    assert not found.determined
    assert_allclose(found.center[:2], CENTER[:2], atol=1e-11 + 10 * noise)


def test_small_movements_are_doubted():
    """A center from movements that skin makes by itself, such as those of a walk about most axes of the hip."""
    moving, fixed, path = recorded(most=0.05)
    with pytest.warns(MusculoWarning, match="skin moves as much"):
        found = functional_joint_center(moving, fixed)
    assert found.determined
    assert_allclose(found.path, path, atol=1e-9)


def test_predicted_hips():
    """By hand for legs of 0.9 m: 45.7 mm back, 79.2 mm down, 85.4 mm aside; and wherever the pelvis is."""
    right, left, back = np.array([0.1, 1.0, 0.12]), np.array([0.1, 1.0, -0.12]), np.array([-0.06, 1.0, 0.0])
    hips = predicted_hip_centers(right, left, back, 0.9)
    assert_allclose(hips.right, [0.1 - 0.0457, 1.0 - 0.0792, 0.0854], atol=1e-15)
    assert_allclose(hips.left, [0.1 - 0.0457, 1.0 - 0.0792, -0.0854], atol=1e-15)
    lower = predicted_hip_centers(right, left, back, (0.9, 0.8), marker_height=0.009)
    assert_allclose(lower.right, hips.right - [0.009, 0.0, 0.0], atol=1e-15)
    assert_allclose(lower.left, [0.1 - 0.0394 - 0.009, 1.0 - 0.0714, -0.0768], atol=1e-15)
    R, p = from_xyz([0.3, -0.5, 0.2]), np.array([1.0, 2.0, 3.0])
    turned = predicted_hip_centers(*(np.tile(R @ x + p, (5, 1)) for x in (right, left, back)), 0.9)
    assert_allclose(turned.right, np.tile(R @ hips.right + p, (5, 1)), atol=1e-14)
    assert_allclose(turned.pelvis[3], R, atol=1e-14)


def test_what_is_refused():
    moving, fixed, _ = recorded(20)
    line = np.outer(np.arange(3.0), [0.1, 0.2, 0.0])
    for call, message in (
        (lambda: cluster_poses(line, np.tile(line, (4, 1, 1))), "not in line"),
        (lambda: cluster_poses(PELVIS[:3], fixed), r"needs \(4, 3\)"),
        (lambda: cluster_poses(PELVIS * np.nan, fixed), "not visible"),
        (lambda: cluster_poses(PELVIS, fixed).carry(1.0), "points have shape"),
        (lambda: functional_joint_center(moving, fixed[:5]), "20 frames of moving markers and 5"),
        (lambda: functional_joint_center(moving[:, :, :2]), "moving has shape"),
        (lambda: functional_joint_center(moving[:3]), "four are needed"),
        (lambda: functional_joint_center(moving, reference=PELVIS), "pose of fixed markers"),
        (lambda: functional_joint_center(moving, fixed * np.nan), "no frame has all fixed markers"),
        (lambda: predicted_hip_centers(*np.eye(3), 900.0), "give meters"),
        (lambda: predicted_hip_centers(*np.eye(3), (1.0, 0.9, 0.9)), "right and left"),
        (lambda: predicted_hip_centers(np.eye(3)[0], np.eye(3)[1], np.eye(3), 0.9), "psis has shape"),
        (lambda: predicted_hip_centers(*np.outer([1.0, 2.0, 4.0], np.ones(3)), 0.9), "on one line"),
    ):
        with pytest.raises(InvalidInput, match=message):
            call()
