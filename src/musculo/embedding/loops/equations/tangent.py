"""Jacobians and accelerations by speeds and by coordinate derivatives: u = N^-1 qdot, to second order."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.speed_rates import (
    angle_rates_inverse,
    angle_rates_inverse_dot,
    joint_rates,
    quaternion_rates,
    turning_joints,
)
from musculo.model.model import Model


def _shared(model: Model) -> tuple[list[int], list[int]]:
    """Columns of q and of u with the same name: where a joint has an angular velocity as speed they are overwritten."""
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    pairs = [(k, speeds[name]) for k, name in enumerate(model.coordinate_names) if name in speeds]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _inverse(q: FloatArray) -> FloatArray:
    """N^-1 (frames, 3, 3 or 4) of a joint's own coordinates: w = N^-1 qdot; parts of qdot along a quaternion vanish."""
    if q.shape[1] == 4:
        return 4.0 / np.sum(q * q, axis=1)[:, None, None] * np.swapaxes(quaternion_rates(q), 1, 2)
    return angle_rates_inverse(q)


def by_coordinates(model: Model, Q: FloatArray, G: FloatArray) -> FloatArray:
    """G N^-1 (frames, m, n) of G (frames, m, n_u): rows per speed as rows per coordinate derivative."""
    at, of = model.derived("shared columns", lambda: _shared(model))
    result = np.zeros((*G.shape[:2], Q.shape[1]), np.result_type(Q, G))
    result[:, :, at] = G[:, :, of]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        result[:, :, list(joint.q)] = G[:, :, list(joint.u)] @ _inverse(Q[:, list(joint.q)])
    return result


def by_speeds(model: Model, Q: FloatArray, G: FloatArray, felt: set[int]) -> FloatArray:
    """G N (frames, m, n_u) of G (frames, m, n): rows per coordinate derivative as rows per speed.

    `felt` are the columns of q that G has entries for.
    """
    at, of = model.derived("shared columns", lambda: _shared(model))
    result = np.zeros((*G.shape[:2], len(model.speed_names)), np.result_type(Q, G))
    result[:, :, of] = G[:, :, at]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        if not felt.isdisjoint(joint.q):
            result[:, :, list(joint.u)] = G[:, :, list(joint.q)] @ joint_rates(joint, Q)
    return result


def speeds(model: Model, Q: FloatArray, qdot: FloatArray) -> tuple[FloatArray, FloatArray]:
    """u (frames, n_u), and udot where qddot = 0."""
    at, of = model.derived("shared columns", lambda: _shared(model))
    u, udot = (np.zeros((len(Q), len(model.speed_names)), np.result_type(Q, qdot)) for _ in range(2))
    u[:, of] = qdot[:, at]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        own, rate = Q[:, list(joint.q)], qdot[:, list(joint.q)]
        w = np.einsum("fij,fj->fi", _inverse(own), rate)
        u[:, list(joint.u)] = w
        if len(joint.q) == 4:
            # N(qdot)^T qdot = 0 for every qdot; what is left is the change of the length, which w does not see
            udot[:, list(joint.u)] = -2.0 * (np.sum(own * rate, axis=1) / np.sum(own * own, axis=1))[:, None] * w
        else:
            udot[:, list(joint.u)] = np.einsum("fij,fj->fi", angle_rates_inverse_dot(own, rate), rate)
    return u, udot


def rates(model: Model, Q: FloatArray, U: FloatArray, felt: set[int]) -> tuple[FloatArray, FloatArray]:
    """qdot (frames, n), and qddot where udot = 0; right in the columns `felt` of q."""
    at, of = model.derived("shared columns", lambda: _shared(model))
    qdot, qddot = (np.zeros(Q.shape, np.result_type(Q, U)) for _ in range(2))
    qdot[:, at] = U[:, of]
    for joint in model.derived("turning joints", lambda: tuple(turning_joints(model))):
        if felt.isdisjoint(joint.q):
            continue
        own, w = list(joint.q), U[:, list(joint.u)]
        N = joint_rates(joint, Q)
        rate = np.einsum("fij,fj->fi", N, w)
        qdot[:, own] = rate
        if len(own) == 4:
            qddot[:, own] = np.einsum("fij,fj->fi", quaternion_rates(rate), w)
        else:
            turn = np.einsum("fij,fj->fi", angle_rates_inverse_dot(Q[:, own], rate), rate)
            qddot[:, own] = -np.einsum("fij,fj->fi", N, turn)
    return qdot, qddot
