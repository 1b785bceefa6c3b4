"""Classes of model files that real users have: small ones of our own, against what OpenSim 4.6 makes of them."""

from __future__ import annotations

import re

import pytest

import musculo
from musculo import Model, read_osim, write_osim
from support.document_agreement import ROUNDING, both, largest_difference
from support.opensim_process import ask

pytest.importorskip("opensim")


def agree(contents: dict, folder) -> dict:
    """Each document that OpenSim opens has the same mechanics here; {label: (model or error, OpenSim's answer)}."""
    answers = dict(zip(contents, both(contents.values(), folder), strict=True))
    for label, (model, theirs) in answers.items():
        if "error" not in theirs:
            assert isinstance(model, Model), (label, model)
            assert largest_difference(model, theirs) < ROUNDING, label
    return answers


# --- spellings of joints' frames, by version --------------------------------------------------------------------------
VERSIONS = (30501, 30502, 30503, 30504, 30505, 30507, 30508, 30509, 30510, 30512, 30514, 30516, 30517, 40000, 40600)
IN_CHILD = """<location_in_parent>0.1 0.2 0.3</location_in_parent><orientation_in_parent>0.1 0.2 0.3
    </orientation_in_parent><location_in_child>0.4 0.5 0.6</location_in_child><orientation_in_child>0.4 0.1 0.2
    </orientation_in_child>"""
OLDER = IN_CHILD.replace("_in_child", "")


def connectors(before: str, parent: str, child: str) -> str:
    return "<connectors>" + "".join(
        f'<Connector_PhysicalFrame_ name="{side}_{before}"><connectee_name>{name}</connectee_name>'
        "</Connector_PhysicalFrame_>"
        for side, name in (("parent", parent), ("child", child))
    ) + "</connectors>"  # fmt: skip


SPELLINGS = {
    "connectors to bodies": lambda parent, child: connectors("body", parent, child),
    "connectors to frames": lambda parent, child: connectors("frame", parent, child),
    **{
        tag: lambda parent, child, tag=tag: "".join(
            f"<{tag.format(side)}>{name}</{tag.format(side)}>" for side, name in (("parent", parent), ("child", child))
        )
        for tag in ("connector_{}_frame_connectee_name", "socket_{}_frame_connectee_name", "socket_{}_frame")
    },
}


def two_pins(version: int, sockets, offsets: str, paths: bool) -> str:
    """Ground, a and b in a row, with a set of joints."""
    ground, a, b = ("/ground", "/bodyset/a", "/bodyset/b") if paths else ("ground", "a", "b")
    joints = "".join(
        f'<PinJoint name="{name}">{sockets(parent, child)}{offsets}<coordinates><Coordinate name="{name}_q">'
        f'</Coordinate></coordinates></PinJoint>'
        for name, parent, child in (("first", ground, a), ("second", a, b))
    )  # fmt: skip
    bodies = "".join(
        f'<Body name="{name}"><mass>{mass}</mass><mass_center>0.1 0 0.3</mass_center><inertia>1 1.2 1.3 0 0 0'
        "</inertia></Body>"
        for name, mass in (("a", 1), ("b", 2))
    )
    return (
        f'<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects>{bodies}</objects></BodySet>'
        f"<JointSet><objects>{joints}</objects></JointSet></Model></OpenSimDocument>"
    )


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_frames_of_joints_in_every_version_between_3_and_4(spelling, tmp_path):
    documents = {
        (version, offsets, paths): two_pins(version, SPELLINGS[spelling], offsets, paths)
        for version in VERSIONS
        for offsets in (IN_CHILD, OLDER)
        for paths in (True, False)
    }
    answers = agree(documents, tmp_path)
    assert sum("error" not in theirs for _, theirs in answers.values()) >= 6
    for (version, _, paths), (model, theirs) in answers.items():
        if version >= 30505 and paths and "error" not in theirs:
            assert any("<location_in_parent> is not a property" in note.why for note in model.notes)


