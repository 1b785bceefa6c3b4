"""Numbers that carry their slopes along two directions and the mixed second derivative: (x, x_a, x_b, x_ab).

A formula written in them once gives its value, gradient and second derivatives, all exact (hyper-dual numbers: Fike and
Alonso 2011). For formulas too long to be differentiated by hand twice.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel, traced


@traced
def plus(x, y):
    """x + y."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]


@traced
def minus(x, y):
    """x - y."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3]


@traced
def weigh(c, x):
    """c x, with a plain number c."""
    return c * x[0], c * x[1], c * x[2], c * x[3]


@traced
def times(x, y):
    """x y."""
    mixed = x[3] * y[0] + x[1] * y[2] + x[2] * y[1] + x[0] * y[3]
    return x[0] * y[0], x[1] * y[0] + x[0] * y[1], x[2] * y[0] + x[0] * y[2], mixed


@traced
def chain(x, value, first, second):
    """f(x) of which value, first and second derivative are known."""
    return value, first * x[1], first * x[2], first * x[3] + second * x[1] * x[2]


@kernel
def root(x):
    """sqrt(x); where x is not positive zero, with no slopes."""
    if x[0] <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    r = math.sqrt(x[0])
    return chain(x, r, 0.5 / r, -0.25 / (r * x[0]))


@kernel
def over(x, y):
    """x / y."""
    i = 1.0 / y[0]
    return times(x, chain(y, i, -i * i, 2.0 * i * i * i))


@kernel
def sine(x):
    """sin(x)."""
    s = math.sin(x[0])
    return chain(x, s, math.cos(x[0]), -s)


@kernel
def cosine(x):
    """cos(x)."""
    c = math.cos(x[0])
    return chain(x, c, -math.sin(x[0]), -c)


@kernel
def angle(y, x):
    """atan2(y, x)."""
    square = x[0] * x[0] + y[0] * y[0]
    a, b = (x[0] * y[1] - y[0] * x[1]) / square, (x[0] * y[2] - y[0] * x[2]) / square
    mixed = x[2] * y[1] + x[0] * y[3] - y[2] * x[1] - y[0] * x[3] - 2.0 * a * (x[0] * x[2] + y[0] * y[2])
    return math.atan2(y[0], x[0]), a, b, mixed / square


@kernel
def inner(v, w):
    """v . w of two vectors of such numbers."""
    return plus(plus(times(v[0], w[0]), times(v[1], w[1])), times(v[2], w[2]))


@kernel
def outer(v, w):
    """v x w of two vectors of such numbers."""
    return (
        minus(times(v[1], w[2]), times(v[2], w[1])),
        minus(times(v[2], w[0]), times(v[0], w[2])),
        minus(times(v[0], w[1]), times(v[1], w[0])),
    )


@kernel
def direction(v):
    """v / |v|."""
    n = root(inner(v, v))
    return over(v[0], n), over(v[1], n), over(v[2], n)


@kernel
def with_slopes(x, by_a, by_b):
    """A vector of such numbers: x with its slopes along two directions."""
    return (x[0], by_a[0], by_b[0], 0.0), (x[1], by_a[1], by_b[1], 0.0), (x[2], by_a[2], by_b[2], 0.0)


@kernel
def unit_times(i, x):
    """The i-th unit vector times a number: a direction to take slopes along."""
    return x if i == 0 else 0.0, x if i == 1 else 0.0, x if i == 2 else 0.0
