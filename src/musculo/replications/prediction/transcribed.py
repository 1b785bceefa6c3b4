"""One problem by several transcriptions: their optima, and whether limits hold between nodes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from numpy.typing import ArrayLike

from musculo.replications.study import Part, Quantity
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.transcription.mesh import Transcription

# How many times finer than the nodes the grid is on which limits are looked at.
FINER = 10


class Solved(NamedTuple):
    """A motion, the processor time that it took [s], and by how much limits are exceeded between nodes."""

    motion: PredictedMotion
    seconds: float
    between: float


def by_transcription(
    problem: Problem, transcriptions: Mapping[str, Transcription], guess: Mapping[str, ArrayLike]
) -> dict[str, Solved]:
    """The motion of each transcription."""
    found = {}
    for name, transcription in transcriptions.items():
        start = time.process_time()
        motion = problem.solve(transcription, guess)
        seconds = time.process_time() - start
        beyond = motion.violations(FINER, 0.0)
        found[name] = Solved(motion, seconds, beyond[0].amount if beyond else 0.0)
    return found


def converging(title: str, found: Mapping[str, Solved], unit: str) -> Part:
    """A table of optima: durations, violations at and between nodes, iterations and processor times."""
    quantities: list[Quantity] = []
    for name, one in found.items():
        motion = one.motion
        outcome = "" if motion.solved else f"{motion.status.name.lower()}; "
        beside = (
            f"{outcome}{motion.solver.iterations} iterations, {one.seconds:.2f} s; limits are exceeded by "
            f"{motion.solver.largest_violation:.1g} at nodes and by {one.between:.2g} {unit} between them"
        )
        quantities.append(Quantity(name, "s", motion.duration, note=f"{motion.duration:.6f} s, {beside}"))
    return Part(title, "", tuple(quantities))
