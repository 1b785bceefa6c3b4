"""A motion in finitely many numbers: the variables of a program, and those of every node, which follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

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


@dataclass
class Variables:
    """The variables of a program as they are listed, and the entries that make variables of nodes of them.

    Args:
        over_time: signals that are no parameters, the first columns of a node.
        parameters: the columns after them; time and duration are the last two.
        fractions: (nodes,) of the duration.
        duration: its bounds; a number where they are equal [s].
        start_time: [s].
    """

    over_time: Sequence[Signal]
    parameters: Sequence[Signal]
    fractions: FloatArray
    duration: tuple[float, float]
    start_time: float
    names: list[str] = field(default_factory=list)
    stages: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    _entries: list[tuple[Any, Any, Any]] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of a node's variables."""
        return (*(one.name for one in (*self.over_time, *self.parameters)), TIME, DURATION)

    def add(self, names: Sequence[str], stages: Sequence[int], scales: Sequence[float]) -> None:
        """More variables of the program."""
        self.names += names
        self.stages += stages
        self.scales += scales

    def enter(self, nodes: Any, column: Any, variables: Any, coefficients: Any) -> None:
        """Of v[nodes, column]: coefficients of variables of the program."""
        self._entries.append((nodes * len(self.columns) + column, variables, coefficients))

    def shared(self) -> dict[str, Any]:
        """What a discretization says of these, parameters, time and duration added."""
        nodes, free = len(self.fractions), self.duration[0] < self.duration[1]
        every, ones = np.arange(nodes), np.ones(nodes)
        for k, one in enumerate(self.parameters):
            self.enter(every, len(self.over_time) + k, np.full(nodes, len(self.names)), ones)
            self.add([one.name], [-1], [one.scale])
        offset = np.zeros((nodes, len(self.columns)))
        offset[:, -2] = self.start_time
        if free:
            last = np.full(nodes, len(self.names))
            self.enter(every, len(self.columns) - 2, last, self.fractions)
            self.enter(every, len(self.columns) - 1, last, ones)
            self.add([DURATION], [-1], [_duration_scale(self.duration)])
        else:
            offset[:, -2] += self.fractions * self.duration[0]
            offset[:, -1] = self.duration[0]
        place, variable, coefficient = (np.concatenate(one) for one in zip(*self._entries, strict=True))
        return {
            "signals": (*self.over_time, *self.parameters),
            "fractions": self.fractions,
            "names": self.columns,
            "offset": offset,
            "entries": (place.astype(np.int64), variable.astype(np.int64), coefficient.astype(float)),
            "variable_names": tuple(self.names),
            "variable_stages": np.array(self.stages, dtype=np.int64),
            "variable_scales": np.array(self.scales, dtype=float),
            "duration_column": len(self.names) - 1 if free else -1,
            "duration": np.nan if free else self.duration[0],
        }


def split(signals: Sequence[Signal]) -> tuple[list[Signal], list[Signal]]:
    """Those over time, and parameters."""
    over_time = [one for one in signals if one.kind != "parameter"]
    return over_time, [one for one in signals if one.kind == "parameter"]


def _duration_scale(duration: tuple[float, float]) -> float:
    """Of the duration as a variable: its size, or what it may vary by."""
    low, high = duration
    return float(np.clip(high - low, 1e-3, 1e3)) if np.isfinite(high) else max(low, 1.0)


def names_of_nodes(name: str, nodes: Sequence[int] | IntArray) -> list[str]:
    """`knee/value[3]`."""
    return [f"{name}[{k}]" for k in nodes]
