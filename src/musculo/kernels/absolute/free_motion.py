"""Accelerations under forces, and states brought back onto the constraints.

    M a + J^T lambda = f,   J a = gamma

is solved by the augmented Lagrangian of Bayo and Ledesma (1996), cited by Antunes2025 for redundant constraints. With a
penalty p the matrix M + p J^T J is definite wherever constraints and inertia determine the motion, whether or not
equations repeat each other, and as sparse as the tree. Each round solves for what the equations still miss, so that the
answer depends on p by rounding only:

    (M + p J^T J) da = r_f + p J^T r_gamma,   dlambda = p (J da - r_gamma)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.absolute.absolute_system import (
    ACCEL_BIAS,
    ALPHA_BIAS,
    ARM,
    BODY_ROWS,
    OMEGA,
    PLACE,
    QUATERNION,
    VELOCITY,
    AbsoluteState,
    EquationRows,
    NormalEquations,
    PlacedFrames,
    absolute_space,
    columns_of,
    frame_row,
)
from musculo.kernels.absolute.body_forces import applied_forces, subtract_inertia
from musculo.kernels.absolute.constraint_rows import acceleration_rows, position_rows
from musculo.kernels.absolute.moving_frames import load4, load9, move, place_frames
from musculo.kernels.absolute.normal_equations import factor_normal, solve_factored
from musculo.kernels.compiler.parts import driver, inline, kernel
from musculo.kernels.scalar.packed import WIDTH, lanes
from musculo.kernels.scalar.vectors import add, add_scaled, cross, load3, rotate

# Rounds that solve for what is missed; each leaves a part of about one over the penalty.
_ROUNDS = 6
# Rows of the motion of a frame: Euler parameters, place, angular velocity, velocity, and their derivatives.
MOTION_ROWS = 19


class FreeFrames(NamedTuple):
    """What goes in and comes out, frames first."""

    x: FloatArray
    v: FloatArray
    signals: FloatArray
    forces: FloatArray  # (frames, columns)
    penalty: FloatArray  # (equations + 1,)
    baumgarte: float  # [1/s]
    a: FloatArray
    multipliers: FloatArray  # (frames, equations)
    pivot: FloatArray  # (frames,) the smallest
    motion: FloatArray  # (frames, MOTION_ROWS frames of the system), or no rows


@inline
def _fill(source, frame, target):
    for k in range(source.shape[1]):
        for lane in range(WIDTH):
            target[k, lane] = source[min(frame + lane, source.shape[0] - 1), k]


@kernel
def _missed(system, J, a, right, rest, lane):
    """rest <- right - J a."""
    for r in range(system.equations):
        total = right[r, lane]
        for k in range(system.row_first[r], system.row_first[r + 1]):
            total = total - J[k, lane] * a[system.column[k], lane]
        rest[r, lane] = total


@kernel
def _round(system, pattern, normal, force, rest, step, lane):
    """step <- N^-1 (force + J^T p rest)."""
    penalty, J, y = normal.weight, normal.J, normal.y
    n = pattern.position.size
    for k in range(n):
        y[pattern.position[k], lane] = force[k, lane]
    for r in range(system.equations):
        value = penalty[r] * rest[r, lane]
        for k in range(system.row_first[r], system.row_first[r + 1]):
            at = pattern.position[system.column[k]]
            y[at, lane] = y[at, lane] + J[k, lane] * value
    solve_factored(pattern, normal.N, y, lane)
    for k in range(n):
        step[k, lane] = y[pattern.position[k], lane]


@kernel
def _taken(system, penalty, J, rest, step, multipliers, left, lane):
    """multipliers and `left` (forces less those of constraints) after a step."""
    for r in range(system.equations):
        total = -rest[r, lane]
        for k in range(system.row_first[r], system.row_first[r + 1]):
            total = total + J[k, lane] * step[system.column[k], lane]
        change = penalty[r] * total
        multipliers[r, lane] = multipliers[r, lane] + change
        for k in range(system.row_first[r], system.row_first[r + 1]):
            column = system.column[k]
            left[column, lane] = left[column, lane] - J[k, lane] * change


@kernel
def frame_motions(system, a, placed, M, lane):
    """Pose, twist and acceleration of all frames."""
    W, H = placed.W, placed.H
    for f in range(system.frame_body.size):
        row, out, b = frame_row(system, f), MOTION_ROWS * f, system.frame_body[f]
        p = load4(W, row + QUATERNION, lane)
        for k in range(4):
            M[out + k, lane] = p[k]
        alpha, accel = load3(W, row + ALPHA_BIAS, lane), load3(W, row + ACCEL_BIAS, lane)
        if b > 0:
            turning = rotate(load9(W, BODY_ROWS * b, lane), load3(a, 6 * b - 3, lane))
            alpha = add(alpha, turning)
            accel = add(accel, add(load3(a, 6 * b - 6, lane), cross(turning, load3(W, row + ARM, lane))))
        for k in range(system.dof_first[f], system.dof_first[f + 1]):
            rate = a[6 * system.bodies + system.dof_coordinate[k], lane]
            alpha = add_scaled(alpha, rate, load3(H, 6 * k, lane))
            accel = add_scaled(accel, rate, load3(H, 6 * k + 3, lane))
        place, omega, velocity = (
            load3(W, row + PLACE, lane),
            load3(W, row + OMEGA, lane),
            load3(W, row + VELOCITY, lane),
        )
        for k in range(3):
            M[out + 4 + k, lane] = place[k]
            M[out + 7 + k, lane] = omega[k]
            M[out + 10 + k, lane] = velocity[k]
            M[out + 13 + k, lane] = alpha[k]
            M[out + 16 + k, lane] = accel[k]


@driver
def free_frames(system, table, pattern, given, start, stop):
    """Accelerations and multipliers of frames start .. stop - 1."""
    s = absolute_space(system, pattern, given.signals.shape[1])
    x, v, a, J = lanes(s.x), lanes(s.v), lanes(s.a), lanes(s.J)
    state, placed = AbsoluteState(x, v, lanes(s.signals)), PlacedFrames(lanes(s.W), lanes(s.H))
    rows = EquationRows(lanes(s.phi), lanes(s.nu), lanes(s.gamma), J)
    normal = NormalEquations(given.penalty, J, lanes(s.N), lanes(s.pivot), lanes(s.y))
    step, left, rest = lanes(s.step), lanes(s.left), lanes(s.rest)
    multipliers, force = lanes(s.multipliers), lanes(s.force)
    E = np.zeros((columns_of(system), WIDTH))
    M = np.zeros((MOTION_ROWS * system.frame_body.size, WIDTH))
    decay = given.baumgarte
    for block in range(start, stop, WIDTH):
        count = min(WIDTH, stop - block)
        _fill(given.x, block, s.x)
        _fill(given.v, block, s.v)
        _fill(given.signals, block, s.signals)
        _fill(given.forces, block, E)
        place_frames(system, table, state, True, placed, 0)
        position_rows(system, table, state, placed, rows, 0)
        acceleration_rows(system, table, state, placed, rows.gamma, 0)
        _missed(system, J, v, rows.nu, rest, 0)
        for r in range(system.equations):
            for lane in range(WIDTH):
                s.gamma[r, lane] += decay * (2.0 * s.rest[r, lane] - decay * s.phi[r, lane])
                s.multipliers[r, lane] = 0.0
        factor_normal(system, pattern, True, normal, 0)
        applied_forces(system, x, v, lanes(E), placed.W, force, 0)
        for k in range(s.a.shape[0]):
            for lane in range(WIDTH):
                s.a[k, lane] = 0.0
                s.left[k, lane] = s.force[k, lane]
        for _ in range(_ROUNDS):
            _missed(system, J, a, rows.gamma, rest, 0)
            _round(system, pattern, normal, left, rest, step, 0)
            _taken(system, given.penalty, J, rest, step, multipliers, left, 0)
            subtract_inertia(system, step, left, 0)
            for k in range(s.a.shape[0]):
                for lane in range(WIDTH):
                    s.a[k, lane] += s.step[k, lane]
        if given.motion.shape[0] > 0:
            place_frames(system, table, state, True, placed, 0)
            frame_motions(system, a, placed, lanes(M), 0)
        for lane in range(count):
            weakest = 1.0
            for k in range(s.a.shape[0]):
                given.a[block + lane, k] = s.a[k, lane]
                weakest = min(weakest, s.pivot[k, lane])
            given.pivot[block + lane] = weakest
            for r in range(system.equations):
                given.multipliers[block + lane, r] = s.multipliers[r, lane]
            if given.motion.shape[0] > 0:
                for k in range(M.shape[0]):
                    given.motion[block + lane, k] = M[k, lane]


@driver
def projected_state(system, table, pattern, start, penalty, tolerance, most_steps):
    """x and v of one `AbsoluteState` start brought onto the constraints in place, with the smallest change in the
    metric of the mass matrix.

    Returns how many steps of Newton's method it took, -1 where that did not end.
    """
    x0, v0, signals = start.x, start.v, start.signals
    s = absolute_space(system, pattern, signals.size)
    x, v, J = lanes(s.x), lanes(s.v), lanes(s.J)
    state, placed = AbsoluteState(x, v, lanes(s.signals)), PlacedFrames(lanes(s.W), lanes(s.H))
    rows = EquationRows(lanes(s.phi), lanes(s.nu), lanes(s.gamma), J)
    normal = NormalEquations(penalty, J, lanes(s.N), lanes(s.pivot), lanes(s.y))
    step, left, rest, multipliers = lanes(s.step), lanes(s.left), lanes(s.rest), lanes(s.multipliers)
    for lane in range(WIDTH):
        for k in range(x0.size):
            s.x[k, lane] = x0[k]
        for k in range(v0.size):
            s.v[k, lane] = v0[k]
        for k in range(signals.size):
            s.signals[k, lane] = signals[k]
    move(system, x, step, 0)  # by nothing: Euler parameters become unit
    taken = 0
    while True:
        place_frames(system, table, state, False, placed, 0)
        position_rows(system, table, state, placed, rows, 0)
        factor_normal(system, pattern, True, normal, 0)
        # of positions first, then of velocities: min |d|_M with J d = what is missed
        largest = 0.0
        for r in range(system.equations):
            largest = max(largest, abs(s.phi[r, 0])) if s.phi[r, 0] == s.phi[r, 0] else np.inf
        moving = largest > tolerance
        if moving and (taken == most_steps or largest == np.inf):
            return -1
        for k in range(s.a.shape[0]):
            for lane in range(WIDTH):
                s.a[k, lane] = 0.0
                s.left[k, lane] = 0.0
        for r in range(system.equations):
            for lane in range(WIDTH):
                s.gamma[r, lane] = -s.phi[r, lane]
                s.multipliers[r, lane] = 0.0
        if not moving:
            _missed(system, J, v, rows.nu, rows.gamma, 0)
        for _ in range(_ROUNDS):
            _missed(system, J, lanes(s.a), rows.gamma, rest, 0)
            _round(system, pattern, normal, left, rest, step, 0)
            _taken(system, penalty, J, rest, step, multipliers, left, 0)
            subtract_inertia(system, step, left, 0)
            for k in range(s.a.shape[0]):
                for lane in range(WIDTH):
                    s.a[k, lane] += s.step[k, lane]
        if not moving:
            break
        move(system, x, lanes(s.a), 0)
        taken += 1
    for k in range(x0.size):
        x0[k] = s.x[k, 0]
    for k in range(v0.size):
        v0[k] += s.a[k, 0]
    return taken
