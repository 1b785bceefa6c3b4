"""Actuator forces that give wanted accelerations: OpenSim's two targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.analyses.static_optimization.bounded_least_squares import bounded_least_squares
from musculo.analyses.static_optimization.least_effort import EffortStatus, least_effort
from musculo.arrays import FloatArray


class AccelerationMap(NamedTuple):
    """udot = A F + a0 of some speeds at one state, for forces F of actuators."""

    A: FloatArray  # (speeds, actuators)
    a0: FloatArray  # (speeds,)


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
