"""Accelerations and multipliers of a tree with constraints as equations, all of a frame in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.crba import COMPOSITE_ROWS, crba
from musculo.kernels.frames import _give as give
from musculo.kernels.frames import _take as take
from musculo.kernels.frames import work_rows
from musculo.kernels.jit import driver, kernel
from musculo.kernels.kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.loop_equations import body_rows
from musculo.kernels.pack import WIDTH, lanes
from musculo.kernels.rnea import rnea

FloatArray = NDArray[np.float64]

# How a frame came out: solved; or left to a slower method, since the mass matrix is singular by itself, or equations
# repeat or contradict each other.
SOLVED, MASSLESS, REPEATED = 0, 1, 2


class _Lane(NamedTuple):
    """Space for one lane's solution."""

    L: FloatArray  # (n, n) Cholesky's factor of M
    Y: FloatArray  # (m, n) rows L^-1 G^T
    f: FloatArray  # (n,)
    b: FloatArray  # (m,)
    R: FloatArray  # (m, m) factor of the equations, in the order they were taken
    order: FloatArray  # (m,)
    norm: FloatArray  # (m,)


@kernel
def _solve(w, n, m, M, G, force, right, singular, rank, udot, multipliers, lane):
    """M udot + G^T lambda = force, G udot = right.

        M = L L^T,   Y = L^-1 G^T,   Y = Q R (longest columns first),   R^T R lambda = Y^T L^-1 force - right
        udot = L^-T (L^-1 force - Y lambda)

    Equations whose column is zero have no multiplier; other repeated ones are left to a slower method.
    """
    for i in range(n):
        for j in range(i + 1):
            total = M[i * n + j, lane]
            for k in range(j):
                total -= w.L[i, k] * w.L[j, k]
            if i == j:
                if not total > singular * M[i * n + i, lane]:
                    return MASSLESS
                w.L[i, i] = np.sqrt(total)
            else:
                w.L[i, j] = total / w.L[j, j]
    for i in range(n):
        total = force[i, lane]
        for k in range(i):
            total -= w.L[i, k] * w.f[k]
        w.f[i] = total / w.L[i, i]
    longest = 0.0
    for r in range(m):
        square, along = 0.0, 0.0
        for i in range(n):
            total = G[r * n + i, lane]
            for k in range(i):
                total -= w.L[i, k] * w.Y[r, k]
            w.Y[r, i] = total / w.L[i, i]
            square += w.Y[r, i] ** 2
            along += w.Y[r, i] * w.f[i]
        w.b[r] = along - right[r, lane]
        w.norm[r] = square
        w.order[r] = r
        longest = max(longest, square)
    # w.f keeps L^-1 force; rows of Y become orthonormal one after the other, the longest rest first
    taken = m
    for k in range(m):
        best = k
        for r in range(k + 1, m):
            if w.norm[int(w.order[r])] > w.norm[int(w.order[best])]:
                best = r
        w.order[k], w.order[best] = w.order[best], w.order[k]
        for r in range(k):
            w.R[r, k], w.R[r, best] = w.R[r, best], w.R[r, k]
        row = int(w.order[k])
        for r in range(k):  # once more, so that rows are orthogonal to rounding
            along, before = 0.0, int(w.order[r])
            for i in range(n):
                along += w.Y[before, i] * w.Y[row, i]
            w.R[r, k] += along
            for i in range(n):
                w.Y[row, i] -= along * w.Y[before, i]
        square = 0.0
        for i in range(n):
            square += w.Y[row, i] ** 2
        if not square > rank * longest:
            taken = k
            break
        size = np.sqrt(square)
        w.R[k, k] = size
        for i in range(n):
            w.Y[row, i] /= size
        for r in range(k + 1, m):
            other, along = int(w.order[r]), 0.0
            for i in range(n):
                along += w.Y[row, i] * w.Y[other, i]
            w.R[k, r] = along
            w.norm[other] = 0.0
            for i in range(n):
                w.Y[other, i] -= along * w.Y[row, i]
                w.norm[other] += w.Y[other, i] ** 2
    for k in range(taken, m):
        row = int(w.order[k])
        for i in range(n):
            if G[row * n + i, lane] != 0.0:
                return REPEATED
        if not abs(right[row, lane]) <= 1e-12:
            return REPEATED
        multipliers[row, lane] = 0.0
    for k in range(taken):
        total = w.b[int(w.order[k])]
        for r in range(k):
            total -= w.R[r, k] * w.b[int(w.order[r])]
        w.b[int(w.order[k])] = total / w.R[k, k]
    # b is now Q^T L^-1 (G^T lambda): what the constraints take from the force
    for k in range(taken):
        row = int(w.order[k])
        for i in range(n):
            w.f[i] -= w.b[row] * w.Y[row, i]
    for k in range(taken - 1, -1, -1):
        total = w.b[int(w.order[k])]
        for r in range(k + 1, taken):
            total -= w.R[k, r] * multipliers[int(w.order[r]), lane]
        multipliers[int(w.order[k]), lane] = total / w.R[k, k]
    for i in range(n - 1, -1, -1):
        total = w.f[i]
        for k in range(i + 1, n):
            total -= w.L[k, i] * udot[k, lane]
        udot[i, lane] = total / w.L[i, i]
    return SOLVED


