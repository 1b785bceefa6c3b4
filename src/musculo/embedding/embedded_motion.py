"""What an embedding gives over frames, and the maps of speeds and accelerations from the independent ones to all.

qdot = E zu + e,   qddot = E zudot + s,   u = J zu + c,   udot = J zudot + b
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray, IntArray
from musculo.embedding.couplers.coordinate_rules import Rule
from musculo.embedding.loops.methods.joint_variables import Looped
from musculo.embedding.speed_rates import (
    TurningJoint,
    angle_rates_inverse,
    angle_rates_inverse_dot,
    joint_rates,
    quaternion_rates,
)
from musculo.errors import InvalidInput
from musculo.model.model import Model

# A frame whose dependent coordinates are further than this from what they depend on is refused [rad, m].
CONSISTENT = 1e-6


class Closure(NamedTuple):
    """All coordinates as far as loops could be closed, and how each frame came out (a `LoopStatus`)."""

    q: FloatArray  # (frames, n) or (n,)
    status: IntArray  # (frames,) or (): 0 solved, 1 out of reach, 2 a singular position in the way


class EmbeddedMotion(NamedTuple):
    """All coordinates of the tree from the independent ones; arrays have the frames first, unless one was given."""

    q: FloatArray  # (frames, n)
    u: FloatArray  # (frames, n_u)
    udot: FloatArray  # (frames, n_u)
    J: FloatArray  # (frames, n_u, n_zu): u = J zu + c
    c: FloatArray  # (frames, n_u)
    b: FloatArray  # (frames, n_u): udot = J zudot + b


def times_of(time: ArrayLike, frames: int) -> FloatArray:
    """Time as (frames,), from a number or one for each frame."""
    try:
        times = np.asarray(time, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"time is not a number or an array of numbers: {error}") from None
    if not np.isfinite(times).all():
        raise InvalidInput(f"time holds a number that is not finite; it needs a number or ({frames},)")
    if times.shape not in ((), (frames,)):
        raise InvalidInput(f"time has shape {times.shape}; it needs a number or ({frames},)")
    return np.ascontiguousarray(np.broadcast_to(times, (frames,)))


class Ruled(Protocol):
    """What the maps ask of an embedding; see `musculo.embedding.embedding.Embedding`."""

    @property
    def model(self) -> Model: ...
    @property
    def coordinate_names(self) -> tuple[str, ...]: ...
    @property
    def speed_names(self) -> tuple[str, ...]: ...
    @property
    def freely_turning(self) -> tuple[TurningJoint, ...]: ...
    @property
    def partly_turning(self) -> tuple[TurningJoint, ...]: ...
    @property
    def steps(self) -> tuple[tuple[Rule, tuple[str, ...]], ...]: ...


def speed_map(
    embedding: Ruled, q: NDArray[Any], zu: NDArray[Any], time: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """J (frames, n_u, n_zu), c and b (frames, n_u) at coordinates q (frames, n) and independent speeds (frames, n_zu).

    u is qdot, except for joints whose speeds are angular velocities. If all their angles are independent, so are their
    speeds; if some are, u = N^-1 qdot. q and zu may be complex, for the complex step along motions that
    keep loops closed.
    """
    E, e, qdot, s = _rates(embedding, q, zu, time)
    frames, n_u = len(q), len(embedding.model.speed_names)
    shape, kind = (frames, n_u), E.dtype
    J, c, b = np.zeros((*shape, zu.shape[1]), kind), np.zeros(shape, kind), np.zeros(shape, kind)
    columns = {name: k for k, name in enumerate(embedding.model.coordinate_names)}
    for k, name in enumerate(embedding.model.speed_names):
        if name in columns:
            J[:, k], c[:, k], b[:, k] = E[:, columns[name]], e[:, columns[name]], s[:, columns[name]]
    for joint in embedding.freely_turning:
        at = list(joint.u)
        J[:, at], c[:, at], b[:, at] = 0.0, 0.0, 0.0
        for k in at:
            J[:, k, embedding.speed_names.index(embedding.model.speed_names[k])] = 1.0
    for joint in embedding.partly_turning:
        at, rows = list(joint.q), list(joint.u)
        inverse = angle_rates_inverse(q[:, at])
        J[:, rows] = inverse @ E[:, at]
        c[:, rows] = np.einsum("fij,fj->fi", inverse, e[:, at])
        turn = angle_rates_inverse_dot(q[:, at], qdot[:, at])
        b[:, rows] = np.einsum("fij,fj->fi", inverse, s[:, at]) + np.einsum("fij,fj->fi", turn, qdot[:, at])
    return J, c, b


def _rates(
    embedding: Ruled, q: NDArray[Any], zu: NDArray[Any], time: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """E, e, qdot, s with qdot = E zu + e and qddot = E zudot + s."""
    frames, n = q.shape
    kind = np.result_type(q, zu, float)
    E, e, s = np.zeros((frames, n, zu.shape[1]), kind), np.zeros((frames, n), kind), np.zeros((frames, n), kind)
    turning = {column for joint in embedding.freely_turning for column in joint.q}
    for name in embedding.coordinate_names:
        column = embedding.model.coordinate_index(name)
        if column not in turning:
            E[:, column, embedding.speed_names.index(name)] = 1.0
    for joint in embedding.freely_turning:
        at = list(joint.q)
        speeds = [embedding.speed_names.index(embedding.model.speed_names[k]) for k in joint.u]
        w = zu[:, speeds]
        N = joint_rates(joint, q)
        E[np.ix_(range(frames), at, speeds)] = N
        rate = np.einsum("fij,fj->fi", N, w)
        if len(at) == 4:
            s[:, at] = np.einsum("fij,fj->fi", quaternion_rates(rate), w)
        else:
            turn = np.einsum("fij,fj->fi", angle_rates_inverse_dot(q[:, at], rate), rate)
            s[:, at] = -np.einsum("fij,fj->fi", N, turn)
    qdot = np.einsum("fij,fj->fi", E, zu) + e
    for rule, _ in embedding.steps:
        at = [embedding.model.coordinate_index(name) for name in rule.inputs]
        k = embedding.model.coordinate_index(rule.dependent)
        if isinstance(rule, Looped):
            rule.fill_rates(q, zu, E, e, qdot, s)
            continue
        d = rule.evaluate(q[:, at], time)
        E[:, k] = np.einsum("fj,fjz->fz", d.gradient, E[:, at])
        e[:, k] = np.einsum("fj,fj->f", d.gradient, e[:, at]) + d.rate
        qdot[:, k] = np.einsum("fz,fz->f", E[:, k], zu) + e[:, k]
        bend = np.einsum("fjk,fj,fk->f", d.hessian, qdot[:, at], qdot[:, at])
        s[:, k] = np.einsum("fj,fj->f", d.gradient, s[:, at]) + bend + d.acceleration
    return E, e, qdot, s
