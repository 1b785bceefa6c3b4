"""Closed loops: their solution along a branch, and derivatives of the dependents.

`musculo.embedding.loop` says what a loop is, and does the same in NumPy for equations that users write in Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.coupling import Couplings, follow
from musculo.kernels.frames import work_rows
from musculo.kernels.jit import driver, kernel
from musculo.kernels.kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.loop_equations import BodyEquations, body_rows
from musculo.kernels.pack import WIDTH, lanes
from musculo.kernels.scalar import sincos

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class LoopTable(NamedTuple):
    """A loop as arrays: its equations, its coordinates y (inputs, then dependents), and what follows them."""

    equations: BodyEquations
    couplings: Couplings
    functions: Any  # the table of functions that couplers use
    y: IntArray  # (n_y,) columns of q
    n_x: int
    speed_of: IntArray  # (n,) column of u of each column of q; -1 for parts of quaternions
    turn_q: IntArray  # (turning, 3) angles of joints that turn freely
    turn_u: IntArray  # (turning, 3)
    scale: FloatArray  # (n_y,)
    row_scale: FloatArray  # (m,)


class Search(NamedTuple):
    """How branches are followed; the numbers are those of `musculo.embedding.loop`."""

    quadratic: float
    closed: float
    shut: float
    contraction: float
    stride: float
    shortest: float
    rounds: int
    gentle_rounds: int
    far_rounds: int


class _Space(NamedTuple):
    """What one frame of a loop needs; of arrays with lanes the first lane is used."""

    W: FloatArray
    K: FloatArray
    S: FloatArray
    Q: FloatArray
    qdot: FloatArray
    qddot: FloatArray
    U: FloatArray
    udot: FloatArray
    slopes: FloatArray
    g: FloatArray
    G: FloatArray
    bias: FloatArray
    row: FloatArray  # (n,) one row by coordinates
    A: FloatArray  # (m, n_y)
    basis: FloatArray  # (m, n_d) orthonormal columns
    factor: FloatArray  # (n_d, n_d) upper triangular
    x: FloatArray  # (n_d,)
    left: FloatArray  # (m,)


@kernel
def _evaluate(tree, table, loop, w):
    """g and A = dg/dy at w.Q, whose columns y are set."""
    n_u, n = tree.u_rows.size, w.Q.shape[0]
    m, n_y = w.g.shape[0], loop.y.size
    c = loop.couplings
    follow(c, loop.functions, w.Q, w.slopes, 0)
    # packs, of which one lane is used: they are compiled already, and cost no more than a single number
    kinematics(tree, table, lanes(w.Q), lanes(w.U), lanes(w.udot), False, lanes(w.W), lanes(w.K), 0)
    twists(tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
    body_rows(loop.equations, w.K, w.S, False, n_u, w.g, w.G, w.bias, 0)
    for i in range(m):
        for k in range(n):
            w.row[k] = w.G[i * n_u + loop.speed_of[k], 0] if loop.speed_of[k] >= 0 else 0.0
        for t in range(loop.turn_q.shape[0]):
            a, b, d = loop.turn_q[t, 0], loop.turn_q[t, 1], loop.turn_q[t, 2]
            x, y, z = w.row[a], w.row[b], w.row[d]
            s_0, c_0 = sincos(w.Q[a, 0])
            s_1, c_1 = sincos(w.Q[b, 0])
            w.row[b] = y * c_0 + z * s_0
            w.row[d] = x * s_1 - y * s_0 * c_1 + z * c_0 * c_1
        for r in range(c.dependent.size - 1, -1, -1):
            pulled = c.scale[r] * w.row[c.dependent[r]]
            for j in range(loop.functions.n_arguments[c.function[r]]):
                w.row[c.inputs[c.first_input[r] + j]] += pulled * w.slopes[c.first_slope[r] + 1 + j, 0]
        for j in range(n_y):
            w.A[i, j] = w.row[loop.y[j]]


@kernel
def _factor(loop, w):
    """Orthogonal factors of A_d in units of `scale`, by projections; returns how far from singular it is.

    Each column loses what lies along those before it, twice, so that it is orthogonal to rounding.
    """
    n_x, n_d, m = loop.n_x, w.x.shape[0], w.A.shape[0]
    margin = 1.0
    for j in range(n_d):
        whole = 0.0
        for i in range(m):
            w.basis[i, j] = w.A[i, n_x + j] * loop.scale[n_x + j]
            whole += w.basis[i, j] ** 2
        for k in range(j):
            w.factor[k, j] = 0.0
        for _ in range(2):
            for k in range(j):
                along = 0.0
                for i in range(m):
                    along += w.basis[i, k] * w.basis[i, j]
                w.factor[k, j] += along
                for i in range(m):
                    w.basis[i, j] -= along * w.basis[i, k]
        rest = 0.0
        for i in range(m):
            rest += w.basis[i, j] ** 2
        rest, whole = np.sqrt(rest), np.sqrt(whole)
        share = rest / whole if whole > 0.0 else 0.0
        if not share > 1e-15:
            return 0.0
        margin = min(margin, share)
        w.factor[j, j] = rest
        for i in range(m):
            w.basis[i, j] /= rest
    return margin


@kernel
def _solve(loop, w, b):
    """w.x = A_d^+ b; the factors are made."""
    n_x, n_d, m = loop.n_x, w.x.shape[0], w.A.shape[0]
    for j in range(n_d):
        along = 0.0
        for i in range(m):
            along += w.basis[i, j] * b[i, 0]
        w.x[j] = along
    for j in range(n_d - 1, -1, -1):
        for k in range(j + 1, n_d):
            w.x[j] -= w.factor[j, k] * w.x[k]
        w.x[j] /= w.factor[j, j]
    for j in range(n_d):
        w.x[j] *= loop.scale[n_x + j]


@kernel
def _correct(tree, table, loop, search, w, gentle):
    """Newton's corrections of the dependents in w.Q: whether they converged, and the first contraction."""
    n_x, n_d, m = loop.n_x, w.x.shape[0], w.A.shape[0]
    before, ease = np.inf, 0.0
    for k in range(search.gentle_rounds if gentle else search.far_rounds):
        _evaluate(tree, table, loop, w)
        open_ = 0.0
        for i in range(m):
            open_ = max(open_, abs(w.g[i, 0]) / loop.row_scale[i])
        if not np.isfinite(open_):
            return False, ease
        if open_ <= search.shut:
            return True, ease
        if not _factor(loop, w) > 0.0:
            return False, ease
        _solve(loop, w, w.g)
        size = 0.0
        for j in range(n_d):
            size = max(size, abs(w.x[j]) / loop.scale[n_x + j])
        short = 1.0
        if gentle:
            if (size > search.quadratic and size > search.contraction * before) or size > search.stride:
                return False, ease
            if k == 1:
                ease = size / before
        elif size > search.stride:
            short = search.stride / size
        for j in range(n_d):
            w.Q[loop.y[n_x + j], 0] -= short * w.x[j]
        before = size
        if size <= search.quadratic:
            for i in range(m):
                left = w.g[i, 0]
                for j in range(n_d):
                    left -= w.A[i, n_x + j] * w.x[j]
                if not abs(left) <= search.closed * loop.row_scale[i]:
                    return False, ease
            return True, ease
    return False, ease


