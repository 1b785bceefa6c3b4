"""Lifting a box with both hands, as an optimization problem: the skeleton of the walk, in the sagittal plane.

Both sides of the body do the same, so one limb stands for both: it lies in the middle plane and has the mass and the
inertia of two. Its moments are those of both sides together. The feet are the tree's root and stand by construction.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from musculo.model.anthropometry import segment_length
from musculo.model.body import Body, Placement
from musculo.model.joints.joint import Joint
from musculo.model.joints.weld import WeldJoint
from musculo.model.model import Model
from musculo.muscle.fibers.fatigue import FATIGUE_RATES, FatigueRates
from musculo.replications.prediction.gait_problem import strength_of
from musculo.replications.prediction.skeleton import skeleton
from musculo.replications.prediction.skeleton_bodies import Sizes, sizes
from musculo.trajectory.functions.ground_support import SupportMargins
from musculo.trajectory.functions.inverse_dynamics import InverseDynamics
from musculo.trajectory.functions.joint_fatigue import JointEfforts, JointFatigue
from musculo.trajectory.functions.points import PointDistances, PointPositions
from musculo.trajectory.problem.constraints import At, Constraint, Periodic, Throughout
from musculo.trajectory.problem.goals import Effort
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.problem.variables import Control, State, Variable

# What does not move: feet, which stand; all turns out of the sagittal plane, which symmetry forbids or (legs and arms)
# which the box, as wide as the shoulders, does not ask for; neck and clavicles, which carry no box; the uppermost joint
# of the spine and the wrists, which the walk freezes, too.
FROZEN = (
    "foot", "toe_extension", "ankle_inversion", "hip_adduction", "hip_rotation", "lumbar_lower_bending",
    "lumbar_lower_rotation", "lumbar_upper_bending", "lumbar_upper_rotation", "thoracic_lower_bending",
    "thoracic_lower_rotation", "thoracic_upper", "neck", "clavicle", "arm_adduction", "arm_rotation", "pronation",
    "wrist",
)  # fmt: skip
# Which joint's rates of fatigue a coordinate has. [FreyLaw2012] has none of the hip, whose extensors work with those of
# the back: it has the trunk's.
REGIONS = {
    "ankle": "ankle",
    "knee": "knee",
    "hip": "trunk",
    "lumbar": "trunk",
    "thoracic": "trunk",
    "arm": "shoulder",
    "elbow": "elbow",
}
# Limits far from what a lift needs [rad/s, rad/s^2], and of jerk [rad/s^3], with which moments build up within a tenth
# of a second, as muscles need.
SPEED, ACCELERATION, JERK = 10.0, 100.0, 600.0


@dataclass(frozen=True)
class Lift:
    """What is lifted, from where to where, and how often. All are choices of ours.

    Args:
        mass: of the box [kg]; its center is between the handles, and it stays level, so its inertia plays no part.
        depth: of the box, fore and aft [m].
        start, end: x in front of the ankles and height of the handles [m]. At the start the box is as near as its depth
            allows: [Waters1993] has 0.2 m and half the depth.
        duration: of a lift [s].
        period: from lift to lift [s]; in between the hands are empty and all joints rest.
        trunk: between the joints of the back and what the box must not touch [m].
        knee: the same of knees and thighs [m].
        sizes: of the skeleton.
    """

    mass: float = 10.0
    depth: float = 0.30
    start: tuple[float, float] = (0.35, 0.60)
    end: tuple[float, float] = (0.45, 1.20)
    duration: float = 1.5
    period: float = 6.0
    trunk: float = 0.12
    knee: float = 0.06
    sizes: Sizes = field(default_factory=sizes)


@dataclass(frozen=True, eq=False)
class LiftParts:
    """A model, its node functions, and the problems of a single lift and of one that is repeated for ever."""

    lift: Lift
    model: Model
    moments: InverseDynamics
    fatigue: JointFatigue
    strength: dict[str, float]  # of both sides together [N m]
    single: Problem
    repeated: Problem


def rates_of(coordinate: str) -> FatigueRates:
    """Of the joint that a coordinate belongs to."""
    return FATIGUE_RATES[next(region for name, region in REGIONS.items() if coordinate.startswith(name))]


def lifter(lift: Lift) -> Model:
    """The skeleton in its sagittal plane, with the box at the third knuckle, where the fist closes."""
    model = sagittal(skeleton(root="left_foot", frozen=FROZEN))
    grip = segment_length("hand", "male", lift.sizes.stature)
    held = WeldJoint("grip", Placement("hand_l", (0.0, -grip, 0.0)), Placement("box"))
    return model.replace(
        name="lifter", bodies=(*model.bodies, Body("box", lift.mass)), joints=(*model.joints, held), markers=()
    )


def sagittal(model: Model) -> Model:
    """A symmetric skeleton whose left limbs stand for both, all in the plane z = 0.

    Guarantees: moments about z are those of the whole skeleton in the same symmetric motion, of both sides together.
    """

    def folded(body: Body) -> Body:
        both = 2.0 if body.name.endswith("_l") else 1.0
        xx, yy, zz, xy, _, _ = body.inertia
        x, y, _ = body.mass_center
        return replace(
            body,
            mass=both * body.mass,
            mass_center=(x, y, 0.0),
            inertia=(both * xx, both * yy, both * zz, both * xy, 0.0, 0.0),
        )

    def flat(place: Placement) -> Placement:
        x, y, _ = place.translation
        return replace(place, translation=(x, y, 0.0))

    def planar(joint: Joint) -> Joint:
        return replace(joint, parent=flat(joint.parent), child=flat(joint.child))

    return model.replace(
        bodies=tuple(folded(one) for one in model.bodies if not one.name.endswith("_r")),
        joints=tuple(planar(one) for one in model.joints if not one.name.endswith("_r")),
    )


def lift_parts(lift: Lift) -> LiftParts:
    """The problems of lifting a box."""
    model = lifter(lift)
    moments = InverseDynamics(model, threads=1)
    names = [name.removesuffix("/moment") for name in moments.outputs]
    strength = {name: strength_of(name) * (2.0 if name.endswith("_l") else 1.0) for name in names}
    rates = {name: rates_of(name) for name in names}
    fatigue, efforts = JointFatigue(moments, strength, rates), JointEfforts(moments, strength)
    ranges = {one.name: one.range for one in model.coordinates}
    coordinates = [part for name in names for part in _smooth(name, ranges[name])]
    constraints = [*_box(lift, model), _balance(lift, model)]
    scale = {f"{name}/moment": strength[name] for name in names}
    within = {name: (-most, most) for name, most in scale.items()}
    single = Problem(
        coordinates,
        lift.duration,
        goals=Effort(moments, scale=scale),
        constraints=[*constraints, Throughout(moments, within)],
    )
    rested = {f"{name}/fatigue": float(np.exp(rates[name].recovery * (lift.period - lift.duration))) for name in names}
    repeated = Problem(
        [*coordinates, *(State(f"{name}/fatigue", (0.0, 0.9)) for name in names)],
        lift.duration,
        fatigue,
        Effort(efforts),
        [*constraints, Throughout(efforts, (-1.0, 1.0)), Periodic("*/fatigue", factors=rested)],
    )
    return LiftParts(lift, model, moments, fatigue, strength, single, repeated)


def _smooth(name: str, limits: tuple[float, float]) -> tuple[Variable, ...]:
    """A coordinate whose jerk is the control, so that moments are continuous; at rest at both ends."""
    value, speed, acceleration, jerk = (f"{name}/{kind}" for kind in ("value", "speed", "acceleration", "jerk"))
    return (
        State(value, limits, rate=speed),
        State(speed, (-SPEED, SPEED), 0.0, 0.0, rate=acceleration),
        State(acceleration, (-ACCELERATION, ACCELERATION), rate=jerk),
        Control(jerk, (-JERK, JERK)),
    )


def _box(lift: Lift, model: Model) -> list[Constraint]:
    """Where the box starts and ends, and that it keeps off the body."""
    s = lift.sizes
    center = ("box", (0.0, 0.0, 0.0))
    box = PointPositions(model, {"box": center})
    off = {
        "box to knee": (center, ("shank_l", (0.0, 0.0, 0.0))),
        "box to thigh": (center, ("thigh_l", (0.0, -0.5 * s.thigh, 0.0))),
        "box to hip": (center, ("pelvis", (0.0, 0.0, 0.0))),
        "box to belly": (center, ("abdomen_lower", (0.0, 0.0, 0.0))),
        "box to chest": (center, ("thorax_lower", (0.0, 0.0, 0.0))),
    }
    half = 0.5 * lift.depth
    apart = {name: (half + (lift.knee if name[7:] in ("knee", "thigh") else lift.trunk), np.inf) for name in off}
    ends = [
        At(at, box, {"box/x": s.heel_to_ankle + place[0], "box/y": place[1]}, outputs=("box/x", "box/y"))
        for at, place in ((0.0, lift.start), (1.0, lift.end))
    ]
    return [*ends, Throughout(PointDistances(model, off), apart)]


def _balance(lift: Lift, model: Model) -> Constraint:
    """The zero-moment point between heels and toes, and ground that only pushes; sideways it is in the middle."""
    s = lift.sizes
    half = 0.5 * s.foot_width
    corners = ((0.0, -half), (s.foot_length, -half), (s.foot_length, half), (0.0, half))
    return Throughout(SupportMargins(model, corners), (0.0, np.inf))
