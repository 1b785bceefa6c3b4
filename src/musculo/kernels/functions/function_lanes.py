"""Functions of a coordinate for every kind of lane: the eight lanes of a pack sit in different pieces of a spline."""

from __future__ import annotations

from musculo.kernels.compiler.overloads import is_pack, overload
from musculo.kernels.compiler.parts import inline, kernel, spliced
from musculo.kernels.functions.function_values import FOURIER, PIECEWISE_POLYNOMIAL, evaluate
from musculo.kernels.scalar.choices import at_most, entry_of, less, row_of, where
from musculo.kernels.scalar.packed import WIDTH, lane_of, with_lane
from musculo.kernels.scalar.scalars import like, sincos

# Up to so many breakpoints are passed one after the other, all lanes at once; beyond, each lane halves its own range.
_PASSED = 48


def evaluate_function(table, i, x):
    """(f, f', f'') of function i of the table, of one argument or constant, at x."""
    f, f1, f2, _ = evaluate(table, i, x)
    return f, f1, f2


@kernel
def _lane_by_lane(table, i, x):
    f, f1, f2 = x, x, x
    for k in range(WIDTH):
        g, g1, g2, _ = evaluate(table, i, lane_of(x, k))
        f, f1, f2 = with_lane(f, k, g), with_lane(f1, k, g1), with_lane(f2, k, g2)
    return f, f1, f2


@inline
def _polynomial(data, start, degree, x):
    f, f1, f2 = like(x, data[start]), like(x, 0.0), like(x, 0.0)
    for k in range(1, degree + 1):
        f2 = f2 * x + f1
        f1 = f1 * x + f
        f = f * x + data[start + k]
    return f, f1, 2.0 * f2


@inline
def _piecewise_polynomial(data, start, n_breaks, degree, x):
    piece, left, passes = like(x, 0.0), like(x, entry_of(data, start)), 0.0
    for k in range(n_breaks - 1):
        passes += 1.0
        knot = entry_of(data, start + k)
        passed = at_most(knot, x)
        piece, left = where(passed, passes, piece), where(passed, knot, left)
    # a spline's last knot is still the spline, not its continuation
    last = entry_of(data, start + n_breaks - 1)
    beyond = less(last, x)
    piece, left = where(beyond, passes + 1.0, piece), where(beyond, last, left)
    t = x - left
    row = piece * float(degree + 1) + float(start + n_breaks)
    if degree == 3:
        a, b, c, d, _, _, _, _ = row_of(data, row)
        slope = a * t
        f1 = slope + b
        f2 = slope + f1
        f = f1 * t + c
        return f * t + d, f2 * t + f, 2.0 * (slope + f2)
    f, f1, f2 = entry_of(data, row), like(x, 0.0), like(x, 0.0)
    for _ in range(degree):
        row = row + 1.0
        f2 = f2 * t + f1
        f1 = f1 * t + f
        f = f * t + entry_of(data, row)
    return f, f1, 2.0 * f2


@kernel
def _fourier(data, start, count, x):
    omega = data[start + 1]
    f, f1, f2 = like(x, data[start]), like(x, 0.0), like(x, 0.0)
    for k in range(count):
        frequency = (k + 1) * omega
        a, b = data[start + 2 + 2 * k], data[start + 3 + 2 * k]
        s, c = sincos(frequency * x)
        wave = a * c + b * s
        f = f + wave
        f1 = f1 + frequency * (b * c - a * s)
        f2 = f2 - frequency * frequency * wave
    return f, f1, f2


@spliced
def _pack_evaluate(table, i, x):
    """As `evaluate`, eight arguments at once.

    What is called takes the numbers of its function, not the table: a call hands over every array of a table one by
    one, which takes longer than a spline.
    """
    kind, start, count, scale = table.kinds[i], table.data_offsets[i], table.counts[i], table.scales[i]
    if kind == PIECEWISE_POLYNOMIAL and count == 0:
        f, f1, f2 = _polynomial(table.data, start, table.degrees[i], x)
    elif kind == PIECEWISE_POLYNOMIAL and count <= _PASSED:
        f, f1, f2 = _piecewise_polynomial(table.data, start, count, table.degrees[i], x)
    elif kind == FOURIER:
        f, f1, f2 = _fourier(table.data, start, count, x)
    else:
        f, f1, f2 = _lane_by_lane(table, i, x)
        scale = 1.0
    return scale * f, scale * f1, scale * f2


@kernel
def _scalar_evaluate(table, i, x):
    f, f1, f2, _ = evaluate(table, i, x)
    return f, f1, f2


@overload(evaluate_function, inline="always")
def _evaluate_function(table, i, x):
    if is_pack(x):

        def packs(table, i, x):
            return _pack_evaluate(table, i, x)

        return packs
    return lambda table, i, x: _scalar_evaluate(table, i, x)
