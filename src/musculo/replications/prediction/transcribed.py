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
    """A motion, the processor time and the time on the clock that it took [s], and by how much limits are exceeded on
    a grid between nodes."""

    motion: PredictedMotion
    seconds: float
    wall: float
    between: float


def by_transcription(
    problem: Problem, transcriptions: Mapping[str, Transcription], guess: Mapping[str, ArrayLike]
) -> dict[str, Solved]:
    """The motion of each transcription."""
    found = {}
    for name, transcription in transcriptions.items():
        start, began = time.process_time(), time.perf_counter()
        motion = problem.solve(transcription, guess)
        seconds, wall = time.process_time() - start, time.perf_counter() - began
        beyond = motion.violations(FINER, 0.0)
        found[name] = Solved(motion, seconds, wall, beyond[0].amount if beyond else 0.0)
    return found


def converging(title: str, found: Mapping[str, Solved], unit: str) -> tuple[Part, Part]:
    """A table of optimal durations, and one of what each search took and by how much limits are exceeded."""
    times: list[Quantity] = []
    searches: list[Quantity] = []
    for name, one in found.items():
        motion, solver = one.motion, one.motion.solver
        outcome = "" if motion.solved else f", {motion.status.name.lower()}"
        times.append(Quantity(name, "s", motion.duration, note=f"{motion.duration:.6f} s{outcome}"))
        searches += [
            Quantity(f"{name}: iterations", "", solver.iterations),
            Quantity(f"{name}: time on the clock", "s", one.wall),
            Quantity(f"{name}: processor time", "s", one.seconds),
            Quantity(f"{name}: violation at nodes", unit, solver.largest_violation),
            Quantity(f"{name}: violation on a grid {FINER} times finer", unit, one.between),
        ]
    return Part(title, "", tuple(times)), Part(f"{title}: searches", "", tuple(searches))
