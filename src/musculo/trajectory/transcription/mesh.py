"""What a transcription is: a choice of nodes, and of what the motion does between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.trajectory.transcription.discretization import Discretization, Signal


class Transcription(Protocol):
    """A way to write functions of time with finitely many numbers."""

    rates_are_variables: ClassVar[bool]  # whether every rate of a state is a variable of the nodes

    def discretize(
        self,
        signals: Sequence[Signal],
        duration: tuple[float, float],
        start_time: float = 0.0,
        at: Sequence[float] = (),
    ) -> Discretization:
        """The variables of a program and of its nodes.

        Args:
            signals: states, controls and parameters.
            duration: between these bounds; a number where they are equal [s].
            start_time: [s].
            at: fractions of the duration at which there must be a node.
        """

    def between(
        self, discretization: Discretization, x: FloatArray, fractions: FloatArray, rates: FloatArray
    ) -> FloatArray:
        """(points, names) variables at any fractions (points,) of the duration.

        Args:
            discretization: that x belongs to.
            x: a point of the program.
            fractions: of the duration.
            rates: (nodes, names) of the states at the nodes; of others they mean nothing.
        """


def mesh_of(intervals: int | ArrayLike, at: Sequence[float] = ()) -> FloatArray:
    """(intervals + 1,) fractions of the duration, from 0 to 1, with those in `at` among them.

    Args:
        intervals: how many of equal length, or the fractions at their ends.
        at: fractions that must be there.
    """
    if isinstance(intervals, int | np.integer):
        if intervals < 1:
            raise InvalidInput(f"intervals={intervals}; a mesh has at least one interval")
        mesh = np.linspace(0.0, 1.0, int(intervals) + 1)
    else:
        mesh = np.array(intervals, dtype=float)
        if mesh.ndim != 1 or len(mesh) < 2 or mesh[0] != 0.0 or mesh[-1] != 1.0 or not (np.diff(mesh) > 0).all():
            raise InvalidInput("intervals: fractions of the duration must increase from 0 to 1, such as (0, 0.3, 1)")
    for one in at:
        if not 0.0 <= one <= 1.0:
            raise InvalidInput(f"{one:g} is no fraction of the duration; it must be between 0 (start) and 1 (end)")
        if np.abs(mesh - one).min() > 1e-9:
            mesh = np.sort(np.append(mesh, one))
    return mesh
