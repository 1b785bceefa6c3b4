"""Barman2020, section 4.2: a prismatic and a revolute joint move between two poses, time against effort."""

from __future__ import annotations

import math

from musculo.replications.prediction.manipulators import LIMIT, SOURCE, prismatic, rest_to_rest
from musculo.replications.prediction.transcribed import by_transcription, converging
from musculo.replications.study import Part, Plot, Quantity, Row, Settings, Study, judged
from musculo.trajectory.functions.inverse_dynamics import InverseDynamics
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.constraints import Throughout
from musculo.trajectory.problem.goals import Effort, Time
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.transcription.bspline_motion import BSplines
from musculo.trajectory.transcription.mesh import Transcription
from musculo.trajectory.transcription.schemes import HermiteSimpson, Radau

CITE = "section 4.2.2"
PAPER = 0.5585  # [s]
WEIGHT = 0.01  # u of eq. 4.18
VIOLATION, SECONDS = 1e-6, 1.0
# Two transcriptions of one optimum; durations are flat near it, so they agree in fewer figures than objectives.
AGREE = 1e-5
# The angle theta_2 of table 4.3 where q2 is zero. Frame 1 has its y axis along the prismatic joint, so the second link
# makes the angle theta_2 - pi/2 with that. The table prints pi/2.
READINGS = {"0": 0.0, "pi/2": math.pi / 2, "pi": math.pi}
PRINTED = "pi/2"


def problem(theta: float, weight: float = WEIGHT) -> Problem:
    """(1 - u) T + u integral of f1^2 + tau2^2, from rest to rest (eq. 4.18 and 4.19).

    Args:
        theta: the angle of table 4.3 where q2 is zero [rad].
        weight: u.
    """
    forces = InverseDynamics(prismatic(theta - math.pi / 2))
    return Problem(
        (rest_to_rest("q1", 0.1, math.pi / 4), rest_to_rest("q2", 0.6, -math.pi / 4)),
        duration=(0.1, 3.0),
        goals=(Time(1.0 - weight), Effort(forces, weight)),
        constraints=Throughout(forces, (-LIMIT, LIMIT)),
    )


def weight_for(theta: float, duration: float, transcription: Transcription) -> tuple[float, PredictedMotion] | None:
    """The weight u whose optimum takes a given time, and that motion; None where even the fastest takes longer."""
    from scipy.optimize import brentq

    found: dict[float, PredictedMotion] = {}

    def late(weight: float) -> float:
        found[weight] = problem(theta, weight).solve(transcription, {"duration": 0.7}, tolerance=1e-8)
        return found[weight].duration - duration

    low, high = 1e-4, WEIGHT
    if late(low) > 0.0:
        return None
    weight = float(brentq(late, low, high, xtol=1e-7))
    late(weight)
    return weight, found[weight]


def study(settings: Settings) -> Study:
    """The three readings of the paper's table, and what weight would give the paper's time."""
    transcriptions: dict[str, Transcription] = {
        "Hermite-Simpson, 50 intervals": HermiteSimpson(50),
        "Radau of degree 3, 40 intervals": Radau(40, 3),
        **{f"{n} control points": BSplines(n) for n in (8, 20, 40)},
    }
    guess = {"duration": 0.7}
    problem(0.0).solve(HermiteSimpson(3), guess)  # what is compiled or imported is now
    parts: list[Part] = []
    found: list[Row | Quantity] = []
    weights: list[Quantity] = []
    plots: tuple[Plot, ...] = ()
    for name, theta in READINGS.items():
        settings.say(f"prismatic: the second angle is {name} where q2 is zero ...")
        solved = by_transcription(problem(theta), transcriptions, guess)
        best, other = solved["Hermite-Simpson, 50 intervals"], solved["Radau of degree 3, 40 intervals"]
        note = f"{best.motion.duration:.5f} s, {'as the table prints it' if name == PRINTED else 'another reading'}"
        found += [
            Row(f"optimal time, zero at {name}", PAPER, best.motion.duration, "s", note, cite=CITE),
            Row(
                f"objectives of two methods differ, zero at {name}",
                None,
                abs(best.motion.objective - other.motion.objective),
                limit=AGREE,
            ),
            Row(f"largest violation, zero at {name}", None, best.motion.solver.largest_violation, limit=VIOLATION),
        ]
        if name == PRINTED:
            found.append(Row("processor time", None, best.seconds, "s", limit=SECONDS, timed=True))
            forces = {one: best.motion[one] for one in ("q1/moment", "q2/moment")}
            plots = (Plot("forces", "Force and moment (figure 4.5)", "time [s]", "[N, N m]", best.motion.time, forces),)
        parts += converging(f"Zero of the second angle at {name}", solved, "N or N m")
        known = weight_for(theta, PAPER, HermiteSimpson(50))
        if known is None:
            weights.append(Quantity(f"zero at {name}: none", "", math.nan, note="the fastest motion takes longer"))
        else:
            weight, motion = known
            note = f"its optimum takes {motion.duration:.4f} s, objective {motion.objective:.6f}"
            weights.append(Quantity(f"u, zero at {name}", "", weight, note=note))
    rows, _ = judged(found)
    return Study(
        "prismatic",
        "A manipulator of a prismatic and a revolute joint, time against effort",
        SOURCE + ", section 4.2",
        "It minimizes (1 - u) T + u times the integral of squared force and moment with u = 0.01, from (0.1, 0.6) to "
        "(pi/4, -pi/4), at rest at both ends, 10 N and 10 N m. The search starts from straight lines and 0.7 s.",
        parts=(*parts, Part("Weights whose optimum takes the paper's 0.5585 s", "", tuple(weights))),
        rows=rows,
        remarks=(
            "The paper's time is reached by none of the three readings: with the printed weight every optimum takes "
            "longer. All transcriptions agree, so this is not a matter of convergence; a smaller weight of the effort "
            "would give the paper's time, and the last table says which.",
            "The motion is not bang-bang: effort rounds off the forces, so that cubic splines come close to the "
            "optimum with few control points.",
        ),
        plots=plots,
    )
