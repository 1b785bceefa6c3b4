"""Seth2010, figure 1 and eq. 5-7: a collar on a screw, as a mobilizer of one coordinate and as two with a constraint.

Under gravity along the axis both have a solution in closed form, q(t) = q0 + u0 t + udot t^2 / 2 with

    udot = s m g / (I + m s^2)

for the pitch s, the collar's mass m and its inertia I about the axis. The paper gives no figures; pitch, collar and
motion are ours.
"""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.functions.elementary_functions import Linear
from musculo.model.body import GROUND, Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import CylindricalJoint, PinJoint, ScrewJoint
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler
from musculo.replications.joints.rival_rows import Names, simbody_rows, small, time_ratios
from musculo.replications.joints.rival_times import acceleration_seconds
from musculo.replications.joints.rivals import SOURCE, Rivals, State, acceleration, largest, same_motion
from musculo.replications.study import Quantity, Row, Settings, Study, judged

PITCH = 0.01  # [m/rad]
COLLAR = Body("collar", 0.5, (0.0, 0.0, 0.0), (8e-5, 8e-5, 1.2e-4, 0.0, 0.0, 0.0))
GRAVITY = (0.0, 0.0, -9.80665)
START = np.array([0.3]), np.array([2.0])
END = 1.0
NAMES = Names("pin", "screw", "constraints")
# A point at the collar's rim, whose place tells angle and height.
RIM = (0.02, 0.0, 0.0)


def screw_rivals() -> Rivals:
    """A pin, the screw, and a cylindrical joint whose translation is coupled to its rotation; one body."""
    turn = Coordinate("turn")
    mobilizer = Model(
        "screw",
        (COLLAR,),
        (ScrewJoint("screw", Placement(GROUND), Placement(COLLAR.name), (turn,), pitch=PITCH),),
        gravity=GRAVITY,
    )
    cylindrical = CylindricalJoint("screw", Placement(GROUND), Placement(COLLAR.name), (turn, Coordinate("height")))
    thread = CoordinateCoupler("thread", dependent="height", independents=("turn",), function=Linear(PITCH, 0.0))

    def lift(q: FloatArray, u: FloatArray) -> State:
        return np.hstack([q, PITCH * q]), np.hstack([u, PITCH * u])

    return Rivals(
        Model(
            "pin", (COLLAR,), (PinJoint("screw", Placement(GROUND), Placement(COLLAR.name), (turn,)),), gravity=GRAVITY
        ),
        mobilizer,
        Model("cylindrical", (COLLAR,), (cylindrical,), constraints=(thread,), gravity=GRAVITY),
        lift,
        COLLAR.name,
        RIM,
    )


def closed_form(time: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """q, u (times,) and the constant udot of the collar sliding down."""
    m, inertia, (q0, u0) = COLLAR.mass, COLLAR.inertia[2], (float(x[0]) for x in START)
    udot = PITCH * m * GRAVITY[2] / (inertia + m * PITCH**2)
    return q0 + u0 * time + 0.5 * udot * time**2, u0 + udot * time, udot


def mobilizer_error(model: Model, q: FloatArray, u: FloatArray, udot: FloatArray) -> float:
    """The largest difference of pose, velocity and acceleration from eq. 5-7, q, u, udot (frames, 1)."""
    motion = kinematics(model, q, u, udot)
    R, p = motion.batch_pose(COLLAR.name)
    still, sin, cos = np.zeros(len(q)), np.sin(q[:, 0]), np.cos(q[:, 0])
    expected_R = np.array([[cos, -sin, still], [sin, cos, still], [still, still, still + 1.0]]).transpose(2, 0, 1)
    H = np.array([0.0, 0.0, 1.0, 0.0, 0.0, PITCH])
    velocity = np.hstack([motion.angular_velocity(COLLAR.name), motion.velocity(COLLAR.name)])
    accel = np.hstack([motion.angular_acceleration(COLLAR.name), motion.acceleration(COLLAR.name)])
    parts = (R - expected_R, p - np.outer(q, H[3:]), velocity - np.outer(u, H), accel - np.outer(udot, H))
    return max(largest(part) for part in parts)


def states(count: int = 64) -> State:
    rng = np.random.default_rng(2010)
    q, u = rng.uniform(-3.0, 3.0, (count, 1)), rng.normal(size=(count, 1))
    q[0], u[0] = START
    return q, u


def study(settings: Settings) -> Study:
    """The screw three ways, beside its closed form."""
    q, u = states()
    forms = screw_rivals()
    settings.say("screw: accelerations and simulations by mobilizer and by constraints ...")
    seconds = acceleration_seconds(forms, q, u)
    apart, ours, theirs = same_motion(forms, *START, END)
    exact, _, udot = closed_form(ours.time)
    found: list[Row | Quantity] = [
        small(
            "eq. 5-7: pose, velocity and acceleration, largest difference",
            mobilizer_error(forms.mobilizer, q, u, u[::-1]),
            "m, rad",
            1e-14,
        ),
        small(
            "acceleration against s m g / (I + m s^2), screw",
            largest(acceleration(forms.mobilizer, q, u) / udot - 1.0),
            "relative",
            1e-13,
        ),
        small(
            "acceleration against s m g / (I + m s^2), constraints",
            largest(acceleration(forms.constrained, *forms.lift(q, u))[:, 0] / udot - 1.0),
            "relative",
            1e-13,
        ),
        small("turn after the slide against the closed form, screw", largest(ours.q[:, 0] - exact), "rad", 1e-10),
        small(
            "turn after the slide against the closed form, constraints", largest(theirs.q[:, 0] - exact), "rad", 1e-10
        ),
        small("off the thread, constraints", largest(theirs.q[:, 1] - PITCH * theirs.q[:, 0]), "m", 1e-11),
        small("both slides, largest distance", apart, "m", 1e-10),
        *time_ratios("one acceleration", seconds, NAMES),
        *simbody_rows(settings, forms, q, u, NAMES, seconds),
    ]
    rows, parts = judged(found)
    return Study(
        name="screw",
        title="A collar on a screw: one coordinate, or two with a constraint",
        source=SOURCE,
        method=f"Pitch {PITCH:g} m/rad, a collar of {COLLAR.mass:g} kg that slides down for {END:g} s; both are ours. "
        "Times are those in a batch of states on one processor.",
        parts=parts,
        rows=rows,
    )
