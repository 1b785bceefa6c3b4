"""Equations that tie bodies together, on the tree: residuals, Jacobian by speeds and second derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import apart, driver, kernel
from musculo.kernels.scalar.choices import any_of, less, where
from musculo.kernels.scalar.scalars import square_root
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    matmul,
    rotate,
    rotate_back,
    scale,
    store3,
    subtract,
    transpose,
)
from musculo.kernels.tree.node_kinematics import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    MOTION_ROWS,
    POSITION,
    VELOCITY,
    kinematics,
    twists,
)
from musculo.kernels.tree.nodes import Motion, load_rotation
from musculo.kernels.tree.tree_frames import work_rows

# Kinds of equations between a frame F of a first body and a frame of a second one.
COINCIDENT, ON_LINE, AT_DISTANCE, WELDED = 0, 1, 2, 3


class BodyEquations(NamedTuple):
    """Constraints between bodies as arrays, k of them with m equations in all."""

    kind: IntArray  # (k,)
    first_row: IntArray  # (k,) first of its rows among all equations
    node: IntArray  # (k, 2)
    R: FloatArray  # (k, 2, 9) of the frames in their nodes
    p: FloatArray  # (k, 2, 3)
    across: FloatArray  # (k, 6) two directions across a line
    distance: FloatArray  # (k,)
    first_column: IntArray  # (k + 1,)
    column: IntArray  # (columns,) speeds that move one of the bodies and not the other
    sign: FloatArray  # (columns,) 1 for the second, -1 for the first


class BodyRows(NamedTuple):
    """What `body_rows` finds: m equations by n_u speeds."""

    n_u: int
    g: FloatArray  # (m, lanes) residuals
    G: FloatArray  # (m n_u, lanes) Jacobian, of which only columns that an equation feels are written
    bias: FloatArray  # (m, lanes) second derivatives at zero accelerations


@kernel
def body_rows(e, K, S, moving, rows, lane):
    """Residuals, Jacobian by speeds, and second derivatives of all equations between bodies.

    With s, S u and sddot as `musculo.embedding.loops.equations.body_equations` has them, from the node motions K
    and the twists S of `musculo.kernels.tree.node_kinematics`; accelerations in K enter the second derivatives as
    they are.

    Args: e: `BodyEquations`. K: (MOTION_ROWS n, lanes). S: (6 n_u, lanes). rows: `BodyRows`, written.
    """
    apart()
    g, G, bias = rows.g, rows.G, rows.bias
    n_u = rows.n_u
    for k in range(e.kind.size):
        row, kind = e.first_row[k], e.kind[k]
        n_1, n_2 = e.node[k, 0] * MOTION_ROWS, e.node[k, 1] * MOTION_ROWS
        R_N, R_M = load_rotation(K, n_1, lane), load_rotation(K, n_2, lane)
        a = e.R[k, 0]
        R_1 = matmul(R_N, (a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]))
        arm_1 = rotate(R_N, (e.p[k, 0, 0], e.p[k, 0, 1], e.p[k, 0, 2]))
        arm_2 = rotate(R_M, (e.p[k, 1, 0], e.p[k, 1, 1], e.p[k, 1, 2]))
        p_2 = add(load3(K, n_2 + POSITION, lane), arm_2)
        r = subtract(p_2, add(load3(K, n_1 + POSITION, lane), arm_1))
        s = rotate_back(R_1, r)
        zero = s[0] * 0.0
        sdot, sddot, w, turn = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
        if moving:
            w_1, w_2 = load3(K, n_1 + ANGULAR_VELOCITY, lane), load3(K, n_2 + ANGULAR_VELOCITY, lane)
            q_1, q_2 = load3(K, n_1 + ANGULAR_ACCELERATION, lane), load3(K, n_2 + ANGULAR_ACCELERATION, lane)
            swing_1, swing_2 = cross(w_1, arm_1), cross(w_2, arm_2)
            v = subtract(add(load3(K, n_2 + VELOCITY, lane), swing_2), add(load3(K, n_1 + VELOCITY, lane), swing_1))
            a_1 = add(add(load3(K, n_1 + ACCELERATION, lane), cross(q_1, arm_1)), cross(w_1, swing_1))
            a_2 = add(add(load3(K, n_2 + ACCELERATION, lane), cross(q_2, arm_2)), cross(w_2, swing_2))
            swing = cross(w_1, r)
            sdot = rotate_back(R_1, subtract(v, swing))
            bend = add_scaled(subtract(subtract(a_2, a_1), cross(q_1, r)), -2.0, cross(w_1, v))
            sddot = rotate_back(R_1, add(bend, cross(w_1, swing)))
            relative = subtract(w_2, w_1)
            w = rotate_back(R_1, relative)
            turn = rotate_back(R_1, subtract(subtract(q_2, q_1), cross(w_1, relative)))
        if kind == WELDED:
            b = e.R[k, 1]
            R_2 = matmul(R_M, (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]))
            R = matmul(transpose(R_1), R_2)
            trace = R[0] + R[4] + R[8]
            spun = matmul((zero, zero - w[2], w[1], w[2], zero, zero - w[0], zero - w[1], w[0], zero), R)
            fall = spun[0] + spun[4] + spun[8]
            sine = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
            far = less(trace, 0.0)
            if any_of(far):
                # half a turn off has the same sine as none: beyond 120 degrees it counts from the other side
                size = square_root(dot(sine, sine))
                turned = less(0.0, size)
                longer = where(turned, (2.0 - size) / where(turned, size, 1.0), 0.0)
                other = scale(longer, sine)
                sine = (
                    where(far, where(turned, other[0], 2.0), sine[0]),
                    where(far, other[1], sine[1]),
                    where(far, other[2], sine[2]),
                )
            store3(g, row, lane, sine)
            x = subtract(scale(trace, turn), rotate(R, turn))
            y = subtract(scale(fall, w), rotate(spun, w))
            store3(bias, row, lane, scale(0.5, add(x, y)))
            store3(g, row + 3, lane, s)
            store3(bias, row + 3, lane, sddot)
            for c in range(e.first_column[k], e.first_column[k + 1]):
                column = e.column[c]
                spin = rotate_back(R_1, scale(e.sign[c], load3(S, 6 * column, lane)))
                swung = scale(0.5, subtract(scale(trace, spin), rotate(R, spin)))
                G[row * n_u + column, lane] = swung[0]
                G[(row + 1) * n_u + column, lane] = swung[1]
                G[(row + 2) * n_u + column, lane] = swung[2]
            row += 3
        length = s[0] * 0.0 + 1.0
        n = s
        if kind == AT_DISTANCE:
            length = square_root(dot(s, s))
            n = scale(1.0 / length, s)
            rate = dot(n, sdot)
            g[row, lane] = length - e.distance[k]
            bias[row, lane] = dot(n, sddot) + (dot(sdot, sdot) - rate * rate) / length
        elif kind == ON_LINE:
            for i in range(2):
                d = (e.across[k, 3 * i], e.across[k, 3 * i + 1], e.across[k, 3 * i + 2])
                g[row + i, lane] = dot(d, s)
                bias[row + i, lane] = dot(d, sddot)
        elif kind == COINCIDENT:
            store3(g, row, lane, s)
            store3(bias, row, lane, sddot)
        for c in range(e.first_column[k], e.first_column[k + 1]):
            column = e.column[c]
            spin, drift = load3(S, 6 * column, lane), load3(S, 6 * column + 3, lane)
            moved = rotate_back(R_1, scale(e.sign[c], add(drift, cross(spin, p_2))))
            if kind == AT_DISTANCE:
                G[row * n_u + column, lane] = dot(n, moved)
            elif kind == ON_LINE:
                for i in range(2):
                    d = (e.across[k, 3 * i], e.across[k, 3 * i + 1], e.across[k, 3 * i + 2])
                    G[(row + i) * n_u + column, lane] = dot(d, moved)
            else:
                G[row * n_u + column, lane] = moved[0]
                G[(row + 1) * n_u + column, lane] = moved[1]
                G[(row + 2) * n_u + column, lane] = moved[2]


class BodyRowFrames(NamedTuple):
    """`BodyRows` of all frames, the frame first."""

    residual: FloatArray  # (frames, m)
    jacobian: FloatArray  # (frames, m n_u)
    bias: FloatArray  # (frames, m)


@driver
def body_rows_frames(equations, motion, columns, moving, found, start, stop):
    """Equations between bodies of frames start .. stop - 1, by speeds, from what `kinematics_frames` gives.

    Args: motion: (frames, MOTION_ROWS nodes). columns: (frames, 6 n_u) twists. found: `BodyRowFrames`, written.
    """
    residual, jacobian, bias = found.residual, found.jacobian, found.bias
    n_u, m = columns.shape[1] // 6, residual.shape[1]
    K, S = np.empty((motion.shape[1], 1)), np.empty((columns.shape[1], 1))
    g, G, b = np.zeros((m, 1)), np.zeros((m * n_u, 1)), np.zeros((m, 1))
    for f in range(start, stop):
        K[:, 0] = motion[f]
        S[:, 0] = columns[f]
        body_rows(equations, K, S, moving, BodyRows(n_u, g, G, b), 0)
        residual[f] = g[:, 0]
        bias[f] = b[:, 0]
        jacobian[f] = G[:, 0]


class ComplexRows(NamedTuple):
    """States of a tree with an imaginary step in them, and what the equations make of them; complex, frames first."""

    q: NDArray[Any]  # (frames, n)
    u: NDArray[Any]  # (frames, n_u)
    residual: NDArray[Any]  # (frames, m) written, and on
    jacobian: NDArray[Any]  # (frames, m n_u)
    bias: NDArray[Any]  # (frames, m)


@driver
def complex_rows_frames(tree, table, equations, x, start, stop):
    """Equations between bodies of frames start .. stop - 1, by speeds, in complex numbers: for exact derivatives."""
    n_u, m = x.u.shape[1], x.residual.shape[1]
    W = np.zeros((work_rows(tree), 1), dtype=np.complex128)
    Q, U = np.empty((x.q.shape[1], 1), dtype=np.complex128), np.empty((n_u, 1), dtype=np.complex128)
    A = np.zeros((n_u, 1), dtype=np.complex128)
    K = np.empty((MOTION_ROWS * tree.parent.size, 1), dtype=np.complex128)
    S = np.zeros((6 * n_u, 1), dtype=np.complex128)
    g, G = np.zeros((m, 1), dtype=np.complex128), np.zeros((m * n_u, 1), dtype=np.complex128)
    b, moving = np.zeros((m, 1), dtype=np.complex128), m > 0
    for f in range(start, stop):
        Q[:, 0] = x.q[f]
        U[:, 0] = x.u[f]
        kinematics(tree, table, W, Motion(Q, U, A), moving, K, 0)
        twists(tree, W, K, S, 0)
        body_rows(equations, K, S, moving, BodyRows(n_u, g, G, b), 0)
        x.residual[f] = g[:, 0]
        x.jacobian[f] = G[:, 0]
        x.bias[f] = b[:, 0]
