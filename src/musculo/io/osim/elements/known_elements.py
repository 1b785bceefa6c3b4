"""What the reader does with each property of each class of OpenSim 4.6.

A property is APPLIED, or it is carried: kept for the writer, and without effect, for one of a few REASONS. An element
that is neither is noted by name in `Model.notes`. The readers take what they know from this table alone
(`context.carried`), and a test walks it against the properties that OpenSim itself lists for each class.
"""

from __future__ import annotations

from difflib import get_close_matches

from musculo.io.osim.elements.joint_elements import JOINT_ELEMENTS
from musculo.model.muscle_parameters import CURVES, PARAMETERS

APPLIED = ""
# Why a property is carried: it cannot change a number, or the object itself is noted.
REASONS = {
    "drawn": "it says how the object is drawn",
    "words": "it is a text for people, or a unit that OpenSim prints and never converts by",
    "groups": "it gives names to lists of members, for those who exclude members by such a name",
    "unused": "OpenSim's equations do not use it either",
    "accuracy": "it is how closely OpenSim solves its constraints; they are solved to rounding here",
    "same": "it chooses between two forms of the same equations",
    "old": "it belongs to earlier versions; OpenSim 4.6 does not read it either",
    "noted": "every object of its class leaves a note that says what is not done with it",
    "other kind": "it belongs to another kind of muscle; files that changed the kind of their muscles keep it",
}

Properties = dict[str, str]  # property -> APPLIED, or a reason


def _all(reason: str, names: str) -> Properties:
    return dict.fromkeys(names.split(), reason)


def _applied(names: str) -> Properties:
    return _all(APPLIED, names)


# Properties that hold one object. It may stand under its own class, with the property's name: `<Sine name="function">`.
ONE_OBJECT = frozenset(
    _applied(
        "ground path function rotation1 rotation2 rotation3 translation1 translation2 translation3 force_length_curve "
        "tendon_force_length_curve active_force_length_curve passive_force_length_curve force_velocity_curve "
        "forceFunctions pointFunctions torqueFunctions contact_parameters frame_geometry"
    )
)
# Where such a property is optional, OpenSim reads no other form than an element of the property's name.
_OPTIONAL = {"MultiplierFunction", "Delp1990Muscle_Deprecated"}
# Properties that hold objects in an element of the property's name, and in no other form.
_HOLDING = _applied(
    "components objects groups frames coordinates defaults attached_geometry prescribed_function "
    "coupled_coordinates_function x_location y_location z_location "
    "m_x_theta_x_function m_y_theta_y_function m_z_theta_z_function "
    "f_x_delta_x_function f_y_delta_y_function f_z_delta_z_function "
    "length_function moment_arm_functions lengthening_speed_function"
)


_COMPONENT = _applied("components")
_SET = {**_applied("objects"), **_all("groups", "groups")}
_LOOK = _all("drawn", "Appearance VisibleObject")
_FRAME = {
    **_COMPONENT,
    **_applied("WrapObjectSet"),
    **_all("drawn", "frame_geometry FrameGeometry attached_geometry VisibleObject"),
}
_JOINT = {**_COMPONENT, **_applied("socket_parent_frame socket_child_frame coordinates frames")}
_TURNING = _all("old", "use_euler_angles")
_CARRIED_OF_JOINTS = {"BallJoint": _TURNING, "FreeJoint": _TURNING, "EllipsoidJoint": {**_TURNING, **_LOOK}}
_CONSTRAINT = {**_COMPONENT, **_applied("isEnforced")}
_TWO_POINTS = {**_CONSTRAINT, **_applied("socket_body_1 socket_body_2 location_body_1 location_body_2")}
_POINT = {**_COMPONENT, **_LOOK, **_applied("socket_parent_frame location")}
_WRAP = {**_COMPONENT, **_LOOK, **_applied("active xyz_body_rotation translation quadrant")}
_CONTACT = {**_COMPONENT, **_LOOK, **_applied("socket_frame location orientation"), **_all("old", "display_preference")}
_FORCE = {**_COMPONENT, **_applied("appliesForce")}
_ALONG_PATH = {**_FORCE, **_applied("path")}
_ACTUATOR = {**_FORCE, **_applied("min_control max_control optimal_force")}
_TWO_FRAMES = {**_FORCE, **_applied("socket_frame1 socket_frame2 frames")}
_ARROWS = _all("drawn", "moment_visual_scale force_visual_scale visual_aspect_ratio")
_CONTACTS = {**_FORCE, **_applied("contact_parameters transition_velocity")}
_CONTACT_PARAMETERS = _applied("geometry stiffness dissipation static_friction dynamic_friction viscous_friction")
_MUSCLE = {
    **_ALONG_PATH,
    **_applied("min_control max_control max_isometric_force optimal_fiber_length tendon_slack_length"),
    **_applied("pennation_angle_at_optimal max_contraction_velocity"),
    **_applied("ignore_tendon_compliance ignore_activation_dynamics"),
    **_all("unused", "optimal_force"),
}
_MUSCLE_FUNCTIONS = {
    "RigidTendonMuscle": "active_force_length_curve passive_force_length_curve force_velocity_curve",
    "Schutte1993Muscle_Deprecated": "tendon_force_length_curve active_force_length_curve passive_force_length_curve",
    "Delp1990Muscle_Deprecated": "tendon_force_length_curve active_force_length_curve passive_force_length_curve "
    "force_velocity_curve",
    "Millard2012EquilibriumMuscle": " ".join(CURVES),
}
# The integrators of OpenSim may solve the same tendon equilibrium in two forms.
_MUSCLE_CARRIED = {"tendon_compliance_dynamics_mode": "same"}


