"""Formulas of forces, many at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel, MusculoError
from musculo.forces.stated_forces import described
from musculo.functions.formula import compile_expressions
from musculo.kernels.functions.formula_frames import expression_frames
from musculo.model.force import Force


class Expressions:
    """Formulas of the same variables, each of a force.

    Raises:
        InvalidModel: one that cannot be read; names the force.
    """

    def __init__(self, formulas: Sequence[tuple[Force, str]], variables: Sequence[str]) -> None:
        for force, formula in formulas:
            try:
                compile_expressions([formula], variables)
            except MusculoError as error:
                raise InvalidModel(f"{described(force)}: {error}") from None
        self._count = len(formulas)
        self._programs = compile_expressions([formula for _, formula in formulas], variables)

    def __call__(self, variables: FloatArray) -> FloatArray:
        """(frames, formulas) of variables (frames, formulas, n)."""
        value = np.empty((len(variables), self._count))
        expression_frames(self._programs, np.ascontiguousarray(variables), value, 0, len(variables))
        return value
