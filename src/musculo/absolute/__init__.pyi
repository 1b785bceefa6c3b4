"""What `musculo.absolute` shows and the module that holds it, a line each; `__init__` imports by this list."""

from musculo.absolute.absolute_analysis import AbsoluteAnalysis as AbsoluteAnalysis
from musculo.absolute.absolute_analysis import Status as Status
from musculo.absolute.absolute_analysis import kinematic_analysis as kinematic_analysis
from musculo.absolute.absolute_model import AbsoluteModel as AbsoluteModel
from musculo.absolute.absolute_model import from_model as from_model
from musculo.absolute.constraints.constraint import Constraint as Constraint
from musculo.absolute.constraints.constraint import Equations as Equations
from musculo.absolute.constraints.coordinate_function import CoordinateFunction as CoordinateFunction
from musculo.absolute.constraints.cylindrical import Cylindrical as Cylindrical
from musculo.absolute.constraints.distance import Distance as Distance
from musculo.absolute.constraints.free import Free as Free
from musculo.absolute.constraints.function_joint import FunctionJoint as FunctionJoint
from musculo.absolute.constraints.joint_coordinate import AngleCoordinate as AngleCoordinate
from musculo.absolute.constraints.joint_coordinate import SlideCoordinate as SlideCoordinate
from musculo.absolute.constraints.planar import Planar as Planar
from musculo.absolute.constraints.point_on_ellipsoid import PointOnEllipsoid as PointOnEllipsoid
from musculo.absolute.constraints.point_on_line import PointOnLine as PointOnLine
from musculo.absolute.constraints.revolute import Revolute as Revolute
from musculo.absolute.constraints.rigid import Rigid as Rigid
from musculo.absolute.constraints.scapulothoracic import Scapulothoracic as Scapulothoracic
from musculo.absolute.constraints.screw import Screw as Screw
from musculo.absolute.constraints.seth_ellipsoid import SethEllipsoid as SethEllipsoid
from musculo.absolute.constraints.spherical import Spherical as Spherical
from musculo.absolute.constraints.translational import Translational as Translational
from musculo.absolute.constraints.universal import Universal as Universal
from musculo.absolute.diagnosis import Diagnosis as Diagnosis
from musculo.absolute.drivers.angle_driver import AngleDriver as AngleDriver
from musculo.absolute.drivers.coordinate_driver import CoordinateDriver as CoordinateDriver
from musculo.absolute.drivers.distance_driver import DistanceDriver as DistanceDriver
from musculo.absolute.drivers.driver import Driver as Driver
from musculo.absolute.drivers.euler_driver import EulerDriver as EulerDriver
from musculo.absolute.drivers.orientation_driver import OrientationDriver as OrientationDriver
from musculo.absolute.drivers.pose_driver import PoseDriver as PoseDriver
from musculo.absolute.drivers.position_driver import PositionDriver as PositionDriver
from musculo.absolute.drivers.tangent_driver import TangentDriver as TangentDriver
from musculo.absolute.euler_parameters import matrix_G as matrix_G
from musculo.absolute.euler_parameters import matrix_L as matrix_L
from musculo.absolute.euler_parameters import relative_euler_parameters as relative_euler_parameters
from musculo.absolute.frame import Frame as Frame
from musculo.absolute.given_motion import GivenNumbers as GivenNumbers
from musculo.absolute.given_motion import GivenOrientation as GivenOrientation
from musculo.absolute.given_motion import GivenPose as GivenPose
from musculo.absolute.load_of import LoadOf as LoadOf
from musculo.absolute.mechanism import Mechanism as Mechanism
from musculo.absolute.multiplier_dynamics import AbsoluteLoads as AbsoluteLoads
from musculo.absolute.multiplier_dynamics import loads_by_multipliers as loads_by_multipliers
from musculo.absolute.muscles_on_bodies import muscle_jacobian as muscle_jacobian
from musculo.absolute.parameter_choice import ParameterChoice as ParameterChoice
from musculo.absolute.parameter_choice import choose_parameters as choose_parameters
from musculo.absolute.parameter_choice import judge_parameters as judge_parameters
from musculo.absolute.two_formulations import Agreement as Agreement
from musculo.absolute.two_formulations import agreement as agreement
from musculo.analyses.static_optimization.effort_by_multipliers import EffortByMultipliers as EffortByMultipliers
from musculo.analyses.static_optimization.effort_by_multipliers import (
    static_optimization_by_multipliers as static_optimization_by_multipliers,
)
