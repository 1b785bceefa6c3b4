"""Passive forces over all frames, each by itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver
from musculo.kernels.forces.passive_forces import body_forces, passive_room, speed_forces


class ForceFrames(NamedTuple):
    """What passive forces do, the frame first."""

    on_speed: FloatArray  # (frames, on speeds)
    wrench: FloatArray  # (frames, on bodies, 6)
    energy: FloatArray  # (frames, both)
    state: IntArray  # (frames, on bodies)


@driver
def force_frames(p, time, q, u, motion, found, start, stop):
    """Frames start .. stop - 1 of `speed_forces` and `body_forces`.

    Args:
        p: `PassiveForces`. time: (frames,). q, u: (frames, ...). motion: (frames, MOTION_ROWS nodes).
        found: `ForceFrames`, written.
    """
    on_speed, wrench, energy, state = found.on_speed, found.wrench, found.energy, found.state
    r = passive_room(p)
    Q, U, K = np.zeros((q.shape[1], 1)), np.zeros((u.shape[1], 1)), np.zeros((motion.shape[1], 1))
    for f in range(start, stop):
        for i in range(q.shape[1]):
            Q[i, 0] = q[f, i]
        for i in range(u.shape[1]):
            U[i, 0] = u[f, i]
        for i in range(motion.shape[1]):
            K[i, 0] = motion[f, i]
        speed_forces(p, Q, U, r, 0)
        body_forces(p, time[f], K, r, 0)
        for k in range(r.on_speed.size):
            on_speed[f, k] = r.on_speed[k]
        for k in range(r.energy.size):
            energy[f, k] = r.energy[k]
        for k in range(r.state.size):
            state[f, k] = r.state[k]
            for i in range(6):
                wrench[f, k, i] = r.wrench[k, i]
