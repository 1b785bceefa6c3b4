"""What a general node's joint does when one of its own coordinates or speeds changes, exactly.

Revolute and prismatic nodes need none of this: their hinge columns are constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import inline, kernel, room, spliced
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import cross, matmul, store3, subtract, transpose
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.nodes import FUNCTION, PRISMATIC, REVOLUTE, hinge_column, pose
from musculo.kernels.tree.rnea import joint_motion

# f(q + i h) = f(q) + i h f'(q) + O(h^2): with h so small nothing but rounding is left.
STEP = 1e-30

# Rows of a coordinate in the result; all vectors are in M, about M's origin, angular before linear.
OWN_TWIST = 0  # how the pose moves
OWN_VELOCITY = 6  # change of the joint's velocity
OWN_ACCEL = 12  # change of the joint's spatial acceleration: alpha, a - w x v
OWN_COLUMNS = 18  # change of up to six hinge columns
OWN_ROWS = 54
# Rows of a speed, after those of all coordinates: change of the joint's spatial acceleration.
OWN_SPEED_ROWS = 6


class ComplexJoint(NamedTuple):
    """One complex state of a tree, and the workspace of `place`."""

    q: FloatArray  # (n_q, 1)
    u: FloatArray  # (n_u, 1)
    udot: FloatArray  # (n_u, 1)
    W: FloatArray  # (work rows, 1)


@room
def complex_joint(n_q, n_u, rows):
    """Room for a tree with n_q coordinates and n_u speeds."""
    return ComplexJoint(
        np.zeros((n_q, 1), dtype=np.complex128),
        np.zeros((n_u, 1), dtype=np.complex128),
        np.zeros((n_u, 1), dtype=np.complex128),
        np.zeros((rows, 1), dtype=np.complex128),
    )


@spliced
def coordinates_end(tree, i):
    """One behind the last entry of node i in q_rows."""
    return tree.q_first[i + 1] if i + 1 < tree.parent.size else tree.q_rows.size


@spliced
def own_speed_row(tree, slot):
    """First row of a speed in the result of `joint_slopes`."""
    return OWN_ROWS * tree.q_rows.size + OWN_SPEED_ROWS * slot


@spliced
def own_slope_rows(tree):
    """Rows of the result of `joint_slopes`."""
    return OWN_ROWS * tree.q_rows.size + OWN_SPEED_ROWS * tree.u_rows.size


@inline
def slope3(v):
    """The derivative that an imaginary step left in a vector."""
    return v[0].imag / STEP, v[1].imag / STEP, v[2].imag / STEP


@inline
def slope9(R):
    return slope3((R[0], R[1], R[2])) + slope3((R[3], R[4], R[5])) + slope3((R[6], R[7], R[8]))


@inline
def real9(R):
    return R[0].real, R[1].real, R[2].real, R[3].real, R[4].real, R[5].real, R[6].real, R[7].real, R[8].real


@spliced
def _speeds_of_functions(tree, i, first, u, own, lane):
    """d(alpha_J, a_J - w_J x v_J)/du_m = sum over k of u_k (dH_m/dq_k + dH_k/dq_m), where qdot = u."""
    for m in range(tree.n_u[i]):
        to = own_speed_row(tree, tree.u_first[i] + m)
        for row in range(OWN_SPEED_ROWS):
            total = like(u[0, lane], 0.0)
            for k in range(tree.n_u[i]):
                there = own[OWN_ROWS * (first + k) + OWN_COLUMNS + 6 * m + row, lane]
                back = own[OWN_ROWS * (first + m) + OWN_COLUMNS + 6 * k + row, lane]
                total = total + u[tree.u_rows[tree.u_first[i] + k], lane] * (there + back)
            own[to + row, lane] = total


@kernel
def joint_slopes(tree, table, motion, x, own, lane):
    """Slopes of every general node's joint by its own coordinates and speeds, by the complex step through `place`.

        w~ = R^T dR/dq_k,   v = R^T dp/dq_k,   d(w_J, v_J)/dq_k,   d(alpha_J, a_J - w_J x v_J)/dq_k and /du_k,   dH/dq_k

    Args:
        tree, table: the model. motion: `Motion`, real. x: `ComplexJoint`.
        own: (`own_slope_rows`, lanes), written where a node is general.
    """
    q, u, udot = motion.q, motion.u, motion.udot
    for k in range(q.shape[0]):
        x.q[k, 0] = complex(q[k, lane], 0.0)
    for k in range(u.shape[0]):
        x.u[k, 0] = complex(u[k, lane], 0.0)
        x.udot[k, 0] = complex(udot[k, lane], 0.0)
    for i in range(1, tree.parent.size):
        kind = tree.kind[i]
        if kind in (REVOLUTE, PRISMATIC):
            continue
        first, last = tree.q_first[i], coordinates_end(tree, i)
        steps = last if kind == FUNCTION else last + tree.n_u[i]
        for k in range(first, steps):
            # one place in the source for coordinates and speeds: `place` is compiled into it once
            turned = k < last
            row = tree.q_rows[k] if turned else tree.u_rows[tree.u_first[i] + k - last]
            if turned:
                x.q[row, 0] = complex(q[row, lane], STEP)
            else:
                x.u[row, 0] = complex(u[row, lane], STEP)
            place(tree, table, i, x.q, x.u, True, x.W, 0)
            if turned:
                x.q[row, 0] = complex(q[row, lane], 0.0)
            omega, velocity, alpha, accel = joint_motion(tree, i, x.udot, x.W, 0)
            accel = subtract(accel, cross(omega, velocity))
            if turned:
                to = OWN_ROWS * k
                R, p = pose(tree, i, x.W, 0)
                back = transpose(real9(R))
                turn = matmul(back, slope9(R))
                v = slope3(p)
                store3(own, to + OWN_TWIST, lane, (turn[7], turn[2], turn[3]))
                store3(
                    own,
                    to + OWN_TWIST + 3,
                    lane,
                    (
                        back[0] * v[0] + back[1] * v[1] + back[2] * v[2],
                        back[3] * v[0] + back[4] * v[1] + back[5] * v[2],
                        back[6] * v[0] + back[7] * v[1] + back[8] * v[2],
                    ),
                )
                store3(own, to + OWN_VELOCITY, lane, slope3(omega))
                store3(own, to + OWN_VELOCITY + 3, lane, slope3(velocity))
                store3(own, to + OWN_ACCEL, lane, slope3(alpha))
                store3(own, to + OWN_ACCEL + 3, lane, slope3(accel))
                for j in range(tree.n_u[i]):
                    angular, linear = hinge_column(tree, i, j, x.W, 0)
                    store3(own, to + OWN_COLUMNS + 6 * j, lane, slope3(angular))
                    store3(own, to + OWN_COLUMNS + 6 * j + 3, lane, slope3(linear))
            else:
                x.u[row, 0] = complex(u[row, lane], 0.0)
                to = own_speed_row(tree, tree.u_first[i] + k - last)
                store3(own, to, lane, slope3(alpha))
                store3(own, to + 3, lane, slope3(accel))
        if kind == FUNCTION:
            _speeds_of_functions(tree, i, first, u, own, lane)
