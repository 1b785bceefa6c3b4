"""Documents of old versions mean what OpenSim 4.6 makes of them."""

from __future__ import annotations

import pytest
from lxml import etree

from musculo.functions import Constant, Linear, SimmSpline
from musculo.io import read_osim, write_osim
from musculo.model.body import Placement
from musculo.model.model_constraint import PointConstraint, WeldConstraint
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint

GROUND_BODY = '<Body name="ground"><mass>0</mass><Joint/></Body>'


def old_body(name: str, parent: str, joint: str = "PinJoint", inside: str = "", extra: str = "") -> str:
    return f"""<Body name="{name}"><mass>2</mass><mass_center>0.123456789 0 0</mass_center>
        <inertia_xx>0.123456789</inertia_xx><inertia_yy>0.2</inertia_yy><inertia_zz>0.3</inertia_zz>
        <Joint><{joint} name="{name}_joint"><parent_body> {parent} </parent_body>
        <location_in_parent>0.123456789 0 0</location_in_parent>
        <orientation_in_parent>1.570796327 0 0</orientation_in_parent>
        <location>0 0.987654321 0</location><orientation>0 0 0</orientation>
        <CoordinateSet><objects><Coordinate name="q_{name}"><motion_type>rotational</motion_type>
        <initial_value>3</initial_value><range>-1 1</range></Coordinate></objects></CoordinateSet>{inside}
        </{joint}></Joint>{extra}</Body>"""


def old(rest: str = "", bodies: str | None = None, version: int = 30000, head: str = "") -> str:
    bodies = old_body("a", "ground") + old_body("b", "a") if bodies is None else bodies
    return (
        f'<OpenSimDocument Version="{version}"><Model name="m">{head}'
        f"<BodySet><objects>{GROUND_BODY}{bodies}</objects></BodySet>{rest}</Model></OpenSimDocument>"
    )


@pytest.fixture
def read(tmp_path):
    def from_text(content: str, **options):
        file = tmp_path / "m.osim"
        file.write_text(content)
        return read_osim(file, **options)

    return from_text


# --- bodies and joints -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [10901, 20001, 30000, 30499])
def test_joints_leave_their_bodies(read, version):
    model = read(old(version=version))
    assert model.body_names == ("a", "b")
    assert model.joint_names == ("a_joint", "b_joint")
    assert model.coordinate_names == ("q_a", "q_b")
    assert model.joint("b_joint").parent == Placement("a", (0.123456789, 0, 0), (1.570796327, 0, 0), "a_offset")
    assert model.joint("b_joint").child == Placement("b", (0, 0.987654321, 0), (0, 0, 0), "b_offset")
    assert model.joint("a_joint").parent.body == "ground"
    assert model.body("a").inertia == (0.123456789, 0.2, 0.3, 0, 0, 0)
    assert model.coordinate("q_a").range == (-1, 1)


def test_rounding_repeats_what_opensim_prints(read):
    model = read(old(), opensim_rounding=True)
    joint = model.joint("b_joint")
    assert joint.parent.translation == (0.123457, 0, 0)
    assert joint.parent.orientation == (1.5708, 0, 0)
    assert joint.child.translation == (0, 0.987654, 0)
    assert model.body("a").inertia[0] == 0.123457
    assert model.body("a").mass_center == (0.123456789, 0, 0)  # not printed on the way


def test_missing_inertia_of_an_old_body_is_one(read):
    body = old_body("a", "ground")
    for tag in ("inertia_xx", "inertia_yy", "inertia_zz"):
        body = body.replace(body[body.index(f"<{tag}>") : body.index(f"</{tag}>") + len(tag) + 3], "")
    assert read(old(bodies=body)).body("a").inertia == (1, 1, 1, 0, 0, 0)


def test_reverse_swaps_parent_and_child(read):
    reversed_joint = old_body("b", "a", inside="<reverse>true</reverse>")
    joint = read(old(bodies=old_body("a", "ground") + reversed_joint)).joint("b_joint")
    assert (joint.parent.body, joint.child.body) == ("b", "a")
    assert joint.parent.translation == (0, 0.987654321, 0)


