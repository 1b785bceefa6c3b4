"""Controls that are straight lines over each interval of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from musculo.errors import InvalidInput
from musculo.trajectory.problem.selection import matching
from musculo.trajectory.transcription.discretization import Discretization
from musculo.trajectory.transcription.row_blocks import Piece, RowBlock

_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class StraightControls:
    """The control in the middle of every interval is the mean of those at its ends.

    For `HermiteSimpson`, whose midpoints have controls of their own, which may swing where they count little. Moco's
    solver does so by default (`interpolate_control_midpoints`).

    Args:
        names: of controls, by (patterns of) names.
    """

    names: str | Sequence[str]

    def blocks(self, d: Discretization) -> list[RowBlock]:
        """Of a discretization."""
        middle = np.arange(1, len(d.fractions) - 1, 2)
        ends = 0.5 * (d.fractions[middle - 1] + d.fractions[middle + 1])
        if len(d.fractions) % 2 == 0 or np.abs(d.fractions[middle] - ends).max(initial=0.0) > _SAME:
            raise InvalidInput("StraightControls: these nodes have no midpoints; use it with HermiteSimpson")
        names = matching(self.names, d.names, "control")
        columns = np.array([d.column(name) for name in names])
        nodes = np.concatenate([middle, middle - 1, middle + 1])
        rows = np.tile(np.arange(len(middle)), 3)
        factors = np.repeat([1.0, -0.5, -0.5], len(middle))
        zero = np.zeros((len(middle), len(names)))
        labels = [[f"{name} on a straight line[{k}]" for name in names] for k in middle]
        piece = Piece(d.variables, columns, nodes, rows, factors)
        return [RowBlock(labels, zero, zero, d.stages[middle - 1], (piece,))]
