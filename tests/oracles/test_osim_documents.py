"""Documents of our own with what real models rarely hold, seen by OpenSim before and after musculo writes them."""

from __future__ import annotations

import math

import pytest

from musculo.functions import FourierSeries, NaturalCubicSpline, SampledSpline
from musculo.io import read_osim, write_osim
from musculo.model.body import Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import Axis, CustomJoint, CylindricalJoint, FreeJoint, ScrewJoint
from musculo.model.model import Model
from support.opensim_facts import ROUNDING, differences, opensim_facts

pytest.importorskip("opensim")

# Chains of frames, frames inside frames, joints traversed backwards, functions of several coordinates, paths on offset
# frames and of functions, a bushing, an expression, contact shapes, a controller, a probe, a station.
RICH = """
<OpenSimDocument Version="40600"><Model name="n"><components><PhysicalOffsetFrame name="mf">
<socket_parent>/bodyset/a</socket_parent><translation>1 2 3</translation><orientation>0.1 0.2 0.3</orientation>
</PhysicalOffsetFrame><PhysicalOffsetFrame name="mf2"><socket_parent>/mf</socket_parent><translation>1 0 0
</translation><orientation>0.3 0.2 0.3</orientation><WrapObjectSet><objects><WrapSphere name="ws"><radius>0.02
</radius></WrapSphere></objects></WrapObjectSet></PhysicalOffsetFrame><Station name="st">
<socket_parent_frame>/bodyset/a</socket_parent_frame><location>1 1 1</location></Station></components><BodySet>
<objects><Body name="a"><components><PhysicalOffsetFrame name="onA"><socket_parent>..</socket_parent>
<translation>0 1 0</translation><components><PhysicalOffsetFrame name="deep"><socket_parent>/mf2</socket_parent>
<translation>0 1 0</translation></PhysicalOffsetFrame></components></PhysicalOffsetFrame></components>
<attached_geometry><Sphere name="s"><radius>0.1</radius></Sphere></attached_geometry><mass>1</mass>
<inertia>1 1 1 0 0 0</inertia></Body><Body name="b"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>
<Body name="c"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body><Body name="d"><mass>1</mass>
<inertia>1 1 1 0 0 0</inertia></Body></objects><groups><ObjectGroup name="g"><members>a b</members>
</ObjectGroup></groups></BodySet><JointSet><objects><UniversalJoint name="bc"><socket_parent_frame>p2
</socket_parent_frame><socket_child_frame>c0</socket_child_frame><coordinates><Coordinate name="u1">
<default_value>0.2</default_value></Coordinate><Coordinate name="u2"><prescribed_function><Sine><omega>2</omega>
</Sine></prescribed_function></Coordinate></coordinates><frames><PhysicalOffsetFrame name="p1">
<socket_parent>/bodyset/b</socket_parent><translation>0.1 0 0</translation><orientation>0.4 0.1 0.2
</orientation></PhysicalOffsetFrame><PhysicalOffsetFrame name="p2"><socket_parent>../p1</socket_parent>
<translation>0.1 0 0.2</translation><orientation>0.4 -0.3 0.2</orientation></PhysicalOffsetFrame>
<PhysicalOffsetFrame name="c0"><socket_parent>/bodyset/c</socket_parent><orientation>0 1.5707963267948966 0
</orientation></PhysicalOffsetFrame></frames></UniversalJoint><BallJoint name="ga">
<socket_parent_frame>/bodyset/a/onA</socket_parent_frame><socket_child_frame>/ground</socket_child_frame>
<coordinates><Coordinate name="b1"><default_value>0.3</default_value></Coordinate><Coordinate name="b2"/>
<Coordinate name="b3"/></coordinates></BallJoint><CustomJoint name="ab"><socket_parent_frame>/bodyset/a
</socket_parent_frame><socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="k1">
<default_value>0.2</default_value></Coordinate><Coordinate name="k2"><default_value>0.3</default_value>
</Coordinate></coordinates><SpatialTransform><TransformAxis name="rotation1"><coordinates>k2</coordinates>
<axis>1 0 0</axis><GCVSpline name="function"><half_order>2</half_order><x>-3 -1 0 1 2 3</x>
<y>0 0.3 0.5 0.6 0.7 0.2</y></GCVSpline></TransformAxis><TransformAxis name="rotation2"><coordinates>k1 k2
</coordinates><axis>0 1 0</axis><MultivariatePolynomialFunction name="function"><dimension>2</dimension><order>2
</order><coefficients>0 0.1 0.2 0.3 0.1 0.2</coefficients></MultivariatePolynomialFunction></TransformAxis>
<TransformAxis name="translation1"><coordinates>k1 k2</coordinates><axis>1 0 0</axis>
<LinearFunction name="function"><coefficients>0.5 2 0.25</coefficients></LinearFunction></TransformAxis>
<TransformAxis name="translation2"><coordinates>k1</coordinates><axis>0 1 0</axis>
<MultiplierFunction name="function"><function><PiecewiseLinearFunction><x>0 1 2</x><y>0 1 3</y>
</PiecewiseLinearFunction></function><scale>2</scale></MultiplierFunction></TransformAxis>
<TransformAxis name="translation3"><coordinates>k1</coordinates><axis>0 0 1</axis>
<PolynomialFunction name="function"><coefficients>1 2 3</coefficients></PolynomialFunction></TransformAxis>
</SpatialTransform></CustomJoint><ConstantCurvatureJoint name="cc"><socket_parent_frame>/ground
</socket_parent_frame><socket_child_frame>/bodyset/d</socket_child_frame><coordinates><Coordinate name="cc1"/>
<Coordinate name="cc2"/><Coordinate name="cc3"/></coordinates><length>0.3</length></ConstantCurvatureJoint>
</objects></JointSet><ForceSet><objects><Thelen2003Muscle name="t"><GeometryPath name="path"><PathPointSet>
<objects><PathPoint name="p1"><socket_parent_frame>/mf2</socket_parent_frame><location>0 0 0.1</location>
</PathPoint><ConditionalPathPoint name="p2"><socket_parent_frame>/bodyset/b</socket_parent_frame>
<location>0 0.5 0</location><socket_coordinate>/jointset/ab/k1</socket_coordinate><range>-1 1</range>
</ConditionalPathPoint><MovingPathPoint name="p3"><socket_parent_frame>/jointset/bc/p1</socket_parent_frame>
<socket_x_coordinate>/jointset/ab/k1</socket_x_coordinate><socket_y_coordinate>/jointset/ab/k1
</socket_y_coordinate><socket_z_coordinate>/jointset/ab/k1</socket_z_coordinate><x_location><LinearFunction>
<coefficients>1 0.5</coefficients></LinearFunction></x_location></MovingPathPoint><PathPoint name="p4">
<socket_parent_frame>/bodyset/a/onA/deep</socket_parent_frame><location>0 0 0.1</location></PathPoint></objects>
</PathPointSet><PathWrapSet><objects><PathWrap name="w"><wrap_object>ws</wrap_object></PathWrap></objects>
</PathWrapSet></GeometryPath><optimal_force>3</optimal_force></Thelen2003Muscle>
<DeGrooteFregly2016Muscle name="dgf"><FunctionBasedPath name="path"><coordinate_paths>/jointset/ab/k1
</coordinate_paths><length_function><PolynomialFunction><coefficients>0.1 0.2</coefficients>
</PolynomialFunction></length_function></FunctionBasedPath></DeGrooteFregly2016Muscle><BushingForce name="bu">
<socket_frame1>f1</socket_frame1><socket_frame2>/bodyset/b</socket_frame2><frames>
<PhysicalOffsetFrame name="f1"><socket_parent>/mf2</socket_parent><translation>1 0 0</translation>
</PhysicalOffsetFrame></frames><rotational_stiffness>1 2 3</rotational_stiffness></BushingForce>
<ExpressionBasedCoordinateForce name="ex"><coordinate>k1</coordinate><expression>10*q</expression>
</ExpressionBasedCoordinateForce><Ligament name="li"><GeometryPath name="path"><PathPointSet><objects>
<PathPoint name="p1"><socket_parent_frame>/bodyset/a</socket_parent_frame></PathPoint><PathPoint name="p2">
<socket_parent_frame>/ground</socket_parent_frame><location>1 0 0</location></PathPoint></objects>
</PathPointSet></GeometryPath><resting_length>1</resting_length><pcsa_force>10</pcsa_force>
<SimmSpline name="force_length_curve"><x>0 1 2 3</x><y>0 0 1 4</y></SimmSpline></Ligament></objects></ForceSet>
<ConstraintSet><objects><WeldConstraint name="w"><isEnforced>false</isEnforced><socket_frame1>/mf2
</socket_frame1><socket_frame2>q</socket_frame2><frames><PhysicalOffsetFrame name="q"><socket_parent>/bodyset/b
</socket_parent><translation>1 0 0</translation></PhysicalOffsetFrame></frames></WeldConstraint></objects>
</ConstraintSet><MarkerSet><objects><Marker name="m1"><socket_parent_frame>/bodyset/a/onA/deep
</socket_parent_frame><location>1 2 3</location></Marker><Marker name="m2"><socket_parent_frame>../../bodyset/b
</socket_parent_frame><location>1 2 3</location></Marker></objects></MarkerSet><ContactGeometrySet><objects>
<ContactEllipsoid name="ce"><socket_frame>/bodyset/a</socket_frame><radii>1 2 3</radii></ContactEllipsoid>
<ContactTorus name="ct"><socket_frame>/bodyset/a</socket_frame><torus_radius>2</torus_radius><tube_radius>1
</tube_radius></ContactTorus></objects></ContactGeometrySet><ControllerSet><objects>
<PrescribedController name="pc"><socket_actuators>/forceset/t</socket_actuators>
<FunctionSet name="ControlFunctions"><objects><Constant name="t"><value>0.5</value></Constant></objects>
</FunctionSet></PrescribedController></objects></ControllerSet><ProbeSet><objects>
<JointInternalPowerProbe name="jip"><joint_names>ab</joint_names></JointInternalPowerProbe></objects></ProbeSet>
</Model></OpenSimDocument>
"""

