"""A polyline of many pieces pulled tight over solids: the least sum of squares with every knot outside all of them.

    minimise  F = 1/2 sum |x_i+1 - x_i|^2   such that   s_k(x_i) >= 0 for all knots i = 1 .. N - 1 and solids k

Pieces come out equally long, so that sqrt(2 N F) is the length; unlike the sum of the lengths F also says where
the knots are along the polyline. It is stationary, so that its slopes need the forces of the solids only.

Steps (`polyline_steps`) solve chains of 3 x 3 blocks, one a knot that is held: with the motions that its contacts leave
open, Z, it follows the next one by X d + p, X = l Z (Z^T A Z)^-1 Z^T, A what is left of its block (elimination from the
first on), l the stiffness of the straight run between the two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add_scaled, cross, dot, scale

# Normals whose cross product is shorter than this count as one direction.
_PARALLEL = 1e-7
_TINY = 1e-300


class Chain(NamedTuple):
    """Workspace of a polyline of at most so many knots over at most so many solids, one row a knot."""

    x: NDArray[np.float64]  # (knots, 3) [m]
    d: NDArray[np.float64]  # (knots, 3) the step
    p: NDArray[np.float64]  # (knots, 3) the step with the next knot at rest
    X: NDArray[np.float64]  # (knots, 6) how the knot follows the next
    B: NDArray[np.float64]  # (knots, 6) bending of solids
    y: NDArray[np.float64]  # (knots, 3) spare
    n: NDArray[np.float64]  # (knots, solids, 3) normals
    s: NDArray[np.float64]  # (knots, solids) slacks [m]
    force: NDArray[np.float64]  # (knots, solids)
    on: NDArray[np.int64]  # (knots,) contacts, a bit a solid
    held: NDArray[np.int64]  # (knots,) those that are held, and both ends


@kernel
def _free_motions(A, n, m, first, second, i):
    """X of knot i with block A (six numbers) and m contacts of normals n[i, first], n[i, second]; three leave none."""
    a, b, c, d, e, f = A
    if m == 3:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if m == 0:
        u, v, w = d * f - e * e, c * e - b * f, b * e - c * d
        D = a * u + b * v + c * w
        g = 1.0 / D if math.fabs(D) > _TINY else 0.0
        return g * u, g * v, g * w, g * (a * f - c * c), g * (b * c - a * e), g * (a * d - b * b)
    x, y, z = n[i, first, 0], n[i, first, 1], n[i, first, 2]
    if m == 2:
        p, q, r = n[i, second, 0], n[i, second, 1], n[i, second, 2]
        u, v, w = y * r - z * q, z * p - x * r, x * q - y * p
        l = math.sqrt(u * u + v * v + w * w)
        if l > _PARALLEL:
            u, v, w = u / l, v / l, w / l
            D = u * (a * u + 2.0 * (b * v + c * w)) + v * (d * v + 2.0 * e * w) + f * w * w
            g = 1.0 / D if math.fabs(D) > _TINY else 0.0
            return g * u * u, g * u * v, g * u * w, g * v * v, g * v * w, g * w * w
    # across one normal n, with N v = n x v: Z (Z^T A Z)^-1 Z^T = N^T A N / (n^T adj(A) n)
    # rows of N^T A
    p = (z * b - y * c, z * d - y * e, z * e - y * f)
    q = (x * c - z * a, x * e - z * b, x * f - z * c)
    r = (y * a - x * b, y * b - x * d, y * c - x * e)
    D = (
        x * x * (d * f - e * e)
        + y * y * (a * f - c * c)
        + z * z * (a * d - b * b)
        + 2.0 * (x * y * (c * e - b * f) + x * z * (b * e - c * d) + y * z * (b * c - a * e))
    )
    g = 1.0 / D if math.fabs(D) > _TINY else 0.0
    return (
        g * (z * p[1] - y * p[2]),
        g * (x * p[2] - z * p[0]),
        g * (y * p[0] - x * p[1]),
        g * (x * q[2] - z * q[0]),
        g * (y * q[0] - x * q[1]),
        g * (y * r[0] - x * r[1]),
    )


@kernel
def _apply(A, v):
    """A symmetric matrix of six numbers times v."""
    return (
        A[0] * v[0] + A[1] * v[1] + A[2] * v[2],
        A[1] * v[0] + A[3] * v[1] + A[4] * v[2],
        A[2] * v[0] + A[4] * v[1] + A[5] * v[2],
    )


@kernel
def _contacts(on, solids):
    """(how many contacts count, which) of a set: three hold a knot."""
    m, first, second, third = 0, 0, 0, 0
    for k in range(solids):
        if (on >> k) & 1 and m < 3:
            if m == 0:
                first = k
            elif m == 1:
                second = k
            else:
                third = k
            m += 1
    return m, first, second, third


@kernel
def _in_three(c, i, first, second, third, a, b, d):
    """(x, singular): x with n . x = a, b, d for three contacts of knot i."""
    u = (c.n[i, first, 0], c.n[i, first, 1], c.n[i, first, 2])
    v = (c.n[i, second, 0], c.n[i, second, 1], c.n[i, second, 2])
    w = (c.n[i, third, 0], c.n[i, third, 1], c.n[i, third, 2])
    vw, wu, uv = cross(v, w), cross(w, u), cross(u, v)
    D = dot(u, vw)
    if math.fabs(D) < _PARALLEL:
        return (0.0, 0.0, 0.0), True
    return scale(1.0 / D, add_scaled(add_scaled(scale(a, vw), b, wu), d, uv)), False


@kernel
def _onto_planes(c, i, m, first, second, right_1, right_2):
    """The shortest step v of knot i with n . v = right for its contacts."""
    if m == 0:
        return 0.0, 0.0, 0.0
    x, y, z = c.n[i, first, 0], c.n[i, first, 1], c.n[i, first, 2]
    if m == 1:
        return right_1 * x, right_1 * y, right_1 * z
    p, q, r = c.n[i, second, 0], c.n[i, second, 1], c.n[i, second, 2]
    cosine = x * p + y * q + z * r
    D = 1.0 - cosine * cosine
    if D < _PARALLEL * _PARALLEL:
        right = max(right_1, right_2)
        return right * x, right * y, right * z
    a, b = (right_1 - cosine * right_2) / D, (right_2 - cosine * right_1) / D
    return a * x + b * p, a * y + b * q, a * z + b * r


@kernel
def _list_held(c, N):
    """List the knots that touch or that the bending of a solid acts on, between both ends; returns how many."""
    count = 1
    c.held[0] = 0
    for i in range(1, N):
        if c.on[i] != 0 or c.B[i, 0] != 0.0 or c.B[i, 3] != 0.0 or c.B[i, 5] != 0.0:
            c.held[count] = i
            count += 1
    c.held[count] = N
    return count - 1


@kernel
def _eliminate(c, count, solids):
    """How every held knot follows the next, X, and its step with that at rest, p."""
    before = (0.0, 0.0, 0.0)
    X = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for h in range(1, count + 1):
        left, i, right = c.held[h - 1], c.held[h], c.held[h + 1]
        k, l = 1.0 / (i - left), 1.0 / (right - i)
        A = (
            k + l + c.B[i, 0] - k * X[0],
            c.B[i, 1] - k * X[1],
            c.B[i, 2] - k * X[2],
            k + l + c.B[i, 3] - k * X[3],
            c.B[i, 4] - k * X[4],
            k + l + c.B[i, 5] - k * X[5],
        )
        m, first, second, third = _contacts(c.on[i], solids)
        v = _onto_planes(c, i, m, first, second, -c.s[i, first], -c.s[i, second])
        if m == 3:
            v, singular = _in_three(c, i, first, second, third, -c.s[i, first], -c.s[i, second], -c.s[i, third])
            if singular:
                m, v = 2, _onto_planes(c, i, 2, first, second, -c.s[i, first], -c.s[i, second])
        Av = _apply(A, v)
        x, y, z = c.x[i, 0], c.x[i, 1], c.x[i, 2]
        right_side = (
            k * (c.x[left, 0] - x + before[0]) + l * (c.x[right, 0] - x) - Av[0],
            k * (c.x[left, 1] - y + before[1]) + l * (c.x[right, 1] - y) - Av[1],
            k * (c.x[left, 2] - z + before[2]) + l * (c.x[right, 2] - z) - Av[2],
        )
        free = _free_motions(A, c.n, m, first, second, i)
        w = _apply(free, right_side)
        before = (v[0] + w[0], v[1] + w[1], v[2] + w[2])
        X = (l * free[0], l * free[1], l * free[2], l * free[3], l * free[4], l * free[5])
        for j in range(6):
            c.X[i, j] = X[j]
        for j in range(3):
            c.p[i, j] = before[j]


@kernel
def _straighten(c, left, right):
    """The steps of the knots between two that are held, onto the line between where these go."""
    part = 1.0 / (right - left)
    for j in range(3):
        start, end = c.x[left, j] + c.d[left, j], c.x[right, j] + c.d[right, j]
        slope = part * (end - start)
        for i in range(left + 1, right):
            c.d[i, j] = start + (i - left) * slope - c.x[i, j]


@kernel
def _press(c, i, m, first, second, third):
    """The forces of the contacts of knot i after the step."""
    B = (c.B[i, 0], c.B[i, 1], c.B[i, 2], c.B[i, 3], c.B[i, 4], c.B[i, 5])
    d = (c.d[i, 0], c.d[i, 1], c.d[i, 2])
    f = _apply(B, d)
    f = (f[0] + _pull(c, i, 0), f[1] + _pull(c, i, 1), f[2] + _pull(c, i, 2))
    if m == 3:
        # a sum of normals: by what is across two of them
        u = (c.n[i, first, 0], c.n[i, first, 1], c.n[i, first, 2])
        v = (c.n[i, second, 0], c.n[i, second, 1], c.n[i, second, 2])
        w = (c.n[i, third, 0], c.n[i, third, 1], c.n[i, third, 2])
        vw, wu, uv = cross(v, w), cross(w, u), cross(u, v)
        D = dot(u, vw)
        if math.fabs(D) >= _PARALLEL:
            c.force[i, first], c.force[i, second], c.force[i, third] = dot(f, vw) / D, dot(f, wu) / D, dot(f, uv) / D
            return
    x, y, z = c.n[i, first, 0], c.n[i, first, 1], c.n[i, first, 2]
    one = f[0] * x + f[1] * y + f[2] * z
    if m == 1:
        c.force[i, first] = one
        return
    p, q, r = c.n[i, second, 0], c.n[i, second, 1], c.n[i, second, 2]
    two = f[0] * p + f[1] * q + f[2] * r
    cosine = x * p + y * q + z * r
    D = 1.0 - cosine * cosine
    if D < _PARALLEL * _PARALLEL:
        c.force[i, first], c.force[i, second] = 0.5 * one, 0.5 * one
    else:
        c.force[i, first], c.force[i, second] = (one - cosine * two) / D, (two - cosine * one) / D


@kernel
def solve(c, N, solids):
    """The step d of all knots onto the planes of their contacts at least F (with bending B), and all forces.

    Knots that nothing holds lie evenly on the line between those that are held, so only these are solved for: m pieces
    in between are one of stiffness 1 / m.
    """
    count = _list_held(c, N)
    _eliminate(c, count, solids)
    for j in range(3):
        c.d[0, j], c.d[N, j] = 0.0, 0.0
    for h in range(count, 0, -1):
        i, right = c.held[h], c.held[h + 1]
        X = (c.X[i, 0], c.X[i, 1], c.X[i, 2], c.X[i, 3], c.X[i, 4], c.X[i, 5])
        w = _apply(X, (c.d[right, 0], c.d[right, 1], c.d[right, 2]))
        for j in range(3):
            c.d[i, j] = c.p[i, j] + w[j]
        _straighten(c, i, right)
    _straighten(c, 0, c.held[1])
    for i in range(1, N):
        for k in range(solids):
            c.force[i, k] = 0.0
    for h in range(1, count + 1):
        i = c.held[h]
        m, first, second, third = _contacts(c.on[i], solids)
        if m > 0:
            _press(c, i, m, first, second, third)


@kernel
def _pull(c, i, j):
    """Component j of what pulls knot i after the step, against the neighbours."""
    return 2.0 * (c.x[i, j] + c.d[i, j]) - c.x[i - 1, j] - c.d[i - 1, j] - c.x[i + 1, j] - c.d[i + 1, j]