@pytest.mark.parametrize("offsets", [IN_CHILD, OLDER, OLDER + IN_CHILD], ids=["in child", "older", "both"])
def test_frames_of_joints_that_stand_in_their_bodies(offsets, tmp_path):
    def document(version):
        bodies = "".join(
            f'<Body name="{child}"><mass>1</mass><mass_center>0.1 0 0.3</mass_center><Joint><PinJoint name="j{child}">'
            f"<parent_body>{parent}</parent_body>{offsets}<CoordinateSet><objects><Coordinate name='q{child}'/>"
            "</objects></CoordinateSet></PinJoint></Joint></Body>"
            for parent, child in (("ground", "a"), ("a", "b"))
        )
        return (
            f'<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="ground"><mass>0'
            f"</mass></Body>{bodies}</objects></BodySet></Model></OpenSimDocument>"
        )

    versions = (10901, 20302, 30000, 30499, 30500)
    answers = agree({version: document(version) for version in versions}, tmp_path)
    assert not any("error" in theirs for _, theirs in answers.values())


def test_a_frame_that_opensim_does_not_find_is_noted(tmp_path):
    """A body by its mere name: OpenSim opens no such file since 30505; musculo does, and says so."""
    documents = {version: two_pins(version, SPELLINGS["socket_{}_frame"], "", False) for version in (30517, 40600)}
    for _, (model, theirs) in agree(documents, tmp_path).items():
        assert "Failed to connect Socket" in theirs["error"]
        assert any("OpenSim finds no frame by the path 'ground'; '/ground' is used" in note.why for note in model.notes)


# Old spellings of other things, and the version from which OpenSim passes over each.
def one_muscle(version: int, point: str) -> str:
    """A muscle from ground to a body on a slider, in the layout of 30501 to 30507, or since."""
    a = "/bodyset/a"
    sockets = SPELLINGS["connectors to frames" if version < 30508 else "socket_{}_frame"]("/ground", a)
    coordinate = "<Coordinate name='x'><default_value>0.7</default_value></Coordinate>"
    held = (
        "<CoordinateSet><objects>{}</objects></CoordinateSet>" if version < 30507 else "<coordinates>{}</coordinates>"
    )
    return (
        f'<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="a"><mass>1</mass>'
        f'<inertia>1 1 1 0 0 0</inertia><inertia_xx>7</inertia_xx></Body></objects></BodySet><JointSet><objects>'
        f'<SliderJoint name="j">{sockets}{held.format(coordinate)}</SliderJoint></objects></JointSet>'
        f'<ForceSet><objects><PathActuator name="f"><GeometryPath name="path"><PathPointSet><objects>'
        f"<PathPoint name='p'>{connectors_of('parent_frame', '/ground', version)}<location>0 0.2 0</location>"
        f"</PathPoint>{point}"
        "</objects></PathPointSet></GeometryPath></PathActuator></objects></ForceSet></Model></OpenSimDocument>"
    )  # fmt: skip


def connectors_of(socket: str, path: str, version: int) -> str:
    if version >= 30508:
        return f"<socket_{socket}>{path}</socket_{socket}>"
    return (
        f'<connectors><Connector_PhysicalFrame_ name="{socket}"><connectee_name>{path}</connectee_name>'
        "</Connector_PhysicalFrame_></connectors>"
    )


def test_points_in_every_version_between_3_and_4(tmp_path):
    """`<body>` and `<coordinate>` of points count before 30505, `<connectors>` before 30508, `inertia_xx` not here."""
    documents = {}
    for version in VERSIONS:
        at = connectors_of("parent_frame", "/bodyset/a", version)
        place = "<location>0 0 0.3</location>"
        documents["plain", version] = one_muscle(version, f'<PathPoint name="r">{at}{place}</PathPoint>')
        documents["body", version] = one_muscle(version, f'<PathPoint name="r"><body>a</body>{place}</PathPoint>')
        documents["conditional", version] = one_muscle(
            version,
            f'<ConditionalPathPoint name="c">{at}<coordinate>x</coordinate><range>0.5 0.9</range><location>0 1 0'
            f'</location></ConditionalPathPoint><PathPoint name="r">{at}{place}</PathPoint>',
        )
    answers = agree(documents, tmp_path)
    opened: dict = {kind: [] for kind, _ in documents}
    for (kind, version), (_, theirs) in answers.items():
        opened[kind] += [] if "error" in theirs else [version]
    assert opened["plain"] == list(VERSIONS)
    assert len(opened["body"]) >= 4
    assert len(opened["conditional"]) >= 4
    unheard = answers["conditional", 40600][0]
    assert any("names no coordinate" in note.why for note in unheard.notes)


