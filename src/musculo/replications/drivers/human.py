"""A human of 26 bodies and 27 joints in absolute coordinates.

The bodies and joints are those of [Antunes2025], section 4.1, which does not state their sizes. Axes of all bodies are
those of the ISB [Wu2002] [Wu2005]: x forward, y up, z to the right, also on the left side, in upright standing with
hanging arms; the clavicle's z axis is along the bone, the scapula's z axis along its spine. A body's origin is at its
proximal joint, that of the thorax at the incisura jugularis.

Masses, lengths and inertias are those of [DeLeva1996] for the mean man, hips and feet those of the skeleton in
`replications.prediction.skeleton`. The sources do not divide girdle, forearm and knee as this human does. These shares
are ours: a girdle is a twentieth of the upper trunk (clavicle and scapula in proportion 1 to 4.5), ulna and radius are
halves of the forearm, and a patella is a hundredth of the thigh. The rib cage and the sizes of the girdle's bones are
rounded sizes of an adult, and ours too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from musculo.absolute.drivers.euler_driver import E1, E2, E3, FourVector
from musculo.arrays import FloatArray
from musculo.model.anthropometry import Sex, rigid_segment, segment_length
from musculo.model.body import Body, Placement, Vec3
from musculo.replications.prediction.skeleton_bodies import GIRDLE_SHARE, SIDES, Sizes, body_of, leg_parts, moved, sizes
from musculo.spatial.inertia import RigidInertia
from musculo.spatial.rotation import axis_rotation, to_xyz

Kind = Literal["spherical", "revolute", "universal", "scapulothoracic"]

# The mean man [kg, m].
SEX: Sex = "male"
BODY_MASS, STATURE = 73.0, 1.741
# The girdle at rest, angles to the thorax about y, x and z [rad]: retraction and elevation of the clavicle;
# protraction, lateral rotation and tilt of the scapula; rounded from [Ludewig2009].
CLAVICLE_AT_REST = np.radians([-20.0, -8.0, 0.0])
SCAPULA_AT_REST = np.radians([35.0, -3.0, -10.0])
_CLAVICLE = 0.150
_STERNOCLAVICULAR: Vec3 = (-0.010, 0.000, 0.022)
# In scapular axes from the acromioclavicular joint; the landmarks TS, AI and AA are in one plane across x.
_TRIGONUM: Vec3 = (-0.030, -0.010, -0.095)
_INFERIOR_ANGLE: Vec3 = (-0.030, -0.125, -0.080)
_GLENOHUMERAL: Vec3 = (0.005, -0.045, 0.010)
# The ellipsoid that both landmarks glide on, with the tissue between.
RIB_CAGE_CENTER: Vec3 = (-0.060, -0.120, 0.0)
RIB_CAGE_RADII: Vec3 = (0.095, 0.250, 0.147)
_CLAVICLE_PART = 1.0 / 5.5
_PATELLA_PART = 0.01
_TALUS_PART = 0.1 / 1.35  # of hind foot and talus [Delp1990]
# Of the femur: where the patella turns, and the ligament from its tip to the tibia at rest, after [Delp1990].
_PATELLA_AXIS: Vec3 = (0.012, 0.010, 0.0)
_PATELLA_TIP: Vec3 = (0.040, -0.010, 0.0)
_TIBIAL_TUBEROSITY: Vec3 = (0.035, -0.065, 0.0)
# The subtalar axis in the talus and its place below and behind the ankle [Delp1990].
_SUBTALAR_AXIS: Vec3 = (0.787, 0.605, -0.121)
# The knee's axis is not quite the femur's z axis: ours.
_KNEE_AXIS: Vec3 = (-0.06, 0.04, 1.0)


@dataclass(frozen=True)
class Axes:
    """Axes of elbow and forearm in the humerus and in the ulna."""

    humeroulnar: Vec3 = (0.0, 0.0, 1.0)
    radioulnar: Vec3 = (0.0, 1.0, 0.0)


@dataclass(frozen=True)
class HumanJoint:
    """A joint between frames on two bodies: revolute about z, universal about x of the first and y of the second."""

    name: str
    kind: Kind
    parent: Placement
    child: Placement
    vectors: tuple[FourVector, ...] = ()  # what table 1 prescribes of the bodies' relative Euler parameters


class Ligament(NamedTuple):
    """A patellar ligament: a point of the patella at a distance from one of the tibia [m]."""

    tip: Vec3
    tuberosity: Vec3
    length: float


@dataclass(frozen=True)
class Human:
    """Bodies and joints; `glide` are the points of each scapula on the rib cage."""

    bodies: Mapping[str, Body]
    joints: tuple[HumanJoint, ...]
    glide: Mapping[str, tuple[Vec3, Vec3]]
    ligament: Ligament

    def joint(self, name: str) -> HumanJoint:
        """The joint of this name."""
        return next(j for j in self.joints if j.name == name)


# Parts, the body whose motion is prescribed first: both that the paper analyzes, and all.
RIGHT_ARM = ("thorax", *(f"{bone}_r" for bone in ("clavicle", "scapula", "humerus", "ulna", "radius", "hand")))
_LEG = ("femur", "patella", "tibia", "talus", "foot", "toes")
LOWER_BODY = ("pelvis", *(f"{bone}_{side}" for side in SIDES for bone in _LEG))
WHOLE_BODY = (
    *LOWER_BODY,
    *RIGHT_ARM,
    *(name.replace("_r", "_l") for name in RIGHT_ARM[1:]),
)


def human(axes: Axes | None = None) -> Human:
    """The mean man. A generating model has other axes of elbow and forearm than the one that is analyzed."""
    own = Axes() if axes is None else axes
    s = sizes(SEX, BODY_MASS, STATURE)
    bodies = {name: body_of(name, part) for name, part in (_trunk() | _arms() | _legs(s)).items()}
    joints = [_lumbar()]
    for side in SIDES:
        joints += _arm_joints(side, own) + _leg_joints(side, s)
    rest = float(np.linalg.norm(np.subtract(np.add(_PATELLA_AXIS, _PATELLA_TIP), _TIBIAL_TUBEROSITY)))
    glide = {side: _glide(side) for side in SIDES}
    return Human(bodies, tuple(joints), glide, Ligament(_PATELLA_TIP, _TIBIAL_TUBEROSITY, rest))


def turned(angles: FloatArray, order: str = "yxz") -> FloatArray:
    """The rotation by body-fixed angles about these axes."""
    R = np.eye(3)
    for angle, axis in zip(angles, order, strict=True):
        R = R @ axis_rotation(np.eye(3)["xyz".index(axis)], float(angle))
    return R


def on_side(place: Vec3, side: str) -> Vec3:
    """A place on the right side, or its mirror image."""
    x, y, z = place
    return x, y, z if side == "r" else -z


def _mirrored(R: FloatArray, side: str) -> FloatArray:
    """The orientation of a body on this side, from that on the right."""
    flip = np.diag([1.0, 1.0, -1.0])
    return R if side == "r" else flip @ R @ flip


def at_rest(side: str) -> tuple[FloatArray, FloatArray]:
    """Orientations of clavicle and scapula in the thorax, standing."""
    return _mirrored(turned(CLAVICLE_AT_REST), side), _mirrored(turned(SCAPULA_AT_REST), side)


def _trunk() -> dict[str, RigidInertia]:
    def part(name: str, above: float, share: float = 1.0) -> RigidInertia:
        return moved(rigid_segment(name, SEX, BODY_MASS, STATURE, share=share), (0.0, above, 0.0))

    def length(name: str) -> float:
        return segment_length(name, SEX, STATURE)

    neck = length("whole_trunk") - length("trunk")
    thorax = RigidInertia.total(
        [
            part("head_neck", neck + length("head_neck")),
            part("upper_trunk", 0.0, 1.0 - 2.0 * GIRDLE_SHARE),
            part("middle_trunk", -length("upper_trunk")),
        ]
    )
    return {"thorax": thorax, "pelvis": part("lower_trunk", length("lower_trunk"))}


def _plate(mass: float, corners: FloatArray) -> RigidInertia:
    """A thin plate, as a third of its mass at the middle of each side (exact for a uniform triangle)."""
    middles = 0.5 * (corners + np.roll(corners, -1, axis=0))
    return RigidInertia.total([RigidInertia(mass / 3.0, p, np.zeros((3, 3))) for p in middles])


def _rod(mass: float, start: FloatArray, end: FloatArray, radius: float) -> RigidInertia:
    along = end - start
    length2 = float(along @ along)
    across = np.eye(3) - np.outer(along, along) / length2
    around = 0.25 * mass * radius**2 * (np.eye(3) + np.outer(along, along) / length2)
    return RigidInertia(mass, 0.5 * (start + end), mass * length2 / 12.0 * across + around)


def _arms() -> dict[str, RigidInertia]:
    found = {}
    girdle = rigid_segment("upper_trunk", SEX, BODY_MASS, STATURE, share=GIRDLE_SHARE).mass
    forearm = rigid_segment("forearm", SEX, BODY_MASS, STATURE, share=0.5)
    for side in SIDES:
        tip = np.array(on_side((0.0, 0.0, _CLAVICLE), side))
        corners = np.array([on_side(p, side) for p in (_TRIGONUM, _INFERIOR_ANGLE, _GLENOHUMERAL)])
        found[f"clavicle_{side}"] = _rod(_CLAVICLE_PART * girdle, np.zeros(3), tip, 0.01)
        found[f"scapula_{side}"] = _plate((1.0 - _CLAVICLE_PART) * girdle, corners)
        found[f"humerus_{side}"] = rigid_segment("upper_arm", SEX, BODY_MASS, STATURE)
        found[f"ulna_{side}"] = found[f"radius_{side}"] = forearm
        found[f"hand_{side}"] = rigid_segment("whole_hand", SEX, BODY_MASS, STATURE)
    return found


def _legs(s: Sizes) -> dict[str, RigidInertia]:
    """The skeleton's legs, with talus and patella taken from hind foot and thigh."""
    parts = leg_parts(SEX, s)
    found = {}
    for side in SIDES:
        thigh, hind = parts[f"thigh_{side}"], parts[f"foot_{side}"]
        patella = _PATELLA_PART * thigh.mass
        found[f"femur_{side}"] = thigh._replace(
            mass=thigh.mass - patella, central=(1.0 - _PATELLA_PART) * thigh.central
        )
        ball = 0.4 * patella * 0.02**2 * np.eye(3)
        found[f"patella_{side}"] = RigidInertia(patella, np.array(_PATELLA_TIP), ball)
        found[f"tibia_{side}"] = parts[f"shank_{side}"]
        found[f"talus_{side}"] = RigidInertia(
            _TALUS_PART * hind.mass, np.array([0.0, 0.25 * hind.center[1], 0.0]), _TALUS_PART * hind.central
        )
        found[f"foot_{side}"] = hind._replace(
            mass=(1.0 - _TALUS_PART) * hind.mass, central=(1.0 - _TALUS_PART) * hind.central
        )
        found[f"toes_{side}"] = parts[f"toes_{side}"]
    return found


