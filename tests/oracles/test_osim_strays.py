"""What stands in a file where nobody reads it: OpenSim's model is ours, and ours says what was passed over."""

from __future__ import annotations

import pytest

from musculo import write_osim
from musculo.errors import InvalidFile, InvalidModel
from musculo.io import read_osim

pytest.importorskip("opensim")
from support.opensim_facts import ROUNDING, differences, opensim_facts

BODY = "<mass>2</mass><mass_center>0.1 0.2 0.3</mass_center><inertia>1 1 1 0 0 0</inertia>"
MARKER = '<Marker name="{}"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>1 0 0</location></Marker>'
MARKERS = (
    f'<OpenSimDocument Version="40600"><MarkerSet><objects>{MARKER.format("far")}</objects></MarkerSet>'
    "</OpenSimDocument>"
)
MUSCLE = (
    '<Thelen2003Muscle name="m">{}<max_isometric_force>500</max_isometric_force>'
    "<optimal_fiber_length>0.5</optimal_fiber_length></Thelen2003Muscle>"
)
PATH = (
    '<GeometryPath name="path"><PathPointSet><objects><PathPoint name="p"><socket_parent_frame>/ground'
    '</socket_parent_frame><location>0 1 0</location></PathPoint><PathPoint name="r"><socket_parent_frame>/bodyset/b'
    "</socket_parent_frame><location>{} 0 0</location></PathPoint></objects></PathPointSet></GeometryPath>"
)


def document(body: str = BODY, coordinate: str = "", rest: str = "") -> str:
    return (
        '<OpenSimDocument Version="40600"><Model name="m"><gravity>0 -9 0</gravity><BodySet><objects><Body name="b">'
        f'{body}</Body></objects></BodySet><JointSet><objects><PinJoint name="j"><socket_parent_frame>/ground'
        "</socket_parent_frame><socket_child_frame>/bodyset/b</socket_child_frame><coordinates>"
        f'<Coordinate name="q">{coordinate}</Coordinate></coordinates></PinJoint></objects></JointSet>{rest}</Model>'
        "</OpenSimDocument>"
    )


