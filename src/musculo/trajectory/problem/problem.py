"""A motion as it is asked for: variables, dynamics, goals and constraints."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, MusculoWarning, UnknownName, warned_once
from musculo.trajectory.functions.node_formula import Formula
from musculo.trajectory.node_function import NodeFunction
from musculo.trajectory.predicted_motion import PredictedMotion, motion_of_outcome
from musculo.trajectory.problem.constraints import Constraint, Throughout, limit_block
from musculo.trajectory.problem.goals import Goal
from musculo.trajectory.problem.guess import Guess, guessed
from musculo.trajectory.problem.variables import Control, Limits, Variable, limits_of, signals_of
from musculo.trajectory.solvers.ipopt import solve
from musculo.trajectory.solvers.told_progress import Tell
from musculo.trajectory.transcription.discretization import Discretization
from musculo.trajectory.transcription.mesh import Transcription
from musculo.trajectory.transcription.node_program import NodeProgram
from musculo.trajectory.transcription.row_blocks import GoalPiece, Piece, RowBlock

# How far a start that is a motion already is pushed off its bounds; IPOPT's 1e-2 would bend it.
_PUSH = 1e-5
_PUSHES = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac")

# What parts of a problem must have, and what they are in words.
_PARTS = (
    ("dynamics", "values", "node function; give MuscleDriven(model), Formula(function, inputs, outputs)"),
    ("goals", "pieces", "goal; give Time(), Effort(function or names), Integral, Endpoint, Smoothness or Tracking"),
    ("constraints", "blocks", "constraint; give Throughout(function or names, limits), At or Periodic"),
)


def _called(one: Any) -> str:
    """What a message calls something."""
    named = isinstance(one, type) or callable(one)
    return f"{one.__name__ if named and hasattr(one, '__name__') else repr(one)}"


@dataclass(frozen=True, eq=False)
class Problem:
    """What a motion must do.

    Args:
        variables: coordinates, states, controls and parameters.
        duration: a number, or its lower and upper limit [s].
        dynamics: node functions. An output with the name of the rate of a state (`knee/acceleration`,
            `soleus_r/activation_rate`) gives that rate; every other output is an equation, which is zero. Names
            that resemble a rate's are refused.
        goals: whose sum the motion makes small.
        constraints: what it must keep to.
        start_time: [s].
    """

    variables: Sequence[Variable]
    duration: Limits
    dynamics: NodeFunction | Sequence[NodeFunction] = ()
    goals: Goal | Sequence[Goal] = ()
    constraints: Constraint | Sequence[Constraint] = ()
    start_time: float = 0.0

    def __post_init__(self) -> None:
        for name in ("variables", "dynamics", "goals", "constraints"):
            given = getattr(self, name)
            object.__setattr__(self, name, tuple(given) if isinstance(given, tuple | list) else (given,))
        for one in self.variables:
            if not hasattr(one, "signals"):
                raise InvalidInput(
                    f"variables: {type(one).__module__}.{type(one).__name__} is none; give Coordinate, State, Control "
                    "and Parameter of musculo.trajectory (musculo.model has another Coordinate)"
                )
        for name, method, those in _PARTS:
            for one in getattr(self, name):
                if isinstance(one, type) or not hasattr(one, method):
                    raise InvalidInput(f"{name}: {_called(one)} is no {those}")
        low, high = limits_of(self.duration, "duration")
        if not (low > 0 or (low == 0 and high > 0)):
            raise InvalidInput(f"duration={self.duration!r}; a motion takes a positive time")

    def with_(self, **changes: Any) -> Problem:
        """The problem with other arguments: `problem.with_(goals=...)`."""
        return replace(self, **changes)

    def discretize(self, transcription: Transcription) -> Discretization:
        """Its variables at the nodes of a transcription."""
        outputs = [name for function in self._dynamics for name in function.outputs]
        signals = signals_of(self._all_variables, outputs, transcription.rates_are_variables)
        moments = [at for one in (*self._goals, *self._constraints) for at in getattr(one, "moments", ())]
        low, high = limits_of(self.duration)
        return transcription.discretize(signals, (low, high), self.start_time, moments)

    def program(self, transcription: Transcription) -> NodeProgram:
        """The nonlinear program of a transcription."""
        return self._program(self.discretize(transcription))

    def solve(
        self,
        transcription: Transcription,
        guess: Guess = None,
        *,
        tolerance: float = 1e-6,
        max_iterations: int = 1000,
        linear_solver: str = "auto",
        exact_hessian: bool | None = None,
        time_limit: float | None = None,
        progress: Tell = None,
        options: Mapping[str, str | float | int] | None = None,
    ) -> PredictedMotion:
        """The motion.

        Args:
            transcription: how the motion is written in numbers: `Trapezoidal(50)`, `BSplines(12)` and so on.
            guess: where the search starts: another motion (on any mesh), a table, or numbers or series by names of
                variables. What it does not say, and all by default, goes straight from the start's limits to the end's.
            tolerance: of optimality (scaled) and of constraints (as they are).
            max_iterations, time_limit: iterations, and seconds on the clock, after which the search stops where it is.
                So does Ctrl-C. The motion then has the status ITERATIONS or STOPPED.
            linear_solver: `multifrontal` (ours), `mumps` or `spral`; `auto` chooses.
            exact_hessian: by default where every function has second derivatives.
            progress: a function that is called after each iteration; False stops the search. True writes lines on
                stderr, False nothing; by default a search of more than two seconds shows a line in a terminal, and
                lines in a notebook.
            options: of IPOPT, by its names.
        """
        if isinstance(transcription, type) or not hasattr(transcription, "discretize"):
            raise InvalidInput(
                f"{_called(transcription)} is no transcription; give HermiteSimpson(25), BSplines(12), "
                "Trapezoidal(50) or Radau(20, 3)"
            )
        self._warn_of_idle_controls()
        with warned_once():
            program = self.program(transcription)
            d = program.discretization
            values, T = guessed(d, self._all_variables, limits_of(self.duration), self.start_time, guess)
            start = np.clip(d.variables_of(values, T), program.lower, program.upper)
            self._check_formulas(program, start)
            chosen: dict[str, str | float | int] = dict(options or {})
            warm = None
            if isinstance(guess, PredictedMotion):
                known = guess.program
                if known.variable_names == program.variable_names and known.row_names == program.row_names:
                    warm = guess.solver
                else:
                    chosen = {**dict.fromkeys(_PUSHES, _PUSH), **chosen}
            outcome = solve(
                program,
                start,
                tolerance=tolerance,
                max_iterations=max_iterations,
                linear_solver=linear_solver,
                exact_hessian=exact_hessian,
                warm_start=warm,
                time_limit=time_limit,
                progress=progress,
                options=chosen,
            )
            return motion_of_outcome(self, transcription, program, outcome)

    def _warn_of_idle_controls(self) -> None:
        """Controls that goals make small, and that move nothing."""
        used = {name for function in self._dynamics for name in (*function.inputs, *function.outputs)}
        used |= {signal.rate for one in self._all_variables for signal in one.signals()}
        limited = bool(self._constraints)  # these may say what it moves
        for one in self._all_variables:
            if isinstance(one, Control) and one.name not in used and not limited:
                warnings.warn(
                    f"control {one.name!r} moves nothing: no dynamics have it. Give dynamics in which it acts, or "
                    "moments of a motion in its place: Effort(InverseDynamics(model))",
                    MusculoWarning,
                    stacklevel=3,
                )

    def _check_formulas(self, program: NodeProgram, start: FloatArray) -> None:
        """An error where slopes of a formula are wrong, at the start of the search or somewhere within limits."""
        d = program.discretization
        values = d.node_variables(start)
        inside, rng = values.copy(), np.random.default_rng(0)
        for one in d.signals:
            now = values[:, d.column(one.name)]
            low = np.full(len(now), one.lower) if np.isfinite(one.lower) else np.minimum(now, one.upper) - one.scale
            high = np.full(len(now), one.upper) if np.isfinite(one.upper) else np.maximum(now, one.lower) + one.scale
            inside[:, d.column(one.name)] = rng.uniform(low, high)
        for source in program.sources:
            if isinstance(source.function, Formula):
                at = np.ix_(source.nodes, source.columns)
                source.function.check_slopes(np.ascontiguousarray(values[at]))
                with suppress(ValueError, ArithmeticError):  # the search may never come to where it cannot be evaluated
                    source.function.check_slopes(np.ascontiguousarray(inside[at]))

    # --- its parts ----------------------------------------------------------------------------------------------------
    @property
    def _all_variables(self) -> tuple[Variable, ...]:
        return tuple(self.variables)

    @property
    def _dynamics(self) -> tuple[NodeFunction, ...]:
        return self.dynamics  # type: ignore[return-value]

    @property
    def _goals(self) -> tuple[Goal, ...]:
        return self.goals  # type: ignore[return-value]

    @property
    def _constraints(self) -> tuple[Constraint, ...]:
        return self.constraints  # type: ignore[return-value]

    @property
    def rate_functions(self) -> tuple[NodeFunction, ...]:
        """Those of the dynamics."""
        return self._dynamics

    @property
    def functions(self) -> tuple[NodeFunction, ...]:
        """All node functions, each once."""
        found: dict[int, NodeFunction] = {id(one): one for one in self._dynamics}
        for part in (*self._constraints, *self._goals):
            what = getattr(part, "what", None)
            if hasattr(what, "outputs"):
                found.setdefault(id(what), what)  # type: ignore[arg-type]
        return tuple(found.values())

    def limits_throughout(self, d: Discretization) -> Iterator[tuple[NodeFunction, int, float, float, float, float]]:
        """Functions and outputs with their lower and upper limits, and the part of the motion where these hold."""
        for one in d.signals:
            if one.kind != "parameter" and (np.isfinite(one.lower) or np.isfinite(one.upper)):
                yield d.variables, d.column(one.name), one.lower, one.upper, 0.0, 1.0
        for constraint in self._constraints:
            if isinstance(constraint, Throughout):
                for block in constraint.blocks(d):
                    (piece,) = block.pieces
                    for k, output in enumerate(piece.outputs):
                        limits = float(block.lower[0, k]), float(block.upper[0, k])
                        yield piece.function, int(output), *limits, *constraint.between

    def _program(self, d: Discretization) -> NodeProgram:
        blocks = [*self._limits(d), *self._dynamics_blocks(d)]
        for constraint in self._constraints:
            blocks += constraint.blocks(d)
        goals: list[GoalPiece] = []
        for goal in self._goals:  # each is listed under a name of its own
            known = {piece.name for piece in goals}
            for piece in goal.pieces(d):
                again = 2
                name = piece.name
                while name in known:
                    name, again = f"{piece.name} {again}", again + 1
                goals.append(replace(piece, name=name))
        return NodeProgram(d, blocks, goals, limits_of(self.duration))

    def _limits(self, d: Discretization) -> list[RowBlock]:
        """Of variables: throughout, at the start and at the end."""
        blocks = []
        known = {one.name for one in d.signals}
        states = np.union1d(d.limited, [d.node_at(0.0)])
        for one in d.signals:
            if d.point_limits is not None and one.kind != "parameter" and d.orders[d.column(one.name)] == 0:
                continue  # control points keep to the limits
            if np.isfinite(one.lower) or np.isfinite(one.upper):
                nodes = {"state": states, "parameter": states[:1]}.get(one.kind, d.limited)
                bounds = np.array([one.lower]), np.array([one.upper])
                blocks.append(limit_block(d, d.variables, np.array([d.column(one.name)]), nodes, *bounds))
        for variable in self._all_variables:
            for name, initial, final in variable.ends():
                for at, limits in ((0.0, initial), (1.0, final)):
                    if limits is not None and name in known:
                        low, high = limits_of(limits, name)
                        node = np.array([d.node_at(at)])
                        which = np.array([d.column(name)])
                        blocks.append(limit_block(d, d.variables, which, node, np.array([low]), np.array([high])))
            for signal in variable.signals():  # limits of an acceleration that dynamics give
                given = [f for f in self._dynamics if signal.name in f.outputs]
                if signal.name not in known and given and np.isfinite([signal.lower, signal.upper]).any():
                    both = (signal.lower, signal.upper)
                    blocks += Throughout(given[0], both, outputs=signal.name).blocks(d)
        return blocks

    def _dynamics_blocks(self, d: Discretization) -> list[RowBlock]:
        """Defects of states, and equations."""
        blocks, rates = [], {one.rate: one.name for one in d.signals if one.kind == "state"}
        names = set(d.names)
        given: dict[int, list[int]] = {}
        for f, function in enumerate(self._dynamics):
            for name in function.inputs:
                if name not in names:
                    raise UnknownName("variable", name, d.names, f"an input of {function!r}")
            known = [k for k, name in enumerate(function.outputs) if name in rates]
            rest = np.array([k for k in range(len(function.outputs)) if k not in known], dtype=np.int64)
            if rest.size:
                zero = np.zeros(len(rest))
                blocks.append(limit_block(d, function, rest, d.collocated, zero, zero))
            given[f] = known
        if d.defect_states is None:
            for f, known in given.items():
                if known:
                    blocks.append(_rates_equal(d, self._dynamics[f], np.array(known)))
            return blocks
        explicit = {self._dynamics[f].outputs[k] for f, known in given.items() for k in known}
        for f, known in given.items():
            if known:
                states = [rates[self._dynamics[f].outputs[k]] for k in known]
                blocks.append(_defects(d, states, self._dynamics[f], np.array(known)))
        implicit = [(state, rate) for rate, state in rates.items() if rate not in explicit]
        if implicit:
            columns = np.array([d.column(rate) for _, rate in implicit])
            blocks.append(_defects(d, [state for state, _ in implicit], d.variables, columns))
        return blocks


def _defects(d: Discretization, states: Sequence[str], function: NodeFunction, outputs: Any) -> RowBlock:
    """D x - T E f = 0 of states whose rates are outputs of a function."""
    assert d.defect_states is not None
    assert d.defect_rates is not None
    of_states, of_rates = np.nonzero(d.defect_states), np.nonzero(d.defect_rates)
    columns = np.array([d.column(name) for name in states])
    rows = len(d.defect_states)
    pieces = (
        Piece(d.variables, columns, of_states[1], of_states[0], d.defect_states[of_states]),
        Piece(function, outputs, of_rates[1], of_rates[0], -d.defect_rates[of_rates], 1),
    )
    names = [[f"dynamics of {name}[{k}]" for name in states] for k in d.defect_nodes]
    zero = np.zeros((rows, len(states)))
    return RowBlock(names, zero, zero, d.defect_stages, pieces)


def _rates_equal(d: Discretization, function: NodeFunction, outputs: Any) -> RowBlock:
    """xdot - f = 0, where rates are variables."""
    nodes, rows = d.collocated, np.arange(len(d.collocated))
    rates = [function.outputs[k] for k in outputs]
    columns = np.array([d.column(name) for name in rates])
    ones = np.ones(len(nodes))
    names = [[f"dynamics of {name}[{k}]" for name in rates] for k in nodes]
    zero = np.zeros((len(nodes), len(rates)))
    pieces = (Piece(d.variables, columns, nodes, rows, ones), Piece(function, outputs, nodes, rows, -ones))
    return RowBlock(names, zero, zero, d.stages[nodes], pieces)
