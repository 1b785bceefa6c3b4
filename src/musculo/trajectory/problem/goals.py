"""What a motion shall make small: goals with weights, whose sum is the objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from musculo.results.table import Table
from musculo.trajectory.functions.deviation import Deviation
from musculo.trajectory.problem.selection import What, each, selected
from musculo.trajectory.transcription.discretization import DURATION, Discretization
from musculo.trajectory.transcription.row_blocks import GoalPiece


@dataclass(frozen=True)
class Time:
    """weight T: the duration.

    Args:
        weight: 1 by default.
    """

    weight: float = 1.0
    name: str = "time"

    def pieces(self, d: Discretization) -> list[GoalPiece]:
        """Of a discretization."""
        factors = np.zeros((1, len(d.names)))
        factors[0, d.column(DURATION)] = self.weight
        return [GoalPiece(self.name, d.variables, np.zeros(1, np.int64), factors, 0, False)]


@dataclass(frozen=True, eq=False)
class Integral:
    """weight times the integral over time of the sum of y / scale, or of its squares.

    Args:
        what: a node function, or names of variables.
        weight: of the goal.
        squared: whether squares are summed.
        scale: that each output is divided by first: a number, one for each, or by (patterns of) names; 1 by default.
        outputs: which of the function, by (patterns of) names; all by default.
        average: whether the integral is divided by the duration.
        name: under which the result lists it; by default that of the first output.
    """

    what: What
    weight: float = 1.0
    squared: bool = False
    scale: ArrayLike | Mapping[str, float] = 1.0
    outputs: str | Sequence[str] | None = None
    average: bool = False
    name: str = ""

    def pieces(self, d: Discretization) -> list[GoalPiece]:
        """Of a discretization."""
        function, which = selected(self.what, self.outputs, d)
        names = [function.outputs[k] for k in which]
        nodes = np.flatnonzero(d.weights)
        scale = each(self.scale, names, "scale")
        factors = np.zeros((len(nodes), len(function.outputs)))
        factors[:, which] = self.weight * d.weights[nodes, None] / scale ** (2 if self.squared else 1)
        name = self.name or f"integral of {names[0]}{'²' if self.squared else ''}"
        return [GoalPiece(name, function, nodes, factors, 0 if self.average else 1, self.squared)]


@dataclass(frozen=True, eq=False)
class Endpoint:
    """weight times the sum of y / scale, or of its squares, at one moment.

    Args:
        what: a node function, or names of variables.
        weight: of the goal; a negative one makes y large.
        at: the moment, a fraction of the duration: 0 is the start, 1 the end.
        squared, scale, outputs, name: as `Integral` has them.
    """

    what: What
    weight: float = 1.0
    at: float = 1.0
    squared: bool = False
    scale: ArrayLike | Mapping[str, float] = 1.0
    outputs: str | Sequence[str] | None = None
    name: str = ""

    @property
    def moments(self) -> tuple[float, ...]:
        """Where there must be a node."""
        return (self.at,)

    def pieces(self, d: Discretization) -> list[GoalPiece]:
        """Of a discretization."""
        function, which = selected(self.what, self.outputs, d)
        names = [function.outputs[k] for k in which]
        factors = np.zeros((1, len(function.outputs)))
        factors[0, which] = self.weight / each(self.scale, names, "scale") ** (2 if self.squared else 1)
        node = np.array([d.node_at(self.at)])
        return [GoalPiece(self.name or f"{names[0]} at {self.at:g}", function, node, factors, 0, self.squared)]


def Effort(
    what: What,
    weight: float = 1.0,
    *,
    scale: ArrayLike | Mapping[str, float] = 1.0,
    outputs: str | Sequence[str] | None = None,
    name: str = "effort",
) -> Integral:
    """The integral of squares of controls, moments, joint loads or activations, each divided by its scale.

    Args:
        what: a node function, or names of variables: `*/excitation`.
        weight: of the goal.
        scale, outputs: as `Integral` has them; a natural scale is the largest value.
        name: under which the result lists it.
    """
    return Integral(what, weight, True, scale, outputs, name=name)


def Smoothness(
    what: What = "*/acceleration", weight: float = 1.0, *, scale: ArrayLike | Mapping[str, float] = 1.0
) -> Integral:
    """The integral of squared accelerations, or of other rates.

    Args:
        what: names of variables, or a node function.
        weight: of the goal.
        scale: as `Integral` has it.
    """
    return Integral(what, weight, True, scale, name="smoothness")


def Tracking(
    table: Table,
    names: Sequence[str],
    weight: float = 1.0,
    *,
    scale: ArrayLike | Mapping[str, float] = 1.0,
    average: bool = False,
) -> Integral:
    """The integral of squared differences from a recording.

    Args:
        table: over the same time as the motion, angles in radians.
        names: of the variables, looked for in the table as `Table.find` does: `knee_angle_r/value`. A speed without a
            column is compared with the derivative of the column of its value.
        weight: of the goal.
        scale: typical differences, by which they are divided: a number, or one for each.
        average: whether the integral is divided by the duration.
    """
    return Integral(Deviation(table, tuple(names)), weight, True, scale, average=average, name="tracking")


Goal = Time | Integral | Endpoint
