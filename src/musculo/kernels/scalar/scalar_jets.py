"""Numbers that carry their slopes along two directions: (x, x_a, x_b).

A formula written in them gives its value and gradient, both exact (dual numbers).
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel, traced


@traced
def plus(x, y):
    """x + y."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@traced
def minus(x, y):
    """x - y."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


@traced
def weigh(c, x):
    """c x, with a plain number c."""
    return c * x[0], c * x[1], c * x[2]


@traced
def times(x, y):
    """x y."""
    return x[0] * y[0], x[1] * y[0] + x[0] * y[1], x[2] * y[0] + x[0] * y[2]


@kernel
def root(x):
    """sqrt(x); where x is not positive zero, with no slopes."""
    if x[0] <= 0.0:
        return 0.0, 0.0, 0.0
    r = math.sqrt(x[0])
    return r, 0.5 / r * x[1], 0.5 / r * x[2]


@kernel
def over(x, y):
    """x / y."""
    i = 1.0 / y[0]
    return times(x, (i, -i * i * y[1], -i * i * y[2]))


@kernel
def angle(y, x):
    """atan2(y, x)."""
    square = x[0] * x[0] + y[0] * y[0]
    return math.atan2(y[0], x[0]), (x[0] * y[1] - y[0] * x[1]) / square, (x[0] * y[2] - y[0] * x[2]) / square


@kernel
def inner(v, w):
    """v . w of two vectors of such numbers."""
    return plus(plus(times(v[0], w[0]), times(v[1], w[1])), times(v[2], w[2]))


@kernel
def with_slopes(x, by_a, by_b):
    """A vector of such numbers: x with its slopes along two directions."""
    return (x[0], by_a[0], by_b[0]), (x[1], by_a[1], by_b[1]), (x[2], by_a[2], by_b[2])


@kernel
def unit_times(i, x):
    """The i-th unit vector times a number: a direction to take slopes along."""
    return x if i == 0 else 0.0, x if i == 1 else 0.0, x if i == 2 else 0.0
