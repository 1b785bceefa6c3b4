"""Forward dynamics under couplers: mass matrix and forces pulled back to the free speeds, and solved there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.constraints.coupler_frames import RuledFrames, RuleSpace, frame_of_rules, scratch_rows
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import square_root
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.nodes import Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.state_lanes import state_lanes
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take
from musculo.kernels.tree.tree_frames import work_rows


class Followers(NamedTuple):
    """Speeds that follow others, u[dependent] = sum of slope u[input], in an order in which inputs come first.

    `free` are the others that are not given, base outward, as the tree numbers them; `row_index` lists for each of
    them the free speeds before it that its row of the factor touches (fill included), as positions in `free`.
    """

    dependent: IntArray  # (rules,) row of u
    first_input: IntArray  # (rules + 1,)
    inputs: IntArray  # (inputs,) row of u
    free: IntArray  # (free,) row of u
    first_row: IntArray  # (free + 1,)
    row_index: IntArray  # (entries,)


class MassEquations(NamedTuple):
    """M udot = force, with speeds that follow others; M and force are overwritten."""

    n_u: int
    M: FloatArray  # (n_u n_u, lanes)
    force: FloatArray  # (n_u, lanes)
    bias: FloatArray  # (n_u, lanes) udot at zero accelerations of free speeds
    pivot: FloatArray  # (n_u, lanes) takes each squared pivot, as a part of the diagonal element before


@kernel
def solve_embedded(followers, slopes, equations, udot, lane):
    """udot of J^T M J z = J^T force, udot = J z + bias, where J is the identity but for rows that follow others.

        force_a += s force_k,   M_a: += s M_k:,   M_:a += s M_:k      for every k that follows a with slope s

    last rule first, so that chains pass through; then J^T M J = L^T L from the last free speed to the first, so that
    zeros between branches of the tree stay.

    Source:     Featherstone2008 section 6.5 for the factor.
    Departs:    the pattern of L comes from `Followers`, since couplers tie branches together.

    Args:
        followers: `Followers`. slopes: (inputs, lanes). equations: `MassEquations`. udot: (n_u, lanes), written.
    """
    M, force, n_u = equations.M, equations.force, equations.n_u
    bias, pivot = equations.bias, equations.pivot
    for r in range(followers.dependent.size - 1, -1, -1):
        k = followers.dependent[r]
        for i in range(followers.first_input[r], followers.first_input[r + 1]):
            a, s = followers.inputs[i], slopes[i, lane]
            force[a, lane] = force[a, lane] + s * force[k, lane]
            for j in range(n_u):
                M[a * n_u + j, lane] = M[a * n_u + j, lane] + s * M[k * n_u + j, lane]
            for j in range(n_u):
                M[j * n_u + a, lane] = M[j * n_u + a, lane] + s * M[j * n_u + k, lane]
    free, first, index = followers.free, followers.first_row, followers.row_index
    n = free.size
    for k in range(n):
        pivot[free[k], lane] = M[free[k] * (n_u + 1), lane]
    for k in range(n - 1, -1, -1):
        row = free[k] * n_u
        square = M[row + free[k], lane]
        pivot[free[k], lane] = square / pivot[free[k], lane]
        inverse = 1.0 / square_root(square)
        M[row + free[k], lane] = inverse
        y = force[free[k], lane] * inverse
        force[free[k], lane] = y
        for e in range(first[k], first[k + 1]):
            i = free[index[e]]
            x = M[row + i, lane] * inverse
            M[row + i, lane] = x
            force[i, lane] = force[i, lane] - x * y
            for d in range(first[k], e + 1):
                j = free[index[d]]
                M[i * n_u + j, lane] = M[i * n_u + j, lane] - x * M[row + j, lane]
    for k in range(n):
        row = free[k] * n_u
        x = force[free[k], lane]
        for e in range(first[k], first[k + 1]):
            i = free[index[e]]
            x = x - M[row + i, lane] * udot[i, lane]
        udot[free[k], lane] = x * M[row + free[k], lane]
    for r in range(followers.dependent.size):
        k = followers.dependent[r]
        total = bias[k, lane]
        for i in range(followers.first_input[r], followers.first_input[r + 1]):
            a = followers.inputs[i]
            total = total + slopes[i, lane] * (udot[a, lane] - bias[a, lane])
        udot[k, lane] = total


class EmbeddedFrames(NamedTuple):
    """Frames of a tree some of whose speeds follow others."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    tau: FloatArray  # (frames, n_u)
    bias: FloatArray  # (frames, n_u) accelerations at zero accelerations of free speeds
    slopes: FloatArray  # (frames, inputs)
    external: FloatArray  # (frames, 6 nodes) loads, or none
    udot: FloatArray  # (frames, n_u)
    pivot: FloatArray  # (frames, n_u) see `solve_embedded`


