"""Accelerations and multipliers of a tree with constraints as equations, eight frames in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, kernel, room
from musculo.kernels.constraints.body_loop_equations import BodyEquations, BodyRows, body_rows
from musculo.kernels.constraints.repeated_equations import DISAGREE, DOUBTFUL, Repeated, solve_repeated
from musculo.kernels.scalar.choices import less, where
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.scalars import like, square_root
from musculo.kernels.tree.crba import COMPOSITE_ROWS, placed_mass_matrix
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.nodes import Loads, Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.state_lanes import state_lanes
from musculo.kernels.tree.tree_frames import _give as give
from musculo.kernels.tree.tree_frames import _take as take
from musculo.kernels.tree.tree_frames import work_rows

# How a frame came out: solved; or left to a slower method, since the mass matrix is singular by itself, equations
# contradict each other, or it cannot be seen which of them repeat others.
SOLVED, MASSLESS, CONTRADICTING, UNCERTAIN = 0, 1, 2, 3
# Where others leave less than this of an equation, squared, as a part of the longest, it is looked at whether it
# repeats them.
_NEARLY_REPEATED = 1e-6


class Tolerances(NamedTuple):
    """What counts as zero."""

    mass: float  # a pivot of the mass matrix, as a part of its diagonal element
    rank: float  # what others leave of an equation, squared, as a part of the longest
    consistent: float  # what repeated equations may leave of each other, as a part of the largest that is asked for
    usual: int  # equations that are independent at usual poses; -1 where that is not known
    weight: FloatArray  # (m,) one over the usual length of each row of L^-1 G^T
    unit: FloatArray  # (m,) one over the size of each equation: errors of it are then like angles


class ConstrainedSpace(NamedTuple):
    """What eight frames of a tree with n speeds and m equations need."""

    W: FloatArray
    K: FloatArray  # motion of all nodes
    S: FloatArray  # twists of all speeds
    C: FloatArray
    M: FloatArray  # (n n,) mass matrix, then its factor
    rest: FloatArray  # (n,) zeros
    force: FloatArray  # (n,)
    g: FloatArray  # (m,)
    G: FloatArray  # (m n,)
    bias: FloatArray  # (m,)
    drift: FloatArray  # (m,)
    right: FloatArray  # (m,)
    Y: FloatArray  # (m n,) rows L^-1 G^T, then orthogonal ones
    R: FloatArray  # (m m,)
    inverse: FloatArray  # (m,)
    v: FloatArray  # (m,)
    weak: FloatArray  # (2,) 1 where the mass matrix is singular, and where equations may repeat others
    used: IntArray  # (m,) equations that are not zero
    far: FloatArray  # (WIDTH,) how far each pose is from the constraints [rad, units of size]
    slack: FloatArray  # (WIDTH,) what that lets repeated equations leave of each other
    rate: FloatArray  # (m,) partial derivatives by time
    multipliers: FloatArray  # (m,)
    status: IntArray  # (WIDTH,) how each lane came out
    redundant: IntArray  # (WIDTH,) equations that repeat others
    lane: Repeated


class ConstrainedSystem(NamedTuple):
    """A tree with constraints as equations; which rows are not between bodies is for others to fill."""

    tree: Any
    table: Any
    equations: BodyEquations
    tolerances: Tolerances
    decay: float  # Baumgarte's rate [1/s]


@room
def constrained_space(tree, m):
    """Room for the work on eight frames."""
    n, nodes = tree.u_rows.size, tree.parent.size
    return ConstrainedSpace(
        np.zeros((work_rows(tree), WIDTH)),
        np.zeros((MOTION_ROWS * nodes, WIDTH)),
        np.zeros((6 * n, WIDTH)),
        np.zeros((COMPOSITE_ROWS * nodes, WIDTH)),
        np.zeros((n * n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m * n, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m * n, WIDTH)),
        np.zeros((m * m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((2, WIDTH)),
        np.zeros(m, dtype=np.int64),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros(WIDTH, dtype=np.int64),
        np.zeros(WIDTH, dtype=np.int64),
        Repeated(
            np.zeros((m, n)),
            np.zeros((m, n)),
            np.zeros((m, n)),
            np.zeros((m, n)),
            np.zeros((m, m)),
            np.zeros((m, m)),
            np.zeros(m),
            np.zeros(m),
            np.zeros(m, dtype=np.int64),
            np.zeros(m),
        ),
    )


@kernel
def factor_mass(n, M, force, singular, weak, lane):
    """M = L L^T in place, lower half, with 1/L_ii on the diagonal; force <- L^-1 force.

    weak: (1, lanes) takes 1 where a pivot is no more than the part `singular` of the diagonal element before.
    """
    flag = like(force[0, lane], 0.0)
    for i in range(n):
        at = i * n
        whole = M[at + i, lane]
        f = force[i, lane]
        for j in range(i):
            total = M[at + j, lane]
            for k in range(j):
                total = total - M[at + k, lane] * M[j * n + k, lane]
            total = total * M[j * n + j, lane]
            M[at + j, lane] = total
            f = f - total * force[j, lane]
        pivot = whole
        for k in range(i):
            pivot = pivot - M[at + k, lane] * M[at + k, lane]
        flag = where(less(singular * whole, pivot), flag, 1.0)
        inverse = 1.0 / square_root(pivot)
        M[at + i, lane] = inverse
        force[i, lane] = f * inverse
    weak[0, lane] = flag


@kernel
def eliminate(w, count, weight):
    """force <- force - Y^T lambda with Y Y^T lambda = Y force - right, Y = L^-1 G^T, by the first `count` rows `used`.

        Y_r = sum over k < r of R_kr c_k + c_r, c orthogonal;   R^T w = Y force - right,   v = w / c.c,   R lambda = v

    Projections one after the other, right-hand side included, lose no digits [Bjorck1967]. weak: (1, lanes) takes 1
    where so little is left of a row, beside the longest, that it may repeat others; rows are compared in units of
    what they usually are, `weight` (m,). M and force are as `factor_mass` leaves them.
    """
    n, used, lane = w.force.shape[0], w.used, 0
    M, G, right, force, Y = lanes(w.M), lanes(w.G), lanes(w.right), lanes(w.force), lanes(w.Y)
    R, inverse, v, multipliers, weak = lanes(w.R), lanes(w.inverse), lanes(w.v), lanes(w.multipliers), lanes(w.weak)
    flag = like(force[0, lane], 0.0)
    longest = like(force[0, lane], 0.0)
    for a in range(count):
        row, at = used[a], a * n
        unit = weight[row] * weight[row]
        along = -right[row, lane]
        whole = like(along, 0.0)
        for i in range(n):
            total = G[row * n + i, lane]
            for k in range(i):
                total = total - M[i * n + k, lane] * Y[at + k, lane]
            total = total * M[i * n + i, lane]
            Y[at + i, lane] = total
            along = along + total * force[i, lane]
            whole = whole + total * total
        whole = whole * unit
        longest = where(less(longest, whole), whole, longest)
        for b in range(a):
            share = like(along, 0.0)
            for i in range(n):
                share = share + Y[b * n + i, lane] * Y[at + i, lane]
            share = share * inverse[b, lane]
            R[b * count + a, lane] = share
            for i in range(n):
                Y[at + i, lane] = Y[at + i, lane] - share * Y[b * n + i, lane]
            along = along - share * v[b, lane]
        rest = like(along, 0.0)
        for i in range(n):
            rest = rest + Y[at + i, lane] * Y[at + i, lane]
        inverse[a, lane] = 1.0 / rest
        v[a, lane] = along
    for a in range(count):
        unit = weight[used[a]] * weight[used[a]]
        flag = where(less(_NEARLY_REPEATED * longest * inverse[a, lane], like(longest, unit)), flag, 1.0)
    weak[1, lane] = flag
    for a in range(count - 1, -1, -1):
        share = v[a, lane] * inverse[a, lane]
        total = share
        for b in range(a + 1, count):
            total = total - R[a * count + b, lane] * multipliers[used[b], lane]
        multipliers[used[a], lane] = total
        v[a, lane] = share
    for i in range(n):
        total = force[i, lane]
        for a in range(count):
            total = total - Y[a * n + i, lane] * v[a, lane]
        force[i, lane] = total


@kernel
def back_substitute(n, M, force, udot, lane):
    """udot = L^-T force."""
    for i in range(n - 1, -1, -1):
        total = force[i, lane]
        for k in range(i + 1, n):
            total = total - M[k * n + i, lane] * udot[k, lane]
        udot[i, lane] = total * M[i * n + i, lane]


@kernel
def nonzero_rows(n, m, G, used):
    """The rows of G (m n, WIDTH) that are not zero in all lanes, into `used`; how many."""
    count = 0
    for r in range(m):
        size = 0.0
        for i in range(n):
            for lane in range(WIDTH):
                size = max(size, abs(G[r * n + i, lane]))
        if size != 0.0:
            used[count] = r
            count += 1
    return count


@kernel
def solve_constrained_lanes(w, tolerances, count_lanes, udot):
    """M udot + G^T lambda = force, G udot = right in eight lanes, where equations may repeat each other.

        M = L L^T,   Y = L^-1 G^T,   Y Y^T lambda = Y L^-1 force - right,   udot = L^-T (L^-1 force - Y^T lambda)

    Where as many equations as usual are not zero and all stand out clearly, lanes go together; else one by one.

    Args: count_lanes: so many lanes are wanted: the first ones. udot: (n, WIDTH).
    """
    n, m = udot.shape[0], w.g.shape[0]
    force, status, redundant = w.force, w.status, w.redundant
    factor_mass(n, lanes(w.M), lanes(force), tolerances.mass, lanes(w.weak), 0)
    for lane in range(WIDTH):
        for i in range(n):
            w.S[i, lane] = force[i, lane]  # twists have done their work: L^-1 force is kept there
    count = nonzero_rows(n, m, w.G, w.used)
    w.multipliers[:] = 0.0
    together = not count > tolerances.usual >= 0
    if together:
        eliminate(w, count, tolerances.weight)
    for lane in range(count_lanes):
        status[lane] = MASSLESS if w.weak[0, lane] != 0.0 else SOLVED
        redundant[lane] = m - count
        at, bad = 0, not together or w.weak[1, lane] != 0.0 or (tolerances.usual < 0 and w.far[lane] > 1e-6)
        for r in range(m):
            if at < count and w.used[at] == r:
                at += 1
            elif not abs(w.right[r, lane]) <= 1e-12:
                bad = True
        if bad and status[lane] == SOLVED:
            for i in range(n):
                force[i, lane] = w.S[i, lane]
            taken = solve_repeated(w, tolerances, lane)
            redundant[lane] = m - taken
            if taken < 0:
                status[lane] = UNCERTAIN if taken == DOUBTFUL else CONTRADICTING
    back_substitute(n, lanes(w.M), lanes(force), lanes(udot), 0)


@kernel
def allow(w, tolerances, decay, U, lane):
    """How far a pose is from its constraints, and what that and its speeds let repeated equations leave of each other.

    Rows that repeat others at a closed pose do so up to d at one that is off by d; so their second derivatives differ
    by d u^2, those of speeds that are off by e by e u, and what Baumgarte's rate a asks for by a d u and a^2 d^2.
    """
    far, fast, speed = 0.0, 0.0, 0.0
    for r in range(w.g.shape[0]):
        far = max(far, abs(w.g[r, lane]) * tolerances.unit[r])
        fast = max(fast, abs(w.drift[r, lane]) * tolerances.unit[r])
    for i in range(U.shape[0]):
        speed = max(speed, abs(U[i, lane]))
    w.far[lane] = far
    allowed = far * speed * (speed + decay) + (far * decay) ** 2 + fast * speed
    w.slack[lane] = DISAGREE * allowed + 1e-12 * (1.0 + speed)


@kernel
def constrained_lanes(p, w, x, loaded, count_lanes):
    """Accelerations x.D and multipliers of eight states; rows of w.g, w.G and w.bias not between bodies come filled in.

    Args:
        p: `ConstrainedSystem`. x: `StateLanes` with Q, U, T and, if `loaded`, E as in `rnea`.
        count_lanes: so many lanes are wanted: the first ones.
    """
    tree, table, decay, n, m = p.tree, p.table, p.decay, x.D.shape[0], w.g.shape[0]
    motion = Motion(lanes(x.Q), lanes(x.U), lanes(w.rest))
    rnea(tree, table, lanes(w.W), motion, Loads(lanes(x.E), loaded), lanes(w.force), 0)
    w.M[:] = 0.0
    placed_mass_matrix(tree, lanes(w.W), lanes(w.C), lanes(w.M), 0)
    kinematics(tree, table, lanes(w.W), motion, True, lanes(w.K), 0)
    twists(tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
    rows = BodyRows(n, lanes(w.g), lanes(w.G), lanes(w.bias))
    body_rows(p.equations, lanes(w.K), lanes(w.S), True, rows, 0)
    for r in range(m):
        for lane in range(WIDTH):
            w.drift[r, lane] = w.rate[r, lane]
        for i in range(n):
            for lane in range(WIDTH):
                w.drift[r, lane] += w.G[r * n + i, lane] * x.U[i, lane]
        for lane in range(WIDTH):
            fall = 2.0 * decay * w.drift[r, lane] + decay * decay * w.g[r, lane]
            w.right[r, lane] = -w.bias[r, lane] - fall
    for i in range(n):
        for lane in range(WIDTH):
            w.force[i, lane] = x.T[i, lane] - w.force[i, lane]
    for lane in range(count_lanes):
        allow(w, p.tolerances, decay, x.U, lane)
    solve_constrained_lanes(w, p.tolerances, count_lanes, x.D)


class ConstrainedFrames(NamedTuple):
    """Frames of such a system; residual, jacobian and bias come with the rows that are not between bodies."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    tau: FloatArray  # (frames, n_u)
    external: FloatArray  # (frames, 6 nodes) loads, or none
    rate: FloatArray  # (frames, m) partial derivatives by time
    residual: FloatArray  # (frames, m)
    jacobian: FloatArray  # (frames, m n_u)
    bias: FloatArray  # (frames, m)
    drift: FloatArray  # (frames, m) of the equations' derivatives
    udot: FloatArray  # (frames, n_u)
    multipliers: FloatArray  # (frames, m)
    status: IntArray  # (frames,) how each came out
    redundant: IntArray  # (frames,) equations that repeat others


