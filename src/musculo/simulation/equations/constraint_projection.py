"""Back onto the constraints: what a simulation on the tree needs where constraints are equations.

Corrections are the smallest in the metric of the mass matrix, so that they add no motion that the constraints allow:

    min 1/2 d^T M d   with   G d = -error
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.dynamics.constrained_dynamics import Around, constraint_equations, solve_constrained
from musculo.dynamics.constraint_rank import scales_of
from musculo.dynamics.inverse import mass_matrix
from musculo.embedding.embedded_motion import times_of
from musculo.embedding.loops.equations.loop_equations import EquationSet, Residuals
from musculo.embedding.speed_rates import coordinate_rates, turning_joints
from musculo.errors import InvalidInput
from musculo.kernels.integrate.multiplier_state import CLOSED, ROUNDS, STRIDE
from musculo.model.model import Model


class Drift(NamedTuple):
    """How far a state is from its constraints: the largest error of each frame, and the constraint it belongs to."""

    position: FloatArray  # (frames,) or () [rad, m]
    velocity: FloatArray  # (frames,) or () [rad/s, m/s]
    worst: str  # the constraint with the largest error of position; empty without constraints


def constraint_drift(model: Model, q: ArrayLike, u: ArrayLike, time: ArrayLike = 0.0) -> Drift:
    """The largest errors of positions and velocities of all that is enforced in a model.

    Args: q, u: (frames, n) or (n,). time: (frames,) or a number, for prescribed motion [s].
    """
    Q, U, times, single = _state(model, q, u, time)
    system = constraint_equations(model)
    x = system.by_speeds(Q, None, times)
    velocity = np.einsum("fij,fj->fi", x.jacobian, U) + x.rate
    far, fast = (np.max(np.abs(part), axis=1, initial=0.0) for part in (x.residual, velocity))
    worst = system.name_of(int(np.argmax(np.abs(x.residual).max(axis=0)))) if system.count and len(Q) else ""
    return Drift(far[0], fast[0], worst) if single else Drift(far, fast, worst)


def project_velocity(
    model: Model, q: ArrayLike, u: ArrayLike, time: ArrayLike = 0.0, *, threads: int | None = None
) -> FloatArray:
    """The speeds nearest to u, in the metric of the mass matrix, that satisfy every constraint at q.

    Args:
        model: the model.
        q, u: (frames, n) or (n,) coordinates and speeds of all the file.
        time: (frames,) or a number, for prescribed motion [s].
        threads: the number of threads; all cores by default.
    """
    Q, U, times, single = _state(model, q, u, time)
    system = constraint_equations(model)
    x = system.by_speeds(Q, None, times, threads)
    error = np.einsum("fij,fj->fi", x.jacobian, U) + x.rate
    d = _correction(system, Q, times, x, error, threads)
    return (U + d)[0] if single else U + d


def project_position(model: Model, q: ArrayLike, time: ArrayLike = 0.0, *, threads: int | None = None) -> FloatArray:
    """Coordinates near q that satisfy every constraint, by Newton's corrections in the metric of the mass matrix.

    Raises:
        InvalidInput: no pose near q satisfies the constraints; names the constraint and the frame.
    """
    Q, single = coordinates_of(model, q)
    times = times_of(time, len(Q))
    compiled(model).check_coordinates(Q)
    system = constraint_equations(model)
    Q = Q.copy()
    active = np.arange(len(Q))
    for _ in range(ROUNDS):
        x = system.by_speeds(Q[active], None, times[active], threads)
        d = _correction(system, Q[active], times[active], x, x.residual, threads)
        # a longer stride leads to another pose than the nearest
        long = np.max(np.abs(d), axis=1, initial=0.0)
        d *= np.minimum(1.0, STRIDE / np.maximum(long, STRIDE))[:, None]
        Q[active] += coordinate_rates(model, Q[active], d)
        for joint in turning_joints(model):
            if len(joint.q) == 4:
                Q[:, list(joint.q)] /= np.sqrt(np.sum(Q[:, list(joint.q)] ** 2, axis=1, keepdims=True))
        active = active[np.max(np.abs(x.residual), axis=1, initial=0.0) > CLOSED]
        if not active.size:
            return Q[0] if single else Q
    left = np.abs(system.by_speeds(Q[active], None, times[active], threads).residual)
    frame, row = np.unravel_index(int(np.argmax(left)), left.shape)
    if left[frame, row] <= 1e3 * CLOSED:
        return Q[0] if single else Q
    raise InvalidInput(
        f"no pose near frame {active[frame]} satisfies the constraint {system.name_of(int(row))!r}: it stays open by "
        f"{left[frame, row]:.3g}; start nearer, or see embedding_of(model) for what can be reached"
    )


def _state(
    model: Model, q: ArrayLike, u: ArrayLike, time: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    Q, single = coordinates_of(model, q)
    U, _ = speeds_of(model, u)
    same_frames(q=Q, u=U)
    compiled(model).check_coordinates(Q)
    return Q, U, times_of(time, len(Q)), single


def _correction(
    system: EquationSet, Q: FloatArray, times: FloatArray, x: Residuals, error: FloatArray, threads: int | None
) -> FloatArray:
    """The smallest change of speeds that takes the error away."""
    G, far = x.jacobian, scales_of(system).far(x.residual)
    M = mass_matrix(system.model, Q, threads=threads)
    around = Around(far, np.zeros(len(Q)), Q, times)
    return solve_constrained(system, M, np.zeros((len(Q), G.shape[2])), G, -error, around, strict=False)[0]
