"""What `motion_of` and `place_markers` refuse, and what they say of angles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import InvalidInput, MusculoWarning, motion_of, place_markers
from musculo.analyses.motion import motion_of_states
from musculo.demo import ARM_FILE, arm, arm_flexion


@pytest.mark.parametrize("table", ["motion.mot", np.zeros((7, 2)), None])
def test_what_is_no_table_is_refused(table):
    for make in (motion_of, motion_of_states):
        with pytest.raises(InvalidInput, match=rf"is {type(table).__name__}; read a file with read_storage\(path\)"):
            make(arm(), table)
    with pytest.raises(InvalidInput, match=r"speeds is .*; read a file with"):
        motion_of(arm(), arm_flexion(), like="opensim analyze", speeds=table if table is not None else 3)
    with pytest.raises(InvalidInput, match=rf"static trial is {type(table).__name__}; read it with read_markers"):
        place_markers(arm(), table)


def test_what_is_no_model_is_refused():
    trial = musculo.Markers([0.0], ("a",), np.zeros((1, 1, 3)))
    for call in (lambda m: motion_of(m, arm_flexion()), lambda m: place_markers(m, trial)):
        for model in (ARM_FILE, str(ARM_FILE), None):
            with pytest.raises(InvalidInput, match=r"a Model is needed, not .*read_osim"):
                call(model)


def test_a_time_outside_of_the_motion_is_refused():
    motion = motion_of(arm(), arm_flexion())
    first, last = motion.time[[0, -1]]
    for start, end in ((last + 4.0, last + 5.0), (first - 3.0, first - 2.0)):
        with pytest.raises(InvalidInput, match=r"no frame lies between .* it spans"):
            motion.between(start, end)
    assert len(motion.between(last, last + 1.0)) == len(motion.between(first - 1.0, first)) == 1
    assert len(motion.between(first - 1.0, last + 1.0)) == len(motion)


def test_a_table_is_not_said_to_state_a_unit():
    """A file without inDegrees says nothing of it."""
    table = replace(arm_flexion(), degrees=False, source="q.mot")
    with pytest.warns(MusculoWarning, match="q.mot: its angles are taken in radians") as told:
        (note,) = motion_of(arm(), table).notes
    assert [str(one.message) for one in told] == [note]
    assert note.startswith("q.mot: its angles are taken in radians, but ")
