"""Ehsani2023, 4-3 B: a five-bar of two degrees of freedom; its joint variables and their derivatives, three ways.

Analytical projection (the paper's third method) against the molecule (its second) and against classical kinematics,
which is written down here and shares nothing with the embedding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from musculo.arrays import FloatArray
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.methods.loop_methods import LoopName
from musculo.replications.closed_loops.mechanisms import FIVE_BARS, FIVE_BASE, FIVE_P, five_bar
from musculo.replications.study import Plot, Row, Settings, Study, relative_difference, significant

SOURCE = "Ehsani 2023, Empirically-based Multibody Dynamics, section 4-3 B, table 2"
FRAMES = 1001
# The paper's trajectories are pictures; ours go through these angles with these slopes: time [s], [rad], [rad/s].
TIMES = (0.0, 1.0, 2.0, 3.0, 4.0)
FIRST = ((0.3, 1.5, 2.2, 0.8, 0.3), (0.0, 1.2, 0.0, -1.0, 0.0))
SECOND = ((0.2, -0.6, 0.9, 2.0, 0.2), (0.0, 0.0, 1.5, 0.0, 0.0))
CLASSICAL_FIGURES, MOLECULE_FIGURES = 6, 7
# Two ways through a few products in float64, relative or of angles [rad].
ROUNDING = 1e-12
# Samples of the manifold along each angle, over a whole turn.
SAMPLES = 121


class FiveBarMotion(NamedTuple):
    """Of a trajectory: joint variables of the third and fourth joints with gradients, and the motion of p."""

    dependents: FloatArray  # (frames, 2) [rad]
    gradient: FloatArray  # (frames, 2, 2): rows theta3, theta4, columns theta1, theta2
    velocity: FloatArray  # (frames, 2)
    acceleration: FloatArray  # (frames, 2)


def trajectory(frames: int = FRAMES) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times (frames,), and theta1, theta2 with their speeds and accelerations (frames, 2): Hermite polynomials."""
    curves = [CubicHermiteSpline(TIMES, *knots) for knots in (FIRST, SECOND)]
    t = np.linspace(TIMES[0], TIMES[-1], frames)
    z, zu, zudot = (np.stack([curve(t, order) for curve in curves], axis=1) for order in range(3))
    return t, z, zu, zudot


def embedded_motion(method: LoopName, z: FloatArray, zu: FloatArray, zudot: FloatArray) -> FiveBarMotion:
    """The motion with joint variables by a method of the embedding."""
    model = five_bar()
    e = embedding_of(model, independent=("theta1", "theta2"), loops=method)
    m = e.motion(z, zu, zudot)
    motion = kinematics(model, m.q, m.u, m.udot)
    p = (FIVE_P, 0.0, 0.0)
    return FiveBarMotion(
        m.q[:, 2:], m.J[:, 2:], motion.velocity("bar3", p)[:, :2], motion.acceleration("bar3", p)[:, :2]
    )


def fourth_joint(theta1: FloatArray, theta2: FloatArray) -> FloatArray:
    """theta4 in closed form: the third and fourth bars meet where two circles do, on the branch of `five_bar`.

    With the distance r from the end of the second bar to the pin, cos theta4 = (r^2 - l3^2 - l4^2) / (2 l3 l4).
    """
    l1, l2, l3, l4 = FIVE_BARS
    r = np.abs(FIVE_BASE - l1 * np.exp(1j * theta1) - l2 * np.exp(1j * (theta1 + theta2)))
    return -np.arccos((r**2 - l3**2 - l4**2) / (2.0 * l3 * l4))


