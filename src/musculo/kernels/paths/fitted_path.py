"""Paths whose length is a function of coordinates: lengths and moment arms without points and surfaces.

Most such lengths are polynomials. Those of the same coordinates share one table of monomials, of which each monomial is
a shorter one times a coordinate. A polynomial and its slopes are then columns of coefficients, and eight columns at a
time are summed over the monomials: the coefficients are read in the order in which they lie, and a processor adds
eight columns at once.

Other functions (splines of a coordinate, say) are evaluated one by one.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.overloads import is_complex, is_pack, overload
from musculo.kernels.compiler.parts import kernel
from musculo.kernels.functions.function_values import evaluate_many
from musculo.kernels.scalar.packed import WIDTH, lane_of, lanes, splat
from musculo.kernels.scalar.scalars import like

# Columns that are summed at once.
BLOCK = WIDTH
# What a column is, where it is no moment arm.
LENGTH, NOTHING = -1, -2


class FittedPaths(NamedTuple):
    """All paths of a model that are functions of coordinates. Lists of a group are slices `first[g] .. first[g + 1]`.

    A group has polynomials of the same coordinates. Its monomials are sorted by degree, the first of them 1; monomial
    i > 0 is monomial `parent[i]` of the group times coordinate `factor[i]`. Block b holds BLOCK columns, each the
    coefficients of a length or of a moment arm; as columns of lower degree need fewer monomials, the block has a
    number of its own.
    """

    path: IntArray  # (fitted,) which path of the model, ascending
    first_monomial: IntArray  # (groups + 1,)
    first_block: IntArray  # (groups + 1,)
    parent: IntArray  # (monomials,) within the group; -1: the first
    factor: IntArray  # (monomials,) row of q; -1: the first
    n_used: IntArray  # (blocks,) monomials, from the first on
    first_coefficient: IntArray  # (blocks,) row of the coefficients
    coefficients: FloatArray  # (rows, BLOCK) of each block n_used rows, one a monomial
    column_path: IntArray  # (BLOCK blocks,) which path of the model
    column_speed: IntArray  # (BLOCK blocks,) row of u; LENGTH: it is the length; NOTHING: no column is here
    function: IntArray  # (functions,) those that are no polynomials, in the table of functions
    function_path: IntArray  # (functions,) which path of the model
    function_speed: IntArray  # (functions,) row of u whose moment arm the value is; LENGTH: it is the length
    function_slopes: IntArray  # (functions,) 1: the slopes, times -1, are the path's moment arms
    first_argument: IntArray  # (functions + 1,)
    argument: IntArray  # (arguments,) row of q
    argument_speed: IntArray  # (arguments,) row of u that is the coordinate's derivative; -1: none
    rows: IntArray  # (1,) rows of the workspace: the most monomials of a group and a block, or a function


def _eight_columns(C, first, count, M, one, out, lane):
    """Eight columns of coefficients, from row `first` on, times the first `count` monomials: into M from row `out` on.

    Here all lanes at once, column by column; `one` is a number of the kind of these lanes.
    """
    zero = like(one, 0.0)
    a0, a1, a2, a3, a4, a5, a6, a7 = zero, zero, zero, zero, zero, zero, zero, zero
    for i in range(count):
        m = M[i, lane]
        a0 = a0 + C[first + i, 0] * m
        a1 = a1 + C[first + i, 1] * m
        a2 = a2 + C[first + i, 2] * m
        a3 = a3 + C[first + i, 3] * m
        a4 = a4 + C[first + i, 4] * m
        a5 = a5 + C[first + i, 5] * m
        a6 = a6 + C[first + i, 6] * m
        a7 = a7 + C[first + i, 7] * m
    M[out, lane], M[out + 1, lane], M[out + 2, lane], M[out + 3, lane] = a0, a1, a2, a3
    M[out + 4, lane], M[out + 5, lane], M[out + 6, lane], M[out + 7, lane] = a4, a5, a6, a7


_any_lane = kernel(_eight_columns)


@kernel
def _one_pose(C, first, count, M, out, lane):
    """The same of one pose on the CPU: the eight columns are a vector. Two sums, since each waits for its last step."""
    rows = lanes(C)
    even, odd = splat(0.0), splat(0.0)
    for i in range(0, count - 1, 2):
        even = even + rows[first + i, 0] * M[i, lane]
        odd = odd + rows[first + i + 1, 0] * M[i + 1, lane]
    if count % 2 == 1:
        even = even + rows[first + count - 1, 0] * M[count - 1, lane]
    even = even + odd
    for k in range(BLOCK):
        M[out + k, lane] = lane_of(even, k)


@overload(_eight_columns, inline="always")
def _columns_of_lane(C, first, count, M, one, out, lane):
    if is_pack(one) or is_complex(one):
        return lambda C, first, count, M, one, out, lane: _any_lane(C, first, count, M, one, out, lane)
    return lambda C, first, count, M, one, out, lane: _one_pose(C, first, count, M, out, lane)


@kernel
def polynomial_paths(fitted, q, n_u, M, length, arms, lane):
    """Lengths and moment arms of the paths that are polynomials, for one pose, in any kind of lane.

        l = sum_i c_i m_i(q),   r_j = -sum_i c_i dm_i/dq_j

    The slopes are polynomials of their own, whose coefficients are made once.

    Guarantees: r = -dl/dq to rounding, unless the model states moment arms of its own.

    Args:
        q: (rows, lanes). n_u: speeds of the tree.
        M: (fitted.rows[0], lanes) a workspace.
        length: (paths, lanes); those of these paths are written.
        arms: (paths n_u, lanes); written for the coordinates of each path, else left as they are: zero at first.
    """
    top = fitted.rows[0] - BLOCK
    for g in range(fitted.first_block.size - 1):
        first = fitted.first_monomial[g]
        M[0, lane] = like(q[0, lane], 1.0)
        for i in range(1, fitted.first_monomial[g + 1] - first):
            M[i, lane] = M[fitted.parent[first + i], lane] * q[fitted.factor[first + i], lane]
        for b in range(fitted.first_block[g], fitted.first_block[g + 1]):
            row, used = fitted.first_coefficient[b], fitted.n_used[b]
            _eight_columns(fitted.coefficients, row, used, M, M[0, lane], top, lane)
            for k in range(BLOCK):
                column = b * BLOCK + k
                path, speed = fitted.column_path[column], fitted.column_speed[column]
                if speed >= 0:
                    arms[path * n_u + speed, lane] = M[top + k, lane]
                elif speed == LENGTH:
                    length[path, lane] = M[top + k, lane]


@kernel
def function_paths(fitted, table, q, n_u, M, length, arms, lane):
    """The same for paths that are other functions; lanes are float64 or complex128."""
    for i in range(fitted.function.size):
        path, speed = fitted.function_path[i], fitted.function_speed[i]
        begin, end = fitted.first_argument[i], fitted.first_argument[i + 1]
        evaluate_many(table, fitted.function[i], q, fitted.argument, begin, lane, M, 0)
        if speed >= 0:
            arms[path * n_u + speed, lane] = M[0, lane]
        else:
            length[path, lane] = M[0, lane]
        if fitted.function_slopes[i] != 0:
            for a in range(begin, end):
                if fitted.argument_speed[a] >= 0:
                    arms[path * n_u + fitted.argument_speed[a], lane] = -M[1 + a - begin, lane]


@kernel
def fitted_speeds(fitted, n_u, u, arms, speed, lane):
    """Lengthening speeds ldot = -sum_j r_j u_j (paths, lanes) of these paths, from their moment arms."""
    for i in range(fitted.path.size):
        speed[fitted.path[i], lane] = like(arms[0, lane], 0.0)
    for column in range(fitted.column_path.size):
        path, j = fitted.column_path[column], fitted.column_speed[column]
        if j >= 0:
            speed[path, lane] = speed[path, lane] - arms[path * n_u + j, lane] * u[j, lane]
    for i in range(fitted.function.size):
        path, j = fitted.function_path[i], fitted.function_speed[i]
        if j >= 0:
            speed[path, lane] = speed[path, lane] - arms[path * n_u + j, lane] * u[j, lane]
        if fitted.function_slopes[i] != 0:
            for a in range(fitted.first_argument[i], fitted.first_argument[i + 1]):
                j = fitted.argument_speed[a]
                if j >= 0:
                    speed[path, lane] = speed[path, lane] - arms[path * n_u + j, lane] * u[j, lane]


@kernel
def fitted_paths(fitted, table, q, n_u, M, length, arms, lane):
    """Lengths (paths, lanes) and moment arms (paths n_u, lanes) of all paths that are functions of coordinates.

    Rows of other paths are left as they are, so that a model may have both kinds: the kernels of `path_points` and
    `path_arms` list no point of these, and write zeros. Args: as `polynomial_paths`; `table` has the other functions.
    """
    polynomial_paths(fitted, q, n_u, M, length, arms, lane)
    function_paths(fitted, table, q, n_u, M, length, arms, lane)