# --- axes with an empty function --------------------------------------------------------------------------------------
FUNCTIONS = {
    "none": "",
    "empty": "<function/>",
    "blank": "<function> </function>",
    "empty and one beside it": '<function/><Constant name="function"><value>0.4</value></Constant>',
    "a linear one without coefficients": "<function><LinearFunction/></function>",
    "by its name": '<LinearFunction name="function"><coefficients>2 0.3</coefficients></LinearFunction>',
    "without a name": "<LinearFunction><coefficients>2 0.3</coefficients></LinearFunction>",
    "by another name": '<LinearFunction name="other"><coefficients>2 0.3</coefficients></LinearFunction>',
    "two": "<function><Constant><value>0.4</value></Constant><Constant><value>0.8</value></Constant></function>",
}


def axes(version: int, function: str, coordinates: tuple[str, str]) -> str:
    transform = "<SpatialTransform>" + "".join(
        f'<TransformAxis name="{name}"><coordinates>{driver}</coordinates><axis>1 0 0</axis>{function}</TransformAxis>'
        for name, driver in zip(("rotation1", "translation1"), coordinates, strict=True)
    ) + "</SpatialTransform>"  # fmt: skip
    held = "".join(
        f'<Coordinate name="{name}"><default_value>{value}</default_value></Coordinate>'
        for name, value in (("q", 0.2), ("p", 0.3))
    )
    mass = "<mass>1</mass><mass_center>0.1 0.2 0.3</mass_center>"
    if version < 30501:
        return (
            f'<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="ground"/>'
            f'<Body name="b">{mass}<Joint><CustomJoint name="j"><parent_body>ground</parent_body><CoordinateSet>'
            f"<objects>{held}</objects></CoordinateSet>{transform}</CustomJoint></Joint></Body></objects></BodySet></Model>"
            "</OpenSimDocument>"
        )
    return (
        f'<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="b">{mass}</Body></objects>'
        '</BodySet><JointSet><objects><CustomJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>'
        f"<socket_child_frame>/bodyset/b</socket_child_frame><coordinates>{held}</coordinates>{transform}</CustomJoint>"
        "</objects></JointSet></Model></OpenSimDocument>"
    )


@pytest.mark.parametrize("version", [10901, 20302, 30000, 30517, 40600])
def test_axis_with_an_empty_function(version, tmp_path):
    drivers = (("q", "p"), ("q", "q"), ("q", ""))
    documents = {
        (label, named): axes(version, function, named)
        for label, function in FUNCTIONS.items()
        for named in drivers
        if named[1] or "linear" not in label  # OpenSim reads a number beyond the end of what a linear function is given
    }
    documents = {k: v for k, v in documents.items() if k[1][1] or k[0] in ("none", "empty", "blank", "by another name")}
    answers = agree(documents, tmp_path)
    assert not any("error" in theirs for _, theirs in answers.values())


def test_empty_function_of_two_coordinates_is_refused_by_both(tmp_path):
    ((error, theirs),) = both([axes(40600, "<function/>", ("q", "q p"))], tmp_path)
    assert "multiple coordinates but no function" in theirs["error"]
    assert "its <function> is empty and it names 2 coordinates" in str(error)


# Functions that state less than they could.
SPARSE = {
    "a slope alone": "<LinearFunction><coefficients>2</coefficients></LinearFunction>",
    "a line": "<LinearFunction/>",
    "a polynomial": "<PolynomialFunction/>",
    "a polynomial of one": "<PolynomialFunction><coefficients>0.4</coefficients></PolynomialFunction>",
    "a constant": "<Constant/>",
    "a sine": "<Sine/>",
    "a step": "<StepFunction/>",
    "a scaled line": "<MultiplierFunction><function><LinearFunction/></function></MultiplierFunction>",
}


