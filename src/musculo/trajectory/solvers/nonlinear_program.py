"""What a solver asks of a nonlinear program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from musculo.arrays import FloatArray, IntArray


class NonlinearProgram(Protocol):
    """min f(x) where lower <= x <= upper and row_lower <= g(x) <= row_upper.

    A bound that is not there is infinite. Patterns never change. Entries of the Jacobian stand once each.
    """

    variable_names: Sequence[str]  # (variables,) such as `knee_angle_r/value[3]`
    row_names: Sequence[str]  # (rows,) such as `knee_angle_r/moment[3]`
    lower: FloatArray  # (variables,)
    upper: FloatArray  # (variables,)
    row_lower: FloatArray  # (rows,)
    row_upper: FloatArray  # (rows,)
    jacobian_pattern: tuple[IntArray, IntArray]  # rows and columns of dg/dx
    # Which stage of time each variable and row belongs to, for solvers that eliminate stage by stage: a row of stage k
    # has variables of stages k and k + 1 only, beside those of stage -1, which belong to the whole motion (parameters,
    # total time; rows of stage -1 may have any variables). None where there are no stages.
    variable_stages: IntArray | None
    row_stages: IntArray | None
    # Lower triangle of the Hessian of the Lagrangian; None where it is not known, and solvers approximate it.
    hessian_pattern: tuple[IntArray, IntArray] | None

    def objective(self, x: FloatArray) -> float:
        """f(x)."""

    def gradient(self, x: FloatArray) -> FloatArray:
        """(variables,) df/dx."""

    def rows(self, x: FloatArray) -> FloatArray:
        """(rows,) g(x)."""

    def jacobian(self, x: FloatArray) -> FloatArray:
        """(entries,) dg/dx in the order of `jacobian_pattern`."""

    def hessian(self, x: FloatArray, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        """(entries,) of objective_factor d2f + sum of multipliers d2g, in the order of `hessian_pattern`."""


class Scaling(NamedTuple):
    """What a solver multiplies by, so that numbers that it sees are of order 1. Results are in the program's units."""

    variables: FloatArray  # (variables,)
    rows: FloatArray  # (rows,)
    objective: float


class ScaledProgram(NonlinearProgram, Protocol):
    """A program that knows its scales."""

    def scaling(self, x: FloatArray) -> Scaling:
        """For a search that starts at x."""
