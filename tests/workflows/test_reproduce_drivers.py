"""Antunes2025's experiment on movements of few frames: what the study tells with the recorded walk, and without."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.replications.drivers import drivers_study
from musculo.replications.drivers.gait_movement import FOLDER
from musculo.replications.study import Settings

FEW = 24


def test_without_the_walk_the_arm_is_left():
    found = drivers_study.study(Settings(), frames=12, rounds=1)
    assert FOLDER in found.missing
    assert not [row.quantity for row in found.short if not row.timed]
    assert not [row.quantity for row in found.rows if "gait" in row.quantity or "figure" in row.quantity]
    counts = {row.quantity: (row.ours, row.paper) for row in found.rows if "constraints" in row.quantity}
    assert len(counts) == 8
    assert all(ours == paper for ours, paper in counts.values())


def test_with_the_walk(data_folder):
    if not (data_folder / FOLDER).is_dir():
        pytest.skip(f"no {FOLDER} in the recorded data")
    found = drivers_study.study(Settings(data=data_folder), frames=FEW, rounds=1)
    assert not found.missing
    assert not [row.quantity for row in found.short if not row.timed]
    rows = {row.quantity: row for row in found.rows}
    assert rows["gait, Euler-based: kinematic constraints"].ours == 91
    assert rows["gait, angle-based: kinematic constraints"].ours == 105
    # the elbow is no hinge: no table of zeros
    assert rows["combing, Euler-based: HU and RU, largest difference"].ours > 0.1
    differences = next(part for part in found.parts if part.title.startswith("Differences"))
    assert {q.theirs for q in differences.quantities if "combing, Euler-based: HU" in q.name} == {0.32, 0.82}
    # figure 6: the hip goes back where it should pass zero, as far as it should have gone on
    hip = next(plot for plot in found.plots if plot.name == "figure_6")
    prescribed, wrong, right = hip.curves.values()
    assert right == pytest.approx(prescribed, abs=1e-6)
    assert prescribed.min() < -10.0
    assert wrong.min() > -1e-6
    assert np.abs(wrong - np.abs(prescribed)).max() < 2.0
