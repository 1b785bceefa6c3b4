"""Seth2010, figure 5: a particle on a surface that imaging gave, as a joint of two coordinates.

The figure shows a bent tube of constant radius r about a curve rho(x); it has no figures. Ours is bent along a circle
of radius B, so that the surface is known exactly (a torus), and with it the motion:

    p(x, theta) = ((B + r cos theta) sin(x / B), (B + r cos theta) cos(x / B), r sin theta)
    (sqrt(p_x^2 + p_y^2) - B)^2 + p_z^2 = r^2

The joint sees only samples of p on a grid, through which it takes a polynomial of both coordinates. Beside it stand the
surface itself (two pins in a row) and the constraint on three translations, whose reaction is the figure's arrow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.analyses.joint_loads import joint_loads
from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constrained_acceleration
from musculo.dynamics.forward import forward_dynamics
from musculo.dynamics.poses import kinematics
from musculo.functions.elementary_functions import Linear
from musculo.functions.multivariate import MultivariatePolynomial, exponent_rows
from musculo.model.body import GROUND, Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import Axis, CustomJoint, PinJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, along
from musculo.model.model import Model
from musculo.model.model_constraint import EquationConstraint
from musculo.replications.joints.rival_rows import opensim_missing, small
from musculo.replications.joints.rival_times import BATCH
from musculo.replications.joints.rivals import SOURCE, State, acceleration, largest
from musculo.replications.joints.simbody_study import simbody_accelerations
from musculo.replications.study import Plot, Quantity, Row, Settings, Study, judged
from musculo.replications.timing import seconds_per_call
from musculo.simulation.simulate import Formulation, simulate
from musculo.simulation.simulation import Simulation

BEND, RADIUS = 0.20, 0.05  # B and r [m]
PARTICLE = Body("particle", 0.1)
GRAVITY = (0.0, 9.80665, 0.0)  # towards the outside of the bend, where the particle then stays
# Where the surface was measured: x [m], theta [rad]; samples along each; degree of the polynomial through them.
RANGE, SAMPLES, DEGREE = ((-0.18, 0.18), (-1.3, 1.3)), 41, 12
START = np.array([0.02, 0.3]), np.array([0.4, -6.0])
END = 0.5


class Tube(NamedTuple):
    """The particle on its surface in three forms."""

    measured: Model  # x, theta: polynomials through samples
    exact: Model  # the same coordinates: a pin of x / B, then one of theta
    constrained: Model  # three translations and one equation


def surface(x: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p(x, theta) [m]."""
    out = BEND + RADIUS * np.cos(theta)
    return out * np.sin(x / BEND), out * np.cos(x / BEND), RADIUS * np.sin(theta)


def through_grid(x: FloatArray, theta: FloatArray, values: FloatArray) -> MultivariatePolynomial:
    """The polynomial of degree `DEGREE` in both coordinates that is nearest to values at points, all (n,)."""
    scale = np.array([np.abs(x).max(), np.abs(theta).max()])
    rows = np.array(list(exponent_rows(2, DEGREE)))
    terms = (x / scale[0])[:, None] ** rows[:, 0] * (theta / scale[1])[:, None] ** rows[:, 1]
    found = np.linalg.lstsq(terms, values, rcond=None)[0] / np.prod(scale**rows, axis=1)
    return MultivariatePolynomial(2, DEGREE, tuple(found))


def grid(count: int) -> tuple[FloatArray, FloatArray]:
    """x and theta (count^2,) of points spread evenly over what was measured."""
    x, theta = np.meshgrid(*(np.linspace(first, last, count) for first, last in RANGE))
    return x.ravel(), theta.ravel()


def tube() -> Tube:
    """The three models."""
    x, theta = Coordinate("x", range=RANGE[0]), Coordinate("theta", range=RANGE[1])
    at_x, at_theta = grid(SAMPLES)
    fits = [through_grid(at_x, at_theta, values) for values in surface(at_x, at_theta)]
    axes = (X_AXIS, Y_AXIS, Z_AXIS)
    joint = CustomJoint(
        "surface",
        Placement(GROUND),
        Placement(PARTICLE.name),
        (x, theta),
        translations=tuple(Axis(axis, fit, ("x", "theta")) for axis, fit in zip(axes, fits, strict=True)),
    )
    # x / B turns the section about -z; the section's own pin turns about the direction of the tube
    section = Body("section", 0.0)
    turn = CustomJoint(
        "bend",
        Placement(GROUND),
        Placement(section.name),
        (x,),
        rotations=(Axis(X_AXIS), Axis(Y_AXIS), Axis(Z_AXIS, Linear(-1.0 / BEND, 0.0), ("x",))),
    )
    across = (0.0, np.pi / 2, 0.0)  # takes z to the direction of the tube
    around = PinJoint(
        "around",
        Placement(section.name, (0.0, BEND, 0.0), across),
        Placement(PARTICLE.name, (0.0, -RADIUS, 0.0), across),
        (theta,),
    )
    slides = CustomJoint(
        "slides",
        Placement(GROUND),
        Placement(PARTICLE.name),
        (Coordinate("px"), Coordinate("py", default_value=BEND + RADIUS), Coordinate("pz")),
        translations=tuple(along(axis, name) for axis, name in zip(axes, ("px", "py", "pz"), strict=True)),
    )
    wall = EquationConstraint("wall", coordinates=("px", "py", "pz"), equations=_implicit)
    return Tube(
        Model("measured", (PARTICLE,), (joint,), gravity=GRAVITY),
        Model("exact", (section, PARTICLE), (turn, around), gravity=GRAVITY),
        Model("constrained", (PARTICLE,), (slides,), constraints=(wall,), gravity=GRAVITY),
    )


