"""A step of a skeleton as an optimization problem: the nine kinds of constraints of Barman2020, section 5.2.

The left heel strikes at time 0 and the right one at the end, the step length in front. The right toes stay on the
ground during double support. What the paper leaves open is stated in `Walk` and in the tables below, with reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from musculo.arrays import FloatArray
from musculo.model.model import Model
from musculo.replications.prediction.chain_points import WalkingPoints
from musculo.replications.prediction.skeleton import Root, mirror_of, skeleton
from musculo.replications.prediction.skeleton_bodies import Sizes, sizes
from musculo.replications.prediction.two_step import Support, TwoStep
from musculo.trajectory.problem.constraints import At, Constraint, Periodic, Throughout
from musculo.trajectory.problem.goals import Effort
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.problem.variables import Coordinate

# The joints that the paper freezes: 17 coordinates, so that 38 are left.
FROZEN = ("clavicle", "wrist", "neck", "thoracic_upper", "thoracic_lower_extension")
# Limits of moments, both ways [N m]. Flexion of hip, knee and ankle: the largest isometric moments of young men in
# [Anderson2007], as fractions of weight times stature, in the stronger direction. Others, of which it says nothing:
# round numbers of our own, of the size that dynamometers measure. Effort is relative to them: they also say what moves
# rather.
STRENGTH = {
    "hip_flexion": 201.0,
    "hip_adduction": 150.0,
    "hip_rotation": 80.0,
    "knee_flexion": 203.0,
    "ankle_dorsiflexion": 119.0,
    "ankle_inversion": 40.0,
    "toe_extension": 40.0,
    "lumbar": 200.0,
    "thoracic": 150.0,
    "arm_flexion": 80.0,
    "arm_adduction": 80.0,
    "arm_rotation": 50.0,
    "elbow_flexion": 70.0,
    "pronation": 15.0,
}
# Half the width of a wrist [m].
WRIST_RADIUS = 0.03
# From the hip joint to the side of the body, of half the width of the hips as a fraction of stature.
_HALF_HIPS = 0.0955


@dataclass(frozen=True)
class Walk:
    """A step: what is asked for, and what is chosen.

    Args:
        duration: of the step [s]; the paper's 0.6 m at 1.2 m/s.
        length: of the step [m].
        width: between the middles of the feet [m]; 8 to 10 cm are usual ([Perry2010]).
        double: end of double support [s]; a tenth of the cycle ([Perry2010]).
        flat: when the leading foot is flat [s]; at the end of loading response.
        heel_off: when its heel leaves the ground [s]; 30 % of the cycle, where terminal stance begins ([Perry2010]).
        knee: flexion in the middle of swing, and how far it may be off [rad]; the paper's.
        sizes: of the skeleton.
    """

    duration: float = 0.5
    length: float = 0.6
    width: float = 0.10
    double: float = 0.10
    flat: float = 0.10
    heel_off: float = 0.30
    knee: tuple[float, float] = (np.radians(60.0), np.radians(5.0))
    sizes: Sizes = field(default_factory=sizes)

    @property
    def mid_swing(self) -> float:
        """Half way between toe-off and heel strike, as a fraction of the step."""
        return 0.5 * (self.double + self.duration) / self.duration

    def feet(self, root: Root) -> tuple[FloatArray, FloatArray]:
        """(3,) where the heels of left and right foot stand: at 0 and a step behind; to both sides of z = 0, or the
        left one at z = 0 where it is the root."""
        middle = 0.0 if root == "left_foot" else -0.5 * self.width
        left = np.array([0.0, 0.0, middle])
        return left, left + np.array([-self.length, 0.0, self.width])


def strength_of(coordinate: str) -> float:
    """Limit of a joint's moment [N m]."""
    return next(value for name, value in STRENGTH.items() if coordinate.startswith(name))


@dataclass(frozen=True, eq=False)
class GaitParts:
    """A problem and its node functions."""

    walk: Walk
    model: Model
    active: tuple[str, ...]
    forces: TwoStep
    points: WalkingPoints
    problem: Problem


