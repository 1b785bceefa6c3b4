"""The rates of states of a mechanism with loops, eight at a time: embedded, or with constraints as equations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from musculo.kernels.closed import ClosedSpace, close_lanes, closed_lanes, closed_space
from musculo.kernels.constrained import (
    SOLVED,
    ConstrainedSpace,
    Tolerances,
    constrained_lanes,
    constrained_space,
    solve_constrained_lanes,
)
from musculo.kernels.crba import crba
from musculo.kernels.embedded import Followers
from musculo.kernels.jit import apart, driver, kernel
from musculo.kernels.kinematics import kinematics, twists
from musculo.kernels.loop_equations import BodyEquations, body_rows
from musculo.kernels.loop_solve import anchor, copy_lanes
from musculo.kernels.loop_space import FloatArray, IntArray, LoopTable, Search
from musculo.kernels.pack import WIDTH, lanes

# Positions closer to their constraints than this need no other correction [rad, m].
_CLOSED = 1e-12
_ROUNDS = 30


class Mechanism(NamedTuple):
    """A model whose constraints are one closed loop, and how its states are meant: y = (q[q_at], u[u_at])."""

    tree: Any
    table: Any
    loop: LoopTable
    search: Search
    followers: Followers
    equations: BodyEquations
    tolerances: Tolerances
    embedded: bool
    q_at: IntArray  # (n_z,) columns of q
    u_at: IntArray  # (n_z,) columns of u
    decay: float  # Baumgarte's rate, of constraints as equations
    margin: float  # a loop that is nearer to singular is refused
    pivot: float  # likewise of the mass matrix
    tau: FloatArray  # (n_u,) generalised forces that stay
    acts: int  # address of `forces(t, q, u, tau)` that adds to these; 0 for none


class Room(NamedTuple):
    """Where rates of eight states are computed; the pose that picks the branch is in closed.branch.a."""

    closed: ClosedSpace
    constrained: ConstrainedSpace
    Q: FloatArray
    U: FloatArray
    T: FloatArray
    D: FloatArray  # udot of all speeds
    E: FloatArray
    still: FloatArray  # (m,) zeros
    multipliers: FloatArray  # (m,)
    q: FloatArray  # (n,) one state, for the forces
    u: FloatArray
    tau: FloatArray
    how: IntArray  # (WIDTH,)
    many: IntArray  # (WIDTH,)


@driver
def room_for(p, n):
    """Room for the rates of eight states with n coordinates."""
    n_u, m = p.tree.u_rows.size, p.loop.row_scale.size
    return Room(
        closed_space(p.tree, p.loop, n),
        constrained_space(p.tree, m),
        np.zeros((n, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((n_u, WIDTH)),
        np.zeros((1, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros(n),
        np.zeros(n_u),
        np.zeros(n_u),
        np.zeros(WIDTH, dtype=np.int64),
        np.zeros(WIDTH, dtype=np.int64),
    )


@intrinsic
def _act(typingctx, address, t, q, u, tau):
    """Call the C function at an address with a time and three arrays."""

    def codegen(context, builder, signature, args):
        number = ir.DoubleType()
        kind = ir.FunctionType(ir.VoidType(), [number, *[number.as_pointer()] * 3])
        function = builder.inttoptr(args[0], kind.as_pointer())
        arrays = zip(signature.args[2:], args[2:], strict=True)
        data = [context.make_array(part)(context, builder, value).data for part, value in arrays]
        builder.call(function, [args[1], *data])
        return context.get_dummy_value()

    return types.none(types.int64, types.float64, q, u, tau), codegen


@kernel
def _forces(p, r, t, real):
    """Generalised forces of every lane into r.T."""
    n_u = r.U.shape[0]
    for lane in range(WIDTH):
        if lane < real and p.acts != 0:
            for k in range(r.Q.shape[0]):
                r.q[k] = r.Q[k, lane]
            for k in range(n_u):
                r.u[k], r.tau[k] = r.U[k, lane], p.tau[k]
            _act(p.acts, t, r.q, r.u, r.tau)
        elif p.acts == 0:
            for k in range(n_u):
                r.tau[k] = p.tau[k]
        # lanes beyond the last one have its forces
        for k in range(n_u):
            r.T[k, lane] = r.tau[k]


@kernel
def settle(p, r):
    """Take the pose in r.Q, all lanes alike, as the one that picks the branch, with what was computed there."""
    a, w = r.closed.branch.a, r.closed.w
    copy_lanes(w.Q, a.Q)
    copy_lanes(w.g, a.g)
    copy_lanes(w.A, a.A)
    copy_lanes(w.basis, a.basis)
    copy_lanes(w.factor, a.factor)
    copy_lanes(w.inverse, a.inverse)
    copy_lanes(w.margin, a.margin)
    for i in range(w.count[0]):
        a.used[i] = w.used[i]
    a.count[0] = w.count[0]


@kernel
def begin(p, r, q):
    """Take the pose q (n,) as the one that picks the branch, and as what coordinates outside the states are."""
    for k in range(q.size):
        for lane in range(WIDTH):
            r.Q[k, lane] = q[k]
            r.closed.branch.a.Q[k, lane] = q[k]
    if p.embedded:
        anchor(p.tree, p.table, p.loop, r.closed.branch.a)


@kernel
def rates(p, r, t, Y, real, F):
    """F (2 n_z, WIDTH) = dY/dt at time t; whether all of the first `real` lanes have rates.

    Leaves coordinates, speeds and accelerations of all the tree in r.Q, r.U and r.D.
    """
    apart()
    n_z = p.q_at.size
    for k in range(n_z):
        for lane in range(WIDTH):
            r.Q[p.q_at[k], lane] = Y[k, lane]
            r.U[p.u_at[k], lane] = Y[n_z + k, lane]
    fine = True
    if p.embedded:
        s = r.closed
        close_lanes(p.tree, p.table, p.loop, p.search, s, real, r.Q, r.U)
        for lane in range(real):
            fine = fine and s.done[lane] == 1.0 and s.w.margin[0, lane] > p.margin
        if not fine:
            return False
        _forces(p, r, t, real)
        closed_lanes(p.tree, p.table, p.loop, p.followers, s, r.Q, r.U, r.T, r.E, False, r.D)
        for k in range(r.U.shape[0]):
            for lane in range(real):
                fine = fine and s.pivot[k, lane] > p.pivot
    else:
        _forces(p, r, t, real)
        w = r.constrained
        constrained_lanes(
            p.tree, p.table, p.equations, w, r.Q, r.U, r.T, r.E, False, r.still, p.decay, p.tolerances, r.D,
            r.multipliers, r.how, r.many,
        )  # fmt: skip
        for lane in range(real):
            fine = fine and r.how[lane] == SOLVED
    for k in range(n_z):
        for lane in range(WIDTH):
            F[k, lane] = r.U[p.u_at[k], lane]
            F[n_z + k, lane] = r.D[p.u_at[k], lane]
    for k in range(2 * n_z):
        for lane in range(real):
            fine = fine and np.isfinite(F[k, lane])
    return fine


@kernel
def project(p, r, y):
    """y (2 n,), all coordinates and speeds, back onto the constraints, nearest in the mass matrix; whether it came.

    As `project_position` and `project_velocity` of `musculo.simulation.constrained`.
    """
    apart()
    w, n = r.constrained, p.q_at.size
    m = w.g.shape[0]
    for _ in range(_ROUNDS):
        for k in range(n):
            for lane in range(WIDTH):
                r.Q[p.q_at[k], lane] = y[k]
        kinematics(p.tree, p.table, lanes(r.Q), lanes(r.U), lanes(w.rest), False, lanes(w.W), lanes(w.K), 0)
        twists(p.tree, lanes(w.W), lanes(w.K), lanes(w.S), 0)
        body_rows(p.equations, lanes(w.K), lanes(w.S), False, n, lanes(w.g), lanes(w.G), lanes(w.bias), 0)
        far = 0.0
        for i in range(m):
            far = max(far, abs(w.g[i, 0]))
            for lane in range(WIDTH):
                w.right[i, lane] = -w.g[i, lane]
        if not np.isfinite(far):
            return False
        if not _step(p, r):
            return False
        for k in range(n):
            y[k] += r.D[p.u_at[k], 0]
        if far <= _CLOSED:
            break
    if not far <= 1e3 * _CLOSED:
        return False
    # G is that of a pose nearer than rounding shows
    for i in range(m):
        for lane in range(WIDTH):
            w.right[i, lane] = 0.0
        for k in range(n):
            for lane in range(WIDTH):
                w.right[i, lane] -= w.G[i * n + p.u_at[k], lane] * y[n + k]
    if not _step(p, r):
        return False
    for k in range(n):
        y[n + k] += r.D[p.u_at[k], 0]
    return True


@kernel
def _step(p, r):
    """The smallest change r.D of speeds, in the mass matrix, that does what w.right asks."""
    apart()
    w, n = r.constrained, p.q_at.size
    w.M[:] = 0.0
    w.force[:] = 0.0
    crba(p.tree, p.table, lanes(r.Q), lanes(w.W), lanes(w.C), lanes(w.M), 0)
    solve_constrained_lanes(n, w.g.shape[0], w, p.tolerances, r.D, r.multipliers, r.how, r.many)
    return r.how[0] == SOLVED