def classical_motion(z: FloatArray, zu: FloatArray, zudot: FloatArray) -> FiveBarMotion:
    """The motion by the vector loop in absolute angles: circles that meet, then linear equations for the rates.

        l1 e1 + l2 e2 + l3 e3 + l4 e4 = l0,   sum of l_k w_k i e_k = 0,   sum of l_k (a_k i e_k - w_k^2 e_k) = 0

    with e_k = exp(i phi_k). Source: any textbook, for instance Shabana 2005, which the paper compares with.
    """
    l1, l2, l3, l4 = FIVE_BARS
    theta1, theta2 = z.T
    e1, e2 = np.exp(1j * theta1), np.exp(1j * (theta1 + theta2))
    across = FIVE_BASE - l1 * e1 - l2 * e2
    theta4 = fourth_joint(theta1, theta2)
    phi3 = np.angle(across) - np.angle(l3 + l4 * np.exp(1j * theta4))
    e3 = np.exp(1j * phi3)
    e4 = e3 * np.exp(1j * theta4)

    def closing(known: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """x3, x4 with l3 x3 i e3 + l4 x4 i e4 = -known."""
        both = (np.conj(e3) * e4).imag
        return -(np.conj(e4) * known).real / (l3 * both), (np.conj(e3) * known).real / (l4 * both)

    w1, w2 = zu[:, 0], zu[:, 0] + zu[:, 1]
    a1, a2 = zudot[:, 0], zudot[:, 0] + zudot[:, 1]
    w3, w4 = closing(1j * (l1 * w1 * e1 + l2 * w2 * e2))
    bent = l1 * w1**2 * e1 + l2 * w2**2 * e2 + l3 * w3**2 * e3 + l4 * w4**2 * e4
    a3, _ = closing(1j * (l1 * a1 * e1 + l2 * a2 * e2) - bent)
    velocity = 1j * (l1 * w1 * e1 + l2 * w2 * e2 + FIVE_P * w3 * e3)
    acceleration = (1j * a1 - w1**2) * l1 * e1 + (1j * a2 - w2**2) * l2 * e2 + (1j * a3 - w3**2) * FIVE_P * e3
    # slopes of the absolute angles by theta1 (which turns both bars) and theta2, then of the joint variables
    by_first, by_second = closing(1j * (l1 * e1 + l2 * e2)), closing(1j * l2 * e2)
    third = np.stack([by_first[0] - 1.0, by_second[0] - 1.0], axis=1)
    fourth = np.stack([by_first[1] - by_first[0], by_second[1] - by_second[0]], axis=1)
    theta3 = np.angle(e3 / e2)
    return FiveBarMotion(
        np.stack([theta3, theta4], axis=1), np.stack([third, fourth], axis=1), _plane(velocity), _plane(acceleration)
    )


def _plane(z: np.ndarray) -> FloatArray:
    return np.stack([z.real, z.imag], axis=1)


def manifold(samples: int = SAMPLES) -> tuple[FloatArray, FloatArray, FloatArray]:
    """theta4 over the first two angles, by the embedding (samples, samples; theta2 by rows), and its closed form."""
    angle = np.linspace(-math.pi, math.pi, samples)
    first, second = (part.ravel() for part in np.meshgrid(angle, angle))
    e = embedding_of(five_bar(), independent=("theta1", "theta2"))
    found = e.closure(np.stack([first, second], axis=1))
    fourth = np.where(found.status == 0, found.q[:, 3], np.nan)
    return angle, fourth.reshape(samples, samples), fourth_joint(first, second).reshape(samples, samples)


def study(settings: Settings) -> Study:
    """The paper's figures of the five-bar beside ours."""
    t, z, zu, zudot = trajectory()
    classical = classical_motion(z, zu, zudot)
    settings.say("five-bar: projection ...")
    projected = embedded_motion("projection", z, zu, zudot)
    settings.say("five-bar: molecule ...")
    molecule = embedded_motion("molecule", z, zu, zudot)
    settings.say("five-bar: manifold of the fourth joint ...")
    angle, fourth, closed = manifold()
    six, seven = significant(CLASSICAL_FIGURES), significant(MOLECULE_FIGURES)
    slopes, slopes_molecule = (np.linalg.norm(one.gradient, axis=2) for one in (projected, molecule))
    note = "projection against classical kinematics"
    rows = [
        Row(f"p's {what}", six, relative_difference(mine, theirs), note=note, cite="section 4-3 B, figure 9")
        for what, mine, theirs in (
            ("velocity", projected.velocity, classical.velocity),
            ("acceleration", projected.acceleration, classical.acceleration),
        )
    ]
    for k, joint in enumerate(("third", "fourth")):
        apart = relative_difference(slopes_molecule[:, k], slopes[:, k])
        rows.append(
            Row(
                f"gradient of the {joint} joint, size",
                seven,
                apart,
                note="molecule against projection",
                cite="section 4-3 B, figure 10",
            )
        )
    rows += [
        Row(
            "gradients, projection",
            None,
            relative_difference(projected.gradient, classical.gradient),
            note=note,
            limit=ROUNDING,
        ),
        Row(
            "p's acceleration, molecule",
            None,
            relative_difference(molecule.acceleration, classical.acceleration),
            note="molecule against classical kinematics",
            limit=six,
        ),
        Row(
            "manifold of the fourth joint",
            None,
            float(np.nanmax(np.abs(fourth - closed))),
            "rad",
            f"against its closed form, {fourth.size} positions",
            limit=ROUNDING,
        ),
        Row(
            "positions that the loop does not reach",
            None,
            float(np.isnan(fourth).sum()),
            "",
            "of the whole torus",
            "at most",
            0.0,
        ),
    ]
    speed, pull = (np.hypot(*part.T) for part in (classical.velocity, classical.acceleration))
    return Study(
        "five-bar",
        "A five-bar of two degrees of freedom, driven by its first two angles",
        SOURCE,
        "p is on the third bar, 2 from its joint with the second. Both angles follow Hermite polynomials of our own, "
        "since the paper shows its trajectories as pictures only. Figures are the largest difference at any time, of "
        "the largest value; six and seven equal figures are 1e-6 and 1e-7. The molecule has its default step.",
        rows=tuple(rows),
        plots=(
            Plot(
                "manifold",
                "The fourth joint over the first two (figure 11)",
                "theta1 [rad]",
                "theta2 [rad]",
                angle,
                y=angle,
                z=fourth,
                z_label="theta4 [rad]",
            ),
            Plot(
                "point",
                "Speed and acceleration of p (figure 9)",
                "time [s]",
                "",
                t,
                {"speed": speed, "acceleration": pull},
            ),
            Plot(
                "gradient",
                "Sizes of gradients (figure 10)",
                "time [s]",
                "",
                t,
                {"third joint": slopes[:, 0], "fourth joint": slopes[:, 1]},
            ),
        ),
    )