def _muscle(kind: str) -> Properties:
    own = {name: _MUSCLE_CARRIED.get(name, APPLIED) for name in PARAMETERS[kind]}
    others = {name: "other kind" for kind in PARAMETERS for name in PARAMETERS[kind]}
    return {**others, **_MUSCLE, **own, **_applied(_MUSCLE_FUNCTIONS.get(kind, ""))}


_SETS_OF_COMPONENTS = (
    *("BodySet", "JointSet", "ConstraintSet", "ForceSet", "MarkerSet", "ContactGeometrySet", "WrapObjectSet"),
    *("ControllerSet", "ProbeSet", "ComponentSet"),
)
_PLAIN_SETS = (
    *("PathPointSet", "PathWrapSet", "FunctionSet"),
    *("HuntCrossleyForce::ContactParametersSet", "ElasticFoundationForce::ContactParametersSet"),
)
PROPERTIES: dict[str, Properties] = {
    "Model": {
        **_COMPONENT,
        **_applied("gravity ground BodySet JointSet ConstraintSet ForceSet MarkerSet ContactGeometrySet"),
        **_applied("ControllerSet ProbeSet ComponentSet"),  # their members leave notes of their own
        **_applied("defaults"),  # written into the objects by `defaults.resolve_defaults`
        **_all("accuracy", "assembly_accuracy"),
        **_all("words", "credits publications length_units force_units notes"),
        **_all("drawn", "ModelVisualPreferences"),
    },
    # --- bodies and frames
    "Ground": _FRAME,
    "Body": {**_FRAME, **_applied("mass mass_center inertia")},
    "PhysicalOffsetFrame": {**_FRAME, **_applied("socket_parent translation orientation")},
    "Marker": {**_POINT, **_applied("fixed")},
    # --- joints
    **{
        kind: {**_JOINT, **_CARRIED_OF_JOINTS.get(kind, {}), **_applied(" ".join(n.element for n in joint.numbers))}
        for kind, joint in JOINT_ELEMENTS.items()
    },
    "CustomJoint": {**_JOINT, **_applied("SpatialTransform")},
    "SpatialTransform": _applied("rotation1 rotation2 rotation3 translation1 translation2 translation3"),
    "TransformAxis": _applied("coordinates axis function"),
    "Coordinate": {
        **_COMPONENT,
        **_applied("default_value default_speed_value range clamped locked prescribed prescribed_function"),
        **_applied("is_free_to_satisfy_constraints"),
    },
    # --- constraints
    "WeldConstraint": {**_CONSTRAINT, **_applied("socket_frame1 socket_frame2 frames")},
    "PointConstraint": _TWO_POINTS,
    "ConstantDistanceConstraint": {**_TWO_POINTS, **_applied("constant_distance")},
    "PointOnLineConstraint": {
        **_CONSTRAINT,
        **_applied("socket_line_body socket_follower_body line_direction_vec point_on_line point_on_follower"),
    },
    "CoordinateCouplerConstraint": {
        **_CONSTRAINT,
        **_applied("coupled_coordinates_function independent_coordinate_names dependent_coordinate_name scale_factor"),
    },
    # --- paths and shapes
    "GeometryPath": {**_COMPONENT, **_LOOK, **_applied("PathPointSet PathWrapSet"), **_all("drawn", "default_color")},
    "FunctionBasedPath": {
        **_COMPONENT,
        **_LOOK,
        **_applied("coordinate_paths length_function moment_arm_functions lengthening_speed_function"),
    },
    "PathPoint": _POINT,
    "ConditionalPathPoint": {**_POINT, **_applied("socket_coordinate range")},
    "MovingPathPoint": {
        **_POINT,
        **_all("unused", "location"),  # the functions say where it is
        **_applied("socket_x_coordinate socket_y_coordinate socket_z_coordinate x_location y_location z_location"),
    },
    "PathWrap": {**_COMPONENT, **_applied("wrap_object method range")},
    "WrapCylinder": {**_WRAP, **_applied("radius length")},
    "WrapSphere": {**_WRAP, **_applied("radius")},
    "WrapEllipsoid": {**_WRAP, **_applied("dimensions")},
    "WrapTorus": {**_WRAP, **_applied("inner_radius outer_radius")},
    "ContactHalfSpace": _CONTACT,
    "ContactSphere": {**_CONTACT, **_applied("radius")},
    "ContactCylinder": {**_CONTACT, **_applied("radius")},
    "ContactEllipsoid": {**_CONTACT, **_applied("radii")},
    "ContactTorus": {**_CONTACT, **_applied("tube_radius torus_radius")},
    "ContactMesh": {**_CONTACT, **_applied("filename")},
    # --- forces
    "BodyActuator": {**_FORCE, **_all("noted", "socket_body point point_is_global spatial_force_is_global")},
    "BushingForce": {
        **_TWO_FRAMES,
        **_ARROWS,  # of the expression-based kind, which some files give to this one
        **_applied("rotational_stiffness translational_stiffness rotational_damping translational_damping"),
    },
    "FunctionBasedBushingForce": {
        **_TWO_FRAMES,
        **_ARROWS,
        **_applied("m_x_theta_x_function m_y_theta_y_function m_z_theta_z_function"),
        **_applied("f_x_delta_x_function f_y_delta_y_function f_z_delta_z_function"),
        **_applied("rotational_damping translational_damping"),
    },
    "ExpressionBasedBushingForce": {
        **_TWO_FRAMES,
        **_ARROWS,
        **_applied("Mx_expression My_expression Mz_expression Fx_expression Fy_expression Fz_expression"),
        **_applied("rotational_damping translational_damping"),
    },
    "CoordinateActuator": {**_ACTUATOR, **_applied("coordinate")},
    "ActivationCoordinateActuator": {
        **_ACTUATOR,
        **_applied("coordinate"),
        **_all("noted", "activation_time_constant default_activation"),
    },
    "PointActuator": {**_ACTUATOR, **_applied("body point point_is_global direction force_is_global")},
    "PointToPointActuator": {**_ACTUATOR, **_applied("bodyA bodyB points_are_global pointA pointB")},
    "TorqueActuator": {**_ACTUATOR, **_applied("bodyA bodyB torque_is_global axis")},
    "CoordinateLimitForce": {
        **_FORCE,
        **_applied("coordinate upper_stiffness upper_limit lower_stiffness lower_limit damping transition"),
        **_all("unused", "compute_dissipation_energy"),  # a quantity for probes; the force is the same
    },
    "SpringGeneralizedForce": {**_FORCE, **_applied("coordinate stiffness rest_length viscosity")},
    "ExpressionBasedCoordinateForce": {**_FORCE, **_applied("coordinate expression")},
    "ExpressionBasedPointToPointForce": {**_FORCE, **_applied("body1 body2 point1 point2 expression")},
    "PointToPointSpring": {
        **_FORCE,
        **_applied("socket_body1 socket_body2 point1 point2 stiffness rest_length"),
    },
    "PrescribedForce": {
        **_FORCE,
        **_applied("socket_frame pointIsGlobal forceIsGlobal forceFunctions pointFunctions torqueFunctions"),
    },
    "HuntCrossleyForce": {**_CONTACTS, **_applied("HuntCrossleyForce::ContactParametersSet")},
    "ElasticFoundationForce": {**_CONTACTS, **_applied("ElasticFoundationForce::ContactParametersSet")},
    "HuntCrossleyForce::ContactParameters": _CONTACT_PARAMETERS,
    "ElasticFoundationForce::ContactParameters": _CONTACT_PARAMETERS,
    "SmoothSphereHalfSpaceForce": {
        **_FORCE,
        **_applied("socket_sphere socket_half_space stiffness dissipation static_friction dynamic_friction"),
        **_applied("viscous_friction transition_velocity constant_contact_force hertz_smoothing"),
        **_applied("hunt_crossley_smoothing"),
        **_all("drawn", "force_visualization_radius force_visualization_scale_factor"),
    },
    "PathSpring": {**_ALONG_PATH, **_applied("resting_length stiffness dissipation")},
    "Ligament": {**_ALONG_PATH, **_applied("resting_length pcsa_force force_length_curve")},
    "Blankevoort1991Ligament": {
        **_ALONG_PATH,
        **_applied("slack_length linear_stiffness transition_strain damping_coefficient"),
    },
    "PathActuator": {**_ALONG_PATH, **_applied("optimal_force min_control max_control")},
    "ClutchedPathSpring": {
        **_ALONG_PATH,
        **_applied("stiffness dissipation relaxation_time_constant initial_stretch min_control max_control"),
        **_all("unused", "optimal_force"),
    },
    "ExpressionBasedPathForce": {**_ALONG_PATH, **_applied("resting_length expression clamp_stretch")},
    **{kind: _muscle(kind) for kind in PARAMETERS},
    # --- functions
    "Constant": _applied("value"),
    "LinearFunction": _applied("coefficients"),
    "PolynomialFunction": _applied("coefficients"),
    "MultivariatePolynomialFunction": _applied("coefficients dimension order"),
    "MultiplierFunction": _applied("function scale"),
    "Sine": _applied("amplitude omega phase offset"),
    "StepFunction": _applied("transition_start_time transition_end_time start_value end_value"),
    "PiecewiseConstantFunction": _applied("x y"),
    "PiecewiseLinearFunction": _applied("x y"),
    "SimmSpline": _applied("x y"),
    "GCVSpline": {**_applied("half_order error_variance x y"), **_all("unused", "weights coefficients")},
    **{kind: _applied(" ".join(parameters)) for kind, parameters in CURVES.items()},
    # --- sets
    **{kind: {**_COMPONENT, **_SET} for kind in _SETS_OF_COMPONENTS},
    **{kind: {**_SET} for kind in _PLAIN_SETS},
}
# Where elements may stand; in every other property OpenSim reads a value, and does not open a file that has elements.
WITH_ELEMENTS = frozenset((*ONE_OBJECT, *_HOLDING, *PROPERTIES))
# What is read of an object whose class is not known; the rest of it is carried, and the object leaves a note.
BASES: dict[str, Properties] = {
    "Joint": _JOINT,
    "Constraint": _CONSTRAINT,
    "WrapObject": _WRAP,
    "ContactGeometry": {**_CONTACT, **_applied("filename")},
}


