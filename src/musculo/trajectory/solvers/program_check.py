"""Whether a nonlinear program and a start for it fit together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.trajectory.solvers.nonlinear_program import NonlinearProgram


def checked_start(program: NonlinearProgram, start: ArrayLike) -> FloatArray:
    """(variables,) a copy of the start; an error names what is wrong with it or with the program."""
    n, m = len(program.variable_names), len(program.row_names)
    if n == 0:
        raise InvalidInput("the program has no variables")
    sizes = {"lower": n, "upper": n, "row_lower": m, "row_upper": m}
    for name, size in sizes.items():
        if np.shape(getattr(program, name)) != (size,):
            raise InvalidInput(f"{name} of the program has shape {np.shape(getattr(program, name))}, not ({size},)")
    for names, low, high in (
        (program.variable_names, program.lower, program.upper),
        (program.row_names, program.row_lower, program.row_upper),
    ):
        wrong = np.flatnonzero(~(np.asarray(low) <= np.asarray(high)))
        if wrong.size:
            k = int(wrong[0])
            raise InvalidInput(f"{names[k]}: its lower limit {low[k]} is not below its upper limit {high[k]}")
    rows, columns = (np.asarray(one) for one in program.jacobian_pattern)
    if len(rows) and not (0 <= rows.min() <= rows.max() < m and 0 <= columns.min() <= columns.max() < n):
        raise InvalidInput(f"the Jacobian's pattern has entries outside its {m} rows and {n} variables")
    x = np.array(start, dtype=float)
    if x.shape != (n,):
        raise InvalidInput(f"start has shape {x.shape}; the program has {n} variables")
    bad = np.flatnonzero(~np.isfinite(x))
    if bad.size:
        raise InvalidInput(f"start is {x[bad[0]]} in {program.variable_names[bad[0]]}")
    return x
