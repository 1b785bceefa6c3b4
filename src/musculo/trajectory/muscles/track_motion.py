"""The motion and the excitations that follow a recording best, with little effort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from musculo.analyses.recorded_motion import filtered_motion
from musculo.analyses.static_optimization.reserves import Reserves
from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import Loads
from musculo.errors import InvalidInput, UnknownName, warned_once
from musculo.like import Like
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.signals.natural_smoothing import NaturalSpline
from musculo.trajectory.muscles.muscle_driven import MuscleDriven
from musculo.trajectory.muscles.muscle_inverse import MuscleInverse, muscle_inverse
from musculo.trajectory.muscles.muscle_nodes import TendonChoice
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.constraints import Constraint, Periodic
from musculo.trajectory.problem.goals import Goal, Integral, Tracking
from musculo.trajectory.problem.problem import Problem
from musculo.trajectory.solvers.told_progress import Tell
from musculo.trajectory.transcription.mesh import Transcription
from musculo.trajectory.transcription.schemes import HermiteSimpson

# What the search for a start is asked for: it need not be good.
_START_TOLERANCE = 1e-3
# Of the mesh by default [s]: Moco's.
_INTERVAL = 0.02
# The mean weight of squared rates of tendon forces (1/s)^2 beside squared controls: Moco's.
TENSION_RATE_WEIGHT = 0.01


class TrackingProblem(NamedTuple):
    """A problem, where its search starts, and what it is made of."""

    problem: Problem
    guess: Table
    dynamics: MuscleDriven
    reference: Table  # values and speeds of the recording, by names of variables [rad, m]


def tracking_problem(
    model: Model,
    motion: Table,
    *,
    loads: Loads = (),
    cutoff: float | None = None,
    start: float | None = None,
    end: float | None = None,
    tendons: TendonChoice = "stated",
    reserves: Reserves | None = None,
    weights: Mapping[str, float] | None = None,
    tracking_weight: float = 1.0,
    effort_weight: float = 0.001,
    tension_rate_weight: float | None = None,
    control_limit: float | None = None,
    speed_limit: float = 50.0,
    periodic: bool = False,
    goals: Sequence[Goal] = (),
    constraints: Sequence[Constraint] = (),
    like: Like | None = None,
    threads: int | None = None,
) -> TrackingProblem:
    """The problem that `track_motion` solves, for changes to it. Args: as there."""
    first = float(motion.time[0] if start is None else start)
    last = float(motion.time[-1] if end is None else end)
    if not (motion.time[0] - 1e-9 <= first < last <= motion.time[-1] + 1e-9):
        span = f"{motion.time[0]:g} to {motion.time[-1]:g} s"
        raise InvalidInput(f"the time range is {first:g} to {last:g} s; the motion spans {span}")
    f = MuscleDriven(model, loads=loads, tendons=tendons, reserves=reserves, threads=threads)
    moving = motion if cutoff is None else filtered_motion(motion, cutoff, like)
    spline = NaturalSpline(moving.time, moving.coordinates(model, missing="default"))
    own = [model.coordinate_index(name) for name in f.names]
    kinds = ("value", "speed", "acceleration")
    columns = tuple(f"{name}/{kind}" for kind in kinds for name in f.names)
    every = np.concatenate([spline(moving.time, order)[:, own] for order in range(3)], axis=1)
    reference = Table(moving.time, columns[: 2 * len(own)], every[:, : 2 * len(own)], name="reference")

    of_effort = _weights(weights, [name for name in f.inputs if name.endswith(("/excitation", "/control"))])
    of_tracking = _weights(weights, columns[: 2 * len(own)])
    _check_patterns(weights, [*of_effort, *of_tracking])
    tracked = [name for name, weight in of_tracking.items() if weight > 0.0]
    scale = np.array([of_tracking[name] ** -0.5 for name in tracked])
    wanted: list[Goal] = [Tracking(reference, tracked, tracking_weight, scale=scale)] if tracked else []
    counted = [name for name, weight in of_effort.items() if weight > 0.0]
    if counted:
        sizes = {name: of_effort[name] ** -0.5 for name in counted}
        wanted.append(Integral(counted, effort_weight, True, sizes, name="effort"))
    if len(f.layout.tension):
        weight = TENSION_RATE_WEIGHT * effort_weight if tension_rate_weight is None else tension_rate_weight
        wanted.append(Integral("*/normalized_tendon_force_rate", weight, True, name="tendon force rates"))
    limits = list(constraints)
    if periodic:
        limits.append(Periodic(_repeating(f, reference, first, last)))
    problem = Problem(
        f.variables(speed_limit=speed_limit, control_limit=control_limit),
        last - first,
        f,
        (*wanted, *goals),
        limits,
        start_time=first,
    )
    return TrackingProblem(problem, _guess(f, motion, columns, spline, own, first, last, cutoff, like), f, reference)


def track_motion(
    model: Model,
    motion: Table,
    transcription: Transcription | None = None,
    *,
    loads: Loads = (),
    cutoff: float | None = None,
    start: float | None = None,
    end: float | None = None,
    tendons: TendonChoice = "stated",
    reserves: Reserves | None = None,
    weights: Mapping[str, float] | None = None,
    tracking_weight: float = 1.0,
    effort_weight: float = 0.001,
    tension_rate_weight: float | None = None,
    control_limit: float | None = None,
    speed_limit: float = 50.0,
    periodic: bool = False,
    goals: Sequence[Goal] = (),
    constraints: Sequence[Constraint] = (),
    guess: PredictedMotion | Table | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    like: Like | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: Tell = None,
    options: Mapping[str, str | float | int] | None = None,
) -> PredictedMotion:
    """The motion of a model with muscles (or torques alone) that follows a recording best, with little effort.

        minimize  w_t integral of sum_j w_j ((q_j - r_j)^2 + (u_j - r_j')^2)  +  w_e integral of sum_i w_i c_i^2
        subject to the equations of `MuscleDriven` and limits of coordinates, speeds, activations and controls

    with recorded coordinates r, excitations and controls c. All derivatives are exact, second ones included, so that a
    search takes tens of iterations. It starts from the recording and from what `muscle_inverse` finds for it.

    Source:     [Dembia2020], MocoTrack, whose goals and defaults these are.
    Departs:    the optimum is met to `tolerance` 1e-6, not 1e-2; implicit dynamics.
    Guarantees: where the result is `solved`, all equations hold to `tolerance` at all nodes.

    Args:
        model: with muscles of the kind DeGrooteFregly2016Muscle (`musculo.muscle.with_de_groote_fregly_muscles`), or
            without muscles. Paths that are polynomials (`musculo.muscle.fit_paths`) are smoother and faster.
        motion: coordinates over time, angles in degrees or radians as `motion.degrees` says.
        transcription: `HermiteSimpson(50)` and so on; by default that with intervals of 0.02 s.
        loads: from outside, such as ground reactions.
        cutoff: of the low-pass filter of the motion [Hz]; None filters nothing.
        start, end: of the motion that is searched for [s]; those of the recording by default.
        tendons: "rigid" lets no tendon stretch, "stated" those that the model does not say are rigid.
        reserves: optimal forces of extra actuators, by independent speed; or a number for all.
        weights: of what is tracked and of controls, by (patterns of) names of variables: `pelvis_ty/value`,
            `*/speed`, `pelvis_*_reserve/control`; 1 for those not named, 0 leaves out. The last
            pattern that fits counts.
        tracking_weight, effort_weight: w_t and w_e.
        tension_rate_weight: of the squares of rates of normalized tendon forces; 0.01 w_e by default.
        control_limit: of controls of actuators that state none.
        speed_limit: of all speeds [rad/s, m/s].
        periodic: whether the end must equal the start, excitations and controls included; but for coordinates of
            translation that the recording itself moves on (by more than 0.1 m).
        goals, constraints: more of them.
        guess: where the search starts instead.
        tolerance, max_iterations, time_limit, progress, options: as `Problem.solve` has them.
        like: "opensim" for OpenSim's filter.
        threads: the number of threads of geometry and dynamics; all cores by default.

    Raises:
        Unsupported: a muscle of another kind, and what `MuscleDriven` does not know.
        InvalidInput: times that the motion does not span.
    """
    with warned_once():
        posed = tracking_problem(
            model,
            motion,
            loads=loads,
            cutoff=cutoff,
            start=start,
            end=end,
            tendons=tendons,
            reserves=reserves,
            weights=weights,
            tracking_weight=tracking_weight,
            effort_weight=effort_weight,
            tension_rate_weight=tension_rate_weight,
            control_limit=control_limit,
            speed_limit=speed_limit,
            periodic=periodic,
            goals=goals,
            constraints=constraints,
            like=like,
            threads=threads,
        )
        duration = float(np.asarray(posed.problem.duration))
        by_default: Any = HermiteSimpson(max(1, int(np.ceil(duration / _INTERVAL - 1e-6))))
        return posed.problem.solve(
            by_default if transcription is None else transcription,
            posed.guess if guess is None else guess,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            progress=progress,
            options=options,
        )


def tendon_forces(motion: PredictedMotion) -> FloatArray:
    """(nodes, muscles) forces of the tendons [N] of a motion whose problem has a `MuscleDriven`."""
    for f in motion.problem.functions:
        if isinstance(f, MuscleDriven):
            v = motion.inputs_of(f)
            return f.pull(v, f.motion(v), bends=False).force
    raise InvalidInput("tendon_forces: the problem of this motion has no muscles")


# Coordinates that a recording moves on by more than this are no part of what repeats [m].
_MOVES_ON = 0.1


def _repeating(f: MuscleDriven, reference: Table, first: float, last: float) -> list[str]:
    """Values but those that go on, speeds, states and controls."""
    at = [int(np.argmin(np.abs(reference.time - t))) for t in (first, last)]
    found = []
    for name in f.inputs:
        if name == "time" or name.endswith(("/acceleration", "_rate")):
            continue
        k = reference.find(name)
        joint_moves = name.endswith("/value") and f.translates(name.removesuffix("/value"))
        if joint_moves and k is not None and abs(np.diff(reference.values[at, k])[0]) > _MOVES_ON:
            continue
        found.append(name)
    return found


def _weights(weights: Mapping[str, float] | None, names: Sequence[str]) -> dict[str, float]:
    found = dict.fromkeys(names, 1.0)
    for pattern, value in (weights or {}).items():
        if not (np.isfinite(value) and value >= 0.0):
            raise InvalidInput(f"the weight of {pattern!r} is {value!r}; give zero or a number above it")
        found |= {name: float(value) for name in names if name == pattern or fnmatchcase(name, pattern)}
    return found


def _check_patterns(weights: Mapping[str, float] | None, names: Sequence[str]) -> None:
    for pattern in weights or {}:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownName("variable with a weight", pattern, names)


def _guess(
    f: MuscleDriven,
    motion: Table,
    columns: tuple[str, ...],
    spline: NaturalSpline,
    own: list[int],
    first: float,
    last: float,
    cutoff: float | None,
    like: Like | None,
) -> Table:
    """The recording, and excitations that make it."""
    found: MuscleInverse = muscle_inverse(
        f.model,
        motion,
        loads=f.loads,
        cutoff=cutoff,
        start=first,
        end=last,
        reserves=f.reserves,
        tendons=f.tendons,
        tolerance=_START_TOLERANCE,
        like=like,
        threads=f.threads,
    )
    moved = [spline(found.time, order)[:, own] for order in range(3)]
    driven = [found.muscle_names[k] for k in f.muscles.driven]
    names = (
        *columns,
        *(f"{name}/activation" for name in driven),
        *(f"{name}/excitation" for name in found.muscle_names),
        *(f"{name}/normalized_tendon_force" for name in found.tendon_names),
        *(f"{name}/normalized_tendon_force_rate" for name in found.tendon_names),
        *(f"{name}/control" for name in found.actuator_names),
    )
    parts = (
        *moved,
        found.activation[:, f.muscles.driven],
        found.excitation,
        found.normalized_tension,
        found.normalized_tension_rate,
        found.control,
    )
    return Table(found.time, names, np.concatenate(parts, axis=1), name="guess")
