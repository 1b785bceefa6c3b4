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


def moves(load: ExternalLoad) -> bool:
    """Whether the wrench of a load in ground depends on the coordinates."""
    return load.force_in != GROUND or load.point_in != GROUND


def load_slopes(c: CompiledModel, poses: Kinematics, Q: FloatArray, loads: Sequence[ExternalLoad]) -> FloatArray:
    """What the motion of loads adds to d(tau)/dq (frames, n_u, n): -J^T dW/dq, with W of `wrench_slopes`."""
    twists = poses.twists()
    B = speed_matrix(poses.model, Q)
    found = np.zeros((len(Q), c.n_u, Q.shape[1]))
    for load in (x for x in loads if moves(x)):
        couple, push = wrench_slopes(c, poses, B, load)
        own = twists * c.moved_by[c.body_node[load.body]][:, None, None]
        found -= np.einsum("fui,fki->fuk", own[:, :, 0], couple) + np.einsum("fui,fki->fuk", own[:, :, 1], push)
    return found


def wrench_slopes(
    c: CompiledModel, poses: Kinematics, B: FloatArray, load: ExternalLoad
) -> tuple[FloatArray, FloatArray]:
    """dW/dq (frames, n, 3) of W = (r x f + m, f) about ground's origin, in ground: of the moment and of the force.

    df = w x f, dm = w x m with the frame they are expressed in, dr = v + w x r with the frame of the point.
    """
    twists = poses.twists()
    turn, swing = (_moved(c, poses, twists, B, frame) for frame in (load.force_in, load.point_in))
    force, point, moment, _, _ = _in_ground(poses, load, len(B))
    # a row for each coordinate
    f, r, m = force[:, None], point[:, None], moment[:, None]
    push = np.cross(turn[:, :, 0], f)
    moved = swing[:, :, 1] + np.cross(swing[:, :, 0], r)
    return np.cross(moved, f) + np.cross(r, push) + np.cross(turn[:, :, 0], m), push


def load_columns(poses: Kinematics, load: ExternalLoad, frames: int) -> FloatArray:
    """dW (frames, 6, 9) of W = (r x f + m, f) by the load's own numbers: force, point, moment, in their frames."""
    force, point, _, R, S = _in_ground(poses, load, frames)
    found = np.zeros((frames, 6, 9))
    found[:, 3:, :3] = R
    found[:, :3, :3] = np.cross(point[:, :, None], R, axis=1)
    found[:, :3, 3:6] = np.cross(S, force[:, :, None], axis=1)
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


def _moved(c: CompiledModel, poses: Kinematics, twists: FloatArray, B: FloatArray, frame: str) -> FloatArray:
    """(frames, n, 2, 3) twist of ground's origin that each coordinate gives to a frame."""
    node = c.body_node[poses.model.placement(frame).body]
    return np.einsum("fuax,fuk->fkax", twists * c.moved_by[node][:, None, None], B)