def test_unnamed_joints_are_named_after_their_class(read):
    bodies = (
        (old_body("a", "ground") + old_body("b", "a"))
        .replace('name="a_joint"', "")
        .replace('name="b_joint"', 'name=""')
    )
    assert read(old(bodies=bodies)).joint_names == ("pinjoint", "pinjoint_0")


def test_ground_keeps_wraps_and_loses_its_joint(read):
    wrap = '<WrapObjectSet><objects><WrapSphere name="s"><radius>0.1</radius></WrapSphere></objects></WrapObjectSet>'
    content = old().replace(GROUND_BODY, GROUND_BODY.replace("</Body>", wrap + "</Body>"))
    (sphere,) = read(content).wrap_objects
    assert (sphere.frame, sphere.radius) == ("ground", 0.1)


def test_joint_set_with_connectors_and_locations(read):
    """Between 30501 and 30505 joints stand in their own set and still hold locations."""
    joint = (
        '<PinJoint name="j"><connectors><Connector_PhysicalFrame_ name="parent_frame"><connectee_name>ground'
        '</connectee_name></Connector_PhysicalFrame_><Connector_PhysicalFrame_ name="child_frame"><connectee_name>a'
        "</connectee_name></Connector_PhysicalFrame_></connectors><location_in_parent>1 2 3</location_in_parent>"
        '<CoordinateSet><objects><Coordinate name="q"/></objects></CoordinateSet></PinJoint>'
    )
    content = (
        '<OpenSimDocument Version="30502"><Model name="m"><BodySet><objects><Body name="a"><mass>1</mass>'
        f"<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet><JointSet><objects>{joint}</objects></JointSet>"
        "</Model></OpenSimDocument>"
    )
    joint = read(content).joint("j")
    assert joint.parent == Placement("ground", (1, 2, 3), (0, 0, 0), "ground_offset")
    assert joint.child.body == "a"


@pytest.mark.parametrize("spelling", ["connector_{}_connectee_name", "socket_{}_connectee_name", "socket_{}"])
def test_spellings_of_sockets(read, spelling):
    sockets = "".join(
        f"<{spelling.format(name)}>{path}</{spelling.format(name)}>"
        for name, path in (("parent_frame", "/ground"), ("child_frame", "../../bodyset/a"))
    )
    content = (
        '<OpenSimDocument Version="30509"><Model name="m"><BodySet><objects><Body name="a"><mass>1</mass>'
        f'<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet><JointSet><objects><WeldJoint name="j">{sockets}'
        "</WeldJoint></objects></JointSet></Model></OpenSimDocument>"
    )
    joint = read(content).joint("j")
    assert (joint.parent, joint.child) == (Placement("ground"), Placement("a"))


def test_frame_set_becomes_frames_of_the_model(read):
    frames = (
        '<FrameSet><objects><PhysicalOffsetFrame name="f"><socket_parent>/bodyset/a</socket_parent>'
        "<translation>1 0 0</translation></PhysicalOffsetFrame></objects></FrameSet>"
        '<MarkerSet><objects><Marker name="k"><socket_parent_frame>/f</socket_parent_frame></Marker></objects>'
        "</MarkerSet>"
    )
    model = read(old(frames))
    assert model.placement("/f") == Placement("a", (1, 0, 0), (0, 0, 0), "f")
    assert model.marker("k").frame == "/f"


# --- forces ----------------------------------------------------------------------------------------------------------
def old_muscle(points: str, rest: str = "", kind: str = "Thelen2003Muscle", path: str = "GeometryPath") -> str:
    inner = f"<PathPointSet><objects>{points}</objects></PathPointSet>"
    inner = f"<{path}>{inner}</{path}>" if path else inner
    return f'<ForceSet><objects><{kind} name="mus">{inner}{rest}</{kind}></objects></ForceSet>'


POINT = '<PathPoint name="p"><body> a </body><location>1 2 3</location></PathPoint>'


