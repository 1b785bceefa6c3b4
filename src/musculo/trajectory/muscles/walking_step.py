"""A step on compliant ground: one that follows a recording, and from it one that nobody has walked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from musculo.analyses.static_optimization.reserves import Reserves
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName, warned_once
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.trajectory.muscles.ground_contact import KIND as CONTACT
from musculo.trajectory.muscles.muscle_driven import MuscleDriven
from musculo.trajectory.muscles.muscle_nodes import TendonChoice
from musculo.trajectory.muscles.track_motion import tracking_problem
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.constraints import At, Constraint, Periodic
from musculo.trajectory.problem.goals import Goal, Integral, Tracking
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.solvers.outcome import SolverStatus
from musculo.trajectory.solvers.told_progress import Tell
from musculo.trajectory.transcription.mesh import Transcription

# How soft the ground is, and how dear forces from nowhere are beside their last weight, in turn: a recording sinks into
# stiff ground or floats above it by a millimeter, which is many times the weight of a body.
_STAGES = ((0.1, 1e-4), (0.3, 1e-2), (1.0, 0.1), (1.0, 1.0))
# Corners of the law of contact are rounded the more, the softer the ground.
_ROUNDER = 0.75
# How much a search first stays near its start, by squares of coordinates beside squares of excitations.
_NEAR = 1.0
# That search only prepares the next; some go round in circles near their end.
_NEAR_ITERATIONS = 60
_SIDES = {"_r": "_l"}
# The least time that a search is given [s].
_LEAST = 1e-3


def softer_contacts(model: Model, softness: float) -> Model:
    """The model on softer and smoother ground: contact stiffness times `softness` (1: as it is), corners rounded.

    A search that starts far from a solution finds the ground first where it is soft; solve again with larger numbers.
    """
    if not 0.0 < softness <= 1.0:
        raise InvalidInput(f"softness is {softness!r}; give a number above 0, up to 1")
    rounder = softness**_ROUNDER
    factors = {
        "stiffness": (softness, 1.0),
        "hertz_smoothing": (rounder, 300.0),
        "hunt_crossley_smoothing": (rounder, 50.0),
        "transition_velocity": (1.0 / rounder, 0.01),
    }

    def softer(force: Force) -> Force:
        if force.kind != CONTACT:
            return force
        stated = dict(force.properties)
        stated |= {key: repr(factor * float(stated.get(key, own))) for key, (factor, own) in factors.items()}
        return replace(force, properties=tuple(stated.items()))

    return model.replace(forces=tuple(softer(force) for force in model.forces))


def track_step(
    model: Model,
    motion: Table,
    transcription: Transcription,
    *,
    start: float,
    end: float,
    residuals: Mapping[str, float],
    reserves: Mapping[str, float] | None = None,
    residual_weight: float = 100.0,
    forward: str = "pelvis_tx",
    sides: Mapping[str, str] | None = None,
    tendons: TendonChoice = "rigid",
    weights: Mapping[str, float] | None = None,
    tracking_weight: float = 1.0,
    effort_weight: float = 0.01,
    tolerance: float = 1e-4,
    max_iterations: int = 300,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: Tell = None,
) -> PredictedMotion:
    """A step that follows a recording from heel strike to the other heel strike; ground pushes through contacts.

    The end is the mirror image of the start. The ground is soft at first, and residual forces cheap; in four searches
    both become what they shall be.

    Args:
        model: with muscles of the kind DeGrooteFregly2016Muscle and `SmoothSphereHalfSpaceForce` under its feet.
        motion: coordinates over time, over ground: on a treadmill, add the belt's way.
        transcription: `Trapezoidal(30)` and so on.
        start, end: of the step [s].
        residuals: optimal forces, by speed, of forces from nowhere that help the search: those of the pelvis.
        reserves: of actuators that stay: of joints that no muscle crosses.
        residual_weight: of squared controls of residuals, beside 1 of excitations.
        forward: the coordinate in which the model walks; it is not periodic.
        sides: endings of names that are swapped, `{"_r": "_l"}` by default.
        time_limit: of all searches together [s].
        tendons, weights, tracking_weight, effort_weight, tolerance, max_iterations, threads, progress: as
            `track_motion` has them.

    Raises:
        InvalidInput: nothing of the model touches the ground.
    """
    _check_contacts(model, "track_step")
    found: PredictedMotion | None = None
    clock = _Clock(time_limit)
    with warned_once():
        for softness, share in _STAGES:
            soft = softer_contacts(model, softness)
            given = {**(reserves or {}), **residuals}
            costs = {f"{name}_reserve/control": share * residual_weight for name in residuals}
            posed = tracking_problem(
                soft,
                motion,
                start=start,
                end=end,
                tendons=tendons,
                reserves=given,
                weights={**(weights or {}), **costs},
                tracking_weight=tracking_weight,
                effort_weight=effort_weight,
                constraints=[_mirrored(MuscleDriven(soft, tendons=tendons, reserves=given), sides, forward, None)],
                threads=threads,
            )
            found = posed.problem.solve(
                transcription,
                posed.guess if found is None else found,
                tolerance=tolerance,
                max_iterations=max_iterations,
                time_limit=clock.left,
                progress=progress,
            )
            if clock.ends(found):
                break
    assert found is not None
    return found


def predict_step(
    model: Model,
    speed: float,
    guess: PredictedMotion,
    transcription: Transcription | None = None,
    *,
    forward: str = "pelvis_tx",
    duration: tuple[float, float] = (0.3, 0.9),
    reserves: Reserves | None = None,
    sides: Mapping[str, str] | None = None,
    tendons: TendonChoice = "rigid",
    weights: Mapping[str, float] | None = None,
    acceleration_weight: float = 1e-5,
    goals: Sequence[Goal] = (),
    constraints: Sequence[Constraint] = (),
    tolerance: float = 1e-4,
    max_iterations: int = 500,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: Tell = None,
) -> PredictedMotion:
    """A step at a given mean speed with least effort: motion, excitations, duration and ground reactions are found.

        minimize  (1 / T) integral of  sum_i w_i c_i^2 + w_a sum_j udot_j^2,    x(T) - x(0) = speed T

    over excitations and controls c; the end is the mirror image of the start. Nothing is tracked, nothing pushes but
    muscles, actuators and the ground. The effort is per distance, since the speed is given.

    Source: [Dembia2020], Moco's example of predicting a planar walk, with squares in place of cubes.

    Args:
        model: as `track_step` takes it.
        speed: of the coordinate `forward` [m/s].
        guess: a step of this model: of `track_step`, or of another speed. Go in steps of some 0.2 m/s.
        transcription: that of the guess by default.
        forward: the coordinate in which the model walks.
        duration: limits of the step's duration [s].
        reserves: optimal forces of actuators, by independent speed.
        sides: endings of names that are swapped, `{"_r": "_l"}` by default.
        tendons: "rigid" or "stated".
        weights: of squares of excitations and controls, by name of variable (`soleus_r/excitation`).
        acceleration_weight: w_a, which keeps motions smooth that cost nothing.
        goals, constraints: more of them.
        tolerance, max_iterations, progress: as `Problem.solve` has them.
        time_limit: of both searches together [s].
        threads: the number of threads; all cores by default.

    Raises:
        InvalidInput: nothing of the model touches the ground, or the speed is none.
    """
    _check_contacts(model, "predict_step")
    clock = _Clock(time_limit)
    if not (np.isfinite(speed) and speed > 0.0):
        raise InvalidInput(f"speed is {speed!r}; give a number above zero [m/s]")
    f = MuscleDriven(model, tendons=tendons, reserves=reserves, threads=threads)
    if forward not in f.names:
        raise UnknownName("coordinate", forward, f.names, "forward")
    counted = [name for name in f.inputs if name.endswith(("/excitation", "/control"))]
    size = np.ones(len(counted))
    for name, weight in (weights or {}).items():
        if name not in counted:
            raise UnknownName("excitation or control", name, counted, "weights")
        size[counted.index(name)] = weight**-0.5
    wanted: list[Goal] = [
        Integral(counted, 1.0, True, size, average=True, name="effort"),
        Integral("*/acceleration", acceleration_weight, True, average=True, name="smoothness"),
    ]
    if len(f.layout.tension):
        wanted.append(Integral("*/normalized_tendon_force_rate", 1e-4, True, average=True, name="tendon force rates"))
    problem = Problem(
        f.variables(),
        duration,
        f,
        (*wanted, *goals),
        (_mirrored(f, sides, forward, speed), At(0.0, f"{forward}/value", 0.0), *constraints),
    )
    at_zero = {forward + "/value": guess[f"{forward}/value"][0]}
    series = {name: guess[name] - at_zero.get(name, 0.0) for name in guess.names if name in f.inputs}
    columns = np.column_stack(list(series.values()))
    found: Any = Table(guess.time - guess.time[0], tuple(series), columns, name="guess")
    near = Tracking(found, [name for name in series if name.endswith("/value")], _NEAR, average=True)
    first = problem.with_(goals=[*wanted, *goals, near])
    for stage, most in ((first, min(_NEAR_ITERATIONS, max_iterations)), (problem, max_iterations)):
        found = stage.solve(
            guess.transcription if transcription is None else transcription,
            found,
            tolerance=tolerance,
            max_iterations=most,
            time_limit=clock.left,
            progress=progress,
        )
        if clock.ends(found):
            break
    assert isinstance(found, PredictedMotion)
    return found


def ground_forces(motion: PredictedMotion) -> dict[str, FloatArray]:
    """(nodes, 3) forces on each sphere in contact [N], by the name of the contact."""
    for f in motion.problem.functions:
        if isinstance(f, MuscleDriven) and f.contacts is not None:
            tree = f.motion(motion.inputs_of(f))
            forces = f.contacts.forces(tree.q, tree.u)
            return {name: forces[:, k] for k, name in enumerate(f.contacts.names)}
    raise InvalidInput("ground_forces: the problem of this motion has no contacts with ground")


def _check_contacts(model: Model, who: str) -> None:
    if not any(force.kind == CONTACT and force.applies_force for force in model.forces):
        raise InvalidInput(
            f"{who}: nothing of {model.name!r} touches the ground, so that residual forces would carry it; add a Force "
            f"of the kind {CONTACT!r} for each sphere under its feet (model.replace(forces=(*model.forces, ...))), as "
            "docs/questions/track_with_muscles.md shows, or follow a recording with its ground reactions: "
            "track_motion(..., loads=...)"
        )


class _Clock:
    """The time that several searches have together."""

    def __init__(self, limit: float | None) -> None:
        """With a limit [s]; None for none."""
        if limit is not None and not limit > 0.0:
            raise InvalidInput(f"time_limit is {limit!r}; give seconds above zero, or None for no limit")
        self._limit, self._began = limit, time.perf_counter()

    @property
    def left(self) -> float | None:
        """For the next search [s]; enough for it to say that it ran out of time."""
        return None if self._limit is None else max(self._limit - (time.perf_counter() - self._began), _LEAST)

    def ends(self, found: PredictedMotion) -> bool:
        """Whether no search is to follow: Ctrl-C means all of them, and so does the limit."""
        out = self._limit is not None and time.perf_counter() - self._began >= self._limit
        return found.status == SolverStatus.STOPPED or (out and not found.solved)


def _mirrored(f: MuscleDriven, sides: Mapping[str, str] | None, forward: str, speed: float | None) -> Periodic:
    """The end is the mirror image of the start, but for the way forward: that is as long as the speed says, or free."""
    pairs = {f"{a}/": f"{b}/" for a, b in (sides or _SIDES).items()}
    value = f"{forward}/value"
    names = [name for name in f.inputs if not name.endswith(("/acceleration", "_rate")) and name not in ("time", value)]
    if speed is None:
        return Periodic(names, pairs=pairs)
    return Periodic([*names, value], pairs=pairs, speeds={value: speed})
