"""Where frames are, how they move with their bodies, and how on them."""

from __future__ import annotations

from musculo.kernels.absolute.absolute_system import (
    ACCEL_BIAS,
    ALPHA_BIAS,
    ARM,
    BODY_ROWS,
    FUNCTION_FRAME,
    GIVEN_FRAME,
    GIVEN_OMEGA,
    GIVEN_VELOCITY,
    OMEGA,
    PLACE,
    QUATERNION,
    ROTATION,
    VELOCITY,
    frame_row,
    scratch_row,
)
from musculo.kernels.absolute.euler_parameter_tuples import about, product, rotation, turned, unit
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.functions.function_lanes import evaluate_function
from musculo.kernels.functions.function_values import evaluate_multivariate
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import add, add_scaled, cross, load3, rotate, scale, store3, subtract


@inline
def load4(W, row, lane):
    """Four rows."""
    return W[row, lane], W[row + 1, lane], W[row + 2, lane], W[row + 3, lane]


@inline
def store4(W, row, lane, p):
    """Write Euler parameters into four rows."""
    W[row, lane] = p[0]
    W[row + 1, lane] = p[1]
    W[row + 2, lane] = p[2]
    W[row + 3, lane] = p[3]


@inline
def load9(W, row, lane):
    """A rotation."""
    return (
        W[row, lane],
        W[row + 1, lane],
        W[row + 2, lane],
        W[row + 3, lane],
        W[row + 4, lane],
        W[row + 5, lane],
        W[row + 6, lane],
        W[row + 7, lane],
        W[row + 8, lane],
    )


@inline
def store9(W, row, lane, R):
    """Write a rotation."""
    for k in range(9):
        W[row + k, lane] = R[k]


@inline
def four(array, i, zero):
    """Four constants of row i in the scalar's own type."""
    return zero + array[i, 0], zero + array[i, 1], zero + array[i, 2], zero + array[i, 3]


@inline
def three(array, i, zero):
    """Three constants of row i in the scalar's own type."""
    return zero + array[i, 0], zero + array[i, 1], zero + array[i, 2]


@inline
def body_quaternion(b, x, zero, one, lane):
    """Euler parameters of a body; ground has (1, 0, 0, 0)."""
    if b == 0:
        return one, zero, zero, zero
    return load4(x, 7 * b - 4, lane)


@inline
def body_place(b, x, zero, lane):
    """Mass center of a body."""
    if b == 0:
        return zero, zero, zero
    return load3(x, 7 * b - 7, lane)


@kernel
def place_bodies(system, x, v, moving, W, lane):
    """Rotations of all bodies and, if moving, their angular velocities in ground."""
    zero = like(W[0, lane], 0.0)
    one = like(W[0, lane], 1.0)
    for b in range(system.bodies + 1):
        row = BODY_ROWS * b
        R = rotation(body_quaternion(b, x, zero, one, lane))
        store9(W, row, lane, R)
        if moving and b > 0:
            store3(W, row + 9, lane, rotate(R, load3(v, 6 * b - 3, lane)))


