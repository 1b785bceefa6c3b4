"""Which axis of a laboratory is up: whatever POINT:Y_SCREEN says, subjects stand on plates that push them up."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_c3d
from musculo.io.file_axes import to_ground
from musculo.io.marker_columns import read_markers
from support.c3d_files import C3DMaker, plate_group

SINGLE = 2e-6  # metres that pass through float32 millimetres
UPS = ("x", "y", "z", "-x", "-y", "-z")
SCREENS = ("+X", "+Y", "+Z", "-X", "-Y", "-Z", "Z", "", "up", None)
# Somebody stands on a plate of 600 by 400 mm around (0.2, 0, 0.1), presses 700 N and walks a little; ground, y up.
NAMES = ["C7", "RASI", "LASI", "RKNE", "RTOE", "LHEE"]
POINTS = np.array([[0, 1.4, 0], [0.1, 1, 0.1], [0.1, 1, -0.1], [0, 0.5, 0.1], [0.2, 0.05, 0.1], [0, 0.04, -0.1]])
CORNERS = np.array([[0.5, 0, 0.3], [-0.1, 0, 0.3], [-0.1, 0, -0.1], [0.5, 0, -0.1]])
# The plate's own z points into the floor; x goes from its second corner to the first.
REACTION = np.array([-30.0, 0.0, -700.0])


def standing(frames: int = 4) -> np.ndarray:
    """(frames, points, 3) in ground [m]."""
    return POINTS + np.linspace(0.0, 0.1, frames)[:, None, None] * (1.0, 0.0, 0.2)


def write(folder: Path, up: str, right: str | None, screen: str | None, plate=True, names=NAMES, points=None, load=1.0):
    """The subject in a laboratory whose axis `up` points up, in a file that says `screen` does."""
    R = to_ground(up)
    position = standing() if points is None else points
    made = C3DMaker(position @ R * 1000.0, list(names))
    screens = {"X_SCREEN": right, "Y_SCREEN": screen}
    made.extra = {"POINT": {key: [word] for key, word in screens.items() if word is not None}}
    if plate:
        made.analog = np.tile([*(load * REACTION), 0.0, 0.0, 0.0], (2 * len(position), 1))
        made.analog_labels = [f"c{k}" for k in range(6)]
        made.extra["FORCE_PLATFORM"] = plate_group([2], [CORNERS @ R * 1000.0], [(0, 0, -40)], [np.arange(1, 7)])
    (folder / "a.c3d").write_bytes(made.bytes())
    return folder / "a.c3d"


@pytest.mark.parametrize("up", UPS)
def test_whatever_the_screen_says_subjects_stand_on_plates_that_push(tmp_path, up):
    for right, screen in product(("+X", "-Y", "+Z", "", None), SCREENS):
        recording = read_c3d(write(tmp_path, up, right, screen))
        said = (up, right, screen, recording.notes)
        assert recording.up == up, said
        assert_allclose(recording.markers.position, standing(), atol=SINGLE)
        assert_allclose(recording.plates[0].corners, CORNERS, atol=SINGLE)
        assert_allclose(recording.plates[0].force[:, 1], 700.0, atol=1e-3)
        decided = [note for note in recording.notes if f"{up} was assumed" in note]
        agrees = screen is not None and screen.lower().lstrip("+") == up
        assert bool(decided) != agrees, said
        assert recording.markers.notes == recording.notes


def test_plates_without_a_load_or_without_markers_decide_as_well(tmp_path):
    for up, screen in (("z", "-Z"), ("-y", "+Y"), ("y", "+Z"), ("x", None)):
        assert read_c3d(write(tmp_path, up, "+X", screen, load=0.0)).up == up
        pushed = read_c3d(write(tmp_path, up, "+X", screen, points=np.full((4, 6, 3), np.nan)))
        assert pushed.up == up
        assert "push the subject" in pushed.notes[0]
        assert_allclose(pushed.plates[0].force[:, 1], 700.0, atol=1e-3)
    nothing = {"points": np.full((4, 6, 3), np.nan), "load": 0.0}
    assert read_c3d(write(tmp_path, "z", "+X", "-Z", **nothing)).up == "-z"  # nothing tells
    assert read_c3d(write(tmp_path, "-x", "+X", None, **nothing)).up == "-x"  # its z points into the floor


def test_without_plates_names_and_the_floor_decide(tmp_path):
    for up, screen in (("z", "-Z"), ("-y", "+Y"), ("-z", None), ("y", "")):
        recording = read_c3d(write(tmp_path, up, "+X", screen, plate=False))
        assert recording.up == up
        assert "was assumed" in " ".join(recording.notes)
    nameless = [f"m{k}" for k in range(6)]
    assert read_c3d(write(tmp_path, "z", "+X", "-Z", plate=False, names=nameless)).up == "z"
    told = read_c3d(write(tmp_path, "y", "+X", None, plate=False, names=nameless))
    assert told.up == "z"
    assert told.notes == ("the file does not say which axis is up; z was assumed (up= or --up says otherwise)",)
    assert read_c3d(write(tmp_path, "y", "+Z", None, plate=False, names=nameless)).up == "y"  # z is to the right


def test_subjects_may_lie_stand_on_their_hands_and_climb(tmp_path):
    """What the file says holds where it can be so."""
    lying = standing() @ np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) + (0.0, 0.2, 0.0)
    inverted = (0.0, 1.6, 0.0) + standing() * (1.0, -1.0, 1.0)
    for points in (lying, inverted):
        for plate in (True, False):
            recording = read_c3d(write(tmp_path, "z", "+X", "+Z", points=points, plate=plate))
            assert (recording.up, recording.notes) == ("z", ())
            assert_allclose(recording.markers.position, points, atol=SINGLE)
    R = to_ground("z")
    wall = CORNERS @ np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x is its normal
    path = write(tmp_path, "z", "+X", "+Z", plate=False)
    made = C3DMaker((np.array([0.4, 0.0, 0.0]) + standing()) @ R * 1000.0, NAMES)
    made.extra = {"POINT": {"Y_SCREEN": ["+Z"]}}
    made.analog, made.analog_labels = np.tile([*REACTION, 0.0, 0.0, 0.0], (8, 1)), [f"c{k}" for k in range(6)]
    made.extra["FORCE_PLATFORM"] = plate_group([2], [wall @ R * 1000.0], [(0, 0, -40)], [np.arange(1, 7)])
    path.write_bytes(made.bytes())
    climbing = read_c3d(path)
    assert climbing.up == "z"
    assert "are these plates in a wall?" in " ".join(climbing.notes)


def test_an_axis_that_is_asked_for_is_taken_and_doubted(tmp_path):
    path = write(tmp_path, "z", "+X", "+Z")
    assert read_c3d(path, up="z").notes == ()
    turned = read_c3d(path, up="-z")
    assert turned.up == "-z"
    assert "-z was assumed to point up, as asked, although the force plates lie flat on z" in turned.notes[0]
    assert "pulls the subject down" in " ".join(turned.notes)
    assert "as asked" in " ".join(read_markers(path, up="-z").notes)


def test_a_plate_that_pulls_does_not_turn_who_stands_on_it(tmp_path):
    """A file that holds the force on the plate: the markers are above it all the same."""
    recording = read_c3d(write(tmp_path, "z", "+X", "+Z", load=-1.0))
    assert recording.up == "z"
    assert "pulls the subject down (-700 N)" in " ".join(recording.notes)


def test_contradictions_of_the_screen_are_told(tmp_path):
    assert "are both z" in " ".join(read_c3d(write(tmp_path, "z", "-Z", "+Z")).notes)
    assert "'up', which is not an axis" in " ".join(read_c3d(write(tmp_path, "z", "+X", "up")).notes)
