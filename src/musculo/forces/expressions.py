"""Formulas of forces, many at a time."""

from __future__ import annotations

from collections.abc import Sequence

from musculo.errors import InvalidModel, MusculoError
from musculo.forces.stated_forces import described
from musculo.functions.formula import compile_expressions
from musculo.kernels.functions.formula_programs import Programs
from musculo.model.force import Force


def programs_of(formulas: Sequence[tuple[Force, str]], variables: Sequence[str]) -> Programs:
    """Formulas of the same variables, each of a force.

    Raises:
        InvalidModel: one that cannot be read; names the force.
    """
    for force, formula in formulas:
        try:
            compile_expressions([formula], variables)
        except MusculoError as error:
            raise InvalidModel(f"{described(force)}: {error}") from None
    return compile_expressions([formula for _, formula in formulas], variables)
