"""Parts of the human with drivers for all that can move: by angles, by Euler parameters, or by tangents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis, kinematic_analysis
from musculo.absolute.constraints.constraint import Constraint, Equations
from musculo.absolute.constraints.distance import Distance
from musculo.absolute.constraints.revolute import Revolute
from musculo.absolute.constraints.scapulothoracic import Scapulothoracic
from musculo.absolute.constraints.spherical import Spherical
from musculo.absolute.constraints.universal import Universal
from musculo.absolute.drivers.angle_driver import ABOUT_Z, ALL_AXES, AngleDriver, Pair
from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.drivers.euler_driver import EulerDriver, FourVector
from musculo.absolute.drivers.pose_driver import PoseDriver
from musculo.absolute.drivers.tangent_driver import TangentDriver
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given
from musculo.absolute.mechanism import LoadOf, Mechanism
from musculo.arrays import FloatArray
from musculo.model.body import GROUND, Placement, Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS
from musculo.replications.drivers.human import RIB_CAGE_RADII, Human, HumanJoint
from musculo.replications.drivers.relative_motion import mapped, relative_motion, relative_place

Driver = Literal["angle", "euler", "tangent"]
ROOT = "root"
# About x of the first frame, and about y of the second.
_UNIVERSAL_PAIRS: tuple[Pair, ...] = ((Y_AXIS, Y_AXIS), (Z_AXIS, Y_AXIS), (X_AXIS, X_AXIS), (X_AXIS, Z_AXIS))
_TANGENTS: Mapping[str, tuple[Vec3, ...]] = {
    "spherical": (X_AXIS, Y_AXIS, Z_AXIS),
    "revolute": (Z_AXIS,),
    "universal": (X_AXIS, Y_AXIS),
}


@dataclass(frozen=True, eq=False)
class DrivenHuman:
    """A part of the human as a mechanism; its root has its pose prescribed."""

    human: Human
    part: tuple[str, ...]
    driver: Driver
    mechanism: Mechanism
    joints: tuple[HumanJoint, ...]

    def told(self, motion: AbsoluteAnalysis) -> dict[str, Given]:
        """What the drivers are told, so that relative orientations are those of the bodies in another analysis."""
        found: dict[str, Given] = {ROOT: relative_place(motion, Frame(GROUND), Frame(self.part[0]))}
        for one in self.mechanism.drivers:
            if isinstance(one, FrameDriver) and one.name != ROOT:
                found[one.name] = relative_motion(motion, *one.frames)
        return found

    def joint_constraints(self) -> int:
        """Equations of joints and root, with norms: what the paper counts as joint constraints."""
        driven = sum(self.mechanism.count(one.name) for one in self.mechanism.drivers if one.name != ROOT)
        return self.mechanism.n_equations - driven + self.mechanism.n_norms


def driven_human(
    human: Human,
    part: tuple[str, ...],
    driver: Driver,
    vectors: Mapping[str, tuple[FourVector, ...]] | None = None,
    free: tuple[str, ...] = (),
) -> DrivenHuman:
    """The bodies of a part, joints between them, and drivers.

    Args:
        human: bodies and joints.
        part: its bodies, the one whose pose is prescribed first.
        driver: "angle" and "euler" as in the paper; "tangent" knows no singular orientation.
        vectors: Euler parameters to prescribe at some joints, in place of those of table 1.
        free: joints without a driver.
    """
    chosen = {} if vectors is None else vectors
    joints = tuple(j for j in human.joints if j.parent.body in part and j.child.body in part)
    root = PoseDriver(ROOT, Frame(GROUND), Frame(part[0]))
    equations: list[Equations] = [root]
    chain = [(root.guided, Frame(part[0]))]
    drives: list[FrameDriver] = []
    for joint in joints:
        equations.append(_constraint(human, joint))
        if joint.kind == "scapulothoracic":
            continue
        first, second = Frame(joint.parent), Frame(joint.child)
        if joint.vectors and joint.name not in free:
            drive = _driver(joint, driver, chosen.get(joint.name, joint.vectors))
            drives.append(drive)
            # only this driver moves a frame, from which bodies can be assembled
            if isinstance(drive, TangentDriver):
                first, second = drive.guided, drive.frames[1]
        chain.append((first, second))
        if joint.name.startswith("femur-patella"):
            equations.append(_ligament(human, joint))
    named = {e.name: e for e in (*equations, *drives)}
    loads = [LoadOf(ROOT, (ROOT,), Frame(part[0]), Frame(GROUND))]
    for joint in joints:
        names = tuple(name for name in (joint.name, _drive(joint.name)) if name in named)
        loads.append(LoadOf(joint.name, names, Frame(joint.child), Frame(joint.parent)))
    for one in (*drives, *(e for e in equations if isinstance(e, Distance))):
        loads.append(LoadOf(one.name, (one.name,), one.frames[1], one.frames[0]))
    bodies = tuple(human.bodies[name] for name in part)
    mechanism = Mechanism(bodies, (*equations, *drives), chain=tuple(chain), loads=tuple(loads))
    return DrivenHuman(human, part, driver, mechanism, joints)


def assembled(human: Human, part: tuple[str, ...], motion: AbsoluteAnalysis) -> FloatArray:
    """The position of the human's bodies in the first frame of another analysis, as near as its joints allow.

    Tangent drivers state where to put each body on the one before it; least squares close loops.
    """
    driven = driven_human(human, part, "tangent")
    told = {name: mapped(one, lambda x: x[:1]) for name, one in driven.told(motion).items()}
    return np.asarray(kinematic_analysis(driven.mechanism, told).x[0])


def _drive(joint: str) -> str:
    return f"drive {joint}"


def _constraint(human: Human, joint: HumanJoint) -> Constraint:
    first, second = Frame(joint.parent), Frame(joint.child)
    if joint.kind == "spherical":
        return Spherical(joint.name, first, second)
    if joint.kind == "revolute":
        return Revolute(joint.name, first, second)
    if joint.kind == "universal":
        return Universal(joint.name, first, second)
    side = joint.name[-1]
    return Scapulothoracic(joint.name, first, second, human.glide[side], RIB_CAGE_RADII)


def _ligament(human: Human, joint: HumanJoint) -> Distance:
    """The patellar ligament, which makes the patella follow the knee."""
    side = joint.name[-1]
    tip, tuberosity, length = human.ligament
    first = Frame(Placement(f"tibia_{side}", tuberosity))
    return Distance(f"ligament_{side}", first, Frame(Placement(f"patella_{side}", tip)), length)


def _driver(joint: HumanJoint, driver: Driver, vectors: tuple[FourVector, ...]) -> FrameDriver:
    name = _drive(joint.name)
    if driver == "euler":
        # Euler parameters are those of the bodies' frames
        return EulerDriver(name, joint.parent.body, joint.child.body, vectors)
    if driver == "tangent":
        axes = (Y_AXIS,) if len(joint.vectors) == 1 and joint.kind == "spherical" else _TANGENTS[joint.kind]
        return TangentDriver(name, joint.parent, joint.child, axes)
    if joint.kind == "spherical":
        return AngleDriver(name, joint.parent.body, joint.child.body, ALL_AXES)
    pairs = ABOUT_Z if joint.kind == "revolute" else _UNIVERSAL_PAIRS
    return AngleDriver(name, joint.parent, joint.child, pairs)
