"""Ehsani2023, 4-3 A: a four-bar driven by the height of its coupler; how fast does a point of it move?

The joint variables are modeled beforehand by splines of the height (the paper's first method), and the motion that
follows is compared with the classical kinematics of a four-bar, which is written down here and shares nothing with the
embedding.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.methods.fitted_loop import Fitted
from musculo.embedding.loops.methods.joint_variables import LoopMethod
from musculo.embedding.loops.methods.loop_projection import Projection
from musculo.replications.closed_loops.mechanisms import FOUR_BARS, FOUR_BASE, FOUR_CENTER, FOUR_P, four_bar
from musculo.replications.study import (
    Plot,
    Quantity,
    Row,
    Settings,
    Study,
    judged,
    relative_difference,
    significant,
)

SOURCE = "Ehsani 2023, Empirically-based Multibody Dynamics, section 4-3 A, table 1"
FRAMES = 1001
# The paper's trajectory is a picture; ours goes through these heights with these slopes: time [s], [1], [1/s].
KNOTS = ((0.0, 1.0, 2.0, 3.0, 4.0), (0.0, 1.5, 0.3, -1.5, 0.0), (0.0, 0.0, -1.5, 0.0, 0.0))
RANGE = (-2.0, 2.0)
# Steps of the sweep. A cubic spline does not reach seven figures of the acceleration at any step: where its own error,
# which falls with the square of the step, is small enough, rounding over the square of the step is not.
PAPER_STEP, FINE_STEP = 0.01, 0.0025
FIGURES = 7
CITE = "section 4-3 A"
# Near the joint variables at height zero, on the branch of `four_bar`.
START = (-0.95, 1.9, -1.77)


def trajectory(frames: int = FRAMES) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times (frames,), and height, its speed and its acceleration: piecewise cubic Hermite polynomials."""
    curve = CubicHermiteSpline(*KNOTS)
    t = np.linspace(KNOTS[0][0], KNOTS[0][-1], frames)
    return t, curve(t), curve(t, 1), curve(t, 2)


