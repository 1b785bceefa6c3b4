"""A polyline of many pieces pulled tight over solids: the least sum of squares with every knot outside all of them.

    minimize  F = 1/2 sum |x_i+1 - x_i|^2   such that   s_k(x_i) >= 0 for all knots i = 1 .. N - 1 and solids k

Pieces come out equally long, so that sqrt(2 N F) is the length; unlike the sum of the lengths F also says where
the knots are along the polyline. It is stationary, so that its slopes need the forces of the solids only.

Steps (`polyline_steps`) solve chains of 3 x 3 blocks, one an active knot, which touches a solid: with the motions that
its contacts leave open, Z, it follows the next one by X d + p, X = l Z (Z^T A Z)^-1 Z^T, A what is left of its block
(elimination from the first on), l the stiffness of the straight run between the two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.vectors import add, add_scaled, cross, dot, scale, subtract, symmetric_times

# Normals whose cross product is shorter than this count as one direction.
_PARALLEL = 1e-7
_TINY = 1e-300


class Chain(NamedTuple):
    """Workspace of a polyline of at most so many knots over at most so many solids, one row a knot."""

    x: NDArray[np.float64]  # (knots, 3) [m]
    d: NDArray[np.float64]  # (knots, 3) the step
    p: NDArray[np.float64]  # (knots, 3) the step with the next knot at rest
    X: NDArray[np.float64]  # (knots, 6) how the knot follows the next, symmetric
    B: NDArray[np.float64]  # (knots, 6) bending of solids, symmetric
    y: NDArray[np.float64]  # (knots, 3) spare
    n: NDArray[np.float64]  # (knots, solids, 3) normals
    s: NDArray[np.float64]  # (knots, solids) slacks [m]
    force: NDArray[np.float64]  # (knots, solids)
    on: NDArray[np.int64]  # (knots,) contacts, a bit a solid
    active: NDArray[np.int64]  # (knots,) those that touch or feel a bending, and both ends


@inline
def row3(A, i):
    """Row i of (rows, 3)."""
    return A[i, 0], A[i, 1], A[i, 2]


@inline
def put_row3(A, i, v):
    """Write row i of (rows, 3)."""
    A[i, 0], A[i, 1], A[i, 2] = v[0], v[1], v[2]


@inline
def row6(A, i):
    """Row i of (rows, 6)."""
    return A[i, 0], A[i, 1], A[i, 2], A[i, 3], A[i, 4], A[i, 5]


@inline
def normal_at(c, i, k):
    """Normal of solid k at knot i."""
    return c.n[i, k, 0], c.n[i, k, 1], c.n[i, k, 2]


@kernel
def scaled_square(s, v):
    """s v v^T, symmetric."""
    x, y, z = s * v[0], s * v[1], s * v[2]
    return x * v[0], y * v[1], z * v[2], x * v[1], x * v[2], y * v[2]


@kernel
def _over(d):
    """1 / d, or 0 where that is too large."""
    return 1.0 / d if math.fabs(d) > _TINY else 0.0


@kernel
def _free_motions(A, m, u, v):
    """X of a knot with block A and m contacts of normals u and v."""
    if m == 2:
        t = cross(u, v)
        l = math.sqrt(dot(t, t))
        if l > _PARALLEL:
            t = scale(1.0 / l, t)
            return scaled_square(_over(dot(t, symmetric_times(A, t))), t)
    a, d, f, b, c, e = A
    adjugate = (d * f - e * e, a * f - c * c, a * d - b * b, c * e - b * f, b * e - c * d, b * c - a * e)
    if m == 0:
        g = _over(a * adjugate[0] + b * adjugate[3] + c * adjugate[4])
        x, y, z, xy, xz, yz = adjugate
        return g * x, g * y, g * z, g * xy, g * xz, g * yz
    # across one normal u, with N w = u x w: Z (Z^T A Z)^-1 Z^T = N^T A N / (u^T adj(A) u)
    p, q, r = cross(u, (a, b, c)), cross(u, (b, d, e)), cross(u, (c, e, f))
    g = _over(dot(u, symmetric_times(adjugate, u)))
    x = scale(g, cross(u, (p[0], q[0], r[0])))
    y = scale(g, cross(u, (p[1], q[1], r[1])))
    z = scale(g, cross(u, (p[2], q[2], r[2])))
    return x[0], y[1], z[2], x[1], x[2], y[2]


@kernel
def _contacts(on, solids):
    """(how many contacts count, which) of a set: two hold a knot."""
    m, first, second = 0, 0, 0
    for k in range(solids):
        if (on >> k) & 1 and m < 2:
            first, second = (k, second) if m == 0 else (first, k)
            m += 1
    return m, first, second


@kernel
def _shares(u, v, a, b):
    """(x, y, parallel): the vector x u + y v whose products with u and v are a and b."""
    cosine = dot(u, v)
    D = 1.0 - cosine * cosine
    if D < _PARALLEL * _PARALLEL:
        return 0.0, 0.0, True
    return (a - cosine * b) / D, (b - cosine * a) / D, False


@kernel
def _onto_planes(m, u, v, a, b):
    """The shortest step whose products with the normals u and v of m contacts are a and b."""
    if m == 0:
        return 0.0, 0.0, 0.0
    if m == 1:
        return scale(a, u)
    x, y, parallel = _shares(u, v, a, b)
    return scale(max(a, b), u) if parallel else add_scaled(scale(x, u), y, v)


@kernel
def _list_active(c, N):
    """List the knots that touch or that the bending of a solid acts on, between both ends; returns how many."""
    count = 1
    c.active[0] = 0
    for i in range(1, N):
        if c.on[i] != 0 or c.B[i, 0] != 0.0 or c.B[i, 1] != 0.0 or c.B[i, 2] != 0.0:
            c.active[count] = i
            count += 1
    c.active[count] = N
    return count - 1


@kernel
def _eliminate(c, count, solids):
    """How every active knot follows the next, X, and its step with that at rest, p."""
    before = (0.0, 0.0, 0.0)
    X = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for h in range(1, count + 1):
        left, i, right = c.active[h - 1], c.active[h], c.active[h + 1]
        k, l, B = 1.0 / (i - left), 1.0 / (right - i), row6(c.B, i)
        A = (
            k + l + B[0] - k * X[0],
            k + l + B[1] - k * X[1],
            k + l + B[2] - k * X[2],
            B[3] - k * X[3],
            B[4] - k * X[4],
            B[5] - k * X[5],
        )
        m, first, second = _contacts(c.on[i], solids)
        u, v = normal_at(c, i, first), normal_at(c, i, second)
        onto, x = _onto_planes(m, u, v, -c.s[i, first], -c.s[i, second]), row3(c.x, i)
        pull = scale(k, add(subtract(row3(c.x, left), x), before))
        pull = subtract(add_scaled(pull, l, subtract(row3(c.x, right), x)), symmetric_times(A, onto))
        free = _free_motions(A, m, u, v)
        before = add(onto, symmetric_times(free, pull))
        X = (l * free[0], l * free[1], l * free[2], l * free[3], l * free[4], l * free[5])
        put_row3(c.p, i, before)
        for j in range(6):
            c.X[i, j] = X[j]


@inline
def _moved(c, i):
    """Where the step takes knot i."""
    return add(row3(c.x, i), row3(c.d, i))


@kernel
def _straighten(c, left, right):
    """The steps of the knots between two active ones, onto the line between where these go."""
    start = _moved(c, left)
    piece = scale(1.0 / (right - left), subtract(_moved(c, right), start))
    for i in range(left + 1, right):
        put_row3(c.d, i, subtract(add_scaled(start, 1.0 * (i - left), piece), row3(c.x, i)))


@kernel
def _press(c, i, solids):
    """The forces of the contacts of knot i after the step."""
    m, first, second = _contacts(c.on[i], solids)
    if m == 0:
        return
    neighbors = add(_moved(c, i - 1), _moved(c, i + 1))
    f = subtract(add_scaled(symmetric_times(row6(c.B, i), row3(c.d, i)), 2.0, _moved(c, i)), neighbors)
    u, v = normal_at(c, i, first), normal_at(c, i, second)
    one = dot(f, u)
    if m == 1:
        c.force[i, first] = one
        return
    x, y, parallel = _shares(u, v, one, dot(f, v))
    c.force[i, first], c.force[i, second] = (0.5 * one, 0.5 * one) if parallel else (x, y)


@kernel
def solve(c, N, solids):
    """The step d of all knots onto the planes of their contacts at least F (with bending B), and all forces.

    Knots that nothing touches lie evenly on the line between active ones, so only these are solved for: m pieces
    in between are one of stiffness 1 / m.
    """
    count = _list_active(c, N)
    _eliminate(c, count, solids)
    put_row3(c.d, 0, (0.0, 0.0, 0.0))
    put_row3(c.d, N, (0.0, 0.0, 0.0))
    for h in range(count, 0, -1):
        i, right = c.active[h], c.active[h + 1]
        put_row3(c.d, i, add(row3(c.p, i), symmetric_times(row6(c.X, i), row3(c.d, right))))
        _straighten(c, i, right)
    _straighten(c, 0, c.active[1])
    for i in range(1, N):
        for k in range(solids):
            c.force[i, k] = 0.0
    for h in range(1, count + 1):
        _press(c, c.active[h], solids)
