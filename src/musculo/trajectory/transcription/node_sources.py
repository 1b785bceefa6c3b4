"""Node functions in a program: where they are evaluated, and where their values and slopes go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.trajectory.node_function import NodeFunction


class Evaluated(NamedTuple):
    """A function at a point."""

    variables: FloatArray  # (nodes, inputs)
    values: FloatArray  # (nodes, outputs)
    slopes: FloatArray | None  # (nodes, entries)


@dataclass
class Source:
    """A node function in a program: the nodes at which it is evaluated, and where its values and slopes go."""

    function: NodeFunction
    nodes: IntArray
    columns: IntArray  # (inputs,) of v
    orders: FloatArray  # (inputs,)
    by_rows: dict[int, Any] = field(default_factory=dict)  # power: (rows, nodes * outputs)
    by_slopes: dict[int, Any] = field(default_factory=dict)  # power: (nonzeros, nodes * entries)
    goals: list[tuple[str, FloatArray, int, bool]] = field(default_factory=list)  # name, factors, power, squared
    entry_rows: Any = None  # (entries, outputs) which entry belongs to which output
    entry_columns: Any = None  # (entries, inputs)
    variables: Any = None  # (nodes * inputs, x) of V

    @property
    def pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the slopes."""
        return self.function.pattern

    def into_inputs(self, entries: FloatArray) -> FloatArray:
        """(nodes, inputs) sums of (nodes, entries) by the column of each entry."""
        return np.asarray((self.entry_columns.T @ entries.T).T)

    def goal_slopes(self, values: FloatArray, duration: float) -> FloatArray:
        """(nodes, outputs) d(objective)/dy."""
        total = np.zeros_like(values)
        for _, factors, power, squared in self.goals:
            total += duration**power * (2.0 * factors * values if squared else factors)
        return total

    def goal_value(self, goal: tuple[str, FloatArray, int, bool], values: FloatArray, duration: float) -> float:
        """Its part of the objective."""
        _, factors, power, squared = goal
        return float(duration**power * np.vdot(factors, values * values if squared else values))


def expand(source: Source, matrix: Any) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Of R (dy/dv) V all products: the slope (node * entries + entry), the row, the column and the constant factor."""
    rows, columns = source.pattern
    outputs, inputs = len(source.function.outputs), len(source.columns)
    of_rows = matrix.tocsc()
    at = np.arange(len(source.nodes))[:, None]
    left, place = ragged(of_rows.indptr, (at * outputs + rows).ravel())
    row, value = of_rows.indices[place].astype(np.int64), of_rows.data[place]
    again, place = ragged(source.variables.indptr, (at * inputs + columns).ravel()[left])
    return (
        left[again],
        row[again],
        source.variables.indices[place].astype(np.int64),
        value[again] * source.variables.data[place],
    )


def ragged(starts: Any, keys: Any) -> tuple[IntArray, IntArray]:
    """For each key its number and every place from starts[key] to starts[key + 1]."""
    counts = (starts[keys + 1] - starts[keys]).astype(np.int64)
    owner = np.repeat(np.arange(len(keys)), counts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts[keys], counts)
    return owner, place
