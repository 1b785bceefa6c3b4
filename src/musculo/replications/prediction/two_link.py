"""Barman2020, section 4.1: a manipulator of two revolute joints moves between two poses in the least time."""

from __future__ import annotations

import numpy as np

from musculo.replications.prediction.manipulators import LIMIT, SOURCE, rest_to_rest, two_link
from musculo.replications.prediction.transcribed import Solved, by_transcription, converging
from musculo.replications.study import Plot, Quantity, Row, Settings, Study, judged
from musculo.trajectory.functions.inverse_dynamics import InverseDynamics
from musculo.trajectory.problem.constraints import Throughout
from musculo.trajectory.problem.goals import Time
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.transcription.bspline_motion import BSplines
from musculo.trajectory.transcription.mesh import Transcription
from musculo.trajectory.transcription.schemes import HermiteSimpson, Radau, Trapezoidal

CITE = "section 4.1.3"
PAPER = 0.392  # [s]
# The converged optimum is 0.39185 s; a tenth of a millisecond is what an interval more or less changes.
GOAL, VIOLATION, SECONDS = 0.39186, 1e-6, 1.0
CONTROL_POINTS = (6, 8, 12, 20, 40, 80)
# Where the moments change sign on a fine mesh, as fractions of the duration, and intervals that shrink towards these.
SWITCHES = (0.116, 0.5, 0.6)


def problem() -> Problem:
    """Least time from rest to rest with moments of at most 10 N m (eq. 4.16 and 4.17)."""
    moments = InverseDynamics(two_link())
    return Problem(
        (rest_to_rest("q1", 0.0, 1.0), rest_to_rest("q2", -2.0, -1.0)),
        duration=(0.1, 2.0),
        goals=Time(),
        constraints=Throughout(moments, (-LIMIT, LIMIT)),
    )


def graded_mesh(switches: tuple[float, ...] = SWITCHES) -> tuple[float, ...]:
    """Fractions of the duration: eight intervals, and some that halve in length towards each switch."""
    near = [s + side * 0.05 * 2.0**-k for s in switches for k in range(10) for side in (1.0, -1.0)]
    return tuple(np.unique(np.round([*np.linspace(0.0, 1.0, 9), *near], 9)).tolist())


TRANSCRIPTIONS: dict[str, Transcription] = {
    "Hermite-Simpson, 50 intervals": HermiteSimpson(50),
    "trapezoidal, 100 intervals": Trapezoidal(100),
    "Radau of degree 3, intervals halved at switches": Radau(graded_mesh(), 3),
}


def study(settings: Settings) -> Study:
    """The paper's time beside ours, by collocation and by B-splines of more and more control points."""
    asked = problem()
    guess = {"duration": 0.5}
    asked.solve(HermiteSimpson(3), guess)  # what is compiled or imported is now
    settings.say("two-link: collocation ...")
    direct = by_transcription(asked, TRANSCRIPTIONS, guess)
    settings.say("two-link: B-splines ...")
    splines = by_transcription(asked, {f"{n} control points": BSplines(n) for n in CONTROL_POINTS}, guess)
    best = direct["Hermite-Simpson, 50 intervals"]
    finest = splines[f"{CONTROL_POINTS[-1]} control points"]
    found: list[Row | Quantity] = [
        Row("least time, Hermite-Simpson", PAPER, best.motion.duration, "s", _figures(best), cite=CITE),
        Row("least time, to five figures", None, best.motion.duration, "s", _figures(best), limit=GOAL),
        Row("largest violation at its nodes", None, best.motion.solver.largest_violation, limit=VIOLATION),
        Row("processor time", None, best.seconds, "s", limit=SECONDS, timed=True),
        Row(
            f"least time, {CONTROL_POINTS[-1]} control points",
            PAPER,
            finest.motion.duration,
            "s",
            _figures(finest),
            cite=CITE,
        ),
    ]
    rows, _ = judged(found)
    graded = direct["Radau of degree 3, intervals halved at switches"]
    return Study(
        "two-link",
        "A manipulator of two revolute joints moves in the least time",
        SOURCE + ", section 4.1",
        "Each joint's acceleration is a variable at every node, and inverse dynamics with exact first derivatives "
        "limits the moments; second derivatives are differences of these. The search starts from straight lines and "
        "0.5 s.",
        parts=(
            *converging("Direct collocation", direct, "N m"),
            *converging("B-splines", splines, "N m"),
        ),
        rows=rows,
        remarks=(
            "The optimum is bang-bang: the first moment changes sign once, the second twice. Accelerations of cubic "
            "splines are continuous, so they round off the switches; their time falls with the number of control "
            f"points towards collocation's and exceeds it by {_excess(finest, best):.2g} s at last.",
            "Limits hold at nodes. Between nodes, Hermite-Simpson exceeds them by "
            f"{best.between:.2g} N m where an interval holds a switch, whose parabola overshoots. It gains time by "
            f"that: with intervals that halve towards the switches, the excess is {graded.between:.2g} N m in "
            f"intervals of 0.02 % of the motion, and the time is {graded.motion.duration:.6f} s.",
        ),
        plots=(_moments(best),),
    )


def _figures(found: Solved) -> str:
    return f"{found.motion.duration:.6f} s"


def _excess(one: Solved, other: Solved) -> float:
    return one.motion.duration - other.motion.duration


def _moments(found: Solved) -> Plot:
    motion = found.motion
    names = ("q1/moment", "q2/moment")
    title = "Moments (figure 4.2)"
    return Plot("moments", title, "time [s]", "[N m]", motion.time, {name: motion[name] for name in names})
