"""musculo: how bodies move, and which muscles move them.

    import musculo
    model = musculo.read_osim("arm26.osim")
    tau = musculo.inverse_dynamics(model, q, u, udot)

Arrays `q, u, udot` hold all coordinates of the file in its order, shape (frames, n) or (n,); SI units and radians.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names by the module that holds them; imported on first use, so that `musculo --help` need not wait.
_HOME = {
    "musculo.errors": (
        "InvalidFile",
        "InvalidInput",
        "InvalidModel",
        "MusculoError",
        "MusculoWarning",
        "SingularSystem",
        "UnknownName",
        "Unsupported",
    ),
    "musculo.io": ("read_osim", "write_osim"),
    "musculo.io.c3d": ("read_c3d",),
    "musculo.io.external_loads": ("read_external_loads", "write_external_loads"),
    "musculo.io.force_set": ("read_force_set", "with_force_sets"),
    "musculo.io.markers": ("read_markers",),
    "musculo.io.netcdf": ("read_netcdf", "write_netcdf"),
    "musculo.io.orientations": ("read_orientations", "write_orientations"),
    "musculo.io.setup": (
        "AnalyzeSetup",
        "IMUInverseKinematicsSetup",
        "IMUPlacerSetup",
        "InverseDynamicsSetup",
        "InverseKinematicsSetup",
        "ScaleSetup",
        "read_setup",
        "read_tasks",
    ),
    "musculo.io.storage": ("read_storage", "write_storage"),
    "musculo.io.trc": ("read_trc", "write_trc"),
    "musculo.results.external_loads": ("ExternalForce", "ExternalLoads"),
    "musculo.results.force_plates": ("ForcePlate", "plates_to_table"),
    "musculo.results.labelled": ("labelled",),
    "musculo.results.markers": ("Markers",),
    "musculo.results.orientations": ("Orientations",),
    "musculo.results.provenance": ("Provenance",),
    "musculo.results.recording": ("Recording",),
    "musculo.results.table": ("Table",),
    "musculo.signals.events": ("events_from_force", "events_from_markers"),
    "musculo.signals.lowpass": ("lowpass",),
    "musculo.signals.natural": ("NaturalSpline", "resample", "smoothing_spline", "time_derivative"),
    "musculo.signals.residual": ("residual_cutoff",),
    "musculo.model.measurement": ("Measurement",),
    "musculo.model.model": ("Model",),
    "musculo.model.body": ("Body", "Marker", "Placement"),
    "musculo.model.coordinate": ("Coordinate",),
    "musculo.model.constraint": (
        "ConstantDistanceConstraint",
        "CoordinateCoupler",
        "EquationConstraint",
        "PointConstraint",
        "PointOnLineConstraint",
        "WeldConstraint",
    ),
    "musculo.model.joints": (
        "Axis",
        "BallJoint",
        "CustomJoint",
        "CylindricalJoint",
        "EllipsoidJoint",
        "FreeJoint",
        "GimbalJoint",
        "Joint",
        "PinJoint",
        "PlanarJoint",
        "ScapulothoracicJoint",
        "ScrewJoint",
        "SliderJoint",
        "UniversalJoint",
        "WeldJoint",
    ),
    "musculo.embedding.embedding": ("embedding_of",),
    "musculo.embedding.fitted": ("Fitted",),
    "musculo.embedding.molecule": ("Molecule",),
    "musculo.embedding.projection": ("Projection",),
    "musculo.embedding.quaternions": ("change_coordinates", "with_quaternions"),
    "musculo.embedding.rates": ("coordinate_rates", "speeds_from_rates"),
    "musculo.dynamics.poses": ("Kinematics", "kinematics"),
    "musculo.dynamics.external": ("ExternalLoad",),
    "musculo.dynamics.inverse": ("bias_forces", "gravity_forces", "inverse_dynamics", "mass_matrix"),
    "musculo.dynamics.joint_reactions": ("joint_reactions",),
    "musculo.dynamics.constraints": ("ConstrainedMotion", "constrained_acceleration", "constraint_residuals"),
    "musculo.dynamics.forward": ("forward_dynamics",),
    "musculo.simulation.constrained": ("constraint_drift", "project_position", "project_velocity"),
    "musculo.simulation.events": ("SimulationEvent",),
    "musculo.simulation.simulate": ("simulate",),
    "musculo.simulation.simulation": ("Simulation",),
    "musculo.muscle.activation": ("activation_rate",),
    "musculo.muscle.capacity": ("active_force_capacity",),
    "musculo.muscle.curves": ("muscle_curves",),
    "musculo.muscle.geometry": ("PathGeometry", "STATUSES", "muscle_geometry", "path_geometry"),
    "musculo.muscle.moment_arm_derivatives": ("moment_arm_derivatives",),
    "musculo.muscle.path_forces": ("path_generalized_forces", "path_tensions"),
    "musculo.muscle.path_wrenches": ("PathWrenches", "path_wrenches"),
    "musculo.muscle.equilibrium": ("muscle_equilibrium", "muscle_force"),
    "musculo.analyses.static_optimisation": ("static_optimisation",),
    "musculo.analyses.static_optimum": ("StaticOptimum",),
    "musculo.analyses.muscle_analysis": ("MuscleAnalysis", "muscle_analysis"),
    "musculo.analyses.marker_placement": ("MovedMarkers", "PlacedMarkers", "move_markers", "place_markers"),
    "musculo.analyses.sensor_placement": ("PlacedSensors", "place_sensors"),
    "musculo.analyses.setup_tasks": ("tasks_of_setup",),
    "musculo.analyses.scale_factors": ("ScaleFactors", "factors_of_setup", "scale_factors"),
    "musculo.analyses.scaling": ("scale_model",),
    "musculo.analyses.joint_loads": ("JointLoads", "joint_loads"),
    "musculo.analyses.body_kinematics": (
        "BodyKinematics",
        "PointKinematics",
        "body_kinematics",
        "point_kinematics",
    ),
    "musculo.analyses.inverse_kinematics": ("InverseKinematics", "inverse_kinematics"),
    "musculo.analyses.motion": ("Motion", "motion_of"),
    "musculo.tools.result": ("ToolResult",),
    "musculo.tools.run": ("run_setup",),
    "musculo.dynamics.energy": (
        "center_of_mass",
        "kinetic_energy",
        "momentum",
        "potential_energy",
        "total_mass",
    ),
    "musculo.model.force": ("Force", "Muscle", "MuscleCurve"),
    "musculo.model.path": ("ConditionalPathPoint", "MovingPathPoint", "Path", "PathPoint", "PathWrap"),
    "musculo.model.wrap": ("WrapCylinder", "WrapEllipsoid", "WrapSphere", "WrapTorus"),
    "musculo.model.path_force": ("Ligament", "PathActuator", "PathSpring"),
    "musculo.viewer": ("Scene", "view"),
    "musculo.dynamics.body_derivatives": ("BodyDerivatives", "body_derivatives"),
    "musculo.analyses.equations_of_motion": ("EquationsOfMotion", "equations_of_motion"),
    "musculo.forces.model_forces": ("ModelForces", "model_forces"),
    "musculo.model.contact": ("ContactGeometry", "ContactMaterial", "contact_force"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "STATUSES",
    "AnalyzeSetup",
    "Axis",
    "BallJoint",
    "Body",
    "BodyDerivatives",
    "BodyKinematics",
    "ConditionalPathPoint",
    "ConstantDistanceConstraint",
    "ConstrainedMotion",
    "ContactGeometry",
    "ContactMaterial",
    "Coordinate",
    "CoordinateCoupler",
    "CustomJoint",
    "CylindricalJoint",
    "EllipsoidJoint",
    "EquationConstraint",
    "EquationsOfMotion",
    "ExternalForce",
    "ExternalLoad",
    "ExternalLoads",
    "Fitted",
    "Force",
    "ForcePlate",
    "FreeJoint",
    "GimbalJoint",
    "IMUInverseKinematicsSetup",
    "IMUPlacerSetup",
    "InvalidFile",
    "InvalidInput",
    "InvalidModel",
    "InverseDynamicsSetup",
    "InverseKinematics",
    "InverseKinematicsSetup",
    "Joint",
    "JointLoads",
    "Kinematics",
    "Ligament",
    "Marker",
    "Markers",
    "Measurement",
    "Model",
    "ModelForces",
    "Molecule",
    "Motion",
    "MovedMarkers",
    "MovingPathPoint",
    "Muscle",
    "MuscleAnalysis",
    "MuscleCurve",
    "MusculoError",
    "MusculoWarning",
    "NaturalSpline",
    "Orientations",
    "Path",
    "PathActuator",
    "PathGeometry",
    "PathPoint",
    "PathSpring",
    "PathWrap",
    "PathWrenches",
    "PinJoint",
    "PlacedMarkers",
    "PlacedSensors",
    "Placement",
    "PlanarJoint",
    "PointConstraint",
    "PointKinematics",
    "PointOnLineConstraint",
    "Projection",
    "Provenance",
    "Recording",
    "ScaleFactors",
    "ScaleSetup",
    "ScapulothoracicJoint",
    "Scene",
    "ScrewJoint",
    "Simulation",
    "SimulationEvent",
    "SingularSystem",
    "SliderJoint",
    "StaticOptimum",
    "Table",
    "ToolResult",
    "UniversalJoint",
    "UnknownName",
    "Unsupported",
    "WeldConstraint",
    "WeldJoint",
    "WrapCylinder",
    "WrapEllipsoid",
    "WrapSphere",
    "WrapTorus",
    "__version__",
    "activation_rate",
    "active_force_capacity",
    "bias_forces",
    "body_derivatives",
    "body_kinematics",
    "center_of_mass",
    "change_coordinates",
    "constrained_acceleration",
    "constraint_drift",
    "constraint_residuals",
    "contact_force",
    "coordinate_rates",
    "embedding_of",
    "equations_of_motion",
    "events_from_force",
    "events_from_markers",
    "factors_of_setup",
    "forward_dynamics",
    "gravity_forces",
    "inverse_dynamics",
    "inverse_kinematics",
    "joint_loads",
    "joint_reactions",
    "kinematics",
    "kinetic_energy",
    "labelled",
    "lowpass",
    "mass_matrix",
    "model_forces",
    "moment_arm_derivatives",
    "momentum",
    "motion_of",
    "move_markers",
    "muscle_analysis",
    "muscle_curves",
    "muscle_equilibrium",
    "muscle_force",
    "muscle_geometry",
    "path_generalized_forces",
    "path_geometry",
    "path_tensions",
    "path_wrenches",
    "place_markers",
    "place_sensors",
    "plates_to_table",
    "point_kinematics",
    "potential_energy",
    "project_position",
    "project_velocity",
    "read_c3d",
    "read_external_loads",
    "read_force_set",
    "read_markers",
    "read_netcdf",
    "read_orientations",
    "read_osim",
    "read_setup",
    "read_storage",
    "read_tasks",
    "read_trc",
    "resample",
    "residual_cutoff",
    "run_setup",
    "scale_factors",
    "scale_model",
    "simulate",
    "smoothing_spline",
    "speeds_from_rates",
    "static_optimisation",
    "tasks_of_setup",
    "time_derivative",
    "total_mass",
    "view",
    "with_force_sets",
    "with_quaternions",
    "write_external_loads",
    "write_netcdf",
    "write_orientations",
    "write_osim",
    "write_storage",
    "write_trc",
]

if TYPE_CHECKING:
    from musculo.analyses.body_kinematics import BodyKinematics, PointKinematics, body_kinematics, point_kinematics
    from musculo.analyses.equations_of_motion import EquationsOfMotion, equations_of_motion
    from musculo.analyses.inverse_kinematics import InverseKinematics, inverse_kinematics
    from musculo.analyses.joint_loads import JointLoads, joint_loads
    from musculo.analyses.marker_placement import MovedMarkers, PlacedMarkers, move_markers, place_markers
    from musculo.analyses.motion import Motion, motion_of
    from musculo.analyses.muscle_analysis import MuscleAnalysis, muscle_analysis
    from musculo.analyses.scale_factors import ScaleFactors, factors_of_setup, scale_factors
    from musculo.analyses.scaling import scale_model
    from musculo.analyses.sensor_placement import PlacedSensors, place_sensors
    from musculo.analyses.setup_tasks import tasks_of_setup
    from musculo.analyses.static_optimisation import static_optimisation
    from musculo.analyses.static_optimum import StaticOptimum
    from musculo.dynamics.body_derivatives import BodyDerivatives, body_derivatives
    from musculo.dynamics.constraints import ConstrainedMotion, constrained_acceleration, constraint_residuals
    from musculo.dynamics.energy import center_of_mass, kinetic_energy, momentum, potential_energy, total_mass
    from musculo.dynamics.external import ExternalLoad
    from musculo.dynamics.forward import forward_dynamics
    from musculo.dynamics.inverse import bias_forces, gravity_forces, inverse_dynamics, mass_matrix
    from musculo.dynamics.joint_reactions import joint_reactions
    from musculo.dynamics.poses import Kinematics, kinematics
    from musculo.embedding.embedding import embedding_of
    from musculo.embedding.fitted import Fitted
    from musculo.embedding.molecule import Molecule
    from musculo.embedding.projection import Projection
    from musculo.embedding.quaternions import change_coordinates, with_quaternions
    from musculo.embedding.rates import coordinate_rates, speeds_from_rates
    from musculo.errors import (
        InvalidFile,
        InvalidInput,
        InvalidModel,
        MusculoError,
        MusculoWarning,
        SingularSystem,
        UnknownName,
        Unsupported,
    )
    from musculo.forces.model_forces import ModelForces, model_forces
    from musculo.io import read_osim, write_osim
    from musculo.io.c3d import read_c3d
    from musculo.io.external_loads import read_external_loads, write_external_loads
    from musculo.io.force_set import read_force_set, with_force_sets
    from musculo.io.markers import read_markers
    from musculo.io.netcdf import read_netcdf, write_netcdf
    from musculo.io.orientations import read_orientations, write_orientations
    from musculo.io.setup import (
        AnalyzeSetup,
        IMUInverseKinematicsSetup,
        IMUPlacerSetup,
        InverseDynamicsSetup,
        InverseKinematicsSetup,
        ScaleSetup,
        read_setup,
        read_tasks,
    )
    from musculo.io.storage import read_storage, write_storage
    from musculo.io.trc import read_trc, write_trc
    from musculo.model.body import Body, Marker, Placement
    from musculo.model.constraint import (
        ConstantDistanceConstraint,
        CoordinateCoupler,
        EquationConstraint,
        PointConstraint,
        PointOnLineConstraint,
        WeldConstraint,
    )
    from musculo.model.contact import ContactGeometry, ContactMaterial, contact_force
    from musculo.model.coordinate import Coordinate
    from musculo.model.force import Force, Muscle, MuscleCurve
    from musculo.model.joints import (
        Axis,
        BallJoint,
        CustomJoint,
        CylindricalJoint,
        EllipsoidJoint,
        FreeJoint,
        GimbalJoint,
        Joint,
        PinJoint,
        PlanarJoint,
        ScapulothoracicJoint,
        ScrewJoint,
        SliderJoint,
        UniversalJoint,
        WeldJoint,
    )
    from musculo.model.measurement import Measurement
    from musculo.model.model import Model
    from musculo.model.path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, PathWrap
    from musculo.model.path_force import Ligament, PathActuator, PathSpring
    from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
    from musculo.muscle.activation import activation_rate
    from musculo.muscle.capacity import active_force_capacity
    from musculo.muscle.curves import muscle_curves
    from musculo.muscle.equilibrium import muscle_equilibrium, muscle_force
    from musculo.muscle.geometry import STATUSES, PathGeometry, muscle_geometry, path_geometry
    from musculo.muscle.moment_arm_derivatives import moment_arm_derivatives
    from musculo.muscle.path_forces import path_generalized_forces, path_tensions
    from musculo.muscle.path_wrenches import PathWrenches, path_wrenches
    from musculo.results.external_loads import ExternalForce, ExternalLoads
    from musculo.results.force_plates import ForcePlate, plates_to_table
    from musculo.results.labelled import labelled
    from musculo.results.markers import Markers
    from musculo.results.orientations import Orientations
    from musculo.results.provenance import Provenance
    from musculo.results.recording import Recording
    from musculo.results.table import Table
    from musculo.signals.events import events_from_force, events_from_markers
    from musculo.signals.lowpass import lowpass
    from musculo.signals.natural import NaturalSpline, resample, smoothing_spline, time_derivative
    from musculo.signals.residual import residual_cutoff
    from musculo.simulation.constrained import constraint_drift, project_position, project_velocity
    from musculo.simulation.events import SimulationEvent
    from musculo.simulation.simulate import simulate
    from musculo.simulation.simulation import Simulation
    from musculo.tools.result import ToolResult
    from musculo.tools.run import run_setup
    from musculo.viewer import Scene, view


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'musculo' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
