"""A user's own node function: a Python function of arrays over nodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput

# Of the complex step: so small that nothing is lost but what rounding loses anyway.
_STEP = 1e-30
# Of the real difference of complex steps: its error is the square of it and rounding divided by it.
_SECOND_STEP = 1e-5
# Of differences that slopes are compared with, relative to the larger of 1 and the variable; the last one to the
# variable alone. One of these suits any slope, however steep or noisy.
_TRIED_STEPS = (1e-3, 1e-5, 1e-7, 1e-9, 1e-4)
# Slopes that are off by less, relative to the larger one, may be differences' own errors; of a function that is not
# analytic they are mostly zero where they should not be, or twice what they should be.
_SAME_SLOPE = 0.01
# A slope is none that is so much smaller than those around it: there rounding is all that differences see.
_NO_SLOPE = 1e-3
# At fewer of the points a pole or a bend narrower than all steps may be what is seen.
_SHARE = 0.1
# Rounding of a function's values, in units of the last place of its terms.
_ROUNDING = 256 * np.finfo(float).eps


class Formula:
    """A node function from a Python function.

    The function is called with one array (nodes,) for each input, and returns an array for each output, in a tuple
    where there are several. Slopes are exact to rounding by complex steps: arrays are then complex, so the function
    must be analytic (`np.sin`, `**`, `np.sqrt`, `np.where` with conditions on `.real`; no `abs`, `max` or `hypot`,
    which `Problem.solve` refuses). All nodes are evaluated at once, so an iteration of a solver calls it once for each
    input.

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
            for o in range(len(self.outputs)):
                for i in range(len(self.inputs)):
                    try:
                        found[:, o, i] = given[o][i]
                    except (TypeError, ValueError, IndexError) as error:
                        raise InvalidInput(
                            f"{self!r}: slopes[{o}][{i}], of {self.outputs[o]!r} by {self.inputs[i]!r}, is no array "
                            f"of {nodes} nodes and no number; slopes returns {len(self.outputs)} sequences (outputs) "
                            f"of {len(self.inputs)} of these (inputs)"
                        ) from error
        else:
            moved = variables.astype(complex)
            for i in range(len(self.inputs)):
                moved[:, i] += 1j * _STEP
                found[:, :, i] = self._called(moved).imag / _STEP
                moved[:, i] = variables[:, i]
        return self.values(variables), found.reshape(nodes, -1)

    def check_slopes(self, variables: FloatArray) -> None:
        """An error where slopes are not those of the values: of a function that is not analytic complex steps are not.

        Slopes dy/dv must agree with a difference from the left, from the right or of both, for one step at least,
        but for a few points. Steep slopes, kinks and limits of the domain (values that are not finite) thus pass.

        Args:
            variables: (nodes, inputs) points to look at.
        """
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            y, found = self.slopes(variables)
            found = found.reshape(len(variables), len(self.outputs), len(self.inputs))
            terms = np.abs(y) + np.abs(found * variables[:, None, :]).sum(axis=2)
            for i, name in enumerate(self.inputs):
                slope, agrees, size = found[:, :, i], np.zeros(y.shape, dtype=bool), np.abs(variables[:, i])
                sizes = [np.maximum(1.0, size)] * (len(_TRIED_STEPS) - 1) + [np.maximum(1e-12, size)]
                noise, first = np.zeros(y.shape), slope
                for k, step in enumerate(step * one for step, one in zip(_TRIED_STEPS, sizes, strict=True)):
                    rises: list[FloatArray] = []
                    for moved in (variables.copy(), variables.copy()):
                        moved[:, i] += step if not rises else -step
                        rises.append((self.values(moved) - y) / (moved[:, i] - variables[:, i])[:, None])
                    central = (rises[0] + rises[1]) / 2.0
                    if k == 0:
                        first = central
                        around = np.nan_to_num(np.abs(rises).max(axis=0), nan=0.0, posinf=0.0)
                        noise = _ROUNDING * terms / step[:, None] + _NO_SLOPE * around
                    for one in (*rises, central):
                        enough = _SAME_SLOPE * np.maximum(np.abs(one), np.abs(slope)) + noise
                        agrees |= ~(np.abs(one - slope) > enough)  # what is not finite is not looked at
                if (~agrees).mean(axis=0).max() >= _SHARE:
                    off = np.where(agrees, -1.0, np.nan_to_num(np.abs(first - slope)))
                    node, output = np.unravel_index(int(np.argmax(off)), off.shape)
                    how = (
                        "complex steps, by which slopes are found, need an analytic function: in place of abs, sign, "
                        "max or conversions to float use np.where with conditions on .real, or np.sqrt(x**2 + 1e-6); "
                        "or give slopes="
                        if self._given is None
                        else "give slopes= that are those of the function"
                    )
                    raise InvalidInput(
                        f"{self!r}: the slope of {self.outputs[output]!r} by {name!r} at "
                        f"{variables[node, i]:.6g} is {slope[node, output]:.6g}, but the values rise by "
                        f"{first[node, output]:.6g}; {how}"
                    )

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
        try:
            given = self.function(*variables.T)
        except TypeError as error:
            if not np.iscomplexobj(variables):
                raise
            raise InvalidInput(
                f"{self!r}: the function does not take complex arrays, which give its slopes ({error}); use functions "
                "that do, or give slopes="
            ) from error
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
