"""Residual, Jacobian and right-hand sides of all equations: sums of terms.

    Phi(x, t) = 0,   J v = nu,   J a = gamma

Source: Antunes2025 eq. 1-3, with angular velocities in body axes as in eq. 11, 14, 22, 25.
"""

from __future__ import annotations

from musculo.kernels.absolute.absolute_system import (
    ACCEL_BIAS,
    ALPHA_BIAS,
    ARM,
    BODY_ROWS,
    GIVEN_FRAME,
    GIVEN_OMEGA,
    GIVEN_VELOCITY,
    frame_row,
    scratch_row,
)
from musculo.kernels.absolute.constraint_terms import CONSTANT, FUNCTION, NUMBER, term_bias, term_gradient
from musculo.kernels.absolute.moving_frames import load9
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.functions.function_lanes import evaluate_function
from musculo.kernels.functions.function_values import evaluate_multivariate
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import accumulate3, add, cross, dot, load3, rotate_back, scale


@inline
def _of_frame(system, f, gradient, slots, placed, J, lane):
    """Add the gradient (w, v) by the twist of a frame to elements of J: of its body, and of its coordinates.

    slots: elements of the body's velocity and angular velocity, and the first of the coordinates'.
    """
    (w, v), (slot_v, slot_w, first), W, H = gradient, slots, placed.W, placed.H
    row = frame_row(system, f)
    if slot_v >= 0:
        accumulate3(J, slot_v, lane, v)
    if slot_w >= 0:
        turn = add(w, cross(load3(W, row + ARM, lane), v))
        accumulate3(J, slot_w, lane, rotate_back(load9(W, BODY_ROWS * system.frame_body[f], lane), turn))
    start = system.dof_first[f]
    for k in range(system.dof_first[f + 1] - start):
        slot = system.coordinate_slots[first + k]
        h = 6 * (start + k)
        J[slot, lane] = J[slot, lane] + dot(w, load3(H, h, lane)) + dot(v, load3(H, h + 3, lane))


@kernel
def _function(system, table, t, x, W, lane):
    """A function of coordinates and its derivatives into the scratch rows."""
    i, first, scratch = system.number[t], system.term_argument[t], scratch_row(system)
    m = table.n_arguments[i]
    if m <= 1:
        f, f1, f2 = evaluate_function(table, i, x[system.argument_rows[first], lane])
        W[scratch, lane] = f
        W[scratch + 1, lane] = f1
        W[scratch + 2, lane] = f2
    else:
        evaluate_multivariate(table, (i, m), x, system.argument_rows, first, lane, W, scratch)
    return m


@kernel
def position_rows(system, table, state, placed, rows, lane):
    """Phi, J, and nu, where all frames are placed: `AbsoluteState`, `PlacedFrames`, `EquationRows`."""
    x, S, W = state.x, state.signals, placed.W
    phi, nu, J = rows.phi, rows.nu, rows.J
    zero = like(W[0, lane], 0.0)
    scratch = scratch_row(system)
    for k in range(system.column.size):
        J[k, lane] = zero
    for r in range(system.equations):
        total, right = zero, zero
        for t in range(system.first_term[r], system.first_term[r + 1]):
            kind, c = system.kind[t], system.coefficient[t]
            if kind == NUMBER:
                total = total + c * S[system.number[t], lane]
                right = right - c * S[system.number[t] + 1, lane]
            elif kind == FUNCTION:
                m = _function(system, table, t, x, W, lane)
                total = total + c * W[scratch, lane]
                for k in range(m):
                    slot = system.coordinate_slots[system.slot_first[t] + k]
                    J[slot, lane] = J[slot, lane] + c * W[scratch + 1 + k, lane]
            elif kind == CONSTANT:
                total = total + c
            else:
                value, wA, vA, wB, vB = term_gradient(system, t, W, lane)
                total = total + c * value
                wA, vA, wB, vB = scale(c, wA), scale(c, vA), scale(c, wB), scale(c, vB)
                A, B, first = system.first_frame[t], system.second_frame[t], system.slot_first[t]
                slots = system.slots[t, 0], system.slots[t, 1], first
                _of_frame(system, A, (wA, vA), slots, placed, J, lane)
                first = first + system.dof_first[A + 1] - system.dof_first[A]
                slots = system.slots[t, 2], system.slots[t, 3], first
                _of_frame(system, B, (wB, vB), slots, placed, J, lane)
                if system.frame_kind[A] == GIVEN_FRAME:
                    row = frame_row(system, A)
                    right = right - dot(wA, load3(W, row + GIVEN_OMEGA, lane))
                    right = right - dot(vA, load3(W, row + GIVEN_VELOCITY, lane))
                if system.frame_kind[B] == GIVEN_FRAME:
                    row = frame_row(system, B)
                    right = right - dot(wB, load3(W, row + GIVEN_OMEGA, lane))
                    right = right - dot(vB, load3(W, row + GIVEN_VELOCITY, lane))
        phi[r, lane] = total
        nu[r, lane] = right


@kernel
def acceleration_rows(system, table, state, placed, gamma, lane):
    """gamma, where all frames move."""
    x, v, S = state.x, state.v, state.signals
    W = placed.W
    zero = like(W[0, lane], 0.0)
    scratch = scratch_row(system)
    speeds = 6 * system.bodies - 7 * system.bodies
    for r in range(system.equations):
        total = zero
        for t in range(system.first_term[r], system.first_term[r + 1]):
            kind, c = system.kind[t], system.coefficient[t]
            if kind == NUMBER:
                total = total + c * S[system.number[t] + 2, lane]
            elif kind == FUNCTION:
                m = _function(system, table, t, x, W, lane)
                first = system.term_argument[t]
                for k in range(m):
                    rate = v[speeds + system.argument_rows[first + k], lane]
                    for n in range(m):
                        other = v[speeds + system.argument_rows[first + n], lane]
                        total = total + c * W[scratch + 1 + m + m * k + n, lane] * rate * other
            elif kind != CONSTANT:
                value, wA, vA, wB, vB = term_gradient(system, t, W, lane)
                bias = term_bias(system, t, value, wB, vB, W, lane)
                A, B = frame_row(system, system.first_frame[t]), frame_row(system, system.second_frame[t])
                bias = bias + dot(wA, load3(W, A + ALPHA_BIAS, lane)) + dot(vA, load3(W, A + ACCEL_BIAS, lane))
                bias = bias + dot(wB, load3(W, B + ALPHA_BIAS, lane)) + dot(vB, load3(W, B + ACCEL_BIAS, lane))
                total = total + c * bias
        gamma[r, lane] = -total
