"""Equations of a closed loop by its own coordinates, solved for its dependents, and derivatives of these."""

from __future__ import annotations

from musculo.kernels.compiler.parts import apart, inline, kernel
from musculo.kernels.constraints.body_loop_equations import BodyRows, body_rows
from musculo.kernels.constraints.coupling import follow
from musculo.kernels.scalar.choices import less, where
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import like, sincos, square_root
from musculo.kernels.tree.node_kinematics import kinematics, twists
from musculo.kernels.tree.nodes import Motion


@inline
def copy_lanes(source, target):
    """All rows of an array with lanes into another one."""
    for row in range(source.shape[0]):
        for lane in range(WIDTH):
            target[row, lane] = source[row, lane]


@kernel
def evaluate_loop(s, w):
    """g and A = dg/dy at w.Q, whose columns y are set."""
    apart()
    tree, table, loop = s.tree, s.table, s.loop
    follow(loop.couplings, loop.functions, lanes(w.Q), lanes(w.slopes), 0)
    kinematics(tree, table, lanes(w.W), Motion(lanes(w.Q), lanes(w.U), lanes(w.udot)), False, lanes(w.K), 0)
    twists(tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
    rows = BodyRows(w.U.shape[0], lanes(w.g), lanes(w.G), lanes(w.bias))
    body_rows(loop.equations, lanes(w.K), lanes(w.S), False, rows, 0)
    _by_inputs_and_dependents(loop, w)
    used_rows(loop, w)


@kernel
def _by_inputs_and_dependents(loop, w):
    """A by y from G by speeds: through angles of joints that turn freely, then through couplers."""
    c, n_arguments = loop.couplings, loop.functions.n_arguments
    speed_of, turn_q, y = loop.speed_of, loop.turn_q, loop.y
    Q, slopes, G, row, A = lanes(w.Q), lanes(w.slopes), lanes(w.G), lanes(w.row), lanes(w.A)
    n, n_y, n_u, m, lane = speed_of.size, y.size, w.U.shape[0], w.g.shape[0], 0
    zero = like(Q[0, lane], 0.0)
    plain = turn_q.shape[0] == 0 and c.dependent.size == 0
    for i in range(m):
        if plain:
            for j in range(n_y):
                A[i * n_y + j, lane] = G[i * n_u + speed_of[y[j]], lane]
            continue
        for k in range(n):
            row[k, lane] = G[i * n_u + max(speed_of[k], 0), lane] if speed_of[k] >= 0 else zero
        for t in range(turn_q.shape[0]):
            a, b, d = turn_q[t, 0], turn_q[t, 1], turn_q[t, 2]
            u, v, z = row[a, lane], row[b, lane], row[d, lane]
            s_0, c_0 = sincos(Q[a, lane])
            s_1, c_1 = sincos(Q[b, lane])
            row[b, lane] = v * c_0 + z * s_0
            row[d, lane] = u * s_1 - v * s_0 * c_1 + z * c_0 * c_1
        for r in range(c.dependent.size - 1, -1, -1):
            pulled = c.scale[r] * row[c.dependent[r], lane]
            for j in range(n_arguments[c.function[r]]):
                k = c.inputs[c.first_input[r] + j]
                row[k, lane] = row[k, lane] + pulled * slopes[c.first_slope[r] + 1 + j, lane]
        for j in range(n_y):
            A[i * n_y + j, lane] = row[y[j], lane]


@kernel
def used_rows(loop, w):
    """Rows of A_d that are not zero in all lanes: a planar mechanism in space has one in three that is."""
    n_x, n_y, count = loop.n_x, loop.y.size, 0
    for i in range(w.g.shape[0]):
        size = 0.0
        for j in range(n_x, n_y):
            for lane in range(WIDTH):
                size = max(size, abs(w.A[i * n_y + j, lane]))
        if size != 0.0:
            w.used[count] = i
            count += 1
    w.count[0] = count


@kernel
def factor_loop(loop, w):
    """Orthogonal columns of A_d in units of `scale`, by projections one after the other.

    w.margin: the least that is left of a column's length beside those before it; zero where nothing is.
    """
    used, m, scale = w.used, w.count[0], loop.scale
    A, basis, factor = lanes(w.A), lanes(w.basis), lanes(w.factor)
    inverse, margin = lanes(w.inverse), lanes(w.margin)
    n_x, n_y, lane = loop.n_x, loop.y.size, 0
    n_d = n_y - n_x
    least = like(margin[0, lane], 1.0)
    for j in range(n_d):
        whole, unit = like(least, 0.0), scale[n_x + j]
        for i in range(m):
            x = A[used[i] * n_y + n_x + j, lane] * unit
            basis[j * m + i, lane] = x
            whole = whole + x * x
        for k in range(j):
            along = like(least, 0.0)
            for i in range(m):
                along = along + basis[k * m + i, lane] * basis[j * m + i, lane]
            along = along * inverse[k, lane]
            factor[k * n_d + j, lane] = along
            for i in range(m):
                basis[j * m + i, lane] = basis[j * m + i, lane] - along * basis[k * m + i, lane]
        rest = like(least, 0.0)
        for i in range(m):
            rest = rest + basis[j * m + i, lane] * basis[j * m + i, lane]
        there = less(1e-30 * whole, rest)
        share = where(there, rest / where(there, whole, 1.0), 0.0)
        least = where(less(share, least), share, least)
        inverse[j, lane] = 1.0 / where(there, rest, 1.0)
    margin[0, lane] = square_root(least)


@kernel
def solve_against(loop, a, left, found):
    """found (n_d, WIDTH) = A_d^+ left by the factors in a; left (m, WIDTH) is overwritten.

    The right-hand side is projected as the columns were [Bjorck1967].
    """
    used, m, scale, n_x, n_d, lane = a.used, a.count[0], loop.scale, loop.n_x, found.shape[0], 0
    basis, factor, inverse, b, x = lanes(a.basis), lanes(a.factor), lanes(a.inverse), lanes(left), lanes(found)
    for j in range(n_d):
        along = like(inverse[0, lane], 0.0)
        for i in range(m):
            along = along + basis[j * m + i, lane] * b[used[i], lane]
        along = along * inverse[j, lane]
        for i in range(m):
            b[used[i], lane] = b[used[i], lane] - along * basis[j * m + i, lane]
        x[j, lane] = along
    for j in range(n_d - 1, -1, -1):
        total = x[j, lane]
        for k in range(j + 1, n_d):
            total = total - factor[j * n_d + k, lane] * x[k, lane]
        x[j, lane] = total
    for j in range(n_d):
        x[j, lane] = x[j, lane] * scale[n_x + j]


@kernel
def solve_loop(loop, w, x):
    """x (n_d, WIDTH) = A_d^+ w.left by the factors in w; w.left is overwritten."""
    solve_against(loop, w, w.left, x)


@kernel
def anchor(s, a):
    """A and its factors at the poses in a.Q, for `glide`."""
    evaluate_loop(s, a)
    factor_loop(s.loop, a)


@kernel
def _accelerations(loop, w):
    """U and udot from qdot along y, where y does not accelerate: couplers and turning joints bend."""
    c, n_arguments, speed_of = loop.couplings, loop.functions.n_arguments, loop.speed_of
    turn_q, turn_u, lane = loop.turn_q, loop.turn_u, 0
    Q, slopes, qdot, qddot, U, udot = (
        lanes(w.Q), lanes(w.slopes), lanes(w.qdot), lanes(w.qddot), lanes(w.U), lanes(w.udot),
    )  # fmt: skip
    for r in range(c.dependent.size):
        k, first, row = c.dependent[r], c.first_input[r], c.first_slope[r]
        m = n_arguments[c.function[r]]
        rate, bend = like(Q[0, lane], 0.0), like(Q[0, lane], 0.0)
        for i in range(m):
            a = c.inputs[first + i]
            rate = rate + slopes[row + 1 + i, lane] * qdot[a, lane]
            bend = bend + slopes[row + 1 + i, lane] * qddot[a, lane]
            for j in range(m):
                curve = slopes[row + 1 + m + i * m + j, lane]
                bend = bend + curve * qdot[a, lane] * qdot[c.inputs[first + j], lane]
        qdot[k, lane], qddot[k, lane] = c.scale[r] * rate, c.scale[r] * bend
    for k in range(speed_of.size):
        if speed_of[k] >= 0:
            U[speed_of[k], lane] = qdot[k, lane]
            udot[speed_of[k], lane] = qddot[k, lane]
    for t in range(turn_q.shape[0]):
        a, b, d = turn_q[t, 0], turn_q[t, 1], turn_q[t, 2]
        s_0, c_0 = sincos(Q[a, lane])
        s_1, c_1 = sincos(Q[b, lane])
        x, y, z = qdot[a, lane], qdot[b, lane], qdot[d, lane]
        u, v = turn_u[t, 0], turn_u[t, 1]
        o, x_, y_, z_ = turn_u[t, 2], qddot[a, lane], qddot[b, lane], qddot[d, lane]
        U[u, lane] = x + s_1 * z
        U[v, lane] = c_0 * y - s_0 * c_1 * z
        U[o, lane] = s_0 * y + c_0 * c_1 * z
        udot[u, lane] = x_ + s_1 * z_ + c_1 * y * z
        udot[v, lane] = c_0 * y_ - s_0 * c_1 * z_ - s_0 * x * y + (s_0 * s_1 * y - c_0 * c_1 * x) * z
        udot[o, lane] = s_0 * y_ + c_0 * c_1 * z_ + c_0 * x * y - (s_0 * c_1 * x + c_0 * s_1 * y) * z


@kernel
def derive(s, w, gradient, xdot, bent, bend):
    """dd/dx at the poses in w.Q, where A and its factors are, and if `bent` the second derivative of d along xdot.

    Args: gradient: (n_d n_x, WIDTH). xdot: (n_x, WIDTH). bend: (n_d, WIDTH).
    """
    loop = s.loop
    n_x, n_d, m = loop.n_x, w.x.shape[0], w.g.shape[0]
    n_y = n_x + n_d
    for k in range(n_x):
        for i in range(m):
            for lane in range(WIDTH):
                w.left[i, lane] = -w.A[i * n_y + k, lane]
        solve_loop(loop, w, w.x)
        for j in range(n_d):
            for lane in range(WIDTH):
                gradient[j * n_x + k, lane] = w.x[j, lane]
    if not bent:
        return
    w.qdot[:] = 0.0
    w.qddot[:] = 0.0
    w.U[:] = 0.0
    w.udot[:] = 0.0
    for k in range(n_x):
        for lane in range(WIDTH):
            w.qdot[loop.y[k], lane] = xdot[k, lane]
    for j in range(n_d):
        for k in range(n_x):
            for lane in range(WIDTH):
                w.qdot[loop.y[n_x + j], lane] += gradient[j * n_x + k, lane] * xdot[k, lane]
    _accelerations(loop, w)
    kinematics(s.tree, s.table, lanes(w.W), Motion(lanes(w.Q), lanes(w.U), lanes(w.udot)), True, lanes(w.K), 0)
    rows = BodyRows(w.U.shape[0], lanes(w.g), lanes(w.G), lanes(w.bias))
    body_rows(loop.equations, lanes(w.K), lanes(w.S), True, rows, 0)
    for i in range(m):
        for lane in range(WIDTH):
            w.left[i, lane] = -w.bias[i, lane]
    solve_loop(loop, w, bend)
