"""How the motion of the tree changes with independent coordinates and speeds, to the order that dynamics needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.embedding.embedded_motion import speed_map
from musculo.embedding.embedding import Embedding
from musculo.embedding.slopes import embedding_slopes

# f(x + i h) = f(x) + i h f'(x) + O(h^2): with h so small nothing but rounding is left.
_STEP = 1e-30


class EmbeddedSlopes(NamedTuple):
    """Derivatives of q(z, t), u = J zu + c and udot = J zudot + b; frames first."""

    J: FloatArray  # (frames, n_u, n_zu)
    G: FloatArray  # (frames, n, n_z) dq/dz
    rows: IntArray  # (bent,) speeds of the tree whose rows of J change with z
    dJ: FloatArray  # (frames, bent, n_zu, n_z) dJ/dz, of these rows
    speed_by_z: FloatArray  # (frames, n_u, n_z) d(J zu + c)/dz
    accel_by_z: FloatArray  # (frames, n_u, n_z) d(J zudot + b)/dz
    accel_by_zu: FloatArray  # (frames, n_u, n_zu) db/dzu


def embedded_slopes(e: Embedding, Q: FloatArray, U: FloatArray, A: FloatArray, time: FloatArray) -> EmbeddedSlopes:
    """At states (Q, U, A) of the tree (frames, ...) that satisfy the embedding.

    c and b are differentiated by the complex step through `speed_map`: third derivatives of couplers and of loops
    are in it. The step in q goes along dq/dz, so that loops stay closed.
    """
    z, zu = e.independent(Q), e.independent_speeds(Q, U)
    e.check(Q, time)
    zudot = _independent_accelerations(e, Q, U, A, zu, time)
    G, rows, dJ = embedding_slopes(e, Q, time)
    J, _, _ = speed_map(e, Q, zu, time)
    frames, n_z, n_zu, n_u = len(Q), z.shape[1], zu.shape[1], U.shape[1]
    speed_by_z, accel_by_z = np.zeros((2, frames, n_u, n_z))
    speed_by_z[:, rows] = np.einsum("fusz,fs->fuz", dJ, zu)
    accel_by_z[:, rows] = np.einsum("fusz,fs->fuz", dJ, zudot)
    accel_by_zu = np.zeros((frames, n_u, n_zu))
    coordinates, speeds = _curved(e)
    for k in coordinates:
        _, c, b = speed_map(e, Q + 1j * _STEP * G[:, :, k], zu + 0j, time)
        speed_by_z[:, :, k] += c.imag / _STEP
        accel_by_z[:, :, k] += b.imag / _STEP
    for k in speeds:
        step = np.zeros(n_zu, dtype=complex)
        step[k] = 1j * _STEP
        accel_by_zu[:, :, k] = speed_map(e, Q + 0j, zu + step, time)[2].imag / _STEP
    return EmbeddedSlopes(J, G, rows, dJ, speed_by_z, accel_by_z, accel_by_zu)


def _independent_accelerations(
    e: Embedding, Q: FloatArray, U: FloatArray, A: FloatArray, zu: FloatArray, time: FloatArray
) -> FloatArray:
    """zudot of udot = J zudot + b; a least squares solution, exact where udot satisfies the embedding."""
    J, _, b = speed_map(e, Q, zu, time)
    back = np.swapaxes(J, 1, 2)
    return np.linalg.solve(back @ J, np.einsum("fsu,fu->fs", back, A - b)[..., None])[..., 0]


def _curved(e: Embedding) -> tuple[list[int], list[int]]:
    """Independent coordinates and speeds that c and b depend on: inputs of rules, and angles of joints partly free."""
    names = {name for rule in e.rules for name in rule.inputs}
    names |= {e.model.coordinate_names[k] for joint in e.partly_turning for k in joint.q}
    moved = set(names)
    for joint in e.freely_turning:
        own = {e.model.coordinate_names[k] for k in joint.q}
        if own & names:
            moved |= {e.model.speed_names[k] for k in joint.u}
            names |= own
    coordinates = [k for k, name in enumerate(e.coordinate_names) if name in names]
    return coordinates, [k for k, name in enumerate(e.speed_names) if name in moved]