@kernel
def _orientation(loop, w, kept, square):
    """Sign of det(kept_d^T A_d), in `square`, by elimination with the largest pivots."""
    n_x, n_d, m = loop.n_x, w.x.shape[0], w.A.shape[0]
    for i in range(n_d):
        for j in range(n_d):
            square[i, j] = 0.0
            for r in range(m):
                square[i, j] += kept[r, n_x + i] * loop.scale[n_x + i] * w.A[r, n_x + j] * loop.scale[n_x + j]
    sign = 1.0
    for k in range(n_d):
        best = k
        for i in range(k + 1, n_d):
            if abs(square[i, k]) > abs(square[best, k]):
                best = i
        if square[best, k] == 0.0:
            return 0.0
        if best != k:
            sign = -sign
            for j in range(n_d):
                square[k, j], square[best, j] = square[best, j], square[k, j]
        if square[k, k] < 0.0:
            sign = -sign
        for i in range(k + 1, n_d):
            share = square[i, k] / square[k, k]
            for j in range(k + 1, n_d):
                square[i, j] -= share * square[k, j]
    return sign


@kernel
def branch(tree, table, loop, search, w, start, target, here, tangent, kept, square):
    """From the guess in w.Q to the inputs `target`, as `Loop.follow` does; returns the part of the way that was done.

    w.Q holds the last pose that closed; `here` keeps its dependents.
    """
    n_x, n_d = loop.n_x, w.x.shape[0]
    m = w.A.shape[0]
    same = True
    for k in range(n_x):
        start[k] = w.Q[loop.y[k], 0]
        same = same and start[k] == target[k]
    found, _ = _correct(tree, table, loop, search, w, False)
    if not found or same:
        return 1.0 if found else -1.0
    reach = 0.0
    for k in range(n_x):
        reach = max(reach, abs(target[k] - start[k]) / loop.scale[k])
    done, stride = 0.0, 1.0
    for j in range(n_d):
        here[j] = w.Q[loop.y[n_x + j], 0]
    _evaluate(tree, table, loop, w)
    for _ in range(search.rounds):
        # the branch's direction where it stands
        speed = reach
        if _factor(loop, w) > 0.0:
            for i in range(m):
                w.left[i, 0] = 0.0
                for k in range(n_x):
                    w.left[i, 0] -= w.A[i, k] * (target[k] - start[k])
            _solve(loop, w, w.left)
            for j in range(n_d):
                tangent[j] = w.x[j]
                speed = max(speed, abs(tangent[j]) / loop.scale[n_x + j])
        else:
            return done
        for i in range(m):
            for j in range(n_x + n_d):
                kept[i, j] = w.A[i, j]
        landed = False
        while not landed:
            h = min(min(stride, 1.0 - done), search.stride / max(speed, 1e-300))
            last = h >= (1.0 - done) * (1.0 - 1e-12)
            for k in range(n_x):
                away = done + h
                w.Q[loop.y[k], 0] = target[k] if last else start[k] + away * (target[k] - start[k])
            for j in range(n_d):
                w.Q[loop.y[n_x + j], 0] = here[j] + h * tangent[j]
            landed, ease = _correct(tree, table, loop, search, w, True)
            if landed:
                _evaluate(tree, table, loop, w)
                landed = _orientation(loop, w, kept, square) > 0.0
            if landed:
                done = 1.0 if last else done + h
                stride = 2.0 * h if ease < 0.1 else h
                for j in range(n_d):
                    here[j] = w.Q[loop.y[n_x + j], 0]
            else:
                stride = 0.5 * h
                if stride * reach < search.shortest:
                    for k in range(n_x):
                        w.Q[loop.y[k], 0] = start[k] + done * (target[k] - start[k])
                    for j in range(n_d):
                        w.Q[loop.y[n_x + j], 0] = here[j]
                    return done
        if done == 1.0:
            return 1.0
    return done