# Version 3: every element whose layout changed.
OLD = """
<OpenSimDocument Version="30000"><Model name="m"><ForceSet><objects><BushingForce name="bush"><isDisabled>true
</isDisabled><body_1>a</body_1><body_2>b</body_2><location_body_1>0.123456789 0 0</location_body_1>
<orientation_body_1>1.570796327 0 0</orientation_body_1><location_body_2>0 0 1</location_body_2>
<orientation_body_2>0 0 0</orientation_body_2><rotational_stiffness>1 2 3</rotational_stiffness></BushingForce>
<CoordinateActuator name="ca"><coordinate>qa</coordinate><optimal_force>3</optimal_force><min_control>-Inf
</min_control></CoordinateActuator><CoordinateActuator name="ca"><coordinate>qa</coordinate>
</CoordinateActuator><PointToPointActuator name="p2p"><bodyA>a</bodyA><bodyB>b</bodyB></PointToPointActuator>
<CoordinateLimitForce name="clf"><coordinate>qa</coordinate></CoordinateLimitForce>
<PointToPointSpring name="pps"><body1>a</body1><body2>ground</body2><point1>0.1 0 0</point1><point2>0 0.3 0</point2>
<stiffness>30</stiffness><rest_length>0.1</rest_length></PointToPointSpring>
<SpringGeneralizedForce name="sg"><coordinate>qa</coordinate></SpringGeneralizedForce><PointActuator name="pa">
<body>a</body></PointActuator><PrescribedForce name="pf"><body>a</body><FunctionSet name="forceFunctions">
<objects><Constant><value>1</value></Constant><Constant/><Constant/></objects></FunctionSet></PrescribedForce>
<Ligament name="lig"><GeometryPath><PathPointSet><objects><PathPoint><body>a</body><location>0 0 0</location>
</PathPoint><PathPoint><body>b</body><location>1 0 0</location></PathPoint></objects></PathPointSet>
</GeometryPath><resting_length>1</resting_length><pcsa_force>2</pcsa_force></Ligament><PathSpring name="ps">
<GeometryPath><PathPointSet><objects><PathPoint><body>a</body><location>0 0 0</location></PathPoint><PathPoint>
<body>b</body><location>1 0 0</location></PathPoint></objects></PathPointSet></GeometryPath><resting_length>1
</resting_length><stiffness>1</stiffness><dissipation>0</dissipation></PathSpring><Thelen2003Muscle name="th">
<min_control>0</min_control><max_control>1</max_control><GeometryPath><PathPointSet><objects><PathPoint><body>a
</body><location>0 0 0</location></PathPoint><PathPoint><body>b</body><location>1 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath></Thelen2003Muscle><ElasticFoundationForce name="eff">
<ElasticFoundationForce::ContactParametersSet name="contact_parameters"><objects/>
</ElasticFoundationForce::ContactParametersSet></ElasticFoundationForce></objects></ForceSet><BodySet>
<objects><Body name="ground"><mass>0</mass><Joint/></Body><Body name="a"><mass>1</mass><inertia_xx>0.123456789
</inertia_xx><Joint><PinJoint name="ja"><parent_body>ground</parent_body><location_in_parent>0.123456789 0 0
</location_in_parent><orientation_in_parent>0 0 0</orientation_in_parent><location>0 0 0</location>
<orientation>0 0 0</orientation><CoordinateSet><objects><Coordinate name="qa"><motion_type>rotational
</motion_type><prescribed_function><SimmSpline><x>0 1</x><y>0 1</y></SimmSpline></prescribed_function>
<prescribed>true</prescribed></Coordinate></objects></CoordinateSet><reverse>true</reverse></PinJoint></Joint>
<VisibleObject><GeometrySet><objects><DisplayGeometry><geometry_file>x.vtp</geometry_file><color>1 0 0</color>
<transform>0.1 0.2 0.3 1 2 3</transform><scale_factors>1 2 1</scale_factors><display_preference>4
</display_preference><opacity>0.5</opacity></DisplayGeometry><DisplayGeometry><geometry_file>y.vtp
</geometry_file></DisplayGeometry></objects></GeometrySet><scale_factors>2 2 2</scale_factors>
<transform>0 0 0 0 0 0</transform><show_axes>true</show_axes><display_preference>4</display_preference>
</VisibleObject></Body><Body name="b"><mass>1</mass><Joint><CustomJoint name="jb"><parent_body>a</parent_body>
<location_in_parent>1 0 0</location_in_parent><CoordinateSet><objects><Coordinate name="qb2"/>
<Coordinate name="qb"/></objects></CoordinateSet><SpatialTransform><TransformAxis name="rotation1">
<coordinates>qb</coordinates><axis>1 0 0</axis><function><LinearFunction><coefficients>1 0</coefficients>
</LinearFunction></function></TransformAxis><TransformAxis name="translation2"><coordinates>qb2</coordinates>
<axis>0 1 0</axis></TransformAxis></SpatialTransform></CustomJoint></Joint></Body></objects></BodySet>
<ConstraintSet><objects><WeldConstraint name="w"><isDisabled>true</isDisabled><body_1>a</body_1><body_2>b
</body_2><location_body_1>0.123456789 0 0</location_body_1><orientation_body_1>1.570796327 0 0
</orientation_body_1><location_body_2>0 0 1</location_body_2><orientation_body_2>0 0 0</orientation_body_2>
</WeldConstraint><PointConstraint name="p"><isDisabled>true</isDisabled><body_1>a</body_1><body_2>b</body_2>
<location_body_1>0.123456789 0 0</location_body_1></PointConstraint><PointOnLineConstraint name="pl">
<isDisabled>true</isDisabled><line_body>a</line_body><follower_body>b</follower_body><line_direction_vec>1 0 0
</line_direction_vec></PointOnLineConstraint><ConstantDistanceConstraint name="cd"><isDisabled>true</isDisabled>
<body_1>a</body_1><body_2>b</body_2><constant_distance>1</constant_distance></ConstantDistanceConstraint>
<RollingOnSurfaceConstraint name="ro"><isDisabled>true</isDisabled><rolling_body>a</rolling_body><surface_body>b
</surface_body></RollingOnSurfaceConstraint><CoordinateCouplerConstraint name="cc"><isDisabled>true</isDisabled>
<coupled_coordinates_function><LinearFunction><coefficients>1 0</coefficients></LinearFunction>
</coupled_coordinates_function><independent_coordinate_names>qa</independent_coordinate_names>
<dependent_coordinate_name>qb</dependent_coordinate_name></CoordinateCouplerConstraint></objects>
</ConstraintSet><ControllerSet><objects><PrescribedController name="pc"><isDisabled>true</isDisabled>
<actuator_list>ca pa</actuator_list><FunctionSet name="ControlFunctions"><objects><Constant name="ca"><value>1
</value></Constant><Constant name="pa"><value>2</value></Constant></objects></FunctionSet>
</PrescribedController></objects></ControllerSet><ProbeSet><objects><JointInternalPowerProbe name="jip">
<isDisabled>true</isDisabled><joint_names>ja</joint_names></JointInternalPowerProbe></objects></ProbeSet>
<MarkerSet><objects><Marker name="m1"><body>a</body><location>1 2 3</location></Marker></objects></MarkerSet>
</Model></OpenSimDocument>
"""

