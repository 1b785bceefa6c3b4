"""What a 4.6 document says is what the model holds, and it is written back without loss."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from musculo.errors import InvalidModel, MusculoWarning
from musculo.forces.stated_forces import flag
from musculo.functions import SimmSpline, UnsupportedFunction
from musculo.io import read_osim
from musculo.io.marker_set import read_marker_set
from musculo.model.body import Placement
from musculo.model.joints import UnsupportedJoint
from musculo.model.model import Model
from musculo.model.model_path import UnsupportedPath
from musculo.spatial.pose import Pose

BODIES = "".join(f'<Body name="{n}"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>' for n in "abc")


def joint(kind: str, name: str, parent: str, child: str, coordinates: str = "", rest: str = "") -> str:
    inner = "".join(f'<Coordinate name="{c}"/>' for c in coordinates.split())
    return (
        f'<{kind} name="{name}"><socket_parent_frame>{parent}</socket_parent_frame><socket_child_frame>{child}'
        f"</socket_child_frame><coordinates>{inner}</coordinates>{rest}</{kind}>"
    )


CHAIN = (
    joint("PinJoint", "ga", "/ground", "/bodyset/a", "qa")
    + joint("WeldJoint", "ab", "/bodyset/a", "/bodyset/b")
    + joint("SliderJoint", "bc", "/bodyset/b", "/bodyset/c", "qc")
)


def document(joints: str = CHAIN, rest: str = "", bodies: str = BODIES) -> str:
    return (
        f'<OpenSimDocument Version="40600"><Model name="m"><BodySet><objects>{bodies}</objects></BodySet>'
        f"<JointSet><objects>{joints}</objects></JointSet>{rest}</Model></OpenSimDocument>"
    )


@pytest.fixture
def read(tmp_path):
    def from_text(content: str):
        (tmp_path / "m.osim").write_text(content)
        return read_osim(tmp_path / "m.osim")

    return from_text


def assert_same(first: Model, second: Model) -> None:
    for field in fields(first):
        if field.name not in ("source", "notes"):
            assert getattr(first, field.name) == getattr(second, field.name), field.name


# --- frames ----------------------------------------------------------------------------------------------------------
def offset(name: str, parent: str, translation: str = "0 0 0", orientation: str = "0 0 0", rest: str = "") -> str:
    return (
        f'<PhysicalOffsetFrame name="{name}"><socket_parent>{parent}</socket_parent><translation>{translation}'
        f"</translation><orientation>{orientation}</orientation>{rest}</PhysicalOffsetFrame>"
    )


def test_single_offset_keeps_its_numbers_and_chains_are_composed(read, rewrite):
    frames = (
        "<frames>"
        + offset("p1", "/ground", "0.1 0.2 0.3", "0.4 0.5 0.6")
        + offset("p2", "../p1", "1 0 0", "0 0.3 0")
        + offset("c1", "/bodyset/a", "0 0.25 0", "0 0 7")
        + "</frames>"
    )
    model = read(
        document(joint("PinJoint", "ga", "p2", "c1", "qa", frames), bodies=BODIES[: BODIES.index('<Body name="b"')])
    )
    j = model.joint("ga")
    assert j.child == Placement("a", (0, 0.25, 0), (0, 0, 7), "c1")
    expected = Pose.from_xyz((0.4, 0.5, 0.6), (0.1, 0.2, 0.3)) @ Pose.from_xyz((0, 0.3, 0), (1, 0, 0))
    found = Pose.from_xyz(j.parent.orientation, j.parent.translation)
    # One product of rotations and its angles: rounding only.
    np.testing.assert_allclose(found.R, expected.R, atol=1e-15)
    np.testing.assert_allclose(found.p, expected.p, atol=1e-15)
    assert (j.parent.body, j.parent.name) == ("ground", "p2")
    assert [f.path for f in model.frames] == ["/jointset/ga/p1"]
    assert_same(model, rewrite(model)[0])


def test_frames_elsewhere_are_frames_of_the_model(read, rewrite):
    wrap = '<WrapObjectSet><objects><WrapSphere name="s"/></objects></WrapObjectSet>'
    deep = f"<components>{offset('deep', '..', '0 1 0')}</components>"
    bodies = BODIES.replace(
        "<mass>1</mass>", f"<components>{offset('f', '..', '1 0 0', rest=deep)}</components><mass>1</mass>", 1
    )
    rest = (
        f"<components>{offset('top', '/bodyset/b', '2 0 0', rest=wrap)}</components>"
        '<MarkerSet><objects><Marker name="k"><socket_parent_frame>/bodyset/a/f/deep</socket_parent_frame></Marker>'
        "</objects></MarkerSet>"
    )
    moved = CHAIN.replace("<socket_parent_frame>/bodyset/b<", "<socket_parent_frame>/top<")
    model = read(document(moved, rest, bodies))
    assert [f.path for f in model.frames] == ["/bodyset/a/f", "/bodyset/a/f/deep", "/top"]
    assert model.placement("/bodyset/a/f/deep").translation == (1, 1, 0)
    assert model.marker("k").frame == "/bodyset/a/f/deep"
    assert model.joint("bc").parent == Placement("b", (2, 0, 0), (0, 0, 0), "/top")
    assert model.wrap_objects[0].frame == "/top"
    assert_same(model, rewrite(model)[0])


# --- joints ----------------------------------------------------------------------------------------------------------
def test_custom_coordinates_are_sorted_by_first_appearance(read):
    def axis(name, coordinate, direction):
        return (
            f'<TransformAxis name="{name}"><coordinates>{coordinate}</coordinates><axis>{direction}</axis>'
            '<LinearFunction name="function"><coefficients>1 0</coefficients></LinearFunction></TransformAxis>'
        )

    transform = (
        "<SpatialTransform>"
        + axis("translation1", "second", "1 0 0")
        + axis("rotation3", "first", "0 0 1")
        + "</SpatialTransform>"
    )
    joints = joint("CustomJoint", "ga", "/ground", "/bodyset/a", "second first", transform)
    joints += joint("WeldJoint", "ab", "/bodyset/a", "/bodyset/b") + joint(
        "WeldJoint", "ac", "/bodyset/a", "/bodyset/c"
    )
    assert read(document(joints)).coordinate_names == ("first", "second")


def test_free_bodies_get_the_joints_of_opensim(read):
    model = read(document(joint("PinJoint", "ab", "/bodyset/a", "/bodyset/b")))
    assert model.joint_names == ("ab", "free_c", "free_a")  # the lone body first, as OpenSim does
    assert model.joint("ab").coordinate_names == ("_coord_0",)
    assert model.joint("free_a").coordinate_names == tuple(f"free_a_coord_{k}" for k in range(6))
    assert [n.what for n in model.notes if "freely" in n.why] == ["body 'c'", "body 'a'"]


def test_unknown_joint_is_carried(read, rewrite):
    joints = CHAIN.replace("SliderJoint", "ConstantCurvatureJoint").replace(
        "</ConstantCurvatureJoint>", "<length>0.5</length></ConstantCurvatureJoint>"
    )
    model = read(document(joints))
    j = model.joint("bc")
    assert isinstance(j, UnsupportedJoint)
    assert (j.element, j.carried) == ("ConstantCurvatureJoint", ("<length>0.5</length>",))
    assert any("'bc'" in n.what for n in model.notes)
    assert_same(model, rewrite(model)[0])


def test_mass_without_inertia(read):
    bodies = BODIES.replace("<mass>1</mass>", "<mass>0</mass>", 1)
    model = read(document(bodies=bodies))
    assert model.body("a").inertia == (0, 0, 0, 0, 0, 0)
    assert any("no mass" in n.why for n in model.notes)


# --- forces and what is carried --------------------------------------------------------------------------------------
PATH = (
    '<GeometryPath name="path"><PathPointSet><objects><PathPoint name="p"><socket_parent_frame>/bodyset/a'
    "</socket_parent_frame><location>1 2 3</location></PathPoint></objects></PathPointSet></GeometryPath>"
)


def test_muscle_with_class_defaults_and_curves(read, rewrite):
    forces = (
        f'<ForceSet><objects><Millard2012EquilibriumMuscle name="m1">{PATH}<fiber_damping>0.02</fiber_damping>'
        '<TendonForceLengthCurve name="t"><strain_at_one_norm_force>0.05</strain_at_one_norm_force><curviness/>'
        "</TendonForceLengthCurve></Millard2012EquilibriumMuscle>"
        f'<DeGrooteFregly2016Muscle name="m2">{PATH}<ignore_passive_fiber_force>true</ignore_passive_fiber_force>'
        "</DeGrooteFregly2016Muscle></objects></ForceSet>"
    )
    model = read(document(rest=forces))
    millard, degroote = model.muscles
    assert (millard.min_control, degroote.min_control) == (0.01, 0.0)
    assert millard.parameter("fiber_damping", 0.0) == 0.02
    assert millard.parameter("deactivation_time_constant", 0.0) == 0.04
    assert millard.curve("TendonForceLengthCurve").parameter("strain_at_one_norm_force", 0.0) == 0.05
    assert millard.curve("TendonForceLengthCurve").parameter("curviness", 0.5) == 0.5
    assert degroote.parameter("ignore_passive_fiber_force", False) is True
    assert degroote.parameter("tendon_compliance_dynamics_mode", "") == "explicit"
    assert_same(model, rewrite(model)[0])


def test_a_property_that_no_muscle_has_is_carried_and_noted(read, rewrite):
    """OpenSim opens such files without a word; what older files hold beside (`optimal_force`) is no mistake."""
    forces = (
        f'<ForceSet><objects><Millard2012EquilibriumMuscle name="m1">{PATH}<fibre_damping>5</fibre_damping>'
        "<optimal_force>1</optimal_force><Flen>1.4</Flen><TendonForceLengthCurve><curvines>0.5</curvines>"
        "</TendonForceLengthCurve></Millard2012EquilibriumMuscle></objects></ForceSet>"
    )
    model = read(document(rest=forces))
    (muscle,) = model.muscles
    assert muscle.parameter("fiber_damping", 0.0) == 0.1
    assert dict(muscle.properties) == {"fibre_damping": "5", "optimal_force": "1", "Flen": "1.4"}
    told = [n.why for n in model.notes if "not a property" in n.why]
    assert sorted(told) == [
        "<curvines> is not a property of TendonForceLengthCurve and changes nothing; did you mean <curviness>?",
        "<fibre_damping> is not a property of Millard2012EquilibriumMuscle and changes nothing; "
        "did you mean <fiber_damping>?",
    ]
    assert_same(model.replace(notes=()), rewrite(model)[0].replace(notes=()))


@pytest.mark.parametrize(
    ("tag", "on", "why"),
    [
        ("appliesForce", False, "it is switched off (<appliesForce> is false), and does nothing on the coordinates"),
        (
            "applies_force",
            True,
            "and changes nothing; did you mean <appliesForce>",
        ),
    ],
)
def test_a_muscle_that_is_switched_off_is_noted(read, tag, on, why):
    forces = (
        f'<ForceSet><objects><Thelen2003Muscle name="m1"><{tag}>false</{tag}>{PATH}</Thelen2003Muscle>'
        "</objects></ForceSet>"
    )
    model = read(document(rest=forces))
    assert model.muscles[0].applies_force is on
    assert any(why in note.why for note in model.notes)


def test_everything_unknown_is_carried_and_noted(read, rewrite):
    rest = (
        "<credits>somebody</credits>"
        '<ForceSet><objects><StrangeForce name="s"><a>1</a><b><c>2</c></b></StrangeForce>'
        '<HuntCrossleyForce name="h"><HuntCrossleyForce::ContactParametersSet name="contact_parameters"><objects/>'
        "</HuntCrossleyForce::ContactParametersSet></HuntCrossleyForce>"
        '<Thelen2003Muscle name="f"><FunctionBasedPath name="path"><coordinate_paths>/jointset/ga/qa'
        "</coordinate_paths></FunctionBasedPath></Thelen2003Muscle></objects>"
        '<groups><ObjectGroup name="g"><members>s</members></ObjectGroup></groups></ForceSet>'
        '<ConstraintSet><objects><StrangeConstraint name="sc"/></objects></ConstraintSet>'
        '<ControllerSet><objects><StrangeController name="ctl"/></objects></ControllerSet>'
        '<ProbeSet><objects><StrangeProbe name="prb"/></objects></ProbeSet>'
        '<components><Station name="st"/></components>'
    )
    expression = (
        '<TransformAxis name="rotation1"><coordinates>q</coordinates><axis>1 0 0</axis><ExpressionBasedFunction '
        'name="function"><expression>x</expression></ExpressionBasedFunction></TransformAxis>'
    )
    joints = CHAIN.replace(
        joint("SliderJoint", "bc", "/bodyset/b", "/bodyset/c", "qc"),
        joint(
            "CustomJoint", "bc", "/bodyset/b", "/bodyset/c", "q", f"<SpatialTransform>{expression}</SpatialTransform>"
        ),
    )
    model = read(document(joints, rest))
    noted = " ".join(n.what for n in model.notes)
    for name in ("'s'", "FunctionBasedPath", "'sc'", "'ctl'", "'prb'", "'st'", "ExpressionBasedFunction"):
        assert name in noted
    assert isinstance(model.joint("bc").rotations[0].function, UnsupportedFunction)
    assert isinstance(model.muscle("f").path, UnsupportedPath)
    assert model.forces[0].text("a") == "1"
    assert model.forces[0].carried == ("<b><c>2</c></b>",)
    again, notes = rewrite(model)
    assert notes == ()
    assert_same(model, again)
    assert [str(n) for n in again.notes] == [str(n) for n in model.notes]


def test_path_inside_a_path_element(read):
    muscle = f'<Thelen2003Muscle name="m"><path>{PATH}</path></Thelen2003Muscle>'
    model = read(document(rest=f"<ForceSet><objects>{muscle}</objects></ForceSet>"))
    assert len(model.muscle("m").path.points) == PATH.count("<PathPoint ")


def test_repeated_knots_of_a_muscle_curve_are_read(read):
    spline = "<SimmSpline><x>0 1 1 2</x><y>0 0 0 1</y></SimmSpline>"
    curve = f"<passive_force_length_curve>{spline}</passive_force_length_curve>"
    forces = f'<ForceSet><objects><Delp1990Muscle name="d">{PATH}{curve}</Delp1990Muscle></objects></ForceSet>'
    ((_, function),) = read(document(rest=forces)).muscle("d").functions
    assert function == SimmSpline((0.0, 1.0, 1.0, 2.0), (0.0, 0.0, 0.0, 1.0))


def test_repeated_knots_of_other_functions_are_carried(read):
    curve = (
        "<passive_force_length_curve><PiecewiseLinearFunction><x>0 1 1 2</x><y>0 0 0 1</y>"
        "</PiecewiseLinearFunction></passive_force_length_curve>"
    )
    forces = f'<ForceSet><objects><Delp1990Muscle name="d">{PATH}{curve}</Delp1990Muscle></objects></ForceSet>'
    model = read(document(rest=forces))
    ((name, function),) = model.muscle("d").functions
    assert name == "passive_force_length_curve"
    assert isinstance(function, UnsupportedFunction)
    assert any("increase strictly" in n.why for n in model.notes)


def test_what_a_file_of_markers_holds_beside_them_is_warned_of(read, tmp_path):
    """A tuple of markers has no notes."""
    (tmp_path / "markers.xml").write_text(
        '<OpenSimDocument Version="40600"><MarkerSet><objects><Marker name="k" weight="2"><socket_parent_frame>'
        "/bodyset/a</socket_parent_frame><locaton>1 2 3</locaton></Marker></objects></MarkerSet></OpenSimDocument>"
    )
    with pytest.warns(MusculoWarning) as told:
        (marker,) = read_marker_set(tmp_path / "markers.xml", read(document()))
    assert marker.location == (0.0, 0.0, 0.0)
    words = sorted(str(one.message).split("markers.xml: ")[1] for one in told)
    assert words == [
        "Marker 'k' (/markerset/k): the attribute weight='2' is not read, as in OpenSim",
        "Marker (/markerset/k): <locaton> is not a property of Marker and changes nothing; did you mean <location>?",
    ]


@pytest.mark.parametrize(("word", "value"), [("1", True), ("TRUE", True), ("0", False), ("False", False)])
def test_flags_are_read_as_opensim_reads_them(read, word, value):
    """In a muscle, and in a force whose values are texts."""
    forces = (
        f'<ForceSet><objects><DeGrooteFregly2016Muscle name="m">{PATH}<ignore_passive_fiber_force>{word}'
        '</ignore_passive_fiber_force></DeGrooteFregly2016Muscle><PrescribedForce name="f"><socket_frame>/bodyset/a'
        f"</socket_frame><pointIsGlobal>{word}</pointIsGlobal></PrescribedForce></objects></ForceSet>"
    )
    model = read(document(rest=forces))
    assert model.muscle("m").parameter("ignore_passive_fiber_force", None) is value
    force = model.forces[1]
    assert flag(force, "pointIsGlobal", not value) is value
    with pytest.raises(InvalidModel, match="PrescribedForce 'f': pointIsGlobal is 'yes', neither true nor false"):
        flag(replace(force, properties=(("pointIsGlobal", "yes"),)), "pointIsGlobal", value)
