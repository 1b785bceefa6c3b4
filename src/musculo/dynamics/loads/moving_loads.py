"""How the wrenches of external loads change with the coordinates, where points or directions move with bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import Kinematics
from musculo.embedding.speed_rates import speed_matrix
from musculo.model.body import GROUND
from musculo.spatial.rotation import skew


def moves(load: ExternalLoad) -> bool:
    """Whether the wrench of a load in ground depends on the coordinates."""
    return load.force_in != GROUND or load.point_in != GROUND


def load_slopes(c: CompiledModel, poses: Kinematics, Q: FloatArray, loads: Sequence[ExternalLoad]) -> FloatArray:
    """What the motion of loads adds to d(tau)/dq (frames, n_u, n): -J^T dW/dq, with W of `wrench_slopes`."""
    B = speed_matrix(poses.model, Q)
    found = np.zeros((len(Q), c.n_u, Q.shape[1]))
    for load in (x for x in loads if moves(x)):
        rows = np.flatnonzero(c.moved_by[c.body_node[load.body]])
        own = poses.twists().reshape(len(Q), c.n_u, 6)[:, rows]
        found[:, rows] -= own @ wrench_slopes(c, poses, B, load)
    return found


def wrench_slopes(c: CompiledModel, poses: Kinematics, B: FloatArray, load: ExternalLoad) -> FloatArray:
    """dW/dq (frames, 6, n) of W = (r x f + m, f) about ground's origin, in ground.

    df = w x f, dm = w x m with the frame they are expressed in, dr = v + w x r with the frame of the point.
    """
    force, point, moment, _, _ = _in_ground(poses, load, len(B))
    f, r, m = (skew(x) for x in (force, point, moment))
    found = np.zeros((len(B), 6, B.shape[2]))
    turned, moved = np.zeros((2, len(B), 6, 6))
    turned[:, :3, :3], turned[:, 3:, :3] = -r @ f - m, -f
    moved[:, :3, :3], moved[:, :3, 3:] = f @ r, -f
    for change, frame in ((turned, load.force_in), (moved, load.point_in)):
        if frame != GROUND:
            speeds = np.flatnonzero(c.moved_by[c.body_node[poses.model.placement(frame).body]])
            twists = poses.twists().reshape(len(B), -1, 6)[:, speeds]
            found += change @ np.swapaxes(twists, 1, 2) @ B[:, speeds]
    return found


def load_columns(poses: Kinematics, load: ExternalLoad, frames: int) -> FloatArray:
    """dW (frames, 6, 9) of W = (r x f + m, f) by the load's own numbers: force, point, moment, in their frames."""
    force, point, _, R, S = _in_ground(poses, load, frames)
    found = np.zeros((frames, 6, 9))
    found[:, 3:, :3] = R
    found[:, :3, :3] = skew(point) @ R
    found[:, :3, 3:6] = -skew(force) @ S
    found[:, :3, 6:] = R
    return found


def _in_ground(
    poses: Kinematics, load: ExternalLoad, frames: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Force, point and moment in ground, and the rotations of the frames that force and point are given in."""
    force, point, moment = (
        np.broadcast_to(np.asarray(x, dtype=float), (frames, 3)) for x in (load.force, load.point, load.moment)
    )
    R = S = np.broadcast_to(np.eye(3), (frames, 3, 3))
    if load.force_in != GROUND:
        R, _ = poses.batch_pose(load.force_in)
        force, moment = np.einsum("fij,fj->fi", R, force), np.einsum("fij,fj->fi", R, moment)
    if load.point_in != GROUND:
        S, p = poses.batch_pose(load.point_in)
        point = p + np.einsum("fij,fj->fi", S, point)
    return force, point, moment, R, S
