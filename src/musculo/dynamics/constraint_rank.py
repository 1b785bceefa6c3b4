"""How many of a model's constraint equations are independent, and what counts as zero in them.

On its constraints a mechanism has the same number of independent equations everywhere but in singular positions. That
number is the model's, known from its embedding: speeds less independent speeds. A pose that is off by d shows more of
them, since rows that repeat others on the constraints differ by d beside them; so singular values of one pose do not
tell. Rows are compared in units of what they usually are: those of a weld are lengths and angles, and what users state
has any unit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.dynamics.inverse import mass_matrix
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.loops.equations.loop_equations import EquationSet
from musculo.embedding.speed_rates import coordinate_rates, turning_joints
from musculo.errors import MusculoError
from musculo.kernels.constraints.multipliers import Tolerances
from musculo.kernels.constraints.repeated_equations import CLOSE, DISAGREE, HALF_GONE, LOOSE

# Singular values of G below this part of the largest are rounding: their equations repeat others.
RANK = 1e-9
# What repeated equations may leave of each other, as a part of the largest acceleration that is asked for.
CONSISTENT = 1e-6
# A pivot of the mass matrix below this part of its diagonal is rounding, not mass.
SINGULAR_MASS = 1e-13
# How far poses are moved to see how long rows are there [rad], and how many are.
_PROBE, _POSES = 0.05, 5
# A pose off its constraints by less is on them, and its singular values tell what is independent.
_ON, _ROUNDS = 1e-13, 30


class Scales(NamedTuple):
    """Of m equations; made once a model."""

    usual: int  # equations that are independent at usual poses; -1 where that is not known
    unit: FloatArray  # (m,) one over the size of each: errors of it are then like angles
    plain: FloatArray  # (m,) one over the usual length of its row of G
    weight: FloatArray  # (m,) one over that of L^-1 G^T

    def far(self, residual: FloatArray) -> FloatArray:
        """How far poses are from the constraints, of their residuals (frames, m) [rad, units of size]."""
        return np.asarray(np.max(np.abs(residual) * self.unit, axis=1, initial=0.0))

    def slack(self, far: FloatArray, gdot: FloatArray, U: FloatArray, decay: float) -> FloatArray:
        """(frames,) as `allow` of `musculo.kernels.constraints.multipliers` has it."""
        speed = np.max(np.abs(U), axis=1, initial=0.0)
        fast = np.max(np.abs(gdot) * self.unit, axis=1, initial=0.0)
        allowed = far * speed * (speed + decay) + (far * decay) ** 2 + fast * speed
        return np.asarray(DISAGREE * allowed + 1e-12 * (1.0 + speed))


def scales_of(system: EquationSet) -> Scales:
    """The scales of all equations of a model."""
    return system.model.derived("scales of constraints", lambda: _scales(system))


def tolerances_of(system: EquationSet) -> Tolerances:
    """The same as kernels take them."""
    s = scales_of(system)
    return Tolerances(SINGULAR_MASS, RANK**2, CONSISTENT, s.usual, s.weight, s.unit)


def _scales(system: EquationSet) -> Scales:
    model = system.model
    defaults = np.array([c.default_value for c in model.coordinates], dtype=float)
    e: Embedding | None
    try:
        with np.errstate(all="ignore"):
            e = embedding_of(model)
        usual, pose = len(model.speed_names) - len(e.speed_names), defaults if e.branch is None else e.branch
    except MusculoError:
        # no closed pose is known: each pose has to tell by itself
        e, usual, pose = None, -1, defaults
    Q = pose + _PROBE * np.random.default_rng(0).uniform(-1.0, 1.0, (_POSES, len(pose)))
    Q[0] = pose
    for joint in turning_joints(model):
        if len(joint.q) == 4:
            Q[:, list(joint.q)] = (1.0, 0.0, 0.0, 0.0)
    with np.errstate(all="ignore"):
        G = system.by_speeds(Q, None, np.zeros(len(Q))).jacobian
    G = np.where(np.isfinite(G), G, 0.0)
    plain = np.sqrt((G * G).sum(axis=2)).max(axis=0, initial=0.0)
    try:
        L = np.linalg.cholesky(mass_matrix(model, Q))
        Y = np.linalg.solve(L, np.swapaxes(G, 1, 2))
        weight = np.sqrt((Y * Y).sum(axis=1)).max(axis=0, initial=0.0)
    except np.linalg.LinAlgError:
        weight = plain.copy()
    size = np.ones(system.count)
    levers = {} if e is None else {name: float(loop.row_scale.max()) for loop in e.loops for name in loop.names}
    for equation, rows in zip(system.equations, system.rows, strict=True):
        if not isinstance(equation, BodyEquation):
            size[rows] = plain[rows]
            continue
        start = rows.stop - min(equation.count, 3)
        for part in (slice(rows.start, start), slice(start, rows.stop)):
            # directions differ, and one across the plane of a mechanism is rounding: all rows of a kind have one unit
            if part.stop > part.start:
                plain[part], weight[part] = plain[part].max(), weight[part].max()
        lengths = min(levers.get(equation.name, 1.0), 1.0) if equation.name in levers else plain[start]
        size[start : rows.stop] = lengths if lengths > 0.0 else 1.0
    return Scales(usual, *(1.0 / np.where(part > 0.0, part, 1.0) for part in (size, plain, weight)))


class Ranks(NamedTuple):
    """Of the equations at some poses."""

    independent: IntArray  # (frames,)
    doubtful: IntArray  # frames where what singular values say cannot be told from what the error of the pose makes


def ranks_of(scales: Scales, values: FloatArray, far: FloatArray) -> Ranks:
    """How many equations are independent, of the singular values (frames, k) of rows of G in units of `plain`."""
    part = values / np.maximum(values[:, :1], 1e-300)
    count = np.sum(part > RANK, axis=1)
    close = np.minimum(CLOSE * far, HALF_GONE)
    if scales.usual < 0:
        clear = np.sum(part > np.maximum(RANK, close)[:, None], axis=1)
        return Ranks(clear, np.flatnonzero(clear < count))
    usual = min(scales.usual, values.shape[1])
    used = part[:, :usual]
    doubtful = np.any((used > RANK) & (used <= close[:, None]), axis=1)
    if usual < values.shape[1]:
        doubtful |= part[:, usual] > np.maximum(RANK, LOOSE * far)
    return Ranks(np.minimum(count, usual), np.flatnonzero(doubtful))


def rank_when_closed(system: EquationSet, q: FloatArray, time: float) -> int:
    """The number of independent equations at the closed pose next to q (n,); -1 where none is found near."""
    model, scales, q = system.model, scales_of(system), q.copy()
    at, values = np.array([time]), np.zeros(1)
    for _ in range(_ROUNDS):
        x = system.by_speeds(q[None], None, at)
        G, g = x.jacobian[0] * scales.plain[:, None], x.residual[0] * scales.plain
        if not (np.isfinite(G).all() and np.isfinite(g).all()):
            return -1
        far = float(scales.far(x.residual)[0])
        left, values, rows = np.linalg.svd(G, full_matrices=False)
        if far <= _ON:
            return int(np.sum(values > 1e-8 * max(values[0], 1e-300)))
        kept = values > max(RANK, min(CLOSE * far, 0.1)) * values[0]
        d = -rows[kept].T @ ((left[:, kept].T @ g) / values[kept])
        q += coordinate_rates(model, q, d * min(1.0, 0.1 / max(float(np.abs(d).max(initial=0.0)), 0.1)))
        for joint in turning_joints(model):
            if len(joint.q) == 4:
                q[list(joint.q)] /= np.linalg.norm(q[list(joint.q)])
    return int(np.sum(values > 1e-7 * max(values[0], 1e-300))) if far <= 1e3 * _ON else -1
