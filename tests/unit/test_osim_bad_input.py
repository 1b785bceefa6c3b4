"""Files that cannot be read end in an error that says where, what, and what to try."""

from __future__ import annotations

import pytest

from musculo.errors import InvalidFile, InvalidModel, MusculoError
from musculo.io import read_osim, write_osim
from musculo.model.model import Carried

BODY = '<Body name="{0}"><mass>{1}</mass><inertia>{2}</inertia></Body>'
GOOD = BODY.format("a", "1", "1 1 1 0 0 0")


def pin(name: str, parent: str, child: str, coordinate: str) -> str:
    return (
        f'<PinJoint name="{name}"><socket_parent_frame>{parent}</socket_parent_frame>'
        f"<socket_child_frame>{child}</socket_child_frame>"
        f'<coordinates><Coordinate name="{coordinate}"/></coordinates></PinJoint>'
    )


def document(bodies: str = GOOD, joints: str = "", rest: str = "", version: str = "40600") -> str:
    return (
        f'<OpenSimDocument Version="{version}"><Model name="m">\n<BodySet><objects>{bodies}</objects></BodySet>\n'
        f"<JointSet><objects>{joints}</objects></JointSet>\n{rest}</Model></OpenSimDocument>"
    )


@pytest.fixture
def refused(tmp_path):
    """Write a file, expect it to be refused, and return the message."""

    def check(content: str | bytes, kind: type[MusculoError]) -> str:
        file = tmp_path / "bad.osim"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(kind) as caught:
            read_osim(file)
        assert "bad.osim" in str(caught.value)
        # The folder is named after the test, so its words would satisfy any check.
        return str(caught.value).replace(str(tmp_path), "")

    return check


# --- no OpenSim document ---------------------------------------------------------------------------------------------
def test_missing_file_lists_what_is_there(tmp_path):
    (tmp_path / "other.osim").write_text("x")
    with pytest.raises(InvalidFile, match=r"no file .*absent\.osim; models in that folder: other\.osim"):
        read_osim(tmp_path / "absent.osim")


def test_folder(tmp_path):
    with pytest.raises(InvalidFile, match="is a folder"):
        read_osim(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        (b"\x00\x01\x02PK\x03\x04" * 50, "not well-formed"),
        ("<OpenSimDocument>\n<Model></OpenSimDocument>", "bad.osim:2: not well-formed"),
        ("solid text", "not well-formed"),
        ("<html><body/></html>", "is a web page, not an OpenSim model"),
        ('<OpenSimDocument Version="40000"><CMCTool/></OpenSimDocument>', "is a set-up file of OpenSim's CMCTool"),
        ('<OpenSimDocument Version="four"><Model/></OpenSimDocument>', 'Version="four"'),
        ("<OpenSimDocument><Model/></OpenSimDocument>", 'Version=""'),
        ('<OpenSimDocument Version="10900"><Model/></OpenSimDocument>', "older than 10901"),
    ],
    ids=["empty", "blank", "binary", "unclosed", "text", "html", "tool", "version word", "no version", "too old"],
)
def test_no_opensim_document(refused, content, words):
    assert words in refused(content, InvalidFile)


def test_entity_bomb_and_foreign_files_are_refused(refused, tmp_path):
    laughs = '<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 12))
    bomb = f"<!DOCTYPE d [{laughs}]>" + document().replace('name="m"', 'name="m" x="&l11;"')
    assert "entit" in refused(bomb, InvalidFile).lower()
    (tmp_path / "secret").write_text("secret words")
    thief = f'<!DOCTYPE d [<!ENTITY s SYSTEM "file://{tmp_path}/secret">]>' + document(rest="<credits>&s;</credits>")
    assert "secret words" not in refused(thief, InvalidFile)