# content -> what is said of it
CASES = {
    "attribute": (document(body=BODY.replace("<mass>", '<mass units="g">')), "the attribute units='g' is not read"),
    "text": (document(body="junk " + BODY + " and more"), "the text 'junk' stands between its elements"),
    "wrong case": (document(body=BODY + "<Inertia>9 9 9 0 0 0</Inertia>"), "<Inertia> is not a property of Body"),
    "value twice": (document(body=BODY + "<mass>7</mass>"), "stated twice; the first statement counts"),
    "range twice": (document(coordinate="<range>1 2</range><range>3 4</range>"), "stated twice"),
    "path twice": (
        document(rest=f"<ForceSet><objects>{MUSCLE.format(PATH.format(1) + PATH.format(2))}</objects></ForceSet>"),
        "stated twice",
    ),
    "set twice": (
        document(
            rest=f"<MarkerSet><objects>{MARKER.format('first')}</objects></MarkerSet>"
            f"<MarkerSet><objects>{MARKER.format('second')}</objects></MarkerSet>"
        ),
        "stated twice",
    ),
    "set without objects": (
        document(rest=f"<MarkerSet>{MARKER.format('lost')}</MarkerSet>"),
        "<Marker> is not a property of MarkerSet",
    ),
    "set in small letters": (
        document(rest=f"<markerset><objects>{MARKER.format('lost')}</objects></markerset>"),
        "<markerset> is not a property of Model and changes nothing; did you mean <MarkerSet>?",
    ),
    "prescribed under its class": (
        document(coordinate='<prescribed>true</prescribed><Sine name="prescribed_function"><offset>2</offset></Sine>'),
        "<Sine> is not a property of Coordinate",
    ),
    "units": (document(rest="<force_units>kN</force_units><length_units>mm</length_units>"), None),
    "other file": (document(rest='<MarkerSet file="markers.xml"/>'), "it is read from the file 'markers.xml'"),
    "other file instead": (
        document(rest=f'<MarkerSet file="markers.xml"><objects>{MARKER.format("near")}</objects></MarkerSet>'),
        "it is read from the file 'markers.xml'",
    ),
    "other file of a member": (
        document(
            rest="<MarkerSet><objects>"
            + MARKER.format("near").replace(">", ' file="markers.xml">', 1)
            + "</objects></MarkerSet>"
        ),
        "the attribute file='markers.xml' is not read",
    ),
    "wrong coordinate": (
        document().replace("<Coordinate name", '<Coordinat name="z"/><Coordinate name'),
        "not a coordinate",
    ),
    "muscle of another kind": (
        document(
            rest=f"<ForceSet><objects>{MUSCLE.format(PATH.format(1))}</objects></ForceSet>".replace(
                "Thelen2003Muscle", "Schutte1993Muscle_Deprecated"
            ).replace("<max_iso", "<default_activation>0.4</default_activation><max_iso")
        ),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_opensim_passes_over_it_too(case, tmp_path):
    content, told = CASES[case]
    (tmp_path / "odd.osim").write_text(content)
    (tmp_path / "markers.xml").write_text(MARKERS)
    model = read_osim(tmp_path / "odd.osim")
    said = [note.why for note in model.notes]
    if told is None:
        assert not any("not a property" in why or "not read" in why for why in said)
    else:
        assert any(told in why for why in said), said
    write_osim(model, tmp_path / "ours.osim")
    theirs, ours = (opensim_facts(tmp_path / name) for name in ("odd.osim", "ours.osim"))
    assert "error" not in theirs
    assert differences(theirs, ours, "", ROUNDING) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            document(body=BODY.replace("0.1 0.2 0.3", "<value>0 0 0</value>")),
            "holds <value> where a value should stand",
        ),
        (document(rest="<MarkerSet><objects><Station name='s'/></objects></MarkerSet>"), "it should be <Marker>"),
    ],
)
def test_what_opensim_does_not_open_is_refused(content, words, tmp_path):
    (tmp_path / "odd.osim").write_text(content)
    assert "error" in opensim_facts(tmp_path / "odd.osim")
    with pytest.raises(InvalidModel, match=words):
        read_osim(tmp_path / "odd.osim")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (None, "<MarkerSet> is in another file: no file"),
        (MARKERS.replace("MarkerSet", "ForceSet"), "holds no <MarkerSet>"),
        (MARKERS.replace("40600", "30000"), "of version 30000, and this one is of version 40600"),
    ],
)
def test_another_file_that_cannot_be_used_is_refused(other, words, tmp_path):
    """OpenSim goes on with an empty set, and a line in its log."""
    (tmp_path / "odd.osim").write_text(document(rest='<MarkerSet file="markers.xml"/>'))
    if other is not None:
        (tmp_path / "markers.xml").write_text(other)
    with pytest.raises((InvalidFile, InvalidModel), match=words):
        read_osim(tmp_path / "odd.osim")


@pytest.mark.parametrize("numbers", ["(0.1 0.2 0.3)", "0.1,0.2,0.3"])
def test_numbers_that_opensim_passes_over_are_read_and_noted(numbers, tmp_path):
    (tmp_path / "odd.osim").write_text(document(body=BODY.replace("0.1 0.2 0.3", numbers)))
    model = read_osim(tmp_path / "odd.osim")
    assert model.bodies[0].mass_center == (0.1, 0.2, 0.3)
    assert any("OpenSim 4.6 ignores it" in note.why for note in model.notes)
    (tmp_path / "plain.osim").write_text(document())
    theirs, ours = (opensim_facts(tmp_path / name) for name in ("odd.osim", "plain.osim"))
    assert differences(theirs, ours, "", ROUNDING) != []


def test_lists_of_functions_may_stand_in_brackets(tmp_path):
    spline = "<SimmSpline><x>(0 1 2)</x><y>0,1,4</y></SimmSpline>"
    (tmp_path / "m.osim").write_text(document(coordinate=f"<prescribed_function>{spline}</prescribed_function>"))
    model = read_osim(tmp_path / "m.osim")
    assert model.coordinates[0].prescribed_function.y == (0.0, 1.0, 4.0)
    assert not any("ignores" in note.why for note in model.notes)


def test_digits_in_groups_are_no_number(tmp_path):
    (tmp_path / "m.osim").write_text(document(body=BODY.replace("<mass>2", "<mass>1_000")))
    with pytest.raises(InvalidModel, match="'1_000' is not a number"):
        read_osim(tmp_path / "m.osim")
