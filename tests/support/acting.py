"""The kernel `acting_forces` at many states, several of them side by side, with motion computed beside it."""

from __future__ import annotations

import numpy as np

from musculo import kinematics
from musculo.compile.compiled import compiled
from musculo.forces.acting_data import acting_data
from musculo.kernels.forces.acting_forces import ForceState, ForceSums, acting_forces, acting_room


def wrenches(model, q, u, controls=None, time=None, **options):
    """Wrenches (frames, nodes, 6), force and moment about ground's origin, and tau (frames, n_u), of `acting_data`."""
    p = acting_data(model, **options)
    frames, nodes = len(q), compiled(model).tree.parent.size
    time = np.zeros(frames) if time is None else time
    controls = np.zeros((frames, 1)) if controls is None else controls
    motion = np.ascontiguousarray(kinematics(model, q, u).node_rows.T)
    E, tau = np.zeros((6 * nodes, frames)), np.zeros(u.T.shape)
    lanes = (np.ascontiguousarray(x.T) for x in (q, u, controls))
    Q, U, C = lanes
    room = acting_room(p)
    for lane in range(frames):
        acting_forces(p, float(time[lane]), ForceState(Q, U, motion), C, ForceSums(E, tau), room, lane)
    return E.T.reshape(frames, nodes, 6), tau.T


def generalized(model, q, u, controls=None, time=None, **options):
    """tau + J^T E (frames, n_u); J from `kinematics`, not from the kernel that `simulate` calls."""
    E, tau = wrenches(model, q, u, controls, time, **options)
    poses = kinematics(model, q, u)
    c = compiled(model)
    twists = poses._twists.reshape(len(q), -1, 6)
    about = np.concatenate([E[..., 3:], E[..., :3]], axis=2)
    return tau + np.sum((c.moved_by.T @ about) * twists, axis=2)
