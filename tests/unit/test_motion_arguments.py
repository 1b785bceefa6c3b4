"""What `motion_of` and `place_markers` refuse, and what they say of angles."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, MusculoWarning, PinJoint, Placement, Table, motion_of
from musculo.analyses.recorded_motion import motion_of_states
from musculo.demo import ARM_FILE, arm, arm_flexion
from musculo.errors import InvalidInput
from musculo.functions import Linear
from musculo.model import CoordinateCoupler, place_markers


@pytest.mark.parametrize("table", ["motion.mot", np.zeros((7, 2)), None])
def test_what_is_no_table_is_refused(table):
    for make in (motion_of, motion_of_states):
        with pytest.raises(InvalidInput, match=rf"is {type(table).__name__}; read a file with read_storage\(path\)"):
            make(arm(), table)
    with pytest.raises(InvalidInput, match=r"speeds is .*; read a file with"):
        motion_of(arm(), arm_flexion(), like="opensim", tool="analyze", speeds=table if table is not None else 3)
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
    with pytest.warns(MusculoWarning, match="q.mot: its angles are read as radians") as told:
        (note,) = motion_of(arm(), table).notes
    assert [str(one.message) for one in told] == [note]
    assert note.startswith("q.mot: its angles are read as radians, but ")


def clamped_pair() -> Model:
    """Two hinges, one of which follows the other, which is clamped to 0 to 1."""
    bodies = tuple(Body(name, 1.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0)) for name in "ab")
    joints = (
        PinJoint("first", Placement("ground"), Placement("a"), (Coordinate("bend", range=(0.0, 1.0), clamped=True),)),
        PinJoint("second", Placement("a"), Placement("b"), (Coordinate("follow"),)),
    )
    coupler = CoordinateCoupler("tie", dependent="follow", independents=("bend",), function=Linear(0.5))
    return Model("pair", bodies, joints, constraints=(coupler,))


def test_ranges_are_judged_in_the_recording_and_not_in_what_the_filter_adds():
    """OpenSim's filter reflects the ends of a recording: a ramp within the range goes on beyond it there."""
    time, model = np.linspace(0.0, 1.0, 101), clamped_pair()
    ramp = Table(time, ("bend",), (0.02 + 0.96 * time)[:, None])
    found = motion_of(model, ramp, 6.0, like="opensim", tool="analyze")
    padded = ramp.lowpass(6.0, like="opensim")
    assert padded.values.max() > 1.2
    assert found.q[:, 0].max() == 1.0  # as OpenSim's assembly
    assert not any("leave their range" in note for note in found.notes)
    steeper = replace(ramp, values=1.2 * ramp.values)
    (note,) = (n for n in motion_of(model, steeper, like="opensim", tool="analyze").notes if "leave their range" in n)
    assert "bend (by up to 0.176 at 16 of 101 frames between 0.85 and 1 s)" in note
    early = motion_of(model, steeper, like="opensim", tool="analyze", span=(0.0, 0.5))
    assert not any("leave their range" in n for n in early.notes)


def beside(*names: str) -> Table:
    """The flexion of the arm, with more columns."""
    table = arm_flexion()
    more = np.tile(np.linspace(0.0, 0.5, len(table))[:, None], (1, len(names)))
    return replace(table, names=(*table.names, *names), values=np.hstack([table.values, more]), units=())


def test_columns_of_coordinates_that_the_model_lacks_are_named():
    other = beside("wrist_flexion", "pelvis_tz", "/jointset/hip/hip_flexion_r/value")
    words = "no coordinate for wrist_flexion, pelvis_tz, /jointset/hip/hip_flexion_r/value: these columns are ignored"
    for how in ({}, {"like": "opensim"}, {"like": "opensim", "tool": "analyze"}):
        (note,) = motion_of(arm(), other, **how).notes
        assert words in note
    with pytest.warns(MusculoWarning, match=f"q: the model has {words}") as told:
        musculo.muscle_geometry(arm(), other)
    assert len(told) == 1


def test_what_stands_beside_coordinates_is_not_taken_for_any():
    """Speeds, states of muscles, forces, plates, errors of markers and their positions."""
    model = arm()
    muscle, marker = model.muscle_names[0], model.marker_names[0]
    table = beside(
        *("elbow_flexion_u", "hip_flexion_r_u", "/jointset/hip/hip_flexion_r/speed", f"{muscle}.activation"),
        *(f"/forceset/{muscle}/fiber_length", f"{muscle}_fiber_length", muscle, f"{marker}_tx", f"{marker}_ty"),
        *(f"{marker}_tz", "Sternum_tx", "Sternum_ty", "Sternum_tz", "ground_force_vx", "1_ground_torque_y", "FX"),
        *("total_squared_error", "marker_error_RMS", "elbow_flexion_moment", "elbow_flexion_reserve_force"),
    )
    assert motion_of(model, table).notes == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        musculo.muscle_geometry(model, table)