@driver
def constrained_frames(p, frames, loaded, start, stop):
    """Frames start .. stop - 1 of `ConstrainedFrames`; p is a `ConstrainedSystem`."""
    n, m = p.tree.u_rows.size, frames.residual.shape[1]
    w, x = constrained_space(p.tree, m), state_lanes(0, frames.q.shape[1], n, frames.external.shape[1])
    for block in range(start, stop, WIDTH):
        take(frames.q, block, stop, x.Q)
        take(frames.u, block, stop, x.U)
        take(frames.tau, block, stop, x.T)
        if loaded:
            take(frames.external, block, stop, x.E)
        take(frames.residual, block, stop, w.g)
        take(frames.jacobian, block, stop, w.G)
        take(frames.bias, block, stop, w.bias)
        take(frames.rate, block, stop, w.rate)
        constrained_lanes(p, w, x, loaded, WIDTH)
        give(x.D, 0, n, frames.udot, block, stop)
        give(w.multipliers, 0, m, frames.multipliers, block, stop)
        give(w.g, 0, m, frames.residual, block, stop)
        give(w.G, 0, m * n, frames.jacobian, block, stop)
        give(w.bias, 0, m, frames.bias, block, stop)
        give(w.drift, 0, m, frames.drift, block, stop)
        for lane in range(min(WIDTH, stop - block)):
            frames.status[block + lane], frames.redundant[block + lane] = w.status[lane], w.redundant[lane]
