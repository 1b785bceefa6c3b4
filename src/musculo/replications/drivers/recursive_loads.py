"""The human as a tree of joints with coordinates, and its joint loads by the recursion: the other road.

The tree has no equations for scapulae on the rib cage and for patellar ligaments. Their forces are loads from outside
here. Where the motion of a joint is not driven, its generalized forces are zero, and that determines these loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis
from musculo.absolute.drivers.euler_driver import EulerDriver
from musculo.absolute.euler_parameters import product
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import GivenOrientation, GivenPose
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.inverse import TransmittedLoads, transmitted_loads
from musculo.dynamics.loads.external import ExternalLoad, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.model.body import GROUND, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints.ball import BallJoint
from musculo.model.joints.free_joint import FreeJoint
from musculo.model.joints.joint import Joint
from musculo.model.joints.pin import PinJoint
from musculo.model.joints.quaternion import quaternion_coordinates
from musculo.model.joints.universal_joint import UniversalJoint
from musculo.model.model import Model
from musculo.replications.drivers.driven_human import ROOT, DrivenHuman
from musculo.replications.drivers.human import RIB_CAGE_CENTER, RIB_CAGE_RADII, HumanJoint
from musculo.replications.drivers.relative_motion import relative_motion, relative_place
from musculo.spatial.rotation import from_quaternion


class LoopForce(NamedTuple):
    """A force between two bodies that closes a loop: on the second body, opposite on the first, one for each unit."""

    name: str
    first: str
    second: str
    point: FloatArray  # (frames, 3) in ground [m]
    direction: FloatArray  # (frames, 3) in ground

    def loads(self, size: FloatArray) -> list[ExternalLoad]:
        """As loads from outside, of size (frames,) [N]."""
        force = size[:, None] * self.direction
        return [ExternalLoad(self.second, force, self.point), ExternalLoad(self.first, -force, self.point)]


class RecursiveLoads(NamedTuple):
    """Loads of all joints by the recursion, and the forces of loops."""

    joint_names: tuple[str, ...]
    force: FloatArray  # (frames, joints, 3) on the outboard body at its joint frame, in ground [N]
    moment: FloatArray  # (frames, joints, 3) [N m]
    loops: dict[str, FloatArray]  # (frames,) [N] by name


def tree_of(driven: DrivenHuman) -> Model:
    """The part as a model: joints of the tree with their coordinates."""
    joints: list[Joint] = [_root(driven.part[0])]
    joints += [_joint(one) for one in driven.joints if one.kind != "scapulothoracic"]
    return Model("human", driven.mechanism.bodies, tuple(joints))


def _root(body: str) -> FreeJoint:
    turning = quaternion_coordinates(ROOT, tuple(Coordinate(f"{ROOT}_r{axis}") for axis in "xyz"))
    sliding = tuple(Coordinate(f"{ROOT}_t{axis}") for axis in "xyz")
    return FreeJoint(ROOT, Placement(GROUND), Placement(body), turning + sliding, quaternion=True)


def _joint(one: HumanJoint) -> Joint:
    if one.kind == "spherical":
        angles = quaternion_coordinates(one.name, tuple(Coordinate(f"{one.name}_r{axis}") for axis in "xyz"))
        return BallJoint(one.name, one.parent, one.child, angles, quaternion=True)
    if one.kind == "revolute":
        return PinJoint(one.name, one.parent, one.child, (Coordinate(one.name),))
    return UniversalJoint(one.name, one.parent, one.child, (Coordinate(f"{one.name}_1"), Coordinate(f"{one.name}_2")))


def motion_in_tree(model: Model, motion: AbsoluteAnalysis) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, u, udot of the tree's joints as the bodies move."""
    parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for joint in model.joints:
        first, second = Frame(joint.parent), Frame(joint.child)
        if isinstance(joint, FreeJoint):
            pose: GivenPose = relative_place(motion, first, second)
            (p, omega, alpha), place = pose.orientation, pose.place
            turned = np.hstack([p, place.value])
            parts.append((turned, np.hstack([omega, place.rate]), np.hstack([alpha, place.acceleration])))
            continue
        given = relative_motion(motion, first, second)
        if isinstance(joint, BallJoint):
            parts.append((given.parameters, given.omega, given.alpha))
        elif isinstance(joint, PinJoint):
            e0, _, _, e3 = given.parameters.T
            angle = np.unwrap(2.0 * np.arctan2(e3, e0))
            parts.append((angle[:, None], given.omega[:, 2:], given.alpha[:, 2:]))
        else:
            parts.append(_universal(given))
    q, u, udot = (np.hstack([part[k] for part in parts]) for k in range(3))
    return q, u, udot


