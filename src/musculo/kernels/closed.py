"""Forward dynamics of a model whose only rule is a closed loop: branch, derivatives and solution in one pass."""

from __future__ import annotations

import numpy as np

from musculo.kernels.crba import COMPOSITE_ROWS, crba
from musculo.kernels.embedded import solve_embedded
from musculo.kernels.frames import _give as give
from musculo.kernels.frames import _take as take
from musculo.kernels.frames import work_rows
from musculo.kernels.jit import driver
from musculo.kernels.loop_branch import branch, derive, loop_space
from musculo.kernels.pack import WIDTH, lanes
from musculo.kernels.rnea import rnea


@driver
def closed_frames(
    tree, table, loop, search, followers, guess, q, u, tau, external, loaded, udot, pivot, done, margin, start, stop
):
    """Accelerations of frames start .. stop - 1; q and u are completed from their independent columns.

    Args:
        guess: (frames, n) poses whose branch is meant. q: (frames, n), u: (frames, n_u): their dependents are written.
        udot, pivot: (frames, n_u), see `solve_embedded`. done: (frames,) the part of the way from the guess that was
        done: 1 where the loop closes. margin: (frames,) how far from singular it is there.
    """
    n, n_u, n_x = q.shape[1], tree.u_rows.size, loop.n_x
    n_d, m = loop.y.size - n_x, loop.row_scale.size
    w = loop_space(tree, loop, n)
    begin, target, rate = np.zeros(n_x), np.zeros(n_x), np.zeros(n_x)
    here, tangent, bend, gradient = np.zeros(n_d), np.zeros(n_d), np.zeros(n_d), np.zeros(n_d * n_x)
    kept, square = np.zeros((m, loop.y.size)), np.zeros((n_d, n_d))
    W = np.zeros((work_rows(tree), WIDTH))
    Q, U, T = np.empty((n, WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH))
    B, D, F = np.zeros((n_u, WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH))
    P, S = np.ones((n_u, WIDTH)), np.zeros((max(n_d * n_x, 1), WIDTH))
    E = np.empty((external.shape[1], WIDTH))
    C, M = np.empty((COMPOSITE_ROWS * tree.parent.size, WIDTH)), np.empty((n_u * n_u, WIDTH))
    for block in range(start, stop, WIDTH):
        for lane in range(min(WIDTH, stop - block)):
            f = block + lane
            w.Q[:, 0] = guess[f]
            w.U[:] = 0.0
            w.udot[:] = 0.0
            for k in range(n_x):
                target[k] = q[f, loop.y[k]]
                rate[k] = u[f, loop.speed_of[loop.y[k]]]
            done[f] = branch(tree, table, loop, search, w, begin, target, here, tangent, kept, square)
            bend[:] = 0.0
            gradient[:] = 0.0
            margin[f] = derive(tree, table, loop, w, gradient, rate, True, bend) if done[f] == 1.0 else 0.0
            for j in range(n_d):
                q[f, loop.y[n_x + j]] = w.Q[loop.y[n_x + j], 0]
                row = loop.speed_of[loop.y[n_x + j]]
                u[f, row] = 0.0
                for k in range(n_x):
                    u[f, row] += gradient[j * n_x + k] * rate[k]
                    S[j * n_x + k, lane] = gradient[j * n_x + k]
                B[row, lane] = bend[j]
        take(q, block, stop, Q)
        take(u, block, stop, U)
        take(tau, block, stop, T)
        if loaded:
            take(external, block, stop, E)
        rnea(tree, table, lanes(Q), lanes(U), lanes(B), lanes(E), loaded, lanes(W), lanes(F), 0)
        F[:] = T - F
        M[:] = 0.0
        crba(tree, table, lanes(Q), lanes(W), lanes(C), lanes(M), 0)
        D[:] = B
        solve_embedded(n_u, followers, lanes(S), lanes(M), lanes(F), lanes(D), lanes(B), lanes(P), 0)
        give(D, 0, n_u, udot, block, stop)
        give(P, 0, n_u, pivot, block, stop)
