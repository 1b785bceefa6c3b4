"""What is asked of nodes: linear combinations, over nodes, of what node functions give there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.trajectory.node_function import NodeFunction


@dataclass(frozen=True, eq=False)
class Piece:
    """T^power A y: rows of a matrix over nodes, times outputs of a node function."""

    function: NodeFunction
    outputs: IntArray  # (outputs,) which of the function
    nodes: IntArray  # (entries,) of A
    rows: IntArray  # (entries,)
    coefficients: FloatArray  # (entries,)
    power: int = 0  # of the duration


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Rows lower <= sum of pieces <= upper, as many for every output; all pieces have as many outputs."""

    names: Sequence[Sequence[str]]  # (rows, outputs)
    lower: FloatArray  # (rows, outputs)
    upper: FloatArray  # (rows, outputs)
    stages: IntArray  # (rows,)
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class GoalPiece:
    """T^power sum over nodes and outputs of factors times y, or y^2."""

    name: str
    function: NodeFunction
    nodes: IntArray  # (nodes,)
    factors: FloatArray  # (nodes, outputs of the function)
    power: int
    squared: bool


class Selected:
    """Some variables of a node, as a node function."""

    def __init__(self, names: Sequence[str]) -> None:
        self.inputs = self.outputs = tuple(names)
        k = np.arange(len(self.inputs), dtype=np.int64)
        self.pattern = (k, k)
        self.curvature_pattern = (k[:0], k[:0])

    def values(self, variables: FloatArray) -> FloatArray:
        """The variables."""
        return variables

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ones."""
        return variables, np.ones_like(variables)

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """None: they are lines."""
        return np.zeros((len(variables), 0))