@kernel
def function_motion(system, table, f, state, moving, placed, lane):
    """The motion of a frame by functions of coordinates, in the frame that it moves in.

        p = p1 p2 p3, each about an axis of what is turned already,   r = sum_j f_j a_j + R after,
        omega = sum_j d_j fdot_j,   alpha = sum_j (d_j fddot_j + omega_before x d_j fdot_j)

    Writes the twist by each coordinate; returns Euler parameters, place, omega, velocity, and alpha and acceleration
    at zero second derivatives of the coordinates.
    """
    x, v = state.x, state.v
    W, H = placed.W, placed.H
    zero = like(W[0, lane], 0.0)
    one = like(W[0, lane], 1.0)
    first, last = system.dof_first[f], system.dof_first[f + 1]
    for k in range(6 * first, 6 * last):
        H[k, lane] = zero
    p = (one, zero, zero, zero)
    r, omega, velocity = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    alpha, accel = (zero, zero, zero), (zero, zero, zero)
    scratch = scratch_row(system)
    speeds = 6 * system.bodies
    for j in range(6):
        function = system.frame_function[f, j]
        if function < 0:
            continue
        axis = (
            zero + system.frame_axes[f, j, 0],
            zero + system.frame_axes[f, j, 1],
            zero + system.frame_axes[f, j, 2],
        )
        m = table.n_arguments[function]
        start = system.argument_first[f, j]
        if m <= 1:
            value, slope, bend = evaluate_function(table, function, x[system.argument_rows[start], lane])
            W[scratch, lane] = value
            W[scratch + 1, lane] = slope
            W[scratch + 2, lane] = bend
        else:
            evaluate_multivariate(table, (function, m), x, system.argument_rows, start, lane, W, scratch)
            value = W[scratch, lane]
        direction = rotate(rotation(p), axis) if j < 3 else axis
        rate, bent = zero, zero
        for k in range(m):
            dof = first + system.argument_dof[start + k]
            slope = W[scratch + 1 + k, lane]
            row = 6 * dof + (0 if j < 3 else 3)
            store3(H, row, lane, add_scaled(load3(H, row, lane), slope, direction))
            if moving:
                speed = v[speeds + system.dof_coordinate[dof], lane]
                rate = rate + slope * speed
                for n in range(m):
                    other = v[speeds + system.dof_coordinate[first + system.argument_dof[start + n]], lane]
                    bent = bent + W[scratch + 1 + m + m * k + n, lane] * speed * other
        if j < 3:
            alpha = add(add_scaled(alpha, bent, direction), scale(rate, cross(omega, direction)))
            omega = add_scaled(omega, rate, direction)
            p = product(p, about(axis, value))
        else:
            r = add_scaled(r, value, direction)
            velocity = add_scaled(velocity, rate, direction)
            accel = add_scaled(accel, bent, direction)
    arm = rotate(rotation(p), three(system.after_place, f, zero))
    for k in range(first, last):
        turn = load3(H, 6 * k, lane)
        store3(H, 6 * k + 3, lane, add(load3(H, 6 * k + 3, lane), cross(turn, arm)))
    velocity = add(velocity, cross(omega, arm))
    accel = add(accel, add(cross(alpha, arm), cross(omega, cross(omega, arm))))
    return p, add(r, arm), omega, velocity, alpha, accel