def test_functions_that_state_little(tmp_path):
    documents = {label: axes(40600, f"<function>{text}</function>", ("q", "p")) for label, text in SPARSE.items()}
    answers = agree(documents, tmp_path)
    assert not any("error" in theirs for _, theirs in answers.values())


def prescribed(sets: str) -> str:
    force = f'<PrescribedForce name="f"><socket_frame>/bodyset/a</socket_frame>{sets}</PrescribedForce>'
    return document(BodySet=A, JointSet=JA, ForceSet=force)


def test_functions_of_prescribed_forces_are_three(tmp_path):
    """OpenSim opens neither two nor four; a set without a name would be all three sets at once."""
    one = "<Constant><value>1</value></Constant>"
    named = {n: f'<FunctionSet name="forceFunctions"><objects>{one * n}</objects></FunctionSet>' for n in (0, 2, 3, 4)}
    for n, (model, theirs) in zip(named, both([prescribed(text) for text in named.values()], tmp_path), strict=True):
        assert isinstance(model, Model) == (n in (0, 3))
        assert ("error" not in theirs) == (n in (0, 3))
    for odd in (
        f"<FunctionSet><objects>{one * 3}</objects></FunctionSet>",
        f"<forceFunctions><objects>{one * 3}</objects></forceFunctions>",
    ):
        (tmp_path / "odd.osim").write_text(prescribed(odd))
        with pytest.raises(musculo.errors.InvalidModel, match="forceFunctions"):
            read_osim(tmp_path / "odd.osim")


def test_forces_on_no_coordinate_are_noted(tmp_path):
    there, lost = (
        f'<CoordinateActuator name="f"><coordinate>{name}</coordinate></CoordinateActuator>' for name in ("qa", "lost")
    )
    documents = [document(BodySet=A, JointSet=JA, ForceSet=force) for force in (there, lost)]
    (good, opened), (bad, refused) = both(documents, tmp_path)
    assert "error" not in opened
    assert "error" in refused
    assert [any("no coordinate" in note.why for note in model.notes) for model in (good, bad)] == [False, True]


def test_a_reversed_joint_without_frames_is_refused_by_both(tmp_path):
    """In these versions neither program looks for bodies in connectors."""
    text = two_pins(30510, SPELLINGS["connectors to bodies"], "<reverse>true</reverse>", True)
    ((error, theirs),) = both([text], tmp_path)
    assert "error" in theirs
    assert "names no frame" in str(error)