def _implicit(px: FloatArray, py: FloatArray, pz: FloatArray) -> FloatArray:
    """Half the difference of squares over r: a length, near the distance from the surface."""
    return ((np.sqrt(px * px + py * py) - BEND) ** 2 + pz * pz - RADIUS**2) / (2.0 * RADIUS)


def off_surface(p: FloatArray) -> float:
    """The largest distance of points (frames, 3) from the tube [m]."""
    return largest(np.hypot(np.hypot(p[:, 0], p[:, 1]) - BEND, p[:, 2]) - RADIUS)


def normal(p: FloatArray) -> FloatArray:
    """The unit normals of the tube at points (frames, 3)."""
    out = np.hypot(p[:, 0], p[:, 1])[:, None]
    center = np.hstack([p[:, :2] * BEND / out, np.zeros((len(p), 1))])
    return (p - center) / np.linalg.norm(p - center, axis=1, keepdims=True)


def lift(model: Model, q: FloatArray, u: FloatArray) -> State:
    """States of the three translations from those of two coordinates."""
    motion = kinematics(model, q, u)
    return motion.position(PARTICLE.name), motion.velocity(PARTICLE.name)


def states(count: int = 64) -> State:
    rng = np.random.default_rng(2010)
    q = np.column_stack([rng.uniform(0.8 * first, 0.8 * last, count) for first, last in RANGE])
    u = rng.normal(size=(count, 2)) * np.array([0.2, 2.0])
    q[0], u[0] = START
    return q, u


class Moved(NamedTuple):
    """Where the particle goes, and with what energy and Clairaut's constant, in each form."""

    place: dict[str, FloatArray]  # (frames, 3) [m]
    clairaut: FloatArray  # (frames,) of the exact form without gravity [m^2/s]


def moved(forms: Tube, end: float = END) -> Moved:
    """The motion of the particle by all three, and a motion without gravity, which follows a geodesic."""
    times = np.linspace(0.0, end, 61)

    def tight(model: Model, start: State, until: FloatArray = times) -> Simulation:
        formulation: Formulation = "constrained" if model.constraints else "embedded"
        return simulate(model, *start, until, formulation=formulation, method="rkf45", rtol=1e-11, atol=1e-12)

    place = {}
    for name in ("measured", "exact"):
        found = tight(getattr(forms, name), START)
        place[name] = kinematics(found.model, found.q).position(PARTICLE.name)
    places, speeds = lift(forms.exact, START[0][None], START[1][None])
    kept = tight(forms.constrained, (places[0], speeds[0]))
    place["constrained"] = kinematics(kept.model, kept.q).position(PARTICLE.name)
    # a geodesic goes round the tube and off what was measured: half the time keeps it inside
    floating = tight(forms.measured.replace(gravity=(0.0, 0.0, 0.0)), START, 0.5 * times)
    motion = kinematics(floating.model, floating.q, floating.u)
    p, v = motion.position(PARTICLE.name), motion.velocity(PARTICLE.name)
    return Moved(place, p[:, 0] * v[:, 1] - p[:, 1] * v[:, 0])


def arrow(forms: Tube, q: FloatArray, u: FloatArray) -> tuple[float, float, float]:
    """The reaction of the measured surface: its part along the surface and its angle to the torus's normal [rad], and
    its largest difference from the multiplier's force [N]; parts are of the largest reaction."""
    force = joint_loads(forms.measured, q, u).force[:, 0]
    motion = kinematics(forms.measured, q)
    tangents = motion.point_jacobian(PARTICLE.name)
    along_it = np.einsum("fij,fi->fj", tangents / np.linalg.norm(tangents, axis=1, keepdims=True), force)
    n = normal(motion.position(PARTICLE.name))
    size = np.linalg.norm(force, axis=1)
    aslant = np.linalg.norm(np.cross(force, n), axis=1) / size
    Q, U = lift(forms.exact, q, u)
    theirs = constrained_acceleration(forms.constrained, Q, U, np.zeros_like(U)).generalized
    return largest(along_it) / size.max(), float(aslant.max()), largest(force - theirs)


