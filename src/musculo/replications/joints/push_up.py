"""Seth2010, section 2.4: a shoulder whose scapula slides over an ellipsoid, rooted at the thorax or at the hand.

For reaching, the thorax is the root. For a push-up the hand is affixed to ground and the tree runs from the hand to the
thorax, without constraints; every joint is traversed against its direction, and its coordinates keep their meaning
(eq. 15-17). The same push-up with the thorax as the root needs six coordinates more and six constraints at the hand.

The paper gives no figures. Bodies, joints and motion are ours: one arm with half the trunk (the other side mirrors it),
a third of the weight on the toes, elbows close to the body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from musculo.analyses.joint_loads import joint_loads
from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constrained_acceleration
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.embedding.speed_rates import speeds_from_rates
from musculo.model.body import GROUND, Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import BallJoint, EllipsoidJoint, FreeJoint, Joint, PinJoint, UniversalJoint, WeldJoint
from musculo.model.model import Model
from musculo.model.model_constraint import WeldConstraint
from musculo.replications.joints.rival_rows import opensim_missing, small
from musculo.replications.joints.rivals import SOURCE, acceleration, largest
from musculo.replications.joints.simbody_study import simbody_accelerations
from musculo.replications.study import Plot, Quantity, Row, Settings, Study, judged
from musculo.replications.timing import seconds_per_call
from musculo.simulation.equations.constraint_projection import constraint_drift
from musculo.simulation.simulate import Formulation, simulate
from musculo.simulation.simulation import Simulation
from musculo.spatial.rotation import from_xyz, to_xyz

# Axes of every body with the arm hanging: x forwards, y up, z to the right. Masses [kg], lengths [m]: ours.
BODIES = (
    Body("thorax", 30.0, (-0.02, -0.35, -0.05), (5.2, 0.45, 5.3, 0.0, 0.0, 0.0)),
    Body("scapula", 0.7, (0.0, -0.02, -0.02), (1.2e-3, 1.0e-3, 7e-4, 0.0, 0.0, 0.0)),
    Body("humerus", 2.0, (0.0, -0.14, 0.0), (1.5e-2, 2.0e-3, 1.5e-2, 0.0, 0.0, 0.0)),
    Body("forearm", 1.2, (0.0, -0.12, 0.0), (7e-3, 9e-4, 7e-3, 0.0, 0.0, 0.0)),
    Body("hand", 0.5, (0.0, -0.06, 0.0), (1e-3, 5e-4, 1e-3, 0.0, 0.0, 0.0)),
)
THORAX_RADII = (0.09, 0.17, 0.11)
UPPER_ARM, FOREARM = 0.30, 0.25
TOES = (0.0, -1.30, 0.0)  # of the thorax, legs and trunk being one body
# The hand's frame in ground: fingers forwards, palm down; the forearm stands upright where the wrist is straight.
PALM = Placement(GROUND, (0.0, 0.06, 0.0))
HOLD = Placement("hand", (0.0, 0.0, 0.0))
PERIOD = 2.0  # of one push-up [s]
# mean and amplitude of each coordinate, which goes as mean + amplitude cos(2 pi t / PERIOD) [rad]
_MOTION = {
    "scapula_rx": (0.10, 0.06),
    "scapula_ry": (0.15, 0.12),
    "scapula_rz": (0.20, -0.08),
    "shoulder_rx": (-0.20, 0.05),
    "shoulder_ry": (0.10, -0.08),
    "shoulder_rz": (0.75, 0.60),
    "elbow": (0.85, -0.60),
    "wrist_rx": (0.05, 0.03),
    "wrist_ry": (-0.04, 0.02),
}
# A third of the weight of half a man, at the toes [N].
_ON_TOES = sum(body.mass for body in BODIES) * 9.80665 / 3.0
# What keeps the simulated push-up near the planned one [N m/rad, N m s/rad].
_STIFFNESS, _DAMPING = 150.0, 2.0


def arm_joints() -> tuple[Joint, ...]:
    """From the thorax to the hand, whichever of them is the root."""

    def angles(*names: str) -> tuple[Coordinate, ...]:
        return tuple(Coordinate(name, default_value=_MOTION[name][0]) for name in names)

    # z of the ellipsoid's frame points to the right and backwards, out of the ribs under the scapula
    out = (0.0, -np.pi / 6, 0.0)
    return (
        EllipsoidJoint(
            "scapulothoracic",
            Placement("thorax", (-0.02, 0.0, 0.03), out),
            Placement("scapula", (0.0, 0.0, 0.0), out),
            angles("scapula_rx", "scapula_ry", "scapula_rz"),
            radii=THORAX_RADII,
        ),
        BallJoint(
            "glenohumeral",
            Placement("scapula", (0.05, 0.04, 0.04)),
            Placement("humerus"),
            angles("shoulder_rx", "shoulder_ry", "shoulder_rz"),
        ),
        PinJoint("elbow", Placement("humerus", (0.0, -UPPER_ARM, 0.0)), Placement("forearm"), angles("elbow")),
        UniversalJoint(
            "wrist", Placement("forearm", (0.0, -FOREARM, 0.0)), Placement("hand"), angles("wrist_rx", "wrist_ry")
        ),
    )


def rooted_at_hand() -> Model:
    """The push-up without constraints: ground holds the hand, the joints lead from there to the thorax."""
    return Model("push-up", BODIES, (WeldJoint("palm", PALM, HOLD), *arm_joints()))


def rooted_at_thorax() -> Model:
    """The same push-up with the thorax as the root: six coordinates for it, six constraints at the hand."""
    names = ("thorax_rx", "thorax_ry", "thorax_rz", "thorax_tx", "thorax_ty", "thorax_tz")
    root = FreeJoint("thorax", Placement(GROUND), Placement("thorax"), tuple(Coordinate(name) for name in names))
    return Model("from the thorax", BODIES, (root, *arm_joints()), (WeldConstraint("palm", first=PALM, second=HOLD),))


def reaching() -> Model:
    """The arm forwards: the thorax fixed to ground, the hand free."""
    return Model("reaching", BODIES, (WeldJoint("seat", Placement(GROUND), Placement("thorax")), *arm_joints()))


class Motion(NamedTuple):
    """A motion over frames."""

    time: FloatArray
    q: FloatArray
    u: FloatArray
    udot: FloatArray


def planned(model: Model, frames: int = 64) -> Motion:
    """One push-up of the joints, (frames, 9): down and up; accelerations by Fourier, which is exact for periods."""
    time = np.arange(frames) * PERIOD / frames
    rate = 2.0 * np.pi / PERIOD
    mean, size = np.array([_MOTION[name] for name in model.coordinate_names]).T
    q = mean + size * np.cos(rate * time)[:, None]
    u = speeds_from_rates(model, q, -size * rate * np.sin(rate * time)[:, None])
    waves = np.fft.rfftfreq(frames, 1.0 / frames) * rate
    waves[-1] = 0.0
    udot = np.fft.irfft(1j * waves[:, None] * np.fft.rfft(u, axis=0), frames, axis=0)
    return Motion(time, q, u, udot)


def with_root(model: Model, m: Motion) -> Motion:
    """The motion of the model rooted at the thorax: the thorax as the model rooted at the hand moves it."""
    motion = kinematics(model, m.q, m.u, m.udot)
    R, p = motion.batch_pose("thorax")
    whole = (
        (to_xyz(R), p),
        (motion.angular_velocity("thorax"), motion.velocity("thorax")),
        (motion.angular_acceleration("thorax"), motion.acceleration("thorax")),
    )
    parts = (np.hstack([*root, own]) for root, own in zip(whole, (m.q, m.u, m.udot), strict=True))
    return Motion(m.time, *parts)


def toe_load() -> ExternalLoad:
    return ExternalLoad("thorax", force=(0.0, _ON_TOES, 0.0), point=TOES, point_in="thorax")


class Compared(NamedTuple):
    """The push-up from both roots; largest differences of what should be the same."""

    closure: float  # of the hand's pose and of its velocity and acceleration, rooted at the thorax [m, m/s, m/s^2, rad]
    acceleration: float  # by forward dynamics and by multipliers [rad/s^2, m/s^2]
    own: float  # forward dynamics against the acceleration that the moments were made for
    hand: float  # what ground exerts at the hand: joint load against multipliers [N, N m]
    moments: float  # of the joints, with the hand's load given as measured [N m]
    residual: float  # of the root then: no force may be left [N, N m]
    load: float  # largest force at the hand [N]


def compare(hand: Model, thorax: Model) -> Compared:
    """Both trees along the planned push-up, under the moments that it needs."""
    m = planned(hand)
    whole, toes = with_root(hand, m), toe_load()
    motion = kinematics(thorax, whole.q, whole.u, whole.udot)
    R, p = motion.batch_pose("hand")
    rates = (motion.angular_velocity, motion.velocity, motion.angular_acceleration, motion.acceleration)
    closure = [R - np.eye(3), p - np.array(PALM.translation), *(rate("hand") for rate in rates)]
    tau = inverse_dynamics(hand, m.q, m.u, m.udot, toes)
    tau_whole = np.hstack([np.zeros((len(tau), 6)), tau])
    udot = forward_dynamics(hand, m.q, m.u, tau, toes)
    held = constrained_acceleration(thorax, whole.q, whole.u, tau_whole, toes)
    grip = held.reaction("palm")
    force, moment, _ = joint_loads(hand, m.q, m.u, m.udot, loads=toes, joints="palm").of("palm")
    load = ExternalLoad("hand", force=force, point=PALM.translation, moment=moment)
    again = inverse_dynamics(thorax, whole.q, whole.u, whole.udot, (toes, load))
    # the constraint's force acts at a point of its own: its moment is taken about the palm
    about = grip.moment + np.cross(grip.point - np.array(PALM.translation), grip.force)
    return Compared(
        max(largest(part) for part in closure),
        largest(held.udot - whole.udot),
        largest(udot - m.udot),
        max(largest(grip.force - force), largest(about - moment)),
        largest(again[:, 6:] - tau),
        largest(again[:, :6]),
        float(np.linalg.norm(force, axis=1).max()),
    )


def simulated(hand: Model, thorax: Model, end: float, tolerance: float = 1e-8) -> tuple[Simulation, Simulation]:
    """The push-up simulated from both roots: planned moments, and springs that keep it near the plan."""
    m = planned(hand)
    plan = np.hstack([inverse_dynamics(hand, m.q, m.u, m.udot, toe_load()), m.q, m.u])
    follow = make_interp_spline(np.append(m.time, PERIOD), np.vstack([plan, plan[:1]]), 5, bc_type="periodic")
    n = len(hand.speed_names)

    def moments(t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        tau, aim, speed = follow(t).reshape(3, n)
        own = tau - _STIFFNESS * (q[-n:] - aim) - _DAMPING * (u[-n:] - speed)
        return np.concatenate([np.zeros(len(u) - n), own])

    # a start that is not the plan's, so that something is left to simulate
    q0, times = m.q[0] + 0.02, np.linspace(0.0, end, 41)
    start = Motion(m.time[:1], q0[None], m.u[:1], m.udot[:1])
    whole = with_root(hand, start)

    def run(model: Model, q: FloatArray, u: FloatArray, formulation: Formulation) -> Simulation:
        return simulate(
            model, q, u, times, forces=moments, loads=toe_load(), method="rkf45",
            formulation=formulation, rtol=tolerance, atol=tolerance,
        )  # fmt: skip

    return run(hand, q0, m.u[0], "embedded"), run(thorax, whole.q[0], whole.u[0], "constrained")


def off_thorax(model: Model, q: FloatArray) -> float:
    """How far the scapula's frame is from its place on the thorax's ellipsoid, |p - diag(radii) R e_z| [m]."""
    joint = model.joint("scapulothoracic")
    motion = kinematics(model, q)
    (R_T, p_T), (R_S, p_S) = motion.batch_pose("thorax"), motion.batch_pose("scapula")
    tilt = from_xyz(joint.parent.orientation)
    relative = np.swapaxes(R_T @ tilt, 1, 2)
    p = np.einsum("fij,fj->fi", relative, p_S - p_T - R_T @ np.array(joint.parent.translation))
    n = (relative @ R_S @ from_xyz(joint.child.orientation))[:, :, 2]
    return largest(p - np.array(THORAX_RADII) * n)


def study(settings: Settings) -> Study:
    """The push-up from both roots."""
    settings.say("push-up: the tree rooted at the hand and at the thorax ...")
    hand, thorax, reach = rooted_at_hand(), rooted_at_thorax(), reaching()
    found = compare(hand, thorax)
    ours, theirs = simulated(hand, thorax, 0.25)
    drift = constraint_drift(thorax, theirs.q, theirs.u)
    m = planned(hand)
    whole = with_root(hand, m)
    swung = simulate(reach, m.q[0], m.u[0], np.linspace(0.0, 0.5, 26), method="rkf45", rtol=1e-9, atol=1e-9)
    seconds = seconds_per_call(
        {
            "hand": lambda: acceleration(hand, np.tile(m.q, (16, 1)), np.tile(m.u, (16, 1))),
            "thorax": lambda: acceleration(thorax, np.tile(whole.q, (16, 1)), np.tile(whole.u, (16, 1))),
        }
    )
    n = len(hand.speed_names)
    told: list[Row | Quantity] = [
        small(
            "hand at rest, rooted at the thorax: pose, velocity, acceleration", found.closure, "m, rad, /s, /s^2", 1e-11
        ),
        small("accelerations from both roots, largest difference", found.acceleration, "rad/s^2, m/s^2", 1e-9),
        small("inverse then forward dynamics at the hand's root", found.own, "rad/s^2", 1e-9),
        small("ground's load on the hand from both roots", found.hand, "N, N m", 1e-9),
        small("joint moments from both roots", found.moments, "N m", 1e-9),
        small("left over at the thorax's root", found.residual, "N, N m", 1e-9),
        Quantity("largest force at the hand", "N", found.load),
        small("simulated from both roots: joint coordinates", largest(ours.q - theirs.q[:, -n:]), "rad", 1e-7),
        small("simulated: scapula off the thorax, rooted at the hand", off_thorax(hand, ours.q), "m", 1e-14),
        small("simulated: scapula off the thorax, reaching forwards", off_thorax(reach, swung.q), "m", 1e-14),
        small("simulated: hand off the ground, rooted at the thorax", largest(drift.position), "m, rad", 1e-11),
        Quantity(
            "one acceleration: rooted at the thorax over rooted at the hand", "x", seconds["thorax"] / seconds["hand"]
        ),
        Quantity("coordinates, rooted at the hand", "", float(n)),
        Quantity("coordinates and constraints, rooted at the thorax", "", float(len(thorax.speed_names) + 6)),
        *_simbody(settings, hand, thorax, reach, m, whole),
    ]
    rows, parts = judged(told)
    grip, _, _ = joint_loads(hand, m.q, m.u, m.udot, loads=toe_load(), joints="palm").of("palm")
    chest = kinematics(hand, m.q).position("thorax")
    return Study(
        name="push-up",
        title="A push-up with the tree rooted at the hand, every coordinate as it was",
        source=SOURCE,
        method="Thorax, scapula on an ellipsoid, upper arm, forearm and hand; half a man of "
        f"{2.0 * sum(body.mass for body in BODIES):.0f} kg; the elbow bends from 14 to 83 degrees and back in "
        f"{PERIOD:g} s. All of it is ours: the paper states the method and gives no figures.",
        parts=parts,
        rows=rows,
        plots=(
            Plot(
                "hand",
                "What the hand carries, and how high the chest is",
                "time [s]",
                "[N], [mm]",
                m.time,
                {"force upwards [N]": grip[:, 1], "height of the thorax's origin [mm]": 1e3 * chest[:, 1]},
            ),
        ),
    )


def _simbody(settings: Settings, hand: Model, thorax: Model, reach: Model, m: Motion, whole: Motion) -> list[Row]:
    quantity, agree = "accelerations under gravity against Simbody's, {}", 1e-9
    names = ("rooted at the hand", "rooted at the thorax", "reaching")
    missing = opensim_missing(settings)
    if missing:
        return [Row(quantity.format(name), None, None, "relative", missing, limit=agree) for name in names]
    some = slice(0, None, 8)
    given = ((hand, m), (thorax, whole), (reach, m))
    states = {name: (model, x.q[some], x.u[some]) for name, (model, x) in zip(names, given, strict=True)}
    theirs = simbody_accelerations(states, rounds=1, repeats=80)
    rows = []
    for name, (model, q, u) in states.items():
        found = theirs[name].udot
        apart = largest(acceleration(model, q, u) - found) / largest(found)
        rows.append(small(quantity.format(name), apart, "relative", agree))
    return rows
