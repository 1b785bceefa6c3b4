"""A skeleton of 55 degrees of freedom from public anthropometry, rooted at the pelvis or at a foot.

Six coordinates place the root, 12 are of the spine (four joints), 5 of the neck, 9 of each arm and 7 of each leg: the
branches of [Barman2020], section 5.1, which does not count them. Axes: x forward, y up, z to the right; all
coordinates are zero in upright standing, arms hanging. Left and right coordinates of one name have the same value in
mirrored poses.

Masses, lengths, mass centers and radii of gyration are those of [DeLeva1996]; widths and the height of the ankle those
of [DrillisContini1966]; the distance of the hips, the place of ankle and toe joint along the foot and the mass of the
toes, which neither has, those of [Delp1990], in proportion to stature or foot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.model.anthropometry import Sex, body_proportion, segment_length
from musculo.model.body import GROUND, Marker, Placement, Vec3
from musculo.model.coordinate import Coordinate
from musculo.model.joints.custom import CustomJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, Axis, Joint, along
from musculo.model.joints.weld import WeldJoint
from musculo.model.model import Model
from musculo.replications.prediction.skeleton_bodies import (
    SIDES,
    SPINE,
    SPINE_BODIES,
    STERNUM_PART,
    Sizes,
    arm_parts,
    body_of,
    leg_parts,
    outward,
    sizes,
    trunk_parts,
)

Root = Literal["pelvis", "left_foot"]


def skeleton(
    sex: Sex = "male",
    body_mass: float = 73.0,
    stature: float = 1.741,
    *,
    root: Root = "pelvis",
    frozen: tuple[str, ...] = (),
) -> Model:
    """The skeleton as a model; by default the mean man of [DeLeva1996].

    Args:
        sex: of the tables.
        body_mass: [kg].
        stature: [m].
        root: the body whose six coordinates come first: the pelvis, at the middle of the hips, or the left toes, whose
            frame then turns about the heel of the flat foot. All other coordinates are the same ones.
        frozen: coordinates whose names begin so stay at zero; they are left out.
    """
    s = sizes(sex, body_mass, stature)
    parts = trunk_parts(sex, s) | arm_parts(sex, s) | leg_parts(sex, s)
    joints: list[CustomJoint] = [*_trunk_joints(sex, s), *_arm_joints(sex, s), *_leg_joints(s)]
    if root == "pelvis":
        first = [_root("pelvis", "pelvis", (0.0, s.hip_height, 0.0), (0.0, 0.0, 0.0))]
    else:
        first = [_root("foot", "toes_l", (0.0, 0.0, 0.0), (-s.heel_to_ball, 0.0, 0.0))]
        turned = ("mtp_l", "ankle_l", "knee_l", "hip_l")
        first += [_reversed(next(j for j in joints if j.name == name)) for name in turned]
        joints = [j for j in joints if j.name not in turned]
    bodies = {name: body_of(name, part) for name, part in parts.items()}
    ordered = [_without(joint, frozen) for joint in (*first, *joints)]
    return Model(
        f"skeleton_{root}",
        tuple(bodies[j.child.body] for j in ordered),
        tuple(ordered),
        markers=tuple(_markers(s)),
    )


def mirror_of(names: Sequence[str]) -> tuple[IntArray, FloatArray]:
    """(n,) column and (n,) sign of each coordinate's mirror: mirrored q = sign * q[column].

    Left and right change places; sideways motion, bending and axial turns of the trunk change their sign.
    """
    column = np.arange(len(names), dtype=np.int64)
    sign = np.ones(len(names))
    for k, name in enumerate(names):
        if name.endswith(("_r", "_l")):
            column[k] = list(names).index(name[:-1] + ("l" if name.endswith("r") else "r"))
        elif name.endswith(("_bending", "_rotation", "_list", "_tz")):
            sign[k] = -1.0
    return column, sign


def _without(joint: CustomJoint, frozen: tuple[str, ...]) -> Joint:
    """The joint with some of its rotations held at zero."""
    if not frozen or not any(name.startswith(frozen) for name in joint.coordinate_names):
        return joint
    turns = [axis for axis in joint.rotations if axis.coordinates and not axis.coordinates[0].startswith(frozen)]
    if not turns:
        return WeldJoint(joint.name, joint.parent, joint.child)
    kept = tuple(one for one in joint.coordinates if not one.name.startswith(frozen))
    return replace(joint, coordinates=kept, rotations=_three(turns))


def _trunk_joints(sex: Sex, s: Sizes) -> list[CustomJoint]:
    def length(name: str) -> float:
        return segment_length(name, sex, s.stature)

    rises = (length("lower_trunk"), *(0.5 * length("middle_trunk"),) * 2, 0.5 * length("thorax"))
    below = ("pelvis", *SPINE_BODIES[:-1])
    joints = [
        _joint(name, parent, child, (0.0, rise, 0.0), _spinal(name), _SPINE_RANGES[name])
        for name, parent, child, rise in zip(SPINE, below, SPINE_BODIES, rises, strict=True)
    ]
    top = (0.0, 0.5 * length("thorax"), 0.0)
    joints.append(_joint("neck_lower", SPINE_BODIES[-1], "neck", top, _spinal("neck_lower"), _NECK_RANGES))
    up = (0.0, length("head_neck") - length("head"), 0.0)
    joints.append(_joint("neck_upper", "neck", "head", up, _spinal("neck_upper")[:2], _NECK_RANGES[:2]))
    return joints


def _spinal(name: str) -> list[tuple[str, Vec3]]:
    return [(f"{name}_extension", Z_AXIS), (f"{name}_bending", X_AXIS), (f"{name}_rotation", Y_AXIS)]


def _arm_joints(sex: Sex, s: Sizes) -> list[CustomJoint]:
    joints: list[CustomJoint] = []
    half = body_proportion("half_shoulder_width", s.stature)
    # the shoulders' height above the middle of the thorax, where the uppermost body of the spine begins
    begin = segment_length("whole_trunk", sex, s.stature) - 0.5 * segment_length("thorax", sex, s.stature)
    rise = segment_length("shoulder_hip", sex, s.stature) - begin
    for side in SIDES:
        out = outward(side)
        joints += [
            _joint(
                f"sternoclavicular_{side}", "thorax_upper", f"clavicle_{side}", (0.0, rise, out * STERNUM_PART * half),
                [(f"clavicle_protraction_{side}", (0.0, out, 0.0)), (f"clavicle_elevation_{side}", (-out, 0.0, 0.0))],
                (0.35, 0.35),
            ),
            _joint(
                f"shoulder_{side}", f"clavicle_{side}", f"upper_arm_{side}",
                (0.0, 0.0, out * (1.0 - STERNUM_PART) * half),
                [(f"arm_flexion_{side}", Z_AXIS), (f"arm_adduction_{side}", (out, 0.0, 0.0)),
                 (f"arm_rotation_{side}", (0.0, out, 0.0))],
                (_deg(-60, 170), _deg(-150, 20), _deg(-60, 60)),
            ),
            _joint(
                f"elbow_{side}", f"upper_arm_{side}", f"forearm_{side}",
                (0.0, -segment_length("upper_arm", sex, s.stature), 0.0),
                [(f"elbow_flexion_{side}", Z_AXIS), (f"pronation_{side}", (0.0, out, 0.0))],
                (_deg(0, 145), _deg(-80, 80)),
            ),
            _joint(
                f"wrist_{side}", f"forearm_{side}", f"hand_{side}",
                (0.0, -segment_length("forearm", sex, s.stature), 0.0),
                [(f"wrist_flexion_{side}", (out, 0.0, 0.0)), (f"wrist_deviation_{side}", Z_AXIS)],
                (_deg(-70, 70), _deg(-25, 25)),
            ),
        ]  # fmt: skip
    return joints


def _leg_joints(s: Sizes) -> list[CustomJoint]:
    joints: list[CustomJoint] = []
    for side in SIDES:
        out = outward(side)
        joints += [
            _joint(
                f"hip_{side}", "pelvis", f"thigh_{side}", (0.0, 0.0, out * s.hip_half_width),
                [(f"hip_flexion_{side}", Z_AXIS), (f"hip_adduction_{side}", (out, 0.0, 0.0)),
                 (f"hip_rotation_{side}", (0.0, out, 0.0))],
                (_deg(-20, 120), _deg(-45, 30), _deg(-45, 45)),
            ),
            _joint(
                f"knee_{side}", f"thigh_{side}", f"shank_{side}", (0.0, -s.thigh, 0.0),
                [(f"knee_flexion_{side}", (0.0, 0.0, -1.0))],
                (_deg(0, 140),),
            ),
            _joint(
                f"ankle_{side}", f"shank_{side}", f"foot_{side}", (0.0, -s.shank, 0.0),
                [(f"ankle_dorsiflexion_{side}", Z_AXIS), (f"ankle_inversion_{side}", (out, 0.0, 0.0))],
                (_deg(-50, 20), _deg(-20, 35)),
            ),
            _joint(
                f"mtp_{side}", f"foot_{side}", f"toes_{side}",
                (s.heel_to_ball - s.heel_to_ankle, -s.ankle_height, 0.0),
                [(f"toe_extension_{side}", Z_AXIS)],
                (_deg(-30, 70),),
            ),
        ]  # fmt: skip
    return joints


def _markers(s: Sizes) -> list[Marker]:
    """Points that touch the ground and points that must not touch each other."""
    found = []
    for side in SIDES:
        found += [
            Marker(f"heel_{side}", f"foot_{side}", (-s.heel_to_ankle, -s.ankle_height, 0.0)),
            Marker(f"ball_{side}", f"foot_{side}", (s.heel_to_ball - s.heel_to_ankle, -s.ankle_height, 0.0)),
            Marker(f"toe_{side}", f"toes_{side}", (s.foot_length - s.heel_to_ball, 0.0, 0.0)),
            Marker(f"wrist_{side}", f"hand_{side}", (0.0, 0.0, 0.0)),
            Marker(f"hip_{side}", f"thigh_{side}", (0.0, 0.0, 0.0)),
        ]
    return found


def _deg(low: float, high: float) -> tuple[float, float]:
    return float(np.radians(low)), float(np.radians(high))


# Flexion to extension, bending, rotation of each spinal joint: parts of the ranges of lumbar and thoracic spine.
_LUMBAR = (_deg(-25, 12), _deg(-12, 12), _deg(-5, 5))
_THORACIC = (_deg(-15, 10), _deg(-12, 12), _deg(-17, 17))
_SPINE_RANGES = dict(zip(SPINE, (_LUMBAR, _LUMBAR, _THORACIC, _THORACIC), strict=True))
_NECK_RANGES = (_deg(-45, 45), _deg(-35, 35), _deg(-60, 60))


def _joint(
    name: str,
    parent: str,
    child: str,
    at: Vec3,
    motions: Sequence[tuple[str, Vec3]],
    ranges: Sequence[tuple[float, float] | float],
) -> CustomJoint:
    limits = [one if isinstance(one, tuple) else (-one, one) for one in ranges]
    axes = [along(direction, coordinate) for coordinate, direction in motions]
    return CustomJoint(
        name,
        Placement(parent, at),
        Placement(child),
        tuple(Coordinate(c, range=limit) for (c, _), limit in zip(motions, limits, strict=True)),
        rotations=_three(axes),
    )


def _three(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """As many rotations as OpenSim's joint has: about axes that are left, by nothing."""
    free = [one for one in (X_AXIS, Y_AXIS, Z_AXIS) if all(np.dot(one, axis.direction) == 0.0 for axis in axes)]
    return (*axes, *(Axis(one) for one in free))