# Classes of OpenSim 4.6 that are carried: an object of one is noted, or refused where a model cannot do without it.
NOT_COMPUTED = frozenset(
    _applied(
        # joints, constraints, paths
        "ConstantCurvatureJoint RollingOnSurfaceConstraint Scholz2015GeometryPath "
        "Scholz2015GeometryPathObstacle Scholz2015GeometryPathPoint "
        # forces
        "ExponentialContactForce ExternalForce ExternalLoads McKibbenActuator MeyerFregly2016Force "
        "MeyerFregly2016Muscle Millard2012AccelerationMuscle DiscreteForces HopperDevice "
        # parts of muscles, and functions
        "MuscleFirstOrderActivationDynamicModel MuscleFixedWidthPennationModel ExpressionBasedFunction "
        "FiberCompressiveForceCosPennationCurve FiberCompressiveForceLengthCurve ForceVelocityInverseCurve "
        # frames, points and sensors
        "StationDefinedFrame Station IMU "
        # motion that is prescribed by a component
        "PositionMotion AccelerationMotion "
        # controllers
        "CMC ControlSetController CorrectionController PrescribedController SynergyController "
        "ToyPropMyoController ToyReflexController ControlDistributor SignalGenerator "
        # probes and reporters
        "ActuatorForceProbe ActuatorPowerProbe Bhargava2004MuscleMetabolicsProbe JointInternalPowerProbe "
        "SystemEnergyProbe Umberger2010MuscleMetabolicsProbe Bhargava2004SmoothedMuscleMetabolics "
        "Bhargava2004SmoothedMuscleMetabolics_MuscleParameters ConsoleReporter__Vec3_ ConsoleReporter__double_ "
        "StatesTrajectoryReporter TableReporter__Vec3_ TableReporter__Vector_ TableReporter__double_ "
        "TableSource__Vec3_ TableSource__double_ MocoScaleFactor"
    )
)
# Classes that say how something is drawn: they are carried where frames hold them, without a note.
DRAWN = frozenset(_applied("Arrow Brick Cone Cylinder Ellipsoid FrameGeometry LineGeometry Mesh Sphere Torus"))


def stands_by_class(kind: str, name: str) -> bool:
    """Whether the object of a property may stand under its own class, with the property's name or with none."""
    return name == "path" or (name in ONE_OBJECT and kind not in _OPTIONAL)


def no_property(kind: str, tag: str) -> str:
    """What is said of an element that is not a property of its object; of many objects it is said once."""
    known = [name for name, reason in PROPERTIES[kind].items() if reason != "other kind"]
    nearest = get_close_matches(tag, known, n=1)
    return f"<{tag}> is not a property of {kind} and changes nothing" + (
        f"; did you mean <{nearest[0]}>?" if nearest else ""
    )
