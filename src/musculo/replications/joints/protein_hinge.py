"""Seth2010, section 5: a protein of two rigid domains that closes along one coordinate, and the force that closes it.

The lysine-arginine-ornithine binding protein has a hinge at residues 90-91 and 192-193. Its mobile domain, residues 92
to 191, goes from open (q = 0) to closed (q = 1) along three angles and three translations, all functions of q (eq. 18).

Of the paper: the residues, the two conformations as q = 0 and 1, the form of the mobilizer. The angles, translations,
masses and times are not printed and are ours: 238 residues of 110 Da, each domain a ball of the density of proteins, a
turn of 52 degrees that the angles share, and 100 ps from rest to rest in empty space. Lengths are in nanometers, times
in picoseconds and masses in daltons, so that forces come in 1.66 pN and moments and energies in kJ/mol.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline

from musculo.analyses.joint_loads import joint_loads
from musculo.arrays import FloatArray
from musculo.dynamics.energy import kinetic_energy
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.poses import kinematics
from musculo.functions.elementary_functions import Linear, Polynomial
from musculo.model.body import GROUND, Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import Axis, CustomJoint, FreeJoint, Joint, PinJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, along
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler
from musculo.replications.joints.rival_rows import Names, simbody_rows, small, time_ratios
from musculo.replications.joints.rival_times import acceleration_seconds
from musculo.replications.joints.rivals import SOURCE, Rivals, State, acceleration_difference, largest
from musculo.replications.study import Plot, Quantity, Row, Settings, Study, judged
from musculo.simulation.simulate import simulate
from musculo.spatial.rotation import axis_rotation, to_xyz

# The paper's residues of the mobile domain; all others, the hinge's included, are the stationary one's.
MOBILE_RESIDUES = range(92, 192)
RESIDUES, RESIDUE_MASS, DENSITY = 238, 110.0, 813.0  # [1], [Da], [Da/nm^3] (1.35 g/cm^3)
# From open to closed: a turn about an axis, and where the mobile domain's hinge frame goes [rad], [nm].
TURN, AXIS, SHIFT = np.radians(52.0), (0.90, 0.30, 0.32), (0.20, -0.10, 0.15)
CLOSING = 100.0  # [ps]
PICONEWTON = 1.66053907  # in Da nm/ps^2
_AXES, _PARTS = (X_AXIS, Y_AXIS, Z_AXIS), ("rx", "ry", "rz", "tx", "ty", "tz")
NAMES = Names("pin", "hinge", "constraints")


def closed_pose() -> tuple[FloatArray, FloatArray]:
    """Angles (3,) and translation (3,) of the closed conformation."""
    return to_xyz(axis_rotation(AXIS, TURN)), np.array(SHIFT)


def domain(name: str, residues: int) -> tuple[Body, float]:
    """A ball of so many residues, and its radius [nm]."""
    mass = residues * RESIDUE_MASS
    radius = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    inertia = 0.4 * mass * radius**2
    return Body(name, mass, inertia=(inertia, inertia, inertia, 0.0, 0.0, 0.0)), float(radius)


class Protein(NamedTuple):
    """The two domains in space, joined in four ways."""

    hinge: Model  # one coordinate from open to closed
    driven: Model  # the same, its coordinate prescribed over time
    pin: Model
    constrained: Model  # all six motions and five constraints


def protein() -> Protein:
    """The models; `conformation` is the coordinate of the hinge."""
    still, r_still = domain("stationary", RESIDUES - len(MOBILE_RESIDUES))
    moving, r_moving = domain("mobile", len(MOBILE_RESIDUES))
    root = FreeJoint(
        "space", Placement(GROUND), Placement(still.name), tuple(Coordinate(f"space_{part}") for part in _PARTS)
    )
    ends = Placement(still.name, (0.0, r_still, 0.0)), Placement(moving.name, (0.0, -r_moving, 0.0))
    # from rest to rest with the least jerk: 10 s^3 - 15 s^4 + 6 s^5
    course = Polynomial((6.0 / CLOSING**5, -15.0 / CLOSING**4, 10.0 / CLOSING**3, 0.0, 0.0, 0.0))
    slopes = np.concatenate(closed_pose())
    coordinate = Coordinate("conformation", range=(0.0, 1.0))
    moves = [
        Axis(axis, Linear(float(slope), 0.0), ("conformation",)) for axis, slope in zip(_AXES * 2, slopes, strict=True)
    ]
    hinge = CustomJoint("hinge", *ends, (coordinate,), rotations=tuple(moves[:3]), translations=tuple(moves[3:]))
    free = [along(axis, part) for axis, part in zip(_AXES * 2, _PARTS, strict=True)]
    six = CustomJoint(
        "hinge",
        *ends,
        tuple(Coordinate(part) for part in _PARTS),
        rotations=tuple(free[:3]),
        translations=tuple(free[3:]),
    )
    follow = tuple(
        CoordinateCoupler(part, dependent=part, independents=("rx",), function=Linear(float(slope / slopes[0]), 0.0))
        for part, slope in zip(_PARTS[1:], slopes[1:], strict=True)
    )

    def model(name: str, joint: Joint, constraints: tuple[CoordinateCoupler, ...] = ()) -> Model:
        return Model(name, (still, moving), (root, joint), constraints, gravity=(0.0, 0.0, 0.0))

    whole = model("LAO", hinge)
    return Protein(
        whole,
        whole.with_coordinate("conformation", prescribed=True, prescribed_function=course),
        model("pinned", PinJoint("hinge", *ends, (coordinate,))),
        model("constrained", six, follow),
    )


def rivals(models: Protein) -> Rivals:
    slopes = np.concatenate(closed_pose())

    def lift(q: FloatArray, u: FloatArray) -> State:
        return np.hstack([q[:, :6], q[:, 6:] * slopes]), np.hstack([u[:, :6], u[:, 6:] * slopes])

    return Rivals(models.pin, models.hinge, models.constrained, lift, "mobile", (0.0, 0.0, 0.0))


def states(count: int = 64) -> State:
    rng = np.random.default_rng(2010)
    q, u = rng.uniform(-0.5, 0.5, (count, 7)), 0.05 * rng.normal(size=(count, 7))
    q[:, 6] = rng.uniform(0.0, 1.0, count)
    return q, u


class Closing(NamedTuple):
    """The protein closes in `CLOSING` picoseconds; frames first."""

    time: FloatArray  # [ps]
    q: FloatArray
    u: FloatArray
    udot: FloatArray
    motive: FloatArray  # (frames,) force on the coordinate [kJ/mol]
    left: float  # largest force that the root would need [Da nm/ps^2, kJ/mol]
    force: FloatArray  # (frames, 3) that the hinge exerts on the mobile domain, in space [Da nm/ps^2]
    moment: FloatArray  # (frames, 3) about the mobile domain's hinge frame [kJ/mol]


def closing(models: Protein, frames: int = 201) -> Closing:
    """The motive force for the prescribed closing, both domains free in space, and the loads of the hinge."""
    time = np.linspace(0.0, CLOSING, frames)
    n = len(models.hinge.speed_names)
    found = simulate(models.driven, np.zeros(n), np.zeros(n), time, method="adams", rtol=1e-11, atol=1e-13)
    tau = inverse_dynamics(models.hinge, found.q, found.u, found.udot)
    force, moment, _ = joint_loads(models.hinge, found.q, found.u, found.udot, joints="hinge").of("hinge")
    return Closing(time, found.q, found.u, found.udot, tau[:, 6], largest(tau[:, :6]), force, moment)


def momentum(model: Model, q: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of both domains together: linear, and angular about the origin of space, (frames, 3) each."""
    motion = kinematics(model, q, u)
    linear, angular = np.zeros((len(q), 3)), np.zeros((len(q), 3))
    for body in model.bodies:
        along_it = body.mass * motion.velocity(body.name)
        linear += along_it
        angular += np.cross(motion.position(body.name), along_it) + body.inertia[0] * motion.angular_velocity(body.name)
    return linear, angular


