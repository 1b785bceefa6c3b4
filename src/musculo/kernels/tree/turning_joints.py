"""Coordinates of joints that turn freely: unit quaternions, and derivatives from angular velocities.

`speed_row` (n,) is the row of u of each coordinate or -1; `turning_q` (j, 4) are rows of three angles and -1 or of
quaternions; and `turning_u` (j, 3) rows of u.
"""

from __future__ import annotations

import math

from musculo.kernels.compiler.parts import kernel

# Angles of a ball whose second has a smaller cosine are in gimbal lock.
LOCKED = 1e-12


@kernel
def unit_quaternions(turning_q, q):
    """Make quaternions among q (n,) one long."""
    for j in range(turning_q.shape[0]):
        if turning_q[j, 3] >= 0:
            length = 0.0
            for i in range(4):
                length += q[turning_q[j, i]] ** 2
            for i in range(4):
                q[turning_q[j, i]] /= math.sqrt(length)


@kernel
def turn(speed_row, turning_q, turning_u, q, u, qdot):
    """qdot = N(q) u as `musculo.embedding.speed_rates` has N; whether no angles are in gimbal lock."""
    for i in range(qdot.size):
        if speed_row[i] >= 0:
            qdot[i] = u[speed_row[i]]
    for j in range(turning_q.shape[0]):
        at, w = turning_q[j], turning_u[j]
        w_x, w_y, w_z = u[w[0]], u[w[1]], u[w[2]]
        if at[3] >= 0:
            e_0, e_1, e_2, e_3 = q[at[0]], q[at[1]], q[at[2]], q[at[3]]
            qdot[at[0]] = 0.5 * (-e_1 * w_x - e_2 * w_y - e_3 * w_z)
            qdot[at[1]] = 0.5 * (e_0 * w_x + e_3 * w_y - e_2 * w_z)
            qdot[at[2]] = 0.5 * (-e_3 * w_x + e_0 * w_y + e_1 * w_z)
            qdot[at[3]] = 0.5 * (e_2 * w_x - e_1 * w_y + e_0 * w_z)
        else:
            s_0, c_0 = math.sin(q[at[0]]), math.cos(q[at[0]])
            s_1, c_1 = math.sin(q[at[1]]), math.cos(q[at[1]])
            if abs(c_1) < LOCKED:
                return False
            third = (c_0 * w_z - s_0 * w_y) / c_1
            qdot[at[0]], qdot[at[1]], qdot[at[2]] = w_x - s_1 * third, c_0 * w_y + s_0 * w_z, third
    return True