def _glide(side: str) -> tuple[Vec3, Vec3]:
    """TS and AI, moved across the scapula's plane until they are on the rib cage at rest."""
    clavicle, scapula = at_rest("r")
    joint = np.array(_STERNOCLAVICULAR) + clavicle @ np.array((0.0, 0.0, _CLAVICLE))
    center, radii = np.array(RIB_CAGE_CENTER), np.array(RIB_CAGE_RADII)
    found: list[Vec3] = []
    for point in (_TRIGONUM, _INFERIOR_ANGLE):
        p = np.array(point)
        from_center, forward = (joint + scapula @ p - center) / radii, scapula[:, 0] / radii
        # |from_center + d forward| = 1, the solution nearest to the bone
        a, b, c = forward @ forward, from_center @ forward, from_center @ from_center - 1.0
        roots = (-b + np.sqrt(b * b - a * c) * np.array([-1.0, 1.0])) / a
        d = float(roots[np.argmin(np.abs(roots))])
        x, y, z = (p + np.array([d, 0.0, 0.0])).tolist()
        found.append((x, y, z if side == "r" else -z))
    return found[0], found[1]


def _facing(body: str, at: Vec3, z: Vec3, x: Vec3) -> Placement:
    """A frame whose z axis has this direction, and whose x axis is as near to that one as it can be."""
    e3 = np.array(z) / np.linalg.norm(z)
    e1 = np.array(x) - (np.array(x) @ e3) * e3
    e1 = e1 / np.linalg.norm(e1)
    a, b, c = to_xyz(np.column_stack([e1, np.cross(e3, e1), e3])).tolist()
    return Placement(body, at, (a, b, c))


