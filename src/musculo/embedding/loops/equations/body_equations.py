"""Equations that tie two bodies together: what one frame sees of the other.

A point P2 of the second body, seen from a frame F of the first, with r from F's origin to P2:

    s     = R_F^T r
    sdot  = R_F^T (v_2 - v_1 - w_1 x r)                                          = S u
    sddot = R_F^T (a_2 - a_1 - alpha_1 x r - 2 w_1 x (v_2 - v_1) + w_1 x (w_1 x r))

    points that coincide:  s = 0                  a point on a line:  d_1 . s = d_2 . s = 0, both d across the line
    points at a distance:  |s| - distance = 0     frames that coincide: s = 0 and phi = 0,

with phi = 1/2 sum of e_k x R e_k the sine of the angle along its axis, phidot = 1/2 (tr R - R) w, R = R_F1F2. Only
speeds that move one of the bodies and not the other have columns in S; the others have zeros, not rounding. The numbers
come from `musculo.kernels.constraints.body_loop_equations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel
from musculo.compile.joint_nodes import placed
from musculo.errors import InvalidModel, UnknownName
from musculo.kernels.constraints.body_loop_equations import AT_DISTANCE, COINCIDENT, ON_LINE, WELDED
from musculo.kernels.tree.node_kinematics import MOTION_ROWS
from musculo.kernels.tree.tree_frames import MotionFrames, kinematics_frames, over_frames
from musculo.model.body import Placement
from musculo.model.model_constraint import (
    ConstantDistanceConstraint,
    Constraint,
    PointConstraint,
    PointOnLineConstraint,
    WeldConstraint,
)
from musculo.spatial.pose import Pose

_COUNTS = {COINCIDENT: 3, ON_LINE: 2, AT_DISTANCE: 1, WELDED: 6}


class TreePoses(NamedTuple):
    """All nodes of a tree over frames, in ground."""

    R: FloatArray  # (frames, nodes, 3, 3)
    p: FloatArray  # (frames, nodes, 3)
    twists: FloatArray  # (frames, n_u, 2, 3): w, and v at ground's origin, that each unit speed gives


def tree_poses(c: CompiledModel, Q: FloatArray, threads: int | None = None) -> TreePoses:
    """Poses and Jacobian columns of all nodes."""
    frames, nodes = len(Q), c.tree.parent.size
    rest = np.zeros((1, c.n_u))
    out, columns = np.empty((frames, MOTION_ROWS * nodes)), np.empty((frames, 6 * c.n_u))
    inputs = (c.tree, c.table, MotionFrames(np.ascontiguousarray(Q), rest, rest), False, out, columns)
    over_frames(kinematics_frames, inputs, frames, threads)
    rows = out.reshape(frames, nodes, MOTION_ROWS)
    return TreePoses(rows[:, :, :9].reshape(frames, nodes, 3, 3), rows[:, :, 9:12], columns.reshape(frames, -1, 2, 3))


@dataclass(frozen=True, eq=False)
class BodyEquation:
    """One constraint between two bodies, on the compiled tree."""

    name: str
    kind: int
    first_body: str
    second_body: str
    nodes: tuple[int, int]
    poses: tuple[Pose, Pose]  # of the two frames in their nodes
    columns: NDArray[np.int64]  # the speeds that it feels
    sign: FloatArray  # of each: 1 where it moves the second body, -1 where the first
    across: FloatArray  # (2, 3) directions across a line
    distance: float

    @property
    def count(self) -> int:
        """How many equations it has."""
        return _COUNTS[self.kind]

    def place(self, m: TreePoses) -> FloatArray:
        """(frames, 3) origin of the second frame in ground."""
        node = self.nodes[1]
        return np.asarray(m.p[:, node] + m.R[:, node] @ self.poses[1].p)

    def wrench(self, m: TreePoses, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Force and moment (frames, 3) at the second frame's origin that the constraint exerts on the second body.

        The first body feels the opposite at the same point of ground. The sign is that of M udot + G^T lambda = f.
        """
        node, X = self.nodes[0], self.poses[0]
        R_1 = m.R[:, node] @ X.R
        r = self.place(m) - m.p[:, node] - m.R[:, node] @ X.p
        moment = np.zeros_like(r)
        if self.kind == AT_DISTANCE:
            return -multipliers * r / np.sqrt(np.sum(r * r, axis=1, keepdims=True)), moment
        pull = multipliers @ self.across if self.kind == ON_LINE else multipliers[:, -3:]
        if self.kind == WELDED:
            R = np.swapaxes(R_1, 1, 2) @ m.R[:, self.nodes[1]] @ self.poses[1].R
            K = 0.5 * (np.trace(R, axis1=1, axis2=2)[:, None, None] * np.eye(3) - R)
            moment = -np.einsum("fij,fkj,fk->fi", R_1, K, multipliers[:, :3])
        return -np.einsum("fij,fj->fi", R_1, pull), moment


def body_equation(c: CompiledModel, constraint: Constraint) -> BodyEquation | None:
    """The equations of a constraint between bodies; None for one of another kind."""
    across, distance = np.zeros((2, 3)), 0.0
    if isinstance(constraint, WeldConstraint):
        kind, first, second = WELDED, constraint.first, constraint.second
    elif isinstance(constraint, PointConstraint | ConstantDistanceConstraint):
        kind = COINCIDENT
        first = Placement(constraint.first_body, constraint.first_location)
        second = Placement(constraint.second_body, constraint.second_location)
        if isinstance(constraint, ConstantDistanceConstraint):
            kind, distance = AT_DISTANCE, constraint.distance
            if not distance > 0.0:
                raise InvalidModel(
                    f"constraint {constraint.name!r}: its distance is {distance:g}; give a number above zero, or a "
                    "PointConstraint if the points coincide"
                )
    elif isinstance(constraint, PointOnLineConstraint):
        kind = ON_LINE
        first = Placement(constraint.line_body, constraint.point_on_line)
        second = Placement(constraint.follower_body, constraint.point_on_follower)
        along = np.asarray(constraint.line_direction, dtype=float)
        if not np.linalg.norm(along) > 0.0:
            raise InvalidModel(f"constraint {constraint.name!r}: its line has no direction; give three numbers")
        across = np.linalg.svd(along[None])[2][1:]
    else:
        return None
    for place in (first, second):
        if place.body not in c.body_node:
            raise UnknownName("body", place.body, c.body_node, f"constraint {constraint.name!r}")
    nodes = (c.body_node[first.body], c.body_node[second.body])
    felt = c.moved_by[nodes[1]] - c.moved_by[nodes[0]]
    columns = np.flatnonzero(felt)
    poses = (c.body_pose[first.body] @ placed(first), c.body_pose[second.body] @ placed(second))
    return BodyEquation(
        constraint.name, kind, first.body, second.body, nodes, poses, columns, felt[columns], across, distance
    )