@kernel
def place_frame(system, table, f, state, moving, placed, lane):
    """One frame whose body is placed: pose and, if moving, twist and the accelerations that velocities alone give."""
    x, v, S = state.x, state.v, state.signals
    W, H = placed.W, placed.H
    zero = like(W[0, lane], 0.0)
    one = like(W[0, lane], 1.0)
    b = system.frame_body[f]
    row = frame_row(system, f)
    R_b, base = load9(W, BODY_ROWS * b, lane), body_quaternion(b, x, zero, one, lane)
    p = product(base, four(system.frame_quaternion, f, zero))
    arm = rotate(R_b, three(system.frame_place, f, zero))
    kind = system.frame_kind[f]
    turn, slide = (zero, zero, zero), (zero, zero, zero)
    alpha, accel = (zero, zero, zero), (zero, zero, zero)
    if kind == FUNCTION_FRAME:
        R = rotation(p)
        q, r, turn, slide, alpha, accel = function_motion(system, table, f, state, moving, placed, lane)
        for k in range(2 * system.dof_first[f], 2 * system.dof_first[f + 1]):
            store3(H, 3 * k, lane, rotate(R, load3(H, 3 * k, lane)))
        p = product(product(p, q), four(system.after_quaternion, f, zero))
        arm = add(arm, rotate(R, r))
        turn, slide, alpha, accel = rotate(R, turn), rotate(R, slide), rotate(R, alpha), rotate(R, accel)
    elif kind == GIVEN_FRAME:
        g = system.frame_given[f]
        R = rotation(p)
        p = product(p, unit(load4(S, g, lane)))
        arm = add(arm, rotate(R, load3(S, g + 4, lane)))
        turn, slide = rotate(R, load3(S, g + 7, lane)), rotate(R, load3(S, g + 10, lane))
        store3(W, row + GIVEN_OMEGA, lane, turn)
        store3(W, row + GIVEN_VELOCITY, lane, slide)
        if moving:
            alpha, accel = rotate(R, load3(S, g + 13, lane)), rotate(R, load3(S, g + 16, lane))
    store4(W, row + QUATERNION, lane, p)
    store9(W, row + ROTATION, lane, rotation(p))
    store3(W, row + ARM, lane, arm)
    store3(W, row + PLACE, lane, add(body_place(b, x, zero, lane), arm))
    if moving:
        omega, velocity = (zero, zero, zero), (zero, zero, zero)
        if b > 0:
            omega, velocity = load3(W, BODY_ROWS * b + 9, lane), load3(v, 6 * b - 6, lane)
        swing = cross(omega, arm)
        store3(W, row + OMEGA, lane, add(omega, turn))
        store3(W, row + VELOCITY, lane, add(add(velocity, swing), slide))
        store3(W, row + ALPHA_BIAS, lane, add(alpha, cross(omega, turn)))
        coriolis = cross(omega, add_scaled(swing, 2.0, slide))
        store3(W, row + ACCEL_BIAS, lane, add(accel, coriolis))


@kernel
def place_frames(system, table, state, moving, placed, lane):
    """All bodies and frames of an `AbsoluteState` into `PlacedFrames`."""
    place_bodies(system, state.x, state.v, moving, placed.W, lane)
    for f in range(system.frame_body.size):
        place_frame(system, table, f, state, moving, placed, lane)


@kernel
def assemble(system, table, state, placed, lane):
    """Place body after body from ground on, so that at every joint of the tree its two frames coincide.

    The coordinates in state.x and what is given over time say where the frames are on their bodies.
    """
    x, W = state.x, placed.W
    zero = like(W[0, lane], 0.0)
    one = like(W[0, lane], 1.0)
    store9(W, 0, lane, rotation((one, zero, zero, zero)))
    for j in range(system.chain_known.size):
        known, other = system.chain_known[j], system.chain_placed[j]
        b = system.frame_body[other]
        place_frame(system, table, known, state, False, placed, lane)
        # where the frame to be placed is on its own body, as if that were ground
        store4(x, 7 * b - 4, lane, (one, zero, zero, zero))
        store3(x, 7 * b - 7, lane, (zero, zero, zero))
        store9(W, BODY_ROWS * b, lane, rotation((one, zero, zero, zero)))
        place_frame(system, table, other, state, False, placed, lane)
        target, own = frame_row(system, known), frame_row(system, other)
        q = load4(W, own + QUATERNION, lane)
        p = unit(product(load4(W, target + QUATERNION, lane), (q[0], -q[1], -q[2], -q[3])))
        R = rotation(p)
        r = subtract(load3(W, target + PLACE, lane), rotate(R, load3(W, own + ARM, lane)))
        store4(x, 7 * b - 4, lane, p)
        store3(x, 7 * b - 7, lane, r)
        store9(W, BODY_ROWS * b, lane, R)


@kernel
def move(system, x, step, lane):
    """x after a step of the velocities' kind: positions and coordinates add, Euler parameters turn."""
    for b in range(system.bodies):
        store3(x, 7 * b, lane, add(load3(x, 7 * b, lane), load3(step, 6 * b, lane)))
        store4(x, 7 * b + 3, lane, turned(load4(x, 7 * b + 3, lane), load3(step, 6 * b + 3, lane)))
    for k in range(system.coordinates):
        row = 7 * system.bodies + k
        x[row, lane] = x[row, lane] + step[6 * system.bodies + k, lane]
