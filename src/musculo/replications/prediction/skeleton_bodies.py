"""Lengths and bodies of a skeleton; `musculo.replications.prediction.skeleton` names the sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.model.anthropometry import Sex, body_proportion, rigid_segment, segment_length
from musculo.model.body import Body, Vec3
from musculo.spatial.inertia import RigidInertia

SIDES = ("r", "l")
# [Delp1990], a man of 1.80 m whose foot is 0.27 m long: hip from the middle, ankle and toe joint in front of the heel,
# and the toes' part of the mass of talus, calcaneus and toes.
_HIP_FROM_MIDDLE = 0.0835 / 1.80
_HEEL_TO_ANKLE = 0.0488 / 0.27
_HEEL_TO_BALL = 0.1788 / 0.27
TOES_MASS = 0.2166 / (0.2166 + 1.25 + 0.1)
# Part of the upper trunk that goes with each shoulder girdle, which the sources do not separate.
GIRDLE_SHARE = 0.05
# Where the clavicle begins, as a part of the half width of the shoulders.
STERNUM_PART = 0.1


@dataclass(frozen=True)
class Sizes:
    """Lengths of a skeleton [m] that motions are described with."""

    stature: float
    body_mass: float
    thigh: float
    shank: float
    ankle_height: float
    heel_to_ankle: float
    heel_to_ball: float
    foot_length: float
    foot_width: float
    hip_half_width: float

    @property
    def hip_height(self) -> float:
        """Of the hip joints in upright standing."""
        return self.ankle_height + self.shank + self.thigh


def sizes(sex: Sex = "male", body_mass: float = 73.0, stature: float = 1.741) -> Sizes:
    """Lengths of the skeleton of the same arguments."""
    foot = segment_length("foot", sex, stature)
    return Sizes(
        stature=stature,
        body_mass=body_mass,
        thigh=segment_length("thigh", sex, stature),
        shank=segment_length("shank", sex, stature),
        ankle_height=body_proportion("ankle_height", stature),
        heel_to_ankle=_HEEL_TO_ANKLE * foot,
        heel_to_ball=_HEEL_TO_BALL * foot,
        foot_length=foot,
        foot_width=body_proportion("foot_width", stature),
        hip_half_width=_HIP_FROM_MIDDLE * stature,
    )


def body_of(name: str, part: RigidInertia) -> Body:
    """A body of the model with this inertia."""
    I = part.central
    return Body(
        name,
        float(part.mass),
        tuple(map(float, part.center)),  # type: ignore[arg-type]
        (*map(float, np.diag(I)), float(I[0, 1]), float(I[0, 2]), float(I[1, 2])),  # type: ignore[arg-type]
    )


def moved(part: RigidInertia, by: Vec3) -> RigidInertia:
    """A part seen from a frame whose origin is `by` away in the opposite direction."""
    return part._replace(center=part.center + np.array(by))


def _cut(part: RigidInertia, length: float, shares: Sequence[float]) -> list[RigidInertia]:
    """An upright segment cut across, from its lower end up: masses in proportion to lengths, the whole unchanged.

    Each part's origin is at its lower end. What the parts' own distance does not explain of the tensor is shared in
    proportion to mass.
    """
    parts: FloatArray = np.asarray(shares, dtype=float) / np.sum(shares)
    ends = length * np.concatenate([[0.0], np.cumsum(parts)])
    middles = 0.5 * (ends[1:] + ends[:-1])
    center = part.center[1] + length  # above the lower end
    middles = middles + center - parts @ middles
    apart = part.mass * parts @ (middles - center) ** 2
    rest = part.central - apart * np.diag([1.0, 0.0, 1.0])
    return [
        RigidInertia(share * part.mass, np.array([0.0, y - end, 0.0]), share * rest)
        for share, y, end in zip(parts, middles, ends[:-1], strict=True)
    ]


SPINE = ("lumbar_lower", "lumbar_upper", "thoracic_lower", "thoracic_upper")
SPINE_BODIES = ("abdomen_lower", "abdomen_upper", "thorax_lower", "thorax_upper")


def trunk_parts(sex: Sex, s: Sizes) -> dict[str, RigidInertia]:
    def part(name: str, share: float = 1.0) -> RigidInertia:
        return rigid_segment(name, sex, s.body_mass, s.stature, share=share)

    def length(name: str) -> float:
        return segment_length(name, sex, s.stature)

    pelvis = moved(part("lower_trunk"), (0.0, length("lower_trunk"), 0.0))
    middle = _cut(part("middle_trunk"), length("middle_trunk"), (1.0, 1.0))
    upper = _cut(part("thorax", 1.0 - 2.0 * GIRDLE_SHARE), length("thorax"), (1.0, 1.0))
    neck = length("head_neck") - length("head")
    head = _cut(part("head_neck"), length("head_neck"), (neck, length("head")))
    found = dict(zip(SPINE_BODIES, (*middle, *upper), strict=True))
    return {"pelvis": pelvis, **found, "neck": head[0], "head": head[1]}


def arm_parts(sex: Sex, s: Sizes) -> dict[str, RigidInertia]:
    found = {}
    girdle = rigid_segment("thorax", sex, s.body_mass, s.stature, share=GIRDLE_SHARE)
    half = body_proportion("half_shoulder_width", s.stature)
    for side in SIDES:
        out = outward(side)
        reach = (1.0 - STERNUM_PART) * half
        # a rod from sternum to shoulder
        rod = girdle.mass * reach**2 / 12.0
        found[f"clavicle_{side}"] = RigidInertia(
            girdle.mass, np.array([0.0, 0.0, 0.5 * out * reach]), np.diag([rod, rod, 0.05 * rod])
        )
        for name, row in (("upper_arm", "upper_arm"), ("forearm", "forearm"), ("hand", "whole_hand")):
            found[f"{name}_{side}"] = rigid_segment(row, sex, s.body_mass, s.stature)
    return found


def leg_parts(sex: Sex, s: Sizes) -> dict[str, RigidInertia]:
    """Bodies of both legs; the foot is cut at the ball, its mass center at half the ankle's height."""
    foot = rigid_segment("foot", sex, s.body_mass, s.stature, lying=True)
    height = 0.5 * s.ankle_height
    toes_at = 0.5 * (s.heel_to_ball + s.foot_length)
    hind_at = (foot.center[0] - TOES_MASS * toes_at) / (1.0 - TOES_MASS)
    apart = foot.mass * TOES_MASS * (1.0 - TOES_MASS) * (toes_at - hind_at) ** 2
    rest = foot.central - apart * np.diag([0.0, 1.0, 1.0])
    found = {}
    for side in SIDES:
        for name in ("thigh", "shank"):
            found[f"{name}_{side}"] = rigid_segment(name, sex, s.body_mass, s.stature)
        found[f"foot_{side}"] = RigidInertia(
            (1.0 - TOES_MASS) * foot.mass,
            np.array([hind_at - s.heel_to_ankle, height - s.ankle_height, 0.0]),
            (1.0 - TOES_MASS) * rest,
        )
        # toes are thinner: half as high
        found[f"toes_{side}"] = RigidInertia(
            TOES_MASS * foot.mass, np.array([toes_at - s.heel_to_ball, 0.5 * height, 0.0]), TOES_MASS * rest
        )
    return found


def outward(side: str) -> float:
    """Sign of z away from the middle."""
    return 1.0 if side == "r" else -1.0