def test_renamed_muscle_of_the_first_layout(read):
    points = (
        '<MusclePoint name="p1"><body>a</body><location>1 2 3</location></MusclePoint>'
        '<MuscleViaPoint name="p2"><body>b</body><coordinates>q_a</coordinates><range>-1 0</range></MuscleViaPoint>'
        '<MovingMusclePoint name="p3"><body>b</body><XAttachment><natCubicSpline><x>0 1</x><y>0 2</y></natCubicSpline>'
        "</XAttachment><x_coordinate>q_b</x_coordinate></MovingMusclePoint>"
    )
    content = old(old_muscle(points, "<pennation_angle>0.2</pennation_angle>", "Schutte1993Muscle", ""), version=20001)
    content = content.replace("PathPointSet", "MusclePointSet").replace("ForceSet", "ActuatorSet")
    muscle = read(content).muscle("mus")
    assert muscle.kind == "Schutte1993Muscle_Deprecated"
    assert muscle.pennation_angle_at_optimal == 0.2
    first, second, third = muscle.path.points
    assert (first.frame, first.location) == ("a", (1, 2, 3))
    assert isinstance(second, ConditionalPathPoint)
    assert (second.coordinate, second.range) == ("q_a", (-1, 0))
    assert isinstance(third, MovingPathPoint)
    assert (third.x, third.x_coordinate, third.y) == (SimmSpline((0, 1), (0, 2)), "q_b", Constant(0))


def test_renamed_actuators(read):
    forces = (
        '<ActuatorSet><objects><GeneralizedForce name="g"><coordinate>q_a</coordinate></GeneralizedForce>'
        '<Force name="f"/><Torque name="t"/></objects></ActuatorSet>'
    )
    kinds = [f.kind for f in read(old(forces, version=10905)).forces]
    assert kinds == ["CoordinateActuator", "PointActuator", "TorqueActuator"]


def new_muscle(rest: str, version: int) -> str:
    """A muscle from ground to a free body, in the layout since 30517."""
    points = "".join(
        f'<PathPoint name="{name}"><socket_parent_frame>{frame}</socket_parent_frame><location>1 0 0</location>'
        "</PathPoint>"
        for name, frame in (("first", "/ground"), ("second", "/bodyset/a"))
    )
    return (
        f'<OpenSimDocument Version="{version}"><Model name="m"><BodySet><objects><Body name="a"><mass>1</mass></Body>'
        f'</objects></BodySet><ForceSet><objects><Thelen2003Muscle name="mus">{rest}<GeometryPath name="path">'
        f"<PathPointSet><objects>{points}</objects></PathPointSet></GeometryPath></Thelen2003Muscle></objects></ForceSet>"
        "</Model></OpenSimDocument>"
    )


@pytest.mark.parametrize(("version", "least"), [(30000, 0.01), (40000, 0.0)])
def test_lowest_control_of_zero_means_not_stated_in_old_files(read, version, least):
    control = "<min_control>0</min_control>"
    content = old(old_muscle(POINT, control)) if version < 30501 else new_muscle(control, version)
    muscle = read(content).muscle("mus")
    assert (muscle.min_control, muscle.max_control) == (least, 1.0)


def test_disabled_means_not_applied_and_not_enforced(read):
    parts = old_muscle(POINT, "<isDisabled>true</isDisabled>") + (
        '<ConstraintSet><objects><PointConstraint name="p"><isDisabled>true</isDisabled><body_1>a</body_1>'
        "<body_2>ground</body_2><location_body_1>0.123456789 0 0</location_body_1></PointConstraint>"
        '<WeldConstraint name="w"><body_1>a</body_1><body_2>b</body_2><location_body_2>0.123456789 0 0'
        "</location_body_2></WeldConstraint></objects></ConstraintSet>"
        '<ControllerSet><objects><PrescribedController name="c"><isDisabled>true</isDisabled>'
        "<actuator_list>mus</actuator_list></PrescribedController></objects></ControllerSet>"
    )
    model = read(old(parts), opensim_rounding=True)
    assert not model.muscle("mus").applies_force
    point, weld = model.constraints
    assert isinstance(point, PointConstraint)
    assert (point.enforced, point.first_body, point.second_body) == (False, "a", "ground")
    assert point.first_location == (0.123456789, 0, 0)
    assert isinstance(weld, WeldConstraint)
    assert weld.enforced
    assert weld.second == Placement("b", (0.123457, 0, 0), (0, 0, 0), "b_offset")
    (controller,) = model.carried
    assert "<enabled>false</enabled>" in controller.xml
    assert "<socket_actuators>/forceset/mus</socket_actuators>" in controller.xml