# --- bytes that are no text in the declared encoding ------------------------------------------------------------------
ENCODED = {
    "a dash of Windows": (b'<?xml version="1.0" encoding="UTF-8" ?>', b"\x96"),
    "without a header": (b"", b"\xe9"),
    "Latin-1": (b'<?xml version="1.0" encoding="ISO-8859-1"?>', b"\xe9\x96"),
    "ASCII": (b'<?xml version="1.0" encoding="US-ASCII"?>', b"\xe9"),
    "unknown": (b'<?xml version="1.0" encoding="foo"?>', b"\xe9"),
    "with a mark": (b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>', b"\x96"),
    "UTF-16 that is not": (b'<?xml version="1.0" encoding="UTF-16"?>', b"x"),
    "a control character": (b'<?xml version="1.0" encoding="UTF-8"?>', b"\x0b"),
    "an ampersand": (b'<?xml version="1.0" encoding="UTF-8"?>', b"&"),
    "a comment": (b'<?xml version="1.0" encoding="UTF-8"?>', b"<!-- a -- b -->"),
    "a line before the first": (b'\n<?xml version="1.0" encoding="UTF-8"?>', b"x"),
}


def test_bytes_that_are_no_text_in_the_declared_encoding(tmp_path):
    plain = two_pins(40600, SPELLINGS["socket_{}_frame"], "", True).encode()
    documents = {
        label: header + plain.replace(b"<BodySet>", b"<credits>who" + odd + b"</credits><BodySet>")
        for label, (header, odd) in ENCODED.items()
    }
    answers = agree(documents, tmp_path)
    for label, (model, theirs) in answers.items():
        assert "error" not in theirs, label
        assert bool(model.notes) == (label != "Latin-1")


def test_names_with_such_bytes_are_found_by_what_refers_to_them(tmp_path):
    plain = two_pins(40600, SPELLINGS["socket_{}_frame"], "", True).encode()
    odd = plain.replace(b'name="b"', b'name="b\x96c"').replace(b"/bodyset/b", b"/bodyset/b\x96c")
    ((model, theirs),) = both([b'<?xml version="1.0" encoding="UTF-8" ?>' + odd], tmp_path)
    strange = next(path for path in theirs["bodies"] if path != "/bodyset/a")
    assert model.body_names == ("a", "b\u2013c")
    assert largest_difference(model, theirs, {strange: "b\u2013c"}) < ROUNDING


# --- inertias that no body can have -----------------------------------------------------------------------------------
def test_negative_moments_of_inertia(tmp_path):
    plain = two_pins(40600, SPELLINGS["socket_{}_frame"], "", True)
    documents = {
        inertia: plain.replace("1 1.2 1.3 0 0 0", inertia)
        for inertia in ("-1 1.2 1.3 0 0 0", "1 1.2 -0.01 0 0 0", "1 1.2 1.3 5 0 0", "-1 -1 -1 0 0 0")
    }
    for _, (model, theirs) in agree(documents, tmp_path).items():
        assert "error" not in theirs
        assert sum("negative moment" in note.why for note in model.notes) == 2


# --- coordinates of one name in several joints ------------------------------------------------------------------------
def body(name: str, mass: float = 1.0, inside: str = "") -> str:
    return (
        f'<Body name="{name}">{inside}<mass>{mass}</mass><mass_center>0.1 0.2 0.3</mass_center><inertia>1 1.1 1.2 0 0 0'
        "</inertia></Body>"
    )


def pin(name: str, parent: str, child: str, coordinate: str, value: float = 0.3) -> str:
    """A pin in an offset frame of its parent."""
    return (
        f'<PinJoint name="{name}"><socket_parent_frame>at</socket_parent_frame><socket_child_frame>{child}'
        f'</socket_child_frame><coordinates><Coordinate name="{coordinate}"><default_value>{value}</default_value>'
        f'</Coordinate></coordinates><frames><PhysicalOffsetFrame name="at"><socket_parent>{parent}</socket_parent>'
        "<translation>0.1 0.2 0.3</translation></PhysicalOffsetFrame></frames></PinJoint>"
    )


def path_of(
    name: str, points: str = "", kind: str = "PathActuator", rest: str = "", ends=("/ground", "/bodyset/a")
) -> str:
    first, last = (
        f'<PathPoint name="{label}"><socket_parent_frame>{frame}</socket_parent_frame><location>{place}'
        "</location></PathPoint>"
        for label, frame, place in (("first", ends[0], "0.3 0.2 0"), ("last", ends[1], "0.1 0.1 0.1"))
    )
    return (
        f'<{kind} name="{name}"><GeometryPath name="path"><PathPointSet><objects>{first}{points}{last}</objects>'
        f"</PathPointSet></GeometryPath>{rest}</{kind}>"
    )


def document(components: str = "", **sets: str) -> str:
    held = "".join(f"<{tag}><objects>{members}</objects></{tag}>" for tag, members in sets.items())
    return (
        f'<OpenSimDocument Version="40600"><Model name="m"><components>{components}</components>{held}</Model>'
        "</OpenSimDocument>"
    )


def three_in_a_row(order=("ja", "jb", "jc"), **sets: str) -> str:
    """Joints ja and jb have a coordinate q each, jc has r."""
    joints = {
        "ja": pin("ja", "/ground", "/bodyset/a", "q"),
        "jb": pin("jb", "/bodyset/a", "/bodyset/b", "q", 0.5),
        "jc": pin("jc", "/bodyset/b", "/bodyset/c", "r", 0.1),
    }
    return document(BodySet="".join(map(body, "abc")), JointSet="".join(joints[name] for name in order), **sets)


def conditional(joint: str) -> str:
    return (
        '<ConditionalPathPoint name="c"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>0.2 0.5 0'
        f"</location><socket_coordinate>/jointset/{joint}/q</socket_coordinate><range>0.4 0.6</range>"
        "</ConditionalPathPoint>"
    )


def moving(joint: str) -> str:
    axes = "".join(
        f"<socket_{axis}_coordinate>/jointset/{joint}/q</socket_{axis}_coordinate><{axis}_location><LinearFunction>"
        f"<coefficients>1 0.1</coefficients></LinearFunction></{axis}_location>"
        for axis in "xyz"
    )
    return f'<MovingPathPoint name="m"><socket_parent_frame>/bodyset/a</socket_parent_frame>{axes}</MovingPathPoint>'


SAME_NAMES = {
    f"{kind.__name__} {joint}": three_in_a_row(ForceSet=path_of("f", kind(joint)))
    for kind in (conditional, moving)
    for joint in ("ja", "jb")
}
OWN_NAMES = {"/jointset/ja/q": "ja/q", "/jointset/jb/q": "jb/q"}


def test_coordinates_of_one_name_in_several_joints(tmp_path):
    """Points go by path; before and after musculo writes the file."""
    for label, (model, theirs) in zip(SAME_NAMES, both(SAME_NAMES.values(), tmp_path), strict=True):
        assert model.coordinate_names == ("ja/q", "jb/q", "r"), label
        assert largest_difference(model, theirs, OWN_NAMES) < ROUNDING, label
        assert sum("other joints have one of this name" in note.why for note in model.notes) == 2
        copy = tmp_path / "copy.osim"
        assert write_osim(model, copy) == ()
        ((again, rewritten),) = both([copy.read_bytes()], tmp_path)
        assert sorted(rewritten["coordinates"]) == sorted(theirs["coordinates"])
        assert largest_difference(again, rewritten, OWN_NAMES) < ROUNDING
        assert largest_difference(model, rewritten, OWN_NAMES) < ROUNDING


def test_coordinates_without_a_name(tmp_path):
    """OpenSim calls them _coord_0 and so on, in every joint."""
    plain = three_in_a_row()
    nameless = re.sub("<coordinates>.*?</coordinates>", "", plain)
    ((model, theirs),) = both([nameless], tmp_path)
    own = {path: path.removeprefix("/jointset/") for path in theirs["coordinates"]}
    assert sorted(own.values()) == ["ja/_coord_0", "jb/_coord_0", "jc/_coord_0"]
    assert largest_difference(model, theirs, own) < ROUNDING


def coupler(independent: str, dependent: str) -> str:
    return (
        '<CoordinateCouplerConstraint name="c"><coupled_coordinates_function><LinearFunction><coefficients>2 0.1'
        f"</coefficients></LinearFunction></coupled_coordinates_function><independent_coordinate_names>{independent}"
        f"</independent_coordinate_names><dependent_coordinate_name>{dependent}</dependent_coordinate_name>"
        "</CoordinateCouplerConstraint>"
    )


@pytest.mark.parametrize(("order", "first"), [(("ja", "jb", "jc"), "ja/q"), (("jb", "jc", "ja"), "jb/q")])
def test_by_name_alone_the_first_is_meant(order, first, tmp_path):
    """OpenSim assembles the dependent coordinate from the first of that name in the set of joints."""
    file = tmp_path / "m.osim"
    file.write_text(three_in_a_row(order, ConstraintSet=coupler("q", "r")))
    model = read_osim(file)
    assert model.constraints[0].independents == (first,)
    assert any(f"the first, {first!r}, is meant" in note.why for note in model.notes)
    ((theirs,),) = (ask("opensim_documents", [["assembled", str(file)]], tmp_path),)
    start = {path: value for path, value in theirs.items() if path.endswith("/q")}
    assert theirs["/jointset/jc/r"] == pytest.approx(2.0 * start[f"/jointset/{first}"] + 0.1, abs=1e-9)


# --- parts of the model in <components> -------------------------------------------------------------------------------
A, JA = body("a"), pin("ja", "/ground", "/bodyset/a", "qa")
MARKER = '<Marker name="mk"><socket_parent_frame>{}</socket_parent_frame><location>1 2 3</location></Marker>'
MUSCLE = path_of("mu", kind="Thelen2003Muscle")
LAW = "<resting_length>0.1</resting_length><stiffness>100</stiffness><dissipation>0</dissipation>"
SPRING = path_of("sp", kind="PathSpring", rest=LAW)


def inside(what: str) -> str:
    return f"<components>{what}</components>"


COMPONENTS = {
    "a body and its joint": document(body("b", 2) + pin("jb", "/bodyset/a", "/b", "qb"), BodySet=A, JointSet=JA),
    "a body": document(body("b", 2), BodySet=A, JointSet=JA + pin("jb", "/bodyset/a", "/b", "qb")),
    "a body by a relative path": document(
        body("b"), BodySet=A, JointSet=JA + pin("jb", "../../../bodyset/a", "../../b", "qb")
    ),
    "a free body": document(body("b", 2), BodySet=A, JointSet=JA),
    "a body in a body": document(
        BodySet=body("a", inside=inside(body("b", 2))), JointSet=JA + pin("jb", "/bodyset/a", "/bodyset/a/b", "qb")
    ),
    "a joint in its body": document(BodySet=body("a", inside=inside(pin("ja", "/ground", "..", "qa")))),
    "a muscle": document(MUSCLE, BodySet=A, JointSet=JA),
    "a muscle in a body": document(BodySet=body("a", inside=inside(MUSCLE)), JointSet=JA),
    "a muscle in a body in the components": document(body("x", inside=inside(MUSCLE)), BodySet=A, JointSet=JA),
    "a muscle in a joint": document(BodySet=A, JointSet=JA.replace("<coordinates>", inside(MUSCLE) + "<coordinates>")),
    "a muscle on a frame of a body": document(
        body("b", inside=inside('<PhysicalOffsetFrame name="f"><socket_parent>..</socket_parent><translation>0 1 0'
        "</translation></PhysicalOffsetFrame>")) + path_of("mu", ends=("/ground", "/b/f")), BodySet=A, JointSet=JA
    ),
    "a spring": document(SPRING, BodySet=A, JointSet=JA),
    "a marker": document(MARKER.format("/bodyset/a"), BodySet=A, JointSet=JA),
    "a marker in its body": document(BodySet=body("a", inside=inside(MARKER.format(".."))), JointSet=JA),
    "a ComponentSet": document(
        ComponentSet=body("b", 2) + MUSCLE, BodySet=A, JointSet=JA + pin("jb", "/bodyset/a", "/componentset/b", "qb")
    ),
}  # fmt: skip


def test_parts_of_the_model_in_components(tmp_path):
    """Poses, mass matrices, lengths and markers, before and after musculo writes the file."""
    answers = agree(COMPONENTS, tmp_path)
    copies = {}
    for label, (model, theirs) in answers.items():
        assert "error" not in theirs, (label, theirs)
        assert any("stands in <components>" in note.why for note in model.notes), label
        copy = tmp_path / "copy.osim"
        assert write_osim(model, copy) == (), label
        copies[label] = copy.read_bytes()
    for label, (again, rewritten) in agree(copies, tmp_path).items():
        assert "error" not in rewritten, (label, rewritten)
        assert largest_difference(answers[label][0], rewritten) < ROUNDING, label
        assert not any("stands in <components>" in note.why for note in again.notes)


def test_a_name_that_its_set_has_too_gets_another(tmp_path):
    other = path_of("mu", kind="Thelen2003Muscle", ends=("/bodyset/a", "/ground"))
    documents = [
        document(body("a", 2), BodySet=A, JointSet=JA + pin("jb", "/bodyset/a", "/a", "qb")),
        document(MUSCLE, BodySet=A, JointSet=JA, ForceSet=other),
    ]
    (bodies, first), (muscles, second) = both(documents, tmp_path)
    assert bodies.body_names == ("a", "a_2")
    assert largest_difference(bodies, first, {"/a": "a_2"}) < ROUNDING
    assert muscles.muscle_names == ("mu", "mu_2")
    assert largest_difference(muscles, second, {"/mu": "mu_2"}) < ROUNDING
    assert any("under another name" in note.why for note in muscles.notes)


FLOOR = """<ContactHalfSpace name="floor"><socket_frame>/ground</socket_frame><location>0 0.1 0</location><orientation>
    0 0 -1.5707963267948966</orientation></ContactHalfSpace>"""
BALL = """<ContactSphere name="ball"><socket_frame>/bodyset/a</socket_frame><location>0.3 0 0</location><radius>0.2
    </radius></ContactSphere>"""
HERTZ = """<HuntCrossleyForce name="hc"><HuntCrossleyForce::ContactParametersSet name="contact_parameters"><objects>
    <HuntCrossleyForce::ContactParameters><geometry>ball floor</geometry><stiffness>1e5</stiffness><dissipation>0
    </dissipation></HuntCrossleyForce::ContactParameters></objects></HuntCrossleyForce::ContactParametersSet>
    </HuntCrossleyForce>"""
SMOOTH = """<SmoothSphereHalfSpaceForce name="sm"><socket_sphere>{0}/ball</socket_sphere><socket_half_space>{0}/floor
    </socket_half_space><stiffness>1e5</stiffness></SmoothSphereHalfSpaceForce>"""
BUSHING = """<BushingForce name="bu"><socket_frame1>f</socket_frame1><socket_frame2>/bodyset/a</socket_frame2><frames>
    <PhysicalOffsetFrame name="f"><socket_parent>/ground</socket_parent><translation>0.2 0 0</translation>
    </PhysicalOffsetFrame></frames><rotational_stiffness>1 2 3</rotational_stiffness><translational_stiffness>10 20 30
    </translational_stiffness></BushingForce>"""
# {label: (what stands in the components, the same in its sets)}
ACTING = {
    "a spring": (SPRING, {"ForceSet": SPRING}),
    "a bushing": (BUSHING, {"ForceSet": BUSHING}),
    "a contact": (FLOOR + BALL + HERTZ, {"ContactGeometrySet": FLOOR + BALL, "ForceSet": HERTZ}),
    "a contact by sockets": (
        FLOOR + BALL + SMOOTH.format(""),
        {"ContactGeometrySet": FLOOR + BALL, "ForceSet": SMOOTH.format("/contactgeometryset")},
    ),
}


@pytest.mark.parametrize("case", ACTING)
def test_forces_in_components_act(case, tmp_path):
    """OpenSim's accelerations with a force in the components are those with it in its set, and ours."""
    components, sets = ACTING[case]
    bodies = {"BodySet": A, "JointSet": JA}
    documents = (document(components, **bodies), document(**bodies, **sets), document(**bodies))
    files = []
    for k, content in enumerate(documents):
        files.append(tmp_path / f"{k}.osim")
        files[-1].write_text(content)
    there, in_set, without = (
        answer["/jointset/ja/qa"]
        for answer in ask("opensim_documents", [["accelerations", str(file)] for file in files], tmp_path)
    )
    assert there == in_set
    assert abs(there - without) > 0.1
    model = read_osim(files[0])
    tau = musculo.model_forces(model, [0.3], [0.0]).tau
    assert musculo.forward_dynamics(model, [0.3], [0.0], tau).item() == pytest.approx(there, rel=1e-8)


def test_constraints_in_components_are_enforced(tmp_path):
    """OpenSim's accelerations obey the coupler; its initial pose is assembled for members of the ConstraintSet only."""
    file = tmp_path / "m.osim"
    joints = JA + pin("jb", "/bodyset/a", "/bodyset/b", "qb", 0.7)
    file.write_text(document(coupler("qa", "qb"), BodySet=A + body("b"), JointSet=joints))
    (theirs,) = ask("opensim_documents", [["accelerations", str(file)]], tmp_path)
    model = read_osim(file)
    assert model.independent_coordinate_names == ("qa",)
    q = musculo.embedding_of(model).coordinates([0.3])
    ours = musculo.forward_dynamics(model, q, [0.0, 0.0], [0.0, 0.0])
    assert ours == pytest.approx([theirs["/jointset/ja/qa"], theirs["/jointset/jb/qb"]], abs=1e-8)
    assert ours[1] == pytest.approx(2.0 * ours[0])
