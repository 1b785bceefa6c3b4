"""Frames with wrong or missing recordings do not carry other minima or whole turns into the frames after them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Model, Placement, inverse_kinematics, kinematics
from musculo.analyses.inverse_kinematics.first_pose import unknowns_of
from musculo.analyses.inverse_kinematics.follow_recording import Status
from musculo.analyses.inverse_kinematics.pose_breaks import take_back_turns, whole_turns_off
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.embedding_tables import embedding_tables
from musculo.model.joints import PinJoint
from musculo.results import Orientations
from musculo.results.angle_columns import angle_columns
from musculo.spatial.rotation import to_quaternion
from support.ik_models import limb, motion, recorded

ACCURACY = 1e-9
# Frames of a recording, and those of it whose markers bear one another's names.
FRAMES, SHUFFLED = 80, range(30, 55)


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_labels_do_not_spoil_frames_after_them(seed):
    model = limb()
    q = motion(model, FRAMES)
    markers = recorded(model, q)
    position, rng = np.array(markers.position), np.random.default_rng(seed)
    for frame in SHUFFLED:
        position[frame] = position[frame][rng.permutation(len(markers.names))]
    result = inverse_kinematics(model, replace(markers, position=position))
    good = np.setdiff1d(np.arange(FRAMES), SHUFFLED)
    assert_allclose(result.q[good], q[good], atol=10 * ACCURACY)


def test_angles_that_a_lost_sensor_leaves_open_move_no_further_than_they_must():
    """Without the middle sensor only the sum of two angles is known: both move alike, and the others follow."""
    model = _links()
    t = np.linspace(0.0, 1.0, 60)
    q = np.stack([0.4 * np.sin(5 * t), 0.3 + 0.2 * np.cos(4 * t), 0.5 * np.sin(3 * t)], axis=1)
    trial = _sensors(model, t, q)
    quaternion = np.array(trial.quaternion)
    lost = slice(20, 40)
    quaternion[lost, 1] = np.nan
    result = inverse_kinematics(model, orientations=replace(trial, quaternion=quaternion))
    seen = np.setdiff1d(np.arange(60), np.arange(20, 40))
    assert (result.status[lost] == Status.UNDETERMINED).all()
    assert_allclose(result.q[seen], q[seen], atol=ACCURACY)
    assert_allclose(result.q[:, 0], q[:, 0], atol=ACCURACY)
    # the smallest change of two angles with a given sum is half of it each
    change = 0.5 * (q[lost, 1] + q[lost, 2] - q[19, 1] - q[19, 2])
    assert_allclose(result.q[lost, 1], q[19, 1] + change, atol=1e-6)


def test_whole_turns_are_taken_off_row_by_row():
    """Rows are brought to the end of the last good one; the longest good one keeps its number of turns."""
    turn = 2.0 * np.pi
    smooth = np.sin(np.linspace(0.0, 6.0, 40))
    turns = np.repeat([0, 3, -1, 1], [12, 2, 1, 25])
    alike = np.full(40, 1e-4)
    assert_allclose(whole_turns_off(smooth + turn * turns, alike), smooth + turn, atol=1e-12)
    # frames that fit badly may lead to another turn without a leap
    drift, bad = np.array(smooth), np.arange(12, 18)
    drift[bad] += np.linspace(1.0, 5.5, 6)
    drift[18:] += turn
    good = np.setdiff1d(np.arange(40), bad)
    fit = np.where(np.isin(np.arange(40), bad), 1e-2, 1e-4)
    assert_allclose(whole_turns_off(drift, fit)[good], smooth[good] + turn, atol=1e-12)
    fast = 0.9 * np.arange(40)
    assert_allclose(whole_turns_off(fast, alike), fast, atol=0.0)


def test_turns_are_taken_off_only_where_they_change_nothing():
    """Not of a knee whose splines end elsewhere, not with a task, not where the values leave their bounds."""
    model = limb()
    coordinates = tuple(replace(c, range=(-10.0, 3.2), clamped=True) for c in model.joint("pin").coordinates)
    model = model.with_joint(replace(model.joint("pin"), coordinates=coordinates))
    unknowns = unknowns_of(model, compiled(model), embedding_tables(model), "clamped")
    angles = np.array(angle_columns(model.coordinate_names, model))
    names = ("base_rz", "knee_rz", "pin", "bx", "by")
    rz, knee, pin, bx, by = (model.coordinate_index(name) for name in names)
    q = motion(model, 40)
    turned = np.array(q)
    turned[20:23, [rz, knee, bx]] += 2.0 * np.pi
    turned[:15, pin] -= 2.0 * np.pi
    turned[:, by] += 4.0 * np.pi

    def taken(places):
        problem = SimpleNamespace(q=np.array(turned), unknowns=unknowns, objective=np.full(40, 1e-4))
        take_back_turns(model, problem, angles, np.array([bx]), places)
        return problem.q

    expected = np.array(turned)
    expected[:, rz] = q[:, rz]
    expected[:, pin] = q[:, pin]
    assert_allclose(taken(True), expected, atol=1e-12)
    # just before and just after half a turn, with bounds there: one turn more would be outside
    turned[:, pin] = np.repeat([3.0, -3.0], [25, 15])
    assert_allclose(taken(True)[:, pin], turned[:, pin], atol=0.0)


def _links() -> Model:
    names = ("first", "second", "third")
    before = ("ground", *names)
    joints = tuple(
        PinJoint(name, Placement(before[k], (0.5, 0.0, 0.0)), Placement(name), (Coordinate(f"{name}_angle"),))
        for k, name in enumerate(names)
    )
    return Model("links", tuple(Body(name, 1.0) for name in names), joints)


def _sensors(model: Model, time, q) -> Orientations:
    poses = kinematics(model, q)
    rotation = np.stack([poses.batch_pose(name)[0] for name in model.body_names], axis=1)
    return Orientations(time, model.body_names, to_quaternion(rotation))
