"""Functions of a coordinate for every kind of lane: the eight lanes of a pack sit in different pieces of a spline."""

from __future__ import annotations

from numba.extending import overload

from musculo.kernels.function_table import evaluate
from musculo.kernels.jit import kernel
from musculo.kernels.pack import WIDTH, PackType, lane_of, with_lane


def evaluate_function(table, i, x):
    """(f, f', f'') of function i of the table, of one argument or constant, at x."""
    f, f1, f2, _ = evaluate(table, i, x)
    return f, f1, f2


@kernel
def _pack_evaluate(table, i, x):
    f, f1, f2 = x, x, x
    for k in range(WIDTH):
        g, g1, g2, _ = evaluate(table, i, lane_of(x, k))
        f, f1, f2 = with_lane(f, k, g), with_lane(f1, k, g1), with_lane(f2, k, g2)
    return f, f1, f2


@kernel
def _scalar_evaluate(table, i, x):
    f, f1, f2, _ = evaluate(table, i, x)
    return f, f1, f2


@overload(evaluate_function)
def _evaluate_function(table, i, x):
    if isinstance(x, PackType):
        return lambda table, i, x: _pack_evaluate(table, i, x)
    return lambda table, i, x: _scalar_evaluate(table, i, x)
