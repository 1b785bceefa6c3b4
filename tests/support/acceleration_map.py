"""The accelerations of a state as a linear function of actuator forces, by inverse dynamics and the mass matrix."""

from __future__ import annotations

import numpy as np

from musculo.analyses.tracking.actuator_forces import AccelerationMap
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics, mass_matrix
from musculo.dynamics.loads.external import Loads
from musculo.embedding.embedding import embedding_of
from musculo.model.model import Model


def acceleration_map(
    model: Model,
    q: FloatArray,
    u: FloatArray,
    columns: FloatArray,
    tau: FloatArray | None = None,
    loads: Loads = (),
) -> AccelerationMap:
    """The accelerations of one state as a linear function of actuator forces.

        A = J M_z^-1 J^T B,   a0 = J M_z^-1 J^T (tau - ID(q, u, b)) + b,   M_z = J^T M J,   udot = J zudot + b

    Args:
        model: without closed loops.
        q, u: (n,) and (n_u,), of which the independent ones count.
        columns: B (n_u, actuators), what a unit of each force does on every speed.
        tau: (n_u,) what acts besides.
        loads: from outside, at this state.
    """
    e = embedding_of(model)
    m = e.motion(e.independent(q[None]), e.independent_speeds(q[None], u[None]))
    rest = inverse_dynamics(model, m.q, m.u, m.b, loads, threads=1)[0]
    J = m.J[0]
    M = J.T @ mass_matrix(model, m.q, threads=1)[0] @ J
    known = (0.0 if tau is None else tau) - rest
    solved = np.linalg.solve(M, J.T @ np.column_stack([known, columns]))
    return AccelerationMap(J @ solved[:, 1:], J @ solved[:, 0] + m.b[0])
