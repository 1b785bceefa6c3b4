"""Slopes of accelerations from those of generalized forces: the mass matrix of a tree, factored and solved with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, inline, kernel
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import like
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take

# Columns solved for side by side: they share the loads of the factor, and four sums fit the registers.
_COLUMNS = 4


class AccelerationFrames(NamedTuple):
    """Slopes of forces of all frames, and where those of accelerations go."""

    by_q: FloatArray  # (frames, n_u n_q) of tau
    by_u: FloatArray  # (frames, n_u n_u) of tau
    mass: FloatArray  # (frames, n_u n_u)
    accel_by_q: FloatArray  # (frames, n_u n_q) written, and on
    accel_by_u: FloatArray  # (frames, n_u n_u)
    accel_by_tau: FloatArray  # (frames, n_u n_u)


@inline
def _fill_inboard(tree, inboard):
    """Set inboard (n_u,): of each slot the slot before it on the way to ground, or -1."""
    for i in range(1, tree.parent.size):
        P = tree.parent[i]
        # nodes of a merged tree have speeds, but for ground
        before = tree.u_first[P] + tree.n_u[P] - 1 if P > 0 else -1
        for slot in range(tree.u_first[i], tree.u_first[i] + tree.n_u[i]):
            inboard[slot] = before
            before = slot


@kernel
def factor_mass(rows, inboard, M, lane):
    """M = L^T D L in place, with L unit lower triangular in tree order; zeros between branches stay.

    Source: Featherstone2008 section 6.5.

    Args: rows: (n_u,) row of each slot. inboard: (n_u,). M: (n_u n_u, lanes); D is left inverted on the diagonal.
    """
    n = rows.size
    for k in range(n - 1, -1, -1):
        row = rows[k] * n
        inverse = 1.0 / M[row + rows[k], lane]
        M[row + rows[k], lane] = inverse
        i = inboard[k]
        while i >= 0:
            a = M[row + rows[i], lane] * inverse
            j = i
            while j >= 0:
                to = rows[i] * n + rows[j]
                M[to, lane] = M[to, lane] - a * M[row + rows[j], lane]
                j = inboard[j]
            M[row + rows[i], lane] = a
            i = inboard[i]


@kernel
def solve_columns(rows, inboard, L, x, lane):
    """M X = B with the factor of `factor_mass`; x (n_u _COLUMNS, lanes) holds some columns of B before, row by row."""
    n = rows.size
    for k in range(n - 1, -1, -1):
        own, row = rows[k] * _COLUMNS, rows[k] * n
        i = inboard[k]
        while i >= 0:
            to, a = rows[i] * _COLUMNS, L[row + rows[i], lane]
            for c in range(_COLUMNS):
                x[to + c, lane] = x[to + c, lane] - a * x[own + c, lane]
            i = inboard[i]
    for k in range(n):
        own, row = rows[k] * _COLUMNS, rows[k] * n
        d = L[row + rows[k], lane]
        y0, y1, y2, y3 = x[own, lane] * d, x[own + 1, lane] * d, x[own + 2, lane] * d, x[own + 3, lane] * d
        i = inboard[k]
        while i >= 0:
            at, a = rows[i] * _COLUMNS, L[row + rows[i], lane]
            y0, y1 = y0 - a * x[at, lane], y1 - a * x[at + 1, lane]
            y2, y3 = y2 - a * x[at + 2, lane], y3 - a * x[at + 3, lane]
            i = inboard[i]
        x[own, lane], x[own + 1, lane], x[own + 2, lane], x[own + 3, lane] = y0, y1, y2, y3


@kernel
def _solve_all(rows, inboard, L, B, columns, x, lane):
    """B (n_u columns, lanes) becomes -M^-1 B."""
    n = rows.size
    for first in range(0, columns, _COLUMNS):
        some = min(_COLUMNS, columns - first)
        for j in range(n):
            for c in range(some):
                x[j * _COLUMNS + c, lane] = -B[j * columns + first + c, lane]
        solve_columns(rows, inboard, L, x, lane)
        for j in range(n):
            for c in range(some):
                B[j * columns + first + c, lane] = x[j * _COLUMNS + c, lane]


@kernel
def _invert(rows, inboard, L, B, x, lane):
    """B (n_u n_u, lanes) becomes M^-1."""
    n = rows.size
    for first in range(0, n, _COLUMNS):
        some = min(_COLUMNS, n - first)
        for k in range(n * _COLUMNS):
            x[k, lane] = like(L[0, lane], 0.0)
        for c in range(some):
            x[(first + c) * _COLUMNS + c, lane] = like(L[0, lane], 1.0)
        solve_columns(rows, inboard, L, x, lane)
        for j in range(n):
            for c in range(some):
                B[j * n + first + c, lane] = x[j * _COLUMNS + c, lane]


@driver
def acceleration_slope_frames(tree, x, start, stop):
    """-M^-1 d(tau)/dq, -M^-1 d(tau)/du and M^-1 of frames start .. stop - 1 of an `AccelerationFrames`."""
    n_u = tree.u_rows.size
    inboard = np.empty(n_u, dtype=np.int64)
    _fill_inboard(tree, inboard)
    M, Y, some = np.empty((n_u * n_u, WIDTH)), np.empty((n_u * n_u, WIDTH)), np.zeros((n_u * _COLUMNS, WIDTH))
    X = np.empty((x.by_q.shape[1], WIDTH))
    n_q = tree.q_rows.size
    for block in range(start, stop, WIDTH):
        take(x.mass, block, stop, M)
        factor_mass(tree.u_rows, inboard, lanes(M), 0)
        take(x.by_q, block, stop, X)
        _solve_all(tree.u_rows, inboard, lanes(M), lanes(X), n_q, lanes(some), 0)
        give(X, 0, n_u * n_q, x.accel_by_q, block, stop)
        take(x.by_u, block, stop, Y)
        _solve_all(tree.u_rows, inboard, lanes(M), lanes(Y), n_u, lanes(some), 0)
        give(Y, 0, n_u * n_u, x.accel_by_u, block, stop)
        _invert(tree.u_rows, inboard, lanes(M), lanes(Y), lanes(some), 0)
        give(Y, 0, n_u * n_u, x.accel_by_tau, block, stop)
