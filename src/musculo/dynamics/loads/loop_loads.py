"""What constraints between bodies carry during a motion: the loads that close loops, from kinematics and forces.

With the multipliers lambda of all equations (locks, couplers, loops) and what drives the coordinates, d:

    M udot + C + g - J_ext^T external - tau + G^T lambda = d

The motion alone does not say what constraints carry and what drives do: G^T lambda moves nothing. So the drive is taken
to act on the independent speeds zu = P u of the embedding, as reserves of static optimization do, and on no
other:

    d = P^T t,   t = J^T (M udot + C + g - J_ext^T external - tau),   G^T lambda = (P^T J^T - 1) (the same)

Where the forces given produce the accelerations, t = 0 and nothing was assumed: lambda is that of forward dynamics,
which is what OpenSim's JointReaction takes. OpenSim's inverse dynamics leaves lambda out. Where equations repeat
others (a planar loop stated in space) no rigid-body theory says which of them carries what; the smallest multipliers
are taken, as Simbody does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import ConstraintReaction, constraint_equations, reactions_of
from musculo.dynamics.constraint_rank import ranks_of, scales_of
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad
from musculo.embedding.embedding import Embedding, embedding_of, times_of
from musculo.embedding.loops.equations.loop_equations import EquationSet, Residuals
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler


def closes_loops(model: Model) -> bool:
    """Whether anything but couplers is enforced: constraints between bodies, equations, and kinds carried only."""
    return any(c.enforced and not isinstance(c, CoordinateCoupler) for c in model.constraints)


def loop_loads(
    model: Model,
    Q: FloatArray,
    U: FloatArray,
    A: FloatArray,
    tau: FloatArray,
    external: Sequence[ExternalLoad],
    time: ArrayLike = 0.0,
    threads: int | None = None,
) -> dict[str, ConstraintReaction]:
    """What each constraint between bodies exerts (frames first), by its name; see the module.

    Args:
        model: the model.
        Q, U, A: (frames, n) coordinates, speeds and accelerations; loops closed.
        tau: (frames, n_u) generalized forces that are known: of muscles, springs, actuators and reserves.
        external: all loads on bodies that `tau` does not hold.
        time: (frames,) or a number, for prescribed motion [s].
        threads: the number of threads; all cores by default.

    Raises:
        InvalidInput: coordinates that contradict couplers, locks or loops.
        Unsupported: a constraint that musculo cannot compute.
    """
    e, system, times = embedding_of(model), constraint_equations(model), times_of(time, len(Q))
    e.check(Q, times)
    missing = inverse_dynamics(model, Q, U, A, external, threads) - tau
    driven = np.einsum("fuz,fu->fz", e.jacobian(Q, times), missing)
    carried = _on_speeds(e, Q, driven) - missing
    x = system.by_speeds(Q, time=times, threads=threads)
    return reactions_of(model, Q, _shortest(system, x, carried))


def _shortest(system: EquationSet, x: Residuals, carried: FloatArray) -> FloatArray:
    """The shortest lambda (frames, m) with G^T lambda = carried, by as many rows as are independent when closed."""
    scales, multipliers = scales_of(system), np.zeros_like(x.residual)
    if not system.count or not len(carried):
        return multipliers
    _, values, rows = np.linalg.svd(x.jacobian * scales.plain[:, None])
    rank = ranks_of(scales, values, scales.far(x.residual)).independent
    for r in np.unique(rank):
        at = np.flatnonzero(rank == r)
        Y = np.swapaxes(rows[at, :r], 1, 2)
        B = np.linalg.pinv(x.jacobian[at] @ Y, rcond=1e-13)
        multipliers[at] = np.einsum("frm,fr->fm", B, np.einsum("fnr,fn->fr", Y, carried[at]))
    return multipliers


def _on_speeds(e: Embedding, Q: FloatArray, driven: FloatArray) -> FloatArray:
    """P^T t (frames, n_u) of forces t on the independent speeds zu = P u."""
    n = len(e.model.speed_names)
    forces = np.empty((len(Q), n))
    for k in range(n):
        unit = np.zeros((len(Q), n))
        unit[:, k] = 1.0
        forces[:, k] = np.einsum("fz,fz->f", e.independent_speeds(Q, unit), driven)
    return forces
