"""A user's own node function: a Python function of arrays over nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput

# Of the complex step: so small that nothing is lost but what rounding loses anyway.
_STEP = 1e-30
# Of the real difference of complex steps: its error is the square of it and rounding divided by it.
_SECOND_STEP = 1e-5


class Formula:
    """A node function from a Python function.

    The function is called with one array (nodes,) for each input, and returns an array for each output, in a tuple
    where there are several. Slopes are exact to rounding by complex steps: arrays are then complex, so the function
    must be analytic (`np.sin`, `**`, `np.sqrt`, `np.where` with conditions on `.real`; no `abs`, `max` or `hypot`). All
    nodes are evaluated at once, so an iteration of a solver calls it once for each input.

    Args:
        function: of arrays (nodes,).
        inputs: names of the variables, in the order of its arguments.
        outputs: names of what it returns; a rate of a state is named as that.
        slopes: returns dy/dv instead, a sequence (outputs) of sequences (inputs) of arrays or numbers.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: str | Sequence[str],
        outputs: str | Sequence[str],
        *,
        slopes: Callable[..., Any] | None = None,
    ) -> None:
        self.function, self._given = function, slopes
        self.inputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        rows, columns = np.indices((len(self.outputs), len(self.inputs)))
        self.pattern: tuple[IntArray, IntArray] = (rows.ravel(), columns.ravel())
        self.curvature_pattern: tuple[IntArray, IntArray] = np.tril_indices(len(self.inputs))

    def __repr__(self) -> str:
        return f"Formula({', '.join(self.inputs)} -> {', '.join(self.outputs)})"

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, outputs)."""
        return np.asarray(self._called(variables), dtype=float)

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, outputs) and (nodes, outputs * inputs)."""
        nodes = len(variables)
        found = np.empty((nodes, len(self.outputs), len(self.inputs)))
        if self._given is not None:
            given = self._given(*variables.T)
            for o, row in enumerate(given):
                for i, one in enumerate(row):
                    found[:, o, i] = one
        else:
            moved = variables.astype(complex)
            for i in range(len(self.inputs)):
                moved[:, i] += 1j * _STEP
                found[:, :, i] = self._called(moved).imag / _STEP
                moved[:, i] = variables[:, i]
        return self.values(variables), found.reshape(nodes, -1)

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries) by real differences of complex steps, to about ten digits."""
        rows, columns = self.curvature_pattern
        found = np.empty((len(variables), len(rows)))
        steps = _SECOND_STEP * np.maximum(1.0, np.abs(variables))
        for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
            sides = []
            for sign in (1.0, -1.0):
                moved = variables.astype(complex)
                moved[:, j] += sign * steps[:, j]
                moved[:, i] += 1j * _STEP
                sides.append(self._called(moved).imag / _STEP)
            found[:, k] = ((sides[0] - sides[1]) * multipliers).sum(axis=1) / (2.0 * steps[:, j])
        return found

    def _called(self, variables: Any) -> Any:
        given = self.function(*variables.T)
        parts = given if isinstance(given, tuple | list) else (given,)
        if len(parts) != len(self.outputs):
            raise InvalidInput(f"{self!r}: the function returns {len(parts)} arrays for {len(self.outputs)} outputs")
        found = np.empty((len(variables), len(self.outputs)), dtype=variables.dtype)
        for k, part in enumerate(parts):
            if np.shape(part) not in ((), (len(variables),)):
                raise InvalidInput(
                    f"{self!r}: {self.outputs[k]} has shape {np.shape(part)}; it needs one number for each of "
                    f"{len(variables)} nodes"
                )
            found[:, k] = part
        return found