def _hinge(
    name: str, parent: str, at: Vec3, child: str, axis: Vec3, vector: FourVector | None, there: Vec3 = (0.0, 0.0, 0.0)
) -> HumanJoint:
    """A revolute joint whose axis has the same components in both bodies."""
    across: Vec3 = (1.0, 0.0, 0.0) if abs(axis[0]) < 0.5 else (0.0, 1.0, 0.0)
    vectors = () if vector is None else (vector,)
    return HumanJoint(name, "revolute", _facing(parent, at, axis, across), _facing(child, there, axis, across), vectors)


def _ball(name: str, parent: str, at: Vec3, child: str, vectors: tuple[FourVector, ...] = (E1, E2, E3)) -> HumanJoint:
    return HumanJoint(name, "spherical", Placement(parent, at), Placement(child), vectors)


def _lumbar() -> HumanJoint:
    def length(name: str) -> float:
        return segment_length(name, SEX, STATURE)

    above = Placement("thorax", (0.0, -length("upper_trunk") - length("middle_trunk"), 0.0))
    below = Placement("pelvis", (0.0, length("lower_trunk"), 0.0))
    return HumanJoint("lumbar", "spherical", below, above, (E1, E2, E3))


def _arm_joints(side: str, axes: Axes) -> list[HumanJoint]:
    def name(bone: str) -> str:
        return f"{bone}_{side}"

    sign = 1.0 if side == "r" else -1.0
    elbow: Vec3 = (sign * axes.humeroulnar[0], sign * axes.humeroulnar[1], axes.humeroulnar[2])
    forearm: Vec3 = (axes.radioulnar[0], axes.radioulnar[1], sign * axes.radioulnar[2])
    wrist: Vec3 = (0.0, -segment_length("forearm", SEX, STATURE), 0.0)
    # x of the joint's frames is the bodies' z axis, flexion; y is their x axis, deviation
    cyclic = (-0.5 * np.pi, 0.0, -0.5 * np.pi)
    palm = Placement(name("hand"), (0.0, 0.0, 0.0), cyclic)
    rib_cage = Placement("thorax", RIB_CAGE_CENTER)
    return [
        _ball(f"SC_{side}", "thorax", on_side(_STERNOCLAVICULAR, side), name("clavicle")),
        _ball(f"AC_{side}", name("clavicle"), on_side((0.0, 0.0, _CLAVICLE), side), name("scapula"), (E2,)),
        HumanJoint(f"ST_{side}", "scapulothoracic", rib_cage, Placement(name("scapula"))),
        _ball(f"GH_{side}", name("scapula"), on_side(_GLENOHUMERAL, side), name("humerus")),
        _hinge(f"HU_{side}", name("humerus"), (0.0, -body_length("upper_arm"), 0.0), name("ulna"), elbow, E3),
        _hinge(f"RU_{side}", name("ulna"), (0.0, 0.0, 0.0), name("radius"), forearm, E2),
        HumanJoint(f"RC_{side}", "universal", Placement(name("radius"), wrist, cyclic), palm, (E1, E3)),
    ]  # fmt: skip


