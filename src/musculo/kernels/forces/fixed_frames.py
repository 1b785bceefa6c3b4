"""Frames that forces hold on to: where they are and how they move, from the motion of the nodes of a tree.

`motion` (MOTION_ROWS nodes, lanes) is what `kinematics` writes. Everything is expressed in ground.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline
from musculo.kernels.scalar.vectors import add, cross, load3, matmul, rotate, subtract
from musculo.kernels.tree.node_kinematics import ANGULAR_VELOCITY, MOTION_ROWS, POSITION, ROTATION, VELOCITY
from musculo.kernels.tree.nodes import load_rotation


class FixedFrames(NamedTuple):
    """Frames fixed to nodes, one a row."""

    node: IntArray  # (rows,)
    R: FloatArray  # (rows, 9) in the node
    p: FloatArray  # (rows, 3) origin in the node


@inline
def node_rotation(node, motion, lane):
    """R_WN."""
    return load_rotation(motion, MOTION_ROWS * node + ROTATION, lane)


@inline
def frame_rotation(frames, k, motion, lane):
    """R_WF of frame k."""
    F = frames.R
    R = (F[k, 0], F[k, 1], F[k, 2], F[k, 3], F[k, 4], F[k, 5], F[k, 6], F[k, 7], F[k, 8])
    return matmul(node_rotation(frames.node[k], motion, lane), R)


@inline
def frame_point(frames, k, motion, lane):
    """The origin of frame k."""
    p = (frames.p[k, 0], frames.p[k, 1], frames.p[k, 2])
    node = frames.node[k]
    return add(load3(motion, MOTION_ROWS * node + POSITION, lane), rotate(node_rotation(node, motion, lane), p))


@inline
def spin(node, motion, lane):
    """Angular velocity of a node."""
    return load3(motion, MOTION_ROWS * node + ANGULAR_VELOCITY, lane)


@inline
def velocity_at(node, x, motion, lane):
    """Velocity of the point of a node that is at x."""
    row = MOTION_ROWS * node
    arm = subtract(x, load3(motion, row + POSITION, lane))
    return add(load3(motion, row + VELOCITY, lane), cross(load3(motion, row + ANGULAR_VELOCITY, lane), arm))