# Bodies without joints, joints without coordinates.
LOOSE = """<OpenSimDocument Version="40600"><Model name="loose"><BodySet><objects>
<Body name="a"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>
<Body name="b"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>
<Body name="c"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet><objects><PinJoint name="ab"><socket_parent_frame>/bodyset/a</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame></PinJoint></objects></JointSet></Model></OpenSimDocument>
"""


@pytest.mark.parametrize("content", [RICH, OLD, LOOSE], ids=["rich", "old", "loose"])
def test_document_is_the_same_to_opensim_after_musculo(content, tmp_path):
    source, copy = tmp_path / "source.osim", tmp_path / "copy.osim"
    source.write_text(content.strip())
    model = read_osim(source, opensim_rounding=True)
    assert write_osim(model, copy) == ()
    original, written = opensim_facts(source), opensim_facts(copy)
    assert "error" not in original, original
    assert "error" not in written, written
    assert list(model.coordinate_names) == list(original["coordinates"])
    assert list(model.joint_names) == list(original["joints"])
    assert set(original.pop("components")) == set(written.pop("components"))
    assert differences(original, written, "", ROUNDING) == []


def _about_z(angle: float, height: float) -> list[float]:
    c, s = math.cos(angle), math.sin(angle)
    return [c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, height]


