"""What bodies need beyond the forces given, and what constraints exert."""

from __future__ import annotations

from musculo.kernels.absolute.absolute_system import BODY_ROWS, PLACE, ROTATION, frame_row
from musculo.kernels.absolute.moving_frames import load9
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    load3,
    rotate,
    rotate_back,
    store3,
    subtract,
    symmetric_times,
)


@inline
def _inertia(system, b):
    J = system.inertia
    return J[b, 0], J[b, 1], J[b, 2], J[b, 3], J[b, 4], J[b, 5]


@kernel
def applied_forces(system, x, v, E, W, force, lane):
    """g of M a + J^T lambda = g (Antunes2025 eq. 4): gravity, given loads, gyroscopic moments.

    E: of each body the force and its moment about ground's origin, in ground; then the forces on coordinates.
    """
    zero = like(W[0, lane], 0.0)
    for b in range(1, system.bodies + 1):
        e = 6 * b - 6
        given = load3(E, e, lane)
        weight = (
            zero + system.mass[b] * system.gravity[0],
            zero + system.mass[b] * system.gravity[1],
            zero + system.mass[b] * system.gravity[2],
        )
        store3(force, e, lane, add(given, weight))
        moment = subtract(load3(E, e + 3, lane), cross(load3(x, 7 * b - 7, lane), given))
        omega = load3(v, e + 3, lane)
        spin = cross(omega, symmetric_times(_inertia(system, b), omega))
        store3(force, e + 3, lane, subtract(rotate_back(load9(W, BODY_ROWS * b, lane), moment), spin))
    for k in range(6 * system.bodies, 6 * system.bodies + system.coordinates):
        force[k, lane] = E[k, lane]


@kernel
def subtract_inertia(system, a, force, lane):
    """force <- force - M a."""
    for b in range(1, system.bodies + 1):
        e = 6 * b - 6
        store3(force, e, lane, add_scaled(load3(force, e, lane), -system.mass[b], load3(a, e, lane)))
        turning = symmetric_times(_inertia(system, b), load3(a, e + 3, lane))
        store3(force, e + 3, lane, subtract(load3(force, e + 3, lane), turning))


@kernel
def constraint_loads(system, x, multipliers, J, W, loads, lane):
    """Force, and moment about a frame's origin, that some of the equations exert on a body: -J^T lambda."""
    zero = like(W[0, lane], 0.0)
    for i in range(system.load_body.size):
        b = system.load_body[i]
        force, moment = (zero, zero, zero), (zero, zero, zero)
        first = 6 * b - 6
        for k in range(6):
            loads[6 * i + k, lane] = zero
        for n in range(system.load_first[i], system.load_first[i + 1]):
            r = system.load_rows[n]
            for k in range(system.row_first[r], system.row_first[r + 1]):
                c = system.column[k] - first
                if 0 <= c < 6:
                    loads[6 * i + c, lane] = loads[6 * i + c, lane] - J[k, lane] * multipliers[r, lane]
        force = load3(loads, 6 * i, lane)
        f = frame_row(system, system.load_frame[i])
        moment = rotate(load9(W, BODY_ROWS * b, lane), load3(loads, 6 * i + 3, lane))
        # the frame is on this body or coincides with one that is
        arm = subtract(load3(W, f + PLACE, lane), load3(x, 7 * b - 7, lane))
        moment = subtract(moment, cross(arm, force))
        if system.load_axes[i] >= 0:
            R = load9(W, frame_row(system, system.load_axes[i]) + ROTATION, lane)
            force, moment = rotate_back(R, force), rotate_back(R, moment)
        store3(loads, 6 * i, lane, force)
        store3(loads, 6 * i + 3, lane, moment)
