"""Accelerations of one state under several forces: one factor of the mass matrix for all of them."""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel


@kernel
def solve_force_columns(n_u, followers, slopes, M, T, bias, D, pivot):
    """udot of J^T M J z = J^T T[:, c], udot = J z (+ bias where c = 0), for every column c of T.

    As `solve_embedded` of one lane, with one factor for all columns.

    Guarantees: M and T are overwritten. `pivot`: each squared pivot, as a part of the diagonal element before.

    Args:
        n_u: number of speeds. slopes: (inputs, 1). M: (n_u n_u, 1). T, D: (n_u, columns). bias, pivot: (n_u, 1).
    """
    columns = T.shape[1]
    for r in range(followers.dependent.size - 1, -1, -1):
        k = followers.dependent[r]
        for i in range(followers.first_input[r], followers.first_input[r + 1]):
            a, s = followers.inputs[i], slopes[i, 0]
            for c in range(columns):
                T[a, c] += s * T[k, c]
            for j in range(n_u):
                M[a * n_u + j, 0] += s * M[k * n_u + j, 0]
            for j in range(n_u):
                M[j * n_u + a, 0] += s * M[j * n_u + k, 0]
    free, first, index = followers.free, followers.first_row, followers.row_index
    n = free.size
    for k in range(n):
        pivot[free[k], 0] = M[free[k] * (n_u + 1), 0]
    for k in range(n - 1, -1, -1):
        row = free[k] * n_u
        square = M[row + free[k], 0]
        pivot[free[k], 0] = square / pivot[free[k], 0]
        inverse = 1.0 / square**0.5
        M[row + free[k], 0] = inverse
        for c in range(columns):
            T[free[k], c] *= inverse
        for e in range(first[k], first[k + 1]):
            i = free[index[e]]
            x = M[row + i, 0] * inverse
            M[row + i, 0] = x
            for c in range(columns):
                T[i, c] -= x * T[free[k], c]
            for d in range(first[k], e + 1):
                j = free[index[d]]
                M[i * n_u + j, 0] -= x * M[row + j, 0]
    for i in range(n_u):
        for c in range(columns):
            D[i, c] = bias[i, 0] if c == 0 else 0.0
    for k in range(n):
        row = free[k] * n_u
        for c in range(columns):
            x = T[free[k], c]
            for e in range(first[k], first[k + 1]):
                i = free[index[e]]
                x -= M[row + i, 0] * D[i, c]
            D[free[k], c] = x * M[row + free[k], 0]
    for r in range(followers.dependent.size):
        k = followers.dependent[r]
        for c in range(columns):
            total = bias[k, 0] if c == 0 else 0.0
            for i in range(followers.first_input[r], followers.first_input[r + 1]):
                a = followers.inputs[i]
                total += slopes[i, 0] * (D[a, c] - (bias[a, 0] if c == 0 else 0.0))
            D[k, c] = total