def body_length(segment: str) -> float:
    """[m] of a segment of this human."""
    return segment_length(segment, SEX, STATURE)


def _leg_joints(side: str, s: Sizes) -> list[HumanJoint]:
    def name(bone: str) -> str:
        return f"{bone}_{side}"

    sign = 1.0 if side == "r" else -1.0
    knee: Vec3 = (0.0, -s.thigh, 0.0)
    subtalar: Vec3 = (_SUBTALAR_AXIS[0], _SUBTALAR_AXIS[1], sign * _SUBTALAR_AXIS[2])
    knee_axis: Vec3 = (sign * _KNEE_AXIS[0], sign * _KNEE_AXIS[1], _KNEE_AXIS[2])
    above: Vec3 = (_PATELLA_AXIS[0], _PATELLA_AXIS[1] - s.thigh, _PATELLA_AXIS[2])
    ball: Vec3 = (s.heel_to_ball - s.heel_to_ankle, -s.ankle_height, 0.0)
    z_axis: Vec3 = (0.0, 0.0, 1.0)
    return [
        _ball(f"hip_{side}", "pelvis", (0.0, 0.0, sign * s.hip_half_width), name("femur")),
        _hinge(f"femur-patella_{side}", name("femur"), above, name("patella"), z_axis, None),
        _hinge(f"knee_{side}", name("femur"), knee, name("tibia"), knee_axis, E3),
        _hinge(f"ankle_{side}", name("tibia"), (0.0, -s.shank, 0.0), name("talus"), z_axis, E3),
        _hinge(f"subtalar_{side}", name("talus"), (0.0, 0.0, 0.0), name("foot"), subtalar, E1),
        _hinge(f"MTP_{side}", name("foot"), ball, name("toes"), z_axis, E3),
    ]
