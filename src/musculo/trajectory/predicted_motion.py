"""The motion that a solver found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.io.storage import write_storage
from musculo.results.result_base import Result, Series
from musculo.results.table import Table
from musculo.trajectory.node_function import NodeFunction
from musculo.trajectory.problem.selection import matching
from musculo.trajectory.solvers.outcome import SolverOutcome, SolverStatus, Violation
from musculo.trajectory.transcription.discretization import TIME, Discretization
from musculo.trajectory.transcription.mesh import Transcription
from musculo.trajectory.transcription.node_program import NodeProgram


class Posed(Protocol):
    """What a motion knows of the problem that it solves."""

    @property
    def functions(self) -> tuple[NodeFunction, ...]:
        """All node functions."""

    @property
    def rate_functions(self) -> tuple[NodeFunction, ...]:
        """Those that may give rates of states."""

    def limits_throughout(self, d: Discretization) -> Iterator[tuple[NodeFunction, int, float, float, float, float]]:
        """Functions and outputs with their lower and upper limits, and the part of the motion where these hold."""


@dataclass(frozen=True, repr=False, eq=False)
class PredictedMotion(Result):
    """The motion that a solver found: variables and outputs of all node functions at the nodes, and how it went."""

    made_by: ClassVar[str] = "Problem.solve"
    statuses: ClassVar[type[IntEnum]] = SolverStatus

    time: FloatArray  # (nodes,) [s]
    names: tuple[str, ...]  # of the variables
    values: FloatArray  # (nodes, names)
    output_names: tuple[str, ...]
    outputs: FloatArray  # (nodes, output_names)
    duration: float  # [s]
    objective: float
    goals: Mapping[str, float]  # the part of each in the objective
    solver: SolverOutcome
    problem: Posed = field(repr=False)
    transcription: Transcription = field(repr=False)
    program: NodeProgram = field(repr=False)

    @property
    def status(self) -> SolverStatus:
        """How the search ended."""
        return self.solver.status

    @property
    def solved(self) -> bool:
        """Whether all tolerances are met."""
        return self.solver.solved

    @property
    def notes(self) -> tuple[str, ...]:
        """What the solver notes."""
        return self.solver.notes

    def __getitem__(self, name: str) -> FloatArray:
        """(nodes,) of a variable or an output."""
        names = (*self.names, *self.output_names)
        (found,) = matching(name, names, "variable or output")[:1]
        k = names.index(found)
        return self.values[:, k] if k < len(self.names) else self.outputs[:, k - len(self.names)]

    def at(self, time: ArrayLike) -> Table:
        """All variables and outputs at any times: what the transcription says between nodes.

        Args:
            time: (frames,) increasing, from the start of the motion to its end [s].
        """
        times = np.atleast_1d(np.asarray(time, dtype=float))
        fractions = (times - self.time[0]) / self.duration
        if not ((fractions >= -1e-12) & (fractions <= 1 + 1e-12)).all():
            raise InvalidInput(
                f"time from {times[0]:g} to {times[-1]:g} s; the motion goes from {self.time[0]:g} to "
                f"{self.time[-1]:g} s"
            )
        values = self.variables_at(np.clip(fractions, 0.0, 1.0))
        outputs = _outputs(self.problem.functions, self.program.discretization, values)[1]
        shown = np.hstack([values[:, : len(self.names)], outputs])
        return Table(times, (*self.names, *self.output_names), shown, name="predicted motion")

    def evaluate(self, function: NodeFunction) -> Table:
        """The outputs of any node function at the nodes: loads of joints, metabolic power, a formula.

        Args:
            function: of variables of this motion, whether it is part of the problem or not.
        """
        if isinstance(function, type) or not hasattr(function, "inputs"):
            raise InvalidInput(
                f"evaluate: {function!r} is no node function; give Formula(function, inputs, outputs) or "
                "InverseDynamics(model); a variable or output of the motion is motion['knee/value']"
            )
        return Table(self.time, tuple(function.outputs), function.values(self.inputs_of(function)), name="evaluated")

    def inputs_of(self, function: NodeFunction) -> FloatArray:
        """(nodes, inputs) the variables that a node function asks for."""
        known = (*self.names, TIME)
        for name in function.inputs:
            if name not in known:
                raise UnknownName("variable", name, known, f"an input of {function!r}")
        values = np.column_stack([self.values, self.time])
        return np.ascontiguousarray(values[:, [known.index(name) for name in function.inputs]])

    def variables_at(self, fractions: FloatArray) -> FloatArray:
        """(points, names) at fractions (points,) of the duration."""
        d = self.program.discretization
        return self.transcription.between(d, self.solver.x, fractions, self._rates)

    @cached_property
    def _rates(self) -> FloatArray:
        """(nodes, names) of states, at all nodes."""
        d = self.program.discretization
        values = d.node_variables(self.solver.x)
        rates = np.zeros_like(values)
        for one in d.signals:
            if one.kind == "state" and one.rate in d.names:
                rates[:, d.column(one.name)] = values[:, d.column(one.rate)]
        for function in self.problem.rate_functions:
            given = [(k, s) for k, n in enumerate(function.outputs) for s in d.signals if s.rate == n and s.rate]
            if given and not self.transcription.rates_are_variables:
                found = function.values(np.ascontiguousarray(values[:, [d.column(n) for n in function.inputs]]))
                for k, signal in given:
                    rates[:, d.column(signal.name)] = found[:, k]
        return rates

    def violations(self, finer: int = 1, threshold: float | None = None) -> list[Violation]:
        """Limits that are not kept, largest violation first.

        Args:
            finer: how many times finer than the nodes the grid is; 1 looks at the rows and bounds of the program.
                Otherwise limits of variables and outputs that hold throughout are looked at between the nodes, and so
                are equations of the dynamics.
            threshold: smaller violations are ignored; by default the tolerance of the solver.
        """
        threshold = self.solver.tolerance if threshold is None else threshold
        if finer == 1:
            return self.solver.violations(threshold)
        d = self.program.discretization
        mesh = np.unique(np.append(d.fractions[d.limited], 0.0))
        steps = np.arange(finer) / finer
        limits = list(self.problem.limits_throughout(d))
        ends = [end for one in limits for end in one[-2:]]
        fractions = np.unique(np.concatenate([(mesh[:-1, None] + np.diff(mesh)[:, None] * steps).ravel(), [1.0], ends]))
        values = self.variables_at(fractions)
        found: list[Violation] = []
        for function, output, low, high, first, last in limits:
            inside = (fractions >= first - 1e-12) & (fractions <= last + 1e-12)
            y = function.values(np.ascontiguousarray(values[inside][:, [d.column(n) for n in function.inputs]]))[
                :, output
            ]
            amount = np.maximum(low - y, y - high)
            if not amount.size or amount.max() <= threshold:
                continue
            k = int(np.argmax(amount))
            at = self.time[0] + self.duration * fractions[inside][k]
            name = f"{function.outputs[output]} at {at:.6g} s"
            found.append(Violation(name, float(y[k]), float(low), float(high), float(amount[k])))
        found += self._equations_missed(values, fractions, threshold)
        return sorted(found, key=lambda one: -one.amount)

    def _equations_missed(self, values: FloatArray, fractions: FloatArray, threshold: float) -> list[Violation]:
        """Equations of the dynamics that variables (points, names) at fractions (points,) miss, where most of all."""
        d, found = self.program.discretization, []
        rates = {one.rate for one in d.signals if one.kind == "state"}
        for function in self.problem.rate_functions:
            y = function.values(np.ascontiguousarray(values[:, [d.column(n) for n in function.inputs]]))
            for output, name in enumerate(function.outputs):
                off, label = y[:, output], name
                if name in rates:
                    if not self.transcription.rates_are_variables:
                        continue  # `dynamics_error` says what defects leave between nodes
                    off, label = values[:, d.column(name)] - off, f"dynamics of {name}"
                k = int(np.argmax(np.abs(off)))
                if abs(off[k]) > threshold:
                    at = self.time[0] + self.duration * fractions[k]
                    found.append(Violation(f"{label} at {at:.6g} s", float(off[k]), 0.0, 0.0, float(abs(off[k]))))
        return found

    def dynamics_error(self, finer: int = 10) -> dict[str, float]:
        """By how much the motion between nodes misses the dynamics: the largest over all intervals between nodes of

            integral over the interval of |xdot - f|

        in the units of each state x; of equations of the dynamics the integral of their amount. Of a converged motion
        both are small; where they are not, a finer mesh or a method of higher order is needed.

        Source: Betts (2010), section 4.7, the local error of a discretization.

        Args:
            finer: how many times each interval between nodes is looked at.
        """
        d = self.program.discretization
        mesh = np.unique(np.append(d.fractions[d.limited], 0.0))
        step = np.diff(mesh)[:, None] / finer
        at = (mesh[:-1, None] + step * (np.arange(finer) + 0.5)).ravel()
        # central differences over a hundredth of a step see the polynomials of the motion alone
        half = np.repeat(0.005 * step.ravel(), finer)
        before, after, values = (self.variables_at(one) for one in (at - half, at + half, at))
        slope = (after - before) / (2.0 * half * self.duration)[:, None]
        given = {
            name: (function, k) for function in self.problem.rate_functions for k, name in enumerate(function.outputs)
        }
        outputs = {
            id(function): function.values(np.ascontiguousarray(values[:, [d.column(n) for n in function.inputs]]))
            for function in self.problem.rate_functions
        }
        missed: dict[str, FloatArray] = {}
        for one in d.signals:
            if one.kind != "state":
                continue
            if one.rate in given:
                function, k = given.pop(one.rate)
                rate = outputs[id(function)][:, k]
            else:
                rate = values[:, d.column(one.rate)]
            missed[one.name] = np.abs(slope[:, d.column(one.name)] - rate)
        missed |= {name: np.abs(outputs[id(function)][:, k]) for name, (function, k) in given.items()}
        weight = np.repeat(step.ravel(), finer) * self.duration
        return {name: float((part * weight).reshape(-1, finer).sum(axis=1).max()) for name, part in missed.items()}

    def explain(self, count: int = 8) -> str:
        """How the search ended, which constraints are violated where, and which bounds are active, by name.

        Args:
            count: how many of each to list at most.
        """
        d = self.program.discretization
        told = self.solver.explain(count, lambda k: float(self.time[0] + self.duration * d.fractions[k]))
        # splines keep to equations at fewer points than they have nodes
        values, least = (
            d.node_variables(self.solver.x)[d.limited],
            max(self.solver.tolerance, self.solver.largest_violation),
        )
        missed = sorted(self._equations_missed(values, d.fractions[d.limited], least), key=lambda one: -one.amount)
        if missed:
            told += "\nEquations of the dynamics are missed between the points where the program asks for them:"
            told += "".join(f"\n  {one}" for one in missed[:count])
            told += f"\n  and {len(missed) - count} more" if len(missed) > count else ""
            told += "\nMore control points make this smaller; HermiteSimpson(25) asks for them at all nodes."
        return told

    def write(self, path: str | Path) -> None:
        """An OpenSim storage file (`.sto`) of variables and outputs at the nodes.

        Args:
            path: of the file.
        """
        write_storage(self.to_table(), path)

    def _series(self) -> Iterable[Series]:
        yield Series("variable", self.values, {"name": list(self.names)})
        if self.output_names:
            yield Series("output", self.outputs, {"output_name": list(self.output_names)})

    def _columns(self, time: ArrayLike | None) -> tuple[tuple[str, ...], tuple[str, ...], Any, Any, str]:
        names = (*self.names, *self.output_names)
        index = self.time if time is None else self._rows(time)["time"]
        return names, ("",) * len(names), np.hstack([self.values, self.outputs]), index, "time"

    def __repr__(self) -> str:
        s = self.solver
        return (
            f"PredictedMotion({s.status.name.lower()}, {self.duration:.6g} s, objective {s.objective:.8g}, "
            f"{len(self.time)} nodes, {s.iterations} iterations, largest violation {s.largest_violation:.2g}, "
            f"{s.times.wall:.2f} s)"
        )


def motion_of_outcome(
    problem: Posed, transcription: Transcription, program: NodeProgram, outcome: SolverOutcome
) -> PredictedMotion:
    """The motion of a point of the program."""
    d = program.discretization
    everywhere = d.node_variables(outcome.x)
    # where a spline is evaluated besides is no node of the motion; both sides of a knot are
    shown = np.unique(np.concatenate([d.limited, [d.node_at(0.0)]]))
    shown = shown[np.argsort(d.fractions[shown], kind="stable")]
    shown = shown[np.concatenate([[True], np.diff(d.fractions[shown]) > 1e-12])]
    values = everywhere[shown]
    names, outputs = _outputs(problem.functions, d, values)
    return PredictedMotion(
        time=values[:, d.column(TIME)],
        names=tuple(one.name for one in d.signals),
        values=values[:, : len(d.signals)],
        output_names=names,
        outputs=outputs,
        duration=d.duration_of(outcome.x),
        objective=outcome.objective,
        goals=program.goal_values(outcome.x),
        solver=outcome,
        problem=problem,
        transcription=transcription,
        program=program,
    )


def _outputs(
    functions: Sequence[NodeFunction], d: Discretization, values: FloatArray
) -> tuple[tuple[str, ...], FloatArray]:
    """Names and values of all outputs that are no variables."""
    names: list[str] = []
    parts = [np.zeros((len(values), 0))]
    for function in functions:
        found = function.values(np.ascontiguousarray(values[:, [d.column(n) for n in function.inputs]]))
        new = [k for k, name in enumerate(function.outputs) if name not in d.names and name not in names]
        names += [function.outputs[k] for k in new]
        parts.append(found[:, new])
    return tuple(names), np.hstack(parts)
