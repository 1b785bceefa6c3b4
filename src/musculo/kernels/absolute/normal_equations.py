"""Least squares and shortest multipliers with the sparse factor of N = J^T W J = L L^T.

Bodies that no equation ties together leave zeros in N, and eliminated from the tips of a tree inward it stays as
sparse as it is. So all this costs a multiple of the number of bodies. N has full rank where the equations determine the
motion, whether or not they repeat each other:

    J v = nu          v = N^-1 J^T W nu           the least squares solution
    J^T lambda = f    lambda = J N^-1 f, W = 1    the shortest of all solutions

Each is refined once by what is left, so that the squared condition of N costs no digits.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.choices import less, where
from musculo.kernels.scalar.scalars import like, square_root

# A diagonal element of which elimination leaves less than this part belongs to a motion that no equation determines.
UNDETERMINED = 1e-13


@kernel
def factor_normal(system, pattern, massive, normal, lane):
    """N = J^T W J of `NormalEquations`, and the mass matrix where `massive`, factored in place with 1 / L_kk on the
    diagonal.

    `pivot` takes what elimination leaves of each diagonal element, as a part of it; where that is nothing, the
    element is made large, so that the step along it is none.
    """
    weight, J = normal.weight, normal.J
    N, pivot = normal.N, normal.pivot
    zero = like(J[0, lane], 0.0)
    one = like(J[0, lane], 1.0)
    for k in range(pattern.factor_row.size):
        N[k, lane] = zero
    for r in range(system.equations):
        w = weight[r]
        for k in range(pattern.pair_first[r], pattern.pair_first[r + 1]):
            target = pattern.pair_target[k]
            N[target, lane] = N[target, lane] + w * J[pattern.pair_left[k], lane] * J[pattern.pair_right[k], lane]
    if massive:
        for b in range(system.bodies):
            for k in range(3):
                target = pattern.mass_target[b, k]
                N[target, lane] = N[target, lane] + system.mass[b + 1]
            for k in range(6):
                target = pattern.inertia_target[b, k]
                N[target, lane] = N[target, lane] + system.inertia[b + 1, k]
    n = pattern.position.size
    for k in range(n):
        pivot[k, lane] = N[pattern.factor_first[k], lane]
    for k in range(n):
        diagonal = pattern.factor_first[k]
        whole, d = pivot[k, lane], N[diagonal, lane]
        enough = less(UNDETERMINED * whole, d)
        left = where(enough, d, one)
        pivot[k, lane] = where(enough, d / where(enough, whole, one), zero)
        inverse = where(enough, one / square_root(left), zero)
        N[diagonal, lane] = inverse
        for i in range(diagonal + 1, pattern.factor_first[k + 1]):
            N[i, lane] = N[i, lane] * inverse
        for i in range(pattern.update_first[k], pattern.update_first[k + 1]):
            target = pattern.update_target[i]
            N[target, lane] = N[target, lane] - N[pattern.update_left[i], lane] * N[pattern.update_right[i], lane]


@kernel
def solve_factored(pattern, N, y, lane):
    """y <- N^-1 y, in the order of elimination."""
    n = pattern.position.size
    for k in range(n):
        first = pattern.factor_first[k]
        value = y[k, lane] * N[first, lane]
        y[k, lane] = value
        for i in range(first + 1, pattern.factor_first[k + 1]):
            row = pattern.factor_row[i]
            y[row, lane] = y[row, lane] - N[i, lane] * value
    for k in range(n - 1, -1, -1):
        first = pattern.factor_first[k]
        total = y[k, lane]
        for i in range(first + 1, pattern.factor_first[k + 1]):
            total = total - N[i, lane] * y[pattern.factor_row[i], lane]
        y[k, lane] = total * N[first, lane]


@kernel
def times_transpose(system, pattern, normal, rows, lane):
    """y <- J^T W rows, in the order of elimination."""
    weight, J, y = normal.weight, normal.J, normal.y
    zero = like(J[0, lane], 0.0)
    for k in range(pattern.position.size):
        y[k, lane] = zero
    for r in range(system.equations):
        value = weight[r] * rows[r, lane]
        for k in range(system.row_first[r], system.row_first[r + 1]):
            at = pattern.position[system.column[k]]
            y[at, lane] = y[at, lane] + J[k, lane] * value


@kernel
def solve_least_squares(system, pattern, normal, right, solution, rest, lane):
    """solution <- the least squares solution of J solution = right, where N is factored; `rest` is room."""
    J, N, y = normal.J, normal.N, normal.y
    times_transpose(system, pattern, normal, right, lane)
    solve_factored(pattern, N, y, lane)
    for k in range(pattern.position.size):
        solution[k, lane] = y[pattern.position[k], lane]
    for r in range(system.equations):
        total = right[r, lane]
        for k in range(system.row_first[r], system.row_first[r + 1]):
            total = total - J[k, lane] * solution[system.column[k], lane]
        rest[r, lane] = total
    times_transpose(system, pattern, normal, rest, lane)
    solve_factored(pattern, N, y, lane)
    for k in range(pattern.position.size):
        solution[k, lane] = solution[k, lane] + y[pattern.position[k], lane]


@kernel
def solve_multipliers(system, pattern, normal, force, multipliers, left, lane):
    """multipliers <- the shortest with J^T multipliers = force, where N has unit weights; `left` is room."""
    J, N, y = normal.J, normal.N, normal.y
    zero = like(J[0, lane], 0.0)
    n = pattern.position.size
    for r in range(system.equations):
        multipliers[r, lane] = zero
    for k in range(n):
        left[k, lane] = force[k, lane]
    for _ in range(2):
        for k in range(n):
            y[pattern.position[k], lane] = left[k, lane]
        solve_factored(pattern, N, y, lane)
        for r in range(system.equations):
            total = zero
            for k in range(system.row_first[r], system.row_first[r + 1]):
                total = total + J[k, lane] * y[pattern.position[system.column[k]], lane]
            multipliers[r, lane] = multipliers[r, lane] + total
            for k in range(system.row_first[r], system.row_first[r + 1]):
                left[system.column[k], lane] = left[system.column[k], lane] - J[k, lane] * total