@kernel
def _accelerations(tree, loop, w):
    """w.U and w.udot from w.qdot along y, where y does not accelerate: couplers and turning joints bend."""
    n = w.Q.shape[0]
    c = loop.couplings
    for r in range(c.dependent.size):
        k, first, row = c.dependent[r], c.first_input[r], c.first_slope[r]
        m = loop.functions.n_arguments[c.function[r]]
        rate, bend = 0.0, 0.0
        for i in range(m):
            a = c.inputs[first + i]
            rate += w.slopes[row + 1 + i, 0] * w.qdot[a]
            bend += w.slopes[row + 1 + i, 0] * w.qddot[a]
            for j in range(m):
                bend += w.slopes[row + 1 + m + i * m + j, 0] * w.qdot[a] * w.qdot[c.inputs[first + j]]
        w.qdot[k], w.qddot[k] = c.scale[r] * rate, c.scale[r] * bend
    for k in range(n):
        if loop.speed_of[k] >= 0:
            w.U[loop.speed_of[k], 0], w.udot[loop.speed_of[k], 0] = w.qdot[k], w.qddot[k]
    for t in range(loop.turn_q.shape[0]):
        a, b, d = loop.turn_q[t, 0], loop.turn_q[t, 1], loop.turn_q[t, 2]
        s_0, c_0 = sincos(w.Q[a, 0])
        s_1, c_1 = sincos(w.Q[b, 0])
        x, y, z = w.qdot[a], w.qdot[b], w.qdot[d]
        u, v = loop.turn_u[t], w.qddot
        w.U[u[0], 0] = x + s_1 * z
        w.U[u[1], 0] = c_0 * y - s_0 * c_1 * z
        w.U[u[2], 0] = s_0 * y + c_0 * c_1 * z
        w.udot[u[0], 0] = v[a] + s_1 * v[d] + c_1 * y * z
        w.udot[u[1], 0] = c_0 * v[b] - s_0 * c_1 * v[d] - s_0 * x * y + (s_0 * s_1 * y - c_0 * c_1 * x) * z
        w.udot[u[2], 0] = s_0 * v[b] + c_0 * c_1 * v[d] + c_0 * x * y - (s_0 * c_1 * x + c_0 * s_1 * y) * z