@driver
def embedded_frames(tree, table, followers, frames, loaded, start, stop):
    """Accelerations of frames start .. stop - 1 of `EmbeddedFrames`."""
    n_u = tree.u_rows.size
    x = state_lanes(0, frames.q.shape[1], n_u, frames.external.shape[1])
    W, C = np.zeros((work_rows(tree), WIDTH)), np.empty((COMPOSITE_ROWS * tree.parent.size, WIDTH))
    B, F, M = np.empty((n_u, WIDTH)), np.empty((n_u, WIDTH)), np.empty((n_u * n_u, WIDTH))
    P, S = np.ones((n_u, WIDTH)), np.empty((frames.slopes.shape[1], WIDTH))
    for block in range(start, stop, WIDTH):
        take(frames.q, block, stop, x.Q)
        take(frames.u, block, stop, x.U)
        take(frames.tau, block, stop, x.T)
        take(frames.bias, block, stop, B)
        take(frames.slopes, block, stop, S)
        if loaded:
            take(frames.external, block, stop, x.E)
        motion = Motion(lanes(x.Q), lanes(x.U), lanes(B))
        rnea(tree, table, lanes(W), motion, Loads(lanes(x.E), loaded), lanes(F), 0)
        F[:] = x.T - F
        M[:] = 0.0
        placed_mass_matrix(tree, lanes(W), lanes(C), lanes(M), 0)
        x.D[:] = B
        equations = MassEquations(n_u, lanes(M), lanes(F), lanes(B), lanes(P))
        solve_embedded(followers, lanes(S), equations, lanes(x.D), 0)
        give(x.D, 0, n_u, frames.udot, block, stop)
        give(P, 0, n_u, frames.pivot, block, stop)


class EmbeddedTree(NamedTuple):
    """A tree some of whose speeds follow others by rules."""

    tree: Any
    table: Any
    rules: RuleRows
    functions: Any  # of the rules
    followers: Followers


@driver
def embedded_frame(system, time, given, least_pivot, udot):
    """Accelerations of the one frame given = (q, u, tau); how far q and u are from what the rules make of them.

    Departs:    one lane a register, not eight: the mass matrix stays in the nearest cache (33 speeds: 8.9 us -> 6.4
                us), and sines are the C library's, so that the last bits differ from `embedded_frames`.
    Guarantees: udot holds a NaN where a pivot is not above `least_pivot`.

    Args: system: `EmbeddedTree`. time: (1,) [s]. given: (n + 2 n_u,). udot: (n_u,), written.
    """
    tree, table, followers, functions = system.tree, system.table, system.followers, system.functions
    n_u = tree.u_rows.size
    n = given.size - 2 * n_u
    Q, U, B = np.empty((n, 1)), np.empty((n_u, 1)), np.empty((n_u, 1))
    S, P = np.empty((followers.inputs.size, 1)), np.ones((n_u, 1))
    given_q, given_u = np.empty((1, n)), np.empty((1, n_u))
    q, u, bias, slopes = np.empty((1, n)), np.empty((1, n_u)), np.empty((1, n_u)), np.empty((1, S.size))
    for k in range(n):
        given_q[0, k] = given[k]
    for k in range(n_u):
        given_u[0, k] = given[n + k]
    space = RuleSpace(np.zeros((scratch_rows(functions), 1)), Q)
    frame = RuledFrames(given_q, given_u, q, u, bias, slopes)
    error = frame_of_rules(system.rules, functions, time[0], frame, space, 0)
    for k in range(n_u):
        U[k, 0], B[k, 0] = u[0, k], bias[0, k]
    for k in range(S.size):
        S[k, 0] = slopes[0, k]
    W, F, D = np.zeros((work_rows(tree), 1)), np.empty((n_u, 1)), np.empty((n_u, 1))
    C, M = np.empty((COMPOSITE_ROWS * tree.parent.size, 1)), np.zeros((n_u * n_u, 1))
    rnea(tree, table, W, Motion(Q, U, B), Loads(B, n < 0), F, 0)
    for k in range(n_u):
        F[k, 0] = given[n + n_u + k] - F[k, 0]
        D[k, 0] = B[k, 0]
    placed_mass_matrix(tree, W, C, M, 0)
    solve_embedded(followers, S, MassEquations(n_u, M, F, B, P), D, 0)
    for k in range(n_u):
        udot[k] = D[k, 0] if P[k, 0] > least_pivot else np.nan
    return error
