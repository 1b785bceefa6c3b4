"""The kinds of joints; one file each."""

from musculo.model.joints.ball import BallJoint
from musculo.model.joints.custom import CustomJoint
from musculo.model.joints.cylindrical_joint import CylindricalJoint
from musculo.model.joints.ellipsoid_joint import EllipsoidJoint
from musculo.model.joints.free_joint import FreeJoint
from musculo.model.joints.gimbal import GimbalJoint
from musculo.model.joints.joint import Axis, Joint
from musculo.model.joints.pin import PinJoint
from musculo.model.joints.planar_joint import PlanarJoint
from musculo.model.joints.scapulothoracic_joint import ScapulothoracicJoint
from musculo.model.joints.screw_joint import ScrewJoint
from musculo.model.joints.slider import SliderJoint
from musculo.model.joints.universal_joint import UniversalJoint
from musculo.model.joints.unsupported_joint import UnsupportedJoint
from musculo.model.joints.weld import WeldJoint

__all__ = [
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
    "UnsupportedJoint",
    "WeldJoint",
]
