"""Actuator forces that give wanted accelerations: the map from the ones to the others, and OpenSim's two targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.analyses.static_optimization.bounded_least_squares import bounded_least_squares
from musculo.analyses.static_optimization.least_effort import EffortStatus, least_effort
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics, mass_matrix
from musculo.dynamics.loads.external import Loads
from musculo.embedding.embedding import embedding_of
from musculo.errors import Unsupported
from musculo.model.model import Model


class AccelerationMap(NamedTuple):
    """udot = A F + a0 of one state, for forces F of actuators."""

    A: FloatArray  # (n_u, actuators)
    a0: FloatArray  # (n_u,)

    def rows(self, speeds: FloatArray) -> AccelerationMap:
        """Those of some speeds."""
        return AccelerationMap(self.A[speeds], self.a0[speeds])


def acceleration_map(
    model: Model,
    q: FloatArray,
    u: FloatArray,
    columns: FloatArray,
    tau: FloatArray | None = None,
    loads: Loads = (),
    time: float = 0.0,
) -> AccelerationMap:
    """The accelerations of one state as a linear function of actuator forces.

        A = J M_z^-1 J^T B,   a0 = J M_z^-1 J^T (tau - ID(q, u, b)) + b,   M_z = J^T M J,   udot = J zudot + b

    Args:
        model: without closed loops.
        q, u: (n,) and (n_u,), of which the independent ones count.
        columns: B (n_u, actuators), what a unit of each force does on every speed.
        tau: (n_u,) what acts besides.
        loads: from outside, at this state.
        time: for prescribed motions [s].
    """
    e = embedding_of(model)
    if e.loops or e.unsolved:
        raise Unsupported(f"the model {model.name!r} has closed loops, whose accelerations are not mapped")
    m = e.motion(e.independent(q[None]), e.independent_speeds(q[None], u[None]), time=time)
    rest = inverse_dynamics(model, m.q, m.u, m.b, loads, threads=1)[0]
    J = m.J[0]
    M = J.T @ mass_matrix(model, m.q, threads=1)[0] @ J
    known = (0.0 if tau is None else tau) - rest
    solved = np.linalg.solve(M, J.T @ np.column_stack([known, columns]))
    return AccelerationMap(J @ solved[:, 1:], J @ solved[:, 0] + m.b[0])


def slow_target(
    rows: AccelerationMap,
    wanted: FloatArray,
    weight: FloatArray,
    strength: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    stress: float = 1.0,
) -> FloatArray:
    """Forces (actuators,) of OpenSim's slow target: accelerations weighed against effort.

        minimize  stress sum_i (F_i / F_i0)^2 + sum_j w_j (A F + a0 - a*)_j^2   within   lower <= F <= upper

    Source: OpenSim 4.6, `ActuatorForceTarget`.

    Args: rows: of the tasks. wanted: a* (tasks,). weight: w (tasks,). strength: F_0 (actuators,). lower, upper: of F.
    """
    root = np.sqrt(weight)[:, None]
    K = np.vstack([root * rows.A * strength, np.sqrt(stress) * np.eye(len(strength))])
    d = np.concatenate([root[:, 0] * (wanted - rows.a0), np.zeros(len(strength))])
    free = np.linalg.lstsq(K, d, rcond=None)[0]
    low, high = lower / strength, upper / strength
    if (free >= low).all() and (free <= high).all():
        return np.asarray(free * strength)
    return np.asarray(bounded_least_squares(K, d, low, high) * strength)


def fast_target(
    rows: AccelerationMap, wanted: FloatArray, strength: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, EffortStatus]:
    """Forces (actuators,) of OpenSim's fast target: least effort that gives the accelerations; and how it ended.

        minimize  sum_i (F_i / F_i0)^2   subject to   A F + a0 = a*,   lower <= F <= upper

    Where no forces do, those that miss least. Source: OpenSim 4.6, `ActuatorForceTargetFast`.
    """
    A = rows.A * strength
    found = least_effort(
        A[None], (wanted - rows.a0)[None], lower / strength, upper / strength, np.ones(len(strength)), 2.0, 1
    )
    return found.x[0] * strength, EffortStatus(int(found.status[0]))
