"""Angles that hardly anything recorded tells stay near their defaults; those that are told do not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Markers, MusculoWarning, inverse_kinematics, kinematics
from musculo.analyses.inverse_kinematics.fit_recording import Wanted, fit_poses
from musculo.analyses.inverse_kinematics.near_default import ROUNDING
from support.ik_models import TWIST_TIME as TIME
from support.ik_models import seemingly_twisted as recorded
from support.ik_models import twisting_rod as rod


def test_an_angle_that_noise_alone_tells_stays_near_the_default():
    model = rod(1e-5)
    trial = recorded(model, np.radians(175.0))
    free, kept = fit_poses(model, Wanted(trial)), inverse_kinematics(model, trial)
    assert (np.degrees(np.abs(free.q[:, 1])) > 150.0).all()
    assert (np.degrees(np.abs(kept.q[:, 1])) < 30.0).all()
    assert np.abs(kept.rms - free.rms).max() < ROUNDING
    assert_allclose(kept.q[:, 0], free.q[:, 0], atol=1e-3)
    # the objective is that of what was recorded alone
    assert_allclose(kept.objective, 0.5 * (kept.marker_errors**2).mean(axis=1), rtol=1e-9)
    assert any(note.startswith("twist: kept near the default") for note in kept.notes)


def test_an_angle_that_is_told_is_followed_wherever_it_is():
    model = rod(0.04)
    poses = np.stack([0.4 * np.sin(5.0 * TIME), np.full_like(TIME, np.radians(170.0))], axis=1)
    trial = Markers(TIME, model.marker_names, kinematics(model, poses).markers())
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)
        found = inverse_kinematics(model, trial)
    assert_allclose(found.q, poses, atol=1e-6)
    assert not any("default" in note for note in found.notes)


def test_an_angle_that_is_told_a_little_is_warned_of():
    model = rod(0.002)
    trial = recorded(model, np.radians(180.0), noise=0.015)
    with pytest.warns(MusculoWarning, match=r"twist is -?180 deg .*, far from its default; near it the recording"):
        found = inverse_kinematics(model, trial)
    assert (np.degrees(np.abs(found.q[:, 1])) > 170.0).all()


def test_far_outside_a_range_counts_as_far():
    model = rod(1e-5, range=(-0.2, 0.2))
    trial = recorded(model, np.radians(100.0))
    assert (np.degrees(fit_poses(model, Wanted(trial)).q[:, 1]) > 70.0).all()
    assert (np.degrees(inverse_kinematics(model, trial).q[:, 1]) < 45.0).all()


def test_a_coordinate_with_a_task_is_left_alone():
    model = rod(1e-5)
    trial = recorded(model, np.radians(175.0))
    found = inverse_kinematics(model, trial, tasks={"twist": (1e-3, np.full(len(TIME), 2.5))})
    assert_allclose(found.q[:, 1], 2.5, atol=1e-2)