def _root(name: str, body: str, at: Vec3, origin: Vec3) -> CustomJoint:
    """Three translations along axes of ground, then turns about y, x and z."""
    turns = [(f"{name}_rotation", Y_AXIS), (f"{name}_list", X_AXIS), (f"{name}_tilt", Z_AXIS)]
    moves = [(f"{name}_t{axis}", direction) for axis, direction in zip("xyz", (X_AXIS, Y_AXIS, Z_AXIS), strict=True)]
    limits = {"tilt": _deg(-60, 60), "list": _deg(-30, 30), "rotation": _deg(-45, 45)}
    coordinates = [Coordinate(c, range=(-5.0, 5.0)) for c, _ in moves]
    coordinates += [Coordinate(c, range=limits[c.rsplit("_", 1)[1]]) for c, _ in turns]
    return CustomJoint(
        "root",
        Placement(GROUND, at),
        Placement(body, origin),
        tuple(coordinates),
        rotations=tuple(along(direction, c) for c, direction in turns),
        translations=tuple(along(direction, c) for c, direction in moves),
    )


def _reversed(joint: CustomJoint) -> CustomJoint:
    """The same rotations seen from the child: in the opposite order, about the opposite axes."""
    turned = [
        Axis(tuple(-x for x in axis.direction), axis.function, axis.coordinates)  # type: ignore[arg-type]
        for axis in reversed(joint.rotations)
    ]
    return CustomJoint(joint.name, joint.child, joint.parent, joint.coordinates, rotations=tuple(turned))