def test_old_bodies_name_contact_shapes_and_markers(read):
    parts = (
        '<ContactGeometrySet><objects><ContactSphere name="s"><body_name>b</body_name><radius>0.1</radius>'
        '</ContactSphere></objects></ContactGeometrySet><MarkerSet><objects><Marker name="k"><body>b</body>'
        "<location>1 2 3</location></Marker></objects></MarkerSet>"
    )
    model = read(old(parts))
    assert (model.contact_geometries[0].frame, model.contact_geometries[0].dimensions) == ("b", (0.1,))
    assert (model.marker("k").frame, model.marker("k").location) == ("b", (1, 2, 3))


# --- defaults --------------------------------------------------------------------------------------------------------
DEFAULTS = (
    "<defaults><Thelen2003Muscle><optimal_fiber_length>0.07</optimal_fiber_length><Af>0.3</Af></Thelen2003Muscle>"
    '<Coordinate name="default"><clamped>true</clamped><range>-5 5</range></Coordinate></defaults>'
)


def test_defaults_fill_what_is_not_stated(read):
    model = read(old(old_muscle(POINT, "<Af>0.2</Af>"), head=DEFAULTS))
    muscle = model.muscle("mus")
    assert muscle.optimal_fiber_length == 0.07
    assert muscle.parameter("Af", 0.0) == 0.2
    assert model.coordinate("q_a").clamped
    assert model.coordinate("q_a").range == (-1, 1)


def test_defaults_do_not_leak_into_the_next_file(read):
    read(old(old_muscle(POINT), head=DEFAULTS))
    model = read(old(old_muscle(POINT)))
    assert model.muscle("mus").optimal_fiber_length == 0.1
    assert not model.coordinate("q_a").clamped


# --- drawings and newer files ----------------------------------------------------------------------------------------
def test_old_drawings_become_meshes(read, tmp_path):
    visible = (
        "<VisibleObject><GeometrySet><objects><DisplayGeometry><geometry_file>bone.vtp</geometry_file>"
        "<transform>0.1 0.2 0.3 1 2 3</transform><scale_factors>1 2 1</scale_factors></DisplayGeometry>"
        "</objects></GeometrySet><scale_factors>2 2 2</scale_factors></VisibleObject>"
    )
    model = read(old(bodies=old_body("a", "ground", extra=visible)))
    (frame,) = model.frames
    assert frame.path == "/bodyset/a/a_geom_frame_1"
    assert frame.placement.translation == (1, 2, 3)
    assert frame.placement.orientation == (0.1, 0.2, 0.3)
    (drawing,) = frame.placement.carried
    assert "bone.vtp" in drawing
    assert "<scale_factors>2 4 2</scale_factors>" in drawing
    write_osim(model, tmp_path / "new.osim")
    assert read_osim(tmp_path / "new.osim").frames == model.frames


def test_newer_document_is_read_with_a_note(read):
    body = '<Body name="a"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>'
    model = read(
        f'<OpenSimDocument Version="50000"><Model name="m"><BodySet><objects>{body}</objects></BodySet></Model>'
        "</OpenSimDocument>"
    )
    assert any("newer than 40600" in note.why for note in model.notes)


def test_upgraded_document_is_written_in_the_new_layout(read, tmp_path):
    model = read(old(old_muscle(POINT)))
    write_osim(model, tmp_path / "new.osim")
    content = (tmp_path / "new.osim").read_text()
    assert 'Version="40600"' in content
    assert "location_in_parent" not in content
    again = read_osim(tmp_path / "new.osim")
    assert again.joints == model.joints
    assert again.forces == model.forces


