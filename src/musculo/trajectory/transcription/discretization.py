"""A motion in finitely many numbers: the variables of a program, and those of every node, which follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import UnknownName
from musculo.trajectory.transcription.row_blocks import Selected

if TYPE_CHECKING:
    from scipy import sparse

TIME, DURATION = "time", "duration"


class Signal(NamedTuple):
    """A variable over time, or a parameter of the whole motion."""

    name: str
    kind: str  # state, control or parameter
    rate: str = ""  # of a state: the name of its derivative by time
    lower: float = -np.inf
    upper: float = np.inf
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Discretization:
    """Variables x of a program, and the variables v of every node that follow from them:

        v[n, i] = offset[n, i] + T^-order[i] sum_k coefficient_k x[column_k]      over the entries k of (n, i)

    T is the duration, a variable itself or a number. Fractions of T are 0 at the start and 1 at the end.
    """

    signals: tuple[Signal, ...]
    fractions: FloatArray  # (nodes,) of the duration
    weights: FloatArray  # (nodes,) integral over the duration = T sum of weights and values
    stages: IntArray  # (nodes,)
    collocated: IntArray  # nodes where equations hold
    limited: IntArray  # nodes where limits of controls and outputs hold
    names: tuple[str, ...]  # of v: signals, time, duration
    orders: IntArray  # (len(names),)
    offset: FloatArray  # (nodes, len(names))
    entries: tuple[IntArray, IntArray, FloatArray]  # node * len(names) + i, column, coefficient
    variable_names: tuple[str, ...]
    variable_stages: IntArray
    variable_scales: FloatArray
    duration_column: int  # -1 where the duration is a number
    duration: float  # that number, or nan
    # (variables,) lower and upper limits of control points, where limits of values hold for these and so at all times.
    point_limits: tuple[FloatArray, FloatArray] | None = None
    # Rows of defects: (rows, nodes) on states and, times T, on their rates; and the stage and node of each row.
    defect_states: FloatArray | None = None
    defect_rates: FloatArray | None = None
    defect_stages: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    defect_nodes: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def column(self, name: str) -> int:
        """Of a node's variable."""
        if name not in self._columns:
            raise UnknownName("variable", name, self.names)
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def variables(self) -> Selected:
        """All variables of a node, as a node function."""
        return Selected(self.names)

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """(nodes * names, variables) of the coefficients."""
        from scipy import sparse

        row, column, coefficient = self.entries
        shape = (len(self.fractions) * len(self.names), len(self.variable_names))
        return sparse.csr_matrix((coefficient, (row, column)), shape=shape)

    def duration_of(self, x: FloatArray) -> float:
        """T of a point."""
        return self.duration if self.duration_column < 0 else float(x[self.duration_column])

    def node_variables(self, x: FloatArray) -> FloatArray:
        """(nodes, names) v."""
        linear = (self.matrix @ x).reshape(len(self.fractions), len(self.names))
        if self.orders.any():
            linear = linear * self.duration_of(x) ** -self.orders.astype(float)
        return np.asarray(self.offset + linear)

    def node_at(self, fraction: float) -> int:
        """The node at a fraction of the duration."""
        k = int(np.argmin(np.abs(self.fractions - fraction)))
        if abs(self.fractions[k] - fraction) > 1e-9:
            raise ValueError(f"no node at {fraction}")
        return k

    def variables_of(self, values: FloatArray, duration: float) -> FloatArray:
        """(variables,) x whose node variables are nearest to given ones (nodes, names), in the sense of least squares.

        Only what no power of the duration divides is looked at: of a spline its values, not its derivatives.
        """
        from scipy import sparse
        from scipy.sparse.linalg import spsolve

        x = np.full(len(self.variable_names), duration)
        columns = np.delete(np.arange(len(x)), self.duration_column) if self.duration_column >= 0 else np.arange(len(x))
        plain = self.orders == 0
        plain[[self.column(TIME), self.column(DURATION)]] = False
        rows = np.flatnonzero(np.tile(plain, len(self.fractions)))
        part = self.matrix[rows][:, columns]
        right = (values - self.offset).ravel()[rows]
        x[columns] = spsolve(sparse.csc_matrix(part.T @ part), part.T @ right)
        return x


def common_columns(
    nodes: int, offset: FloatArray, fractions: FloatArray, first: int, start_time: float, column: int, duration: float
) -> tuple[list[IntArray], list[IntArray], list[FloatArray]]:
    """Entries of `time` (column `first` of v) and `duration` (the next one), or their offsets where T is a number."""
    width = offset.shape[1]
    n = np.arange(nodes, dtype=np.int64)
    offset[:, first] = start_time
    if column < 0:
        offset[:, first] += fractions * duration
        offset[:, first + 1] = duration
        return [], [], []
    full = np.full(nodes, column, dtype=np.int64)
    return [n * width + first, n * width + first + 1], [full, full], [fractions.copy(), np.ones(nodes)]


def names_of_nodes(name: str, nodes: Sequence[int] | IntArray) -> list[str]:
    """`knee/value[3]`."""
    return [f"{name}[{k}]" for k in nodes]
