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
    """What the motion of loads adds to d(tau)/dq (frames, n_u, n): -J^T dW/dq, with W = (r x f + m, f) of each load.

    df = w x f, dm = w x m with the frame they are expressed in, dr = v + w x r with the frame of the point.
    """
    twists = poses.twists()
    B = speed_matrix(poses.model, Q)
    found = np.zeros((len(Q), c.n_u, Q.shape[1]))
    for load in (x for x in loads if moves(x)):
        force, point, moment = (
            np.broadcast_to(np.asarray(x, dtype=float), (len(Q), 3)) for x in (load.force, load.point, load.moment)
        )
        turn, swing = (_moved(c, poses, twists, B, frame) for frame in (load.force_in, load.point_in))
        if load.force_in != GROUND:
            R, _ = poses.batch_pose(load.force_in)
            force, moment = np.einsum("fij,fj->fi", R, force), np.einsum("fij,fj->fi", R, moment)
        if load.point_in != GROUND:
            R, p = poses.batch_pose(load.point_in)
            point = p + np.einsum("fij,fj->fi", R, point)
        # a row for each coordinate
        f, r, m = force[:, None], point[:, None], moment[:, None]
        push = np.cross(turn[:, :, 0], f)
        moved = swing[:, :, 1] + np.cross(swing[:, :, 0], r)
        couple = np.cross(moved, f) + np.cross(r, push) + np.cross(turn[:, :, 0], m)
        own = twists * c.moved_by[c.body_node[load.body]][:, None, None]
        found -= np.einsum("fui,fki->fuk", own[:, :, 0], couple) + np.einsum("fui,fki->fuk", own[:, :, 1], push)
    return found


def _moved(c: CompiledModel, poses: Kinematics, twists: FloatArray, B: FloatArray, frame: str) -> FloatArray:
    """(frames, n, 2, 3) twist of ground's origin that each coordinate gives to a frame."""
    node = c.body_node[poses.model.placement(frame).body]
    return np.einsum("fuax,fuk->fkax", twists * c.moved_by[node][:, None, None], B)