def _universal(given: GivenOrientation) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Angles about x and then y: omega = a' x + b' y2, with y2 = (0, cos a, sin a)."""
    R = from_quaternion(given.parameters)
    a = np.unwrap(np.arctan2(R[:, 2, 1], R[:, 1, 1]))
    b = np.unwrap(np.arctan2(R[:, 0, 2], R[:, 0, 0]))
    c, s = np.cos(a), np.sin(a)
    rate, second = ((x[:, 0], c * x[:, 1] + s * x[:, 2]) for x in (given.omega, given.alpha))
    return np.stack([a, b], 1), np.stack(rate, 1), np.stack(second, 1)


def loop_forces(driven: DrivenHuman, motion: AbsoluteAnalysis) -> list[LoopForce]:
    """The rib cage on both points of each scapula, normal to it, and the patellar ligaments, along them."""
    found = []
    center, radii = np.array(RIB_CAGE_CENTER), np.array(RIB_CAGE_RADII)
    for joint in driven.joints:
        side = joint.name[-1]
        if joint.kind == "scapulothoracic":
            thorax, scapula = joint.parent.body, joint.child.body
            R = motion.rotation(thorax)
            for k, point in enumerate(driven.human.glide[side]):
                place = _place(motion, scapula, point)
                local = np.einsum("fji,fj->fi", R, place - motion.place(thorax)) - center
                normal = local / radii**2
                normal /= np.linalg.norm(normal, axis=1, keepdims=True)
                found.append(
                    LoopForce(f"{joint.name} {k + 1}", thorax, scapula, place, np.einsum("fij,fj->fi", R, normal))
                )
        elif joint.name.startswith("femur-patella"):
            tip, tuberosity, _ = driven.human.ligament
            end = _place(motion, f"patella_{side}", tip)
            along = _place(motion, f"tibia_{side}", tuberosity) - end
            along /= np.linalg.norm(along, axis=1, keepdims=True)
            found.append(LoopForce(f"ligament_{side}", f"tibia_{side}", f"patella_{side}", end, along))
    return found


def _place(motion: AbsoluteAnalysis, body: str, point: Sequence[float]) -> FloatArray:
    return np.asarray(motion.place(body) + motion.rotation(body) @ np.asarray(point, dtype=float))


def recursive_loads(
    driven: DrivenHuman,
    motion: AbsoluteAnalysis,
    outside: Sequence[ExternalLoad] = (),
    loops: dict[str, FloatArray] | None = None,
) -> RecursiveLoads:
    """Loads of all joints of a motion by the recursion.

    Args:
        driven: the part, whose drivers say what is not driven.
        motion: of its bodies.
        outside: loads in ground.
        loops: the sizes of the loops' forces (frames,), where they are given; else they follow from what is not
            driven, if that determines them: not with six angles at a joint of the girdle.
    """
    model = tree_of(driven)
    q, u, udot = motion_in_tree(model, motion)
    closing = loop_forces(driven, motion)

    def transmitted(loads: Sequence[ExternalLoad]) -> TransmittedLoads:
        wrenches = node_wrenches(compiled(model, merged=False), loads, len(q), lambda: kinematics(model, q))
        return transmitted_loads(model, q, u, udot, wrenches if loads else None, None)

    sizes = loops
    if sizes is None:
        open_tau = transmitted(outside).tau
        one = np.ones(len(q))
        columns = [open_tau - transmitted([*outside, *loop.loads(one)]).tau for loop in closing]
        sizes = _sizes(driven, model, motion, closing, open_tau, columns)
    acting = [*outside, *(load for loop in closing for load in loop.loads(sizes[loop.name]))]
    found = transmitted(acting)
    return RecursiveLoads(model.joint_names, found.force, found.moment, sizes)


def _sizes(
    driven: DrivenHuman,
    model: Model,
    motion: AbsoluteAnalysis,
    closing: Sequence[LoopForce],
    tau: FloatArray,
    columns: Sequence[FloatArray],
) -> dict[str, FloatArray]:
    """Sizes of the loops' forces: tau - sum_k size_k column_k is what drivers do, and nothing where there is none.

    At a spherical joint that one Euler parameter drives, its driver does a multiple of v . dp/domega.
    """
    found: dict[str, FloatArray] = {}
    drivers = {one.name: one for one in driven.mechanism.drivers}
    for joint in driven.joints:
        own = [k for k, loop in enumerate(closing) if _closed_by(joint, loop)]
        if not own:
            continue
        at = [model.speed_index(name) for name in model.joint(joint.name).speed_names]
        unknown = [columns[k][:, at] for k in own]
        driver = drivers.get(f"drive {joint.name}")
        if isinstance(driver, EulerDriver):
            p = relative_motion(motion, *driver.frames).parameters
            for v in driver.vectors:
                turned = [
                    product(np.broadcast_to(np.eye(4)[1 + axis], p.shape), p) @ np.asarray(v) for axis in range(3)
                ]
                unknown.append(np.stack(turned, axis=1))
        solved = np.linalg.solve(np.stack(unknown, axis=2), tau[:, at, None])[:, :, 0]
        found |= {closing[k].name: np.asarray(solved[:, n], dtype=float) for n, k in enumerate(own)}
    return found


def _closed_by(joint: HumanJoint, loop: LoopForce) -> bool:
    """Whether a loop's force is what is left at this joint: at the acromioclavicular joint, and at the patella."""
    return joint.child.body == loop.second and joint.kind != "scapulothoracic"


def difference(motion: AbsoluteAnalysis, theirs: RecursiveLoads, ignored: Sequence[str] = ()) -> float:
    """The largest difference of forces and moments in joints, each as a part of the largest of its kind."""
    kept = [k for k, name in enumerate(theirs.joint_names) if name not in ignored]
    names = [theirs.joint_names[k] for k in kept]
    force, moment = (np.stack([motion.load(name)[i] for name in names], axis=1) for i in (0, 1))
    apart = []
    for ours, recursive in ((force, theirs.force), (moment, theirs.moment)):
        apart.append(np.abs(ours - recursive[:, kept]).max() / np.abs(recursive).max())
    return float(max(apart))


def loop_difference(driven: DrivenHuman, motion: AbsoluteAnalysis, theirs: RecursiveLoads) -> float:
    """The same of the forces that close loops."""
    total: dict[str, FloatArray] = {}
    for loop in loop_forces(driven, motion):
        constraint = loop.name.split()[0]
        total[constraint] = total.get(constraint, 0.0) + theirs.loops[loop.name][:, None] * loop.direction
    apart = [np.abs(motion.load(name)[0] - force).max() / np.abs(force).max() for name, force in total.items()]
    return float(max(apart))
