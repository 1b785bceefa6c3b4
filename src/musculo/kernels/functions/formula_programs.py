"""Formulas of a model as data: programs for a stack machine, so that no formula becomes code."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import kernel

# What a step of a program does. NUMBER and VARIABLE push; the others take one or two from the top and push one.
NUMBER, VARIABLE, ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, LEAST, GREATEST, NEGATE, SQRT, EXP, LOG = range(13)
SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH, ERF, ERFC, STEP, DELTA, ABS, FLOOR, CEIL = range(13, 29)


class Programs(NamedTuple):
    """Formulas one after the other; formula i is the steps first[i] .. first[i + 1] - 1."""

    first: NDArray[np.int64]  # (formulas + 1,)
    steps: NDArray[np.int64]  # (steps,)
    numbers: NDArray[np.float64]  # (steps,) of a NUMBER, its value; of a VARIABLE, which
    depth: int  # entries of the stack that the deepest formula needs


@kernel
def _two(step, a, b):
    if step == ADD:
        x = a + b
    elif step == SUBTRACT:
        x = a - b
    elif step == MULTIPLY:
        x = a * b
    elif step == DIVIDE:
        x = a / b
    elif step == POWER:
        x = a**b
    elif step == LEAST:
        x = min(a, b)
    else:
        x = max(a, b)
    return x


@kernel
def _one(step, a):
    # two halves, since a chain of thirty branches takes long to compile
    return _smooth(step, a) if step <= ATAN else _other(step, a)


@kernel
def _smooth(step, a):
    if step == NEGATE:
        x = -a
    elif step == SQRT:
        x = math.sqrt(a) if a >= 0.0 else math.nan
    elif step == EXP:
        x = math.exp(a)
    elif step == LOG:
        x = math.log(a) if a > 0.0 else (-math.inf if a == 0.0 else math.nan)
    elif step == SIN:
        x = math.sin(a)
    elif step == COS:
        x = math.cos(a)
    elif step == TAN:
        x = math.tan(a)
    elif step == ASIN:
        x = math.asin(a) if math.fabs(a) <= 1.0 else math.nan
    elif step == ACOS:
        x = math.acos(a) if math.fabs(a) <= 1.0 else math.nan
    else:
        x = math.atan(a)
    return x


@kernel
def _other(step, a):
    if step == SINH:
        x = math.sinh(a)
    elif step == COSH:
        x = math.cosh(a)
    elif step == TANH:
        x = math.tanh(a)
    elif step == ERF:
        x = math.erf(a)
    elif step == ERFC:
        x = math.erfc(a)
    elif step == STEP:
        x = 1.0 if a >= 0.0 else 0.0
    elif step == DELTA:
        x = 1.0 if a == 0.0 else 0.0
    elif step == ABS:
        x = math.fabs(a)
    elif step == FLOOR:
        x = float(math.floor(a))
    else:
        x = float(math.ceil(a))
    return x


@kernel
def run_program(programs, i, variables, stack, lane):
    """The value of formula i; variables (n, lanes), stack (depth, lanes) scratch."""
    top = -1
    for k in range(programs.first[i], programs.first[i + 1]):
        step = programs.steps[k]
        if step == NUMBER:
            top += 1
            stack[top, lane] = programs.numbers[k]
        elif step == VARIABLE:
            top += 1
            stack[top, lane] = variables[int(programs.numbers[k]), lane]
        elif step <= GREATEST:
            top -= 1
            stack[top, lane] = _two(step, stack[top, lane], stack[top + 1, lane])
        else:
            stack[top, lane] = _one(step, stack[top, lane])
    return stack[0, lane]
