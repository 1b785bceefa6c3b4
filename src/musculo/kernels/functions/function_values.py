"""Value and derivatives of the functions in a table (`FunctionTable` says how it is laid out).

Arguments are float64 or complex128: comparisons look at the real part and results keep the type of the argument.
`evaluate_multivariate`, which has no branch on its arguments, takes packs of lanes too.
"""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.scalars import like, sincos

PIECEWISE_POLYNOMIAL = 0
FOURIER = 1
MULTIVARIATE = 2


@kernel
def evaluate(table, i, x):
    """(f, f', f'', f''') of function i, of one argument or constant, at x; NaN for a function of several arguments."""
    kind = table.kinds[i]
    scale = table.scales[i]
    if kind == PIECEWISE_POLYNOMIAL:
        f, f1, f2, f3 = _piecewise_polynomial(table, i, x)
    elif kind == FOURIER:
        f, f1, f2, f3 = _fourier(table, i, x)
    else:
        f = x * np.nan
        f1, f2, f3 = f, f, f
    return scale * f, scale * f1, scale * f2, scale * f3


@kernel
def evaluate_many(table, i, x, rows, first, lane, out, row):
    """Function i of m = table.n_arguments[i] arguments x[rows[first + k], lane], k = 0 .. m - 1.

    Writes 1 + m + m m rows of `out` from `row` on: the value, the gradient (m), the Hessian (m, m) row by row.
    A constant (m = 0) reads no argument and writes its value alone: one row.
    """
    m = table.n_arguments[i]
    if table.kinds[i] == MULTIVARIATE:
        evaluate_multivariate(table, (i, m), x, rows, first, lane, out, row)
    elif m == 0:
        out[row, lane] = table.scales[i] * table.data[table.data_offsets[i]]
    else:
        f, f1, f2, _ = evaluate(table, i, x[rows[first], lane])
        out[row, lane] = f
        out[row + 1, lane] = f1
        out[row + 2, lane] = f2


@kernel
def evaluate_lanes(table, i, x, out):
    """Function i of one argument at every x (lanes,): f, f', f'', f''' into out (4, lanes)."""
    for lane in range(x.size):
        f, f1, f2, f3 = evaluate(table, i, x[lane])
        out[0, lane] = f
        out[1, lane] = f1
        out[2, lane] = f2
        out[3, lane] = f3


@kernel
def evaluate_many_lanes(table, i, x, rows, out):
    """Function i at every column of x (m, lanes): value, gradient, Hessian into out (1 + m + m m, lanes)."""
    for lane in range(x.shape[1]):
        evaluate_many(table, i, x, rows, 0, lane, out, 0)


@kernel
def _piecewise_polynomial(table, i, x):
    """Horner's scheme in the piece that holds x; a breakpoint belongs to its right, the last one to its left."""
    start = table.data_offsets[i]
    n_breaks = table.counts[i]
    degree = table.degrees[i]
    piece = 0
    t = x
    if n_breaks > 0:
        low = 0
        high = n_breaks
        while low < high:
            middle = (low + high) // 2
            if x.real < table.data[start + middle]:
                high = middle
            else:
                low = middle + 1
        # A spline's last knot is still the spline, not its continuation.
        if low == n_breaks and not x.real > table.data[start + n_breaks - 1]:
            low = n_breaks - 1
        piece = low
        t = x - table.data[start + max(piece - 1, 0)]
    row = start + n_breaks + piece * (degree + 1)
    # Taylor coefficients at t: f, f', f''/2, f'''/6.
    f, f1, f2, f3 = table.data[row], 0.0, 0.0, 0.0
    for k in range(1, degree + 1):
        f3 = f3 * t + f2
        f2 = f2 * t + f1
        f1 = f1 * t + f
        f = f * t + table.data[row + k]
    return f, f1, 2.0 * f2, 6.0 * f3


@kernel
def _fourier(table, i, x):
    """offset + sum_k a_k cos(k omega x) + b_k sin(k omega x), k = 1 .. count."""
    start = table.data_offsets[i]
    omega = table.data[start + 1]
    f, f1, f2, f3 = table.data[start], 0.0, 0.0, 0.0
    for k in range(table.counts[i]):
        frequency = (k + 1) * omega
        a = table.data[start + 2 + 2 * k]
        b = table.data[start + 3 + 2 * k]
        s, c = sincos(frequency * x)
        wave = a * c + b * s
        slope = frequency * (b * c - a * s)
        f = f + wave
        f1 = f1 + slope
        f2 = f2 - frequency * frequency * wave
        f3 = f3 - frequency * frequency * slope
    return f, f1, f2, f3


@kernel
def evaluate_multivariate(table, which, x, rows, first, lane, out, row):
    """A MULTIVARIATE function, which = (i, m) of m arguments, as in `evaluate_many`; the scalar may be a pack of lanes.

    It is sum_k p_k(x_1 .. x_m-1) g_k(x_m): a monomial p of all variables but the last, a polynomial g of the last.
    """
    i, m = which
    scale = table.scales[i]
    hessian = row + 1 + m
    last = m - 1
    for k in range(1 + m + m * m):
        out[row + k, lane] = 0.0
    y = x[rows[first + last], lane]
    start = table.data_offsets[i]
    for k in range(table.counts[i]):
        exponents = table.exponent_offsets[i] + k * m
        degree = table.exponents[exponents + last]
        g, g1, g2 = like(y, 0.0), like(y, 0.0), like(y, 0.0)
        for j in range(degree, -1, -1):
            g2 = g2 * y + g1
            g1 = g1 * y + g
            g = g * y + scale * table.data[start + j]
        start += degree + 1
        p = _monomial(table, exponents, last, x, rows, first, lane, (-1, -1))
        out[row, lane] += p * g
        out[row + 1 + last, lane] += p * g1
        out[hessian + last * m + last, lane] += p * (2.0 * g2)
        for a in range(last):
            if table.exponents[exponents + a] == 0:
                continue
            p1 = _monomial(table, exponents, last, x, rows, first, lane, (a, -1))
            out[row + 1 + a, lane] += p1 * g
            out[hessian + a * m + last, lane] += p1 * g1
            for b in range(a, last):
                if table.exponents[exponents + b] > 0:
                    p2 = _monomial(table, exponents, last, x, rows, first, lane, (a, b))
                    out[hessian + a * m + b, lane] += p2 * g
    for a in range(1, m):
        for b in range(a):
            out[hessian + a * m + b, lane] = out[hessian + b * m + a, lane]


@kernel
def _monomial(table, exponents, n, x, rows, first, lane, by):
    """x_1^e_1 ... x_n^e_n, differentiated by x_a and by x_b, by = (a, b), each -1 for not at all."""
    a, b = by
    product = like(x[rows[first], lane], 1.0)
    for j in range(n):
        power = table.exponents[exponents + j]
        factor = 1.0
        if j == a:
            factor *= power
            power -= 1
        if j == b:
            factor *= power
            power -= 1
        product = product * factor
        # The power is negative only where the factor is zero.
        for _ in range(power):
            product = product * x[rows[first + j], lane]
    return product