def replayed(models: Protein, found: Closing) -> FloatArray:
    """(frames, 2) conformation and its rate where only the motive force acts, from the open state at rest."""
    motive = make_interp_spline(found.time, found.motive, 7)
    at_rest = np.zeros(len(models.hinge.speed_names))

    def forces(t: float, q: FloatArray, u: FloatArray) -> FloatArray:
        tau = np.zeros_like(u)
        tau[6] = motive(t)
        return tau

    again = simulate(models.hinge, at_rest, at_rest, found.time, forces=forces, method="adams", rtol=1e-11, atol=1e-13)
    return np.column_stack([again.q[:, 6], again.u[:, 6]])


def study(settings: Settings) -> Study:
    """The closing of the protein: motive force, reaction loads, and the same by constraints."""
    settings.say("protein-hinge: two domains close ...")
    models = protein()
    found, forms, (q, u) = closing(models), rivals(models), states()
    again = replayed(models, found)
    linear, angular = momentum(models.hinge, found.q, found.u)
    speed = np.abs(momentum_scale(models.hinge, found.q, found.u)).max()
    energy = np.asarray(kinetic_energy(models.hinge, found.q, found.u))
    work = make_interp_spline(found.time, found.motive * found.u[:, 6], 7).antiderivative()(found.time)
    R, p = (x[-1] for x in hinge_pose(models.hinge, found.q))
    angles, shift = closed_pose()
    seconds = acceleration_seconds(forms, q, u)
    size = np.linalg.norm(found.force, axis=1), np.linalg.norm(found.moment, axis=1)
    told: list[Row | Quantity] = [
        small(
            "closed conformation at q = 1, largest difference",
            max(largest(R - axis_rotation(AXIS, TURN)), largest(p - shift)),
            "rad, nm",
            1e-12,
        ),
        Quantity(
            "turn from open to closed",
            "deg",
            float(np.degrees(np.arccos((np.trace(R) - 1.0) / 2.0))),
            note="ours; the paper aligned crystal structures",
        ),
        Quantity("mass of the mobile domain", "kDa", models.hinge.body("mobile").mass / 1e3, note="ours"),
        Quantity("mass of the stationary domain", "kDa", models.hinge.body("stationary").mass / 1e3, note="ours"),
        Quantity("motive force on q, largest", "kJ/mol", largest(found.motive), note="for closing in 100 ps"),
        Quantity("force of the hinge, largest", "pN", PICONEWTON * float(size[0].max())),
        Quantity("moment of the hinge, largest", "pN nm", PICONEWTON * float(size[1].max())),
        Quantity("kinetic energy, largest", "kJ/mol", float(energy.max())),
        small(
            "conformation by the motive force alone, largest difference from the plan",
            largest(again[:, 0] - found.q[:, 6]),
            "",
            1e-8,
        ),
        small(
            "work of the motive force against the kinetic energy",
            largest(work - energy) / energy.max(),
            "relative",
            1e-8,
            note="so the reaction does none",
        ),
        small("force left at the root", found.left / float(size[0].max()), "relative", 1e-10),
        small(
            "momentum and spin of the whole, from zero",
            max(largest(linear), largest(angular)) / speed,
            "relative",
            1e-9,
        ),
        small(
            "accelerations by six coordinates with five constraints",
            acceleration_difference(forms, q, u),
            "rad/ps^2, nm/ps^2",
            1e-12,
        ),
        *time_ratios("one acceleration", seconds, NAMES),
        *simbody_rows(settings, forms, q, u, NAMES, seconds, flawed="Simbody's is wrong, see above"),
    ]
    rows, parts = judged(told)
    return Study(
        name="protein-hinge",
        title="A protein closes: two rigid domains and one coordinate",
        source=SOURCE,
        method="LAO binding protein, both domains free in space; the paper's residue ranges and its q from 0 (open) to "
        "1 (closed). Ours: 110 Da a residue, balls of 1.35 g/cm^3, a turn of 52 degrees shared by three angles, a "
        f"shift of {np.linalg.norm(shift):.2f} nm, {CLOSING:g} ps from rest to rest. No solvent, no potential: the "
        "motive force overcomes inertia alone. The paper says that motive force and bearing loads can be had, and "
        "prints none.",
        parts=parts,
        rows=rows,
        remarks=(
            f"Closed: angles {', '.join(f'{x:.2f}' for x in np.degrees(angles))} degrees. Each grows in proportion to "
            "q, so that the turn between is not a turn about one axis.",
            "Simbody's joint of functions errs where one coordinate drives the first and the third rotation (eq. 28 "
            "taken by coordinates): it contradicts Simbody's own constraints, with which ours agree to rounding.",
        ),
        plots=(
            Plot(
                "closing",
                "What closes the protein, and what its hinge carries",
                "time [ps]",
                "[kJ/mol], [pN]",
                found.time,
                {"motive force on q [kJ/mol]": found.motive, "force of the hinge [pN]": PICONEWTON * size[0]},
            ),
        ),
    )


def hinge_pose(model: Model, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R (frames, 3, 3) and p (frames, 3) of the mobile domain's hinge frame in the stationary domain's."""
    motion = kinematics(model, q)
    (R_S, p_S), (R_M, p_M) = motion.batch_pose("stationary"), motion.batch_pose("mobile")
    joint = model.joint("hinge")
    apart = p_M + R_M @ np.array(joint.child.translation) - p_S - R_S @ np.array(joint.parent.translation)
    back = np.swapaxes(R_S, 1, 2)
    return back @ R_M, np.einsum("fij,fj->fi", back, apart)


def momentum_scale(model: Model, q: FloatArray, u: FloatArray) -> FloatArray:
    """Momentum of the mobile domain alone, (frames,): what the whole's is small beside."""
    motion = kinematics(model, q, u)
    return model.body("mobile").mass * np.linalg.norm(motion.velocity("mobile"), axis=1)
