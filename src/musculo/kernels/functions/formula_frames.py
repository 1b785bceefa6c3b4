"""Formulas over all frames: values of many expressions, each with variables of its own."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver
from musculo.kernels.functions.formula_programs import run_program


@driver
def expression_frames(programs, variables, value, start, stop):
    """Frames start .. stop - 1: value (frames, formulas) of variables (frames, formulas, n)."""
    stack = np.zeros((programs.depth, 1))
    x = np.zeros((variables.shape[2], 1))
    for f in range(start, stop):
        for i in range(value.shape[1]):
            for k in range(variables.shape[2]):
                x[k, 0] = variables[f, i, k]
            value[f, i] = run_program(programs, i, x, stack, 0)
