"""Curves of one argument in a flat table: polynomials over equal steps, and splines over given knots.

A curve is known by where it starts in the table.
"""

from __future__ import annotations

from musculo.kernels.jit import kernel

# A stepped curve: how many sections, a straight line left of it and one right of it, then a directory of sections and
# the polynomials they point to.
SECTIONS = 0
LEFT_X = 1
LEFT_Y = 2
LEFT_SLOPE = 3
RIGHT_X = 4
RIGHT_Y = 5
RIGHT_SLOPE = 6
HEAD = 7
# The entry of a section: where it begins, steps per unit of x, how many steps, where its polynomials begin, counted
# from the start of the curve. The polynomial of a step is of -1 at its beginning to 1 at its end, highest power first.
START_X = 0
RATE = 1
COUNT = 2
FIRST = 3
ENTRY = 4
DEGREE = 7
ROW = DEGREE + 1

# A spline: how many knots, the degree, then as piecewise polynomials in `musculo.functions.table.FunctionTable`.
BREAKS = 0
SPLINE_DEGREE = 1
SPLINE_HEAD = 2


@kernel
def stepped(c, start, x):
    """(y, dy/dx) at x of a stepped curve."""
    if x.real <= c[start + LEFT_X]:
        slope = c[start + LEFT_SLOPE]
        return c[start + LEFT_Y] + slope * (x - c[start + LEFT_X]), slope + 0.0 * x
    if x.real >= c[start + RIGHT_X]:
        slope = c[start + RIGHT_SLOPE]
        return c[start + RIGHT_Y] + slope * (x - c[start + RIGHT_X]), slope + 0.0 * x
    k = start + HEAD
    last = k + ENTRY * (int(c[start + SECTIONS]) - 1)
    while k < last and x.real >= c[k + ENTRY + START_X]:
        k += ENTRY
    rate = c[k + RATE]
    place = (x - c[k + START_X]) * rate
    step = min(max(int(place.real), 0), int(c[k + COUNT]) - 1)
    t = 2.0 * (place - step) - 1.0
    row = start + int(c[k + FIRST]) + ROW * step
    y, slope = c[row] * t + c[row + 1], c[row] + 0.0 * t
    for n in range(2, ROW):
        slope = slope * t + y
        y = y * t + c[row + n]
    return y, 2.0 * slope * rate


@kernel
def spline(c, start, x):
    """(y, dy/dx) at x of a spline; a knot belongs to its right, the last one to its left."""
    n_breaks, degree = int(c[start + BREAKS]), int(c[start + SPLINE_DEGREE])
    first = start + SPLINE_HEAD
    low, high = 0, n_breaks
    while low < high:
        middle = (low + high) // 2
        if x.real < c[first + middle]:
            high = middle
        else:
            low = middle + 1
    if n_breaks > 0 and low == n_breaks and not x.real > c[first + n_breaks - 1]:
        low = n_breaks - 1
    t = x - c[first + max(low - 1, 0)] if n_breaks > 0 else 1.0 * x
    row = first + n_breaks + low * (degree + 1)
    y, slope = c[row] + 0.0 * x, 0.0 * x
    for k in range(1, degree + 1):
        slope = slope * t + y
        y = y * t + c[row + k]
    return y, slope