@kernel
def derive(tree, table, loop, w, gradient, xdot, bent, bend):
    """dd/dx at the pose in w.Q and, if `bent`, the second derivative of d along xdot; returns the margin of A_d."""
    n_x, n_d, m = loop.n_x, w.x.shape[0], w.A.shape[0]
    n_u = tree.u_rows.size
    _evaluate(tree, table, loop, w)
    margin = _factor(loop, w)
    if not margin > 0.0:
        return 0.0
    for k in range(n_x):
        for i in range(m):
            w.left[i, 0] = -w.A[i, k]
        _solve(loop, w, w.left)
        for j in range(n_d):
            gradient[j * n_x + k] = w.x[j]
    if not bent:
        return margin
    w.qdot[:] = 0.0
    w.qddot[:] = 0.0
    w.U[:] = 0.0
    w.udot[:] = 0.0
    for k in range(n_x):
        w.qdot[loop.y[k]] = xdot[k]
    for j in range(n_d):
        for k in range(n_x):
            w.qdot[loop.y[n_x + j]] += gradient[j * n_x + k] * xdot[k]
    _accelerations(tree, loop, w)
    kinematics(tree, table, lanes(w.Q), lanes(w.U), lanes(w.udot), True, lanes(w.W), lanes(w.K), 0)
    body_rows(loop.equations, w.K, w.S, True, n_u, w.g, w.G, w.bias, 0)
    for i in range(m):
        w.left[i, 0] = -w.bias[i, 0]
    _solve(loop, w, w.left)
    for j in range(n_d):
        bend[j] = w.x[j]
    return margin


@driver
def loop_space(tree, loop, n):
    """The workspace of one frame."""
    n_u, n_y = tree.u_rows.size, loop.y.size
    n_d, m = n_y - loop.n_x, loop.row_scale.size
    return _Space(
        np.zeros((work_rows(tree), WIDTH)),
        np.zeros((MOTION_ROWS * tree.parent.size, WIDTH)),
        np.zeros((6 * n_u, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros(n),
        np.zeros(n),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((loop.couplings.first_slope[-1] + 1, 1)),
        np.zeros((m, 1)),
        np.zeros((m * n_u, 1)),
        np.zeros((m, 1)),
        np.zeros(n),
        np.zeros((m, n_y)),
        np.zeros((m, n_d)),
        np.zeros((n_d, n_d)),
        np.zeros(n_d),
        np.zeros((m, 1)),
    )


@driver
def loop_frames(
    tree, table, loop, search, q, x, followed, derived, xdot, bent, d, done, gradient, bend, margin, start, stop
):
    """A loop over frames start .. stop - 1, as far as asked for.

    Args:
        q: (frames, n) guesses if `followed`, else poses that close the loop. x: (frames, n_x) inputs.
        d: (frames, n_d) takes the dependents if `followed`, and done (frames,) the part of the way from the guess that
        was done; where that is less than 1, d belongs to the last inputs that closed; -1 where the guess does not.
        gradient: (frames, n_d n_x), margin: (frames,) if `derived`. bend: (frames, n_d), along xdot, if `bent`.
    """
    n = q.shape[1]
    n_d, m = loop.y.size - loop.n_x, loop.row_scale.size
    w = loop_space(tree, loop, n)
    begin, here, tangent = np.zeros(loop.n_x), np.zeros(n_d), np.zeros(n_d)
    kept, square = np.zeros((m, loop.y.size)), np.zeros((n_d, n_d))
    for f in range(start, stop):
        w.Q[:, 0] = q[f]
        w.U[:] = 0.0
        w.udot[:] = 0.0
        if followed:
            done[f] = branch(tree, table, loop, search, w, begin, x[f], here, tangent, kept, square)
            for j in range(n_d):
                d[f, j] = w.Q[loop.y[loop.n_x + j], 0]
        if derived:
            k = f if bent else 0
            margin[f] = derive(tree, table, loop, w, gradient[f], xdot[k], bent, bend[f])