def _simbody(settings: Settings, forms: Tube, q: FloatArray, u: FloatArray) -> list[Row | Quantity]:
    names = {"exact": "two pins", "measured": "measured joint"}
    quantity, agree = "accelerations against Simbody's, {}", 1e-10
    missing = opensim_missing(settings)
    if missing:
        return [Row(quantity.format(names["exact"]), None, None, "relative", missing, limit=agree)]
    theirs = simbody_accelerations({name: (getattr(forms, name), q, u) for name in names}, rounds=1, repeats=64)
    apart = [
        largest(acceleration(getattr(forms, name), q, u) - found.udot) / largest(found.udot)
        for name, found in theirs.items()
    ]
    return [
        small(quantity.format(names["exact"]), apart[0], "relative", agree),
        Quantity(quantity.format(names["measured"]), "relative", apart[1],
                 note="OpenSim's polynomial answers for second derivatives with first ones"),
    ]  # fmt: skip


def study(settings: Settings) -> Study:
    """The tube by measurement, by its formula and by a constraint."""
    settings.say("manifold: a particle on a measured surface ...")
    forms, (q, u) = tube(), states()
    fit = off_surface(kinematics(forms.measured, np.column_stack(grid(173))).position(PARTICLE.name))
    Q, U = lift(forms.exact, q, u)
    exact = forward_dynamics(forms.exact, q, u, np.zeros_like(u))
    ours = forward_dynamics(forms.measured, q, u, np.zeros_like(u))
    held = constrained_acceleration(forms.constrained, Q, U, np.zeros_like(U)).udot
    straight = kinematics(forms.exact, q, u, exact).acceleration(PARTICLE.name)
    course = moved(forms)
    slanted, aslant, apart = arrow(forms, q, u)
    many = {
        name: (np.resize(a, (BATCH, a.shape[1])), np.resize(b, (BATCH, b.shape[1])))
        for name, (a, b) in {"measured": (q, u), "constrained": (Q, U)}.items()
    }
    spent = seconds_per_call(
        {
            "measured": lambda: acceleration(forms.measured, *many["measured"]),
            "constrained": lambda: acceleration(forms.constrained, *many["constrained"]),
        }
    )
    found: list[Row | Quantity] = [
        small("measured surface: off the tube, anywhere", fit, "m", 1e-9),
        small(
            "acceleration: measured against exact, largest difference",
            largest((ours - exact) / exact.std(axis=0)),
            "relative",
            1e-6,
            note="second derivatives of the fit",
        ),
        small("acceleration: constraint against exact, largest difference", largest(held - straight), "m/s^2", 1e-12),
        small(
            "motion: measured against exact, largest distance",
            largest(course.place["measured"] - course.place["exact"]),
            "m",
            1e-9,
        ),
        small(
            "motion: constraint against exact, largest distance",
            largest(course.place["constrained"] - course.place["exact"]),
            "m",
            1e-9,
        ),
        small("motion: exact, off the tube", off_surface(course.place["exact"]), "m", 1e-15),
        small("motion: constraint, off the tube", off_surface(course.place["constrained"]), "m", 1e-12),
        small("reaction (the arrow of figure 5): its part along the measured surface", slanted, "relative", 1e-13),
        small("reaction: its angle to the tube's normal", aslant, "rad", 1e-7),
        small("reaction: against the multiplier's force, largest difference", apart, "N", 1e-7),
        small(
            "geodesic: change of Clairaut's constant",
            float(np.ptp(course.clairaut) / np.abs(course.clairaut).max()),
            "relative",
            1e-8,
            note="without gravity the particle goes straight ahead",
        ),
        Quantity("one acceleration: constraint over measured joint", "x", spent["constrained"] / spent["measured"]),
        *_simbody(settings, forms, q, u),
    ]
    rows, parts = judged(found)
    x, theta = (np.linspace(*span, 61) for span in RANGE)
    height = surface(*np.meshgrid(x, theta))[1]
    return Study(
        name="manifold",
        title="A particle on a measured surface of two coordinates",
        source=SOURCE,
        method=f"Figure 5, without figures of its own: a tube of radius {RADIUS:g} m bent to {BEND:g} m (ours), seen "
        f"at {SAMPLES} by {SAMPLES} points, and a polynomial of degree {DEGREE} in both coordinates through them.",
        parts=parts,
        rows=rows,
        plots=(
            Plot(
                "surface",
                "Height of the tube over its coordinates",
                "x [m]",
                "theta [rad]",
                x,
                y=theta,
                z=height,
                z_label="p_y [m]",
            ),
        ),
    )