def embedded_point(
    method: LoopMethod, q: FloatArray, qdot: FloatArray, qddot: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Velocity and acceleration (frames, 2) of p on the third bar, the joint variables by a method of the embedding."""
    model = four_bar()
    e = embedding_of(model, independent=("height",), loops=method)
    m = e.motion(q[:, None], qdot[:, None], qddot[:, None])
    motion = kinematics(model, m.q, m.u, m.udot)
    p = (FOUR_P, 0.0, 0.0)
    return motion.velocity("bar3", p)[:, :2], motion.acceleration("bar3", p)[:, :2]


def classical_point(q: FloatArray, qdot: FloatArray, qddot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Velocity and acceleration (frames, 2) of p by the vector loop in absolute angles phi, w = phidot, a = phiddot.

        g(phi, q) = 0 by Newton's method,   J w = -g_q qdot,   J a = -g_q qddot + (centripetal terms)
        v = sum of l_k w_k e'_k,            dv/dt = sum of l_k (a_k e'_k - w_k^2 e_k)

    Source: any textbook, for instance Shabana 2005, which the paper compares with. No tree, no embedding.
    """
    l1, l2, l3 = FOUR_BARS
    rest = l2 - FOUR_CENTER
    zero = np.zeros_like(q)
    phi = np.tile(np.cumsum(START), (len(q), 1))

    def jacobian(x: FloatArray) -> FloatArray:
        s, c = np.sin(x).T, np.cos(x).T
        rows = (
            (l1 * c[0], FOUR_CENTER * c[1], zero),
            (zero, rest * c[1], l3 * c[2]),
            (-l1 * s[0], -l2 * s[1], -l3 * s[2]),
        )
        return np.moveaxis(np.array(rows), 2, 0)

    def solved(x: FloatArray, *right: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.solve(jacobian(x), np.stack(right, axis=1)[:, :, None])[:, :, 0], dtype=float)

    # from height zero to each height in small steps, so that Newton stays on the branch
    for h in np.linspace(0.0, 1.0, 41)[:, None] * q:
        for _ in range(6):
            s, c = np.sin(phi).T, np.cos(phi).T
            g = (l1 * s[0] + FOUR_CENTER * s[1] - h, rest * s[1] + l3 * s[2] + h)
            phi = phi - solved(phi, *g, l1 * c[0] + l2 * c[1] + l3 * c[2] - FOUR_BASE)
    w = solved(phi, qdot, -qdot, zero)
    s, c, (w1, w2, w3) = np.sin(phi).T, np.cos(phi).T, (w**2).T
    a = solved(
        phi,
        qddot + l1 * s[0] * w1 + FOUR_CENTER * s[1] * w2,
        -qddot + rest * s[1] * w2 + l3 * s[2] * w3,
        l1 * c[0] * w1 + l2 * c[1] * w2 + l3 * c[2] * w3,
    )
    arm = np.array([l1, l2, FOUR_P])
    along, across = np.stack([np.cos(phi), np.sin(phi)]), np.stack([-np.sin(phi), np.cos(phi)])
    return ((w * across) @ arm).T, ((a * across - w**2 * along) @ arm).T


def study(settings: Settings) -> Study:
    """The paper's figures of the four-bar beside ours."""
    t, q, qdot, qddot = trajectory()
    classical = classical_point(q, qdot, qddot)
    paper = significant(FIGURES)
    found: list[Row | Quantity] = []
    methods: tuple[tuple[str, LoopMethod, str], ...] = (
        (f"quintic splines, step {FINE_STEP:g}", _splines(FINE_STEP, 5), "a higher degree and a finer sweep"),
        ("analytical projection", Projection(), "nothing is fitted"),
    )

    def apart(name: str, method: LoopMethod) -> tuple[tuple[FloatArray, FloatArray], list[tuple[str, float]]]:
        settings.say(f"four-bar: {name} ...")
        ours = embedded_point(method, q, qdot, qddot)
        both = zip(("velocity", "acceleration"), ours, classical, strict=True)
        return ours, [(f"p's {what}, {name}", relative_difference(mine, theirs)) for what, mine, theirs in both]

    recipe, differences = apart(f"cubic splines, step {PAPER_STEP:g}", _splines(PAPER_STEP, 3))
    note = "the paper's recipe, on a trajectory of ours"
    found += [Row(name, paper, value, note=note, cite=CITE) for name, value in differences]
    for name, method, note in methods:
        found += [Row(n, None, value, note=note, limit=paper) for n, value in apart(name, method)[1]]
    between = apart(f"quintic splines, step {PAPER_STEP:g}", _splines(PAPER_STEP, 5))[1]
    found += [Quantity(name, "", value) for name, value in between]
    speed, pull = (np.hypot(*part.T) for part in classical)
    found.append(Quantity("largest speed of p", "1/s", float(speed.max())))
    found.append(Quantity("largest acceleration of p", "1/s^2", float(pull.max())))
    rows, parts = judged(found)
    gentle = q >= 0.0
    there = relative_difference(recipe[1][gentle], classical[1][gentle])
    return Study(
        "four-bar",
        "A four-bar of one degree of freedom, driven by the height of its coupler's middle",
        SOURCE,
        "p is on the third bar, sqrt(5)/2 from its joint with the second. The height follows Hermite polynomials of "
        "our own, from -1.5 to 1.5, since the paper shows its trajectory as a picture only. Joint variables are "
        "splines of the height over -2 to 2. Figures are the largest difference from the classical vector loop at any "
        "time, of the largest value; the paper's seven equal figures are 1e-7.",
        parts=parts,
        rows=rows,
        remarks=(
            "The second derivative of a cubic spline errs with the square of the step, and most where joint variables "
            f"bend most, at heights near -0.8: the paper's recipe gives {rows[1].ours:.1e} in the acceleration here, "
            f"{there:.1e} above height zero. Seven figures take splines of fifth degree and a finer sweep, or no fit.",
        ),
        plots=(
            Plot(
                "speed",
                "Speed and acceleration of p (figure 6)",
                "time [s]",
                "",
                t,
                {"speed": speed, "acceleration": pull},
            ),
        ),
    )


def _splines(step: float, degree: int) -> Fitted:
    samples = round((RANGE[1] - RANGE[0]) / step) + 1
    return Fitted(ranges={"height": RANGE}, samples=samples, degree=3 if degree == 3 else 5)
