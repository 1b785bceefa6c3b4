"""The kinds of constraints; one file each. Each is a few rows of terms, from which all derivatives follow."""

from musculo.absolute.constraints.constraint import Constraint, Equations
from musculo.absolute.constraints.coordinate_function import CoordinateFunction
from musculo.absolute.constraints.cylindrical import Cylindrical
from musculo.absolute.constraints.distance import Distance
from musculo.absolute.constraints.free import Free
from musculo.absolute.constraints.function_joint import FunctionJoint
from musculo.absolute.constraints.joint_coordinate import AngleCoordinate, SlideCoordinate
from musculo.absolute.constraints.planar import Planar
from musculo.absolute.constraints.point_on_ellipsoid import PointOnEllipsoid
from musculo.absolute.constraints.point_on_line import PointOnLine
from musculo.absolute.constraints.revolute import Revolute
from musculo.absolute.constraints.rigid import Rigid
from musculo.absolute.constraints.scapulothoracic import Scapulothoracic
from musculo.absolute.constraints.screw import Screw
from musculo.absolute.constraints.seth_ellipsoid import SethEllipsoid
from musculo.absolute.constraints.spherical import Spherical
from musculo.absolute.constraints.translational import Translational
from musculo.absolute.constraints.universal import Universal

__all__ = [
    "AngleCoordinate",
    "Constraint",
    "CoordinateFunction",
    "Cylindrical",
    "Distance",
    "Equations",
    "Free",
    "FunctionJoint",
    "Planar",
    "PointOnEllipsoid",
    "PointOnLine",
    "Revolute",
    "Rigid",
    "Scapulothoracic",
    "Screw",
    "SethEllipsoid",
    "SlideCoordinate",
    "Spherical",
    "Translational",
    "Universal",
]
