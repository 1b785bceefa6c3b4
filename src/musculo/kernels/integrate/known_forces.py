"""Forces of one state that are compiled ahead: (t, q, u, tau, ...) adds to tau, as `KernelForce` calls it."""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.kernels.compiler.parts import kernel


class TurningSpring(NamedTuple):
    """A linear spring in a plane, from a fixed point to a point of a body that turns about a fixed pin."""

    coordinate: int  # the angle of the body [rad]
    pin_x: float  # the pin, seen from the fixed point [m]
    pin_y: float
    arm_x: float  # the point on the body, seen from the pin at angle zero [m]
    arm_y: float
    stiffness: float  # [N/m]
    rest: float  # its length at rest [m]


@kernel
def turning_spring(t, q, u, tau, spring, driven, torque):
    """The spring's moment on its coordinate, and a constant torque on the coordinate `driven` [N m]."""
    s, c = math.sin(q[spring.coordinate]), math.cos(q[spring.coordinate])
    ax, ay = spring.arm_x * c - spring.arm_y * s, spring.arm_x * s + spring.arm_y * c
    x, y = ax + spring.pin_x, ay + spring.pin_y
    length = math.hypot(x, y)
    pull = spring.stiffness * (length - spring.rest) / length
    tau[spring.coordinate] -= pull * (y * ax - x * ay)
    tau[driven] += torque


@kernel
def spline_force(t, q, u, tau, coordinate, starts, rows):
    """A force on a coordinate that is a piecewise polynomial of it; the pieces at the ends go on beyond them.

    Args: starts: (pieces,) where each begins. rows: (pieces, degree + 1) coefficients of powers of what the coordinate
        is above that, the highest first.
    """
    x, low, high = q[coordinate], 0, starts.size - 1
    while low < high:
        middle = (low + high + 1) // 2
        if starts[middle] <= x:
            low = middle
        else:
            high = middle - 1
    value = 0.0
    for k in range(rows.shape[1]):
        value = value * (x - starts[low]) + rows[low, k]
    tau[coordinate] += value