def gait_parts(walk: Walk, root: Root, *, band: float = 0.0, speed_band: float = 0.0) -> GaitParts:
    """The problem of one step.

    Args:
        walk: what is asked for.
        root: "pelvis", where contacts are constraints on moving feet; or "left_foot", where the standing foot is the
            root of the tree, and stands by construction.
        band: how far points in contact may be off the ground [m] (rooted at the pelvis).
        speed_band: how fast they may move [m/s] (rooted at the pelvis).
    """
    model = skeleton(root=root, frozen=FROZEN)
    active, s = model.coordinate_names, walk.sizes
    left, right = walk.feet(root)
    support = Support(
        walk.double, walk.flat, walk.heel_off,
        trailing=(float(right[0] + s.heel_to_ball), float(right[2])),
        leading=(float(left[0] + s.heel_to_ankle), float(left[2])),
    )  # fmt: skip
    forces = TwoStep(model, active, support, strength_of)
    points = _points(model, active)
    constraints = [*_limits(walk, forces, left), *_apart(walk, points), _cycle(walk, model, active, root)]
    if root == "pelvis":
        constraints += _moving_feet(walk, points, left, right, band, speed_band)
    else:
        constraints += _standing_foot(walk, points, right)
    ranges = {one.name: one.range for one in model.coordinates}
    problem = Problem(
        [Coordinate(name, ranges[name]) for name in active],
        walk.duration,
        goals=Effort(forces, outputs="*/effort"),
        constraints=constraints,
    )
    return GaitParts(walk, model, active, forces, points, problem)


def _points(model: Model, active: tuple[str, ...]) -> WalkingPoints:
    places = {one.name: (one.frame, one.location) for one in model.markers}
    contacts = {name: places[name] for name in places if name.startswith(("heel", "ball", "toe"))}
    contacts["side_r"] = ("toes_r", (0.0, 0.0, 0.05))
    limbs, distances = {}, {}
    for arm, leg in (("l", "r"), ("r", "l")):
        reach = (f"upper_arm_{arm}", (0.0, 0.0, 0.0)), places[f"wrist_{arm}"]
        limbs[f"swing/arm_{arm}_leg_{leg}"] = (*reach, places[f"hip_{leg}"], (f"foot_{leg}", (0.0, 0.0, 0.0)))
        distances[f"apart/wrist_hip_{arm}"] = (places[f"hip_{arm}"], places[f"wrist_{arm}"])
    return WalkingPoints(model, active, contacts, limbs, distances)


def _limits(walk: Walk, forces: TwoStep, left: FloatArray) -> list[Constraint]:
    """(2) moments; (4) the zero-moment point in the polygon of support, and ground that only pushes."""
    s, T = walk.sizes, walk.duration
    half = 0.5 * s.foot_width
    double, heel_off = walk.double / T, walk.heel_off / T
    across = (float(left[2]) - half, float(left[2]) + half)
    return [
        Throughout(forces, (-1.0, 1.0), outputs="*/effort"),
        Throughout(forces, (0.05, np.inf), outputs="ground/force_y"),
        Throughout(
            forces, {"support/leading": (0.0, 1.0), "support/across": (-half, half)}, (0.0, double),
            outputs=("support/leading", "support/across"),
        ),
        Throughout(
            forces, {"ground/zmp_x": (0.0, s.foot_length), "ground/zmp_z": across},
            (double + _AFTER, heel_off - _AFTER),
            outputs=("ground/zmp_x", "ground/zmp_z"),
        ),
        Throughout(
            forces, {"ground/zmp_x": (s.heel_to_ball, s.foot_length), "ground/zmp_z": across}, (heel_off, 1.0),
            outputs=("ground/zmp_x", "ground/zmp_z"),
        ),
    ]  # fmt: skip


# A phase begins just after the end of the one before it [fraction of the step].
_AFTER = 1e-6


def _apart(walk: Walk, points: WalkingPoints) -> list[Constraint]:
    """(5) arms swing with the opposite legs; (6) wrists keep off the hips; (8) the knee bends in mid-swing."""
    s = walk.sizes
    side = _HALF_HIPS * s.stature - s.hip_half_width
    angle, off = walk.knee
    return [
        Throughout(points, (0.0, np.inf), outputs="swing/*"),
        Throughout(points, (WRIST_RADIUS + side, np.inf), outputs="apart/*"),
        At(walk.mid_swing, "knee_flexion_r/value", (angle - off, angle + off)),
    ]


