"""Drivers: constraints that prescribe motion over time; one file each."""

from musculo.absolute.drivers.angle_driver import AngleDriver
from musculo.absolute.drivers.coordinate_driver import CoordinateDriver
from musculo.absolute.drivers.distance_driver import DistanceDriver
from musculo.absolute.drivers.driver import Driver
from musculo.absolute.drivers.euler_driver import EulerDriver
from musculo.absolute.drivers.orientation_driver import OrientationDriver
from musculo.absolute.drivers.pose_driver import PoseDriver
from musculo.absolute.drivers.position_driver import PositionDriver
from musculo.absolute.drivers.tangent_driver import TangentDriver

__all__ = [
    "AngleDriver",
    "CoordinateDriver",
    "DistanceDriver",
    "Driver",
    "EulerDriver",
    "OrientationDriver",
    "PoseDriver",
    "PositionDriver",
    "TangentDriver",
]