@driver
def constrained_frames(
    tree, table, equations, q, u, tau, external, loaded, rate, decay, singular, rank, residual, jacobian, bias, drift,
    udot, multipliers, status, start, stop,
):  # fmt: skip
    """Frames start .. stop - 1. Rows of equations that are not between bodies come filled in residual, jacobian, bias.

    Args:
        rate: (frames, m) partial derivatives by time. decay: Baumgarte's rate. drift: (frames, m), takes gdot.
        singular, rank: parts of a pivot and of a squared column that count as zero.
    """
    n, m = tree.u_rows.size, residual.shape[1]
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U, T = np.empty((q.shape[1], WIDTH)), np.empty((n, WIDTH)), np.empty((n, WIDTH))
    A, F, E = np.zeros((n, WIDTH)), np.empty((n, WIDTH)), np.empty((external.shape[1], WIDTH))
    C, M = np.empty((COMPOSITE_ROWS * tree.parent.size, WIDTH)), np.zeros((n * n, WIDTH))
    K, S = np.empty((MOTION_ROWS * tree.parent.size, WIDTH)), np.zeros((6 * n, WIDTH))
    g, G, B = np.empty((m, WIDTH)), np.empty((m * n, WIDTH)), np.empty((m, WIDTH))
    V, P, right = np.empty((m, WIDTH)), np.empty((m, WIDTH)), np.empty((m, WIDTH))
    D, X = np.zeros((n, WIDTH)), np.zeros((m, WIDTH))
    w = _Lane(np.zeros((n, n)), np.zeros((m, n)), np.zeros(n), np.zeros(m), np.zeros((m, m)), np.zeros(m), np.zeros(m))
    for block in range(start, stop, WIDTH):
        take(q, block, stop, Q)
        take(u, block, stop, U)
        take(tau, block, stop, T)
        if loaded:
            take(external, block, stop, E)
        rnea(tree, table, lanes(Q), lanes(U), lanes(A), lanes(E), loaded, lanes(W), lanes(F), 0)
        crba(tree, table, lanes(Q), lanes(W), lanes(C), lanes(M), 0)
        kinematics(tree, table, lanes(Q), lanes(U), lanes(A), True, lanes(W), lanes(K), 0)
        twists(tree, lanes(W), lanes(K), lanes(S), 0)
        take(residual, block, stop, g)
        take(jacobian, block, stop, G)
        take(bias, block, stop, B)
        take(rate, block, stop, V)
        for lane in range(min(WIDTH, stop - block)):
            body_rows(equations, K, S, True, n, g, G, B, lane)
            for r in range(m):
                P[r, lane] = V[r, lane]
                for i in range(n):
                    P[r, lane] += G[r * n + i, lane] * U[i, lane]
                right[r, lane] = -B[r, lane] - 2.0 * decay * P[r, lane] - decay * decay * g[r, lane]
            for i in range(n):
                T[i, lane] -= F[i, lane]
            status[block + lane] = _solve(w, n, m, M, G, T, right, singular, rank, D, X, lane)
        give(D, 0, n, udot, block, stop)
        give(X, 0, m, multipliers, block, stop)
        give(g, 0, m, residual, block, stop)
        give(G, 0, m * n, jacobian, block, stop)
        give(B, 0, m, bias, block, stop)
        give(P, 0, m, drift, block, stop)