# --- impossible bodies -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<Body name="a"><inertia>1 1 1 0 0 0</inertia></Body>', ["'a'", "no <mass>"]),
        (BODY.format("a", "-1", "1 1 1 0 0 0"), ["'a'", "mass is -1"]),
        (BODY.format("a", "NaN", "1 1 1 0 0 0"), ["'a'", "NaN"]),
        (BODY.format("a", "abc", "1 1 1 0 0 0"), ["'a'", "'abc' is not a number"]),
        (BODY.format("a", "1 2", "1 1 1 0 0 0"), ["'a'", "must be one number, found 2"]),
        (BODY.format("a", "1", "1 1 1"), ["'a'", "must be 6 numbers, found 3"]),
        (GOOD.replace("<mass>1</mass>", "<mass>1</mass><mass_center>0 0</mass_center>"), ["'a'", "must be 3 numbers"]),
        (GOOD + GOOD, ["'a'", "two bodies"]),
    ],
    ids=[
        "no mass",
        "negative",
        "NaN",
        "word",
        "two masses",
        "three",
        "centre",
        "twice",
    ],
)
def test_impossible_body(refused, body, words):
    message = refused(document(body), InvalidModel)
    assert "bad.osim:2:" in message
    for word in words:
        assert word in message


def test_inertia_that_breaks_the_triangle_inequality_is_read_with_a_note(tmp_path):
    file = tmp_path / "m.osim"
    file.write_text(document(BODY.format("a", "1", "1 1 3 0 0 0")))
    model = read_osim(file)
    assert model.body("a").inertia == (1, 1, 3, 0, 0, 0)
    assert any("exceeds the sum" in note.why and "'a'" in note.what for note in model.notes)


# --- impossible trees ------------------------------------------------------------------------------------------------
TWO = GOOD + GOOD.replace('"a"', '"b"')
GROUND_A = pin("ga", "/ground", "/bodyset/a", "qa")


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (pin("j", "/ground", "/bodyset/aa", "q"), ["PinJoint 'j'", "'aa'", "did you mean 'a'"]),
        (pin("j", "/bodyset/nobody", "/bodyset/a", "q"), ["PinJoint 'j'", "'nobody'"]),
        (pin("j", "", "/bodyset/a", "q"), ["PinJoint 'j'", "'parent_frame' names no frame"]),
        (pin("j", "/bodyset/a", "/bodyset/a", "q"), ["PinJoint 'j'", "to itself"]),
        (
            GROUND_A + pin("gb", "/ground", "/bodyset/b", "qb") + pin("ab", "/bodyset/a", "/bodyset/b", "q"),
            ["'ab' closes a loop", "constraint"],
        ),
        (
            pin("ab", "/bodyset/a", "/bodyset/b", "q1") + pin("ba", "/bodyset/b", "/bodyset/a", "q2"),
            ["'a'", "'b'", "cycle", "does not reach ground"],
        ),
        (GROUND_A + pin("ga", "/bodyset/a", "/bodyset/b", "q"), ["two joints", "'ga'"]),
    ],
    ids=["child", "parent", "empty socket", "itself", "loop", "cycle", "joint twice"],
)
def test_impossible_tree(refused, joints, words):
    message = refused(document(TWO, joints), InvalidModel)
    for word in words:
        assert word in message


def test_offset_frames_on_each_other(refused):
    frames = (
        "<frames>"
        '<PhysicalOffsetFrame name="f"><socket_parent>../g</socket_parent></PhysicalOffsetFrame>'
        '<PhysicalOffsetFrame name="g"><socket_parent>../f</socket_parent></PhysicalOffsetFrame></frames>'
    )
    joint = pin("j", "f", "/bodyset/a", "q").replace("</PinJoint>", frames + "</PinJoint>")
    assert "placed on itself" in refused(document(GOOD, joint), InvalidModel)


# --- impossible parts ------------------------------------------------------------------------------------------------
def custom(axes: str) -> str:
    return (
        '<CustomJoint name="c"><socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/a'
        '</socket_child_frame><coordinates><Coordinate name="q"/></coordinates>'
        f"<SpatialTransform>{axes}</SpatialTransform></CustomJoint>"
    )


