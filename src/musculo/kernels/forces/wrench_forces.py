"""Generalized forces of wrenches on nodes."""

from __future__ import annotations

from musculo.kernels.compiler.parts import apart, kernel
from musculo.kernels.scalar.vectors import accumulate3, cross, dot, load3, rotate, subtract
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, POSITION, ROTATION
from musculo.kernels.tree.nodes import hinge_column, load_rotation


@kernel
def pull_back(tree, W, motion, E, tau, lane):
    """Add J^T E to tau: the power of each unit speed, tip to base.

    Call after `kinematics`, with its W and motion.

    Guarantees: tau . u = sum over nodes of wrench . twist.

    Args:
        tree: the model. W, motion: as `kinematics` leaves them. tau: (speeds, lanes), added to.
        E: (6 nodes, lanes) force, then moment about ground's origin, on each node, in ground, as `rnea` takes it;
            afterwards what each joint carries.
    """
    apart()
    for i in range(tree.parent.size - 1, 0, -1):
        o = i * MOTION_ROWS
        R_W = load_rotation(motion, o + ROTATION, lane)
        p_W = load3(motion, o + POSITION, lane)
        force, about_ground = load3(E, 6 * i, lane), load3(E, 6 * i + 3, lane)
        moment = subtract(about_ground, cross(p_W, force))
        for k in range(tree.n_u[i]):
            angular, linear = hinge_column(tree, i, k, W, lane)
            power = dot(rotate(R_W, angular), moment) + dot(rotate(R_W, linear), force)
            row = tree.u_rows[tree.u_first[i] + k]
            tau[row, lane] = tau[row, lane] + power
        # in ground and about its origin, so a parent carries the sum
        up = 6 * tree.parent[i]
        accumulate3(E, up, lane, force)
        accumulate3(E, up + 3, lane, about_ground)