def _cycle(walk: Walk, model: Model, active: tuple[str, ...], root: Root) -> Constraint:
    """(7) the step ends in the mirror image of its start; rooted at the foot, with its accelerations."""
    _, sign = mirror_of(model.coordinate_names)
    negated = [model.coordinate_names[k] for k in np.flatnonzero(sign < 0)]
    kinds = ("value", "speed") if root == "pelvis" else ("value", "speed", "acceleration")
    kept = [name for name in active if not name.startswith("foot_")]
    return Periodic(
        [f"{name}/{kind}" for name in kept for kind in kinds],
        {"_r/": "_l/"},
        [f"{name}/{kind}" for name in negated if name in kept for kind in kinds],
        {"pelvis_tx/value": walk.length} if root == "pelvis" else {},
    )


def _moving_feet(
    walk: Walk, points: WalkingPoints, left: FloatArray, right: FloatArray, band: float, speed_band: float
) -> list[Constraint]:
    """(3) points in contact neither rise nor move, others stay above ground; (9) where the feet stand."""
    T, s = walk.duration, walk.sizes
    double, flat, heel_off = walk.double / T, walk.flat / T, walk.heel_off / T
    still = (-speed_band, speed_band)
    found: list[Constraint] = []

    def contact(name: str, between: tuple[float, float], axes: str) -> None:
        limits = {f"{name}/y": (-band, band)} | {f"{name}/v{axis}": still for axis in axes}
        found.append(Throughout(points, limits, between, outputs=tuple(limits)))

    def above(name: str, between: tuple[float, float]) -> None:
        found.append(Throughout(points, (0.0, np.inf), between, outputs=f"{name}/y"))

    # of a flat foot, which is rigid, the ball's forward speed is the heel's, and the toe's height follows
    contact("heel_l", (0.0, heel_off - _AFTER), "xyz")
    contact("ball_l", (flat, heel_off - _AFTER), "yz")
    contact("ball_l", (heel_off, 1.0), "xyz")
    contact("toe_l", (flat, 1.0), "")
    contact("ball_r", (0.0, double), "xyz")
    contact("toe_r", (0.0, double), "")
    above("heel_l", (heel_off, 1.0))
    for name in ("ball_l", "toe_l"):
        above(name, (0.0, flat - _AFTER))
    above("heel_r", (0.0, 1.0 - _AFTER))
    for name in ("ball_r", "toe_r"):
        above(name, (double + _AFTER, 1.0))
    # the end of the step follows from its start: it may be off by the band, so that nothing is asked for twice
    ball = right[0] + s.heel_to_ball
    placed = {"heel_l/x": left[0], "heel_l/z": left[2], "ball_r/x": ball, "ball_r/z": right[2], "toe_r/z": right[2]}
    landed = {"heel_r/x": walk.length, "heel_r/y": 0.0, "heel_r/z": right[2]}
    found.append(At(0.0, points, {k: float(v) for k, v in placed.items()}, outputs=tuple(placed)))
    found.append(At(flat, points, float(left[2]), outputs="ball_l/z"))
    limits = {k: (float(v) - band, float(v) + band) for k, v in landed.items()}
    found.append(At(1.0, points, limits, outputs=tuple(limits)))
    return found


def _standing_foot(walk: Walk, points: WalkingPoints, right: FloatArray) -> list[Constraint]:
    """(3), (9) where the left foot stands by construction; the right toes stand still in double support.

    A span of the splines covers double support, and the toes are held at as many nodes as a span has coefficients: more
    equations would nearly depend on each other.
    """
    T, s = walk.duration, walk.sizes
    double, heel_off, flat = walk.double / T, walk.heel_off / T, walk.flat / T
    ball = float(right[0] + s.heel_to_ball)
    stand = {"ball_r/x": ball, "ball_r/y": 0.0, "ball_r/z": float(right[2]), "toe_r/y": 0.0, "toe_r/z": float(right[2]),
             "side_r/y": 0.0}  # fmt: skip
    above = [("heel_l/y", (heel_off + _AFTER, 1.0)), ("ball_l/y", (0.0, flat - _AFTER)),
             ("toe_l/y", (0.0, flat - _AFTER)), ("heel_r/y", (_AFTER, 1.0 - _AFTER)),
             ("ball_r/y", (double + _AFTER, 1.0 - _AFTER)),
             ("toe_r/y", (double + _AFTER, 1.0 - _AFTER))]  # fmt: skip
    return [
        Throughout(points, stand, (0.0, double), outputs=tuple(stand)),
        *(Throughout(points, (0.0, np.inf), between, outputs=name) for name, between in above),
    ]