SPLINE = '<SimmSpline name="function"><x>{0}</x><y>{1}</y></SimmSpline>'


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("<coordinates>q</coordinates><axis>0 1 0</axis>", "parallel"),
        ("<coordinates>q</coordinates><axis>0 0 0</axis>", "axis is zero"),
        ("<coordinates>q</coordinates><axis>1 0</axis>", "must be 3 numbers"),
        ("<coordinates/><axis>1 0 0</axis>" + SPLINE.format("0 1", "0 1"), "takes 1 argument"),
        (
            "<coordinates>q</coordinates><axis>1 0 0</axis>" + SPLINE.format("0 1 2", "0 1"),
            "x has 3 values and y has 2",
        ),
        ("<coordinates>q</coordinates><axis>1 0 0</axis>" + SPLINE.format("1 0", "0 1"), "increase strictly"),
        ("<coordinates>q</coordinates><axis>1 0 0</axis>" + SPLINE.format("0 1", "0 NaN"), "NaN"),
    ],
    ids=["parallel", "zero", "two numbers", "no coordinate", "lengths", "order", "NaN"],
)
def test_impossible_axis(refused, axis, words):
    message = refused(document(GOOD, custom(f'<TransformAxis name="rotation1">{axis}</TransformAxis>')), InvalidModel)
    assert words in message
    assert "'c'" in message or "'rotation1'" in message or "'function'" in message


def force(element: str) -> str:
    return f"<ForceSet><objects>{element}</objects></ForceSet>"


def muscle(points: str = "", wraps: str = "", rest: str = "") -> str:
    return force(
        '<Thelen2003Muscle name="mus"><GeometryPath name="path">'
        f"<PathPointSet><objects>{points}</objects></PathPointSet><PathWrapSet><objects>{wraps}</objects></PathWrapSet>"
        f"</GeometryPath>{rest}</Thelen2003Muscle>"
    )


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (force('<Thelen2003Muscle name="mus"/>'), ["'mus'", "no path"]),
        (muscle(rest="<max_isometric_force>-5</max_isometric_force>"), ["'mus'", "max_isometric_force is -5"]),
        (muscle(rest="<optimal_fiber_length>0</optimal_fiber_length>"), ["'mus'", "optimal_fiber_length"]),
        (
            muscle('<PathPoint name="p"><socket_parent_frame>/bodyset/x</socket_parent_frame></PathPoint>'),
            ["'p'", "'x'"],
        ),
        (muscle(wraps='<PathWrap name="w"><wrap_object>ball</wrap_object></PathWrap>'), ["'mus'", "'ball'"]),
        (
            '<MarkerSet><objects><Marker name="k"><socket_parent_frame>/bodyset/x</socket_parent_frame></Marker>'
            "</objects></MarkerSet>",
            ["'k'", "'x'"],
        ),
        (
            '<ConstraintSet><objects><CoordinateCouplerConstraint name="cc"><coupled_coordinates_function>'
            "<Constant/></coupled_coordinates_function><dependent_coordinate_name>nope</dependent_coordinate_name>"
            "</CoordinateCouplerConstraint></objects></ConstraintSet>",
            ["'cc'", "'nope'"],
        ),
        (
            '<ConstraintSet><objects><CoordinateCouplerConstraint name="cc"/></objects></ConstraintSet>',
            ["'cc'", "no function"],
        ),
        ("<gravity>0 -9.8</gravity>", ["must be 3 numbers"]),
    ],
    ids=["no path", "force", "fibre", "point", "wrap", "marker", "coupler", "no function", "gravity"],
)
def test_impossible_part(refused, part, words):
    message = refused(document(GOOD, pin("j", "/ground", "/bodyset/a", "q"), part), InvalidModel)
    for word in words:
        assert word in message


def test_flag_and_coordinate_count(refused):
    locked = pin("j", "/ground", "/bodyset/a", "q").replace(
        'name="q"/>', 'name="q"><locked>perhaps</locked></Coordinate>'
    )
    assert "'perhaps' is neither true nor false" in refused(document(GOOD, locked), InvalidModel)
    few = pin("j", "/ground", "/bodyset/a", "q").replace("PinJoint", "UniversalJoint")
    assert "needs 2 coordinates and states 1" in refused(document(GOOD, few), InvalidModel)


# --- writing ---------------------------------------------------------------------------------------------------------
def test_writing_leaves_no_half_file(tmp_path):
    source = tmp_path / "m.osim"
    source.write_text(document())
    model = read_osim(source)
    with pytest.raises(InvalidFile, match="no folder"):
        write_osim(model, tmp_path / "absent" / "m.osim")
    with pytest.raises(InvalidFile, match="is a folder"):
        write_osim(model, tmp_path)
    before = source.read_bytes()
    broken = model.replace(carried=(Carried("", "<credits>"),))
    with pytest.raises(InvalidModel, match="carried XML"):
        write_osim(broken, source)
    assert source.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.osim"]