def test_transform_axis_with_function_wrapped_or_named(read):
    inside = (
        "<SpatialTransform>"
        '<TransformAxis name="rotation1"><coordinates>q_a</coordinates><axis>1 0 0</axis><function><LinearFunction>'
        "<coefficients>1 0</coefficients></LinearFunction></function></TransformAxis>"
        '<TransformAxis name="translation1"><coordinates>q_a</coordinates><axis>1 0 0</axis>'
        '<LinearFunction name="function"><coefficients>2 0</coefficients></LinearFunction></TransformAxis>'
        '<TransformAxis name="translation2"><coordinates>q_a</coordinates><axis>0 1 0</axis></TransformAxis>'
        "</SpatialTransform>"
    )
    joint = read(old(bodies=old_body("a", "ground", "CustomJoint", inside))).joint("a_joint")
    assert joint.rotations[0].function == Linear(1, 0)
    assert joint.translations[0].function == Linear(2, 0)
    assert joint.translations[1].function == Constant(0)  # a coordinate without a function does not move the axis


# --- what nobody reads -----------------------------------------------------------------------------------------------
_OLD_MUSCLE = """<Thelen2003Muscle name="m"><GeometryPath><PathPointSet><objects>
    <PathPoint name="p"><body>ground</body><location>0 0 0</location></PathPoint>
    <ConditionalPathPoint name="r"><body>a</body><location>1 0 0</location><coordinate>q_a</coordinate>
    <range>0 1</range></ConditionalPathPoint><PathPoint name="s"><body>b</body><location>0 1 0</location></PathPoint>
    </objects></PathPointSet><PathWrapSet><objects><PathWrap name="w"><wrap_object>drum</wrap_object></PathWrap>
    </objects></PathWrapSet></GeometryPath></Thelen2003Muscle>"""
_OLD_CUSTOM = """<SpatialTransform><TransformAxis name="rotation1"><coordinates>q_b</coordinates><axis>1 0 0</axis>
    <function><LinearFunction><coefficients>1 0</coefficients></LinearFunction></function></TransformAxis>
    </SpatialTransform>"""
_OLD_WRAP = (
    '<WrapObjectSet><objects><WrapSphere name="drum"><radius>0.1</radius></WrapSphere></objects></WrapObjectSet>'
)
_OLD_REST = f"""<ForceSet><objects>{_OLD_MUSCLE}<CoordinateActuator name="f"><coordinate>q_a</coordinate>
    </CoordinateActuator></objects></ForceSet><MarkerSet><objects><Marker name="k"><body>a</body></Marker></objects>
    </MarkerSet><ConstraintSet><objects><PointConstraint name="c"><body_1>a</body_1><body_2>b</body_2></PointConstraint>
    </objects></ConstraintSet>"""
_OLD_BODIES = old_body("a", "ground", extra=_OLD_WRAP) + old_body("b", "a", "CustomJoint", _OLD_CUSTOM)


@pytest.mark.parametrize("version", [10901, 20303, 30000, 30499])
def test_what_no_class_has_is_noted_in_old_files(read, version):
    """Every object of the file gets an element that is no property; the upgrade passes each on to the reader."""
    whole = old(_OLD_REST, _OLD_BODIES, version)
    assert [n for n in read(whole).notes if "not a property" in n.why] == []
    root = etree.fromstring(whole)
    objects = [e for e in root.find("Model").iter() if e.tag[:1].isupper() and e.tag not in ("Joint", "CoordinateSet")]
    assert len(objects) > 25
    for k, element in enumerate(objects):
        etree.SubElement(element, f"frob_{k}").text = "1"
    told = " ".join(note.why for note in read(etree.tostring(root, encoding="unicode")).notes)
    assert [element.tag for k, element in enumerate(objects) if f"<frob_{k}>" not in told] == []


def test_many_objects_with_the_same_mistake_are_one_note(read):
    content = old(_OLD_REST, _OLD_BODIES).replace("<motion_type>", "<tolerance>1</tolerance><motion_type>")
    (note,) = (note for note in read(content).notes if "tolerance" in note.why)
    assert note.what == "Coordinate"
    assert note.where.endswith("q_a and 1 more")
