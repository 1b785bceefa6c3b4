"""How the maps of an embedding change with the independent coordinates: second derivatives, exact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.embedding import Embedding, times_of
from musculo.embedding.loops.methods.joint_variables import Looped
from musculo.embedding.speed_rates import (
    TurningJoint,
    angle_rates_inverse,
    angle_rates_inverse_dot,
    joint_rates,
    quaternion_rates,
)


class MapSlopes(NamedTuple):
    """How the maps of an embedding change with z; arrays have no frame axis for a single pose."""

    G: FloatArray  # (frames, n, n_z) dq/dz
    rows: IntArray  # (bent,) speeds of the tree whose rows of J change
    dJ: FloatArray  # (frames, bent, n_zu, n_z) dJ/dz, of these rows


def embedding_slopes(e: Embedding, q: ArrayLike, time: ArrayLike = 0.0) -> MapSlopes:
    """dq/dz and dJ/dz at coordinates q, of which independent ones are read.

    qdot = E zu:   dE_k/dz = sum over inputs of d2f/dx2 dx/dz E_x + df/dx dE_x/dz   for q_k = f(x) by a rule
    u = N^-1 qdot: dJ/dz = dN^-1/dz E + N^-1 dE/dz   where a ball, free or ellipsoid joint is only partly independent
    """
    Q, single = coordinates_of(e.model, q)
    times = times_of(time, len(Q))
    Q = e.coordinates(e.independent(Q), times, guess=Q)
    frames, n = Q.shape
    n_z, n_zu = len(e.coordinate_names), len(e.speed_names)
    turning = [column for joint in e.freely_turning for column in joint.q]
    bent = [*turning, *(e.model.coordinate_index(rule.dependent) for rule in e.rules)]
    place = np.full(n, -1)
    place[bent] = np.arange(len(bent))
    maps = _Maps(
        np.zeros((frames, n, n_z)), np.zeros((frames, n, n_zu)), place, np.zeros((frames, len(bent), n_zu, n_z))
    )
    G, E, _, dE = maps
    for i, name in enumerate(e.coordinate_names):
        column = e.model.coordinate_index(name)
        G[:, column, i] = 1.0
        if column not in turning:
            E[:, column, e.speed_names.index(name)] = 1.0
    for joint in e.freely_turning:
        own = np.array(joint.q)
        speeds = np.array([e.speed_names.index(e.model.speed_names[k]) for k in joint.u])
        E[:, own[:, None], speeds] = joint_rates(joint, Q)
        dE[:, place[own][:, None], speeds] = np.einsum("fijc,fcz->fijz", _rate_slopes(joint, Q), G[:, own])
    for rule, _ in e.steps:
        if isinstance(rule, Looped):
            loop, count = rule.variables.loop, len(rule.inputs)
            at, dependents = (np.array(one, dtype=np.int64) for one in (loop.columns[:count], loop.columns[count:]))
            gradient = rule.variables.gradient(Q[:, at], Q[:, dependents])
            hessian = rule.variables.hessian(Q[:, at], Q[:, dependents])
        else:
            at = np.array([e.model.coordinate_index(name) for name in rule.inputs], dtype=np.int64)
            dependents = np.array([e.model.coordinate_index(rule.dependent)])
            d = rule.evaluate(Q[:, at], times)
            gradient, hessian = d.gradient[:, None], d.hessian[:, None]
        maps.follow(at, dependents, gradient, hessian)
    columns = {name: k for k, name in enumerate(e.model.coordinate_names)}
    free = {k for joint in e.freely_turning for k in joint.u}
    plain = [
        (k, place[columns[name]])
        for k, name in enumerate(e.model.speed_names)
        if name in columns and place[columns[name]] >= 0 and k not in free
    ]
    rows = np.array([k for k, _ in plain] + [k for joint in e.partly_turning for k in joint.u], dtype=np.int64)
    parts = [dE[:, [at for _, at in plain]]]
    for joint in e.partly_turning:
        own, angles = np.array(joint.q), Q[:, list(joint.q)]
        turn = np.einsum("fijc,fcz->fijz", _inverse_slopes(angles), G[:, own])
        part = np.einsum("fijz,fjs->fisz", turn, E[:, own])
        known = np.flatnonzero(place[own] >= 0)
        inverse = angle_rates_inverse(angles)[:, :, known]
        parts.append(part + np.einsum("fij,fjsz->fisz", inverse, dE[:, place[own][known]]))
    dJ = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return MapSlopes(G[0], rows, dJ[0]) if single else MapSlopes(G, rows, dJ)


class _Maps(NamedTuple):
    """G, E and dE/dz, the last of coordinates that are bent alone."""

    G: FloatArray  # (frames, n, n_z)
    E: FloatArray  # (frames, n, n_zu)
    place: IntArray  # (n,) where a coordinate stands in dE; -1: its row of E is constant
    dE: FloatArray  # (frames, bent, n_zu, n_z)

    def follow(self, at: IntArray, dependents: IntArray, gradient: FloatArray, hessian: FloatArray) -> None:
        """Rows of dependents of coordinates `at`, by their gradient (frames, dependents, inputs) and Hessian."""
        G, E, place, dE = self
        bend = np.einsum("fdij,fjz->fdiz", hessian, G[:, at])
        G[:, dependents], E[:, dependents] = gradient @ G[:, at], gradient @ E[:, at]
        found = np.einsum("fdiz,fis->fdsz", bend, E[:, at])
        known = np.flatnonzero(place[at] >= 0)
        if known.size:
            found += np.einsum("fdi,fisz->fdsz", gradient[:, :, known], dE[:, place[at][known]])
        dE[:, place[dependents]] = found


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
