"""Moco's tests and example done again: what the studies tell with the recorded data, and without."""

from __future__ import annotations

import pytest

from musculo.replications.moco import moco_inverse, moco_track, moco_walk
from musculo.replications.study import NOT_RUN, Settings
from musculo.trajectory import Trapezoidal


@pytest.mark.parametrize("module", [moco_inverse, moco_track, moco_walk])
def test_without_the_data_a_study_says_what_it_needs(tmp_path, module):
    for folder in (None, tmp_path):
        found = module.study(Settings(data=folder))
        assert module.FOLDER in found.missing
        assert not found.rows


@pytest.mark.parametrize("module", [moco_inverse, moco_track])
def test_stored_solutions(data_folder, module):
    if not (data_folder / module.FOLDER).is_dir():
        pytest.skip(f"no {module.FOLDER} in the recorded data")
    found = module.study(Settings(opensim=False, data=data_folder))
    assert not found.missing
    by_name = {row.quantity: row for row in found.rows}
    times = by_name.pop("Moco's processor time over ours")
    assert (times.ours, times.note) == (None, NOT_RUN)
    assert all(row.met for row in by_name.values())


def test_a_walk_of_eighty_muscles_on_a_coarse_mesh(data_folder):
    if not (data_folder / moco_walk.FOLDER).is_dir():
        pytest.skip(f"no {moco_walk.FOLDER} in the recorded data")
    walk = moco_walk.solved(data_folder / moco_walk.FOLDER, Trapezoidal(6), "rigid", 1e-3)
    assert walk.solved
    assert len(walk["knee_angle_r/value"]) == 7
