"""The functions of a program as a solver calls them: each evaluated once at each point, timed and checked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.trajectory.solvers.nonlinear_program import NonlinearProgram


class NotFinite(ArithmeticError):
    """A function of the program is nan or infinite; the message names what."""


class Evaluations:
    """Values and slopes of a program, remembered for the last point."""

    def __init__(self, program: NonlinearProgram) -> None:
        self.program = program
        self.counts: Counter[str] = Counter()
        self.wall = 0.0
        self.cpu = 0.0
        self.not_finite = ""  # the last thing that was not finite
        self._x: FloatArray | None = None
        self._known: dict[str, FloatArray] = {}

    def objective(self, x: FloatArray) -> float:
        """f(x)."""
        return float(
            self._at(x, "objective", lambda x: np.atleast_1d(self.program.objective(x)), self._name_nothing)[0]
        )

    def gradient(self, x: FloatArray) -> FloatArray:
        """df/dx."""
        return self._at(x, "gradient", self.program.gradient, self._name_variable)

    def rows(self, x: FloatArray) -> FloatArray:
        """g(x)."""
        return self._at(x, "rows", self.program.rows, self._name_row)

    def jacobian(self, x: FloatArray) -> FloatArray:
        """dg/dx."""
        return self._at(x, "jacobian", self.program.jacobian, self._name_slope)

    def hessian(self, x: FloatArray, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        """Of the Lagrangian; never remembered."""
        values = self._timed("hessian", lambda: self.program.hessian(x, objective_factor, multipliers))
        return self._checked("hessian", x, values, self._name_curvature)

    def _at(
        self, x: FloatArray, name: str, function: Callable[[FloatArray], FloatArray], where: Callable[[int], str]
    ) -> FloatArray:
        if self._x is None or not np.array_equal(x, self._x):
            self._x, self._known = x.copy(), {}
            self._x.setflags(write=False)
        if name not in self._known:
            at = self._x
            self._known[name] = np.asarray(self._timed(name, lambda: function(at)), dtype=float)
        return self._checked(name, x, self._known[name], where)

    def _timed(self, name: str, call: Callable[[], FloatArray]) -> FloatArray:
        self.counts[name] += 1
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return call()
        finally:
            self.wall += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu

    def _checked(self, name: str, x: FloatArray, values: FloatArray, where: Callable[[int], str]) -> FloatArray:
        if np.isfinite(values.sum()):  # a sum is cheap, and finite only where all terms are
            return values
        bad = np.flatnonzero(~np.isfinite(values))
        if not bad.size:
            return values  # the sum alone overflows
        first = where(int(bad[0]))
        more = f" and {bad.size - 1} more" if bad.size > 1 else ""
        at = np.flatnonzero(~np.isfinite(x))
        because = f"; {self.program.variable_names[at[0]]} is {x[at[0]]}" if at.size else ""
        self.not_finite = f"the {name} has {values[bad[0]]}{first}{more}{because}"
        raise NotFinite(self.not_finite)

    def _name_nothing(self, index: int) -> str:
        return ""

    def _name_variable(self, index: int) -> str:
        return f" by variable {self.program.variable_names[index]}"

    def _name_row(self, index: int) -> str:
        return f" in row {self.program.row_names[index]}"

    def _name_slope(self, index: int) -> str:
        rows, columns = self.program.jacobian_pattern
        return self._name_row(rows[index]) + self._name_variable(columns[index])

    def _name_curvature(self, index: int) -> str:
        rows, columns = self.program.hessian_pattern or _NO_PATTERN
        names = self.program.variable_names
        return f" by variables {names[rows[index]]} and {names[columns[index]]}"


_NO_PATTERN: tuple[IntArray, IntArray] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