def test_model_made_in_python_opens_in_opensim(tmp_path):
    """Joints and functions that OpenSim lacks move as they should: poses by hand."""
    knots = tuple(0.1 * k for k in range(-15, 16))
    spline = SampledSpline.through(knots, [math.sin(x) for x in knots])
    natural = NaturalCubicSpline((0.0, 1.0, 3.0), (0.0, 1.0, 0.5))
    fourier = FourierSeries(0.3, (0.1, 0.05), (0.2, 0.0), 2.0)
    quaternion = tuple(Coordinate(f"e{k}", v) for k, v in enumerate((math.cos(0.2), math.sin(0.2), 0.0, 0.0)))
    place = tuple(map(Coordinate, ("tx", "ty", "tz2")))
    joints = (
        ScrewJoint("s", Placement("ground"), Placement("a"), (Coordinate("qs", 0.3),), pitch=0.25),
        CylindricalJoint("c", Placement("ground"), Placement("b"), (Coordinate("rz", 0.2), Coordinate("tz", 0.7))),
        FreeJoint("f", Placement("ground"), Placement("d"), (*quaternion, *place), quaternion=True),
        CustomJoint(
            "k",
            Placement("ground"),
            Placement("e"),
            (Coordinate("qk", 0.37),),
            translations=(
                Axis((1.0, 0.0, 0.0), spline, ("qk",)),
                Axis((0.0, 1.0, 0.0), natural, ("qk",)),
                Axis((0.0, 0.0, 1.0), fourier, ("qk",)),
            ),
        ),
    )
    model = Model("made", tuple(Body(n, 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)) for n in "abde"), joints)
    notes = write_osim(model, tmp_path / "made.osim")
    assert len(notes) == 3  # quaternion, sampled spline, two harmonics
    facts = opensim_facts(tmp_path / "made.osim")
    assert "error" not in facts, facts
    poses = {name: body[3] for name, body in facts["bodies"].items()}
    assert poses["a"] == pytest.approx(_about_z(0.3, 0.075))
    assert poses["b"] == pytest.approx(_about_z(0.2, 0.7))
    c, s = math.cos(0.4), math.sin(0.4)
    assert poses["d"][:9] == pytest.approx([1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c])
    # The resampled curves are within 1e-9 of the originals.
    assert poses["e"][9:] == pytest.approx([float(f(0.37)) for f in (spline, natural, fourier)], abs=2e-9)
