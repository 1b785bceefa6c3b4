"""Files of forces: in addition to those of a model, or in their place."""

from __future__ import annotations

import pytest

from musculo.errors import InvalidFile, InvalidInput, InvalidModel
from musculo.io import read_force_set, with_force_sets
from musculo.model.path_force import PathSpring
from support.setup_files import FORCE_SET


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "forces.xml"
    path.write_text(FORCE_SET)
    return path


def test_forces_of_a_file(file, leg):
    reserve, point, torque, spring = read_force_set(file, leg)
    assert (reserve.name, reserve.kind, reserve.text("coordinate")) == ("reserve", "CoordinateActuator", "hip_flexion")
    assert reserve.applies_force
    assert (point.text("body"), torque.text("bodyB")) == ("pelvis", "ground")
    assert isinstance(spring, PathSpring)
    assert (spring.stiffness, [p.frame for p in spring.path.points]) == (5.0, ["pelvis", "foot"])


def test_forces_are_added_or_take_the_place_of_others(file, leg):
    new = read_force_set(file, leg)
    assert with_force_sets(leg, file).forces == (*leg.forces, *new)
    assert with_force_sets(leg, [file], replace=True).forces == new
    assert with_force_sets(leg, []).forces == leg.forces


def test_of_two_forces_of_one_name_the_first_stays(file, leg):
    new = read_force_set(file, leg)
    twice = with_force_sets(leg, [file, file])
    assert twice.forces == (*leg.forces, *new)
    told = [str(note) for note in twice.notes[len(leg.notes) :]]
    assert len(told) == len(new)
    assert "'reserve'" in told[0]
    assert "ignored, as OpenSim does" in told[0]


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("<body>foot</body>", "<body>fot</body>", InvalidModel, r"forces.xml:1: .*did you mean 'foot'"),
        ("<stiffness>5", "<stiffness>stiff", InvalidModel, "'stiff' is not a number"),
        ("ForceSet", "BodySet", InvalidFile, "holds <BodySet>, and no <ForceSet>"),
        ("OpenSimDocument", "Other", InvalidFile, "the root element is <Other>"),
    ],
)
def test_bad_files_say_where_and_what_to_do(file, leg, old, new, error, message):
    file.write_text(FORCE_SET.replace(old, new))
    with pytest.raises(error, match=message):
        read_force_set(file, leg)


def test_a_model_is_needed(file):
    with pytest.raises(InvalidInput, match="read one with read_osim"):
        read_force_set(file, "leg.osim")
