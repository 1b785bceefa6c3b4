"""Which excitations make a recorded motion, with activation dynamics and elastic tendons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from musculo.analyses.static_optimization.reserves import Reserves
from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import Loads
from musculo.errors import InvalidInput, UnknownName, warned_once
from musculo.like import Like
from musculo.model.model import Model
from musculo.results.result_base import Result, Series, also
from musculo.results.table import Table
from musculo.trajectory.muscles.inverse_program import Effort, InverseProgram, KnownMotion
from musculo.trajectory.muscles.known_motion import known_motion, mesh_nodes, motion_at
from musculo.trajectory.muscles.muscle_nodes import SmoothMuscles, TendonChoice
from musculo.trajectory.solvers.ipopt import solve
from musculo.trajectory.solvers.outcome import SolverOutcome, SolverStatus
from musculo.trajectory.solvers.told_progress import Tell

# The start of the search: weak muscles at rest.
_START_ACTIVATION = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class MuscleInverse(Result):
    """Excitations of least effort that make a motion, at the nodes of the mesh and their midpoints."""

    made_by: ClassVar[str] = "muscle_inverse"
    statuses: ClassVar[type[SolverStatus]] = SolverStatus

    model: Model = field(repr=False)
    time: FloatArray = field(repr=False)  # (nodes,)
    muscle_names: tuple[str, ...]
    tendon_names: tuple[str, ...]  # muscles whose tendons stretch
    actuator_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]  # the independent speeds: one equation each
    excitation: FloatArray = field(repr=False)  # (nodes, muscles)
    activation: FloatArray = field(repr=False)  # (nodes, muscles)
    tension: FloatArray = field(repr=False)  # (nodes, muscles) forces of the tendons [N]
    normalized_tension: FloatArray = field(repr=False)  # (nodes, tendons) over the maximum isometric force
    normalized_tension_rate: FloatArray = field(repr=False)  # (nodes, tendons) [1/s]
    control: FloatArray = field(repr=False)  # (nodes, actuators), 1 is the optimal force
    moment: FloatArray = field(repr=False)  # (nodes, coordinates) what the motion needs [N m, N]
    balance_residual: FloatArray = field(repr=False)  # (nodes, coordinates) what is missing [N m, N]
    q: FloatArray = field(repr=False)  # (nodes, all coordinates) the motion
    u: FloatArray = field(repr=False)
    objective: float
    outcome: SolverOutcome = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)

    muscles = also("muscle_names")
    actuators = also("actuator_names")
    coordinates = also("coordinate_names")

    @property
    def status(self) -> SolverStatus:
        """How the search ended."""
        return self.outcome.status

    @property
    def notes(self) -> tuple[str, ...]:
        """What the search reports in words, where it was not solved."""
        return () if self.outcome.status == SolverStatus.SOLVED else (str(self.outcome),)

    def _series(self) -> Iterable[Series]:
        muscles = {"muscle": self.muscle_names}
        yield Series("excitation", self.excitation, muscles)
        yield Series("activation", self.activation, muscles)
        yield Series("tension", self.tension, muscles, "N")
        yield Series("normalized_tension", self.normalized_tension, {"tendon": self.tendon_names})
        yield Series("control", self.control, {"actuator": self.actuator_names})
        yield Series("moment", self.moment, {"coordinate": self.coordinate_names}, "N m or N")


def muscle_inverse(
    model: Model,
    motion: Table,
    *,
    loads: Loads = (),
    cutoff: float | None = None,
    start: float | None = None,
    end: float | None = None,
    interval: float = 0.02,
    reserves: Reserves | None = None,
    tendons: TendonChoice = "stated",
    weights: Mapping[str, float] | None = None,
    tension_rate_weight: float = 0.01,
    activation_weight: float = 0.0,
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    like: Like | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: Tell = None,
    options: Mapping[str, str | float | int] | None = None,
) -> MuscleInverse:
    """The excitations of least effort that make a recorded motion, activation dynamics and elastic tendons included.

        minimize  integral of  sum_i w_i e_i^2 + sum_k w_k c_k^2 + w_f sum_i (df_i/dt)^2
        subject to  sum_i r_i F_i + actuators = moments of the motion,   da/dt = rate(e, a),   f = g(a, s, v),   bounds

    with excitations e, activations a, controls c, and normalized tendon forces f of muscles whose tendons stretch
    (`kernels/hill/muscle_slopes.py`); there is one equation of moments for each independent speed. It differs from
    `static_optimization` in that the instants are not independent of each other: muscles take time to activate, and
    tendons store energy. Cubics between the nodes (Hermite-Simpson), midpoints included; a(start) = e(start).

    Source:     [DeGroote2016]; [Dembia2020], MocoInverse, whose goals and defaults these are.
    Departs:    exact first and second derivatives; the optimum is met to `tolerance` 1e-6, not 1e-3. Each muscle has
                its own time constants.
    Guarantees: where `status` is SOLVED, all equations hold to `tolerance` at all nodes and midpoints.

    Args:
        model: with muscles of the kind DeGrooteFregly2016Muscle (`musculo.muscle.with_de_groote_fregly_muscles`).
        motion: coordinates over time, angles in degrees or radians as `motion.degrees` says.
        loads: from outside, such as ground reactions.
        cutoff: of the low-pass filter of the motion [Hz]; None filters nothing.
        start, end: of the mesh [s]; those of the motion by default.
        interval: length of an interval of the mesh at most [s]; each has a node in its middle.
        reserves: optimal forces of extra actuators without bounds, by independent speed; or a number for all.
        tendons: "rigid" lets no tendon stretch, "stated" those that the model does not say are rigid.
        weights: of squares of excitations and controls, by muscle and actuator; 1 for those not named.
        tension_rate_weight: w_f.
        activation_weight: of squares of activations.
        tolerance: of optimality (scaled) and of equations (N m, N).
        max_iterations: after which the search stops.
        like: "opensim" for OpenSim's filter.
        threads: the number of threads of geometry and dynamics; all cores by default.
        time_limit, progress: as `Problem.solve` has them.
        options: of IPOPT, by its names.

    Raises:
        Unsupported: a muscle of another kind.
        InvalidInput: times that the motion does not span.
    """
    time = mesh_nodes(motion, start, end, interval)
    muscles = SmoothMuscles(model, tendons=tendons)
    with warned_once():
        made = motion_at(model, motion, time, cutoff, like)
        known, actuators = known_motion(model, made, loads, reserves, like, threads)
    names = (*muscles.names, *(a.name for a in actuators))
    w = _weights(names, weights)
    count = len(muscles.names)
    effort = Effort(w[:count], w[count:], tension_rate_weight, activation_weight)
    program = InverseProgram(muscles, known, effort)
    outcome = solve(
        program,
        _start(program, muscles, known),
        tolerance=tolerance,
        max_iterations=max_iterations,
        time_limit=time_limit,
        progress=progress,
        options={"mu_strategy": "monotone"} | dict(options or {}),
    )
    x = outcome.x
    activation = x[program.excitation].copy()
    activation[:, muscles.driven] = x[program.activation]
    tension = program.tensions(x)
    given = np.einsum("kme,km->ke", known.arms, tension) + np.einsum("kea,ka->ke", known.actuators, x[program.control])
    return MuscleInverse(
        model=model,
        time=time,
        muscle_names=muscles.names,
        tendon_names=tuple(muscles.names[k] for k in muscles.elastic),
        actuator_names=known.actuator_names,
        coordinate_names=known.equation_names,
        excitation=x[program.excitation],
        activation=activation,
        tension=tension,
        normalized_tension=x[program.tension],
        normalized_tension_rate=x[program.tension_rate],
        control=x[program.control],
        moment=known.moment,
        balance_residual=known.moment - given,
        q=made.q,
        u=made.u,
        objective=outcome.objective,
        outcome=outcome,
        options={"interval": interval, "cutoff": cutoff, "tolerance": tolerance, "start": time[0], "end": time[-1]},
    )


def _weights(names: tuple[str, ...], weights: Mapping[str, float] | None) -> FloatArray:
    w = np.ones(len(names))
    for name, value in (weights or {}).items():
        if name not in names:
            raise UnknownName("muscle or actuator", name, names, "weights")
        if not (np.isfinite(value) and value >= 0.0):
            raise InvalidInput(f"the weight of {name!r} is {value!r}; give zero or a number above it")
        w[names.index(name)] = value
    return w


def _start(program: InverseProgram, muscles: SmoothMuscles, known: KnownMotion) -> FloatArray:
    """Weak activations, and the tensions that they give with tendons that do not stretch."""
    x = np.zeros(len(program.lower))
    level = np.clip(_START_ACTIVATION, muscles.low, muscles.top)
    x[program.excitation] = level
    x[program.activation] = level[muscles.driven]
    a = np.broadcast_to(level, known.length.shape)
    fibers = muscles.fibers(a, a, known.length - muscles.slack_length, known.speed)
    x[program.tension] = np.clip(fibers.force[:, muscles.elastic], 0.0, 1.0)
    return np.clip(x, program.lower, program.upper)
