"""How the maps of an embedding change with the independent coordinates: second derivatives, exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.embedding import Embedding, times_of
from musculo.embedding.loops.looped import Looped
from musculo.embedding.speed_rates import (
    TurningJoint,
    angle_rates_inverse,
    angle_rates_inverse_dot,
    joint_rates,
    quaternion_rates,
)


def embedding_slopes(e: Embedding, q: ArrayLike, time: ArrayLike = 0.0) -> tuple[FloatArray, FloatArray]:
    """dq/dz (frames, n, n_z) and dJ/dz (frames, n_u, n_zu, n_z) at coordinates q, of which independent ones are read.

    qdot = E zu:   dE_k/dz = sum over inputs of d2f/dx2 dx/dz E_x + df/dx dE_x/dz   for q_k = f(x) by a rule
    u = N^-1 qdot: dJ/dz = dN^-1/dz E + N^-1 dE/dz   where a ball, free or ellipsoid joint is only partly independent
    """
    Q, single = coordinates_of(e.model, q)
    times = times_of(time, len(Q))
    Q = e.coordinates(e.independent(Q), times, guess=Q)
    frames, n = Q.shape
    n_z, n_zu, n_u = len(e.coordinate_names), len(e.speed_names), len(e.model.speed_names)
    G, E, dE = np.zeros((frames, n, n_z)), np.zeros((frames, n, n_zu)), np.zeros((frames, n, n_zu, n_z))
    turning = {column for joint in e.freely_turning for column in joint.q}
    for i, name in enumerate(e.coordinate_names):
        column = e.model.coordinate_index(name)
        G[:, column, i] = 1.0
        if column not in turning:
            E[:, column, e.speed_names.index(name)] = 1.0
    for joint in e.freely_turning:
        own = np.array(joint.q)
        speeds = np.array([e.speed_names.index(e.model.speed_names[k]) for k in joint.u])
        E[:, own[:, None], speeds] = joint_rates(joint, Q)
        dE[:, own[:, None], speeds] = np.einsum("fijc,fcz->fijz", _rate_slopes(joint, Q), G[:, own])
    for rule, _ in e.steps:
        if isinstance(rule, Looped):
            _loop_slopes(rule, Q, G, E, dE)
            continue
        at, k = [e.model.coordinate_index(name) for name in rule.inputs], e.model.coordinate_index(rule.dependent)
        d = rule.evaluate(Q[:, at], times)
        G[:, k] = np.einsum("fi,fiz->fz", d.gradient, G[:, at])
        E[:, k] = np.einsum("fi,fis->fs", d.gradient, E[:, at])
        bend = np.einsum("fij,fjz->fiz", d.hessian, G[:, at])
        dE[:, k] = np.einsum("fiz,fis->fsz", bend, E[:, at]) + np.einsum("fi,fisz->fsz", d.gradient, dE[:, at])
    dJ = np.zeros((frames, n_u, n_zu, n_z))
    columns = {name: k for k, name in enumerate(e.model.coordinate_names)}
    for k, name in enumerate(e.model.speed_names):
        if name in columns:
            dJ[:, k] = dE[:, columns[name]]
    for joint in e.freely_turning:
        dJ[:, list(joint.u)] = 0.0
    for joint in e.partly_turning:
        at, angles = list(joint.q), Q[:, list(joint.q)]
        turn = np.einsum("fijc,fcz->fijz", _inverse_slopes(angles), G[:, at])
        dJ[:, list(joint.u)] = np.einsum("fijz,fjs->fisz", turn, E[:, at])
        dJ[:, list(joint.u)] += np.einsum("fij,fjsz->fisz", angle_rates_inverse(angles), dE[:, at])
    return (G[0], dJ[0]) if single else (G, dJ)


def _loop_slopes(rule: Looped, Q: FloatArray, G: FloatArray, E: FloatArray, dE: FloatArray) -> None:
    """Rows of all dependents of a loop in G, E and dE."""
    loop, n = rule.variables.loop, len(rule.inputs)
    at, own = loop.columns[:n], loop.columns[n:]
    gradient = rule.variables.gradient(Q[:, at], Q[:, own])
    bend = np.einsum("fdij,fjz->fdiz", rule.variables.hessian(Q[:, at], Q[:, own]), G[:, at])
    G[:, own], E[:, own] = gradient @ G[:, at], gradient @ E[:, at]
    dE[:, own] = np.einsum("fdiz,fis->fdsz", bend, E[:, at]) + np.einsum("fdi,fisz->fdsz", gradient, dE[:, at])


def _inverse_slopes(angles: FloatArray) -> FloatArray:
    """d(N^-1)/dq (frames, 3, 3, 3), the angle last."""
    units = (np.broadcast_to(unit, angles.shape) for unit in np.eye(3))
    return np.stack([angle_rates_inverse_dot(angles, unit) for unit in units], axis=-1)


def _rate_slopes(joint: TurningJoint, q: FloatArray) -> FloatArray:
    """dN/dq (frames, 3 or 4, 3, 3 or 4) of a joint with an angular velocity as speed, its coordinate last."""
    own = q[:, list(joint.q)]
    if len(joint.q) == 4:
        units = (np.broadcast_to(unit, own.shape) for unit in np.eye(4))
        return np.stack([quaternion_rates(unit) for unit in units], axis=-1)
    N = joint_rates(joint, q)
    return -np.einsum("fij,fjkc,fkl->filc", N, _inverse_slopes(own), N)
